/* Gives each host its place: a map from host time to set time, with an error.
 *
 * Host after host: the next one is the one that shares most instances with hosts that have a place. Its offset is
 * fitted to differences of ends (offset_fit.c), then moved into the interval that the order of events leaves
 * (order_bounds.c). Hosts that share no instance begin anew with UTC (place_utc.c). */
#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/saturating.h"
#include "order_bounds.h"
#include "time_map.h"

/* A rank that is always last hides the latency of its messages: all ends are then late by it, and no order bounds it.
 * An allowance takes its place. Slow networks also take longer to send and are less regular, so it grows with both. */
#define LATENCY_ALLOWED_NS 10000.0
#define LATENCY_PER_STAY 2.0
#define LATENCY_PER_NOISE 2.0
#define ALLOWANCE_POINTS_LEAST 8 /* fewer instances may all be disturbed: then only the order of events bounds */
#define DRIFT_UNKNOWN 100e-6 /* beyond the evidence, where it has no slope: two crystals at ± 50 ppm */

/* ---- Instances of hosts with a place --------------------------------------------------------------------------- */

static void tell_instance(struct fit *fit, const struct fit_host *host, const struct fit_entry *entry)
{
    struct fit_instance *instance = &fit->instances[entry->instance];
    int64_t end = time_map_at(&host->to_set, entry->first_end_ns);
    int64_t start = time_map_at(&host->to_set, entry->last_start_ns);
    int64_t end_wide = saturating_add(end, host->error_ns), start_wide = saturating_subtract(start, host->error_ns);
    if (!instance->is_placed) {
        instance->is_placed = 1;
        instance->end_ns = end;
        instance->end_error_ns = host->error_ns;
        for (uint32_t i = 0; i < instance->entry_count; i++)
            fit->shared[fit->entries[instance->entry_first + i].host]++;
    }
    instance->first_end_ns = end < instance->first_end_ns ? end : instance->first_end_ns;
    instance->last_start_ns = start > instance->last_start_ns ? start : instance->last_start_ns;
    instance->first_end_wide_ns = end_wide < instance->first_end_wide_ns ? end_wide : instance->first_end_wide_ns;
    instance->last_start_wide_ns = start_wide > instance->last_start_wide_ns ? start_wide
                                                                             : instance->last_start_wide_ns;
}

static void tell_instances(struct fit *fit, const struct fit_host *host)
{
    for (uint32_t i = 0; i < host->entry_count; i++)
        tell_instance(fit, host, &fit->entries[fit->host_entries[host->entry_first + i]]);
}

/* ---- One host -------------------------------------------------------------------------------------------------- */

static int by_x(const void *a, const void *b)
{
    const struct offset_point *p = a, *q = b;
    return COMPARE(p->x, q->x);
}

/* The differences of ends; *worst is the largest error of the hosts that they are differences to. */
static size_t take_points(const struct fit *fit, struct host_fit *host_fit, struct offset_point *points, int64_t *worst)
{
    const struct fit_host *host = &fit->hosts[host_fit->host];
    size_t count = 0;
    *worst = 0;
    for (uint32_t i = 0; i < host->entry_count; i++) {
        const struct fit_entry *entry = &fit->entries[fit->host_entries[host->entry_first + i]];
        const struct fit_instance *instance = &fit->instances[entry->instance];
        if (!instance->is_placed)
            continue;
        int64_t offset = saturating_subtract(entry->first_end_ns, instance->end_ns);
        if (!count) {
            host_fit->x_ns = entry->first_end_ns;
            host_fit->y_ns = offset;
        }
        points[count++] = (struct offset_point){ (double)saturating_subtract(entry->first_end_ns, host_fit->x_ns),
                                                 (double)saturating_subtract(offset, host_fit->y_ns) };
        *worst = instance->end_error_ns > *worst ? instance->end_error_ns : *worst;
    }
    qsort(points, count, sizeof *points, by_x);
    return count;
}

