/* Records of OpenMP, made by hand, become the right rows: begins and ends are paired in each thread, in any order that
 * programs and interrupted captures make. Nonsense becomes no row, is counted, and takes no memory without end. */
#include <stdio.h>

#include "abi/openmp/ompt.h"
#include "analyze/engine/event_columns.h"
#include "collect/core/collector.h"
#include "collect/process/process.h"
#include "collect/sources/openmp/openmp_pairs.h"
#include "made_report.h"

#define GLOBAL_PID ((int64_t)1 << 48 | (int64_t)77 << 24)

struct capture {
    struct collector collector;
    struct openmp_names names;
    struct process process;
    struct process_counts counts[WIRE_SOURCE_COUNT];
    struct process_reader reader;
    struct collect_origin origin;
};

/* Report time is ticks - 1000. */
static void begin(struct capture *capture)
{
    struct clock_pair first = { 0 }, second = { .ticks = 1000, .monotonic_ns = 1000 };
    memset(capture, 0, sizeof *capture);
    capture->collector.writer = start();
    assert_int_equal(clock_map_init(&capture->collector.clock, WIRE_CLOCK_MONOTONIC, &first, &second), 0);
    capture->collector.state[COLLECT_SOURCE_OPENMP] = &capture->names;
    capture->process.collector = &capture->collector;
    capture->process.global_pid = GLOBAL_PID;
    capture->process.counts = capture->counts;
    capture->reader.tid = 5;
    capture->origin = (struct collect_origin){ &capture->collector, &capture->process, &capture->reader };
}

static struct report *end(struct capture *capture)
{
    openmp_cut(&capture->origin, 9000);
    openmp_forget_thread(&capture->reader);
    openmp_forget_process(&capture->process);
    assert_null(capture->process.state[COLLECT_SOURCE_OPENMP]);
    clock_map_free(&capture->collector.clock);
    return finish(capture->collector.writer);
}

struct made {
    struct wire_record head;
    uint64_t body[4];
};

static void give(struct capture *capture, uint64_t ticks, uint8_t event, uint16_t kind, uint64_t parallel,
                 uint64_t task, uint64_t value, record_handler read)
{
    struct made made = { .head = { .flags = event, .a = kind, .ticks = ticks }, .body = { parallel, task, 0, value } };
    read(&capture->origin, &made.head, WIRE_HEAD_WORDS + 4);
}

static void give_begin(struct capture *capture, uint64_t ticks, uint8_t event, uint16_t kind, uint64_t parallel,
                       uint64_t task, uint64_t value)
{
    give(capture, ticks, event, kind, parallel, task, value, openmp_read_begin);
}

static void give_end(struct capture *capture, uint64_t ticks, uint8_t event, uint64_t key)
{
    give(capture, ticks, event, 0, key, 0, 0, openmp_read_end);
}

static void give_switch(struct capture *capture, uint64_t ticks, uint16_t status, uint64_t from, uint64_t to)
{
    give(capture, ticks, WIRE_OPENMP_TASK_SCHEDULE, status, 0, from, to, openmp_read_point);
}

/* The rows of a table are these: start, end, and a third column. */
static void compare(struct report *report, const char *table, const char *third, const int64_t (*expected)[3],
                    size_t count)
{
    const char *const names[] = { "start", "end", third };
    struct report_columns rows = { 0 };
    struct error err;
    assert_int_equal(columns_read(report, table, names, 3, &rows, &err), 0);
    assert_int_equal(rows.rows, count);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < 3; j++)
            if (columns_is_null(&rows, j, i))
                assert_int_equal(expected[i][j], -1);
            else
                assert_int_equal(rows.values[j][i], expected[i][j]);
    report_columns_free(&rows);
}

static void constructs_nest(void **state)
{
    const uint64_t implicit = wire_openmp_implicit_task(7, 0);
    struct capture capture;
    begin(&capture);
    give_begin(&capture, 2000, WIRE_OPENMP_PARALLEL, 0, 7, 0, 2);
    give_begin(&capture, 2100, WIRE_OPENMP_TASK, OMPT_TASK_IMPLICIT, 7, implicit, 3);
    give_begin(&capture, 2200, WIRE_OPENMP_SYNC_REGION, OMPT_SYNC_BARRIER_EXPLICIT, 0, 0, 0);
    give_end(&capture, 2300, WIRE_OPENMP_SYNC_REGION, 0);
    give_end(&capture, 2400, WIRE_OPENMP_TASK, implicit);
    give_end(&capture, 2500, WIRE_OPENMP_PARALLEL, 7);
    struct report *report = end(&capture);
    compare(report, "OPENMP_EVENT_KIND_PARALLEL", "threads", (const int64_t[][3]){ { 1000, 1500, 3 } }, 1);
    compare(report, "OPENMP_EVENT_KIND_TASK", "taskId", (const int64_t[][3]){ { 1100, 1400, (int64_t)implicit } }, 1);
    compare(report, "OPENMP_EVENT_KIND_SYNC_REGION", "parallelId", (const int64_t[][3]){ { 1200, 1300, 7 } }, 1);
    assert_int_equal(capture.counts[WIRE_SOURCE_OPENMP].recorded, 3);
    assert_int_equal(capture.counts[WIRE_SOURCE_OPENMP].unfinished, 0);
    report_close(report);
}

