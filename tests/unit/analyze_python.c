/* The reports on Python samples, over samples whose figures are known by counting. */
#include "made_report.h"

#include "analyze/engine/table.h"
#include "analyze/registry.h"

enum { RUNNING = 1, WAITING = 7 };

static void sample(struct writer *writer, int64_t time, int64_t tid, int state, int gil, int64_t chain)
{
    struct row_TACHO_PYTHON_SAMPLE row = { 0 };

    ROW_SET(&row, TACHO_PYTHON_SAMPLE, start, time);
    ROW_SET(&row, TACHO_PYTHON_SAMPLE, globalTid, made_thread(1, tid));
    ROW_SET(&row, TACHO_PYTHON_SAMPLE, threadState, state);
    ROW_SET(&row, TACHO_PYTHON_SAMPLE, gil, gil);
    ROW_SET(&row, TACHO_PYTHON_SAMPLE, callchainId, chain);
    writer_append(writer, TABLE_TACHO_PYTHON_SAMPLE, &row);
}

static void frame_of(struct writer *writer, int64_t chain, int64_t depth, const char *function, const char *file,
                     int64_t line)
{
    struct row_TACHO_PYTHON_CALLCHAINS row = { 0 };

    ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, id, chain);
    ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, stackDepth, depth);
    ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, symbol, made_string(writer, function));
    ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, module, made_string(writer, file));
    ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, line, line);
    writer_append(writer, TABLE_TACHO_PYTHON_CALLCHAINS, &row);
}

static void frame(struct writer *writer, int64_t chain, int64_t depth, const char *function, int64_t line)
{
    frame_of(writer, chain, depth, function, "/x.py", line);
}

/* Thread 7 holds the GIL three times of four and waits once; thread 8 waits twice, runs
 * without it once, sleeps once. */
static struct report *make(void)
{
    struct writer *writer = start();

    frame(writer, 1, 0, "inner", 5);
    frame(writer, 1, 1, "outer", 9);
    frame(writer, 2, 0, "outer", 10);
    for (int64_t i = 0; i < 4; i++) {
        sample(writer, i, 7, i < 3 ? RUNNING : WAITING, i < 3 ? 1 : 2, i < 2 ? 1 : 2);
        sample(writer, i, 8, i == 2 ? RUNNING : WAITING, i < 2 ? 2 : 0, 2);
    }
    return finish(writer);
}

static struct table *run(struct report *report, const char *name, const struct analysis_request *request)
{
    struct table *table = NULL;
    struct error err;

    if (analysis_run(analysis_find(name), report, request, &table, &err) != 0)
        fail_msg("%s: %s", name, err.text);
    return table;
}

static void the_gil_is_counted_by_thread(void **state)
{
    static const struct {
        double held, waited, without;
        int64_t tid;
    } expected[] = { { 75, 25, 0, 7 }, { 0, 50, 25, 8 } };
    struct report *report = make();
    struct table *table = run(report, "python_gil_sum", &(struct analysis_request){ 0 });

    assert_int_equal(table_row_count(table), 2);
    for (size_t i = 0; i < 2; i++) {
        const struct table_cell *row = table_row(table, i);
        assert_true(row[0].real == expected[i].held && row[1].real == expected[i].waited &&
                    row[2].real == expected[i].without);
        assert_int_equal(row[5].integer, 4);
        assert_int_equal(row[7].integer, expected[i].tid);
    }
    table_delete(table);
    struct report_span span = { 0, 1 };
    table = run(report, "python_gil_sum", &(struct analysis_request){ .span = &span });
    assert_int_equal(table_row(table, 0)[5].integer, 2);
    table_delete(table);
    report_close(report);
}

/* Those that run: inner twice, outer once in thread 7 and once in thread 8. */
static void samples_of_threads_that_run_count(void **state)
{
    struct report *report = make();
    struct table *table = run(report, "python_sample_sum", &(struct analysis_request){ 0 });

    assert_int_equal(table_row_count(table), 2);
    for (size_t i = 0; i < 2; i++) {
        const struct table_cell *row = table_row(table, i);
        int is_inner = row[4].text.length == 5 && memcmp(row[4].text.bytes, "inner", 5) == 0;
        assert_int_equal(row[2].integer, 2);
        assert_int_equal(row[3].integer, is_inner ? 2 : 4);
    }
    table_delete(table);
    struct analysis_option lines = { "lines", NULL };
    table = run(report, "python_topdown", &(struct analysis_request){ .options = &lines, .option_count = 1 });
    assert_int_equal(table_row_count(table), 3); /* outer at two lines, inner below one of them */
    table_delete(table);
    report_close(report);
}

/* main imports a module, whose code imports another one: two functions of importlib each time. The second sample is in
 * the inner of the two. */
static void imports_are_folded(void **state)
{
    static const struct {
        const char *name;
        int64_t samples, self;
    } expected[] = { { "main", 2, 0 }, { "  find", 2, 1 }, { "    <module>", 1, 0 }, { "      find", 1, 1 } };
    static const char importlib[] = "<frozen importlib._bootstrap>";
    struct writer *writer = start();

    for (int64_t chain = 1; chain <= 2; chain++) {
        int64_t depth = 0;
        for (int imports = chain == 1 ? 2 : 1; imports > 0; imports--) {
            frame_of(writer, chain, depth++, "load", importlib, 2);
            frame_of(writer, chain, depth++, "find", importlib, 1);
            frame(writer, chain, depth++, imports == 2 ? "<module>" : "main", 1);
        }
        sample(writer, chain, 7, RUNNING, 1, chain);
    }
    struct report *report = finish(writer);
    const struct analysis_option fold = { "fold", "true" };
    struct table *table = run(report, "python_topdown", &(struct analysis_request){ 0 });
    assert_int_equal(table_row_count(table), 6);
    table_delete(table);
    table = run(report, "python_topdown", &(struct analysis_request){ .options = &fold, .option_count = 1 });
    assert_int_equal(table_row_count(table), 4);
    for (size_t i = 0; i < 4; i++) {
        const struct table_cell *row = table_row(table, i);
        assert_string_equal(row[5].text.bytes, expected[i].name);
        assert_int_equal(row[1].integer, expected[i].samples);
        assert_int_equal(row[3].integer, expected[i].self);
    }
    table_delete(table);
    report_close(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_gil_is_counted_by_thread),
                                        cmocka_unit_test(samples_of_threads_that_run_count),
                                        cmocka_unit_test(imports_are_folded) };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