/* The interval that holds for all stretches, if the fit has the right shape up to its uncertainty. */
static struct order_interval place_hosts_common(const struct host_fit *host_fit, const struct order_interval *intervals)
{
    struct order_interval all = { -INFINITY, INFINITY };
    for (size_t i = 0; i < host_fit->offsets.count; i++) {
        double slack = host_fit->offsets.stretches[i].uncertainty;
        all.low = fmax(all.low, intervals[i].low - slack);
        all.high = fmin(all.high, intervals[i].high + slack);
    }
    return all;
}

/* Where events contradict each other by little, the places of other hosts are not exact: the middle is the best for
 * both. Where they contradict each other by much, they say nothing. */
static double place_hosts_clamp(double value, struct order_interval interval)
{
    if (interval.low > interval.high)
        return interval.low - interval.high < LATENCY_ALLOWED_NS ? (interval.low + interval.high) / 2 : value;
    return fmin(fmax(value, interval.low), interval.high);
}

/* Moves the stretches into their intervals: to the middle where both sides are close, else as little as needed.
 * `moved` receives by how much. */
static void move_into_bounds(struct host_fit *host_fit, double *moved)
{
    struct order_interval all = place_hosts_common(host_fit, host_fit->bounds.exact);
    int is_close = all.high >= all.low && all.high <= LATENCY_ALLOWED_NS && all.low >= -LATENCY_ALLOWED_NS;
    double move = is_close ? all.low + (all.high - all.low) / 2 : place_hosts_clamp(0, all);
    for (size_t i = 0; i < host_fit->offsets.count; i++) {
        moved[i] = place_hosts_clamp(move, host_fit->bounds.exact[i]);
        host_fit->offsets.stretches[i].value += moved[i];
    }
    offset_join(&host_fit->offsets);
}

/* How far the truth can be on one side: by the order of events, or by the allowance where that does not bound it or
 * contradicts itself. */
static double place_hosts_side(double bound, double allowance, double slack, int *is_bounded)
{
    if (bound >= -slack && bound <= allowance)
        return fmax(bound, 0);
    *is_bounded = 0;
    return allowance;
}

static void find_error(struct fit_host *host, const struct host_fit *host_fit, double allowance, const double *moved)
{
    struct order_interval all = place_hosts_common(host_fit, host_fit->bounds.sure);
    double worst = 0;
    host->is_bounded = 1;
    for (size_t i = 0; i < host_fit->offsets.count; i++) {
        const struct order_interval *own = &host_fit->bounds.sure[i];
        double slack = host_fit->offsets.stretches[i].uncertainty;
        double allowed = host_fit->offsets.stretches[i].points < ALLOWANCE_POINTS_LEAST
                             ? INFINITY
                             : allowance + LATENCY_PER_NOISE * host_fit->offsets.stretches[i].noise;
        double above = fmin(own->high, all.high + slack) - moved[i], below = moved[i] - fmax(own->low, all.low - slack);
        double error = fmax(place_hosts_side(above, allowed, slack, &host->is_bounded),
                            place_hosts_side(below, allowed, slack, &host->is_bounded));
        worst = fmax(worst, error + slack);
    }
    host->error_ns = saturating_add(saturating_from_double(worst), 1);
}

/* The map has a knot where stretches meet, and at the first and the last difference. */
static int place_hosts_make_map(struct fit_host *host, const struct host_fit *host_fit, struct arena *arena)
{
    const struct offset_fit *offsets = &host_fit->offsets;
    struct clock_knot *knots = arena_alloc(arena, 2 * offsets->count * sizeof *knots);
    const struct offset_stretch *first = &offsets->stretches[0], *last = &offsets->stretches[offsets->count - 1];
    size_t count = 0;
    if (!knots)
        return -1;
    for (size_t i = 0; i < offsets->count; i++) {
        double ends[2] = { offsets->stretches[i].begin, offsets->stretches[i].end };
        for (int e = 0; e < 2; e++) {
            int64_t x = saturating_from_double(ends[e]), y = saturating_from_double(offset_at(offsets, (double)x));
            int64_t at = saturating_add(host_fit->x_ns, x);
            knots[count++] = (struct clock_knot){ at, saturating_subtract(saturating_subtract(at, host_fit->y_ns), y) };
        }
    }
    host->first_ns = saturating_add(host_fit->x_ns, saturating_from_double(first->begin));
    host->last_ns = saturating_add(host_fit->x_ns, saturating_from_double(last->end));
    double slopes[2] = { first->uncertainty / (first->end - first->begin + 1),
                         last->uncertainty / (last->end - last->begin + 1) };
    host->slope_error = fmin(2 * fmax(slopes[0], slopes[1]), DRIFT_UNKNOWN);
    return time_map_make(&host->to_set, knots, count, MAP_TOLERANCE_NS, arena);
}

