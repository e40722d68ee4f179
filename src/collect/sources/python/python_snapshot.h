/* The memory of another process, read many times a second at nearly the same places.
 *
 * What was looked at last time is read again with one call, before anybody asks: a round over all threads of a Python
 * program costs one system call, and all of it is of one moment (some microseconds). What a round needs beyond that is
 * read at once, counted as late, and read ahead from the next round on. The process is never stopped.
 *
 * Who points comes first, what is pointed at comes second: a frame that has ended since still stands in memory, one
 * that has yet to begin does not. */
#ifndef TACHO_COLLECT_SOURCES_PYTHON_PYTHON_SNAPSHOT_H
#define TACHO_COLLECT_SOURCES_PYTHON_PYTHON_SNAPSHOT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum snapshot_order { SNAPSHOT_FIRST, SNAPSHOT_SECOND, SNAPSHOT_ORDERS };

struct snapshot_span {
    uint64_t address;
    uint32_t bytes;     /* 0: it could not be read this time */
    uint32_t wanted;    /* bytes to be read */
    size_t at;          /* in snapshot.bytes */
    uint32_t last_used; /* round */
    enum snapshot_order order;
};

struct snapshot {
    pid_t pid;
    struct snapshot_span *spans;        /* the first `planned` sorted by order and address; late ones behind them */
    size_t starts[SNAPSHOT_ORDERS + 1]; /* where each order begins among the planned, and their end */
    size_t count, capacity;
    enum snapshot_order order;          /* of what is read now: the caller's to set */
    unsigned char *bytes;
    size_t used, room;
    uint32_t round;
    unsigned late; /* reads that went to the process by themselves, counted up */
    int error;     /* errno of the last refusal that was about the process and not about an address; 0: none */
};

void snapshot_init(struct snapshot *snapshot, pid_t pid);
void snapshot_free(struct snapshot *snapshot);

/* Reads all that is planned, anew. */
void snapshot_take(struct snapshot *snapshot);

/* For struct python_memory: out of the snapshot, or late. */
int snapshot_read(void *snapshot, uint64_t address, void *buffer, size_t size);

/* The same, from the process itself, and without a place in the plan. */
int snapshot_read_now(void *snapshot, uint64_t address, void *buffer, size_t size);

#endif
