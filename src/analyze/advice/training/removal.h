/* Removes what a thread did in a span of time from a replay: its time, its CUDA calls with their waits, and the work
 * on GPUs that they launched. */
#ifndef TACHO_ANALYZE_ADVICE_TRAINING_REMOVAL_H
#define TACHO_ANALYZE_ADVICE_TRAINING_REMOVAL_H

#include "analyze/advice/adviser.h"

/* The work of each call. Starts from {0}. */
struct call_works {
    const struct replay *replay;
    uint32_t *first; /* owned; by call, and one more: its first place in the list */
    uint32_t *list;  /* owned; works */
};
int call_works_open(struct call_works *works, const struct replay *replay); /* ERR_NO_MEMORY or 0 */
void call_works_free(struct call_works *works);

struct removal {
    int64_t thread, from_ns, to_ns;
    double left;      /* share of the time of kernels that is left */
    int64_t short_ns; /* of each kernel: the time to start it; that goes in any case */
};

/* ERR_NO_MEMORY or 0. */
int removal_add(const struct call_works *works, struct replay_edits *edits, const struct removal *removal);
/* The same for the time of the thread alone, with its waits, and for the work on GPUs alone. */
int removal_add_time(const struct call_works *works, struct replay_edits *edits, const struct removal *removal);
int removal_add_works(const struct call_works *works, struct replay_edits *edits, const struct removal *removal);

/* The number of kernels that a thread launched in a span of time. */
size_t call_works_count(const struct call_works *works, int64_t thread, int64_t from_ns, int64_t to_ns);

/* The calls of a thread that start in a span of time: *first to *end. */
void calls_between(const struct replay_events *events, int64_t thread, int64_t from_ns, int64_t to_ns, uint32_t *first,
                   uint32_t *end);

#endif
