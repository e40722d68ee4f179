/* Fills strips from the rows of streams, which are in memory. The work of a step is sorted by its start once. Then the
 * time that is covered by the first parts, by the first two and by all of them is added up; the difference between two
 * of these sums is what a part adds to those before it. */
#include "step_strips.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "view/load/event_search.h"
#include "view/work/work_kinds.h"

int strip_open(struct strip *strip, size_t bin_count, int64_t bin_ns)
{
    strip->bins = calloc(bin_count * STRIP_PARTS + 1, sizeof *strip->bins);
    strip->bin_count = bin_count;
    strip->bin_ns = bin_ns;
    return strip->bins ? 0 : ERR_NO_MEMORY;
}

void strip_free(struct strip *strip)
{
    free(strip->bins);
    free(strip->works);
    *strip = (struct strip){ 0 };
}

/* ---- the work of a step ---------------------------------------------------------------------------------------- */

/* By the lane that its kind of work has in a folded group, so that strips and the picture agree. */
static enum strip_part part_of(const struct view_events *events, uint32_t event)
{
    static const enum strip_part parts[WORK_LANES] = {
        [LANE_COMMUNICATION] = STRIP_COMMUNICATION, [LANE_COPIES] = STRIP_COPIES
    };
    uint8_t lane = work_lanes[event_work(events, event)];

    return lane < WORK_LANES ? parts[lane] : STRIP_COMPUTE;
}

static int add_row(struct strip *strip, const struct view_row *row, int64_t from_ns, int64_t to_ns)
{
    const struct view_events *events = &row->events;

    for (uint32_t lane = 0; lane < events->lane_count; lane++)
        for (uint32_t e = events_reaching(events, lane, from_ns);
             e < events->lanes[lane + 1] && events->start_ns[e] < to_ns; e++) {
            int64_t begin = events->start_ns[e] < from_ns ? from_ns : events->start_ns[e], end = event_end(events, e);
            end = end > to_ns ? to_ns : end;
            if (end <= begin)
                continue;
            if (array_reserve(&strip->works, &strip->work_room, strip->work_count + 1, sizeof *strip->works) != 0)
                return ERR_NO_MEMORY;
            strip->works[strip->work_count++] = (struct strip_work){ begin - from_ns, end - from_ns,
                                                                     part_of(events, e) };
        }
    return 0;
}

/* How near the work of a row is to a step. */
enum nearness { OF_ANOTHER, OF_ALL, OF_RANK, OF_PROCESS };

static enum nearness nearness_of(const struct view_row *steps, const struct view_row *row)
{
    if (row->type != ROW_STREAM)
        return OF_ANOTHER;
    if (steps->process >= 0 && row->process == steps->process)
        return OF_PROCESS;
    if (steps->rank >= 0)
        return row->rank == steps->rank ? OF_RANK : OF_ANOTHER;
    return OF_ALL;
}

static int find_work(struct strip *strip, const struct view *view, const struct view_row *steps, int64_t from_ns,
                     int64_t to_ns)
{
    enum nearness nearest = OF_ANOTHER;

    strip->work_count = 0;
    for (size_t r = 0; r < view->row_count; r++) {
        enum nearness own = nearness_of(steps, &view->rows[r]);
        nearest = own > nearest ? own : nearest;
    }
    for (size_t r = 0; nearest != OF_ANOTHER && r < view->row_count; r++)
        if (nearness_of(steps, &view->rows[r]) == nearest && add_row(strip, &view->rows[r], from_ns, to_ns) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

/* ---- sums ------------------------------------------------------------------------------------------------------ */

static int by_begin(const void *a, const void *b)
{
    const struct strip_work *one = a, *other = b;

    return (one->from_ns > other->from_ns) - (one->from_ns < other->from_ns);
}

static void cover(struct strip *strip, enum strip_part part, int64_t from_ns, int64_t to_ns)
{
    strip->ns[part] += to_ns - from_ns;
    for (size_t b = (size_t)(from_ns / strip->bin_ns); b < strip->bin_count && from_ns < to_ns; b++) {
        int64_t end = ((int64_t)b + 1) * strip->bin_ns;
        end = end < to_ns ? end : to_ns;
        strip->bins[b * STRIP_PARTS + part] += end - from_ns;
        from_ns = end;
    }
}

/* The time in which work of this part, or of one before it, ran. */
static void sum_up_to(struct strip *strip, enum strip_part part)
{
    int64_t covered = 0; /* all work so far lies before it */

    for (size_t i = 0; i < strip->work_count; i++) {
        const struct strip_work *work = &strip->works[i];
        int64_t from = work->from_ns > covered ? work->from_ns : covered;
        if (work->part > part || work->to_ns <= from)
            continue;
        cover(strip, part, from, work->to_ns);
        covered = work->to_ns;
    }
}

int strip_fill(struct strip *strip, const struct view *view, int row, uint32_t event)
{
    const struct view_row *steps = &view->rows[row];
    int64_t from = steps->events.start_ns[event];

    memset(strip->ns, 0, sizeof strip->ns);
    memset(strip->bins, 0, strip->bin_count * STRIP_PARTS * sizeof *strip->bins);
    if (find_work(strip, view, steps, from, event_end(&steps->events, event)) != 0)
        return ERR_NO_MEMORY;
    if (strip->work_count)
        qsort(strip->works, strip->work_count, sizeof *strip->works, by_begin);
    for (enum strip_part part = 0; part < STRIP_PARTS; part++)
        sum_up_to(strip, part);
    for (int part = STRIP_PARTS - 1; part > 0; part--) {
        strip->ns[part] -= strip->ns[part - 1];
        for (size_t b = 0; b < strip->bin_count; b++)
            strip->bins[b * STRIP_PARTS + (size_t)part] -= strip->bins[b * STRIP_PARTS + (size_t)part - 1];
    }
    return 0;
}
