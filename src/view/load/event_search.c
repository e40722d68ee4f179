/* Searches in the events of a row, by lane and by time. */
#include "event_search.h"

#include "base/array.h"

uint32_t events_long_from(const struct view_events *events, uint32_t event)
{
    return BISECT(0, events->long_count, i, events->longer[i].event < event);
}

int64_t events_long_length(const struct view_events *events, uint32_t event)
{
    uint32_t at = events_long_from(events, event);

    return at < events->long_count && events->longer[at].event == event ? events->longer[at].length_ns : 0;
}

uint32_t events_lane(const struct view_events *events, uint32_t event)
{
    return BISECT(1, events->lane_count, i, events->lanes[i] <= event) - 1;
}

uint32_t events_from(const struct view_events *events, uint32_t lane, int64_t time_ns)
{
    uint32_t first = events->lanes[lane];

    return first + (uint32_t)array_first_not_before(events->start_ns + first, events->lanes[lane + 1] - first, time_ns);
}

/* Events of a lane do not overlap, so of the events that start before the time only the last can reach it. */
uint32_t events_reaching(const struct view_events *events, uint32_t lane, int64_t time_ns)
{
    uint32_t first = events_from(events, lane, time_ns);

    return first > events->lanes[lane] && event_end(events, first - 1) > time_ns ? first - 1 : first;
}

uint32_t events_gallop(const struct view_events *events, uint32_t from, uint32_t end, int64_t time_ns, uint32_t guess)
{
    const int64_t *starts = events->start_ns;
    enum { NEAR = 64 }; /* for a smaller guess, a search from the first event on is as fast */
    uint32_t step = guess > NEAR ? guess / 8 : 1, low = from,
             high = guess <= NEAR        ? from
                    : end - from > guess ? from + guess
                                         : end;

    if (high < end && starts[high] < time_ns)
        while (high < end && starts[high] < time_ns) {
            low = high + 1;
            high = end - high > step ? high + step : end;
            step *= 2;
        }
    else
        while (high > low) {
            uint32_t at = high - from > step ? high - step : from;
            if (starts[at] < time_ns) {
                low = at + 1;
                break;
            }
            high = at;
            step *= 2;
        }
    return low + (uint32_t)array_first_not_before(starts + low, high - low, time_ns);
}
