/* Parts with the same boot id are one host. Its time is that of the raw counter, at one rate: all parts see the same
 * counter, and NTP does not slew it. A part whose counter has another rate than most of its host's parts becomes a host
 * of its own, since it would scale the durations of all others. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/saturating.h"
#include "clock_fit_state.h"
#include "time_map.h"

#define READINGS_MOST 4096  /* per part: an hour at one a second; if there are more, every n-th is used */
#define TICKS_LIMIT (UINT64_C(1) << 62)
#define SLEW_MOST 1e-3 /* NTP slews the system's time by at most 500 ppm: rates of two parts differ by twice that */

struct boot {
    uint64_t hash; /* hash of its id, never 0 */
    uint32_t host;
};
MAP(boot_map, struct boot, uint64_t, hash, hash, hash_number, map_is_same_number)

static int reading_is_sane(const struct clock_reading *reading)
{
    return clock_is_sane(reading->time_ns) && reading->ticks > 0 && reading->ticks < TICKS_LIMIT;
}

/* The first and the last usable reading. Returns whether they span a time. */
static int reading_ends(const struct clock_part *part, struct clock_reading *first, struct clock_reading *last)
{
    size_t low = 0, high = part->reading_count;
    while (low < high && !reading_is_sane(&part->readings[low]))
        low++;
    while (high > low && !reading_is_sane(&part->readings[high - 1]))
        high--;
    if (high - low < 2)
        return 0;
    *first = part->readings[low];
    *last = part->readings[high - 1];
    return last->ticks > first->ticks && last->time_ns > first->time_ns;
}

/* The rate of a host's counter according to one part. */
struct part_rate {
    uint64_t boot;             /* hash of the boot id, never 0; 0: the part has none, or no readings */
    uint32_t part;
    uint64_t ticks;            /* at its first reading */
    double ns_per_tick, error; /* the error is a share of it */
};

static double error_of_reading(const struct clock_reading *reading)
{
    return 1 + (reading->error_ns > 0 ? (double)reading->error_ns : 0); /* times are whole ns */
}

static struct part_rate host_time_rate_of(const struct clock_part *part, uint32_t number)
{
    struct clock_reading first, last;
    struct part_rate rate = { .part = number };

    if (!reading_ends(part, &first, &last))
        return rate;
    double span = (double)(last.time_ns - first.time_ns);
    rate.boot = part->boot_id && *part->boot_id ? hash_bytes(part->boot_id, strlen(part->boot_id)) | 1 : 0;
    rate.ticks = first.ticks;
    rate.ns_per_tick = span / (double)(last.ticks - first.ticks);
    rate.error = (error_of_reading(&first) + error_of_reading(&last)) / span;
    return rate;
}

static int by_boot_and_rate(const void *a, const void *b)
{
    const struct part_rate *x = a, *y = b;

    return COMPARE(x->boot, y->boot) ?: COMPARE(x->ns_per_tick, y->ns_per_tick) ?: COMPARE(x->part, y->part);
}

/* Marks the parts of one boot id whose rate is not the median one. */
static void mark_strangers(struct fit *fit, const struct part_rate *rates, size_t count)
{
    const struct part_rate *median = &rates[count / 2];

    for (size_t i = 0; i < count && rates->boot; i++) {
        double apart = fabs(rates[i].ns_per_tick / median->ns_per_tick - 1);
        fit->parts[rates[i].part].is_stranger = apart > SLEW_MOST + rates[i].error + median->error;
    }
}

static int find_strangers(struct fit *fit, const struct part_rate *rates)
{
    size_t count = fit->input->part_count;
    struct part_rate *sorted = fit_alloc(fit, count + 1, sizeof *sorted);

    if (!sorted)
        return -1;
    memcpy(sorted, rates, count * sizeof *sorted);
    if (count)
        qsort(sorted, count, sizeof *sorted, by_boot_and_rate);
    for (size_t first = 0, behind; first < count; first = behind) {
        for (behind = first + 1; behind < count && sorted[behind].boot == sorted[first].boot;)
            behind++;
        mark_strangers(fit, &sorted[first], behind - first);
    }
    return 0;
}

static int64_t host_ns(const struct part_rate *clock, uint64_t ticks)
{
    return saturating_from_double((double)(int64_t)(ticks - clock->ticks) * clock->ns_per_tick);
}

