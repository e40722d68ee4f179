/* The request tile: some rows over a span of pixels, exact, at a cost that hardly grows with the capture.
 *
 * A lane is processed pixel by pixel. An event that is at least a pixel long becomes a slice. The end of all other
 * events that start in the same pixel is found with one search. A single such event becomes a slice too; several become
 * a dense part, which gets its time and its name, that of the longest event, from the index. Events of a lane do not
 * overlap, so only the last event that starts in a pixel can be longer than it, and a pixel has two items at most. So a
 * lane costs its pixels times the logarithm of its events, and every event of the span is a slice or counted. */
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "base/array.h"
#include "view/group/group_tile.h"
#include "view/group/tile_parts.h"
#include "view/load/counter_points.h"
#include "view/load/derived.h"
#include "view/load/event_index.h"
#include "view/load/event_search.h"

enum { MOST_LEVEL = 52, MOST_ROWS = 4096 };

struct tile {
    struct view *view;
    const struct view_row *row;
    int level;
    int64_t from_ns, to_ns;               /* in the report's time */
    struct text *slices, parts;
    uint32_t slice_count, part_count;
    struct tile_dense last;               /* a dense part that may go on with the next pixel; count 0: none */
    int64_t last_busy_ns, last_behind_ns; /* behind: the time of its last event after its last pixel */
};

/* ---- events ---------------------------------------------------------------------------------------------------- */

static void tile_end_part(struct tile *tile)
{
    if (!tile->last.count)
        return;
    tile->last.busy = tile_share((double)tile->last_busy_ns,
                                 (double)tile->last.pixels * (double)(INT64_C(1) << tile->level));
    tile->last.colour = view_colour(tile->view, tile->row, tile->last.name);
    text_add_bytes(&tile->parts, &tile->last, sizeof tile->last);
    tile->part_count++;
    tile->last.count = 0;
}

static void tile_add_slice(struct tile *tile, uint32_t lane, uint32_t event)
{
    const struct view_events *events = &tile->row->events;
    uint32_t name = event_name(events, event);
    struct tile_slice slice = {
        .from = (double)view_time(tile->view, events->start_ns[event]),
        .to = (double)view_time(tile->view, event_end(events, event)),
        .event = event,
        .name = name,
        .lane = (uint8_t)lane,
        .work = (uint8_t)event_work(events, event),
        .colour = view_colour(tile->view, tile->row, name),
        .flags = events->tag[event] & EVENT_FLAGS,
        .row = (uint32_t)(tile->row - tile->view->rows),
    };

    text_add_bytes(tile->slices, &slice, sizeof slice);
    tile->slice_count++;
}

/* The share of the samples of a pixel whose thread was running, estimated from a few of them. */
static double share_running(const struct view_events *events, uint32_t from, uint32_t to)
{
    enum { LOOKED_AT = 64 };
    uint32_t step = (to - from - 1) / LOOKED_AT + 1, seen = 0, running = 0;

    for (uint32_t at = from; at < to && at >= from; at += step, seen++)
        running += !(events->tag[at] & EVENT_WAITING);
    return (double)running / seen;
}

/* Events from … to - 1 are shorter than a pixel and start in this one; the first may start before the tile. */
static void add_dense(struct tile *tile, uint32_t lane, int64_t pixel, uint32_t from, uint32_t to)
{
    const struct view_events *events = &tile->row->events;
    int64_t begin = tile->from_ns + (pixel << tile->level), end = begin + (INT64_C(1) << tile->level);
    int64_t busy = (int64_t)index_sum(events, from, to), before = begin - events->start_ns[from],
            behind = event_end(events, to - 1) - end;
    struct tile_dense part = { .pixel = (uint16_t)pixel, .pixels = 1, .count = to - from, .lane = (uint8_t)lane };

    behind = behind > 0 ? behind : 0;
    busy -= (before > 0 ? before : 0) + behind;
    if (tile->row->kind == KIND_TICKS)
        busy = (int64_t)(share_running(events, from, to) * (double)(INT64_C(1) << tile->level));
    struct index_longest longest = index_longest(events, from, to);

    part.name = longest.name;
    part.work = (uint8_t)event_work(events, longest.event);
    part.busy = tile_share((double)busy, (double)(INT64_C(1) << tile->level));
    int difference = (int)part.busy - (int)tile->last.busy;
    if (tile->last.count && tile->last.lane == part.lane && tile->last.pixel + tile->last.pixels == part.pixel &&
        tile->last.name == part.name && difference <= TILE_ALIKE && difference >= -TILE_ALIKE) {
        tile->last.pixels++;
        tile->last.count += part.count;
        tile->last_busy_ns += tile->last_behind_ns + busy;
        tile->last_behind_ns = behind;
        return;
    }
    tile_end_part(tile);
    tile->last = part;
    tile->last_busy_ns = busy;
    tile->last_behind_ns = behind;
}

