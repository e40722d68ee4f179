/* Tiles against a model: random events are laid into lanes one by one and looked at one by one, and what a tile
 * says of them must be the same. Then the reports that nobody wants: no events, one, thousands at once, times from
 * before and behind all others. */
#include "made_report.h"
#include "rounds.h"

#include <math.h>
#include <stdio.h>

#include "view/group/tile_parts.h"
#include "view/load/event_locate.h"
#include "view/load/event_search.h"
#include "view/load/view_state.h"
#include "view/timeline.h"

enum { MOST_EVENTS = 3000, PIXELS = 1024 };

static uint64_t seed = 88172645463325252u;

static uint64_t random_below(uint64_t most)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % most;
}

/* ---- making ---------------------------------------------------------------------------------------------------- */

static void add_range(struct writer *writer, int64_t thread, int64_t begin, int64_t end, const char *text)
{
    struct row_NVTX_EVENTS row = { 0 };

    ROW_SET(&row, NVTX_EVENTS, start, begin);
    ROW_SET(&row, NVTX_EVENTS, end, end);
    ROW_SET(&row, NVTX_EVENTS, eventType, 59);
    ROW_SET(&row, NVTX_EVENTS, globalTid, thread);
    ROW_SET(&row, NVTX_EVENTS, domainId, 0);
    ROW_SET(&row, NVTX_EVENTS, text, made_string(writer, text));
    writer_append(writer, TABLE_NVTX_EVENTS, &row);
}

struct opened {
    struct report *report;
    struct view *view;
};

static struct opened open_view(struct writer *writer)
{
    struct opened opened = { .report = finish(writer) };
    struct error err;

    if (view_open(opened.report, &opened.view, &err) != 0)
        fail_msg("%s", err.text);
    return opened;
}

static void close_view(struct opened *opened)
{
    view_close(opened->view);
    report_close(opened->report);
}

static const struct view_row *find_row(const struct view *view, enum row_type type, int *number)
{
    for (size_t i = 0; i < view->row_count; i++)
        if (view->rows[i].type == type) {
            *number = (int)i;
            return &view->rows[i];
        }
    fail_msg("there is no row of type %d", type);
    return NULL;
}

static void ask(struct view *view, struct text *out, const char *format, ...)
{
    char request[256];
    const char *type;
    struct error err;
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(request, sizeof request, format, arguments);
    va_end(arguments);
    text_clear(out);
    if (view_answer(view, request, NULL, 0, out, &type, &err) != 0)
        fail_msg("%s: %s", request, err.text);
}

static int refused(struct view *view, const char *request)
{
    struct text out = { 0 };
    const char *type;
    struct error err;
    int code = view_answer(view, request, NULL, 0, &out, &type, &err);

    text_free(&out);
    if (code != 0)
        assert_true(strlen(err.text) > 0);
    return code;
}

/* ---- the model ------------------------------------------------------------------------------------------------- */

struct event {
    int64_t start, end;
    uint32_t lane;
};

static int by_start(const void *a, const void *b)
{
    const struct event *x = a, *y = b;

    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->end < y->end) - (x->end > y->end);
}

static int by_lane(const void *a, const void *b)
{
    const struct event *x = a, *y = b;

    return x->lane != y->lane ? (x->lane > y->lane) - (x->lane < y->lane) : by_start(a, b);
}

/* The first lane that is free, tried one after another. */
static uint32_t lay_out(struct event *events, size_t count)
{
    static int64_t ends[MOST_EVENTS];
    uint32_t lanes = 0;

    qsort(events, count, sizeof *events, by_start);
    for (size_t i = 0; i < count; i++) {
        uint32_t lane = 0;
        while (lane < lanes && ends[lane] > events[i].start)
            lane++;
        lanes += lane == lanes;
        ends[lane] = events[i].end;
        events[i].lane = lane;
    }
    qsort(events, count, sizeof *events, by_lane);
    return lanes;
}

/* ---- tiles ----------------------------------------------------------------------------------------------------- */

struct point {
    double time, min, max, last;
};

struct tile {
    uint32_t rows, row, kind, slice_count, part_count;
    struct tile_slice *slices;
    struct tile_dense *parts;
    struct point *points;
};

