/* The first rows of a trace: the same cells as those of the whole trace, whatever the order of the rows in the file,
 * with the same number of rows in total. */
#include "analyze/registry.h"
#include "made_report.h"

enum { KERNELS = 50000, COPIES = 3000, CALLS = 40000, TIMES = 5000, STREAMS = 3, PROCESSES = 2 };

static uint64_t seed = 88172645463325252;

static int64_t any(int64_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (int64_t)(seed % (uint64_t)below);
}

static struct report *report;

/* In no order, in many chunks, and with many that begin together. */
static int make(void **state)
{
    if (make_path(state) != 0)
        return -1;
    struct writer *writer = start();
    for (int64_t i = 0; i < KERNELS; i++) {
        int64_t begin = any(TIMES) * 100;
        made_kernel(writer, (struct made_kernel){ begin, begin + any(500), 1 + any(PROCESSES), i % 5 ? i : NO_ID, 0,
                                                  any(STREAMS), i % 2 ? "odd" : "even", NULL, NULL });
    }
    for (int64_t i = 0; i < COPIES; i++) {
        int64_t begin = any(TIMES) * 100;
        made_copy(writer, (struct made_memory){ begin, begin + any(500), KERNELS + i, any(1 << 20), 1, 1, 2 });
    }
    for (int64_t i = 0; i < CALLS; i++) {
        struct row_CUPTI_ACTIVITY_KIND_RUNTIME row = { 0 };
        int64_t begin = any(TIMES) * 100;
        ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, start, begin);
        ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, end, begin + any(500));
        if (i % 7)
            ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, globalTid, made_thread(1 + any(PROCESSES), any(4)));
        ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, correlationId, i);
        ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, nameId, made_string(writer, i % 2 ? "cudaLaunchKernel" : "cuda"));
        writer_append(writer, TABLE_CUPTI_ACTIVITY_KIND_RUNTIME, &row);
    }
    report = finish(writer);
    return 0;
}

static int drop(void **state)
{
    report_close(report);
    return remove_path(state);
}

static struct table *run(const char *name, struct analysis_request request)
{
    struct table *table = NULL;
    struct error err;

    if (analysis_run(analysis_find(name), report, &request, &table, &err) != 0)
        fail_msg("%s: %s", name, err.text);
    return table;
}

static void expect_equal(const struct table_cell *a, const struct table_cell *b)
{
    assert_int_equal(a->kind, b->kind);
    if (a->kind == CELL_INT)
        assert_int_equal(a->integer, b->integer);
    else if (a->kind == CELL_REAL)
        assert_true(a->real == b->real);
    else if (a->kind == CELL_TEXT) {
        assert_int_equal(a->text.length, b->text.length);
        assert_memory_equal(a->text.bytes, b->text.bytes, a->text.length);
    }
}

static void compare(const char *name, struct analysis_request request)
{
    static const size_t limits[] = { 1, 7, 1000, 30000, 1000000 };
    struct table *all = run(name, request);
    size_t total = table_row_count(all);

    assert_true(total > 0);
    assert_int_equal(table_total(all), total);
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        request.first_rows = limits[i];
        struct table *some = run(name, request);
        size_t rows = table_row_count(some);
        assert_int_equal(rows, limits[i] < total ? limits[i] : total);
        assert_int_equal(table_total(some), total);
        for (size_t row = 0; row < rows; row++)
            for (size_t c = 0; c < table_column_count(all); c++)
                expect_equal(&table_row(some, row)[c], &table_row(all, row)[c]);
        table_delete(some);
    }
    table_delete(all);
}

static void first_rows_are_those_of_all(void **state)
{
    static const char *const names[] = { "cuda_gpu_trace", "cuda_api_trace" };
    static const struct report_span span = { 200000, 300000 };
    static const struct analysis_filter filters[] = {
        { .only = ONLY_PID, .pid = 2 },
        { .only = ONLY_PID | ONLY_STREAM, .pid = 1, .stream = 2 },
        { .only = ONLY_TID, .tid = 3 },
    };

    for (size_t n = 0; n < COUNT_OF(names); n++) {
        compare(names[n], (struct analysis_request){ 0 });
        compare(names[n], (struct analysis_request){ .span = &span });
        for (size_t i = 0; i < COUNT_OF(filters); i++)
            compare(names[n], (struct analysis_request){ .span = i ? &span : NULL, .filter = &filters[i] });
    }
}

/* The option counts all rows, and the request limits those that come. */
static void the_option_rows_comes_first(void **state)
{
    const struct analysis_option rows = { "rows", "40" };
    struct table *some = run("cuda_gpu_trace",
                             (struct analysis_request){ .options = &rows, .option_count = 1, .first_rows = 10 });

    assert_int_equal(table_row_count(some), 10);
    assert_int_equal(table_total(some), 40);
    table_delete(some);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_rows_are_those_of_all),
        cmocka_unit_test(the_option_rows_comes_first),
    };

    return cmocka_run_group_tests(tests, make, drop);
}
