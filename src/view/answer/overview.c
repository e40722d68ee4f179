/* The overview for the minimap: how much of the time any GPU, and any thread, was busy.
 *
 * Streams and threads run side by side, so their times cannot be added up. Instead, the share of each bin of time that
 * at least one of them covers is computed, for several bins in parallel. This happens once, at the first request; later
 * requests read the bins only. */
#include <math.h>
#include <stdlib.h>

#include "answers.h"
#include "base/array.h"
#include "view/load/derived.h"
#include "view/load/event_search.h"

enum { MOST_BINS = 4096, MOST_WIDTH = 8192 };
enum { OVER_GPU, OVER_CPU, OVERS };

struct view_overview {
    int bins; /* each is a nanosecond or more */
    float share[OVERS][MOST_BINS];
    int is_known[OVERS];
};

struct busy {
    int64_t from_ns, to_ns;
};
struct busy_list {
    struct busy *list; /* owned */
    size_t count, capacity;
};

struct covering {
    struct view *view;
    struct view_overview *overview;
    int over;
    uint32_t running; /* the name of the only state that counts as busy */
    const int *rows;  /* the rows whose events count */
    size_t row_count;
    int code;         /* error of any bin: written by several workers */
};

/* ---- one bin --------------------------------------------------------------------------------------------------- */

static int overview_add_busy(struct busy_list *list, int64_t from_ns, int64_t to_ns)
{
    struct busy *last = list->count ? &list->list[list->count - 1] : NULL;

    if (last && from_ns <= last->to_ns) {
        last->to_ns = to_ns > last->to_ns ? to_ns : last->to_ns;
        return 0;
    }
    return ARRAY_PUSH(list->list, list->capacity, list->count, (struct busy){ from_ns, to_ns });
}

struct bin {
    int64_t from_ns, to_ns;
    struct busy_list covered, merged; /* the time covered by the lanes so far, in order; the same with one more lane */
};

/* The first event from `at` on that ends after the time. */
static uint32_t overview_jump(const struct view_events *events, uint32_t at, uint32_t end, int64_t time_ns)
{
    uint32_t behind = events_gallop(events, at, end, time_ns, 0);

    return behind > at && event_end(events, behind - 1) > time_ns ? behind - 1 : behind;
}

/* Joins a lane with the time that is covered so far. Events within covered time are skipped, which are nearly all where
 * ranges nest. */
static int overview_add_lane(const struct covering *covering, struct bin *bin, const struct view_row *row,
                             uint32_t lane)
{
    const struct view_events *events = &row->events;
    uint32_t at = events_reaching(events, lane, bin->from_ns), end = events->lanes[lane + 1];
    size_t next = 0;

    bin->merged.count = 0;
    while ((at < end && events->start_ns[at] < bin->to_ns) || next < bin->covered.count) {
        const struct busy *known = next < bin->covered.count ? &bin->covered.list[next] : NULL;
        if (known && (at == end || known->from_ns <= events->start_ns[at])) {
            if (overview_add_busy(&bin->merged, known->from_ns, known->to_ns) != 0)
                return ERR_NO_MEMORY;
            next++;
            if (at < end && events->start_ns[at] < known->to_ns)
                at = overview_jump(events, at, end, known->to_ns);
            continue;
        }
        int64_t from = events->start_ns[at] > bin->from_ns ? events->start_ns[at] : bin->from_ns,
                until = event_end(events, at);
        if ((row->kind != KIND_STATES || event_name(events, at) == covering->running) &&
            overview_add_busy(&bin->merged, from, until < bin->to_ns ? until : bin->to_ns) != 0)
            return ERR_NO_MEMORY;
        at++;
    }
    struct busy_list old = bin->covered;
    bin->covered = bin->merged;
    bin->merged = old;
    return 0;
}

static int64_t overview_sum_of(const struct busy_list *list)
{
    int64_t sum = 0;

    for (size_t i = 0; i < list->count; i++)
        sum += list->list[i].to_ns - list->list[i].from_ns;
    return sum;
}

static int is_full(const struct bin *bin)
{
    return bin->covered.count == 1 && bin->covered.list->from_ns <= bin->from_ns &&
           bin->covered.list->to_ns >= bin->to_ns;
}

static int overview_add_lanes(const struct covering *covering, struct bin *bin)
{
    for (size_t r = 0; r < covering->row_count; r++) {
        const struct view_row *row = &covering->view->rows[covering->rows[r]];
        if (row->from_ns > bin->to_ns || row->to_ns < bin->from_ns)
            continue;
        for (uint32_t lane = 0; lane < row->events.lane_count; lane++) {
            if (is_full(bin))
                return 0;
            if (overview_add_lane(covering, bin, row, lane) != 0)
                return ERR_NO_MEMORY;
        }
    }
    return 0;
}

