/* openmp_region_sum and the rule openmp_imbalance on made rows, against figures worked out by hand. */
#include "analyze/registry.h"
#include "analyze/rules/rule.h"
#include "cmd/print/print.h"
#include "made_report.h"

enum { IMPLICIT = 2, EXPLICIT = 4, PLACE = 9, OTHER_PLACE = 11 };

static void place(struct writer *writer, int64_t id, const char *symbol, int64_t line)
{
    struct row_TACHO_OPENMP_CALLCHAINS row = { 0 };
    ROW_SET(&row, TACHO_OPENMP_CALLCHAINS, id, id);
    ROW_SET(&row, TACHO_OPENMP_CALLCHAINS, symbol, made_string(writer, symbol));
    ROW_SET(&row, TACHO_OPENMP_CALLCHAINS, module, made_string(writer, "solver"));
    ROW_SET(&row, TACHO_OPENMP_CALLCHAINS, stackDepth, 0);
    ROW_SET(&row, TACHO_OPENMP_CALLCHAINS, sourceFile, made_string(writer, "solver.c"));
    ROW_SET(&row, TACHO_OPENMP_CALLCHAINS, sourceLine, line);
    writer_append(writer, TABLE_TACHO_OPENMP_CALLCHAINS, &row);
}

static void region(struct writer *writer, int64_t start_ns, int64_t end_ns, int64_t number, int64_t chain)
{
    struct row_OPENMP_EVENT_KIND_PARALLEL row = { 0 };
    ROW_SET(&row, OPENMP_EVENT_KIND_PARALLEL, start, start_ns);
    ROW_SET(&row, OPENMP_EVENT_KIND_PARALLEL, end, end_ns);
    ROW_SET(&row, OPENMP_EVENT_KIND_PARALLEL, eventClass, 78);
    ROW_SET(&row, OPENMP_EVENT_KIND_PARALLEL, nameId, made_string(writer, "Parallel region"));
    ROW_SET(&row, OPENMP_EVENT_KIND_PARALLEL, globalTid, made_thread(1, 1));
    ROW_SET(&row, OPENMP_EVENT_KIND_PARALLEL, parallelId, number);
    if (chain)
        ROW_SET(&row, OPENMP_EVENT_KIND_PARALLEL, callchainId, chain);
    writer_append(writer, TABLE_OPENMP_EVENT_KIND_PARALLEL, &row);
}

static void task(struct writer *writer, int64_t start_ns, int64_t end_ns, int64_t tid, int64_t number, int64_t kind)
{
    struct row_OPENMP_EVENT_KIND_TASK row = { 0 };
    ROW_SET(&row, OPENMP_EVENT_KIND_TASK, start, start_ns);
    ROW_SET(&row, OPENMP_EVENT_KIND_TASK, end, end_ns);
    ROW_SET(&row, OPENMP_EVENT_KIND_TASK, eventClass, 78);
    ROW_SET(&row, OPENMP_EVENT_KIND_TASK, nameId, made_string(writer, "Implicit task"));
    ROW_SET(&row, OPENMP_EVENT_KIND_TASK, globalTid, made_thread(1, tid));
    ROW_SET(&row, OPENMP_EVENT_KIND_TASK, parallelId, number);
    ROW_SET(&row, OPENMP_EVENT_KIND_TASK, kind, kind);
    writer_append(writer, TABLE_OPENMP_EVENT_KIND_TASK, &row);
}

static void barrier(struct writer *writer, int64_t start_ns, int64_t end_ns, int64_t tid)
{
    struct row_OPENMP_EVENT_KIND_SYNC_REGION row = { 0 };
    ROW_SET(&row, OPENMP_EVENT_KIND_SYNC_REGION, start, start_ns);
    ROW_SET(&row, OPENMP_EVENT_KIND_SYNC_REGION, end, end_ns);
    ROW_SET(&row, OPENMP_EVENT_KIND_SYNC_REGION, eventClass, 78);
    ROW_SET(&row, OPENMP_EVENT_KIND_SYNC_REGION, nameId, made_string(writer, "Barrier"));
    ROW_SET(&row, OPENMP_EVENT_KIND_SYNC_REGION, globalTid, made_thread(1, tid));
    writer_append(writer, TABLE_OPENMP_EVENT_KIND_SYNC_REGION, &row);
}

static void expect_of(struct report *report, const struct analysis *analysis, const char *expected)
{
    struct analysis_request request = { 0 };
    struct table *table;
    struct error err;
    struct text out = { 0 };
    if (analysis_run(analysis, report, &request, &table, &err) != 0)
        fail_msg("%s", err.text);
    print_csv.table(&out, table, &(struct print_request){ .time = &time_unit_ns });
    assert_string_equal(text_string(&out), expected);
    text_free(&out);
    table_delete(table);
}

