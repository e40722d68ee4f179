/* Decides how much of each source is recorded with --cost-limit: a pure state machine. Totals of CPU time go in, the
 * next change of a level comes out.
 *
 * Level 0 of a source is all of it; each further one costs less. While recording costs more than the limit, the source
 * that costs most is lowered by one level. Once it has cost less than half of the limit for a while, the source that
 * was lowered last is raised by one, unless the count of events that were left out says that this would cost too much.
 * A raise that has to be taken back doubles the time until the next one, so that a storm that goes on is not met every
 * few seconds. */
#ifndef TACHO_COLLECT_CORE_COST_CONTROL_H
#define TACHO_COLLECT_CORE_COST_CONTROL_H

#include <stdint.h>

#include "wire/wire.h"

/* At the level of windows a source is recorded for an eighth of the time. Its cost is known after a whole round. */
#define COST_WINDOW_NS INT64_C(400000000)
enum { COST_WINDOWS = 8 };
#define COST_ROUND_NS (COST_WINDOWS * COST_WINDOW_NS)

enum { COST_LEVELS_MAX = 8 };

struct cost_control_source {
    int lowest;  /* the last level; 0: the source is never lowered */
    int windows; /* the level of windows; 0: none is */
    int counted; /* the level that saves kept_ns, which those above it do not; 0: none */
    int level;
};

/* Totals since the start of the capture, of the whole program. */
struct cost_look {
    int64_t now_ns;
    double cpu_ns;                     /* with that for recording */
    double cost_ns[WIRE_SOURCE_COUNT]; /* of recording, by source */
    double kept_ns[WIRE_SOURCE_COUNT]; /* the part of that for events that make no record */
    /* What events that were only counted would have cost beyond that, at least, one level higher. */
    double saved_ns[WIRE_SOURCE_COUNT];
};

/* Starts from {0} with the limit and the first three fields of each source. */
struct cost_control {
    double limit;           /* 0.05: five parts for recording beside a hundred of the program's own */
    struct cost_control_source sources[WIRE_SOURCE_COUNT];

    struct cost_look since; /* what the next decision compares with: the last change, or the begin of a round */
    int has_begun;
    int64_t below_ns;       /* how long recording has cost less than half of the limit */
    int64_t hold_ns;        /* how long it must, before a source is raised */
    int64_t raised_ns;      /* when one was raised last; 0: never, or it has proved right */
    uint8_t lowered[WIRE_SOURCE_COUNT * COST_LEVELS_MAX]; /* the sources in the order of their lowering */
    unsigned lowered_count;
    double share;    /* of the last decision: the cost as a part of the program's own time */
    int is_exceeded; /* recording costs more than the limit, and no source that matters can be lowered */
};

/* Returns the source whose level has changed (enum wire_source), or -1. */
int cost_control_look(struct cost_control *control, const struct cost_look *look);

/* The share of a source in the program's own CPU time since the last change. */
double cost_control_share(const struct cost_control *control, const struct cost_look *look, int source);

#endif
