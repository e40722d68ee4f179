/* What the observer of PyTorch recorded becomes rows: operators and annotations, calls of modules, steps, memory, and
 * on demand the NVTX ranges that torch.autograd.profiler.emit_nvtx would have made of them.
 *
 * One torch_process per process, one torch_thread per thread of it that runs operators. All of it belongs to the thread
 * that owns the writer. Records lie in memory that the program can overwrite: every word is checked. */
#ifndef TACHO_COLLECT_SOURCES_TORCH_TORCH_COLLECT_H
#define TACHO_COLLECT_SOURCES_TORCH_TORCH_COLLECT_H

#include <stdint.h>

#include "report/writer/writer.h"
#include "wire/wire.h"

struct clock_map; /* clock_map.h */
struct torch_process;
struct torch_thread;

struct torch_setup {
    struct writer *writer; /* it and the clock must outlive the process */
    const struct clock_map *clock;
    int64_t global_pid;
    int as_nvtx;           /* NVTX_EVENTS too */
};

struct torch_counts {
    uint64_t recorded;   /* operators and memory events that have their row */
    uint64_t stack_lost; /* operators whose stack had no room */
    uint64_t damaged;    /* records that make no sense: the program has overwritten them */
};

/* NULL when memory is short. */
struct torch_process *torch_process_new(const struct torch_setup *setup);
struct torch_thread *torch_thread_new(struct torch_process *process, int64_t global_tid);

/* A WIRE_TORCH_BEGIN, _END or _BYTES; `words` is its size as the caller read and checked it. */
void torch_record(struct torch_thread *thread, const struct wire_record *record, uint32_t words);

/* The thread is drained for the last time: operators that it is in end with it, and say so. Frees the thread. */
void torch_thread_finish(struct torch_thread *thread, int64_t end_ns);

/* All threads are finished. */
void torch_process_free(struct torch_process *process);
const struct torch_counts *torch_process_counts(const struct torch_process *process);

/* ---- torch_inputs.c -------------------------------------------------------------------------------------------- */

struct text;

/* Lists of what an operator was given, as torch's profiler writes them into its trace: an element for each input. */
struct torch_texts {
    struct text *dims, *types, *strides, *values; /* JSON */
    struct text *sizes;                           /* as emit_nvtx has it */
};

/* 0, or -1 if the words make no sense. */
int torch_inputs_text(const uint64_t *words, uint32_t count, const struct torch_texts *texts);

#endif
