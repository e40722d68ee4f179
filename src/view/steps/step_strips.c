/* Fills strips from rows, which are in memory. The work of a step is sorted by its start once. Then the
 * time that is covered by the first parts, by the first two and by all of them is added up; the difference between two
 * of these sums is what a part adds to those before it. */
#include "step_strips.h"

#include <stdlib.h>
#include <string.h>

#include "step_threads.h"
#include "view/load/event_search.h"

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
    free(strip->works.list);
    *strip = (struct strip){ 0 };
}

/* ---- the work of a step ---------------------------------------------------------------------------------------- */

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

static int step_strips_find_work(struct strip *strip, const struct view *view, const struct view_row *steps,
                                 const struct report_span *span)
{
    enum nearness nearest = OF_ANOTHER;

    strip->works.count = 0;
    for (size_t r = 0; r < view->row_count; r++) {
        enum nearness own = nearness_of(steps, &view->rows[r]);
        nearest = own > nearest ? own : nearest;
    }
    if (nearest == OF_ANOTHER)
        return strip_add_threads(&strip->works, view, steps, span);
    for (size_t r = 0; r < view->row_count; r++)
        if (nearness_of(steps, &view->rows[r]) == nearest &&
            strip_works_add_row(&strip->works, &view->rows[r], span, WORK_KINDS) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

/* ---- sums ------------------------------------------------------------------------------------------------------ */

static void step_strips_cover(struct strip *strip, enum strip_part part, int64_t from_ns, int64_t to_ns)
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

    for (size_t i = 0; i < strip->works.count; i++) {
        const struct strip_work *work = &strip->works.list[i];
        int64_t from = work->from_ns > covered ? work->from_ns : covered;
        if (work->part > part || work->to_ns <= from)
            continue;
        step_strips_cover(strip, part, from, work->to_ns);
        covered = work->to_ns;
    }
}

int strip_fill(struct strip *strip, const struct view *view, int row, uint32_t event)
{
    const struct view_row *steps = &view->rows[row];
    const struct report_span span = { steps->events.start_ns[event], event_end(&steps->events, event) };

    memset(strip->ns, 0, sizeof strip->ns);
    memset(strip->bins, 0, strip->bin_count * STRIP_PARTS * sizeof *strip->bins);
    if (step_strips_find_work(strip, view, steps, &span) != 0)
        return ERR_NO_MEMORY;
    if (strip->works.count)
        qsort(strip->works.list, strip->works.count, sizeof *strip->works.list, strip_works_by_begin);
    for (enum strip_part part = 0; part < STRIP_PARTS; part++)
        sum_up_to(strip, part);
    for (int part = STRIP_PARTS - 1; part > 0; part--) {
        strip->ns[part] -= strip->ns[part - 1];
        for (size_t b = 0; b < strip->bin_count; b++)
            strip->bins[b * STRIP_PARTS + (size_t)part] -= strip->bins[b * STRIP_PARTS + (size_t)part - 1];
    }
    return 0;
}
