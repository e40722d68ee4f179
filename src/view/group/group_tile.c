/* The tile of a group, from the events of all rows below it, in a time that is bounded however many there are. The span
 * is processed cell by cell; a cell is a pixel, or several where many lanes have many events. Long events become
 * slices, which name their own rows. For all other events, each cell gets the share of its time in which at least one
 * event of a kind of work was under way. Up to EXACT events of a cell are merged by time, so the share is exact. For
 * lanes beyond that, only the time of each is known, from the index: the share is then that of lanes that are
 * independent of each other, 1 - (1 - a)(1 - b)…, which is exact again if there is but one lane. */
#include "group_tile.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "tile_parts.h"
#include "view/load/derived.h"
#include "view/load/event_index.h"
#include "view/load/event_search.h"

enum {
    EXACT = 128,           /* events of a cell */
    MOST_VISITS = 1 << 16, /* visits of lanes in cells with events */
    MOST_LOOKS = 1 << 21,  /* lookups of lanes in cells */
    LEAST_WIDTH = 4,       /* pixels of a slice */
    MOST_SLICES = 4096,
    WIDTHS = 64
};

/* A lane of a row, from the first event that starts in the span. */
struct group_tile_walk {
    int64_t next_ns; /* the start of the next event; INT64_MAX after the last one */
    const struct view_events *events;
    int row;
    uint32_t at, end, in_cell;
};

struct group_tile_span {
    int64_t from_ns, to_ns;
    uint32_t length_ns, name;
    enum work_kind work;
};

struct spans {
    struct group_tile_span *list; /* owned */
    size_t count, capacity;
};

struct group_tile_group {
    struct view *view;
    struct group_stretch stretch;
    unsigned works;
    struct group_tile_walk *walks;      /* owned */
    size_t walk_count, walk_capacity;
    int cell_bits;                      /* a cell is 2^cell_bits pixels */
    int64_t cell_ns, long_ns;           /* events as long as long_ns are slices */
    struct spans early, open, now;      /* reach into the span; reach into the next cell; in this cell, clipped */
    struct tile_slice *slices;          /* owned */
    size_t slice_count, slice_capacity;
    size_t widths[WIDTHS];              /* slices by the logarithm of their length */
    double unused[WORK_KINDS];          /* the share of the cell that lanes outside of now leave free */
    struct index_work sums[WORK_KINDS]; /* those of the cell */
    struct tile_dense last[WORK_KINDS]; /* may go on with the next cell; pixels 0: none */
    double last_busy[WORK_KINDS];       /* in pixels */
};

/* ---- lanes ----------------------------------------------------------------------------------------------------- */

static int group_tile_add_span(struct spans *spans, struct group_tile_span span)
{
    return ARRAY_PUSH(spans->list, spans->capacity, spans->count, span);
}

static struct group_tile_span group_tile_span_of(const struct view_events *events, uint32_t event)
{
    return (struct group_tile_span){ events->start_ns[event], event_end(events, event), events->length_ns[event],
                                     events->name[event], event_work(events, event) };
}

static int group_tile_add_slice(struct group_tile_group *group, int row, uint32_t event)
{
    const struct view_events *events = &group->view->rows[row].events;
    enum work_kind work = event_work(events, event);
    int64_t length = event_length(events, event);

    if (work == WORK_NONE)
        return 0;
    group->widths[63 - __builtin_clzll((unsigned long long)length | 1)]++;
    return ARRAY_PUSH(group->slices, group->slice_capacity, group->slice_count,
                      (struct tile_slice){
                          .from = (double)view_time(group->view, events->start_ns[event]),
                          .to = (double)view_time(group->view, event_end(events, event)),
                          .event = event,
                          .name = events->name[event],
                          .lane = work_lanes[work],
                          .work = (uint8_t)work,
                          .colour = view_name_colour(group->view, events->name[event]),
                          .flags = events->tag[event] & EVENT_FLAGS,
                          .row = (uint32_t)row,
                      });
}

static int add_walk(struct group_tile_group *group, int row, uint32_t lane)
{
    const struct view_events *events = &group->view->rows[row].events;
    struct group_tile_walk walk = { .events = events, .row = row };

    walk.end = events_from(events, lane, group->stretch.to_ns);
    walk.at = events_from(events, lane, group->stretch.from_ns);
    if (walk.at > events->lanes[lane] && event_end(events, walk.at - 1) > group->stretch.from_ns)
        walk.at--;
    if (walk.at >= walk.end)
        return 0;
    return ARRAY_PUSH(group->walks, group->walk_capacity, group->walk_count, walk);
}