static void expect(struct report *report, const char *expected)
{
    expect_of(report, &analysis_openmp_region_sum, expected);
}

#define HEAD                                                                                                           \
    "Imbalance Time (ns),Max/Mean,Waiting (%),Total Time (ns),Instances,Avg (ns),Threads,Function,Place\n"

static void work_and_waits_of_a_team(void **state)
{
    struct writer *writer = start();
    place(writer, PLACE, "solve", 7);
    place(writer, OTHER_PLACE, "copy", 20);
    /* As LLVM's runtime reports it: parts last as long as the region, with a barrier at their end. The first thread
     * works 80 and waits 20; the second works 20, and in its barrier runs a task for 30. */
    region(writer, 0, 100, 1, PLACE);
    task(writer, 0, 100, 1, 1, IMPLICIT);
    barrier(writer, 80, 100, 1);
    task(writer, 0, 100, 2, 1, IMPLICIT);
    barrier(writer, 20, 100, 2);
    task(writer, 40, 70, 2, 1, EXPLICIT);
    /* As with libgomp: parts end with their work. Two instances of one place, the threads take turns. */
    region(writer, 200, 300, 2, OTHER_PLACE);
    task(writer, 200, 300, 1, 2, IMPLICIT);
    task(writer, 200, 240, 2, 2, IMPLICIT);
    region(writer, 300, 400, 3, OTHER_PLACE);
    task(writer, 300, 320, 1, 3, IMPLICIT);
    task(writer, 300, 400, 2, 3, IMPLICIT);
    barrier(writer, 500, 600, 1); /* in no region */
    struct report *report = finish(writer);
    /* solve: work 80 and 50, mean 65; waits 20 + 50 of 200. copy: 100 + 100 against 70 + 60; waits 60 + 80 of 400. */
    expect(report, HEAD "70,1.54,35.0,200,2,100.0,2,copy,solver.c:20\n15,1.23,35.0,100,1,100.0,2,solve,solver.c:7\n");
    report_close(report);
}

static void regions_without_threads_or_place(void **state)
{
    struct writer *writer = start();
    region(writer, 0, 10, 1, 0);
    region(writer, 10, 10, 2, 4711);
    task(writer, 0, 5, 1, 99, IMPLICIT); /* of a region that is not there */
    struct report *report = finish(writer);
    expect(report, HEAD "0,,,10,2,5.0,0,[Unknown],\n");
    report_close(report);
}

/* ---- The rule: times in ms ------------------------------------------------------------------------------------ */

#define MS(time) ((int64_t)(time)*INT64_C(1000000))
#define RULE_HEAD                                                                                                      \
    "Impact (ns),Total Time (ns),Instances,Threads,Max/Mean,Busiest Thread,Times Busiest,Function,Place\n"

static struct writer *capture(int64_t duration)
{
    struct writer *writer = start();
    struct row_ANALYSIS_DETAILS row = { 0 };
    ROW_SET(&row, ANALYSIS_DETAILS, globalVid, 1);
    ROW_SET(&row, ANALYSIS_DETAILS, duration, MS(duration));
    ROW_SET(&row, ANALYSIS_DETAILS, startTime, 0);
    ROW_SET(&row, ANALYSIS_DETAILS, stopTime, MS(duration));
    writer_append(writer, TABLE_ANALYSIS_DETAILS, &row);
    place(writer, PLACE, "solve", 7);
    return writer;
}

/* An instance from `start` on: each thread of the team works so long. */
static void instance(struct writer *writer, int64_t pid, int64_t start, int64_t number, int64_t first, int64_t second)
{
    const int64_t work[] = { first, second };
    struct row_OPENMP_EVENT_KIND_PARALLEL row = { 0 };
    ROW_SET(&row, OPENMP_EVENT_KIND_PARALLEL, start, MS(start));
    ROW_SET(&row, OPENMP_EVENT_KIND_PARALLEL, end, MS(start + (first > second ? first : second)));
    ROW_SET(&row, OPENMP_EVENT_KIND_PARALLEL, globalTid, made_thread(pid, 1));
    ROW_SET(&row, OPENMP_EVENT_KIND_PARALLEL, parallelId, number);
    ROW_SET(&row, OPENMP_EVENT_KIND_PARALLEL, callchainId, PLACE);
    writer_append(writer, TABLE_OPENMP_EVENT_KIND_PARALLEL, &row);
    for (int64_t i = 0; i < 2; i++) {
        struct row_OPENMP_EVENT_KIND_TASK part = { 0 };
        ROW_SET(&part, OPENMP_EVENT_KIND_TASK, start, MS(start));
        ROW_SET(&part, OPENMP_EVENT_KIND_TASK, end, MS(start + work[i]));
        ROW_SET(&part, OPENMP_EVENT_KIND_TASK, globalTid, made_thread(pid, 1 + i));
        ROW_SET(&part, OPENMP_EVENT_KIND_TASK, parallelId, number);
        ROW_SET(&part, OPENMP_EVENT_KIND_TASK, kind, IMPLICIT);
        ROW_SET(&part, OPENMP_EVENT_KIND_TASK, threadIndex, i);
        writer_append(writer, TABLE_OPENMP_EVENT_KIND_TASK, &part);
    }
}

