/* Opening a report as a timeline, and the table of requests. */
#include "timeline.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "rank_views.h"
#include "view/answer/answer_cache.h"
#include "view/answer/answers.h"
#include "view/idle/idle_rows.h"
#include "view/load/counter_points.h"
#include "view/load/counter_sources.h"
#include "view/load/derived.h"
#include "view/load/event_search.h"
#include "view/load/focus.h"
#include "view/load/lanes.h"
#include "view/load/rank_map.h"
#include "view/load/row_tree.h"

/* ---- opening --------------------------------------------------------------------------------------------------- */

/* The time at which ranges without an end are taken to end. Before any table is read, this is the last start of all
 * tables; move_end() moves it to the last end of the events read so far. */
static void find_end(struct view *view)
{
    const struct report_table *switches = report_table(view->report, "SCHED_EVENTS");

    view->end_ns = switches && switches->rows ? switches->last_ns : -VIEW_FURTHEST;
    for (size_t f = 0; f < view_family_count; f++)
        for (size_t s = 0; s < view_families[f].count; s++) {
            const struct view_source *source = &view_families[f].sources[s];
            const struct report_table *table = report_table(view->report, source->table);
            if (source->type != ROW_OTHER && table && table->rows && table->last_ns > view->end_ns)
                view->end_ns = table->last_ns;
        }
}

static void move_end(struct view *view, size_t first_leaf)
{
    for (size_t i = first_leaf; i < view->leaf_count; i++) {
        const struct view_events *events = &view->leaves[i].events;
        for (uint32_t lane = 0; lane < events->lane_count; lane++) {
            int64_t end = event_end(events, events->lanes[lane + 1] - 1);
            view->end_ns = end > view->end_ns ? end : view->end_ns;
        }
    }
}

static int read_family(struct view *view, const struct view_family *family, struct error *err)
{
    struct gather gather;
    size_t first_leaf = view->leaf_count;
    int code;

    if ((code = gather_open(&gather, view, family, err)) != 0)
        return code;
    for (uint32_t source = 0; source < family->count; source++)
        if ((code = gather_scan(&gather, source, err)) != 0)
            goto close_gather;
    if ((code = gather_finish(&gather, err)) != 0)
        goto close_gather;
    move_end(view, first_leaf);
close_gather:
    gather_close(&gather);
    return code;
}

static int timeline_is_exact(int64_t time_ns)
{
    return time_ns <= VIEW_LAST_TIME && time_ns >= -VIEW_LAST_TIME;
}

/* From the first event to the last. Events of the profiler itself count only if there are no others. */
static void timeline_find_span(struct view *view)
{
    int64_t from = INT64_MAX, to = INT64_MIN;

    for (int all = 0; all < 2 && from > to; all++)
        for (size_t i = 0; i < view->row_count; i++) {
            const struct view_row *row = &view->rows[i];
            if (row->kind == KIND_GROUP || (row->type == ROW_OTHER && !all))
                continue;
            from = row->from_ns < from ? row->from_ns : from;
            to = row->to_ns > to ? row->to_ns : to;
        }
    if (view->span) {
        from = view->span->from_ns;
        to = view->span->to_ns;
    }
    view->begin_ns = from <= to ? from : 0;
    view->end_ns = from <= to ? to : 0;
    view->origin_ns = timeline_is_exact(view->begin_ns) && timeline_is_exact(view->end_ns) ? 0 : view->begin_ns;
}

static int64_t within(int64_t time_ns, int64_t least_ns, int64_t most_ns)
{
    return time_ns < least_ns ? least_ns : time_ns > most_ns ? most_ns : time_ns;
}

/* Moves times that a double does not represent exactly to the last one that it does, on both sides of the origin. */
static int cut_times(struct view *view)
{
    int64_t most = view->origin_ns + VIEW_LAST_TIME, least = view->origin_ns - VIEW_LAST_TIME;

    for (size_t i = 0; i < view->row_count; i++) {
        struct view_row *row = &view->rows[i];
        if (row->from_ns > row->to_ns || (row->from_ns >= least && row->to_ns <= most))
            continue;
        if (row->kind == KIND_COUNTER)
            points_cut(&row->points, least, most);
        else if (row->kind != KIND_GROUP && events_cut(&row->events, least, most) != 0)
            return ERR_NO_MEMORY;
        row->from_ns = within(row->from_ns, least, most);
        row->to_ns = within(row->to_ns, least, most);
        view->is_cut = 1;
    }
    view->end_ns = view->end_ns > most ? most : view->end_ns;
    return 0;
}

static int timeline_read_events(struct view *view, struct error *err)
{
    int code;

    find_end(view);
    for (size_t i = 0; i < view_family_count; i++)
        if ((code = read_family(view, &view_families[i], err)) != 0)
            return code;
    if ((code = view_drop_doubles(view, err)) != 0 || (code = derived_rows(view, err)) != 0 ||
        (code = idle_rows(view, err)) != 0)
        return code;
    return counter_sources_read(view, err);
}

static int timeline_read_rows(struct view *view, int as_map, struct error *err)
{
    int code;

    if ((code = job_rows_read(&view->ranks, view->report, err)) != 0)
        return code;
    code = rank_map_is_needed(view, as_map) ? rank_map_read(view, err) : timeline_read_events(view, err);
    if (code != 0 || (code = tree_build(view, err)) != 0)
        return code;
    timeline_find_span(view);
    if (cut_times(view) != 0)
        return error_no_memory(err);
    focus_find(view);
    return 0;
}