static void locks_need_not_nest(void **state)
{
    struct capture capture;
    begin(&capture);
    give_begin(&capture, 2000, WIRE_OPENMP_MUTEX_WAIT, OMPT_MUTEX_LOCK, 0, 0, 1);
    give_begin(&capture, 2100, WIRE_OPENMP_CRITICAL_SECTION, OMPT_MUTEX_LOCK, 0, 0, 1);
    give_begin(&capture, 2200, WIRE_OPENMP_MUTEX_WAIT, OMPT_MUTEX_TEST_LOCK, 0, 0, 3); /* fails */
    give_begin(&capture, 2300, WIRE_OPENMP_MUTEX_WAIT, OMPT_MUTEX_LOCK, 0, 0, 2);
    give_begin(&capture, 2400, WIRE_OPENMP_CRITICAL_SECTION, OMPT_MUTEX_LOCK, 0, 0, 2);
    give_end(&capture, 2500, WIRE_OPENMP_CRITICAL_SECTION, 1);
    give_end(&capture, 2600, WIRE_OPENMP_CRITICAL_SECTION, 2);
    give_end(&capture, 2700, WIRE_OPENMP_CRITICAL_SECTION, 9); /* never taken */
    struct report *report = end(&capture);
    compare(report, "OPENMP_EVENT_KIND_MUTEX_WAIT", "waitId",
            (const int64_t[][3]){ { 1000, 1100, 1 }, { 1300, 1400, 2 } }, 2);
    compare(report, "OPENMP_EVENT_KIND_CRITICAL_SECTION", "waitId",
            (const int64_t[][3]){ { 1100, 1500, 1 }, { 1400, 1600, 2 } }, 2);
    report_close(report);
}

static void tasks_run_inside_suspended_ones(void **state)
{
    const uint64_t implicit = wire_openmp_implicit_task(1, 0), outer = 4, inner = 6;
    struct capture capture;
    begin(&capture);
    give_switch(&capture, 2000, OMPT_TASK_SWITCH, implicit, outer);
    give_switch(&capture, 2100, OMPT_TASK_SWITCH, outer, inner);
    give_switch(&capture, 2200, OMPT_TASK_COMPLETE, inner, outer);
    give_switch(&capture, 2300, OMPT_TASK_COMPLETE, outer, implicit);
    struct report *report = end(&capture);
    compare(report, "OPENMP_EVENT_KIND_TASK", "taskId",
            (const int64_t[][3]){ { 1100, 1200, (int64_t)inner }, { 1000, 1300, (int64_t)outer } }, 2);
    report_close(report);
}

/* A worker that never reports the end of its part: the region's end is known from its first thread. */
static void what_is_open_at_the_end(void **state)
{
    struct capture capture;
    begin(&capture);
    give_end(&capture, 5000, WIRE_OPENMP_PARALLEL, 3); /* of another thread, as far as pairs go */
    give_begin(&capture, 2000, WIRE_OPENMP_TASK, OMPT_TASK_IMPLICIT, 3, wire_openmp_implicit_task(3, 1), 2);
    give_begin(&capture, 6000, WIRE_OPENMP_PARALLEL, 0, 4, 0, 2);
    struct report *report = end(&capture);
    compare(report, "OPENMP_EVENT_KIND_TASK", "incomplete", (const int64_t[][3]){ { 1000, 4000, -1 } }, 1);
    compare(report, "OPENMP_EVENT_KIND_PARALLEL", "incomplete", (const int64_t[][3]){ { 5000, 9000, 1 } }, 1);
    report_close(report);
}

static void nonsense_is_counted(void **state)
{
    struct capture capture;
    struct made made = { .head = { .flags = WIRE_OPENMP_EVENTS, .ticks = 2000 } };
    begin(&capture);
    openmp_read_begin(&capture.origin, &made.head, WIRE_HEAD_WORDS + 4);
    openmp_read_end(&capture.origin, &made.head, WIRE_HEAD_WORDS + 1);
    openmp_read_point(&capture.origin, &made.head, WIRE_HEAD_WORDS + 4);
    made.head.flags = WIRE_OPENMP_TASK;
    openmp_read_begin(&capture.origin, &made.head, WIRE_HEAD_WORDS + 3);
    openmp_read_end(&capture.origin, &made.head, WIRE_HEAD_WORDS);
    openmp_read_point(&capture.origin, &made.head, WIRE_HEAD_WORDS);
    assert_int_equal(capture.counts[WIRE_SOURCE_OPENMP].damaged, 6);
    assert_int_equal(capture.counts[WIRE_SOURCE_OPENMP].recorded, 0);
    /* Kinds that no list names, an end before its begin, and far more begins than a thread can be in. */
    give_begin(&capture, 3000, WIRE_OPENMP_WORKSHARE, 0xffff, ~UINT64_C(0), ~UINT64_C(0), ~UINT64_C(0));
    give_end(&capture, 1, WIRE_OPENMP_WORKSHARE, 0);
    for (uint64_t i = 0; i < 100000; i++)
        give_begin(&capture, 4000 + i, WIRE_OPENMP_SYNC_REGION, 1, i, 0, 0);
    assert_int_equal(capture.counts[WIRE_SOURCE_OPENMP].recorded, 1);
    assert_in_range(capture.counts[WIRE_SOURCE_OPENMP].unfinished, 90000, 99999);
    struct report *report = end(&capture);
    compare(report, "OPENMP_EVENT_KIND_WORKSHARE", "kind", (const int64_t[][3]){ { 2000, 2000, 0xffff } }, 1);
    report_close(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constructs_nest),
        cmocka_unit_test(locks_need_not_nest),
        cmocka_unit_test(tasks_run_inside_suspended_ones),
        cmocka_unit_test(what_is_open_at_the_end),
        cmocka_unit_test(nonsense_is_counted),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