/* A tile of one row. */
static struct tile read_tile(const struct text *answer)
{
    struct tile tile;

    assert_true(answer->length >= 24);
    assert_memory_equal(answer->bytes, "TILE", 4);
    memcpy(&tile, answer->bytes + 4, 20);
    assert_int_equal(tile.rows, 1);
    assert_int_equal(answer->length, 24 + 32 * (size_t)tile.slice_count + 16 * (size_t)tile.part_count);
    tile.slices = (struct tile_slice *)(void *)(answer->bytes + 24);
    tile.points = (struct point *)(void *)(answer->bytes + 24);
    tile.parts = (struct tile_dense *)(void *)(answer->bytes + 24 + 32 * (size_t)tile.slice_count);
    return tile;
}

struct stretch {
    int64_t from, to, pixel;
};

static int overlaps(const struct event *event, const struct stretch *stretch)
{
    return event->start < stretch->to && (event->end > stretch->from || event->start >= stretch->from);
}

static int64_t pixel_of(const struct event *event, const struct stretch *stretch)
{
    return event->start < stretch->from ? 0 : (event->start - stretch->from) / stretch->pixel;
}

/* A dense part has exactly the short events that start in its pixels, unless there is one alone. */
static void check_part(const struct view_row *row, const struct event *events, size_t count,
                       const struct tile_dense *part, const struct stretch *stretch)
{
    int64_t from = stretch->from + part->pixel * stretch->pixel, to = from + part->pixels * stretch->pixel, covered = 0,
            longest = -1;
    uint32_t met = 0, has_name = 0;

    for (size_t i = 0; i < count; i++) {
        const struct event *event = &events[i];
        int64_t pixel = pixel_of(event, stretch), length = event->end - event->start;
        if (event->lane != part->lane || !overlaps(event, stretch) || pixel < part->pixel ||
            pixel >= part->pixel + part->pixels || length >= stretch->pixel)
            continue;
        met++;
        covered += (event->end < to ? event->end : to) - (event->start > from ? event->start : from);
        if (length > longest)
            has_name = 0;
        longest = length > longest ? length : longest;
        has_name |= length == longest && row->events.name[i] == part->name;
    }
    double busy = 255.0 * (double)covered / (double)(to - from);
    assert_int_equal(part->count, met);
    assert_true(has_name);
    if (fabs(part->busy - busy) > 0.51)
        fail_msg("busy is %d, and %f was expected", part->busy, busy);
}

static void check_tile(const struct view_row *row, const struct event *events, size_t count, const struct tile *tile,
                       const struct stretch *stretch)
{
    size_t expected = 0, met = tile->slice_count;
    static unsigned char items[128][PIXELS];

    memset(items, 0, sizeof items);
    for (size_t i = 0; i < count; i++)
        expected += (size_t)overlaps(&events[i], stretch);
    for (uint32_t i = 0; i < tile->slice_count; i++) {
        const struct tile_slice *slice = &tile->slices[i];
        assert_true(slice->event < count);
        const struct event *event = &events[slice->event];
        assert_true(overlaps(event, stretch));
        assert_true(slice->from == (double)event->start && slice->to == (double)event->end);
        assert_int_equal(slice->lane, event->lane);
        assert_int_equal(slice->name, row->events.name[slice->event]);
        assert_true(++items[slice->lane][pixel_of(event, stretch)] <= 2);
    }
    for (uint32_t i = 0; i < tile->part_count; i++) {
        const struct tile_dense *part = &tile->parts[i];
        assert_true(part->count >= 2 && part->pixel + part->pixels <= PIXELS);
        for (int pixel = part->pixel; pixel < part->pixel + part->pixels; pixel++)
            assert_true(++items[part->lane][pixel] <= 2);
        check_part(row, events, count, part, stretch);
        met += part->count;
    }
    assert_int_equal(met, expected);
}

/* Starts and lengths over many orders of magnitude; some of no length, some at the same time. */
static size_t make_events(struct writer *writer, struct event *events, int nested)
{
    size_t count = 500 + random_below(MOST_EVENTS - 500);
    int64_t span = INT64_C(1) << (12 + random_below(24));

    for (size_t i = 0; i < count; i++) {
        int64_t start = random_below(10) == 0 && i ? events[i - 1].start : (int64_t)random_below((uint64_t)span);
        int64_t length = random_below(8) == 0 ? 0 : (int64_t)random_below(UINT64_C(1) << random_below(nested ? 20 : 9));
        start = i ? start : 0; /* the origin */
        events[i] = (struct event){ start, start + length, 0 };
        add_range(writer, made_thread(7, 8), start, start + length, random_below(2) ? "a" : "b");
    }
    return count;
}

