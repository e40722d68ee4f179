/* Parts with the same boot id are one host. Its time is that of the raw counter, at one rate: all parts see the same
 * counter, and NTP does not slew it. */
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/saturating.h"
#include "clock_fit_state.h"
#include "time_map.h"

#define READINGS_MOST 4096  /* of a part: an hour at one a second; of more, every n-th */
#define TICKS_LIMIT (UINT64_C(1) << 62)

struct boot {
    uint64_t hash; /* of its id, never 0 */
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

/* The clock of a host: its rate is that of the part that recorded longest. */
struct host_clock {
    uint64_t ticks; /* at host time 0 */
    double ns_per_tick;
    int64_t span_ns;
};

static int64_t host_ns(const struct host_clock *clock, uint64_t ticks)
{
    return saturating_from_double((double)(int64_t)(ticks - clock->ticks) * clock->ns_per_tick);
}

static int64_t middle_error(const struct clock_part *part)
{
    int64_t error = part->readings[part->reading_count / 2].error_ns;
    return error < 0 ? 0 : error > CLOCK_LIMIT_NS ? CLOCK_LIMIT_NS : error;
}

static int map_to_host(struct fit *fit, uint32_t number, const struct host_clock *clock)
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

static void look_at_rate(struct host_clock *clock, const struct clock_reading *first, const struct clock_reading *last)
{
    int64_t span = last->time_ns - first->time_ns;
    if (span <= clock->span_ns)
        return;
    *clock = (struct host_clock){ first->ticks, (double)span / (double)(last->ticks - first->ticks), span };
}

/* The host of a part: that of an earlier part with the same boot id, else a new one. -1: out of memory. */
static int64_t host_of(struct fit *fit, struct boot_map *boots, uint32_t number)
{
    const struct clock_part *part = &fit->input->parts[number];
    struct clock_reading first, last;
    if (!part->boot_id || !*part->boot_id || !reading_ends(part, &first, &last))
        return fit->host_count++;
    uint64_t hash = hash_bytes(part->boot_id, strlen(part->boot_id)) | 1;
    struct boot *found = boot_map_find(boots, hash);
    if (!found) {
        struct boot added = { hash, fit->host_count };
        found = boot_map_add(boots, &added);
        fit->host_count += found != NULL;
    }
    return found ? (int64_t)found->host : -1;
}

static int group_parts(struct fit *fit)
{
    struct boot_map boots = { 0 };
    int rc = 0;
    for (uint32_t i = 0; i < fit->input->part_count && rc == 0; i++) {
        int64_t host = host_of(fit, &boots, i);
        rc = host < 0 ? -1 : 0;
        fit->parts[i].host = (uint32_t)host;
    }
    boot_map_free(&boots);
    return rc;
}

int fit_find_hosts(struct fit *fit)
{
    uint32_t part_count = fit->input->part_count;
    fit->parts = fit_alloc(fit, part_count, sizeof *fit->parts);
    if (!fit->parts || group_parts(fit) != 0)
        return -1;
    fit->hosts = fit_alloc(fit, fit->host_count, sizeof *fit->hosts);
    struct host_clock *clocks = fit_alloc(fit, fit->host_count, sizeof *clocks);
    if (!fit->hosts || !clocks)
        return -1;
    for (uint32_t i = 0; i < part_count; i++) {
        struct fit_host *host = &fit->hosts[fit->parts[i].host];
        struct clock_reading first, last;
        host->first_part = host->part_count++ ? host->first_part : i;
        host->method = CLOCK_NONE;
        if (reading_ends(&fit->input->parts[i], &first, &last))
            look_at_rate(&clocks[fit->parts[i].host], &first, &last);
    }
    for (uint32_t i = 0; i < part_count; i++) {
        const struct host_clock *clock = &clocks[fit->parts[i].host];
        int rc = clock->span_ns ? map_to_host(fit, i, clock) : time_map_identity(&fit->parts[i].to_host, &fit->scratch);
        if (rc != 0)
            return -1;
    }
    return 0;
}