static int find_walks(struct group_tile_group *group, int row)
{
    const struct view *view = group->view;

    for (int i = row + 1; i < view->rows[row].behind; i++) {
        const struct view_row *below = &view->rows[i];
        if (below->kind == KIND_GROUP || !below->busy || below->to_ns < group->stretch.from_ns ||
            below->from_ns >= group->stretch.to_ns)
            continue;
        for (uint32_t lane = 0; lane < below->events.lane_count; lane++)
            if (add_walk(group, i, lane) != 0)
                return ERR_NO_MEMORY;
    }
    return 0;
}

/* Cells are as wide as keeps the work within its bounds. */
static void choose_cells(struct group_tile_group *group)
{
    for (group->cell_bits = 0; group->cell_bits < 10; group->cell_bits++) {
        uint64_t cells = TILE_PIXELS >> group->cell_bits, visits = 0;
        for (size_t i = 0; i < group->walk_count; i++) {
            uint64_t events = group->walks[i].end - group->walks[i].at;
            visits += events < cells ? events : cells;
        }
        if (visits <= MOST_VISITS && group->walk_count * cells <= MOST_LOOKS)
            break;
    }
    group->cell_ns = INT64_C(1) << (group->stretch.level + group->cell_bits);
    group->long_ns = (int64_t)LEAST_WIDTH << group->stretch.level;
    group->long_ns = group->long_ns > group->cell_ns ? group->long_ns : group->cell_ns;
}

/* Takes the events that start before the span, and leaves each lane at its first event in it. */
static int begin_walks(struct group_tile_group *group)
{
    for (size_t i = 0; i < group->walk_count; i++) {
        struct group_tile_walk *walk = &group->walks[i];
        if (walk->events->start_ns[walk->at] < group->stretch.from_ns) {
            int code = event_length(walk->events, walk->at) >= group->long_ns
                           ? group_tile_add_slice(group, walk->row, walk->at)
                           : group_tile_add_span(&group->early, group_tile_span_of(walk->events, walk->at));
            if (code != 0)
                return code;
            walk->at++;
        }
        walk->next_ns = walk->at < walk->end ? walk->events->start_ns[walk->at] : INT64_MAX;
    }
    return 0;
}

/* ---- one cell -------------------------------------------------------------------------------------------------- */

static void count_span(struct group_tile_group *group, const struct group_tile_span *span)
{
    struct index_work *sum = &group->sums[span->work];

    if (!sum->count++ || span->length_ns > sum->longest_ns) {
        sum->longest_ns = span->length_ns;
        sum->name = span->name;
    }
}

/* Adds an event to the cell up to its end, and to those that reach into the next cell. */
static int group_tile_take_span(struct group_tile_group *group, struct group_tile_span span, int64_t end_ns)
{
    if (span.work == WORK_NONE)
        return 0;
    if (span.to_ns > end_ns && group_tile_add_span(&group->open, span) != 0)
        return ERR_NO_MEMORY;
    span.to_ns = span.to_ns < end_ns ? span.to_ns : end_ns;
    return span.to_ns > span.from_ns ? group_tile_add_span(&group->now, span) : 0;
}

/* Reads only the index if there are many events. The last of them may reach into the next cell. */
static int take_sums(struct group_tile_group *group, const struct view_events *events, uint32_t from, uint32_t to,
                     int64_t end_ns)
{
    struct index_work works[WORK_KINDS] = { 0 };
    struct group_tile_span last = group_tile_span_of(events, to - 1);

    index_add_works(events, from, to, works);
    if (last.to_ns > end_ns && last.work != WORK_NONE) {
        if (group_tile_add_span(&group->open, last) != 0)
            return ERR_NO_MEMORY;
        works[last.work].sum_ns -= (uint64_t)(last.to_ns - end_ns);
    }
    for (int work = 0; work < WORK_NONE; work++) {
        if (!works[work].count)
            continue;
        double busy = (double)works[work].sum_ns / (double)group->cell_ns;
        group->unused[work] *= busy < 1 ? 1 - busy : 0;
        count_span(group, &(struct group_tile_span){ .length_ns = works[work].longest_ns,
                                                     .name = works[work].name,
                                                     .work = (enum work_kind)work });
        group->sums[work].count += works[work].count - 1;
    }
    return 0;
}

