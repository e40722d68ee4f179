/* Collective operations over all ranks of a report, or of a set of reports: instances of MPI's, NCCL's and PyTorch's,
 * and the ranks that took part in each.
 *
 * An instance is a communicator and the number of the operation on it, which all ranks count alike.
 *
 * Waits need no clocks: all leave a synchronising collective together, so a rank waited for as long as its call took
 * longer than the shortest one. Where clocks of the ranks are known, times of entry bound the wait from both sides by
 * the error of the clocks; on one host, that error is below a microsecond, and a rank that was preempted on its way out
 * does not seem to have waited. */
#ifndef TACHO_ANALYZE_MODEL_RANKS_COLLECTIVES_H
#define TACHO_ANALYZE_MODEL_RANKS_COLLECTIVES_H

#include "analyze/model/filter.h"
#include "base/arena.h"
#include "collective_kinds.h"

#define COLLECTIVE_NEVER_LEFT INT64_MAX
enum { COLLECTIVE_UNKNOWN = -1 };

struct collective_communicator {
    uint64_t name;          /* hash, the same on all ranks */
    const char *label;      /* for people: "ranks 0-3" */
    int64_t size;           /* its ranks; 0: not known */
    const int64_t *members; /* ranks of the job, if they are known: `size` of them in its order, else NULL */
    int is_guessed;         /* operations were matched by their order alone, in all of the process */
};

/* A rank in an instance. */
struct collective_call {
    uint32_t communicator;
    uint64_t sequence;
    int64_t rank;               /* in the job; COLLECTIVE_UNKNOWN */
    int64_t thread;             /* global id; of work on a GPU, of its process */
    int64_t enter_ns, leave_ns; /* leave_ns: COLLECTIVE_NEVER_LEFT */
    int64_t own_wait_ns;        /* from the start of its event to enter_ns: it waited for its own GPU */
    int64_t bytes;              /* the larger of what it sends and receives; COLLECTIVE_UNKNOWN */
    int64_t root;               /* number in the communicator; COLLECTIVE_UNKNOWN */
    int64_t operation;          /* string id of the report */
    int is_nonblocking;         /* it ran beside other work: its length says nothing of waits */
};

static inline int64_t collective_call_start(const struct collective_call *call)
{
    return saturating_subtract(call->enter_ns, call->own_wait_ns);
}

struct collective_instance {
    size_t first, count; /* of its calls, by rank */
    uint32_t communicator;
    uint64_t sequence;
    int64_t operation;   /* that most ranks called; string id */
    enum collective_kind kind;
    int64_t bytes;       /* the largest of its ranks; COLLECTIVE_UNKNOWN */
    int64_t root;        /* number in the communicator; COLLECTIVE_UNKNOWN */
    int has_several;     /* ranks brought several operations */
    int is_open;         /* some rank never left */
    int is_nonblocking;
};

struct collectives {
    struct report *report;
    struct collective_communicator *communicators;
    size_t communicator_count;
    struct collective_call *calls;         /* by communicator, sequence and rank */
    size_t call_count;
    struct collective_instance *instances; /* in the same order */
    size_t instance_count;
    struct collectives_state *state;       /* owned, as all of the above */
};

/* filter: NULL, or calls that do not pass are left out (after they were numbered). Freed by the caller after an error
 * too. */
int collectives_read(struct collectives *all, struct report *report, const struct filter *filter, struct error *err);
void collectives_free(struct collectives *all);

/* How far times of two ranks may be off against each other; INT64_MAX: not known. */
int64_t collectives_clock_error(const struct collectives *all, int64_t rank, int64_t other);
/* The rank of a process in the job, or COLLECTIVE_UNKNOWN; its host, or "". */
int64_t collectives_rank(const struct collectives *all, int64_t process);
const char *collectives_host(const struct collectives *all, int64_t rank);
/* Whether the report has this rank to its end: one whose writer was killed lacks the last events. */
int collectives_rank_is_whole(const struct collectives *all, int64_t rank);

/* The bytes that more than half of the ranks of an instance brought; COLLECTIVE_UNKNOWN if there are none. */
int64_t collective_usual_bytes(const struct collectives *all, const struct collective_instance *instance);

/* Whether lateness is known: two ranks at least entered and left a blocking, synchronising operation. */
int collective_is_timed(const struct collective_instance *instance);
/* Fills waits[i] for each call of such an instance: how long it waited for the last one. Returns the index of the last
 * (its wait is 0), and in *error_ns how far the waits may be off. */
size_t collective_waits(const struct collectives *all, const struct collective_instance *instance, int64_t *waits,
                        int64_t *error_ns);

/* The cost of an instance. */
struct collective_figures {
    int is_timed;
    size_t first, last; /* calls of the instance: the first to enter and the last; SIZE_MAX if not known: the instance
                         * is not timed, or all entered within the error */
    int64_t start_ns;   /* of the earliest call */
    int64_t total_ns;   /* of all ranks inside, those that never left not counted */
    int64_t longest_ns; /* of a rank inside */
    /* Of timed ones: */
    int64_t wait_ns;     /* of all ranks */
    int64_t lateness_ns; /* how much later the last one entered than the first one */
    int64_t error_ns;
    int64_t transfer_ns; /* without waits: from when the last one entered */
};
/* waits has room for all calls of the instance; it is filled if the instance is timed. */
struct collective_figures collective_figures(const struct collectives *all, const struct collective_instance *instance,
                                             int64_t *waits);
/* The most calls of an instance. */
size_t collectives_most_calls(const struct collectives *all);

#endif
