/* Comparing runs: the shift between samples, rows that come and go, and names that differ only in their process. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/engine/table_diff.h"
#include "base/array.h"

static void expect_near(double got, double expected)
{
    if (fabs(got - expected) > 1e-9)
        fail_msg("%.12g is not %.12g", got, expected);
}

/* Confidence of the interval from the least to the greatest difference: 1 - 2 / C(m + n, m), from tables of Mann and
 * Whitney: 2/6, 2/20, 2/70, 2/252. */
static void few_runs_say_what_they_allow(void **state)
{
    static const struct {
        size_t runs;
        double confidence;
    } cases[] = { { 1, 0 }, { 2, 1 - 2.0 / 6 }, { 3, 0.9 }, { 4, 1 - 2.0 / 70 } };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        double before[4] = { 1, 2, 3, 4 }, after[4] = { 11, 12, 13, 14 }, shift, low, high;
        double confidence = table_diff_shift(before, cases[i].runs, after, cases[i].runs, &shift, &low, &high);
        expect_near(confidence, cases[i].confidence);
        expect_near(shift, 10);
        expect_near(low, 11 - (double)cases[i].runs);
        expect_near(high, 9 + (double)cases[i].runs);
    }
}

/* Five and five: the critical value of U at 5 % is 2, so that the interval goes from the third difference to the third
 * from the end: tables give it as 1 - 2 * 4 / 252. */
static void five_runs(void **state)
{
    double before[] = { 1, 2, 4, 8, 16 }, after[] = { 132, 164, 100, 101, 116 }, shift, low, high;
    double confidence = table_diff_shift(before, 5, after, 5, &shift, &low, &high);

    expect_near(confidence, 1 - 2.0 * 4 / 252);
    /* 84 85 92 93 96 97 98 99 99 100 100 108 112 114 115 116 124 128 130 131 148 156 160 162 163 */
    expect_near(low, 92);
    expect_near(high, 160);
    expect_near(shift, 112);
}

static void many_runs_and_one_astray(void **state)
{
    double before[30], after[30], shift, low, high;

    for (int i = 0; i < 30; i++) {
        before[i] = 100 + i % 7;
        after[i] = 105 + i % 7;
    }
    after[3] = 1e9;
    expect_near(table_diff_shift(before, 30, after, 30, &shift, &low, &high), 0.95);
    expect_near(shift, 5);
    assert_true(low > 3 && low < 5 && high > 5 && high < 7);
}

static const struct table_column columns[] = {
    { "Time", CELL_REAL, UNIT_PERCENT, 1 },  { "Total Time", CELL_INT, UNIT_NS, 0 },
    { "Instances", CELL_INT, UNIT_NONE, 0 }, { "Max", CELL_INT, UNIT_NS, 0 },
    { "PID", CELL_INT, UNIT_ID, 0 },         { "Name", CELL_TEXT, UNIT_NONE, 0 },
};

static void add(struct table *table, int64_t total, int64_t count, int64_t max, int64_t pid, const char *name)
{
    struct table_cell *row = table_add_row(table);

    cell_set_int(&row[1], total);
    cell_set_int(&row[2], count);
    cell_set_int(&row[3], max);
    cell_set_int(&row[4], pid);
    cell_set_text(table, &row[5], name, strlen(name));
}

static struct table *make(int64_t a, int64_t b, int64_t pid)
{
    struct table *table = table_new(columns, COUNT_OF(columns));

    if (a)
        add(table, a, 2, a / 2, pid, "a");
    if (b)
        add(table, b, 1, b, pid, "b");
    return table;
}

static void free_tables(struct table **tables, size_t count)
{
    for (size_t i = 0; i < count; i++)
        table_delete(tables[i]);
}

static const char *text_at(const struct table_diff *diff, size_t row, size_t column)
{
    return table_row(diff->table, row)[column].text.bytes;
}

