/* The rank that delayed each instance of a collective. */
#ifndef TACHO_ANALYZE_STRAGGLERS_LATES_H
#define TACHO_ANALYZE_STRAGGLERS_LATES_H

#include "cpu_runs.h"
#include "gpu_shares.h"

/* The span of a rank between two instances. */
struct rank_window {
    int64_t rank;
    int64_t thread;    /* that works; of GPU work and of gloo the main thread of the process */
    int64_t from_ns, to_ns;
    int64_t left_ns;   /* where it left the instance before; from_ns is where it could have */
    int64_t busy_ns;   /* without waits for other ranks, and without shared_ns */
    int64_t shared_ns; /* ready to run, while other ranks ran on its CPU or its GPU */
};

struct late {
    size_t instance;
    size_t step;               /* of all steps of all communicators that were looked at */
    uint32_t communicator;
    int64_t wait_ns;           /* of all ranks */
    int64_t lateness_ns;       /* median wait of the others */
    int64_t gain_ns;           /* shortest wait of the others: all would have been done this much earlier */
    struct rank_window window; /* of the rank that is to blame */
    struct rank_window usual;  /* of the median rank */
};

struct lates {
    struct late *list; /* owned; those that matter, by step and rank */
    size_t count, room;
    size_t instances;  /* that were looked at */
    size_t step_count; /* of these, on all communicators */
    /* By communicator, owned: */
    int64_t *steps; /* from its first instance to its last; 0: it has none */
    int64_t *step_ns;
};

/* Whether it is the first delay by its rank in its step. */
static inline int late_begins_step(const struct lates *lates, size_t i)
{
    const struct late *at = &lates->list[i];

    return !i || at[-1].step != at->step || at[-1].window.rank != at->window.rank;
}

/* Freed by the caller after an error too. runs are read when they are needed; shares have been read. */
int lates_find(struct lates *lates, const struct collectives *all, struct cpu_runs *runs,
               const struct gpu_shares *shares, struct error *err);
void lates_free(struct lates *lates);

#endif