int view_open(struct report *report, struct view **out, struct error *err)
{
    return view_open_as(report, &(struct view_options){ 0 }, out, err);
}

/* For some ranks of a job. */
static int timeline_open_span(struct report *report, const struct report_span *span, struct view **out,
                              struct error *err)
{
    return view_open_as(report, &(struct view_options){ .span = span }, out, err);
}

int view_open_as(struct report *report, const struct view_options *options, struct view **out, struct error *err)
{
    struct view *view = calloc(1, sizeof *view);
    int code;

    if (!view)
        return error_no_memory(err);
    view->report = report;
    view->span = options->span;
    view->row_keys.width = KEY_PARTS;
    view->steady = (struct report_span){ INT64_MAX, INT64_MIN };
    if ((intern_add(&view->own_names, "", 0) != 0 || !(view->cache = answer_cache_new()) ||
         !(view->rank_views = rank_views_new((struct rank_view_calls){ timeline_open_span, view_close }))) &&
        (code = error_no_memory(err)) != 0)
        goto close_view;
    if ((code = timeline_read_rows(view, options->as_map, err)) != 0)
        goto close_view;
    view->span = NULL;
    *out = view;
    return 0;

close_view:
    view_close(view);
    return code;
}

void view_set_name(struct view *view, const char *path)
{
    const char *name = path_base_name(path);

    view->name = arena_copy(&view->arena, name, strlen(name) + 1);
}

void view_set_other(struct view *view, struct view *other)
{
    view->other = other;
}

void view_close(struct view *view)
{
    if (!view)
        return;
    rank_views_free(view->rank_views);
    answer_cache_free(view->cache);
    for (size_t i = 0; i < view->leaf_count; i++) {
        events_free(&view->leaves[i].events);
        points_free(&view->leaves[i].points);
    }
    free(view->leaves);
    for (size_t i = 0; i < view->row_count; i++) {
        events_free(&view->rows[i].events);
        points_free(&view->rows[i].points);
    }
    free(view->rows);
    free(view->row_of_key);
    free(view->overview);
    free(view->gpu_uses);
    keys_free(&view->row_keys);
    job_rows_free(&view->ranks);
    intern_free(&view->own_names);
    arena_free(&view->arena);
    text_free(&view->scratch);
    free(view);
}

/* ---- requests -------------------------------------------------------------------------------------------------- */

#define JSON "application/json"
#define BINARY "application/octet-stream"

static const struct timeline_request {
    const char *name, *content_type;
    enum view_lane lane, lane_of_ranks; /* lane_of_ranks: for requests about some ranks */
    int (*answer)(struct view *view, const struct arguments *arguments, struct text *out, struct error *err);
} requests[] = {
#define REQUEST(name, type, lane, of_ranks) { #name, type, VIEW_LANE_##lane, VIEW_LANE_##of_ranks, view_##name },
#include "view/answer/requests.def"
#undef REQUEST
    { NULL, NULL, VIEW_LANE_NOW, VIEW_LANE_NOW, NULL },
};

/* The request of this name, or the last row, which has no name. */
static const struct timeline_request *find_request(const char *name, size_t length)
{
    const struct timeline_request *known = requests;

    while (known->name && (strlen(known->name) != length || memcmp(known->name, name, length) != 0))
        known++;
    return known;
}

/* Whether the request is about some ranks only. */
static int is_of_ranks(const char *request)
{
    return strstr(request, "?ranks=") || strstr(request, "&ranks=");
}

enum view_lane view_lane(const char *request)
{
    const struct timeline_request *known = find_request(request, strcspn(request, "?"));

    return is_of_ranks(request) ? known->lane_of_ranks : known->lane;
}

int view_lane_is_background(enum view_lane lane)
{
    return lane == VIEW_LANE_IDLE;
}

/* Answers for the whole report, or for the ranks that the request names. */
static int timeline_answer(struct view *view, const struct timeline_request *known, const struct arguments *arguments,
                           struct text *out, struct error *err)
{
    const char *ranks = argument_text(arguments, "ranks", NULL);
    struct view *some;
    int64_t run = 0;
    int code;

    if ((code = argument_int(arguments, "run", 0, 1, &run, err)) != 0)
        return code;
    if (run && !view->other)
        return error_set(err, ERR_NOT_FOUND, "one run is shown; to compare two: tacho view A B");
    view = run ? view->other : view;
    if (!ranks)
        return known->answer(view, arguments, out, err);
    if ((code = rank_views_take(view, ranks, &some, err)) != 0)
        return code;
    code = known->answer(some, arguments, out, err);
    rank_views_release(view, some);
    return code;
}

int view_answer(struct view *view, const char *request, const char *body, size_t body_length, struct text *out,
                const char **content_type, struct error *err)
{
    struct arguments arguments;
    const struct timeline_request *known;
    int code;

    if ((code = arguments_parse(&arguments, request, body, body_length, err)) != 0)
        return code;
    known = find_request(arguments.request, strlen(arguments.request));
    if (!known->name) {
        code = error_set(err, ERR_NOT_FOUND, "%.40s: no such request", arguments.request);
        goto free_arguments;
    }
    *content_type = known->content_type;
    if ((code = timeline_answer(view, known, &arguments, out, err)) != 0)
        goto free_arguments;
    if (text_failed(out))
        code = error_short_memory(err, "for the answer");
free_arguments:
    arguments_free(&arguments);
    return code;
}
