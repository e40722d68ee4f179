/* The memory of another process, read many times a second at nearly the same addresses.
 *
 * The addresses of the last round are read again with one call, before they are needed. So a round over all threads of
 * a Python program costs one system call, and all of its data is from one moment (within microseconds). Further
 * addresses are read on demand, counted as late, and read ahead from the next round on. The process is never stopped.
 *
 * Pointers are read first and their targets second: a frame that has ended in between is still in memory, but one that
 * is yet to begin is not. */
#ifndef TACHO_COLLECT_SOURCES_PYTHON_PYTHON_SNAPSHOT_H
#define TACHO_COLLECT_SOURCES_PYTHON_PYTHON_SNAPSHOT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum snapshot_order { SNAPSHOT_FIRST, SNAPSHOT_SECOND, SNAPSHOT_ORDERS };

struct snapshot_span {
    uint64_t address;
    uint32_t bytes;     /* 0: it could not be read this time */
    uint32_t wanted;    /* bytes to read */
    size_t at;          /* in snapshot.bytes */
    uint32_t last_used; /* round */
    enum snapshot_order order;
};

struct snapshot {
    pid_t pid;
    /* The planned ones come first, sorted by order and address; late ones follow. */
    struct snapshot_span *spans;
    size_t starts[SNAPSHOT_ORDERS + 1]; /* the start of each order among the planned ones, and their end */
    size_t count, capacity;
    enum snapshot_order order;          /* of the current reads: set by the caller */
    unsigned char *bytes;
    size_t used, room;
    uint32_t round;
    unsigned late; /* total number of reads on demand */
    /* errno of the last failure that concerns the process and not an address; 0: none. */
    int error;
};

void snapshot_init(struct snapshot *snapshot, pid_t pid);
void snapshot_free(struct snapshot *snapshot);

/* Reads all planned spans again. */
void snapshot_take(struct snapshot *snapshot);

/* For struct python_memory: reads from the snapshot, or on demand. */
int snapshot_read(void *snapshot, uint64_t address, void *buffer, size_t size);

/* The same, always from the process, and without adding the address to the plan. */
int snapshot_read_now(void *snapshot, uint64_t address, void *buffer, size_t size);

#endif