static void tiles_are_what_the_model_says(void **state)
{
    static struct event events[MOST_EVENTS];
    struct text answer = { 0 };
    size_t slices = 0, parts = 0;

    for (int round = 0; round < 24; round += rounds_step(24)) {
        struct writer *writer = start();
        size_t count = make_events(writer, events, round & 1);
        uint32_t lanes = lay_out(events, count);
        struct opened opened = open_view(writer);
        int number = -1;
        const struct view_row *row = find_row(opened.view, ROW_NVTX, &number);
        if (lanes <= VIEW_MOST_LANES) {
            assert_int_equal(row->events.count, count);
            assert_int_equal(row->events.lane_count, lanes);
            for (int i = 0; i < 40; i++) {
                int level = (int)random_below(28);
                int64_t width = (int64_t)PIXELS << level, last = (row->to_ns - row->from_ns) / width;
                int64_t index = (int64_t)random_below((uint64_t)last + 3) - 1;
                ask(opened.view, &answer, "tile?rows=%d&level=%d&index=%lld", number, level, (long long)index);
                struct tile tile = read_tile(&answer);
                slices += tile.slice_count;
                parts += tile.part_count;
                check_tile(row, events, count, &tile,
                           &(struct stretch){ index * width, (index + 1) * width, INT64_C(1) << level });
            }
        }
        close_view(&opened);
    }
    text_free(&answer);
    assert_true(slices > 1000 && parts > 1000); /* or the rounds say little */
}

/* ---- the event at a place, and the event of a row of the table ------------------------------------------------- */

static void places_lead_to_events(void **state)
{
    static struct event events[MOST_EVENTS];
    static uint32_t table_rows[MOST_EVENTS];
    static struct view_place places[MOST_EVENTS];
    struct writer *writer = start();
    size_t count = make_events(writer, events, 0);
    struct opened opened = open_view(writer);
    struct text answer = { 0 };
    struct error err;
    int number = -1;
    const struct view_row *row = find_row(opened.view, ROW_NVTX, &number);

    for (size_t i = 0; i < count; i++)
        table_rows[i] = (uint32_t)i;
    assert_int_equal(view_locate(opened.view, "NVTX_EVENTS", table_rows, count, places, &err), 0);
    for (size_t i = 0; i < count; i++) {
        assert_true(places[i].row == number && places[i].event < count);
        assert_int_equal(row->events.table_row[places[i].event], i);
        assert_true(row->events.start_ns[places[i].event] == events[i].start &&
                    event_end(&row->events, places[i].event) == events[i].end);
    }
    for (uint32_t i = 0; i < count; i += 37) {
        char expected[64];
        ask(opened.view, &answer, "at?row=%d&lane=%u&time=%lld", number, events_lane(&row->events, i),
            (long long)row->events.start_ns[i]);
        assert_string_not_equal(text_string(&answer), "null");
        snprintf(expected, sizeof expected, "\"from\":%lld,", (long long)row->events.start_ns[i]);
        assert_non_null(strstr(text_string(&answer), expected));
    }
    ask(opened.view, &answer, "at?row=%d&time=-1000000", number);
    assert_string_equal(text_string(&answer), "null");
    ask(opened.view, &answer, "at?row=%d&time=-1000000&slack=1000000", number);
    assert_non_null(strstr(text_string(&answer), "\"from\":0,"));
    text_free(&answer);
    close_view(&opened);
}

/* ---- counters -------------------------------------------------------------------------------------------------- */

