/* Lists of events: pages in every order against a plain sort of what was written, positions, filters, histograms of
 * durations, and the figures of a selection against a plain sum. Longer than what one pass keeps, with many ties. */
#include "made_report.h"

#include <stdio.h>

#include "base/cancel.h"
#include "view/load/view_state.h"
#include "view/timeline.h"

enum { MANY = 81000, SOME_EVENT = 54000, STREAMS = 3, NAMES = 7, ORIGIN = 1000 };

struct made {
    int64_t begin, end, stream;
    int name;
};

static const char *const names[NAMES] = { "gemm", "copy", "add<\"x\">", "", "\xff bytes", "gemm2", "<img src=x>" };
static struct made *made;
static size_t made_count;
static struct report *report;
static struct view *view;
static struct text answer;

/* Streams whose kernels do not overlap; few different durations, many equal starts over the streams. */
static void make(size_t count)
{
    struct writer *writer = start();
    uint32_t seed = 7;

    made = calloc(count, sizeof *made);
    made_count = count;
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525 + 1013904223;
        int64_t begin = ORIGIN + (int64_t)(i / STREAMS) * 100;
        made[i] = (struct made){ begin, begin + (seed >> 20) % 50, 7 + (int64_t)(i % STREAMS),
                                 (int)((seed >> 8) % NAMES) };
        made_kernel(writer, (struct made_kernel){ made[i].begin, made[i].end, 1, NO_ID, 0, made[i].stream,
                                                  names[made[i].name], NULL, NULL });
    }
    report = finish(writer);
    struct error err;
    if (view_open(report, &view, &err) != 0)
        fail_msg("%s", err.text);
}

static void close_all(void)
{
    view_close(view);
    report_close(report);
    text_free(&answer);
    free(made);
}

static int try_ask(struct error *err, const char *format, va_list arguments)
{
    char request[512];
    const char *type;

    vsnprintf(request, sizeof request, format, arguments);
    text_clear(&answer);
    return view_answer(view, request, NULL, 0, &answer, &type, err);
}

static const char *ask(const char *format, ...)
{
    struct error err = { 0 };
    va_list arguments;

    va_start(arguments, format);
    if (try_ask(&err, format, arguments) != 0)
        fail_msg("%s: %s", format, err.text);
    va_end(arguments);
    return text_string(&answer);
}

static void expect_failure(int code, const char *sentence, const char *format, ...)
{
    struct error err = { 0 };
    va_list arguments;

    va_start(arguments, format);
    assert_int_equal(try_ask(&err, format, arguments), code);
    va_end(arguments);
    if (!strstr(err.text, sentence))
        fail_msg("'%s' does not say '%s'", err.text, sentence);
}

static int64_t number_of(const char *json, const char *member)
{
    char start[64];
    const char *at;

    snprintf(start, sizeof start, "\"%s\":", member);
    at = strstr(json, start);
    if (!at)
        fail_msg("no '%s' in %.300s", member, json);
    return strtoll(at + strlen(start), NULL, 10);
}

/* ---- truth ----------------------------------------------------------------------------------------------------- */

static const char *sort_by;
static int sort_down;

static int text_order(const struct made *a, const struct made *b)
{
    return strcmp(names[a->name], names[b->name]);
}

static int64_t first_difference(const struct made *a, const struct made *b)
{
    if (strcmp(sort_by, "duration") == 0)
        return (a->end - a->begin) - (b->end - b->begin);
    if (strcmp(sort_by, "name") == 0)
        return text_order(a, b);
    return strcmp(sort_by, "row") == 0 ? a->stream - b->stream : a->begin - b->begin;
}

static int by_truth(const void *left, const void *right)
{
    const struct made *a = left, *b = right;
    int64_t difference = first_difference(a, b);

    if (difference)
        return (difference > 0 ? 1 : -1) * (sort_down ? -1 : 1);
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return a->stream < b->stream ? -1 : a->stream > b->stream;
}

/* The place of a stream's events among rows, which follow the number of the stream. */
static int row_of(int64_t stream)
{
    for (size_t i = 0; i < view->row_count; i++)
        if (view->rows[i].type == ROW_STREAM && view->rows[i].stream == stream)
            return (int)i;
    fail_msg("no row of stream %d", (int)stream);
    return -1;
}