static void tile_add_lane(struct tile *tile, uint32_t lane)
{
    const struct view_events *events = &tile->row->events;
    uint32_t at = events_reaching(events, lane, tile->from_ns), end = events->lanes[lane + 1];
    uint32_t in_pixel = 0; /* events in the last pixel: a guess for the next one */
    int64_t pixel_ns = INT64_C(1) << tile->level;

    while (at < end && events->start_ns[at] < tile->to_ns) {
        if (event_length(events, at) >= pixel_ns) {
            tile_add_slice(tile, lane, at++);
            continue;
        }
        int64_t since = events->start_ns[at] - tile->from_ns, pixel = since > 0 ? since >> tile->level : 0;
        uint32_t behind = events_gallop(events, at, end, tile->from_ns + ((pixel + 1) << tile->level), in_pixel);
        uint32_t small = behind - (behind - at > 1 && event_length(events, behind - 1) >= pixel_ns);
        if (small - at == 1)
            tile_add_slice(tile, lane, at);
        else
            add_dense(tile, lane, pixel, at, small);
        if (small < behind)
            tile_add_slice(tile, lane, small);
        in_pixel = behind - at;
        at = behind;
    }
    tile_end_part(tile);
}

/* ---- counters -------------------------------------------------------------------------------------------------- */

static void tile_add_point(struct tile *tile, int64_t time_ns, struct points_range range, double last)
{
    struct tile_point point = { (double)view_time(tile->view, time_ns), range.min, range.max, last };

    text_add_bytes(tile->slices, &point, sizeof point);
    tile->slice_count++;
}

/* Adds a point for each pixel that has points, at the time of the first of them. Also adds the last point before the
 * span and the first after it, so that a line enters and leaves the picture. */
static void tile_add_points(struct tile *tile, const struct view_points *points)
{
    uint32_t at = points_from(points, tile->from_ns), end = points_from(points, tile->to_ns);

    if (at > 0)
        tile_add_point(tile, points->time_ns[at - 1], points_range(points, at - 1, at), points->value[at - 1]);
    while (at < end) {
        int64_t pixel = (points->time_ns[at] - tile->from_ns) >> tile->level,
                behind_ns = tile->from_ns + ((pixel + 1) << tile->level);
        uint32_t behind = at + 1 + (uint32_t)array_first_not_before(points->time_ns + at + 1, end - at - 1, behind_ns);
        tile_add_point(tile, points->time_ns[at], points_range(points, at, behind), points->value[behind - 1]);
        at = behind;
    }
    if (end < points->count)
        tile_add_point(tile, points->time_ns[end], points_range(points, end, end + 1), points->value[end]);
}

/* ---- the answer ------------------------------------------------------------------------------------------------ */

/* The points of a row. In a map, a folded rank shows its own, and a folded host the mean of its ranks. */
static const struct view_points *points_of(const struct tile *tile)
{
    if (tile->row->type == ROW_RANK && tile->view->is_map)
        return &tile->row[1].points;
    return tile->row->kind == KIND_COUNTER || tile->row->points.count ? &tile->row->points : NULL;
}

static void tile_add_group(struct tile *tile, uint32_t number)
{
    struct group_stretch stretch = { tile->level, tile->from_ns, tile->to_ns };
    size_t before = tile->slices->length;

    if (group_tile(tile->view, (int)number, &stretch, tile->slices, &tile->parts) != 0)
        tile->slices->failed = 1;
    tile->slice_count = (uint32_t)((tile->slices->length - before) / sizeof(struct tile_slice));
    tile->part_count = (uint32_t)(tile->parts.length / sizeof(struct tile_dense));
}