static void counters_keep_least_greatest_and_last(void **state)
{
    enum { POINTS = 5000 };
    static int64_t times[POINTS];
    static double values[POINTS];
    struct writer *writer = start();
    struct text answer = { 0 };
    int64_t name = made_string(writer, "queue"), time = 0;
    int number = -1;

    for (int i = 0; i < POINTS; i++) {
        struct row_TACHO_COUNTER row = { 0 };
        times[i] = time;
        time += 1 + (int64_t)random_below(UINT64_C(1) << random_below(14));
        values[i] = (double)random_below(1000) - 500;
        ROW_SET(&row, TACHO_COUNTER, timestamp, times[i]);
        ROW_SET(&row, TACHO_COUNTER, globalTid, made_thread(7, 8));
        ROW_SET(&row, TACHO_COUNTER, domainId, 0);
        ROW_SET(&row, TACHO_COUNTER, counterId, 3);
        ROW_SET(&row, TACHO_COUNTER, nameId, name);
        ROW_SET(&row, TACHO_COUNTER, value, values[i]);
        writer_append(writer, TABLE_TACHO_COUNTER, &row);
    }
    struct opened opened = open_view(writer);
    const struct view_row *row = find_row(opened.view, ROW_PROCESS_COUNTER, &number);
    assert_string_equal(row->label, "queue");
    for (int level = 0; level < 14; level++) {
        int64_t pixel = INT64_C(1) << level, index = (int64_t)random_below((uint64_t)(time / (PIXELS * pixel)) + 1),
                from = index * PIXELS * pixel;
        ask(opened.view, &answer, "tile?rows=%d&level=%d&index=%lld", number, level, (long long)index);
        struct tile tile = read_tile(&answer);
        uint32_t at = 0;
        int first = 0;
        while (first < POINTS && times[first] < from)
            first++;
        if (first > 0)
            assert_true(tile.points[at].time == (double)times[first - 1] &&
                        tile.points[at++].last == values[first - 1]);
        while (first < POINTS && times[first] < from + PIXELS * pixel) {
            int next = first;
            double least = values[first], greatest = least;
            for (; next < POINTS && (times[next] - from) / pixel == (times[first] - from) / pixel; next++) {
                least = values[next] < least ? values[next] : least;
                greatest = values[next] > greatest ? values[next] : greatest;
            }
            assert_true(at < tile.slice_count && tile.points[at].time == (double)times[first]);
            assert_true(tile.points[at].min == least && tile.points[at].max == greatest &&
                        tile.points[at].last == values[next - 1]);
            at++;
            first = next;
        }
        if (first < POINTS)
            assert_true(at < tile.slice_count && tile.points[at++].time == (double)times[first]);
        assert_int_equal(at, tile.slice_count);
    }
    text_free(&answer);
    close_view(&opened);
}

/* ---- reports that nobody wants --------------------------------------------------------------------------------- */

static void no_events_are_an_answer_too(void **state)
{
    struct opened opened = open_view(start());
    struct text answer = { 0 };

    ask(opened.view, &answer, "about");
    assert_non_null(strstr(text_string(&answer), "\"events\":0,"));
    ask(opened.view, &answer, "rows");
    assert_string_equal(text_string(&answer), "{\"rows\":[]}");
    ask(opened.view, &answer, "tile?rows=&level=0&index=0");
    assert_int_equal(answer.length, 8);
    ask(opened.view, &answer, "overview?width=3");
    assert_int_equal(answer.length, 8 + 2 * 3 * 4);
    text_free(&answer);
    close_view(&opened);
}

static void a_single_event_of_no_length_is_shown(void **state)
{
    struct writer *writer = start();
    struct text answer = { 0 };
    int number = -1;

    add_range(writer, made_thread(7, 8), 123456789, 123456789, "alone");
    struct opened opened = open_view(writer);
    find_row(opened.view, ROW_NVTX, &number);
    for (int level = 0; level <= 52; level++) {
        ask(opened.view, &answer, "tile?rows=%d&level=%d&index=%d", number, level,
            (int)(123456789 / (INT64_C(1024) << level)));
        struct tile tile = read_tile(&answer);
        assert_int_equal(tile.slice_count, 1);
        assert_true(tile.slices->from == 123456789 && tile.slices->to == 123456789);
    }
    ask(opened.view, &answer, "overview?width=10");
    text_free(&answer);
    close_view(&opened);
}

