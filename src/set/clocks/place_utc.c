/* A place by UTC: for hosts that share no synchronising collective with the others. The error comes from the errors of
 * UTC that both kernels state. */
#include "base/saturating.h"
#include "clock_fit_state.h"
#include "time_map.h"

#define UTC_TOLERANCE_NS 1000 /* far below the accuracy of UTC */

static int reading_has_utc(const struct clock_reading *reading)
{
    return clock_is_sane(reading->time_ns) && reading->utc_ns > 0 && clock_is_sane(reading->utc_ns);
}

/* The error that the kernel states, plus the distance of the readings; CLOCK_ERROR_UNKNOWN if UTC was not read. */
static int64_t utc_error(const struct clock_part *part)
{
    int64_t error = part->utc_error_ns < 0 ? CLOCK_UTC_ERROR_ASSUMED_NS : part->utc_error_ns;
    for (size_t i = 0; i < part->reading_count; i++)
        if (reading_has_utc(&part->readings[i]))
            return saturating_add(error, part->readings[i].error_ns < 0 ? 0 : part->readings[i].error_ns);
    return CLOCK_ERROR_UNKNOWN;
}

/* Finds the best part of each host, and the host that the others are joined with. */
static int find_best(struct fit *fit)
{
    int64_t least = CLOCK_ERROR_UNKNOWN;
    fit->utc_anchor = fit->host_count;
    fit->utc = fit_alloc(fit, fit->host_count, sizeof *fit->utc);
    if (!fit->utc)
        return -1;
    for (uint32_t h = 0; h < fit->host_count; h++)
        fit->utc[h].error_ns = CLOCK_ERROR_UNKNOWN;
    for (uint32_t i = 0; i < fit->input->part_count; i++) {
        struct fit_utc *best = &fit->utc[fit->parts[i].host];
        int64_t error = utc_error(&fit->input->parts[i]);
        if (error < best->error_ns)
            *best = (struct fit_utc){ i, error };
    }
    for (uint32_t h = 0; h < fit->host_count; h++) {
        int64_t error = saturating_add(fit->utc[h].error_ns, fit->hosts[h].error_ns);
        if (fit->hosts[h].has_place && error < least) {
            fit->utc_anchor = h;
            least = error;
        }
    }
    return 0;
}

/* Own time to UTC. */
static int utc_map(const struct clock_part *part, struct time_map *map, struct arena *arena)
{
    size_t count = 0, step = part->reading_count / 4096 + 1;
    struct clock_knot *knots = arena_alloc(arena, (part->reading_count / step + 1) * sizeof *knots);
    if (!knots)
        return -1;
    for (size_t i = 0; i < part->reading_count; i++) /* at least one: the first that has UTC */
        if (reading_has_utc(&part->readings[i]) && (!count || i % step == 0))
            if (count < part->reading_count / step + 1)
                knots[count++] = (struct clock_knot){ part->readings[i].time_ns, part->readings[i].utc_ns };
    return time_map_make(map, knots, count, UTC_TOLERANCE_NS, arena);
}

/* host time → own time → UTC → own time of the other part → its host time → set time */
static int map_through(struct fit *fit, uint32_t part, uint32_t other, struct time_map *to_set)
{
    struct arena *arena = &fit->scratch;
    const struct clock_part *parts = fit->input->parts;
    const struct time_map *other_to_set = &fit->hosts[fit->parts[other].host].to_set;
    struct time_map steps[5], utc;
    if (time_map_inverse(&fit->parts[part].to_host, &steps[0], arena) != 0 ||
        utc_map(&parts[part], &steps[1], arena) != 0 || utc_map(&parts[other], &utc, arena) != 0 ||
        time_map_inverse(&utc, &steps[2], arena) != 0)
        return -1;
    steps[3] = fit->parts[other].to_host;
    steps[4] = *other_to_set;
    *to_set = steps[0];
    for (int i = 1; i < 5; i++)
        if (time_map_compose(to_set, &steps[i], UTC_TOLERANCE_NS, to_set, arena) != 0)
            return -1;
    return 0;
}

int fit_place_by_utc(struct fit *fit, uint32_t number)
{
    struct fit_host *host = &fit->hosts[number];
    if (!fit->utc && find_best(fit) != 0)
        return -1;
    const struct fit_utc *own = &fit->utc[number], *other = &fit->utc[fit->utc_anchor];
    if (fit->utc_anchor == fit->host_count || own->error_ns == CLOCK_ERROR_UNKNOWN)
        return 0;
    if (map_through(fit, own->part, other->part, &host->to_set) != 0)
        return -1;
    int64_t other_error_ns = saturating_add(other->error_ns, fit->hosts[fit->utc_anchor].error_ns);
    host->has_place = 1;
    host->method = CLOCK_UTC;
    host->error_ns = saturating_add(saturating_add(own->error_ns, other_error_ns), 5 * UTC_TOLERANCE_NS);
    return 0;
}