static void cover_bin(void *argument, int worker, size_t i)
{
    struct covering *covering = argument;
    const struct view *view = covering->view;
    double length = (double)(view->end_ns - view->begin_ns) / covering->overview->bins;
    struct bin bin = { .from_ns = view->begin_ns + (int64_t)(length * (double)i),
                       .to_ns = view->begin_ns + (int64_t)(length * (double)(i + 1)) };

    if (overview_add_lanes(covering, &bin) != 0)
        __atomic_store_n(&covering->code, ERR_NO_MEMORY, __ATOMIC_RELAXED);
    else if (bin.covered.count)
        covering->overview->share[covering->over][i] = (float)((double)overview_sum_of(&bin.covered) /
                                                               (bin.to_ns > bin.from_ns
                                                                    ? (double)(bin.to_ns - bin.from_ns)
                                                                    : 1));
    free(bin.covered.list);
    free(bin.merged.list);
}

/* ---- all bins -------------------------------------------------------------------------------------------------- */

/* Rows of the first of these types that the report has. */
static const enum row_type gpu_types[] = { ROW_STREAM, ROW_TYPE_COUNT }, state_types[] = { ROW_STATE, ROW_TYPE_COUNT },
                           call_types[] = { ROW_OSRT, ROW_CUDA_API, ROW_TORCH,        ROW_PYTHON,
                                            ROW_NVTX, ROW_LIBRARY,  ROW_THREAD_OTHER, ROW_TYPE_COUNT };
static const enum row_type *const choices[OVERS][2] = { { gpu_types, NULL }, { state_types, call_types } };

static size_t overview_choose_rows(const struct view *view, const enum row_type *types, int *rows)
{
    size_t count = 0;

    for (size_t i = 0; types && i < view->row_count; i++)
        for (const enum row_type *type = types; *type != ROW_TYPE_COUNT; type++)
            if (view->rows[i].type == *type)
                rows[count++] = (int)i;
    return count;
}

static int overview_cover(struct view *view, struct view_overview *overview)
{
    int *rows = malloc((view->row_count + 1) * sizeof *rows);
    int64_t length = view->end_ns - view->begin_ns;
    int code = 0;

    if (!rows)
        return ERR_NO_MEMORY;
    overview->bins = length >= MOST_BINS ? MOST_BINS : length > 0 ? (int)length : 1;
    for (int over = 0; over < OVERS; over++) {
        struct covering covering = {
            .view = view,
            .overview = overview,
            .over = over,
            .running = derived_state_find(view, STATE_RUNNING),
            .rows = rows,
        };
        for (int choice = 0; choice < 2 && !covering.row_count; choice++)
            covering.row_count = overview_choose_rows(view, choices[over][choice], rows);
        overview->is_known[over] = covering.row_count > 0;
        if (covering.row_count)
            report_parallel_for(view->report, (size_t)overview->bins, cover_bin, &covering);
        if ((code = covering.code) != 0)
            goto free_rows;
    }
free_rows:
    free(rows);
    return code;
}

/* The mean over a range of bins, the first and the last of which may count in part. */
static float mean(const struct view_overview *overview, int over, double from, double to)
{
    double sum = 0;
    int first = (int)from, last = (int)ceil(to);

    for (int bin = first; bin < last && bin < overview->bins; bin++) {
        double begin = bin > from ? bin : from, end = bin + 1 < to ? bin + 1 : to;
        sum += overview->share[over][bin] * (end - begin);
    }
    return to > from ? (float)(sum / (to - from)) : 0;
}

static int make_overview(struct view *view)
{
    struct view_overview *overview = calloc(1, sizeof *overview);

    if (!overview || overview_cover(view, overview) != 0) {
        free(overview);
        return ERR_NO_MEMORY;
    }
    view->overview = overview;
    return 0;
}

int view_overview(struct view *view, const struct arguments *arguments, struct text *out, struct error *err)
{
    int64_t width = 0;
    int code;

    if ((code = argument_int_needed(arguments, "width", 1, MOST_WIDTH, &width, err)) != 0)
        return code;
    if (!view->overview && make_overview(view) != 0)
        return error_short_memory(err, "for the overview");
    text_add_bytes(out, "OVER", 4);
    text_add_bytes(out, &(uint32_t){ (uint32_t)width }, sizeof(uint32_t));
    for (int over = 0; over < OVERS; over++)
        for (int64_t i = 0; i < width; i++) {
            double bins = (double)view->overview->bins / (double)width;
            float share = view->overview->is_known[over]
                              ? mean(view->overview, over, (double)i * bins, (double)(i + 1) * bins)
                              : NAN;
            text_add_bytes(out, &share, sizeof share);
        }
    return 0;
}