/* Each is counted once at the coarsest level, whatever its times are. */
static void times_out_of_all_bounds_are_cut(void **state)
{
    static const int64_t times[][2] = { { -1000, 5 },
                                        { 0, INT64_MAX },
                                        { 10, 3 },
                                        { INT64_MIN, INT64_MIN + 1 },
                                        { INT64_MAX, INT64_MAX },
                                        { INT64_MIN, INT64_MAX },
                                        { 5, 5 },
                                        { INT64_C(1) << 55, INT64_C(1) << 56 },
                                        { 20, INT64_MIN } };
    enum { COUNT = COUNT_OF(times) };

    for (size_t first = 0; first < COUNT; first++) {
        struct writer *writer = start();
        struct text answer = { 0 };
        size_t met = 0;
        int number = -1;
        for (size_t i = first; i < COUNT; i++)
            add_range(writer, made_thread(7, 8), times[i][0], times[i][1], "odd");
        struct opened opened = open_view(writer);
        const struct view_row *row = find_row(opened.view, ROW_NVTX, &number);
        for (int64_t index = -1; index <= 1; index++) {
            ask(opened.view, &answer, "tile?rows=%d&level=52&index=%lld", number, (long long)index);
            struct tile tile = read_tile(&answer);
            met += tile.slice_count;
            for (uint32_t i = 0; i < tile.part_count; i++)
                met += tile.parts[i].count;
            for (uint32_t i = 0; i < tile.slice_count; i++)
                assert_true(fabs(tile.slices[i].from) <= 9007199254740992.0 &&
                            tile.slices[i].to >= tile.slices[i].from && tile.slices[i].to <= 9007199254740992.0);
        }
        assert_int_equal(met, COUNT - first);
        for (uint32_t lane = 0; lane < row->events.lane_count; lane++)
            for (uint32_t i = row->events.lanes[lane] + 1; i < row->events.lanes[lane + 1]; i++)
                assert_true(row->events.start_ns[i] >= event_end(&row->events, i - 1));
        ask(opened.view, &answer, "tile?rows=%d&level=52&index=9223372036854775807", number);
        ask(opened.view, &answer, "tile?rows=%d&level=0&index=-9223372036854775808", number);
        ask(opened.view, &answer, "overview?width=100");
        ask(opened.view, &answer, "about");
        text_free(&answer);
        close_view(&opened);
    }
}

/* Ten thousand at once: in lanes, none left out; rows do not grow without bounds. */
static void what_overlaps_gets_lanes(void **state)
{
    enum { COUNT = 10000 };
    struct writer *writer = start();
    size_t events = 0, lanes = 0;

    for (int i = 0; i < COUNT; i++)
        add_range(writer, made_thread(7, 8), i, INT64_C(5000000000) + i, "long");
    struct opened opened = open_view(writer);
    for (size_t i = 0; i < opened.view->row_count; i++) {
        assert_true(opened.view->rows[i].events.lane_count <= VIEW_MOST_LANES);
        events += opened.view->rows[i].events.count;
        lanes += opened.view->rows[i].events.lane_count;
    }
    assert_int_equal(events, COUNT);
    assert_int_equal(lanes, COUNT);
    close_view(&opened);
}

static void five_thousand_threads_have_their_rows(void **state)
{
    enum { THREADS = 5000 };
    struct writer *writer = start();
    struct text answer = { 0 };
    size_t groups = 0, leaves = 0, open = 0;

    for (int i = 0; i < THREADS; i++)
        add_range(writer, made_thread(7, 100 + i), i, i + 10, "work");
    struct opened opened = open_view(writer);
    for (size_t i = 0; i < opened.view->row_count; i++) {
        const struct view_row *row = &opened.view->rows[i];
        groups += row->type == ROW_THREAD;
        leaves += row->type == ROW_NVTX;
        open += row->type == ROW_THREAD && row->is_open;
        assert_true(row->parent < (int)i);
    }
    assert_int_equal(groups, THREADS);
    assert_int_equal(leaves, THREADS);
    assert_true(open < 10);
    ask(opened.view, &answer, "rows");
    ask(opened.view, &answer, "overview?width=1000");
    text_free(&answer);
    close_view(&opened);
}