static void expect_page(const struct made *sorted, size_t count, size_t offset, size_t limit, const char *filter)
{
    const char *at = ask("events?sort=%s&down=%d&offset=%zu&limit=%zu%s", sort_by, sort_down, offset, limit, filter);
    size_t shown = offset < count ? (count - offset < limit ? count - offset : limit) : 0;

    assert_int_equal(number_of(at, "total"), (int64_t)count);
    for (size_t i = 0; i < shown; i++) {
        at = strstr(at + 1, "{\"row\":");
        if (!at)
            fail_msg("%s: only %zu of %zu events", sort_by, i, shown);
        assert_int_equal(number_of(at, "row"), row_of(sorted[offset + i].stream));
        assert_int_equal(number_of(at, "from"), sorted[offset + i].begin);
        assert_int_equal(number_of(at, "to"), sorted[offset + i].end);
    }
    assert_null(strstr(at + 1, "{\"row\":"));
}

static size_t filtered(struct made *out, int64_t from, int64_t to, int64_t least, int64_t most, int name)
{
    size_t count = 0;

    for (size_t i = 0; i < made_count; i++) {
        const struct made *one = &made[i];
        int64_t length = one->end - one->begin;
        if (one->begin < to && (one->end > from || one->begin >= from) && length >= least && length <= most &&
            (name < 0 || one->name == name))
            out[count++] = *one;
    }
    return count;
}

/* ---- tests ----------------------------------------------------------------------------------------------------- */

static void pages_in_every_order(void **state)
{
    static const char *const sorts[] = { "start", "duration", "name", "row" };

    make(MANY);
    struct made *sorted = malloc(made_count * sizeof *sorted);
    for (size_t s = 0; s < 4; s++)
        for (sort_down = 0; sort_down < 2; sort_down++) {
            size_t offsets[] = { 0, 1, MANY / 3, 65536, MANY - 5, MANY, MANY + 9 };
            sort_by = sorts[s];
            memcpy(sorted, made, made_count * sizeof *sorted);
            qsort(sorted, made_count, sizeof *sorted, by_truth);
            for (size_t i = 0; i < COUNT_OF(offsets); i++)
                expect_page(sorted, made_count, offsets[i], 20, "");
            expect_page(sorted, made_count, 1000, 3000, "");
        }
    free(sorted);
    close_all();
}

static void filters(void **state)
{
    char filter[200];

    make(MANY);
    struct made *some = malloc(made_count * sizeof *some);
    sort_by = "duration";
    sort_down = 1;
    size_t count = filtered(some, 100010, 2000000, 10, 20, -1);
    assert_true(count > 100);
    qsort(some, count, sizeof *some, by_truth);
    snprintf(filter, sizeof filter, "&from=%d&to=%d&least=10&most=20", 100010, 2000000);
    expect_page(some, count, 0, 50, filter);
    expect_page(some, count, count - 30, 50, filter);
    count = filtered(some, 0, INT64_MAX, 0, INT64_MAX, 0);
    qsort(some, count, sizeof *some, by_truth);
    expect_page(some, count, 7, 50, "&text=gemm&mode=exact&case=1");
    count = filtered(some, 0, INT64_MAX, 0, INT64_MAX, 6);
    qsort(some, count, sizeof *some, by_truth);
    expect_page(some, count, 7, 50, "&text=%3Cimg&mode=substring");
    snprintf(filter, sizeof filter, "&rows=%d", row_of(8));
    assert_int_equal(number_of(ask("events?limit=0%s", filter), "total"), MANY / STREAMS);
    snprintf(filter, sizeof filter, "&rows=%d", view->rows[row_of(8)].parent);
    assert_int_equal(number_of(ask("events?limit=0%s", filter), "total"), MANY);
    free(some);
    close_all();
}

static void position_of_an_event(void **state)
{
    make(MANY);
    const char *page = ask("events?sort=duration&down=1&offset=%d&limit=1", MANY / 2);
    const char *event = strstr(page, "{\"row\":");
    int64_t row = number_of(event, "row"), index = number_of(event, "event");
    assert_int_equal(number_of(ask("events?sort=duration&down=1&limit=0&at=%d,%d", (int)row, (int)index), "position"),
                     MANY / 2);
    assert_non_null(strstr(ask("events?least=1000&at=%d,%d", (int)row, (int)index), "\"position\":null"));
    close_all();
}