static void tile_add_row(struct tile *tile, uint32_t number)
{
    const struct view_points *points = points_of(tile);
    struct tile_row_head head = { .row = number, .kind = points ? KIND_COUNTER : tile->row->kind };
    size_t head_at = tile->slices->length;

    text_add_bytes(tile->slices, &head, sizeof head);
    text_clear(&tile->parts);
    tile->slice_count = tile->part_count = 0;
    if (points && tile->from_ns < tile->to_ns)
        tile_add_points(tile, points);
    else if (tile->row->kind == KIND_GROUP && tile->from_ns < tile->to_ns)
        tile_add_group(tile, number);
    else if (tile->from_ns < tile->to_ns)
        for (uint32_t lane = 0; lane < tile->row->events.lane_count; lane++)
            tile_add_lane(tile, lane);
    text_add_bytes(tile->slices, text_string(&tile->parts), tile->parts.length);
    head.slices = tile->slice_count;
    head.parts = tile->part_count;
    if (!text_failed(tile->slices) && !text_failed(&tile->parts))
        memcpy(tile->slices->bytes + head_at, &head, sizeof head);
}

/* Reads the span. A span where no event can be gets the length 0, so that no sum here overflows. */
static int tile_read_place(struct tile *tile, const struct arguments *arguments, struct error *err)
{
    int64_t level = 0, index = 0;
    int code;

    if ((code = argument_int_needed(arguments, "level", 0, MOST_LEVEL, &level, err)) != 0 ||
        (code = argument_int_needed(arguments, "index", INT64_MIN, INT64_MAX, &index, err)) != 0)
        return code;
    int64_t width = (int64_t)TILE_PIXELS << level, most = VIEW_LAST_TIME / width;
    tile->level = (int)level;
    if (index <= most && index >= -most - 1) {
        tile->from_ns = view_report_time(tile->view, index * width);
        tile->to_ns = tile->from_ns + width;
    }
    return 0;
}

/* Rows are made in parallel, each in bytes of its own, and put together in the order of the request. */
struct made_row {
    uint32_t number;
    struct text bytes;
};
struct tile_making {
    struct tile place; /* without a row: the part that all rows share */
    struct made_row *rows;
    size_t count;
};

static void make_row(void *argument, int worker, size_t i)
{
    struct tile_making *making = argument;
    struct made_row *made = &making->rows[i];
    struct tile tile = making->place;

    tile.row = &tile.view->rows[made->number];
    tile.slices = &made->bytes;
    tile_add_row(&tile, made->number);
    made->bytes.failed |= text_failed(&tile.parts);
    text_free(&tile.parts);
}

static int tile_read_rows(struct tile_making *making, const struct arguments *arguments, struct error *err)
{
    const char *list = argument_text(arguments, "rows", NULL);
    int64_t row;
    int found;

    if (!list)
        return error_set(err, ERR_BAD_ARGUMENT, "tile: the argument rows is missing");
    making->rows = calloc(MOST_ROWS, sizeof *making->rows);
    if (!making->rows)
        return error_short_memory(err, "for the tile");
    while ((found = argument_list_next(&list, 0, INT32_MAX, &row, err)) == 1) {
        if ((uint64_t)row >= making->place.view->row_count)
            return error_set(err, ERR_NOT_FOUND, "the timeline has no row %lld", (long long)row);
        if (making->count == MOST_ROWS)
            return error_set(err, ERR_BAD_ARGUMENT, "at most %d rows per request", MOST_ROWS);
        making->rows[making->count++].number = (uint32_t)row;
    }
    return found;
}

int view_tile(struct view *view, const struct arguments *arguments, struct text *out, struct error *err)
{
    struct tile_making making = { .place.view = view };
    uint32_t count;
    int code;

    if ((code = tile_read_place(&making.place, arguments, err)) != 0 ||
        (code = tile_read_rows(&making, arguments, err)) != 0)
        goto free_rows;
    count = (uint32_t)making.count;
    report_parallel_for(view->report, making.count, make_row, &making);
    text_add_bytes(out, "TILE", 4);
    text_add_bytes(out, &count, sizeof count);
    for (size_t i = 0; i < making.count; i++) {
        if (text_failed(&making.rows[i].bytes) && (code = error_short_memory(err, "for the tile")) != 0)
            goto free_rows;
        text_add_bytes(out, text_string(&making.rows[i].bytes), making.rows[i].bytes.length);
    }
free_rows:
    for (size_t i = 0; i < making.count; i++)
        text_free(&making.rows[i].bytes);
    free(making.rows);
    return code;
}
