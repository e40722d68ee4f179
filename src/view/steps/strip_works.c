/* Collects the work of a step: see strip_works.h. */
#include "strip_works.h"

#include "base/array.h"
#include "view/load/event_search.h"

/* By the lane that its kind of work has in a folded group, so that strips and the picture agree. */
static enum strip_part strip_works_part_of(const struct view_events *events, uint32_t event)
{
    static const enum strip_part parts[WORK_LANES] = {
        [LANE_COMMUNICATION] = STRIP_COMMUNICATION, [LANE_COPIES] = STRIP_COPIES
    };
    uint8_t lane = work_lanes[event_work(events, event)];

    return lane < WORK_LANES ? parts[lane] : STRIP_COMPUTE;
}

int strip_works_add(struct strip_works *works, struct strip_work work)
{
    return ARRAY_PUSH(works->list, works->room, works->count, work);
}

int strip_works_add_row(struct strip_works *works, const struct view_row *row, const struct report_span *span,
                        enum work_kind kind)
{
    const struct view_events *events = &row->events;
    int64_t from_ns = span->from_ns, to_ns = span->to_ns;

    for (uint32_t lane = 0; lane < events->lane_count; lane++)
        for (uint32_t e = events_reaching(events, lane, from_ns);
             e < events->lanes[lane + 1] && events->start_ns[e] < to_ns; e++) {
            int64_t begin = events->start_ns[e] < from_ns ? from_ns : events->start_ns[e], end = event_end(events, e);
            end = end > to_ns ? to_ns : end;
            if (end <= begin || (kind != WORK_KINDS && event_work(events, e) != kind))
                continue;
            if (strip_works_add(works, (struct strip_work){ begin - from_ns, end - from_ns,
                                                            strip_works_part_of(events, e) }) != 0)
                return ERR_NO_MEMORY;
        }
    return 0;
}

int strip_works_by_begin(const void *a, const void *b)
{
    const struct strip_work *one = a, *other = b;

    return COMPARE(one->from_ns, other->from_ns);
}