/* All rows of one run beside one other. */
static int compare(struct table *before, struct table *after, const char *column, struct table_diff *diff)
{
    struct error err;

    return table_diff_make((struct table *[]){ before, after }, 1, 1,
                           &(struct table_diff_request){ .report = "made", .column = column, .with_unchanged = 1 },
                           diff, &err);
}

static void rows_come_and_go(void **state)
{
    struct table *before = make(100, 50, 1), *after = table_new(columns, COUNT_OF(columns));
    struct table_diff diff;

    add(after, 130, 2, 60, 2, "a");
    add(after, 500, 1, 500, 2, "c");
    assert_int_equal(compare(before, after, NULL, &diff), 0);
    assert_int_equal(table_row_count(diff.table), 3); /* the largest change first */
    assert_string_equal(text_at(&diff, 0, 5), "c");
    assert_string_equal(text_at(&diff, 0, 4), "new");
    assert_string_equal(text_at(&diff, 1, 5), "b");
    assert_string_equal(text_at(&diff, 1, 4), "gone");
    assert_string_equal(text_at(&diff, 2, 5), "a");
    assert_int_equal(table_row(diff.table, 2)[2].integer, 30);
    expect_near(table_row(diff.table, 2)[3].real, 30);
    assert_int_equal(table_row(diff.table, 0)[3].kind, CELL_NONE); /* nothing that it could be a share of */
    expect_near(diff.overall.before, 150);
    expect_near(diff.overall.after, 630);
    table_diff_free(&diff);
    table_delete(before);
    table_delete(after);
}

static void same_name_in_two_processes(void **state)
{
    struct table *before = make(100, 0, 1), *after = make(70, 0, 3);
    struct table_diff diff;

    add(before, 40, 2, 33, 2, "a");
    assert_int_equal(compare(before, after, "total", &diff), 0);
    assert_int_equal(table_row_count(diff.table), 1);
    assert_int_equal(table_row(diff.table, 0)[0].integer, 140);
    table_diff_free(&diff);
    assert_int_equal(compare(before, after, "max", &diff), 0);
    assert_int_equal(table_row(diff.table, 0)[0].integer, 50);
    assert_int_equal(diff.has_overall, 0);
    table_diff_free(&diff);
    assert_int_equal(compare(before, after, "colour", &diff), ERR_BAD_ARGUMENT);
    table_delete(before);
    table_delete(after);
}

static void medians_of_runs(void **state)
{
    struct table *runs[] = { make(100, 10, 1), make(900, 11, 2), make(102, 0, 3),
                             make(200, 10, 4), make(204, 10, 5), make(208, 9, 6) };
    struct table_diff_request request = { .report = "made", .with_unchanged = 1 };
    struct table_diff diff;
    struct error err;

    assert_int_equal(table_diff_make(runs, 3, 3, &request, &diff, &err), 0);
    assert_string_equal(text_at(&diff, 0, 7), "a");
    expect_near(diff.rows[0].before, 102);
    expect_near(diff.rows[0].after, 204);
    expect_near(diff.rows[0].change, 100); /* the median of -700 -696 -692 98 100 102 104 106 108 */
    expect_near(diff.rows[0].low, -102);   /* no time can fall by more than all of it */
    expect_near(diff.rows[0].high, 108);
    expect_near(diff.confidence, 0.9);
    assert_true(diff.is_shift);            /* not 204 - 102 */
    expect_near(diff.rows[1].before, 10);  /* a sum that a run lacks is 0 */
    table_diff_free(&diff);
    request.with_unchanged = 0;            /* both intervals hold 0 */
    assert_int_equal(table_diff_make(runs, 3, 3, &request, &diff, &err), 0);
    assert_int_equal(table_row_count(diff.table), 0);
    assert_int_equal(diff.unchanged, 2);
    table_diff_free(&diff);
    free_tables(runs, 6);
}

