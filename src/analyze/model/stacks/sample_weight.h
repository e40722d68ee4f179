/* The time that samples stand for. A sample of a clock weighs its ns. A sample of another counter, or of Python, stands
 * for the time from one sample to the next: the frequency that was set, else the median distance between samples. */
#ifndef TACHO_ANALYZE_MODEL_STACKS_SAMPLE_WEIGHT_H
#define TACHO_ANALYZE_MODEL_STACKS_SAMPLE_WEIGHT_H

#include "stacks_tree.h"

/* Sets *weight_ns to the ns for which a weight of 1 stands; `whole` are the samples that count. 0: not known. */
int sample_weight_read(double *weight_ns, const struct stacks *stacks, enum stack_source source,
                       const struct stack_figure *whole, struct error *err);

#endif
