/* Windows of reports: the rows that begin in a span, against a plain filter of all rows; what describes others is kept;
 * and the adviser of a long capture, which reads one. */
#include "made_report.h"

#include <math.h>
#include <stdio.h>

#include "analyze/advice/adviser.h"
#include "analyze/registry.h"
#include "analyze/summary/run_figures.h"
#include "base/array.h"
#include "report/reader/window.h"

enum { KERNELS = 100000, RANGES = 3000, LAST = 1000000, STREAMS = 5 };

static uint64_t seed = 88172645463325252;

static int64_t any(int64_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (int64_t)(seed % (uint64_t)below);
}

/* Times rise and fall, so that spans of chunks overlap; some ids are NULL. */
static struct report *make_report(void)
{
    struct writer *writer = start();

    for (int64_t i = 0; i < KERNELS; i++) {
        int64_t begin = i * 9 + any(LAST / 10);
        made_kernel(writer, (struct made_kernel){ begin, begin + any(1000), 1, i % 3 ? i : NO_ID, 0, i % STREAMS,
                                                  i % 2 ? "odd" : "even", NULL, NULL });
    }
    for (int64_t i = 0; i < RANGES; i++) {
        struct row_TACHO_THREAD row = { 0 };
        ROW_SET(&row, TACHO_THREAD, globalTid, made_thread(1, i));
        ROW_SET(&row, TACHO_THREAD, start, i * 300);
        writer_append(writer, TABLE_TACHO_THREAD, &row);
    }
    return finish(writer);
}

static const char *const names[] = { "correlationId", "start", "end", "streamId", "shortName" };
enum { ID, START, END, STREAM, NAME, COLUMNS };

static struct report_columns read_kernels(struct report *report)
{
    const struct report_table *table = report_table(report, "CUPTI_ACTIVITY_KIND_KERNEL");
    struct report_columns columns;
    struct error err;
    int wanted[COLUMNS];

    for (int i = 0; i < COLUMNS; i++)
        wanted[i] = report_column(table, names[i]);
    assert_int_equal(report_read(report, table, wanted, COLUMNS, &columns, &err), 0);
    assert_int_equal(columns.rows, table->rows);
    return columns;
}

static int is_null(const struct report_columns *columns, size_t column, size_t row)
{
    return columns_is_null(columns, column, row);
}

static void expect_window(struct report *report, const struct report_columns *all, struct report_span span)
{
    struct report *window;
    struct error err;
    size_t at = 0;

    assert_int_equal(report_open_window(report, &span, NULL, &window, &err), 0);
    struct report_columns some = read_kernels(window);
    for (size_t row = 0; row < all->rows; row++) {
        if (all->values[START][row] < span.from_ns || all->values[START][row] > span.to_ns)
            continue;
        assert_true(at < some.rows);
        for (size_t c = 0; c < COLUMNS; c++) {
            assert_int_equal(is_null(&some, c, at), is_null(all, c, row));
            if (!is_null(all, c, row))
                assert_int_equal(some.values[c][at], all->values[c][row]);
        }
        at++;
    }
    assert_int_equal(at, some.rows);
    if (at)
        assert_string_equal(report_string(window, some.values[NAME][0], NULL),
                            report_string(report, some.values[NAME][0], NULL));
    const struct report_table *kernels = report_table(window, "CUPTI_ACTIVITY_KIND_KERNEL");
    for (size_t i = 0, first = 0; i < report_chunk_count(kernels); i++) {
        struct report_chunk chunk = report_chunk_at(kernels, i);
        assert_int_equal(chunk.first_row, first);
        assert_true(chunk.rows > 0 && chunk.first_ns >= span.from_ns && chunk.last_ns <= span.to_ns);
        first += chunk.rows;
    }
    assert_int_equal(report_table(window, "TACHO_THREAD")->rows, RANGES);
    report_columns_free(&some);
    report_close(window);
}

