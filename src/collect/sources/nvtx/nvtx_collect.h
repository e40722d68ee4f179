/* NVTX records become rows: what a thread of the program wrote, in its order, goes in; NVTX_EVENTS, the payload tables
 * and counters come out.
 *
 * One nvtx_process per process (an exec makes a new one), one nvtx_thread per thread of it. All of it belongs to the
 * thread that owns the writer. Threads are drained one after another, so what one thread tells (a registered string,
 * a range's start) may be read after what another does with it: such rows wait until both halves are here.
 * Records lie in memory that the program can overwrite at any time: every word is read once and checked. */
#ifndef TACHO_COLLECT_SOURCES_NVTX_NVTX_COLLECT_H
#define TACHO_COLLECT_SOURCES_NVTX_NVTX_COLLECT_H

#include <stdint.h>

#include "nvtx_counts.h"
#include "report/writer/writer.h"
#include "wire/wire_nvtx.h"

struct clock_map; /* clock_map.h */
struct nvtx_process;
struct nvtx_thread;

/* NULL when memory is short. The writer and the clock must outlive the process. */
struct nvtx_process *nvtx_process_new(struct writer *writer, const struct clock_map *clock, int64_t global_pid);
struct nvtx_thread *nvtx_thread_new(struct nvtx_process *process, int64_t global_tid);

/* What the capture asks for, WIRE_BIT()s, if libraries are among it. */
void nvtx_process_sources(struct nvtx_process *process, uint32_t sources);

/* Is it one of ours? */
static inline int nvtx_is_record(unsigned type)
{
    return type >= WIRE_NVTX_MARK && type <= WIRE_NVTX_SYNC;
}

/* One record; `words` is its size as the caller read and checked it (at least WIRE_HEAD_WORDS, all of it readable). */
void nvtx_record(struct nvtx_thread *thread, const struct wire_record *record, uint32_t words);

/* The thread has ended and is drained: its open push/pop ranges get rows without an end. Frees the thread. */
void nvtx_thread_finish(struct nvtx_thread *thread);

/* The process has ended and all its threads are finished: open start/end ranges get rows without an end, and rows that
 * still wait are written as they are. *counts (if not NULL) is the sum over the whole process. Frees the process. */
void nvtx_process_finish(struct nvtx_process *process, struct nvtx_counts *counts);

/* The last name that the program gave this thread through NVTX, in the writer's string pool; -1 if it has none. */
int64_t nvtx_thread_name(const struct nvtx_process *process, uint32_t tid);

/* So far. */
const struct nvtx_counts *nvtx_process_counts(const struct nvtx_process *process);

#endif
