/* NVTX records to rows: takes the records of each thread in their order, and writes NVTX_EVENTS, the payload tables
 * and counters.
 *
 * There is one nvtx_process per process (an exec creates a new one), and one nvtx_thread per thread of it. All of it
 * belongs to the thread that owns the writer. Threads are drained one after another, so the record of one thread (a
 * registered string, the start of a range) may be read after a record of another thread that needs it. Such rows wait
 * until both are read. The program can overwrite records at any time: every word is read once and checked. */
#ifndef TACHO_COLLECT_SOURCES_NVTX_NVTX_RECORDS_H
#define TACHO_COLLECT_SOURCES_NVTX_NVTX_RECORDS_H

#include <stdint.h>

#include "nvtx_counts.h"
#include "report/writer/writer.h"
#include "wire/wire_nvtx.h"

struct clock_map; /* clock_map.h */
struct nvtx_process;
struct nvtx_thread;

/* NULL if out of memory. The writer and the clock must outlive the process. */
struct nvtx_process *nvtx_process_new(struct writer *writer, const struct clock_map *clock, int64_t global_pid);
struct nvtx_thread *nvtx_thread_new(struct nvtx_process *process, int64_t global_tid);

/* Sets the sources of the capture, as WIRE_BIT()s. Call it if libraries may be among them. */
void nvtx_process_sources(struct nvtx_process *process, uint32_t sources);

/* Handles one record. The caller has checked `words`: at least WIRE_HEAD_WORDS, all of them readable. */
void nvtx_record(struct nvtx_thread *thread, const struct wire_record *record, uint32_t words);

/* The thread has ended and is drained: its open push/pop ranges get rows without an end. Frees the thread. */
void nvtx_thread_finish(struct nvtx_thread *thread);

/* The process has ended and all its threads are finished: open start/end ranges get rows without an end, and rows that
 * still wait are written as they are. *counts (if not NULL) gets the totals of the process. Frees the process. */
void nvtx_process_finish(struct nvtx_process *process, struct nvtx_counts *counts);

/* The last name that the program gave this thread through NVTX, in the writer's string pool; -1 if there is none. */
int64_t nvtx_thread_name(const struct nvtx_process *process, uint32_t tid);

/* The counts so far. */
const struct nvtx_counts *nvtx_process_counts(const struct nvtx_process *process);

#endif
