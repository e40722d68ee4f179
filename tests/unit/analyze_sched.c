/* sched_sum and cpu_util: threads whose switches are few enough to add up by hand. */
#include <stdio.h>
#include <string.h>

#include "analyze/registry.h"
#include "made_report.h"

enum { MAIN = 1, WORKER = 2, RUNNING = 1, TERMINATED = 5, PREEMPTED = 6, WAITING = 7 };
#define TID(number) (INT64_C(1) << 48 | INT64_C(100) << 24 | (number))

static void add_switch(struct writer *writer, int64_t start, int64_t thread, int64_t cpu, int is_in, int64_t why)
{
    struct row_SCHED_EVENTS row = { 0 };
    ROW_SET(&row, SCHED_EVENTS, start, start);
    ROW_SET(&row, SCHED_EVENTS, cpu, cpu);
    ROW_SET(&row, SCHED_EVENTS, isSchedIn, is_in);
    ROW_SET(&row, SCHED_EVENTS, globalTid, TID(thread));
    ROW_SET(&row, SCHED_EVENTS, threadState, why);
    writer_append(writer, TABLE_SCHED_EVENTS, &row);
}

static void add_life(struct writer *writer, int64_t thread, int64_t start, int64_t end)
{
    struct row_TACHO_THREAD row = { 0 };
    ROW_SET(&row, TACHO_THREAD, start, start);
    ROW_SET(&row, TACHO_THREAD, end, end);
    ROW_SET(&row, TACHO_THREAD, globalTid, TID(thread));
    writer_append(writer, TABLE_TACHO_THREAD, &row);
}

static void add_sums(struct writer *writer, int64_t thread, int64_t run, int64_t queue, int64_t slices)
{
    struct row_TACHO_THREAD_SCHED row = { 0 };
    ROW_SET(&row, TACHO_THREAD_SCHED, globalTid, TID(thread));
    ROW_SET(&row, TACHO_THREAD_SCHED, runNs, run);
    ROW_SET(&row, TACHO_THREAD_SCHED, queueNs, queue);
    ROW_SET(&row, TACHO_THREAD_SCHED, slices, slices);
    writer_append(writer, TABLE_TACHO_THREAD_SCHED, &row);
}

static void add_range(struct writer *writer, int64_t start, int64_t end)
{
    struct row_TACHO_RANGE row = { 0 };
    ROW_SET(&row, TACHO_RANGE, start, start);
    ROW_SET(&row, TACHO_RANGE, end, end);
    ROW_SET(&row, TACHO_RANGE, cause, writer_string(writer, "start", 5));
    writer_append(writer, TABLE_TACHO_RANGE, &row);
}

static void add_load(struct writer *writer, int64_t at, int64_t cpu, int64_t busy, int64_t idle)
{
    struct row_TACHO_CPU_TIME row = { 0 };
    ROW_SET(&row, TACHO_CPU_TIME, timestamp, at);
    ROW_SET(&row, TACHO_CPU_TIME, cpu, cpu);
    ROW_SET(&row, TACHO_CPU_TIME, busyNs, busy);
    ROW_SET(&row, TACHO_CPU_TIME, idleNs, idle);
    writer_append(writer, TABLE_TACHO_CPU_TIME, &row);
}

static struct table *run(struct report *report, const char *name, const struct report_span *span)
{
    struct analysis_request request = { .span = span };
    struct table *table = NULL;
    struct error err;

    if (analysis_run(analysis_find(name), report, &request, &table, &err) != 0)
        fail_msg("%s: %s", name, err.text);
    return table;
}

enum { SHARE, WALL, RUNS, RUNNABLE, BLOCKED, SWITCHES, PREEMPTIONS, MIGRATIONS, PID, THREAD };

/* wall, running, runnable, blocked, switches, preempted, migrations; -1: the cell is empty. */
static void expect_thread(const struct table *table, int64_t thread, const int64_t figures[7])
{
    for (size_t i = 0; i < table_row_count(table); i++) {
        const struct table_cell *row = table_row(table, i);
        if (row[THREAD].integer != thread)
            continue;
        for (int column = WALL; column <= MIGRATIONS; column++)
            assert_int_equal(row[column].kind == CELL_NONE ? -1 : row[column].integer, figures[column - WALL]);
        return;
    }
    fail_msg("thread %d is not there", (int)thread);
}

/* The worker: on CPU 0 from 100 to 300, preempted until 350, on CPU 1 until 600, waits until 900, runs to its end at
 * 1000. Of the 300 that it waited, the kernel says, it was 80 in a run queue, with the 50 of the preemption. The rings
 * of two CPUs come one after the other. */
static void write_worker(struct writer *writer)
{
    add_switch(writer, 100, WORKER, 0, 1, RUNNING);
    add_switch(writer, 300, WORKER, 0, 0, PREEMPTED);
    add_switch(writer, 900, WORKER, 0, 1, RUNNING);
    add_switch(writer, 1000, WORKER, 0, 0, TERMINATED);
    add_switch(writer, 350, WORKER, 1, 1, RUNNING);
    add_switch(writer, 600, WORKER, 1, 0, WAITING);
    add_life(writer, WORKER, 105, 1005);
}