/* The latency to allow for, from the shortest stay in an instance, which is that of the last one to enter. */
static double find_allowance(const struct fit *fit, const struct fit_host *host, double *stays)
{
    size_t count = 0;
    for (uint32_t i = 0; i < host->entry_count; i++) {
        uint32_t entry = fit->host_entries[host->entry_first + i];
        const struct fit_instance *instance = &fit->instances[fit->entries[entry].instance];
        if (instance->is_placed)
            stays[count++] = (double)instance->shortest_ns;
    }
    qsort(stays, count, sizeof *stays, array_by_double);
    return LATENCY_ALLOWED_NS + LATENCY_PER_STAY * stays[count / 2];
}

static int fit_host(struct fit *fit, struct host_fit *host_fit, const struct host_messages *messages,
                    struct arena *arena)
{
    struct fit_host *host = &fit->hosts[host_fit->host];
    struct offset_point *points = arena_alloc(arena, host->entry_count * sizeof *points);
    int64_t other_error_ns;
    if (!points)
        return -1;
    size_t count = take_points(fit, host_fit, points, &other_error_ns);
    if (offset_fit(points, count, &host_fit->offsets, arena) != 0)
        return -1;
    double *moved = arena_alloc(arena, host_fit->offsets.count * sizeof *moved);
    double *stays = arena_alloc(arena, count * sizeof *stays);
    if (!moved || !stays || order_bounds_find(fit, messages, host_fit, arena) != 0)
        return -1;
    move_into_bounds(host_fit, moved);
    find_error(host, host_fit, find_allowance(fit, host, stays) + (double)other_error_ns, moved);
    host->instances = (uint32_t)count;
    return place_hosts_make_map(host, host_fit, arena);
}

static int place_by_collectives(struct fit *fit, uint32_t number, const struct host_messages *messages)
{
    struct fit_host *host = &fit->hosts[number];
    struct host_fit host_fit = { .host = number };
    struct arena arena = { 0 };
    host->group = fit->group_count;
    int rc = fit_host(fit, &host_fit, messages, &arena);
    if (rc == 0)
        rc = time_map_copy(&host->to_set, &host->to_set, &fit->scratch);
    arena_free(&arena);
    host->has_place = 1;
    host->method = CLOCK_COLLECTIVES;
    return rc;
}

/* ---- All hosts ------------------------------------------------------------------------------------------------- */

/* The host without a place that shares most instances with those that have one; host_count if none does. */
static uint32_t next_host(const struct fit *fit)
{
    uint32_t best = fit->host_count, most = 0;
    for (uint32_t h = 0; h < fit->host_count; h++)
        if (!fit->hosts[h].has_place && fit->shared[h] > most) {
            best = h;
            most = fit->shared[h];
        }
    return best;
}

/* The places of a group were found in the time of its first host, which is straight: brings them to set time. */
static int bring_to_set(struct fit *fit, uint32_t begin, const struct time_map *to_set, int64_t error_ns)
{
    for (uint32_t h = 0; h < fit->host_count; h++) {
        struct fit_host *host = &fit->hosts[h];
        if (host->group != fit->group_count)
            continue;
        host->error_ns = saturating_add(host->error_ns, error_ns);
        if (time_map_compose(&host->to_set, to_set, MAP_TOLERANCE_NS, &host->to_set, &fit->scratch) != 0)
            return -1;
    }
    fit->hosts[begin].to_set = *to_set;
    return 0;
}