static int64_t middle_error(const struct clock_part *part)
{
    int64_t error = part->readings[part->reading_count / 2].error_ns;
    return error < 0 ? 0 : error > CLOCK_LIMIT_NS ? CLOCK_LIMIT_NS : error;
}

static int map_to_host(struct fit *fit, uint32_t number, const struct part_rate *clock)
{
    const struct clock_part *part = &fit->input->parts[number];
    size_t step = part->reading_count / READINGS_MOST + 1, count = 0;
    struct clock_knot *knots = fit_alloc(fit, part->reading_count / step + 2, sizeof *knots);
    if (!knots)
        return -1;
    for (size_t i = 0; i < part->reading_count; i++) {
        const struct clock_reading *reading = &part->readings[i];
        if (reading_is_sane(reading) && (i % step == 0 || i + 1 == part->reading_count))
            knots[count++] = (struct clock_knot){ reading->time_ns, host_ns(clock, reading->ticks) };
    }
    fit->parts[number].error_ns = middle_error(part);
    if (!count)
        return time_map_identity(&fit->parts[number].to_host, &fit->scratch);
    return time_map_make(&fit->parts[number].to_host, knots, count, READING_TOLERANCE_NS, &fit->scratch);
}

/* The host of a part: that of an earlier part with the same boot id, else a new one. -1: out of memory. */
static int64_t host_of(struct fit *fit, struct boot_map *boots, const struct part_rate *rate)
{
    if (!rate->boot || fit->parts[rate->part].is_stranger)
        return fit->host_count++;
    struct boot *found = boot_map_find(boots, rate->boot);
    if (!found) {
        struct boot added = { rate->boot, fit->host_count };
        found = boot_map_add(boots, &added);
        fit->host_count += found != NULL;
    }
    return found ? (int64_t)found->host : -1;
}

static int group_parts(struct fit *fit, const struct part_rate *rates)
{
    struct boot_map boots = { 0 };
    int rc = 0;
    for (uint32_t i = 0; i < fit->input->part_count && rc == 0; i++) {
        int64_t host = host_of(fit, &boots, &rates[i]);
        rc = host < 0 ? -1 : 0;
        fit->parts[i].host = (uint32_t)host;
    }
    boot_map_free(&boots);
    return rc;
}

/* The rate of a host is that of the part that knows it best. */
static void choose_clocks(struct fit *fit, const struct part_rate *rates, struct part_rate *clocks)
{
    for (uint32_t i = 0; i < fit->input->part_count; i++) {
        struct fit_host *host = &fit->hosts[fit->parts[i].host];
        struct part_rate *clock = &clocks[fit->parts[i].host];
        host->first_part = host->part_count++ ? host->first_part : i;
        host->method = CLOCK_NONE;
        if (rates[i].ns_per_tick > 0 && (!(clock->ns_per_tick > 0) || rates[i].error < clock->error))
            *clock = rates[i];
    }
}

int fit_find_hosts(struct fit *fit)
{
    uint32_t part_count = fit->input->part_count;
    struct part_rate *rates = fit_alloc(fit, (size_t)part_count + 1, sizeof *rates);
    fit->parts = fit_alloc(fit, part_count, sizeof *fit->parts);
    if (!fit->parts || !rates)
        return -1;
    for (uint32_t i = 0; i < part_count; i++)
        rates[i] = host_time_rate_of(&fit->input->parts[i], i);
    if (find_strangers(fit, rates) != 0 || group_parts(fit, rates) != 0)
        return -1;
    fit->hosts = fit_alloc(fit, fit->host_count, sizeof *fit->hosts);
    struct part_rate *clocks = fit_alloc(fit, fit->host_count, sizeof *clocks);
    if (!fit->hosts || !clocks)
        return -1;
    choose_clocks(fit, rates, clocks);
    for (uint32_t i = 0; i < part_count; i++) {
        const struct part_rate *clock = &clocks[fit->parts[i].host];
        int has_rate = clock->ns_per_tick > 0;
        int rc = has_rate ? map_to_host(fit, i, clock) : time_map_identity(&fit->parts[i].to_host, &fit->scratch);
        if (rc != 0)
            return -1;
    }
    return 0;
}