/* Off its CPU, though it wants to run. */
static void preempted(struct writer *writer, int64_t tid, int64_t from, int64_t to)
{
    enum { PREEMPTED = 6 };
    for (int in = 0; in < 2; in++) {
        struct row_SCHED_EVENTS row = { 0 };
        ROW_SET(&row, SCHED_EVENTS, start, MS(in ? to : from));
        ROW_SET(&row, SCHED_EVENTS, isSchedIn, in);
        ROW_SET(&row, SCHED_EVENTS, globalTid, made_thread(1, tid));
        ROW_SET(&row, SCHED_EVENTS, threadState, PREEMPTED);
        writer_append(writer, TABLE_SCHED_EVENTS, &row);
    }
}

static void the_busiest_thread_is_waited_for(void **state)
{
    struct writer *writer = capture(200);
    instance(writer, 1, 0, 1, 10, 30);
    instance(writer, 1, 50, 2, 20, 30);
    instance(writer, 1, 100, 3, 40, 10);
    struct report *report = finish(writer);
    /* 30 - 20, 30 - 25, 40 - 25; most 100, mean 70. */
    expect_of(report, &rule_openmp_imbalance, RULE_HEAD "30000000,100000000,3,2,1.43,1,2,solve,solver.c:7\n");
    report_close(report);
}

static void instances_at_the_same_time_cost_it_once(void **state)
{
    struct writer *writer = capture(200);
    instance(writer, 1, 0, 1, 10, 30);
    instance(writer, 2, 5, 1, 10, 30);
    struct report *report = finish(writer);
    /* 20 to 30 and 25 to 35. */
    expect_of(report, &rule_openmp_imbalance, RULE_HEAD "15000000,60000000,2,2,1.50,1,2,solve,solver.c:7\n");
    report_close(report);
}

static void a_preempted_thread_is_not_busy(void **state)
{
    struct writer *writer = capture(200);
    instance(writer, 1, 0, 1, 10, 30);
    preempted(writer, 2, 5, 25);
    struct report *report = finish(writer);
    expect_of(report, &rule_openmp_imbalance, RULE_HEAD);
    report_close(report);
}

static void little_imbalance_is_no_finding(void **state)
{
    struct writer *writer = capture(201); /* 10 ms are 4.98 percent */
    instance(writer, 1, 0, 1, 10, 30);
    struct report *report = finish(writer);
    expect_of(report, &rule_openmp_imbalance, RULE_HEAD);
    report_close(report);
}

static void the_finding_names_region_thread_and_cost(void **state)
{
    struct analysis_request request = { 0 };
    struct table *table;
    struct error err;
    struct text out = { 0 };
    struct writer *writer = capture(200);
    instance(writer, 1, 0, 1, 10, 30);
    struct report *report = finish(writer);
    assert_int_equal(analysis_run(&rule_openmp_imbalance, report, &request, &table, &err), 0);
    rule_finding(&out, &rule_openmp_imbalance, table, 0);
    assert_string_equal(
        text_string(&out),
        "OpenMP region in solve (solver.c:7): its 2 threads wait for the busiest one, which works 1.50 "
        "times the mean, thread 1 in 1 of 1 instances; with equal work it takes 10.0 ms less of 30.0 ms");
    assert_non_null(strstr(rule_advice(&rule_openmp_imbalance, table, 0), "schedule(dynamic)"));
    text_free(&out);
    table_delete(table);
    report_close(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_and_waits_of_a_team),
        cmocka_unit_test(regions_without_threads_or_place),
        cmocka_unit_test(the_busiest_thread_is_waited_for),
        cmocka_unit_test(instances_at_the_same_time_cost_it_once),
        cmocka_unit_test(a_preempted_thread_is_not_busy),
        cmocka_unit_test(little_imbalance_is_no_finding),
        cmocka_unit_test(the_finding_names_region_thread_and_cost),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