/* Places the hosts that instances connect with one that has a place. */
static int place_group(struct fit *fit, uint32_t begin, const struct host_messages *messages)
{
    struct fit_host *first = &fit->hosts[begin];
    struct time_map to_set = first->to_set;
    int64_t error_ns = first->error_ns;
    if (!first->has_place)
        return 0;
    first->group = ++fit->group_count;
    if (!first->entry_count) /* one of 100,000 files that have nothing in common */
        return 0;
    first->error_ns = 0;
    if (time_map_identity(&first->to_set, &fit->scratch) != 0)
        return -1;
    tell_instances(fit, first);
    for (uint32_t h = next_host(fit); h < fit->host_count; h = next_host(fit)) {
        if (place_by_collectives(fit, h, messages) != 0)
            return -1;
        tell_instances(fit, &fit->hosts[h]);
    }
    return bring_to_set(fit, begin, &to_set, error_ns);
}

/* The host at the root of a tree (union and find). */
static uint32_t root_of(uint32_t *parents, uint32_t host)
{
    while (parents[host] != host) {
        parents[host] = parents[parents[host]];
        host = parents[host];
    }
    return host;
}

/* The reference host: the first one of the largest group, by parts, of hosts that instances connect. */
static int choose_reference(struct fit *fit)
{
    uint32_t *parents = fit_alloc(fit, fit->host_count, sizeof *parents);
    uint32_t *parts = fit_alloc(fit, fit->host_count, sizeof *parts);
    if (!parents || !parts)
        return -1;
    for (uint32_t h = 0; h < fit->host_count; h++)
        parents[h] = h;
    for (size_t i = 0; i < fit->entry_count; i++) {
        uint32_t a = root_of(parents, fit->entries[i].host);
        uint32_t b = root_of(parents, fit->entries[fit->instances[fit->entries[i].instance].entry_first].host);
        parents[a > b ? a : b] = a > b ? b : a; /* a root is the first host of its group */
    }
    for (uint32_t h = 0; h < fit->host_count; h++)
        parts[root_of(parents, h)] += fit->hosts[h].part_count;
    for (uint32_t h = 0; h < fit->host_count; h++)
        fit->reference_host = parts[h] > parts[fit->reference_host] ? h : fit->reference_host;
    return 0;
}

static int place_reference(struct fit *fit)
{
    struct fit_host *host = &fit->hosts[fit->reference_host];
    host->has_place = host->is_bounded = 1;
    host->method = CLOCK_COUNTER;
    return time_map_identity(&host->to_set, &fit->scratch);
}

/* The last resort: the own time of its first part is taken for the time of the set. */
static int place_as_it_is(struct fit *fit, uint32_t number)
{
    struct fit_host *host = &fit->hosts[number];
    const struct fit_part *own = &fit->parts[host->first_part];
    const struct fit_part *reference = &fit->parts[fit->hosts[fit->reference_host].first_part];
    struct time_map to_own;
    host->has_place = 1;
    host->method = CLOCK_NONE;
    host->error_ns = CLOCK_ERROR_UNKNOWN;
    return time_map_inverse(&own->to_host, &to_own, &fit->scratch) != 0
               ? -1
               : time_map_compose(&to_own, &reference->to_host, MAP_TOLERANCE_NS, &host->to_set, &fit->scratch);
}

int fit_place_hosts(struct fit *fit)
{
    struct host_messages messages;
    enum clock_choice choice = fit->input->choice;
    fit->shared = fit_alloc(fit, fit->host_count, sizeof *fit->shared);
    if (!fit->shared || choose_reference(fit) != 0 || host_messages_index(fit, &messages) != 0 ||
        place_reference(fit) != 0)
        return -1;
    int by_collectives = choice == CLOCK_CHOICE_BEST || choice == CLOCK_CHOICE_COLLECTIVES;
    int by_utc = choice == CLOCK_CHOICE_BEST || choice == CLOCK_CHOICE_UTC;
    if (by_collectives && place_group(fit, fit->reference_host, &messages) != 0)
        return -1;
    for (uint32_t h = 0; by_utc && h < fit->host_count; h++)
        if (!fit->hosts[h].has_place &&
            (fit_place_by_utc(fit, h) != 0 || (by_collectives && place_group(fit, h, &messages) != 0)))
            return -1;
    for (uint32_t h = 0; h < fit->host_count; h++)
        if (!fit->hosts[h].has_place &&
            (place_as_it_is(fit, h) != 0 || (by_collectives && place_group(fit, h, &messages) != 0)))
            return -1;
    return 0;
}
