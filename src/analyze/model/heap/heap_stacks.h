/* The heap at its peak as samples with stacks, for flame graphs. */
#ifndef TACHO_ANALYZE_MODEL_HEAP_HEAP_STACKS_H
#define TACHO_ANALYZE_MODEL_HEAP_HEAP_STACKS_H

#include "analyze/model/filter.h"
#include "analyze/model/stacks/stacks.h"

/* Reads the blocks that were alive at the peak, with native and Python frames joined; weights are bytes. Like
 * stacks_read_samples(): call it once. */
int heap_stacks_read(struct stacks *stacks, int lines, const struct filter *filter, struct error *err);

#endif
