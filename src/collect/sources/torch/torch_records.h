/* PyTorch records to rows: operators and annotations, calls of modules, steps, memory, and on demand the NVTX ranges
 * that torch.autograd.profiler.emit_nvtx would have made.
 *
 * One torch_process per process, one torch_thread per thread of it that runs operators. All of it belongs to the
 * thread that owns the writer. The program can overwrite records at any time: every word is checked. */
#ifndef TACHO_COLLECT_SOURCES_TORCH_TORCH_RECORDS_H
#define TACHO_COLLECT_SOURCES_TORCH_TORCH_RECORDS_H

#include <stdint.h>

#include "report/writer/writer.h"
#include "wire/wire.h"

struct clock_map; /* clock_map.h */
struct torch_process;
struct torch_thread;

struct torch_setup {
    struct writer *writer; /* the writer and the clock must outlive the process */
    const struct clock_map *clock;
    int64_t global_pid;
    int as_nvtx;           /* writes NVTX_EVENTS too */
};

struct torch_counts {
    uint64_t recorded;   /* operators and memory events that have their row */
    uint64_t stack_lost; /* operators whose stack had no room */
    uint64_t damaged;    /* invalid records: the program has overwritten them */
};

/* NULL if out of memory. */
struct torch_process *torch_process_new(const struct torch_setup *setup);
struct torch_thread *torch_thread_new(struct torch_process *process, int64_t global_tid);

/* Handles a WIRE_TORCH_BEGIN, _END, _STACK, _BYTES or _PYTHON_EVENT; the caller has checked `words`. */
void torch_record(struct torch_thread *thread, const struct wire_record *record, uint32_t words);

/* The thread is drained for the last time: its running operators end with it and are marked unfinished. Frees the
 * thread. */
void torch_thread_finish(struct torch_thread *thread, int64_t end_ns);

/* Call it after all threads are finished. */
void torch_process_free(struct torch_process *process);
const struct torch_counts *torch_process_counts(const struct torch_process *process);

/* ---- torch_inputs.c -------------------------------------------------------------------------------------------- */

struct text;

/* The inputs of an operator as torch's profiler writes them into its trace: lists with an element for each input. */
struct torch_texts {
    struct text *dims, *types, *strides, *values; /* JSON */
    struct text *sizes;                           /* in the form of emit_nvtx */
};

/* 0, or -1 if the words are invalid. */
int torch_inputs_text(const uint64_t *words, uint32_t count, const struct torch_texts *texts);

/* ---- python_events.c ------------------------------------------------------------------------------------------- */

/* Writes the row of a WIRE_TORCH_PYTHON_EVENT record, which has a text. -1: its kind is not known. */
int python_event_row(const struct torch_setup *setup, int64_t global_tid, const struct wire_record *record,
                     uint32_t words);

#endif