static void rows_that_begin_in_the_span(void **state)
{
    static const struct report_span spans[] = {
        { INT64_MIN, INT64_MAX }, { 0, 0 }, { 500000, 500000 }, { 500000, 499999 }, { LAST * 2, INT64_MAX }, { -5, -1 },
    };
    struct report *report = make_report();
    struct report_columns all = read_kernels(report);

    for (size_t i = 0; i < COUNT_OF(spans); i++)
        expect_window(report, &all, spans[i]);
    for (int i = 0; i < 40; i++) {
        int64_t from = any(LAST);
        expect_window(report, &all, (struct report_span){ from, from + any(i % 2 ? LAST : 2000) });
    }
    report_columns_free(&all);
    report_close(report);
}

/* Work begins after the calls of a window: its tables are read longer. */
static void late_tables_are_read_longer(void **state)
{
    static const char *const tables[] = { "CUPTI_ACTIVITY_KIND_KERNEL", NULL };
    const struct report_late late = { tables, LAST / 2 };
    struct report *report = make_report(), *window, *longer;
    struct error err;

    assert_int_equal(report_open_window(report, &(struct report_span){ 0, LAST / 4 }, &late, &window, &err), 0);
    assert_int_equal(report_open_window(report, &(struct report_span){ 0, LAST / 2 }, NULL, &longer, &err), 0);
    struct report_columns some = read_kernels(window), all = read_kernels(longer);
    assert_true(some.rows > 0);
    assert_int_equal(some.rows, all.rows);
    report_columns_free(&some);
    report_columns_free(&all);
    report_close(window);
    report_close(longer);
    report_close(report);
}

/* ---- the adviser of a long capture ----------------------------------------------------------------------------- */

enum { STEPS = 2000, PER_STEP = 40, STEP_NS = 1000000, KERNEL_NS = 20000 };

static void launch(struct writer *writer, int64_t begin, int64_t id, int64_t ahead_ns)
{
    struct row_CUPTI_ACTIVITY_KIND_RUNTIME row = { 0 };

    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, start, begin);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, end, begin + 4000);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, globalTid, made_thread(1, 1));
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, correlationId, id);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, nameId, made_string(writer, "cudaLaunchKernel_v7000"));
    writer_append(writer, TABLE_CUPTI_ACTIVITY_KIND_RUNTIME, &row);
    begin += 5000 + ahead_ns;
    made_kernel(writer, (struct made_kernel){ begin, begin + KERNEL_NS / 2, 1, id, 0, 7, "k", NULL, NULL });
}

/* Each step marks itself, and launches kernels. Those of the first tenth, the warm-up, take twice as long. ahead_ns: so
 * long after its launch a kernel begins. */
static struct report *make_ahead(size_t steps, int64_t ahead_ns)
{
    struct writer *writer = start();
    int64_t at = 0;

    for (size_t step = 0; step < steps; step++) {
        int64_t slower = step < steps / 10 ? 2 : 1, length = STEP_NS * slower;
        struct row_NVTX_EVENTS range = { 0 };
        char name[32];
        snprintf(name, sizeof name, "step %zu", step);
        ROW_SET(&range, NVTX_EVENTS, start, at);
        ROW_SET(&range, NVTX_EVENTS, end, at + length);
        ROW_SET(&range, NVTX_EVENTS, eventType, 59);
        ROW_SET(&range, NVTX_EVENTS, text, made_string(writer, name));
        ROW_SET(&range, NVTX_EVENTS, globalTid, made_thread(1, 1));
        writer_append(writer, TABLE_NVTX_EVENTS, &range);
        for (int64_t i = 0; i < PER_STEP; i++)
            launch(writer, at + i * KERNEL_NS * slower, (int64_t)step * PER_STEP + i, ahead_ns);
        at += length;
    }
    return finish(writer);
}

static struct report *make_long(size_t steps)
{
    return make_ahead(steps, 0);
}

