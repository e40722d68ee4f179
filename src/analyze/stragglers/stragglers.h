/* Stragglers: ranks that the others wait for again and again, why, and at which line.
 *
 * An instance of a synchronising collective has a rank that comes last. If that rank waited itself for another one
 * since the instance before, and that explains its lateness, the other one is blamed, and so on. Only delays count
 * that matter (above the error of clocks, and a twentieth of a step together) and that are the rank's own doing: not
 * those of ranks that take turns on a CPU. A rank is a straggler if it is to blame more than chance makes one of equal
 * ranks (chance.h): a rank that the system preempts now and then is none.
 *
 * A step may have hundreds of instances, of which a rank delays only the first. So all is counted by steps.
 *
 * Its cause is what its time since the instance before has more of than that of the median rank. */
#ifndef TACHO_ANALYZE_STRAGGLERS_STRAGGLERS_H
#define TACHO_ANALYZE_STRAGGLERS_STRAGGLERS_H

#include "analyze/model/filter.h"
#include "base/arena.h"

enum { STRAGGLER_NO_DEVICE = -1 };

struct straggler {
    int64_t rank;
    const char *host;       /* "": unknown */
    int64_t device;         /* STRAGGLER_NO_DEVICE */
    int64_t device_ranks;   /* that share the device, with this one; 0: it has it to itself */
    int64_t times_last;     /* instances that it delayed */
    int64_t of_instances;   /* of so many */
    int64_t caused_wait_ns; /* of all ranks */
    /* On the communicator on which it costs most: */
    int64_t late_steps;
    int64_t of_steps;    /* of so many */
    int64_t lateness_ns; /* in a step: median over these steps of the median waits of the others */
    int64_t gain_ns;     /* a step, if it came with the last of the others */
    int64_t all_gain_ns; /* in all steps */
    int64_t step_ns;
    const char *cause;   /* "": unknown */
    const char *where;   /* "": unknown */
};

struct stragglers {
    struct straggler *list; /* owned; the one with the largest gain first */
    size_t count;
    struct arena arena;
};

/* Freed by the caller after an error too. */
int stragglers_find(struct stragglers *found, struct report *report, const struct filter *filter, struct error *err);
void stragglers_free(struct stragglers *found);

#endif
