/* The state that the steps of a fit share. One struct, filled in this order:
 *
 *   host_time.c        parts into hosts, own time to host time by the counter
 *   instance_hosts.c   a sample of the instances, reduced to one entry a host
 *   place_hosts.c      host time to set time, host after host (offset_fit.c, order_bounds.c, place_utc.c)
 *   settle_order.c     the same, moved a little where an event still precedes its cause
 *   clock_fit.c        own time to set time: the result
 *   contradictions.c   what contradicts it
 *
 * Everything in it is in the scratch arena, which ends with the fit. */
#ifndef TACHO_SET_CLOCKS_CLOCK_FIT_STATE_H
#define TACHO_SET_CLOCKS_CLOCK_FIT_STATE_H

#include "base/arena.h"
#include "clock_fit.h"

#define READING_TOLERANCE_NS 100 /* for simplifying the readings of the counter, which are no more exact */
#define MAP_TOLERANCE_NS 10      /* for simplifying other maps, at most three times on the way to the result */

/* All times of a host are in host time: ns of its raw counter, or the own time of its only part. */
struct fit_host {
    uint32_t part_count;
    uint32_t first_part;
    int has_place;
    uint32_t group; /* group of hosts that collectives join: places are good to µs only within one */
    enum clock_method method;
    struct time_map to_set;
    int64_t error_ns;
    double slope_error;        /* error of to_set beyond the evidence: ns per ns */
    int64_t first_ns, last_ns; /* the span of the evidence */
    int is_bounded;
    uint32_t instances;
    size_t entry_first;        /* its entries are host_entries[entry_first …] */
    uint32_t entry_count;
};

struct fit_part {
    uint32_t host;
    struct time_map to_host;
    int64_t error_ns; /* error of to_host */
    int is_stranger;  /* its counter has another rate than those of its boot id: a host of its own */
};

/* A host in an instance that was kept. */
struct fit_entry {
    uint32_t host, instance;
    int64_t first_end_ns, last_start_ns; /* over its parts */
};

/* An instance that was kept: the times of the hosts with a place, in set time. */
struct fit_instance {
    uint32_t entry_first, entry_count;
    int64_t shortest_ns;                           /* the shortest stay of a part, which is the last one to enter */
    int is_placed;                                 /* whether any host of it has a place */
    int64_t end_ns, end_error_ns;                  /* those of the first host that was placed */
    int64_t first_end_ns, last_start_ns;           /* extremes over all hosts with a place */
    int64_t first_end_wide_ns, last_start_wide_ns; /* the same, widened by the error of each host */
};

/* The part of a host whose UTC is best. */
struct fit_utc {
    uint32_t part;
    int64_t error_ns; /* CLOCK_ERROR_UNKNOWN: no part of it knows UTC */
};

struct fit {
    const struct clock_input *input;
    struct arena scratch;
    struct fit_part *parts;
    struct fit_host *hosts;
    uint32_t host_count, reference_host, group_count;
    struct fit_entry *entries; /* by instance */
    size_t entry_count;
    struct fit_instance *instances;
    uint32_t instance_count;
    uint32_t *host_entries; /* numbers of entries, by host */
    struct fit_utc *utc;    /* by host; made when UTC is needed first */
    uint32_t utc_anchor;    /* the host with a place whose UTC is best, or host_count */
    uint32_t *shared;       /* by host: its instances that have a host with a place */
};

/* Memory for the fit's working data, cleared; NULL when memory is short. */
static inline void *fit_alloc(struct fit *fit, size_t count, size_t element_bytes)
{
    return count && count > SIZE_MAX / element_bytes ? NULL : arena_alloc_zero(&fit->scratch, count * element_bytes);
}

/* The steps. Each returns 0, or -1 when memory is short. */
int fit_find_hosts(struct fit *fit);
int fit_take_instances(struct fit *fit);
int fit_place_hosts(struct fit *fit);
int fit_settle_order(struct fit *fit);
/* Gives a host a place by UTC, if it and some host with a place know UTC. */
int fit_place_by_utc(struct fit *fit, uint32_t host);
int fit_find_contradictions(const struct fit *fit, struct clock_fit *result, struct arena *arena);

/* Whether an entry of the input may be used. */
int fit_entry_is_sane(const struct clock_entry *entry);

#endif
