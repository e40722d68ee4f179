/* From arenas to rows: polls the slots of every live process, reads what was committed, hands chunks and slots back.
 *
 * Everything in an arena can be overwritten by the program at any time. Records are therefore copied into
 * private memory before they are looked at, each index and size is read once and checked, and the work
 * done at a stretch is bounded. */
#ifndef TACHO_COLLECT_CAPTURE_DRAIN_H
#define TACHO_COLLECT_CAPTURE_DRAIN_H

#include <stddef.h>
#include <stdint.h>

#include "wire/wire.h"

struct collector;
struct process;
struct reader;
struct event;

struct drain {
    struct event *timer;
    int64_t interval_us;
    struct process *next; /* where the next round goes on */
    uint64_t records;
    _Alignas(64) unsigned char copy[WIRE_LANES][WIRE_CHUNK_BYTES];
};

/* Who wrote a record. */
struct origin {
    struct collector *collector;
    struct process *process;
    struct reader *reader;
};

/* One kind of record; words is its whole size and has been checked against the chunk. In records.c. */
typedef void (*record_handler)(const struct origin *origin, const struct wire_record *record, uint32_t words);
extern const record_handler record_handlers[WIRE_TYPE_COUNT];

int drain_init(struct collector *collector);
void drain_start(struct collector *collector);
void drain_free(struct collector *collector);

/* Reads what is there now, up to about `budget` bytes; the number of bytes read. */
size_t drain_process(struct process *process, size_t budget);

/* Reads as much of it as a round may take: is there more? */
int drain_slice(struct process *process);

/* Flush goals. drain_set_goals() notes how far every thread has written, and which buffers CUPTI has delivered; the
 * next round starts at once. drain_reached_goals() returns 1 once every thread has been read up to its goal, whatever
 * has been recorded since. drain_settle_goals() then writes the rows that waited for records of other threads. */
void drain_set_goals(struct collector *collector);
int drain_reached_goals(const struct collector *collector);
void drain_settle_goals(struct collector *collector);

/* Adds to its counts what its threads, those that still run too, have counted since the last time. */
void drain_counts(struct process *process);

/* The process is gone (or not to be recorded any longer: end_ns is then PROCESS_NO_TIME): reads all that is left and
 * finishes its threads. */
void drain_finish(struct process *process, int64_t end_ns);

/* The call that a thread is in when it is read for the last time gets its row too. In records.c. */
void record_open_call(const struct origin *origin, struct wire_thread *slot, int64_t end_ns);

#endif
