/* The clocks of a set of reports: maps the time of each report (a part) to the time of the set.
 *
 * Pure functions: no file is read and nothing is printed. The caller fills struct clock_input from the reports; all
 * its memory stays the caller's. docs/ranks.md describes the method and the meaning of the error. In short:
 *
 *   1. Parts with the same boot id form a host and are joined by the CPU's raw counter, unless its rate differs.
 *   2. Hosts are joined by synchronising collectives: the differences of the *ends* of the same instance give the
 *      offset over time; "nobody leaves before the last one has entered" and "no message is received before it is
 *      sent" bound it from both sides.
 *   3. Hosts without such an instance in common are joined by UTC, and without UTC not at all.
 *
 * Any number may be in the input: times beyond CLOCK_LIMIT_NS and events that end before they start are ignored. */
#ifndef TACHO_SET_CLOCKS_CLOCK_FIT_H
#define TACHO_SET_CLOCKS_CLOCK_FIT_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "time_map.h"

#define CLOCK_ERROR_UNKNOWN INT64_MAX      /* the error of parts that are not joined with the others */
#define CLOCK_UTC_ERROR_ASSUMED_NS 50000000 /* for hosts whose kernel did not state it */

/* ---- Input ----------------------------------------------------------------------------------------------------- */

/* A row of TACHO_CLOCK. A clock that was not read is 0. */
struct clock_reading {
    int64_t time_ns;  /* the time in the report of an event at these ticks */
    uint64_t ticks;   /* raw counter */
    int64_t utc_ns;
    int64_t error_ns; /* the readings are at most this far apart */
};

struct clock_part {
    const char *boot_id;                  /* NULL or "": unknown, a host of its own */
    const struct clock_reading *readings; /* in order of time */
    size_t reading_count;
    int64_t utc_error_ns;                 /* as the kernel states it (adjtimex), or -1 */
    int64_t first_ns, last_ns;            /* the span of its events: the error holds within it */
};

/* One part in an instance of a synchronising collective (barrier, allreduce, allgather, alltoall; not broadcast,
 * reduce, scatter or gather, which some ranks leave before others enter), in the part's own time. */
struct clock_entry {
    uint32_t part;
    int64_t start_ns, end_ns;
};

struct clock_message {
    uint32_t sender, receiver;
    int64_t send_start_ns, receive_end_ns; /* each in its part's own time */
};

enum clock_choice {
    CLOCK_CHOICE_BEST,        /* collectives, else UTC, else none */
    CLOCK_CHOICE_COLLECTIVES, /* collectives, else none */
    CLOCK_CHOICE_UTC,         /* UTC, else none; parts of one host still by the counter */
    CLOCK_CHOICE_NONE,        /* every part keeps its own time */
};

struct clock_input {
    enum clock_choice choice;
    const struct clock_part *parts;
    uint32_t part_count;
    /* Instance i is entries[instance_first[i]] up to, not including, entries[instance_first[i + 1]]; there are
     * instance_count + 1 numbers. Any number of instances may be given: the fit samples them evenly over time, up to
     * some 2,000 a host; the check reads all of them. */
    const struct clock_entry *entries;
    const size_t *instance_first;
    size_t instance_count;
    const struct clock_message *messages;
    size_t message_count;
};

/* ---- Output ---------------------------------------------------------------------------------------------------- */

#define CLOCK_METHODS(X)                                                                                             \
    X(REFERENCE, "reference")     /* its time is the time of the set */                                              \
    X(COUNTER, "counter")         /* on the reference's host: the same raw counter */                                \
    X(COLLECTIVES, "collectives") /* its host shares synchronising collectives with hosts that have a place */       \
    X(UTC, "utc")                                                                                                    \
    X(NONE, "none")               /* its own time is taken for that of the set */

enum clock_method {
#define CLOCK_METHOD(name, text) CLOCK_##name,
    CLOCK_METHODS(CLOCK_METHOD)
#undef CLOCK_METHOD
};

struct clock_part_fit {
    enum clock_method method;
    struct time_map map; /* own time to set time: time_map_at() */
    uint32_t host;       /* number of the host: parts with the same one share a counter */
    int64_t offset_ns;   /* set time − own time where the part begins */
    double drift_ppm;    /* by which its clock is slow, on average: (set duration / own duration − 1) × 10⁶ */
    int64_t error_ns;    /* the true offset is within ± this, or CLOCK_ERROR_UNKNOWN */
    int is_bounded; /* whether order constraints bound it from both sides; 0: one side is an allowance for latency */
    uint32_t instances; /* number of instances that its place rests on */
    int is_stranger;    /* its counter's rate differs from that of the other parts of its boot id, so it is ignored */
};

/* Two parts that cannot both be right: `early` left a collective, or received a message, before `late` had entered or
 * sent it, by more than the errors of both. */
struct clock_contradiction {
    uint32_t early, late;
    int64_t worst_ns; /* beyond both errors */
    uint64_t count;   /* instances and messages that say so */
    int is_message;   /* whether the worst one is a message */
};

struct clock_fit {
    struct clock_part_fit *parts;               /* as many as the input has */
    uint32_t reference;                         /* the part whose time is that of the set */
    uint32_t host_count;
    struct clock_contradiction *contradictions; /* the worst first, at most CLOCK_CONTRADICTIONS_MOST */
    size_t contradiction_count;
    void *memory;
};
#define CLOCK_CONTRADICTIONS_MOST 64

/* Fills *fit. Returns 0, or ERR_NO_MEMORY or ERR_BAD_ARGUMENT (a part or entry number out of range); then *fit needs
 * no clock_fit_free(). No part: a fit of no parts. */
int clock_fit(const struct clock_input *input, struct clock_fit *fit, struct error *err);
void clock_fit_free(struct clock_fit *fit);

const char *clock_method_name(enum clock_method method);

#endif