static void siblings(void **state)
{
    make(MANY);
    struct made *some = malloc(made_count * sizeof *some), own = made[SOME_EVENT];
    size_t count = filtered(some, 0, INT64_MAX, 0, INT64_MAX, own.name), shorter = 0, sum = 0, before = 0;
    sort_by = "duration";
    sort_down = 0;
    qsort(some, count, sizeof *some, by_truth);
    for (size_t i = 0; i < count; i++) {
        shorter += some[i].end - some[i].begin < own.end - own.begin;
        before += some[i].begin < own.begin || (some[i].begin == own.begin && some[i].stream < own.stream);
    }
    const char *at = ask("siblings?row=%d&event=%d", row_of(own.stream), SOME_EVENT / STREAMS);
    assert_int_equal(number_of(at, "count"), (int64_t)count);
    assert_int_equal(number_of(at, "shorter"), (int64_t)shorter);
    assert_int_equal(number_of(at, "position"), (int64_t)before);
    assert_int_equal(number_of(at, "median"), some[(count - 1) / 2].end - some[(count - 1) / 2].begin);
    assert_int_equal(number_of(at, "max"), some[count - 1].end - some[count - 1].begin);
    for (at = strstr(at, "\"bars\":"); (at = strstr(at + 1, "{\"from\":"));) {
        int64_t from = number_of(at, "from"), to = number_of(at, "to"), wanted = 0;
        for (size_t i = 0; i < count; i++)
            wanted += some[i].end - some[i].begin >= from && some[i].end - some[i].begin <= to;
        assert_int_equal(number_of(at, "count"), wanted);
        sum += (size_t)wanted;
    }
    assert_int_equal(sum, count);
    free(some);
    close_all();
}

/* By name it adds up, and the time in which any of them ran is counted ns by ns. */
static void figures_of_a_selection(void **state)
{
    enum { FROM = 1120, TO = 9015 };
    uint8_t busy[TO - FROM] = { 0 };
    int64_t total = 0, busy_ns = 0, count = 0, named = 0;

    make(3000);
    for (size_t i = 0; i < made_count; i++) {
        const struct made *one = &made[i];
        if (one->begin >= TO || (one->end <= FROM && one->begin < FROM))
            continue;
        count++;
        for (int64_t t = one->begin < FROM ? FROM : one->begin; t < one->end && t < TO; t++) {
            busy[t - FROM] = 1;
            total++;
            named += one->name == 0;
        }
    }
    for (size_t i = 0; i < sizeof busy; i++)
        busy_ns += busy[i];
    const char *at = ask("selection?from=%d&to=%d", FROM, TO);
    assert_int_equal(number_of(at, "count"), count);
    assert_int_equal(number_of(at, "total"), total);
    assert_int_equal(number_of(at, "busy"), busy_ns);
    assert_int_equal(number_of(at, "different"), NAMES);
    assert_int_equal(number_of(strstr(at, "\"name\":\"gemm\""), "total"), named);
    close_all();
}

static void wrong_arguments(void **state)
{
    make(10);
    expect_failure(ERR_BAD_ARGUMENT, "must be start, duration, name or row", "events?sort=colour");
    expect_failure(ERR_NOT_FOUND, "no row 99", "events?rows=99");
    expect_failure(ERR_BAD_ARGUMENT, "separated by a comma", "events?at=1");
    expect_failure(ERR_NOT_FOUND, "no event 9000 in row 0", "siblings?row=0&event=9000");
    expect_failure(ERR_BAD_ARGUMENT, "regular expression", "events?text=(&mode=regex");
    close_all();
}

static void cancelling(void **state)
{
    _Atomic int flag = 1;
    struct error err = { 0 };
    const char *type;

    make(MANY);
    cancel_watch(&flag);
    text_clear(&answer);
    assert_int_equal(view_answer(view, "events?sort=duration", NULL, 0, &answer, &type, &err), ERR_CANCELLED);
    assert_int_equal(view_answer(view, "siblings?row=4&event=1", NULL, 0, &answer, &type, &err) == 0, 0);
    cancel_watch(NULL);
    close_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_in_every_order),
        cmocka_unit_test(filters),
        cmocka_unit_test(position_of_an_event),
        cmocka_unit_test(siblings),
        cmocka_unit_test(figures_of_a_selection),
        cmocka_unit_test(wrong_arguments),
        cmocka_unit_test(cancelling),
    };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