/* Takes the events of a lane that start in the cell. Only the last of them can be longer than the cell. */
static int group_tile_take_lane(struct group_tile_group *group, struct group_tile_walk *walk, int64_t end_ns)
{
    const struct view_events *events = walk->events;
    uint32_t from = walk->at, behind = events_gallop(events, from, walk->end, end_ns, walk->in_cell),
             small = behind - (event_length(events, behind - 1) >= group->long_ns);

    walk->in_cell = behind - from;
    walk->at = behind;
    walk->next_ns = behind < walk->end ? events->start_ns[behind] : INT64_MAX;
    if (small < behind && group_tile_add_slice(group, walk->row, small) != 0)
        return ERR_NO_MEMORY;
    if (from == small)
        return 0;
    if (small - from + group->now.count > EXACT)
        return take_sums(group, events, from, small, end_ns);
    for (uint32_t event = from; event < small; event++) {
        struct group_tile_span span = group_tile_span_of(events, event);
        count_span(group, &span);
        if (group_tile_take_span(group, span, end_ns) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int by_work(const void *a, const void *b)
{
    const struct group_tile_span *x = a, *y = b;

    return COMPARE(x->work, y->work) ?: COMPARE(x->from_ns, y->from_ns);
}

/* The time of a cell in which at least one event of each kind was under way. */
static void join_spans(struct group_tile_group *group, int64_t busy_ns[WORK_KINDS])
{
    const struct spans *now = &group->now;
    int64_t until = 0;

    if (now->count > 1)
        qsort(now->list, now->count, sizeof *now->list, by_work);
    for (size_t i = 0; i < now->count; i++) {
        const struct group_tile_span *span = &now->list[i];
        if (i == 0 || span->work != span[-1].work || span->from_ns > until)
            until = span->from_ns;
        if (span->to_ns > until) {
            busy_ns[span->work] += span->to_ns - until;
            until = span->to_ns;
        }
    }
}

/* ---- parts ----------------------------------------------------------------------------------------------------- */

static void group_tile_end_part(struct group_tile_group *group, struct text *parts, int work)
{
    struct tile_dense *part = &group->last[work];

    if (!part->pixels)
        return;
    part->busy = tile_share(group->last_busy[work], part->pixels);
    text_add_bytes(parts, part, sizeof *part);
    part->pixels = 0;
}

/* Adds a cell's events of a kind; reached: how many events come from the cell before. */
static void group_tile_add_part(struct group_tile_group *group, struct text *parts, int work, int cell, double busy,
                                uint32_t reached)
{
    struct tile_dense *last = &group->last[work];
    uint16_t pixel = (uint16_t)(cell << group->cell_bits), pixels = (uint16_t)(1 << group->cell_bits);
    const struct index_work *sum = &group->sums[work];
    double share = busy - (last->pixels ? group->last_busy[work] / last->pixels : 0);

    if (last->pixels && last->pixel + last->pixels == pixel && last->name == sum->name && share * 255 <= TILE_ALIKE &&
        share * 255 >= -TILE_ALIKE) {
        last->pixels = (uint16_t)(last->pixels + pixels);
        last->count += sum->count - reached;
        group->last_busy[work] += busy * pixels;
        return;
    }
    group_tile_end_part(group, parts, work);
    *last = (struct tile_dense){ .pixel = pixel,
                                 .pixels = pixels,
                                 .count = sum->count,
                                 .name = sum->name,
                                 .lane = work_lanes[work],
                                 .work = (uint8_t)work };
    last->colour = view_name_colour(group->view, sum->name);
    group->last_busy[work] = busy * pixels;
}

static void begin_cell(struct group_tile_group *group)
{
    memset(group->sums, 0, sizeof group->sums);
    for (int work = 0; work < WORK_KINDS; work++)
        group->unused[work] = 1;
    group->now.count = 0;
}

/* The events that reach into this cell; those that reach further stay open. */
static int take_open(struct group_tile_group *group, int64_t from_ns, int64_t end_ns, uint32_t reached[WORK_KINDS])
{
    size_t kept = 0;

    for (size_t i = 0; i < group->open.count; i++) {
        struct group_tile_span span = group->open.list[i];
        if (span.to_ns > end_ns)
            group->open.list[kept++] = span;
        span.from_ns = from_ns;
        span.to_ns = span.to_ns < end_ns ? span.to_ns : end_ns;
        count_span(group, &span);
        reached[span.work]++;
        if (group_tile_add_span(&group->now, span) != 0)
            return ERR_NO_MEMORY;
    }
    group->open.count = kept;
    return 0;
}

static int group_tile_add_cell(struct group_tile_group *group, struct text *parts, int cell)
{
    int64_t from_ns = group->stretch.from_ns + cell * group->cell_ns, end_ns = from_ns + group->cell_ns;
    int64_t busy_ns[WORK_KINDS] = { 0 };
    uint32_t reached[WORK_KINDS] = { 0 };
    int code;

    begin_cell(group);
    if ((code = take_open(group, from_ns, end_ns, reached)) != 0)
        return code;
    for (size_t i = 0; i < group->walk_count; i++)
        if (group->walks[i].next_ns < end_ns && (code = group_tile_take_lane(group, &group->walks[i], end_ns)) != 0)
            return code;
    join_spans(group, busy_ns);
    for (int work = 0; work < WORK_NONE; work++)
        if (group->sums[work].count) {
            double free_share = 1 - (double)busy_ns[work] / (double)group->cell_ns;
            group_tile_add_part(group, parts, work, cell, 1 - free_share * group->unused[work], reached[work]);
        }
    return 0;
}

/* ---- the tile -------------------------------------------------------------------------------------------------- */

/* Events that start before the span are open at its start. */
static int open_early(struct group_tile_group *group)
{
    for (size_t i = 0; i < group->early.count; i++)
        if (group->early.list[i].work != WORK_NONE && group_tile_add_span(&group->open, group->early.list[i]) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

static int group_tile_run(struct group_tile_group *group, struct text *parts)
{
    int code;

    if ((code = begin_walks(group)) != 0 || (code = open_early(group)) != 0)
        return code;
    for (int cell = 0; cell < TILE_PIXELS >> group->cell_bits; cell++)
        if ((code = group_tile_add_cell(group, parts, cell)) != 0)
            return code;
    for (int work = 0; work < WORK_NONE; work++)
        group_tile_end_part(group, parts, work);
    return 0;
}

/* With too many slices, only the longest are slices: all lanes are walked again. */
static int is_crowded(struct group_tile_group *group)
{
    size_t count = group->slice_count;

    if (count <= MOST_SLICES)
        return 0;
    for (int width = 0; width < WIDTHS - 2 && count > MOST_SLICES; width++) {
        count -= group->widths[width];
        group->long_ns = INT64_C(1) << (width + 1) > group->long_ns ? INT64_C(1) << (width + 1) : group->long_ns;
    }
    return 1;
}

static int group_tile_by_length(const void *a, const void *b)
{
    const struct tile_slice *x = a, *y = b;
    double more = (y->to - y->from) - (x->to - x->from);

    if (more != 0)
        return more > 0 ? 1 : -1;
    return COMPARE(x->from, y->from) ?: COMPARE(x->row, y->row) ?: COMPARE(x->event, y->event);
}

/* Walks all lanes, for a second time if there were too many slices. */
static int run_twice(struct group_tile_group *group, int row, struct text *parts)
{
    size_t before = parts->length;
    int code;

    for (int round = 0; round < 2; round++) {
        group->walk_count = group->slice_count = group->early.count = group->open.count = 0;
        parts->length = before;
        if ((code = find_walks(group, row)) != 0)
            return code;
        if (round == 0)
            choose_cells(group);
        if ((code = group_tile_run(group, parts)) != 0)
            return code;
        if (!is_crowded(group))
            return 0;
    }
    return 0;
}

int group_tile(struct view *view, int row, const struct group_stretch *stretch, struct text *slices, struct text *parts)
{
    struct group_tile_group group = { .view = view, .stretch = *stretch };
    int code = run_twice(&group, row, parts);

    if (code != 0)
        goto free_group;
    if (group.slice_count)
        qsort(group.slices, group.slice_count, sizeof *group.slices, group_tile_by_length);
    text_add_bytes(slices, group.slices, group.slice_count * sizeof *group.slices);
free_group:
    free(group.walks);
    free(group.slices);
    free(group.early.list);
    free(group.open.list);
    free(group.now.list);
    return code;
}

/* ---- the event at a place -------------------------------------------------------------------------------------- */

static int64_t group_tile_distance(const struct view_events *events, uint32_t event, int64_t time_ns)
{
    int64_t before = events->start_ns[event] - time_ns, behind = time_ns - event_end(events, event);

    return before > 0 ? before : behind > 0 ? behind : 0;
}

int64_t group_nearest(const struct view *view, int row, unsigned lane, int64_t time_ns, int *found_row,
                      uint32_t *found_event)
{
    enum { NEIGHBOURS = 64 }; /* a lane may hold other work as well */
    int64_t best = -1, best_length = 0;

    for (int i = row + 1; i < view->rows[row].behind; i++) {
        const struct view_events *events = &view->rows[i].events;
        for (uint32_t l = 0; view->rows[i].kind != KIND_GROUP && view->rows[i].busy && l < events->lane_count; l++) {
            uint32_t at = events_reaching(events, l, time_ns),
                     from = at - events->lanes[l] > NEIGHBOURS ? at - NEIGHBOURS : events->lanes[l],
                     to = events->lanes[l + 1] - at > NEIGHBOURS ? at + NEIGHBOURS : events->lanes[l + 1];
            for (uint32_t event = from; event < to; event++) {
                int64_t away = group_tile_distance(events, event, time_ns), length = event_length(events, event);
                if (work_lanes[event_work(events, event)] != lane ||
                    (best >= 0 && (away > best || (away == best && length >= best_length))))
                    continue;
                best = away;
                best_length = length;
                *found_row = i;
                *found_event = event;
            }
        }
    }
    return best;
}
