/* CUDA: the buffers that CUPTI filled, and the agent's records beside them, become rows of the CUPTI_ACTIVITY_KIND_,
 * TARGET_INFO_ and CUDA_ tables.
 *
 * There is one cuda_process per process that may use CUDA. All of it belongs to the thread that owns the writer. The
 * program can overwrite everything in its arena at any time: buffers and texts are copied before they are examined,
 * every index and size is read once and checked, and the work of one round is bounded.
 *
 * A round calls cuda_note(), then reads the threads' chunks (cuda_record() for each record), then calls cuda_read().
 * So everything that the agent wrote before it delivered a buffer has been read before that buffer. */
#ifndef TACHO_COLLECT_SOURCES_CUDA_CUDA_RECORDS_H
#define TACHO_COLLECT_SOURCES_CUDA_CUDA_RECORDS_H

#include <stddef.h>
#include <stdint.h>

#include "collect/core/call_chains.h"
#include "cuda_setup.h"

struct cuda_process;

/* NULL if out of memory. The writer, the clock and the arena must outlive it. */
struct cuda_process *cuda_process_new(const struct cuda_setup *setup);
void cuda_process_free(struct cuda_process *cuda);

/* Does CUPTI still hold buffers? The agent fetches them after recording has stopped. */
int cuda_awaits(struct cuda_process *cuda);

/* Reads new texts, and notes which buffers are delivered by now. */
void cuda_note(struct cuda_process *cuda);

/* Reads buffers that were noted, oldest first, about `budget` bytes but at least one buffer. Returns the number of
 * bytes. threads_read: everything that the threads had written at the time of cuda_note() has been read. */
size_t cuda_read(struct cuda_process *cuda, size_t budget, int threads_read);

/* A flush goal: the buffers that are delivered when it is set. cuda_reached_goal() returns 1 once cuda_read() has read
 * them. When the threads are read up to that time too, cuda_settle_goal() writes the rows of the waits before it. */
void cuda_set_goal(struct cuda_process *cuda);
int cuda_reached_goal(const struct cuda_process *cuda);
void cuda_settle_goal(struct cuda_process *cuda);

/* Sets the call chains of a call whose record is still to come. */
void cuda_chain(struct cuda_process *cuda, int is_driver, uint32_t correlation, struct call_chains chains);

/* Handles a record WIRE_CUDA_DEVICE, _STREAM, _WAIT or _CALL of a thread; the caller has checked `words`. */
void cuda_record(struct cuda_process *cuda, const struct wire_record *record, uint32_t words, uint32_t tid);

/* Names a stream; the program has done so through NVTX. */
void cuda_name_stream(struct cuda_process *cuda, uint64_t handle, int64_t name_id);

/* The process is gone or no longer recorded, and its threads are read to the end: reads what is left, also in buffers
 * that were not delivered, and writes the rows that waited. */
void cuda_finish(struct cuda_process *cuda);

/* Releases the pages of free buffers. Must not be called while buffers are in heavy use: see drain.c. */
void cuda_trim(struct cuda_process *cuda);

const struct cuda_counts *cuda_process_counts(const struct cuda_process *cuda);

#endif
