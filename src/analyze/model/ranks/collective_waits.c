/* Which ranks waited for which in an instance. See collectives.h for the rule. */
#include "collectives.h"

int collective_is_timed(const struct collective_instance *instance)
{
    return instance->count > 1 && !instance->is_open && !instance->is_nonblocking && !instance->has_several &&
           collective_synchronises(instance->kind);
}

static int64_t duration_of(const struct collective_call *call)
{
    return saturating_duration(call->enter_ns, call->leave_ns);
}

/* The waits by durations alone, and the shortest duration. */
static int64_t wait_by_durations(const struct collective_call *calls, size_t count, int64_t *waits)
{
    int64_t shortest = duration_of(&calls[0]);

    for (size_t i = 1; i < count; i++)
        shortest = duration_of(&calls[i]) < shortest ? duration_of(&calls[i]) : shortest;
    for (size_t i = 0; i < count; i++)
        waits[i] = saturating_subtract(duration_of(&calls[i]), shortest);
    return shortest;
}

static int64_t coll_waits_clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

static size_t last_to_enter(const struct collective_call *calls, size_t count)
{
    size_t last = 0;

    for (size_t i = 1; i < count; i++)
        if (calls[i].enter_ns > calls[last].enter_ns)
            last = i;
    return last;
}

size_t collective_waits(const struct collectives *all, const struct collective_instance *instance, int64_t *waits,
                        int64_t *error_ns)
{
    const struct collective_call *calls = all->calls + instance->first;
    size_t count = instance->count, last = last_to_enter(calls, count), shortest = 0;
    int64_t within_ns = wait_by_durations(calls, count, waits), worst_ns = 0;

    for (size_t i = 0; i < count; i++) {
        int64_t off_ns = i == last ? 0 : collectives_clock_error(all, calls[i].rank, calls[last].rank);
        int64_t by_clock_ns = saturating_subtract(calls[last].enter_ns, calls[i].enter_ns);
        waits[i] = coll_waits_clamp(waits[i], saturating_subtract(by_clock_ns, off_ns),
                                    saturating_add(by_clock_ns, off_ns));
        worst_ns = off_ns > worst_ns ? off_ns : worst_ns;
    }
    for (size_t i = 1; i < count; i++)
        if (waits[i] < waits[shortest])
            shortest = i;
    int64_t least_ns = waits[shortest];
    for (size_t i = 0; i < count; i++)
        waits[i] = saturating_subtract(waits[i], least_ns);
    *error_ns = within_ns < 0 ? worst_ns : within_ns < worst_ns ? within_ns : worst_ns;
    return shortest;
}

size_t collectives_most_calls(const struct collectives *all)
{
    size_t most = 0;

    for (size_t i = 0; i < all->instance_count; i++)
        most = all->instances[i].count > most ? all->instances[i].count : most;
    return most;
}

static void coll_waits_add_times(const struct collective_call *calls, size_t count, struct collective_figures *figures)
{
    figures->start_ns = calls[0].enter_ns;
    for (size_t i = 0; i < count; i++) {
        int64_t inside_ns = calls[i].leave_ns == COLLECTIVE_NEVER_LEFT ? 0 : duration_of(&calls[i]);
        figures->start_ns = calls[i].enter_ns < figures->start_ns ? calls[i].enter_ns : figures->start_ns;
        figures->total_ns = saturating_add(figures->total_ns, inside_ns);
        figures->longest_ns = inside_ns > figures->longest_ns ? inside_ns : figures->longest_ns;
    }
}

struct collective_figures collective_figures(const struct collectives *all, const struct collective_instance *instance,
                                             int64_t *waits)
{
    const struct collective_call *calls = all->calls + instance->first;
    struct collective_figures figures = { .first = SIZE_MAX, .last = SIZE_MAX };

    coll_waits_add_times(calls, instance->count, &figures);
    if (!collective_is_timed(instance))
        return figures;
    figures.is_timed = 1;
    size_t last = collective_waits(all, instance, waits, &figures.error_ns), first = last;
    for (size_t i = 0; i < instance->count; i++) {
        figures.wait_ns = saturating_add(figures.wait_ns, waits[i]);
        first = waits[i] > waits[first] ? i : first;
    }
    figures.lateness_ns = waits[first];
    figures.transfer_ns = duration_of(&calls[last]);
    if (figures.lateness_ns > figures.error_ns) {
        figures.first = first;
        figures.last = last;
    }
    return figures;
}
