/* Why a rank was late: what its time between two instances has more of than that of the median rank. */
#ifndef TACHO_ANALYZE_STRAGGLERS_LATE_CAUSES_H
#define TACHO_ANALYZE_STRAGGLERS_LATE_CAUSES_H

#include "analyze/model/places/places.h"
#include "analyze/model/stacks/call_origins.h"
#include "lates.h"

/* A span of time of a thread, or of work on the GPU of a process. */
struct activity {
    int64_t owner, start_ns, end_ns;
    int64_t chain, python; /* call stacks of an OS call; 0: none */
    double size;           /* of GPU work: threads of a kernel, bytes of a copy */
};
struct activities {
    struct activity *list; /* owned; by owner and start */
    size_t count, room;
    int64_t longest_ns;
};

/* The first that explains half of the excess counts. GPU work is that of the process. */
#define LATE_ACTIVITIES(X)                                                                                           \
    X(GC, "garbage collection")                                                                                      \
    X(LOADER, "data loader")                                                                                         \
    X(SLEEP, "sleeping")                                                                                             \
    X(IO, "I/O")                                                                                                     \
    X(LOCK, "waiting for a lock")                                                                                    \
    X(OTHER_WAIT, "waiting in OS calls")                                                                             \
    X(COPIES, "GPU copies")                                                                                          \
    X(KERNELS, "kernels")                                                                                            \
    X(FAULTS, "page faults")
enum late_activity {
#define LATE_ACTIVITY(id, text) LATE_##id,
    LATE_ACTIVITIES(LATE_ACTIVITY)
#undef LATE_ACTIVITY
        LATE_ACTIVITY_COUNT
};

/* When an operator of PyTorch began. */
struct op_start {
    int64_t thread, start_ns;
};

struct late_causes {
    struct report *report;
    const struct cpu_runs *runs;
    int64_t from_ns, to_ns;    /* of the collectives; set by the caller after late_causes_open() */
    struct activities of[LATE_ACTIVITY_COUNT];
    struct activities samples; /* all of them, if some are page faults */
    int has_os_calls;
    struct op_start *ops;      /* owned; by thread and time; read when they are needed */
    size_t op_count, op_room;
    int has_ops;
    struct places places;
    struct call_origins origins; /* of OS calls */
};

/* Closed by the caller after an error too. runs have been read, and live as long as causes. */
int late_causes_open(struct late_causes *causes, struct report *report, const struct cpu_runs *runs, struct error *err);
void late_causes_close(struct late_causes *causes);

/* The cause of delays by one rank, and the line where it spent that time; both may stay empty. */
struct late_reason {
    struct text cause, where;
    int is_by_others; /* other programs ran on its CPU */
    int is_by_chance; /* on which other ranks run too: it could have been one of them */
};

/* reason: starts from {0}; its texts are the caller's. lates: those of the rank. ERR_NO_MEMORY or 0. */
int late_causes_explain(struct late_causes *causes, const struct late *const *lates, size_t count,
                        struct late_reason *reason);

#endif