static const struct table_column sampled[] = {
    { "Self", CELL_REAL, UNIT_PERCENT, 1 },     { "Total", CELL_REAL, UNIT_PERCENT, 1 },
    { "Self Samples", CELL_INT, UNIT_NONE, 0 }, { "Function", CELL_TEXT, UNIT_NAME, 0 },
    { "Module", CELL_TEXT, UNIT_NONE, 0 },      { "Self Time", CELL_INT, UNIT_NS, 0 },
};

static void add_function(struct table *table, int64_t samples, const char *name, const char *module, int64_t time_ns)
{
    struct table_cell *row = table_add_row(table);

    cell_set_real(&row[1], 100);
    cell_set_int(&row[2], samples);
    cell_set_text(table, &row[3], name, strlen(name));
    cell_set_text(table, &row[4], module, strlen(module));
    if (time_ns >= 0)
        cell_set_int(&row[5], time_ns);
}

/* Two builds in two folders, with another version of a library. The error of 400 and 410 samples is 1.96 * sqrt(810).
 */
static void functions_of_two_builds(void **state)
{
    struct table *tables[] = { table_new(sampled, COUNT_OF(sampled)), table_new(sampled, COUNT_OF(sampled)) };
    struct table_diff_request request = { .report = "cpu_sample_sum" };
    struct table_diff diff;
    struct error err;

    add_function(tables[0], 100, "work", "/a/bin/program", 1000);
    add_function(tables[0], 400, "sort", "/a/lib/libsort.so.1.2", 4000);
    add_function(tables[0], 0, "main", "/a/bin/program", 0);
    add_function(tables[0], 50, "<module>", "/a/one/__init__.py", 500);
    add_function(tables[1], 300, "work", "/b/bin/program", 3000);
    add_function(tables[1], 410, "sort", "/b/lib/libsort.so.1.3", 4100);
    add_function(tables[1], 0, "main", "/b/bin/program", 0);
    add_function(tables[1], 50, "<module>", "/b/two/__init__.py", 500);
    assert_int_equal(table_diff_make(tables, 1, 1, &request, &diff, &err), 0);
    assert_string_equal(diff.column, "Self Time");
    assert_int_equal(table_row_count(diff.table), 3);
    assert_string_equal(text_at(&diff, 0, 5), "work");
    assert_string_equal(text_at(&diff, 0, 6), "program");
    assert_string_equal(text_at(&diff, 0, 4), "");
    assert_string_equal(text_at(&diff, 1, 6), "one/__init__.py");
    assert_int_equal(diff.unchanged, 2);
    assert_true(diff.has_overall);
    expect_near(diff.overall.before, 5500);
    expect_near(diff.overall.after, 7600);
    table_diff_free(&diff);
    request.with_unchanged = request.rows_overlap = 1;
    assert_int_equal(table_diff_make(tables, 1, 1, &request, &diff, &err), 0);
    expect_near(diff.rows[3].change, 100);
    expect_near(diff.rows[3].high - diff.rows[3].low, 2 * 1.96 * sqrt(810) * 10);
    assert_false(diff.has_overall);
    table_diff_free(&diff);
    free_tables(tables, 2);
}

/* Who waited, and for whom, is the answer and not the question: the row is the same one. */
static void waits_for_another_rank(void **state)
{
    static const struct table_column waits[] = {
        { "Total Time", CELL_INT, UNIT_NS, 0 },
        { "Name", CELL_TEXT, UNIT_NAME, 0 },
        { "Waiting", CELL_TEXT, UNIT_NONE, 0 },
        { "Waits For", CELL_INT, UNIT_ID, 0 },
    };
    struct table *tables[] = { table_new(waits, COUNT_OF(waits)), table_new(waits, COUNT_OF(waits)) };
    struct table_diff diff;
    struct error err;

    for (int i = 0; i < 2; i++) {
        struct table_cell *row = table_add_row(tables[i]);
        cell_set_int(&row[0], 100 + 50 * i);
        cell_set_text(tables[i], &row[1], "MPI_Barrier", 11);
        cell_set_text(tables[i], &row[2], i ? "0-2" : "1-3", 3);
        cell_set_int(&row[3], i ? 3 : 0);
    }
    const struct {
        const char *report;
        size_t rows;
    } cases[] = { { "mpi_wait_sum", 1 }, { "another_sum", 2 } };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct table_diff_request request = { .report = cases[i].report };
        assert_int_equal(table_diff_make(tables, 1, 1, &request, &diff, &err), 0);
        assert_int_equal(table_row_count(diff.table), cases[i].rows);
        expect_near(diff.rows[0].change, cases[i].rows == 1 ? 50 : 150);
        table_diff_free(&diff);
    }
    free_tables(tables, 2);
}

