/* Short memory: every report and rule runs on a report with rows in all tables, once for each of its allocations, and
 * that allocation fails. The result is a table, or a code with a sentence and no table. Under ASan this finds what an
 * error path leaks or frees twice. */
#include "analyze/registry.h"
#include "failing_memory.h"
#include "hostile_report.h"
#include "made_report.h"
#include "rounds.h"

enum { SEEDS = 3, MOST_ROWS = 12 };

/* Runs with the allocation of this number failing; whether there were so many. */
static int run_short(const struct analysis *analysis, struct report *report, int64_t number)
{
    struct table *table = NULL;
    struct error err = { 0 };

    failing_memory_begin((long)number);
    int code = analysis_run(analysis, report, &(struct analysis_request){ 0 }, &table, &err);
    int failed = failing_memory_end();
    if ((code == 0) != (table != NULL) || (code != 0 && (err.code != code || !*err.text)))
        fail_msg("%s, allocation %lld: code %d, table %p, error %d '%s'", analysis->name, (long long)number, code,
                 (void *)table, err.code, err.text);
    table_delete(table);
    return failed;
}

/* From the allocation of this number on. */
static void run_all_short(struct report *report, int64_t first)
{
    for (int list = 0; list < 2; list++)
        for (const struct analysis *const *at = list ? rules : analyses; *at; at++)
            for (int64_t number = first; run_short(*at, report, number); number += rounds_step(ROUNDS_ENDLESS))
                ;
    report_close(report);
}

static void a_failed_allocation_is_an_error(void **state)
{
    for (uint8_t seed = 0; seed < SEEDS; seed++) {
        struct hostile hostile = hostile_of((const uint8_t[]){ 0, 0, seed }, 3); /* 0, 0: rows in all tables */
        struct writer *writer = start();
        hostile_fill(&hostile, writer, MOST_ROWS);
        run_all_short(finish(writer), seed);
    }
}

static void call(struct writer *writer, int64_t begin, int64_t end, int64_t id, const char *name)
{
    struct row_CUPTI_ACTIVITY_KIND_RUNTIME row = { 0 };

    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, start, begin);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, end, end);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, globalTid, made_thread(1, 1));
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, correlationId, id);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, nameId, made_string(writer, name));
    writer_append(writer, TABLE_CUPTI_ACTIVITY_KIND_RUNTIME, &row);
}

/* Names are looked up again after they could not be kept: random rows seldom share one. */
static void names_that_repeat_are_kept_or_an_error(void **state)
{
    enum { PERIOD_NS = 1000000, KERNELS = 4 };
    struct writer *writer = start();

    for (int64_t i = 0; i < KERNELS; i++) {
        int64_t begin = i * PERIOD_NS;
        call(writer, begin, begin + 1000, i, "cudaLaunchKernel");
        call(writer, begin + 1000, begin + PERIOD_NS - 1000, KERNELS + i, "cudaDeviceSynchronize");
        made_kernel(writer, (struct made_kernel){ begin + 2000, begin + 3000, 1, i, 0, 7, .name = "gemm" });
    }
    run_all_short(finish(writer), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_failed_allocation_is_an_error),
                                        cmocka_unit_test(names_that_repeat_are_kept_or_an_error) };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
