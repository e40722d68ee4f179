/* Calls, waits, ranges and samples of threads as spans of time that can be laid over each other. */
#ifndef TACHO_ANALYZE_MODEL_STACKS_THREAD_SPANS_H
#define TACHO_ANALYZE_MODEL_STACKS_THREAD_SPANS_H

#include "stacks.h"

struct thread_span {
    int64_t thread, start_ns, end_ns;
    int64_t name;   /* in the string pool; for spans without names, a number of their own */
    int64_t chain;  /* of a call, 0: none; for a sample, its stack */
    int64_t other;  /* the thread that held a lock, or was switched to; 0: not known */
    int64_t python; /* the chain of the Python code that made the call; 0: none */
};

/* Starts from {0}. */
struct thread_spans {
    struct thread_span *list; /* owned; by thread, then by start, the longer first */
    size_t count, capacity;
};

int thread_spans_add(struct thread_spans *spans, const struct thread_span *span); /* ERR_NO_MEMORY or 0 */
void thread_spans_free(struct thread_spans *spans);

/* Selects rows and columns of a table. */
struct thread_span_source {
    const char *table;
    const char *name, *chain;   /* columns; chain may be NULL */
    const char *other, *python; /* columns; NULL: none */
    const char *class_column;   /* only rows with class_value here; NULL: all */
    int64_t class_value;
};
/* Adds these rows if they pass the filter. */
int thread_spans_read(struct thread_spans *spans, struct report *report, const struct thread_span_source *source,
                      const struct filter *filter, struct error *err);

/* Adds the NVTX ranges of threads (push and pop) that have a name. */
int thread_spans_ranges(struct thread_spans *spans, struct report *report, const struct filter *filter,
                        struct error *err);

/* Puts the spans in order; fast if they are of one table. */
void thread_spans_sort(struct thread_spans *spans);
/* Sort the spans and leave no two of a thread that overlap: of nested spans only the outermost, or only the
 * innermost. */
void thread_spans_keep_outermost(struct thread_spans *spans);
int thread_spans_keep_innermost(struct thread_spans *spans);

/* Adds the times in which threads were off their CPUs, from SCHED_EVENTS. name is enum thread_span_off_cpu. */
enum thread_span_off_cpu { OFF_CPU_BLOCKED, OFF_CPU_PREEMPTED };
int thread_spans_off_cpu(struct thread_spans *spans, struct report *report, const struct filter *filter,
                         struct error *err);

/* Adds, for each thread that left its CPU for good, all time from then on. */
int thread_spans_gone(struct thread_spans *spans, struct report *report, struct error *err);

/* Adds samples as spans: each extends half way to its neighbours, but at most by their usual distance. */
int thread_spans_samples(struct thread_spans *spans, const struct stacks *stacks);

/* The usual distance of a thread's samples: ERR_NO_MEMORY or 0. */
int stack_samples_distance(const struct stacks *stacks, int64_t thread, int64_t *out);

/* For spans that do not overlap: the index of the thread's first span that ends after this time. *behind is the end of
 * the thread's spans; a result that is not below it means that there is none. */
size_t thread_spans_from(const struct thread_spans *spans, int64_t thread, int64_t time_ns, size_t *behind);

#endif