static void long_captures_are_read_in_part(void **state)
{
    struct adviser part, whole;
    struct report *report = make_long(STEPS);
    struct error err;

    assert_int_equal(adviser_open(&part, report, &(struct analysis_request){ 0 }, &err), 0);
    assert_int_equal(adviser_open(&whole, report, &(struct analysis_request){ .is_whole = 1 }, &err), 0);
    assert_null(whole.window);
    assert_non_null(part.window);
    assert_int_equal(part.steps_of_run, STEPS);
    assert_true(part.steps->count >= 8 && part.steps->count < STEPS);
    assert_true(part.steps->list[0].number >= STEPS / 10); /* the slow ones are not typical */
    assert_int_equal(part.step_ns, STEP_NS);
    assert_true(part.replay.events.call_count <= (part.steps->count + 1) * PER_STEP);
    adviser_free(&part);
    adviser_free(&whole);
    report_close(report);
}

/* A program that is ahead of its GPU: the steps of a window end with the work that they launched, which begins several
 * steps later. */
static void steps_have_all_work_that_they_launched(void **state)
{
    struct report *report = make_ahead(STEPS, 6 * STEP_NS);
    struct adviser part;
    struct error err;
    size_t calls = 0, works = 0;

    assert_int_equal(adviser_open(&part, report, &(struct analysis_request){ 0 }, &err), 0);
    assert_non_null(part.window);
    const struct replay_events *events = &part.replay.events;
    for (uint32_t i = 0; i < events->call_count; i++)
        calls += adviser_counts(&part, &events->calls[i]);
    for (uint32_t i = 0; i < events->work_count; i++)
        works += events->works[i].call != NO_CALL && adviser_counts(&part, &events->calls[events->works[i].call]);
    assert_int_equal(calls, part.steps->count * PER_STEP);
    assert_int_equal(works, calls);
    adviser_free(&part);
    report_close(report);
}

static struct table *advise(struct report *report, int is_whole)
{
    struct table *table;
    struct error err;

    if (analysis_run(analysis_find("advice_sum"), report, &(struct analysis_request){ .is_whole = is_whole }, &table,
                     &err) != 0)
        fail_msg("%s", err.text);
    return table;
}

/* Columns of numbers: of the run, and of a step. */
static void expect_near(const struct table *part, const struct table *whole, size_t row, const char *column)
{
    double truth = table_number_at(whole, row, column);

    assert_true(truth > 0);
    if (fabs(table_number_at(part, row, column) - truth) > truth / 100)
        fail_msg("%s: %g, and of all steps %g", column, table_number_at(part, row, column), truth);
}

static void a_part_says_what_the_whole_does(void **state)
{
    struct report *report = make_long(STEPS);
    struct table *part = advise(report, 0), *whole = advise(report, 1);

    assert_true(table_row_count(whole) > 0);
    assert_int_equal(table_row_count(part), table_row_count(whole));
    for (size_t row = 0; row < table_row_count(whole); row++) {
        assert_string_equal(table_text_at(part, row, "Rule"), table_text_at(whole, row, "Rule"));
        expect_near(part, whole, row, "Saves per Step");
        expect_near(part, whole, row, "To");
        expect_near(part, whole, row, "Impact");
    }
    assert_non_null(strstr(table_note(part), " of 2,000 "));
    assert_string_equal(table_note(whole), "");
    table_delete(part);
    table_delete(whole);
    report_close(report);
}

static void short_captures_are_read_whole(void **state)
{
    struct report *report = make_long(100);
    struct adviser adviser;
    struct error err;

    assert_int_equal(adviser_open(&adviser, report, &(struct analysis_request){ 0 }, &err), 0);
    assert_null(adviser.window);
    assert_int_equal(adviser.steps->count, 100);
    adviser_free(&adviser);
    report_close(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_that_begin_in_the_span),     cmocka_unit_test(late_tables_are_read_longer),
        cmocka_unit_test(long_captures_are_read_in_part),  cmocka_unit_test(steps_have_all_work_that_they_launched),
        cmocka_unit_test(a_part_says_what_the_whole_does), cmocka_unit_test(short_captures_are_read_whole),
    };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