/* The program has another name in each run, and a library that differs only by its name does not become one. */
static void programs_of_two_names(void **state)
{
    struct table *tables[] = { table_new(sampled, COUNT_OF(sampled)), table_new(sampled, COUNT_OF(sampled)) };
    struct table_diff_request request = { .report = "cpu_sample_sum",
                                          .programs = (const char *const[]){ "slow", "fast" } };
    struct table_diff diff;
    struct error err;

    add_function(tables[0], 100, "work", "/a/slow", 1000);
    add_function(tables[0], 100, "sort", "/lib/libslow.so", 1000);
    add_function(tables[1], 300, "work", "/a/fast", 3000);
    add_function(tables[1], 100, "sort", "/lib/libfast.so", 1000);
    assert_int_equal(table_diff_make(tables, 1, 1, &request, &diff, &err), 0);
    assert_true(diff.has_program);
    assert_int_equal(table_row_count(diff.table), 3);
    assert_string_equal(text_at(&diff, 0, 4), "");
    assert_string_equal(text_at(&diff, 0, 6), "fast");
    assert_string_equal(text_at(&diff, 1, 4), "gone");
    assert_string_equal(text_at(&diff, 2, 4), "new");
    table_diff_free(&diff);
    free_tables(tables, 2);
}

/* An overview keeps its order, and has what both sides have, changed or not. */
static void overview(void **state)
{
    struct table *tables[] = { make(100, 10, 1), make(100, 500, 2) };
    const struct table_diff_request request = { .report = "made", .is_overview = 1 };
    struct table_diff diff;
    struct error err;

    add(tables[1], 9, 9, 9, 9, "only after");
    assert_int_equal(table_diff_make(tables, 1, 1, &request, &diff, &err), 0);
    assert_int_equal(table_row_count(diff.table), 2);
    assert_string_equal(text_at(&diff, 0, 5), "a");
    assert_string_equal(text_at(&diff, 1, 5), "b");
    assert_int_equal(diff.unchanged, 0);
    table_diff_free(&diff);
    free_tables(tables, 2);
}

/* Where one side has no times, samples are compared. */
static void times_that_are_not_known(void **state)
{
    struct table *before = table_new(sampled, COUNT_OF(sampled)), *after = table_new(sampled, COUNT_OF(sampled));
    struct table_diff diff;

    add_function(before, 100, "work", "program", 1000);
    add_function(after, 300, "work", "program", -1);
    assert_int_equal(compare(before, after, NULL, &diff), 0);
    assert_string_equal(diff.column, "Self Samples");
    table_diff_free(&diff);
    table_delete(before);
    table_delete(after);
}

static void nothing_to_compare(void **state)
{
    struct table *none = NULL;
    struct table_diff diff;

    assert_int_equal(compare(none, none, NULL, &diff), ERR_NO_DATA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_runs_say_what_they_allow), cmocka_unit_test(five_runs),
        cmocka_unit_test(many_runs_and_one_astray),     cmocka_unit_test(rows_come_and_go),
        cmocka_unit_test(same_name_in_two_processes),   cmocka_unit_test(medians_of_runs),
        cmocka_unit_test(functions_of_two_builds),      cmocka_unit_test(times_that_are_not_known),
        cmocka_unit_test(programs_of_two_names),        cmocka_unit_test(overview),
        cmocka_unit_test(nothing_to_compare),           cmocka_unit_test(waits_for_another_rank),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