static void switches_add_up(void **state)
{
    struct writer *writer = start();
    write_worker(writer);
    add_sums(writer, WORKER, 550, 80, 3);
    struct report *report = finish(writer);
    struct table *table = run(report, "sched_sum", NULL);
    assert_int_equal(table_row_count(table), 1);
    expect_thread(table, WORKER, (int64_t[]){ 900, 550, 80, 270, 2, 1, 2 });
    table_delete(table);

    /* Of a part of its life the sums say nothing: what was preempted is runnable. */
    struct report_span span = { 200, 700 };
    table = run(report, "sched_sum", &span);
    expect_thread(table, WORKER, (int64_t[]){ 500, 350, 50, 100, 2, 1, 1 });
    table_delete(table);
    report_close(report);
}

/* A thread that was on its CPU when recording began has no switch onto it; nothing counts that
 * lies outside of the ranges. */
static void only_ranges_count(void **state)
{
    struct writer *writer = start();
    add_range(writer, 1000, 1100);
    add_range(writer, 2000, 2100);
    add_life(writer, MAIN, 0, 5000);
    add_switch(writer, 1040, MAIN, 3, 0, WAITING);
    add_switch(writer, 1090, MAIN, 3, 1, RUNNING);
    add_switch(writer, 2030, MAIN, 3, 0, WAITING);
    struct report *report = finish(writer);
    struct table *table = run(report, "sched_sum", NULL);
    expect_thread(table, MAIN, (int64_t[]){ 200, 40 + 10 + 30, 0, 50 + 70, 2, 0, 0 });
    table_delete(table);
    report_close(report);
}

/* As those of the ranks of a job do. */
static void ranges_that_overlap_count_once(void **state)
{
    struct writer *writer = start();
    add_range(writer, 1050, 1200);
    add_range(writer, 1000, 1100);
    add_range(writer, 1060, 1090);
    add_life(writer, MAIN, 0, 5000);
    add_switch(writer, 1040, MAIN, 3, 0, WAITING);
    add_switch(writer, 1090, MAIN, 3, 1, RUNNING);
    struct report *report = finish(writer);
    struct table *table = run(report, "sched_sum", NULL);
    expect_thread(table, MAIN, (int64_t[]){ 200, 40 + 110, 0, 50, 1, 0, 0 });
    table_delete(table);
    report_close(report);
}

static void sums_alone(void **state)
{
    struct writer *writer = start();
    add_life(writer, MAIN, 0, 1000);
    add_life(writer, WORKER, 100, 300);
    add_sums(writer, MAIN, 400, 100, 7);
    add_sums(writer, WORKER, 500, 100, 9); /* more than it can be: a clock's last digit */
    struct report *report = finish(writer);
    struct table *table = run(report, "sched_sum", NULL);
    expect_thread(table, MAIN, (int64_t[]){ 1000, 400, 100, 500, 7, -1, -1 });
    expect_thread(table, WORKER, (int64_t[]){ 200, 200, 0, 0, 9, -1, -1 });
    table_delete(table);
    report_close(report);
}

static void cpus(void **state)
{
    enum { CPU, SHARE_OF_PROGRAM, OF_PROGRAM, ONTO, BUSY };
    struct writer *writer = start();
    write_worker(writer);
    add_load(writer, 0, 0, 5000, 1000);
    add_load(writer, 0, 1, 7000, 1000);
    add_load(writer, 1000, 0, 5600, 1400);
    add_load(writer, 1000, 1, 7250, 1750);
    struct report *report = finish(writer);
    struct table *table = run(report, "cpu_util", NULL);
    assert_int_equal(table_row_count(table), 2);
    static const struct {
        int64_t running, onto;
        double share, busy;
    } expected[] = { { 300, 2, 100.0 * 300 / 905, 60 }, { 250, 1, 100.0 * 250 / 905, 25 } };
    for (int i = 0; i < 2; i++) {
        const struct table_cell *row = table_row(table, (size_t)i);
        assert_int_equal(row[CPU].integer, i);
        assert_int_equal(row[OF_PROGRAM].integer, expected[i].running);
        assert_int_equal(row[ONTO].integer, expected[i].onto);
        assert_true(row[SHARE_OF_PROGRAM].real - expected[i].share < 0.6 &&
                    expected[i].share - row[SHARE_OF_PROGRAM].real < 0.6);
        assert_true(row[BUSY].real > expected[i].busy - 0.01 && row[BUSY].real < expected[i].busy + 0.01);
    }
    table_delete(table);
    report_close(report);
}

/* Times of a file can be anything. */
static void hostile_times(void **state)
{
    struct writer *writer = start();
    add_life(writer, WORKER, INT64_MAX, INT64_MIN);
    add_switch(writer, INT64_MIN, WORKER, INT64_MAX, 1, RUNNING);
    add_switch(writer, INT64_MAX, WORKER, INT64_MIN, 0, WAITING);
    add_switch(writer, 0, WORKER, -1, 0, 99);
    add_sums(writer, WORKER, INT64_MIN, INT64_MIN, -1);
    add_load(writer, INT64_MIN, -7, INT64_MIN, INT64_MAX);
    add_load(writer, INT64_MAX, -7, INT64_MAX, INT64_MIN);
    add_range(writer, INT64_MAX, INT64_MIN);
    struct report *report = finish(writer);
    table_delete(run(report, "sched_sum", NULL));
    table_delete(run(report, "cpu_util", NULL));
    report_close(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(switches_add_up),
        cmocka_unit_test(only_ranges_count),
        cmocka_unit_test(ranges_that_overlap_count_once),
        cmocka_unit_test(sums_alone),
        cmocka_unit_test(cpus),
        cmocka_unit_test(hostile_times),
    };
    return cmocka_run_group_tests_name("analyze_sched", tests, make_path, remove_path);
}