/* Ranges that are all called otherwise, as loops that number them are: the answer must not grow with the capture. */
static void a_flame_graph_of_unique_names_is_bounded(void **state)
{
    enum { RANGES = 210000 };
    struct writer *writer = start();
    struct text answer = { 0 };
    char name[32];
    size_t nodes = 0;
    int number = -1;

    for (int i = 0; i < RANGES; i++) {
        snprintf(name, sizeof name, "range %d", i);
        add_range(writer, made_thread(7, 8), 10 * i, 10 * i + 9, name);
    }
    struct opened opened = open_view(writer);
    find_row(opened.view, ROW_NVTX, &number);
    ask(opened.view, &answer, "flame?source=events&row=%d", number);
    /* Not strstr() again and again: a sanitizer's reads to the end of the text each time. */
    const char *first = strstr(text_string(&answer), "\"nodes\":[");
    assert_non_null(first);
    for (const char *at = first + strlen("\"nodes\":["); *at; at++)
        nodes += at[0] == '[' && (at[-1] == '[' || at[-1] == ',');
    assert_int_equal(nodes, 200000);
    text_free(&answer);
    close_view(&opened);
}

/* Names are text, whatever they are: cut, and mended where they are no UTF-8. */
static void hostile_names_are_text(void **state)
{
    enum { LONG = 1 << 20 };
    char *name = malloc(LONG + 1);
    struct writer *writer = start();
    struct text answer = { 0 };
    int number = -1;

    memset(name, 'x', LONG);
    name[LONG] = 0;
    add_range(writer, made_thread(7, 8), 0, 10, name);
    add_range(writer, made_thread(7, 8), 20, 30, "\xff\xfe<script>alert(\"1\")</script>\n");
    struct opened opened = open_view(writer);
    const struct view_row *row = find_row(opened.view, ROW_NVTX, &number);
    ask(opened.view, &answer, "names?ids=%u,%u,4294967295", row->events.name[0], row->events.name[1]);
    assert_true(answer.length < 5000);
    assert_non_null(
        strstr(text_string(&answer), "\xef\xbf\xbd\xef\xbf\xbd<script>alert(\\\"1\\\")</script>\\u000a\",\"\"]}"));
    text_free(&answer);
    free(name);
    close_view(&opened);
}

static void wrong_requests_are_refused_with_a_sentence(void **state)
{
    static const struct {
        const char *request;
        int code;
    } wrong[] = {
        { "nothing", ERR_NOT_FOUND },
        { "tile?rows=0&level=53&index=0", ERR_BAD_ARGUMENT },
        { "tile?rows=0&level=0", ERR_BAD_ARGUMENT },
        { "tile?level=0&index=0", ERR_BAD_ARGUMENT },
        { "tile?rows=99&level=0&index=0", ERR_NOT_FOUND },
        { "tile?rows=0,x&level=0&index=0", ERR_BAD_ARGUMENT },
        { "tile?rows=-1&level=0&index=0", ERR_BAD_ARGUMENT },
        { "at?row=0", ERR_BAD_ARGUMENT },
        { "at?row=77&time=0", ERR_NOT_FOUND },
        { "names?ids=1,,2", ERR_BAD_ARGUMENT },
        { "overview?width=0", ERR_BAD_ARGUMENT },
        { "overview?width=%4", ERR_BAD_ARGUMENT },
        { "at?row=0&time=99999999999999999999", ERR_BAD_ARGUMENT },
    };
    struct writer *writer = start();

    add_range(writer, made_thread(7, 8), 0, 10, "a");
    struct opened opened = open_view(writer);
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        if (refused(opened.view, wrong[i].request) != wrong[i].code)
            fail_msg("%s is not refused as it should be", wrong[i].request);
    close_view(&opened);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_are_what_the_model_says),
        cmocka_unit_test(places_lead_to_events),
        cmocka_unit_test(counters_keep_least_greatest_and_last),
        cmocka_unit_test(no_events_are_an_answer_too),
        cmocka_unit_test(a_single_event_of_no_length_is_shown),
        cmocka_unit_test(times_out_of_all_bounds_are_cut),
        cmocka_unit_test(what_overlaps_gets_lanes),
        cmocka_unit_test(five_thousand_threads_have_their_rows),
        cmocka_unit_test(a_flame_graph_of_unique_names_is_bounded),
        cmocka_unit_test(hostile_names_are_text),
        cmocka_unit_test(wrong_requests_are_refused_with_a_sentence),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
