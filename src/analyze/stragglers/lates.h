/* Who delayed each instance of a collective. */
#ifndef TACHO_ANALYZE_STRAGGLERS_LATES_H
#define TACHO_ANALYZE_STRAGGLERS_LATES_H

#include "analyze/model/ranks/collectives.h"

/* What a rank did between two instances. */
struct rank_window {
    int64_t rank;
    int64_t thread;  /* that works; of GPU work and of gloo the main thread of the process */
    int64_t from_ns, to_ns;
    int64_t busy_ns; /* without waits for other ranks */
};

struct late {
    size_t instance;
    uint32_t communicator;
    int64_t wait_ns;           /* of all ranks */
    int64_t lateness_ns;       /* median wait of the others */
    int64_t gain_ns;           /* shortest wait of the others: by so much all would have been done earlier */
    struct rank_window window; /* of the rank that is to blame */
    struct rank_window usual;  /* of the median rank */
};

struct lates {
    struct late *list; /* owned; those that matter */
    size_t count, room;
    size_t instances;  /* that were looked at */
    /* By communicator, owned: */
    int64_t *steps; /* how often its loop went round; 0: it has none */
    int64_t *step_ns;
};

/* Freed by the caller after an error too. */
int lates_find(struct lates *lates, const struct collectives *all, struct error *err);
void lates_free(struct lates *lates);

#endif
