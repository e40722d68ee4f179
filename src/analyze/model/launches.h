/* Finds the NVTX ranges around CUDA calls: one sweep over the calls and ranges of each thread, both in order of
 * time. */
#ifndef TACHO_ANALYZE_MODEL_LAUNCHES_H
#define TACHO_ANALYZE_MODEL_LAUNCHES_H

#include "analyze/engine/keys.h"
#include "calls.h"
#include "gpu.h"
#include "ranges.h"

/* Calls visit for each of the count calls, thread by thread and in order of time, with the ranges that hold all of the
 * call, the outermost first; at most `most` of the innermost ones. Sorts the list. A visit that returns non-zero ends
 * the sweep with that code. */
int launches_sweep(const struct calls *calls, uint32_t *list, size_t count, const struct ranges *ranges, size_t most,
                   int (*visit)(void *context, uint32_t call, const uint32_t *around, size_t around_count),
                   void *context);

/* For the option nvtx-name: the innermost range around the call that launched each kernel, as a number for its name. */
struct launch_ranges {
    struct keys labels; /* domain and name of a range, as string ids */
    uint32_t *by_row;   /* owned; a label, or NO_KEY, for each row of the table of kernels */
    size_t count;
};
int launch_ranges_read(struct launch_ranges *out, struct report *report, struct error *err);
void launch_ranges_free(struct launch_ranges *out);

/* "range/kernel"; just the kernel for a label of NO_KEY. */
void launch_kernel_label(struct text *out, struct report *report, const struct launch_ranges *ranges, uint32_t label,
                         int64_t name);

#endif
