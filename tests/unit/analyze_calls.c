/* CUDA calls by correlation id: each id yields its calls in the order of their rows, however ids are spread. */
#include "made_report.h"

#include "analyze/engine/event_columns.h"
#include "analyze/model/calls.h"

enum { NONE = -1 };

struct made {
    int64_t process, id;
};

static void add_call(struct writer *writer, int64_t start, struct made made)
{
    struct row_CUPTI_ACTIVITY_KIND_RUNTIME row = { 0 };

    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, start, start);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, end, start + 5);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, globalTid, made_thread(made.process, made.process));
    if (made.id != NONE)
        ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, correlationId, made.id);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, nameId, made_string(writer, "cudaLaunchKernel"));
    writer_append(writer, TABLE_CUPTI_ACTIVITY_KIND_RUNTIME, &row);
}

/* Finds the rows of an id, and expects those that a walk through all rows finds. */
static void expect_rows(const struct calls *calls, const struct made *made, size_t count, int64_t process, int64_t id)
{
    uint32_t found = calls_find(calls, global_process(made_thread(process, 0)), id);

    for (size_t row = 0; row < count; row++)
        if (made[row].process == process && made[row].id == id && id != NONE) {
            assert_int_equal(found, row);
            found = calls_next(calls, found);
        }
    assert_int_equal(found, NO_CALL);
}

static void expect_all(const struct made *made, size_t count)
{
    struct writer *writer = start();
    struct calls calls;
    struct error err;

    for (size_t row = 0; row < count; row++)
        add_call(writer, (int64_t)row * 10, made[row]);
    struct report *report = finish(writer);
    if (calls_read(&calls, report, &err) != 0)
        fail_msg("%s", err.text);
    for (int64_t process = 1; process <= 3; process++) {
        for (size_t row = 0; row < count; row++)
            for (int64_t near = -2; near <= 2; near++)
                expect_rows(&calls, made, count, process, made[row].id + near);
        expect_rows(&calls, made, count, process, INT64_MIN);
        expect_rows(&calls, made, count, process, INT64_MAX);
    }
    calls_free(&calls);
    report_close(report);
}

static void each_id_yields_its_calls(void **state)
{
    expect_all((struct made[]){ { 1, 5 }, { 1, 6 }, { 1, 7 }, { 1, 9 } }, 4);
    expect_all((struct made[]){ { 1, 9 }, { 1, 6 }, { 1, 9 }, { 1, 6 }, { 1, 9 } }, 5); /* several calls of an id */
    expect_all((struct made[]){ { 1, 5 }, { 1, NONE }, { 1, 6 }, { 1, NONE } }, 4);
    expect_all((struct made[]){ { 1, NONE }, { 1, NONE } }, 2);
    expect_all((struct made[]){ { 1, 5 }, { 1, 1000000 }, { 1, 5 } }, 3);               /* with a large gap */
    expect_all((struct made[]){ { 1, 4 }, { 1, INT64_MAX - 2 }, { 1, INT64_MIN + 2 } }, 3);
    expect_all((struct made[]){ { 1, 5 }, { 2, 5 }, { 1, 6 }, { 2, 6 }, { 2, 5 } }, 5); /* of two processes */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_id_yields_its_calls),
    };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
