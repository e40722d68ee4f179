/* The rules on CPU programs: small captures whose waits can be added up by hand. Times are in ms. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analyze/findings/findings.h"
#include "analyze/registry.h"
#include "analyze/rules/rule.h"
#include "analyze/rules/rule_state.h"
#include "base/text.h"
#include "made_report.h"

enum { NAMED_LOCK = 0x10c0, VARIABLE = 9 }; /* the chain that has its name */
enum { PID = 100, MAIN = 100, FIRST = 11, SECOND = 12, THIRD = 13, CAPTURE = 1000 };
#define MS(time) ((int64_t)(time)*INT64_C(1000000))

/* ---- rows ------------------------------------------------------------------------------------------------------ */

static struct writer *capture(void)
{
    struct writer *writer = start();
    struct row_ANALYSIS_DETAILS row = { 0 };

    ROW_SET(&row, ANALYSIS_DETAILS, globalVid, 1);
    ROW_SET(&row, ANALYSIS_DETAILS, duration, MS(CAPTURE));
    ROW_SET(&row, ANALYSIS_DETAILS, startTime, 0);
    ROW_SET(&row, ANALYSIS_DETAILS, stopTime, MS(CAPTURE));
    writer_append(writer, TABLE_ANALYSIS_DETAILS, &row);
    return writer;
}

static void add_life(struct writer *writer, int64_t pid, int64_t tid, int64_t from, int64_t to)
{
    struct row_TACHO_THREAD life = { 0 };

    ROW_SET(&life, TACHO_THREAD, start, MS(from));
    ROW_SET(&life, TACHO_THREAD, end, MS(to));
    ROW_SET(&life, TACHO_THREAD, globalTid, made_thread(pid, tid));
    writer_append(writer, TABLE_TACHO_THREAD, &life);
}

static void add_thread(struct writer *writer, int64_t tid, const char *name)
{
    struct row_ThreadNames named = { 0 };

    add_life(writer, PID, tid, 0, CAPTURE);
    ROW_SET(&named, ThreadNames, nameId, made_string(writer, name));
    ROW_SET(&named, ThreadNames, globalTid, made_thread(PID, tid));
    writer_append(writer, TABLE_ThreadNames, &named);
}

struct call {
    const char *name;
    int64_t tid, from, to, chain, holder, lock, result;
};
static void add_call(struct writer *writer, struct call call)
{
    struct row_OSRT_API row = { 0 };

    ROW_SET(&row, OSRT_API, start, MS(call.from));
    ROW_SET(&row, OSRT_API, end, MS(call.to));
    ROW_SET(&row, OSRT_API, eventClass, 27);
    ROW_SET(&row, OSRT_API, globalTid, made_thread(PID, call.tid));
    ROW_SET(&row, OSRT_API, nameId, made_string(writer, call.name));
    ROW_SET(&row, OSRT_API, returnValue, call.result);
    ROW_SET(&row, OSRT_API, nestingLevel, 0);
    ROW_SET(&row, OSRT_API, callchainId, call.chain);
    if (call.holder)
        ROW_SET(&row, OSRT_API, lockHolder, made_thread(PID, call.holder));
    if (call.lock)
        ROW_SET(&row, OSRT_API, lockAddress, call.lock);
    if (call.lock == NAMED_LOCK)
        ROW_SET(&row, OSRT_API, lockCallchainId, VARIABLE);
    writer_append(writer, TABLE_OSRT_API, &row);
}

/* A chain of one function of the program, called from libc's. */
static void add_chain(struct writer *writer, int64_t id, const char *function, const char *file, int64_t line)
{
    for (int depth = 0; depth < 2; depth++) {
        struct row_OSRT_CALLCHAINS row = { 0 };
        ROW_SET(&row, OSRT_CALLCHAINS, id, id);
        ROW_SET(&row, OSRT_CALLCHAINS, symbol, made_string(writer, depth ? function : "pthread_mutex_lock"));
        ROW_SET(&row, OSRT_CALLCHAINS, module, made_string(writer, depth ? "/opt/mx" : "/lib/libc.so.6"));
        ROW_SET(&row, OSRT_CALLCHAINS, stackDepth, depth);
        if (depth) {
            ROW_SET(&row, OSRT_CALLCHAINS, sourceFile, made_string(writer, file));
            ROW_SET(&row, OSRT_CALLCHAINS, sourceLine, line);
        }
        writer_append(writer, TABLE_OSRT_CALLCHAINS, &row);
    }
}

static void add_sample(struct writer *writer, int64_t id, int64_t tid, int64_t at, const char *function, int64_t line)
{
    struct row_COMPOSITE_EVENTS row = { 0 };
    struct row_SAMPLING_CALLCHAINS frame = { 0 };

    ROW_SET(&row, COMPOSITE_EVENTS, id, id);
    ROW_SET(&row, COMPOSITE_EVENTS, start, MS(at));
    ROW_SET(&row, COMPOSITE_EVENTS, globalTid, made_thread(PID, tid));
    ROW_SET(&row, COMPOSITE_EVENTS, cpuCycles, 1);
    writer_append(writer, TABLE_COMPOSITE_EVENTS, &row);
    ROW_SET(&frame, SAMPLING_CALLCHAINS, id, id);
    ROW_SET(&frame, SAMPLING_CALLCHAINS, symbol, made_string(writer, function));
    ROW_SET(&frame, SAMPLING_CALLCHAINS, module, made_string(writer, "/opt/mx"));
    ROW_SET(&frame, SAMPLING_CALLCHAINS, stackDepth, 0);
    ROW_SET(&frame, SAMPLING_CALLCHAINS, sourceFile, made_string(writer, "/src/mx.c"));
    ROW_SET(&frame, SAMPLING_CALLCHAINS, sourceLine, line);
    writer_append(writer, TABLE_SAMPLING_CALLCHAINS, &frame);
}

static void add_module(struct writer *writer, const char *file, int64_t address, int64_t size)
{
    struct row_TACHO_MODULE row = { 0 };

    ROW_SET(&row, TACHO_MODULE, start, 0);
    ROW_SET(&row, TACHO_MODULE, globalPid, made_thread(PID, 0));
    ROW_SET(&row, TACHO_MODULE, pathId, made_string(writer, file));
    ROW_SET(&row, TACHO_MODULE, address, address);
    ROW_SET(&row, TACHO_MODULE, size, size);
    writer_append(writer, TABLE_TACHO_MODULE, &row);
}

struct cuda_call {
    const char *name;
    int64_t from, to;
};
static void add_call_with_id(struct writer *writer, int64_t pid, struct cuda_call call, int64_t id)
{
    struct row_CUPTI_ACTIVITY_KIND_RUNTIME row = { 0 };

    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, eventClass, 0);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, globalTid, made_thread(pid, MAIN));
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, returnValue, 0);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, start, MS(call.from));
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, end, MS(call.to));
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, nameId, made_string(writer, call.name));
    if (id != NO_ID)
        ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, correlationId, id);
    writer_append(writer, TABLE_CUPTI_ACTIVITY_KIND_RUNTIME, &row);
}

/* A launch of 1 ms, and its kernel. */
static void add_launch(struct writer *writer, int64_t called, int64_t from, int64_t to, int64_t id)
{
    add_call_with_id(writer, PID, (struct cuda_call){ "cudaLaunchKernel_v7000", called, called + 1 }, id);
    made_kernel(writer,
                (struct made_kernel){ .begin = MS(from), .end = MS(to), .pid = PID, .id = id, .name = "kernel" });
}

static void add_cuda_call(struct writer *writer, struct cuda_call call)
{
    add_call_with_id(writer, PID, call, NO_ID);
}

static void add_kernel(struct writer *writer, int64_t from, int64_t to)
{
    made_kernel(writer,
                (struct made_kernel){ .begin = MS(from), .end = MS(to), .pid = PID, .id = NO_ID, .name = "kernel" });
}

static void add_process(struct writer *writer, int64_t pid, int64_t parent, int64_t from, int64_t to, const char *exe,
                        const char *unrecorded)
{
    struct row_TACHO_PROCESS row = { 0 };

    ROW_SET(&row, TACHO_PROCESS, start, MS(from));
    ROW_SET(&row, TACHO_PROCESS, end, MS(to));
    ROW_SET(&row, TACHO_PROCESS, globalPid, made_thread(pid, 0));
    if (parent)
        ROW_SET(&row, TACHO_PROCESS, parentGlobalPid, made_thread(parent, 0));
    ROW_SET(&row, TACHO_PROCESS, image, 0);
    ROW_SET(&row, TACHO_PROCESS, exe, made_string(writer, exe));
    if (unrecorded)
        ROW_SET(&row, TACHO_PROCESS, unrecorded, made_string(writer, unrecorded));
    writer_append(writer, TABLE_TACHO_PROCESS, &row);
}

enum { GIL_NEITHER, GIL_HELD, GIL_WAITED };
static void add_python(struct writer *writer, int64_t tid, int64_t at, int64_t gil, int64_t chain)
{
    struct row_TACHO_PYTHON_SAMPLE row = { 0 };

    ROW_SET(&row, TACHO_PYTHON_SAMPLE, start, MS(at));
    ROW_SET(&row, TACHO_PYTHON_SAMPLE, globalTid, made_thread(PID, tid));
    ROW_SET(&row, TACHO_PYTHON_SAMPLE, threadState, 1);
    ROW_SET(&row, TACHO_PYTHON_SAMPLE, gil, gil);
    ROW_SET(&row, TACHO_PYTHON_SAMPLE, callchainId, chain);
    writer_append(writer, TABLE_TACHO_PYTHON_SAMPLE, &row);
}

static void add_python_frame(struct writer *writer, int64_t id, int64_t depth, const char *function, const char *file,
                             int64_t line)
{
    struct row_TACHO_PYTHON_CALLCHAINS row = { 0 };

    ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, id, id);
    ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, symbol, made_string(writer, function));
    ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, module, made_string(writer, file));
    ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, stackDepth, depth);
    ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, line, line);
    writer_append(writer, TABLE_TACHO_PYTHON_CALLCHAINS, &row);
}

/* ---- what rules say -------------------------------------------------------------------------------------------- */

static struct table *run_rule(struct report *report, const char *name)
{
    const struct analysis_request everything = { 0 };
    struct table *table = NULL;
    struct error err;

    if (analysis_run(rule_find(name), report, &everything, &table, &err) != 0)
        fail_msg("%s: %s", name, err.text);
    return table;
}

static struct table *run_with(struct report *report, const char *name, const char *option, const char *value)
{
    const struct analysis_option given = { option, value };
    const struct analysis_request request = { .options = &given, .option_count = 1 };
    struct table *table = NULL;
    struct error err;

    if (analysis_run(rule_find(name), report, &request, &table, &err) != 0)
        fail_msg("%s:%s=%s: %s", name, option, value, err.text);
    return table;
}

/* How many rows a rule has with an option. */
static size_t count_with(struct report *report, const char *name, const char *option, const char *value)
{
    struct table *table = run_with(report, name, option, value);
    size_t count = table_row_count(table);

    table_delete(table);
    return count;
}

/* The sentences of a rule about its rows, in order, up to a NULL. */
static void expect(struct report *report, const char *name, const char *const *sentences)
{
    struct table *table = run_rule(report, name);
    struct text said = { 0 };
    size_t count = 0;

    for (; sentences[count]; count++) {
        if (count >= table_row_count(table))
            fail_msg("%s did not find: %s", name, sentences[count]);
        text_clear(&said);
        rule_finding(&said, rule_find(name), table, count);
        assert_string_equal(text_string(&said), sentences[count]);
    }
    assert_int_equal(table_row_count(table), count);
    text_free(&said);
    table_delete(table);
}
#define EXPECT(report, name, ...) expect(report, name, (const char *const[]){ __VA_ARGS__, NULL })
#define EXPECT_NOTHING(report, name) expect(report, name, (const char *const[]){ NULL })

static void expect_no_data(struct report *report, const char *name)
{
    const struct analysis_request everything = { 0 };
    struct table *table = NULL;
    struct error err;

    assert_int_equal(analysis_run(rule_find(name), report, &everything, &table, &err), ERR_NO_DATA);
}

/* ---- uneven work ----------------------------------------------------------------------------------------------- */

/* Threads that start at 100 and work in `crunch` up to these times, while the main thread waits for all of them. The
 * program ends at 1000. */
static struct writer *team_capture(int64_t first, int64_t second, int64_t third, const char *third_function)
{
    const struct {
        int64_t tid, until;
        const char *function;
    } team[] = { { FIRST, first, "crunch" }, { SECOND, second, "crunch" }, { THIRD, third, third_function } };
    struct writer *writer = capture();
    int64_t last = 100, id = 1;

    add_process(writer, PID, 0, 0, CAPTURE, "/opt/mx", NULL);
    add_thread(writer, MAIN, "mx");
    for (size_t i = 0; i < COUNT_OF(team); i++) {
        add_life(writer, PID, team[i].tid, 100, team[i].until);
        for (int64_t at = 105; at < team[i].until; at += 10)
            add_sample(writer, id++, team[i].tid, at, team[i].function, 12);
        last = team[i].until > last ? team[i].until : last;
    }
    add_call(writer, (struct call){ "pthread_join", MAIN, 100, last, 1, 0, 0, 0 });
    return writer;
}

/* 600 ms of work and twice 150: with 300 each the phase takes 300 less. */
static void a_thread_with_more_to_do_is_found(void **state)
{
    struct report *report = finish(team_capture(700, 250, 250, "crunch"));
    struct table *table = run_rule(report, "uneven_work");

    assert_string_equal(table_row(table, 0)[7].text.bytes, "crunch (mx.c:12)");
    table_delete(table);
    EXPECT(report, "uneven_work",
           "3 threads wait for the busiest of them, 2.00 times the mean; with equal work 300 ms less, 30.0 % of the "
           "wall time");
    report_close(report);
}

/* A third that does something else has no part in it. */
static void only_threads_that_do_the_same_can_be_even(void **state)
{
    struct report *report = finish(team_capture(700, 700, 250, "write_log"));

    EXPECT_NOTHING(report, "uneven_work");
    report_close(report);
    report = finish(team_capture(250, 250, 700, "write_log"));
    EXPECT_NOTHING(report, "uneven_work");
    report_close(report);
}

static void equal_work_is_even(void **state)
{
    struct report *report = finish(team_capture(700, 690, 695, "crunch"));

    EXPECT_NOTHING(report, "uneven_work");
    report_close(report);
}

/* The second and the third wait for a lock until the first is done: less waiting is what lock_contention is about. A
 * wait for work is none: 600 ms and twice 150. */
static void a_wait_for_a_lock_is_no_uneven_work(void **state)
{
    static const struct {
        const char *call;
        size_t found;
    } waits[] = { { "pthread_mutex_lock", 0 }, { "pthread_cond_wait", 1 } };

    for (size_t i = 0; i < COUNT_OF(waits); i++) {
        struct writer *writer = team_capture(700, 700, 700, "crunch");
        add_call(writer, (struct call){ waits[i].call, SECOND, 250, 699, 1, 0, 0, 0 });
        add_call(writer, (struct call){ waits[i].call, THIRD, 250, 699, 1, 0, 0, 0 });
        struct report *report = finish(writer);
        struct table *table = run_rule(report, "uneven_work");
        assert_int_equal(table_row_count(table), waits[i].found);
        table_delete(table);
        report_close(report);
    }
}

/* ---- locks ----------------------------------------------------------------------------------------------------- */

/* Three workers and one lock. The second waits from 100 to 400 and the third from 200 to 600 for the first, which
 * itself waits from 500 to 700 for the second. So a thread waits from 100 to 700. */
static void add_mutex_program(struct writer *writer, int64_t lock)
{
    add_call(writer, (struct call){ "pthread_mutex_lock", SECOND, 100, 400, 1, FIRST, lock, 0 });
    add_call(writer, (struct call){ "pthread_mutex_lock", THIRD, 200, 600, 1, FIRST, lock, 0 });
    add_call(writer, (struct call){ "pthread_mutex_lock", FIRST, 500, 700, 1, SECOND, lock, 0 });
}

static struct writer *mutex_capture(void)
{
    struct writer *writer = capture();

    add_thread(writer, MAIN, "mx");
    add_thread(writer, FIRST, "worker1");
    add_thread(writer, SECOND, "worker2");
    add_thread(writer, THIRD, "worker3");
    add_module(writer, "/opt/other", 0x100, 0x100);
    add_module(writer, "/opt/mx", 0x1000, 0x100);
    add_chain(writer, 1, "work", "/src/mx.c", 15);
    add_chain(writer, 2, "work", "/src/mx.c", 16);
    return writer;
}

static void a_contended_lock_has_a_holder_and_a_line(void **state)
{
    enum { IMPACT, TOTAL, SHARE, WAITS, LONGEST, START, THREADS, PLACES, PROCESS, TID };
    struct writer *writer = mutex_capture();

    add_mutex_program(writer, 0x1040);
    add_call(writer, (struct call){ "usleep", FIRST, 150, 180, 2, 0, 0, 0 });
    /* From 500 on the first has let go of the lock: what it does then does not count. */
    for (int64_t i = 0; i < 3; i++)
        add_sample(writer, i + 1, FIRST, 300 + i * 10, "crunch", 10);
    for (int64_t i = 0; i < 10; i++)
        add_sample(writer, i + 10, FIRST, 505 + i * 10, "rest", 99);
    struct report *report = finish(writer);
    struct table *table = run_rule(report, "lock_contention");
    const struct table_cell *row = table_row(table, 0);
    assert_int_equal(table_row_count(table), 1);
    assert_int_equal(row[IMPACT].integer, MS(600));
    assert_int_equal(row[TOTAL].integer, MS(900));
    assert_true(row[SHARE].real > 29.99 && row[SHARE].real < 30.01);
    assert_int_equal(row[WAITS].integer, 3);
    assert_int_equal(row[LONGEST].integer, MS(400));
    assert_int_equal(row[START].integer, MS(200));
    assert_int_equal(row[THREADS].integer, 3);
    assert_int_equal(row[PLACES].integer, 1);
    assert_int_equal(row[PROCESS].integer, PID);
    assert_int_equal(row[TID].integer, THIRD);
    table_delete(table);
    EXPECT(
        report, "lock_contention",
        "lock mx+0x40: 3 threads waited 900 ms in work (mx.c:15), 3 times, 30 % of their time; held for 500 ms of it "
        "by worker1 (11), which was in crunch (mx.c:10)");
    report_close(report);
}

/* Without samples, the call that the holder was in. Without an address, the function stands for all locks. */
static void a_holder_can_be_in_a_call(void **state)
{
    struct writer *writer = mutex_capture();

    add_mutex_program(writer, 0);
    add_call(writer, (struct call){ "usleep", FIRST, 150, 180, 2, 0, 0, 0 });
    struct report *report = finish(writer);
    EXPECT(
        report, "lock_contention",
        "lock of pthread_mutex_lock: 3 threads waited 900 ms in work (mx.c:15), 3 times, 30 % of their time; held for "
        "600 ms of it by worker1 (11), which was in usleep in work (mx.c:16)");
    report_close(report);
}

/* The first holds the lock from 0 to 30 and then sleeps without it. The second waits from 5 to 30, or until it gives
 * up, and holds it until 930; the third waits from 15 to 930. So from 5 to 15 one thread waits for the first and from
 * 15 to 30 two do: 40 ms. The second keeps the third waiting for 900 ms. */
static struct report *handed_on_capture(int64_t result)
{
    struct writer *writer = mutex_capture();

    add_chain(writer, 3, "rest", "/src/mx.c", 20);
    add_chain(writer, 4, "hold", "/src/mx.c", 30);
    add_call(writer, (struct call){ "usleep", FIRST, 0, 30, 2, 0, 0, 0 });
    add_call(writer, (struct call){ "usleep", FIRST, 30, 930, 3, 0, 0, 0 });
    add_call(writer, (struct call){ "pthread_mutex_timedlock", SECOND, 5, 30, 2, FIRST, 0x1040, result });
    add_call(writer, (struct call){ "usleep", SECOND, 30, 930, 4, 0, 0, 0 });
    add_call(writer, (struct call){ "pthread_mutex_lock", THIRD, 15, 930, 1, FIRST, 0x1040, 0 });
    return finish(writer);
}

static void a_lock_changes_hands_when_a_wait_ends(void **state)
{
    enum { HOLDER = 13, DID };
    struct report *report = handed_on_capture(0);

    EXPECT(report, "lock_contention",
           "lock mx+0x40: 2 threads waited 940 ms, mostly in work (mx.c:15), 2 times, 47 % of their time; held by "
           "worker2 (12), "
           "which was in usleep in hold (mx.c:30)");
    /* The wait of another thread counts, too, if only those of the third are asked for. */
    struct table *table = run_with(report, "lock_contention", "thread", "13");
    assert_int_equal(table_row_count(table), 1);
    assert_int_equal(table_row(table, 0)[0].integer, MS(915));
    assert_string_equal(table_row(table, 0)[HOLDER].text.bytes, "worker2 (12)");
    assert_string_equal(table_row(table, 0)[DID].text.bytes, "usleep in hold (mx.c:30)");
    table_delete(table);
    report_close(report);
    report = handed_on_capture(ETIMEDOUT);
    EXPECT(report, "lock_contention",
           "lock mx+0x40: 2 threads waited 940 ms, mostly in work (mx.c:15), 2 times, 47 % of their time; held by "
           "worker1 (11), "
           "which was in usleep in rest (mx.c:20)");
    report_close(report);
}

static void add_variable(struct writer *writer)
{
    struct row_OSRT_CALLCHAINS variable = { 0 };

    ROW_SET(&variable, OSRT_CALLCHAINS, id, VARIABLE);
    ROW_SET(&variable, OSRT_CALLCHAINS, symbol, made_string(writer, "queue_lock"));
    ROW_SET(&variable, OSRT_CALLCHAINS, module, made_string(writer, "/opt/mx"));
    ROW_SET(&variable, OSRT_CALLCHAINS, stackDepth, 0);
    writer_append(writer, TABLE_OSRT_CALLCHAINS, &variable);
}

/* The second holds a lock from 10 to 320. Up to 300 it waits for another, with which the first sleeps. The third waits
 * for the second from 20 to 320: 280 ms of its wait for the other lock, and 20 ms of its sleep. */
static void a_holder_can_wait_for_another_lock(void **state)
{
    struct writer *writer = mutex_capture();

    add_variable(writer);
    add_call(writer, (struct call){ "usleep", FIRST, 0, 300, 2, 0, 0, 0 });
    add_call(writer, (struct call){ "pthread_mutex_lock", SECOND, 10, 300, 1, FIRST, NAMED_LOCK, 0 });
    add_call(writer, (struct call){ "usleep", SECOND, 300, 900, 2, 0, 0, 0 });
    add_call(writer, (struct call){ "pthread_mutex_lock", THIRD, 20, 320, 1, SECOND, 0x1040, 0 });
    struct report *report = finish(writer);
    EXPECT(report, "lock_contention",
           "lock mx+0x40: 1 thread waited 300 ms in work (mx.c:15), once, 30 % of their time; held by worker2 (12), "
           "which was in pthread_mutex_lock (queue_lock) in work (mx.c:15)",
           "lock queue_lock (mx): 1 thread waited 290 ms in work (mx.c:15), once, 29 % of their time; held by worker1 "
           "(11), which was in usleep in work (mx.c:16)");
    report_close(report);
}

static void a_lock_is_named_by_its_variable(void **state)
{
    struct writer *writer = mutex_capture();

    add_variable(writer);
    add_call(writer, (struct call){ "pthread_rwlock_wrlock", SECOND, 100, 400, 1, 0, NAMED_LOCK, 0 });
    struct report *report = finish(writer);
    EXPECT(report, "lock_contention",
           "lock queue_lock (mx): 1 thread waited 300 ms in work (mx.c:15), once, 30 % of their time");
    report_close(report);
}

/* The second waits for readers from 100 to 400, and then keeps two of them waiting, for 90 ms each. */
static void readers_can_hold_a_lock(void **state)
{
    struct writer *writer = mutex_capture();

    add_call(writer, (struct call){ "pthread_rwlock_wrlock", SECOND, 100, 400, 1, 0, 0x1040, 0 });
    add_call(writer, (struct call){ "pthread_rwlock_rdlock", FIRST, 410, 500, 2, SECOND, 0x1040, 0 });
    add_call(writer, (struct call){ "pthread_rwlock_rdlock", THIRD, 410, 500, 2, SECOND, 0x1040, 0 });
    struct report *report = finish(writer);
    EXPECT(report, "lock_contention",
           "lock mx+0x40: 3 threads waited 480 ms, mostly in work (mx.c:15), 3 times, 16 % of their time; held for "
           "300 ms of it by readers");
    struct table *table = run_rule(report, "lock_contention");
    assert_non_null(strstr(rule_advice(&rule_lock_contention, table, 0), "Readers and writers wait"));
    table_delete(table);
    report_close(report);
}

/* What a program can do about a lock of its own it can not do about that of a library. */
static void a_lock_of_a_library_has_no_critical_section(void **state)
{
    static const struct {
        const char *file, *words;
    } files[] = { { "/usr/lib/libcuda.so.1", "CUDA driver's" },
                  { "/usr/lib/libpython3.12.so.1.0", "gil_contention" },
                  { "/opt/other", "critical section" } };

    for (size_t i = 0; i < COUNT_OF(files); i++) {
        struct writer *writer = capture();
        add_thread(writer, FIRST, "worker1");
        add_thread(writer, SECOND, "worker2");
        add_module(writer, files[i].file, 0x1000, 0x100);
        add_call(writer, (struct call){ "pthread_mutex_lock", SECOND, 100, 400, 0, FIRST, 0x1040, 0 });
        struct report *report = finish(writer);
        struct table *table = run_rule(report, "lock_contention");
        assert_int_equal(table_row_count(table), 1);
        assert_non_null(strstr(rule_advice(&rule_lock_contention, table, 0), files[i].words));
        table_delete(table);
        report_close(report);
    }
}

static void short_waits_and_waits_for_work_are_no_contention(void **state)
{
    struct writer *writer = mutex_capture();

    add_call(writer, (struct call){ "pthread_mutex_lock", SECOND, 100, 149, 1, FIRST, 0x1040, 0 }); /* 4.9 % */
    add_call(writer, (struct call){ "pthread_cond_wait", THIRD, 0, 1000, 1, 0, 0, 0 });
    add_call(writer, (struct call){ "sem_wait", FIRST, 0, 1000, 1, 0, 0, 0 });
    struct report *report = finish(writer);
    EXPECT_NOTHING(report, "lock_contention");
    assert_int_equal(count_with(report, "lock_contention", "threshold", "4"), 1);
    assert_int_equal(count_with(report, "lock_contention", "end", "90000000"), 0);
    expect_no_data(report, "gil_contention");
    expect_no_data(report, "cpu_oversubscription");
    expect_no_data(report, "process_starts");
    report_close(report);
}

/* ---- input and output ------------------------------------------------------------------------------------------ */

/* The main thread waits for the worker all the time; the worker reads from 100 to 300 and from 500 to 600. */
static struct report *io_capture_of(const char *main_call, const char *worker_call, const char *unrecorded,
                                    int64_t bytes)
{
    struct writer *writer = capture();

    add_thread(writer, MAIN, "io");
    add_thread(writer, FIRST, "loader");
    add_chain(writer, 1, "load", "/src/io.c", 7);
    add_call(writer, (struct call){ main_call, MAIN, 0, 1000, 0, 0, 0, 0 });
    add_call(writer, (struct call){ worker_call, FIRST, 100, 300, 1, 0, 0, bytes - 500 });
    add_call(writer, (struct call){ worker_call, FIRST, 500, 600, 1, 0, 0, 500 });
    if (unrecorded)
        add_process(writer, 200, PID, 0, 1000, "/opt/static", unrecorded);
    return finish(writer);
}

static struct report *io_capture(const char *main_call, const char *worker_call, const char *unrecorded)
{
    return io_capture_of(main_call, worker_call, unrecorded, 1500);
}

static void io_that_keeps_the_program_waiting_is_found(void **state)
{
    struct report *report = io_capture("pthread_join", "read", NULL);

    EXPECT(report, "blocked_io",
           "read in load (io.c:7) kept the program waiting for 300 ms: loader (11), 2 calls, 1.50 kB at 5.00 kB/s");
    report_close(report);
    report = io_capture("pthread_join", "fsync", NULL);
    EXPECT(report, "blocked_io", "fsync in load (io.c:7) kept the program waiting for 300 ms: loader (11), 2 calls");
    report_close(report);
}

/* A faster disk does not make the other end of a connection faster. */
static void a_socket_is_no_file(void **state)
{
    static const char *const calls[] = { "recv", "fsync" };

    for (int i = 0; i < 2; i++) {
        struct report *report = io_capture("pthread_join", calls[i], NULL);
        struct table *table;
        struct error err;
        if (rule_blocked_io.run(report, &(struct analysis_request){ 0 }, &table, &err) != 0)
            fail_msg("%s", err.text);
        assert_int_equal(table_row_count(table), 1);
        const char *advice = rule_advice(&rule_blocked_io, table, 0);
        assert_int_equal(strstr(advice, "connection") != NULL, i == 0);
        assert_int_equal(strstr(advice, "file system") != NULL, i == 1);
        table_delete(table);
        report_close(report);
    }
}

static void add_queue_time(struct writer *writer, int64_t tid, int64_t run, int64_t queue)
{
    struct row_TACHO_THREAD_SCHED row = { 0 };

    ROW_SET(&row, TACHO_THREAD_SCHED, globalTid, made_thread(PID, tid));
    ROW_SET(&row, TACHO_THREAD_SCHED, runNs, MS(run));
    ROW_SET(&row, TACHO_THREAD_SCHED, queueNs, MS(queue));
    ROW_SET(&row, TACHO_THREAD_SCHED, slices, 10);
    writer_append(writer, TABLE_TACHO_THREAD_SCHED, &row);
}

/* A thread waits in fsync for 900 of 1000 ms, but was ready to run for 800 ms: 200 ms of the call are left at most. */
static void a_thread_without_a_cpu_does_not_wait_for_io(void **state)
{
    for (int64_t queue = 100; queue <= 800; queue += 700) {
        struct writer *writer = capture();
        add_thread(writer, MAIN, "io");
        add_call(writer, (struct call){ "fsync", MAIN, 0, 900, 0, 0, 0, 0 });
        add_queue_time(writer, MAIN, 50, queue);
        struct report *report = finish(writer);
        EXPECT(report, "blocked_io",
               queue == 800 ? "fsync kept the program waiting for 200 ms: io (100), 1 call"
                            : "fsync kept the program waiting for 900 ms: io (100), 1 call");
        report_close(report);
    }
}

static void io_beside_work_is_not(void **state)
{
    struct report *report = io_capture("getpid", "read", NULL); /* the main thread works */

    EXPECT_NOTHING(report, "blocked_io");
    report_close(report);
    static const char *const idle[] = { "epoll_wait", "poll", "ppoll", "select", "pselect" };
    for (size_t i = 0; i < COUNT_OF(idle); i++) {
        report = io_capture("pthread_join", idle[i], NULL); /* a server without requests */
        EXPECT_NOTHING(report, "blocked_io");
        report_close(report);
    }
    report = io_capture("poll", "read", NULL); /* a loop that waits for its reader */
    EXPECT(report, "blocked_io",
           "read in load (io.c:7) kept the program waiting for 300 ms: loader (11), 2 calls, 1.50 kB at 5.00 kB/s");
    report_close(report);
    report = io_capture("pthread_join", "read", "static"); /* another process works */
    EXPECT_NOTHING(report, "blocked_io");
    report_close(report);
}

/* In 300 ms, 1200 bytes are 4 kB per second. */
static void a_read_that_waits_for_input_is_not(void **state)
{
    static const struct {
        const char *name;
        int64_t bytes;
        int found;
    } reads[] = {
        { "read", 1199, 0 }, { "read", 1200, 1 }, { "msgrcv", 1199, 0 }, { "recv", 1199, 1 }, { "write", 1199, 1 }
    };

    for (size_t i = 0; i < COUNT_OF(reads); i++) {
        struct report *report = io_capture_of("pthread_join", reads[i].name, NULL, reads[i].bytes);
        struct table *table = run_rule(report, "blocked_io");
        assert_int_equal(table_row_count(table), reads[i].found);
        table_delete(table);
        report_close(report);
    }
}

/* ---- the GIL --------------------------------------------------------------------------------------------------- */

/* 30 rounds, 10 ms apart: in the first `waits` one thread holds the GIL and another waits for it. */
static struct report *gil_capture(int rounds, int waits)
{
    struct writer *writer = capture();

    add_thread(writer, FIRST, "parser");
    add_thread(writer, SECOND, "loader");
    for (int i = 0; i < rounds; i++) {
        add_python(writer, FIRST, i * 10, i < waits ? GIL_HELD : GIL_NEITHER, 1);
        add_python(writer, SECOND, i * 10, i < waits ? GIL_WAITED : GIL_NEITHER, 2);
    }
    add_python_frame(writer, 1, 0, "parse", "/src/a.py", 30);
    add_python_frame(writer, 2, 0, "load", "/src/a.py", 9);
    return finish(writer);
}

static void threads_that_wait_for_the_gil_are_found(void **state)
{
    struct report *report = gil_capture(30, 15);

    EXPECT(
        report, "gil_contention",
        "GIL of process 100: 1 thread waited 150 ms, in load (a.py:9); held by parser (11), which ran parse (a.py:30)");
    report_close(report);
    report = gil_capture(30, 2);
    EXPECT_NOTHING(report, "gil_contention");
    report_close(report);
    report = gil_capture(19, 19); /* too few rounds to say anything */
    EXPECT_NOTHING(report, "gil_contention");
    report_close(report);
}

/* Two threads take turns, so that each waits and holds; the one that waits most is named with the other one, and not
 * with itself, which holds the GIL for 130 of the 300 ms. */
static void threads_that_take_turns_are_told_apart(void **state)
{
    struct writer *writer = capture();

    add_thread(writer, FIRST, "parser");
    add_thread(writer, SECOND, "matcher");
    for (int i = 0; i < 31; i++) {
        int first_holds = i % 30 < 17;
        add_python(writer, FIRST, i * 10, first_holds ? GIL_HELD : GIL_WAITED, first_holds ? 1 : 2);
        add_python(writer, SECOND, i * 10, first_holds ? GIL_WAITED : GIL_HELD, first_holds ? 3 : 4);
    }
    add_python_frame(writer, 1, 0, "parse", "/src/a.py", 30);
    add_python_frame(writer, 2, 0, "wait", "/src/a.py", 31);
    add_python_frame(writer, 3, 0, "match", "/src/a.py", 9);
    add_python_frame(writer, 4, 0, "findall", "/src/a.py", 10);
    struct report *report = finish(writer);
    EXPECT(report, "gil_contention",
           "GIL of process 100: 2 threads waited 300 ms, mostly 12 in match (a.py:9); held by parser (11), which ran "
           "parse (a.py:30)");
    report_close(report);
}

/* A thread that is asked for waits; the holder is another one. */
static void a_holder_is_named_for_one_thread(void **state)
{
    struct report *report = gil_capture(30, 15);
    struct table *table = run_with(report, "gil_contention", "thread", "12");
    struct text sentence = { 0 };

    assert_int_equal(table_row_count(table), 1);
    rule_finding(&sentence, rule_find("gil_contention"), table, 0);
    assert_string_equal(
        text_string(&sentence),
        "GIL of process 100: 1 thread waited 150 ms, in load (a.py:9); held by parser (11), which ran parse (a.py:30)");
    text_free(&sentence);
    table_delete(table);
    assert_int_equal(count_with(report, "gil_contention", "thread", "11"), 0);
    assert_int_equal(count_with(report, "gil_contention", "process", "99"), 0);
    report_close(report);
}

/* ---- CPUs ------------------------------------------------------------------------------------------------------ */

/* Two threads (or one, up to FIRST) on one CPU, each of which ran for `run` of 1000 ms and was in a run queue for the
 * rest. */
static void add_cpu_threads(struct writer *writer, int64_t last, int64_t run, int64_t queue)
{
    for (int64_t tid = FIRST; tid <= last; tid++) {
        add_thread(writer, tid, tid == FIRST ? "worker1" : "worker2");
        add_queue_time(writer, tid, run, queue);
    }
    for (int64_t at = 0; at <= CAPTURE; at += CAPTURE) {
        struct row_TACHO_CPU_TIME row = { 0 };
        ROW_SET(&row, TACHO_CPU_TIME, timestamp, MS(at));
        ROW_SET(&row, TACHO_CPU_TIME, cpu, 0);
        ROW_SET(&row, TACHO_CPU_TIME, busyNs, MS(at));
        ROW_SET(&row, TACHO_CPU_TIME, idleNs, 0);
        writer_append(writer, TABLE_TACHO_CPU_TIME, &row);
    }
}

static struct report *cpu_capture(int64_t run, int64_t queue)
{
    struct writer *writer = capture();

    add_cpu_threads(writer, SECOND, run, queue);
    return finish(writer);
}

static void add_switch(struct writer *writer, int64_t pid, int64_t at, int is_in)
{
    enum { PREEMPTED = 6 };
    struct row_SCHED_EVENTS row = { 0 };

    ROW_SET(&row, SCHED_EVENTS, start, MS(at));
    ROW_SET(&row, SCHED_EVENTS, cpu, 0);
    ROW_SET(&row, SCHED_EVENTS, isSchedIn, is_in);
    ROW_SET(&row, SCHED_EVENTS, globalTid, made_thread(pid, pid));
    if (!is_in)
        ROW_SET(&row, SCHED_EVENTS, threadState, PREEMPTED);
    writer_append(writer, TABLE_SCHED_EVENTS, &row);
}

static void threads_without_a_cpu_are_found(void **state)
{
    struct report *report = cpu_capture(300, 700);

    EXPECT(report, "cpu_oversubscription",
           "process 100: on average 2.0 threads wanted a CPU, of 1; ready but not running for 1.40 s, 70 % of the time "
           "that its threads wanted one; longest thread worker1 (11), 700 ms; other programs used 40 % of the CPUs");
    assert_int_equal(count_with(report, "cpu_oversubscription", "process", "100"), 1);
    assert_int_equal(count_with(report, "cpu_oversubscription", "process", "99"), 0);
    report_close(report);
    report = cpu_capture(100, 300); /* 0.8 threads on average: there would be a CPU for them */
    EXPECT(report, "cpu_oversubscription",
           "process 100: other programs used 80 % of the CPUs; ready but not running for 600 ms, 75 % of the time that "
           "its threads wanted one; longest thread worker1 (11), 300 ms");
    report_close(report);
    report = cpu_capture(100, 420); /* 1.04 threads: too many for the CPU, but by less than others took of it */
    EXPECT(report, "cpu_oversubscription",
           "process 100: other programs used 80 % of the CPUs; ready but not running for 840 ms, 81 % of the time that "
           "its threads wanted one; longest thread worker1 (11), 420 ms");
    report_close(report);
    report = cpu_capture(480, 50); /* 9.4 % */
    EXPECT_NOTHING(report, "cpu_oversubscription");
    assert_int_equal(count_with(report, "cpu_oversubscription", "threshold", "9"), 1);
    report_close(report);
}

/* The CPU of the capture above and others, which are idle all the time. */
static const char *cpu_advice(int64_t cpus, int64_t run, int64_t queue)
{
    struct writer *writer = capture();
    struct error err;
    struct table *table;

    add_cpu_threads(writer, SECOND, run, queue);
    for (int64_t cpu = 1; cpu < cpus; cpu++)
        for (int64_t at = 0; at <= CAPTURE; at += CAPTURE) {
            struct row_TACHO_CPU_TIME row = { 0 };
            ROW_SET(&row, TACHO_CPU_TIME, timestamp, MS(at));
            ROW_SET(&row, TACHO_CPU_TIME, cpu, cpu);
            ROW_SET(&row, TACHO_CPU_TIME, busyNs, 0);
            ROW_SET(&row, TACHO_CPU_TIME, idleNs, MS(at));
            writer_append(writer, TABLE_TACHO_CPU_TIME, &row);
        }
    struct report *report = finish(writer);
    if (rule_cpu_oversubscription.run(report, &(struct analysis_request){ 0 }, &table, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(table_row_count(table), 1);
    const char *advice = rule_advice(&rule_cpu_oversubscription, table, 0);
    table_delete(table);
    report_close(report);
    return advice;
}

/* Two threads that each lack a CPU for 700 of 1000 ms, on a machine with one CPU, and with eight, of which seven are
 * idle: there neither the threads nor others are too many, but a quota or an affinity holds the program back. */
static void a_machine_with_idle_cpus_is_not_oversubscribed(void **state)
{
    assert_non_null(strstr(cpu_advice(1, 300, 700), "More threads want to run than there are CPUs."));
    assert_non_null(strstr(cpu_advice(1, 100, 300), "Other programs use the CPUs"));
    assert_non_null(strstr(cpu_advice(8, 300, 700), "cpu.max of the cgroup"));
    assert_non_null(strstr(cpu_advice(8, 100, 300), "cpu.max of the cgroup"));
}

static void add_image(struct writer *writer, int64_t image, const char *exe)
{
    struct row_TACHO_PROCESS row = { 0 };

    ROW_SET(&row, TACHO_PROCESS, start, MS(image * 100));
    ROW_SET(&row, TACHO_PROCESS, globalPid, made_thread(PID, 0));
    ROW_SET(&row, TACHO_PROCESS, image, image);
    ROW_SET(&row, TACHO_PROCESS, exe, made_string(writer, exe));
    writer_append(writer, TABLE_TACHO_PROCESS, &row);
}

/* An unfinished report: the shell became Python, which still runs. */
static void a_process_has_the_name_of_its_last_program(void **state)
{
    struct writer *writer = capture();

    add_image(writer, 0, "/bin/sh");
    add_image(writer, 1, "/usr/bin/python3");
    add_thread(writer, MAIN, "main");
    add_queue_time(writer, MAIN, 100, 500);
    struct report *report = finish(writer);
    EXPECT(report, "cpu_oversubscription",
           "python3 (100): ready but not running for 500 ms, 83 % of the time that its threads wanted one; longest "
           "thread main (100), 500 ms");
    report_close(report);
}

/* In a capture of the whole machine, another program runs for 400 ms and is without a CPU for 600 ms: no finding, and
 * no part of what the program itself used. */
static void processes_of_others_are_no_findings(void **state)
{
    struct writer *writer = capture();

    add_process(writer, PID, 0, 0, 1000, "/opt/mx", NULL);
    add_cpu_threads(writer, SECOND, 300, 700);
    add_switch(writer, 999, 0, 1);
    add_switch(writer, 999, 200, 0);
    add_switch(writer, 999, 800, 1);
    add_switch(writer, 999, 1000, 0);
    struct report *report = finish(writer);
    EXPECT(report, "cpu_oversubscription",
           "mx (100): on average 2.0 threads wanted a CPU, of 1; ready but not running for 1.40 s, 70 % of the time "
           "that its threads wanted one; longest thread worker1 (11), 700 ms; other programs used 40 % of the CPUs");
    report_close(report);
}

/* ---- processes ------------------------------------------------------------------------------------------------- */

/* Every 20 ms a process that lives for `life`. */
static struct report *process_capture(int count, int64_t life)
{
    struct writer *writer = capture();

    add_process(writer, PID, 0, 0, 1000, "/bin/sh", NULL);
    for (int i = 0; i < count; i++)
        add_process(writer, 200 + i, PID, i * 20, i * 20 + life, "/bin/true", NULL);
    return finish(writer);
}

static void many_short_processes_are_found(void **state)
{
    struct report *report = process_capture(30, 10);
    struct table *table = run_rule(report, "process_starts");

    assert_int_equal(table_row(table, 0)[0].integer, MS(300));
    table_delete(table);
    EXPECT(report, "process_starts",
           "sh (100) started 30 processes that lived less than 100 ms, 50 a second, mostly true; they took at least "
           "300 ms");
    report_close(report);
    report = process_capture(19, 10);  /* too few */
    EXPECT_NOTHING(report, "process_starts");
    report_close(report);
    report = process_capture(30, 2);   /* 6 % of the time */
    EXPECT_NOTHING(report, "process_starts");
    report_close(report);
    report = process_capture(30, 100); /* they work */
    EXPECT_NOTHING(report, "process_starts");
    report_close(report);
    report = process_capture(30, 0);   /* no time at all is no cost, whatever the threshold */
    assert_int_equal(count_with(report, "process_starts", "threshold", "0"), 0);
    report_close(report);
}

/* Each process is forked in 5 ms, runs for 10, and is waited for up to 2 ms behind its end; a long wait for another one
 * is not theirs. The row leads to the time of all of them. */
static void what_a_parent_spends_on_processes_counts(void **state)
{
    enum { IMPACT, PROCESSES, RATE, DURATION, START };
    struct writer *writer = capture();

    add_process(writer, PID, 0, 0, 1000, "/bin/sh", NULL);
    for (int i = 0; i < 30; i++) {
        int64_t at = 100 + i * 20;
        add_call(writer, (struct call){ "fork", MAIN, at, at + 5, 0, 0, 0, 0 });
        add_call(writer, (struct call){ "waitpid", MAIN, at + 5, at + 17, 0, 0, 0, 0 });
        add_process(writer, 200 + i, PID, at + 5, at + 15, "/bin/true", NULL);
    }
    add_call(writer, (struct call){ "waitpid", MAIN, 800, 1000, 0, 0, 0, 0 });
    struct report *report = finish(writer);
    struct table *table = run_rule(report, "process_starts");
    const struct table_cell *row = table_row(table, 0);
    assert_int_equal(table_row_count(table), 1);
    assert_int_equal(row[IMPACT].integer, MS(30 * 17));
    assert_int_equal(row[START].integer, MS(100));
    assert_int_equal(row[DURATION].integer, MS(29 * 20 + 17));
    table_delete(table);
    report_close(report);
}

/* ---- the start ------------------------------------------------------------------------------------------------- */

/* Imports up to `imports`, then other code; CUDA calls from 400 on, before a kernel at 700. */
static struct report *start_capture(int64_t imports, int64_t cuda)
{
    struct writer *writer = capture();

    add_process(writer, PID, 0, 0, 1000, "/usr/bin/python3", NULL);
    for (int64_t at = 0; at <= 390; at += 10)
        add_python(writer, MAIN, at, GIL_HELD, at < imports ? 1 : 2);
    add_python_frame(writer, 1, 0, "<module>", "/lib/torch/__init__.py", 5);
    add_python_frame(writer, 1, 1, "_find_and_load", "<frozen importlib._bootstrap>", 1);
    add_python_frame(writer, 1, 2, "<module>", "/src/train.py", 3);
    add_python_frame(writer, 2, 0, "<module>", "/src/train.py", 9);
    add_cuda_call(writer, (struct cuda_call){ "cuInit", 410, 390 + cuda });    /* inside of the next, and ends first */
    add_cuda_call(writer, (struct cuda_call){ "cudaMalloc_v3020", 400, 400 + cuda });
    add_cuda_call(writer, (struct cuda_call){ "cudaMalloc_v3020", 750, 990 }); /* behind the first kernel */
    add_kernel(writer, 700, 710);
    return finish(writer);
}

static void a_slow_start_is_found(void **state)
{
    struct report *report = start_capture(300, 250);

    EXPECT(report, "slow_start",
           "python3 (100): Python imports took 300 ms, 30 % of the time; mostly <module> (train.py:3), 300 ms",
           "python3 (100): CUDA initialization took 250 ms, 25 % of the time; mostly cudaMalloc, 250 ms");
    report_close(report);
    report = start_capture(190, 190); /* below 200 ms */
    EXPECT_NOTHING(report, "slow_start");
    report_close(report);
}

/* Imports from 0 to 300: for `compiled` of it Python compiles sources, then it runs them. */
static void imports_without_a_bytecode_cache_are_told_apart(void **state)
{
    for (int64_t compiled = 60; compiled <= 120; compiled += 60) {
        struct writer *writer = capture();
        add_process(writer, PID, 0, 0, 1000, "/usr/bin/python3", NULL);
        for (int64_t at = 0; at <= 310; at += 10)
            add_python(writer, MAIN, at, GIL_HELD, at < compiled ? 1 : at < 300 ? 2 : 3);
        add_python_frame(writer, 1, 0, "_call_with_frames_removed", "<frozen importlib._bootstrap>", 1);
        add_python_frame(writer, 1, 1, "SourceLoader.source_to_code", "<frozen importlib._bootstrap_external>", 1);
        add_python_frame(writer, 1, 2, "<module>", "/src/train.py", 3);
        add_python_frame(writer, 2, 0, "<module>", "/lib/source_to_code.py", 5);
        add_python_frame(writer, 2, 1, "_call_with_frames_removed", "<frozen importlib._bootstrap>", 1);
        add_python_frame(writer, 2, 2, "<module>", "/src/train.py", 3);
        add_python_frame(writer, 3, 0, "<module>", "/src/train.py", 9);
        struct report *report = finish(writer);
        EXPECT(report, "slow_start",
               compiled == 60
                   ? "python3 (100): Python imports took 300 ms, 30 % of the time; mostly <module> (train.py:3), 300 ms"
                   : "python3 (100): Python imports took 300 ms, 30 % of the time; 120 ms of it compiled sources, "
                     "without a bytecode cache; mostly <module> (train.py:3), 300 ms");
        struct table *table = run_rule(report, "slow_start");
        assert_int_equal(strstr(rule_advice(&rule_slow_start, table, 0), "compileall") != NULL, compiled == 120);
        table_delete(table);
        report_close(report);
    }
}

/* A program in C that pins memory at its start: the sentence names the call, and the advice is about that. */
static void pinned_memory_is_no_initialization(void **state)
{
    struct writer *writer = capture();

    add_process(writer, PID, 0, 0, 1000, "/opt/app", NULL);
    add_cuda_call(writer, (struct cuda_call){ "cudaSetDevice_v3020", 0, 100 });
    add_cuda_call(writer, (struct cuda_call){ "cuMemHostAlloc", 110, 390 }); /* inside of the next */
    add_cuda_call(writer, (struct cuda_call){ "cudaMallocHost_v3020", 100, 400 });
    add_kernel(writer, 700, 710);
    struct report *report = finish(writer);
    struct table *table = run_rule(report, "slow_start");
    const char *advice = rule_advice(&rule_slow_start, table, 0);
    assert_non_null(strstr(advice, "Pinning memory"));
    assert_null(strstr(advice, "import"));
    table_delete(table);
    EXPECT(report, "slow_start",
           "app (100): allocation of pinned memory took 300 ms, 30 % of the time; mostly cudaMallocHost, 300 ms");
    report_close(report);
}

static void loading_of_libraries_is_found(void **state)
{
    struct writer *writer = capture();

    add_thread(writer, MAIN, "loads");
    add_chain(writer, 1, "load_plugins", "/src/p.c", 3);
    add_call(writer, (struct call){ "dlopen", MAIN, 100, 250, 1, 0, 0, 0 });
    add_call(writer, (struct call){ "dlopen", MAIN, 300, 400, 1, 0, 0, 0 });
    struct report *report = finish(writer);
    EXPECT(report, "slow_start",
           "process 100: loading of libraries took 250 ms, 25 % of the time; mostly load_plugins (p.c:3), 250 ms");
    report_close(report);
}

/* ---- advice_sum ------------------------------------------------------------------------------------------------ */

static struct table *advice_of(struct report *report)
{
    const struct analysis_request everything = { 0 };
    struct table *table = NULL;
    struct error err;

    if (analysis_run(analysis_find("advice_sum"), report, &everything, &table, &err) != 0)
        fail_msg("%s", err.text);
    return table;
}

/* Two locks, each waited for in 600 of 1000 ms, and a slow start of 300 ms: the locks come first, and their impact is
 * not above the time of the capture. */
static void the_largest_impact_comes_first(void **state)
{
    enum { IMPACT, FOUND = 5, RULE, FINDING, WHERE, ADVICE };
    struct writer *writer = mutex_capture();

    add_mutex_program(writer, 0x1040);
    add_mutex_program(writer, 0x1080);
    add_call(writer, (struct call){ "dlopen", MAIN, 100, 400, 0, 0, 0, 0 });
    struct report *report = finish(writer);
    struct table *table = advice_of(report);
    assert_int_equal(table_row_count(table), 2);
    const struct table_cell *first = table_row(table, 0), *second = table_row(table, 1);
    assert_int_equal(first[IMPACT].integer, MS(1000));
    assert_int_equal(first[FOUND].integer, 2);
    assert_string_equal(first[RULE].text.bytes, "lock_contention");
    assert_string_equal(first[FINDING].text.bytes,
                        "lock mx+0x40: 3 threads waited 900 ms in work (mx.c:15), 3 times, 30 % of their time; held "
                        "for 500 ms of it by worker1 (11), at 0.2000 s (the largest of 2; 1.00 s together)");
    assert_int_equal(second[IMPACT].integer, MS(300));
    assert_string_equal(second[RULE].text.bytes, "slow_start");
    assert_string_equal(second[FINDING].text.bytes,
                        "process 100: loading of libraries took 300 ms, 30 % of the time, at 0.1000 s");
    table_delete(table);
    report_close(report);
}

static struct table *run_shared(struct report *report, const struct analysis *analysis, struct findings_share *share,
                                const char *rows)
{
    const struct analysis_option option = { "rows", rows };
    const struct analysis_request request = { .options = &option, .option_count = rows != NULL, .findings = share };
    struct table *table = NULL;
    struct error err;

    if (findings_run(analysis, report, &request, &table, &err) != 0)
        fail_msg("%s", err.text);
    return table;
}

static void assert_same_table(const struct table *a, const struct table *b)
{
    assert_int_equal(table_row_count(a), table_row_count(b));
    assert_int_equal(table_column_count(a), table_column_count(b));
    for (size_t row = 0; row < table_row_count(a); row++)
        for (size_t c = 0; c < table_column_count(a); c++) {
            const struct table_cell *x = &table_row(a, row)[c], *y = &table_row(b, row)[c];
            assert_int_equal(x->kind, y->kind);
            if (x->kind == CELL_INT)
                assert_int_equal(x->integer, y->integer);
            else if (x->kind == CELL_TEXT)
                assert_string_equal(x->text.bytes, y->text.bytes);
        }
}

/* Reports of one command share what the rules found: the first of them runs the rules, and the others print the same
 * as without it. */
static void reports_that_share_findings_run_the_rules_once(void **state)
{
    const struct analysis *const reports[] = { analysis_find("advice_sum"), analysis_find("rule_sum"),
                                               rule_find("lock_contention"), rule_find("slow_start") };
    static const char *const rows[] = { NULL, "-1", "1" };
    struct writer *writer = mutex_capture();

    add_mutex_program(writer, 0x1040);
    add_mutex_program(writer, 0x1080);
    add_call(writer, (struct call){ "dlopen", MAIN, 100, 400, 0, 0, 0, 0 });
    struct report *report = finish(writer);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct findings_share share = { 0 };
        for (size_t j = 0; j < COUNT_OF(reports); j++) {
            struct table *shared = run_shared(report, reports[j], &share, rows[i]);
            struct table *own = run_shared(report, reports[j], NULL, rows[i]);
            assert_same_table(shared, own);
            table_delete(shared);
            table_delete(own);
        }
        assert_ptr_equal(share.report, report);
        for (size_t j = 0; j < share.findings.table_count; j++) {
            int is_printed = share.findings.tables[j].rule == reports[2] || share.findings.tables[j].rule == reports[3];
            assert_int_equal(share.findings.tables[j].table == NULL, is_printed);
        }
        assert_true(share.findings.table_count >= 2);
        findings_share_free(&share);
    }
    report_close(report);
}

/* The place of a rule in advice_sum, and its impact in ms. */
static void expect_advice(struct report *report, size_t place, const char *rule, int64_t impact)
{
    static const char outside[] = "outside of the program (listed last): ";
    enum { IMPACT, FOUND = 5, RULE, FINDING };
    struct table *table = advice_of(report);

    assert_true(place < table_row_count(table));
    assert_string_equal(table_row(table, place)[RULE].text.bytes, rule);
    assert_int_equal((table_row(table, place)[IMPACT].integer + MS(1) / 2) / MS(1), impact);
    int is_behind_smaller = place && table_row(table, place - 1)[IMPACT].integer < MS(impact);
    assert_int_equal(strncmp(table_row(table, place)[FINDING].text.bytes, outside, strlen(outside)) == 0,
                     is_behind_smaller);
    table_delete(table);
}

/* The program has enough CPUs for its threads, but others use them. */
static void causes_outside_of_the_program_come_last(void **state)
{
    struct writer *writer = mutex_capture();

    add_cpu_threads(writer, SECOND, 100, 300);
    add_call(writer, (struct call){ "pthread_mutex_lock", SECOND, 100, 200, 1, FIRST, 0x1040, 0 });
    struct report *report = finish(writer);
    expect_advice(report, 0, "lock_contention", 100);
    expect_advice(report, 1, "cpu_oversubscription", 300);
    report_close(report);
    writer = mutex_capture(); /* unless they took most of the time */
    add_cpu_threads(writer, FIRST, 300, 700);
    add_call(writer, (struct call){ "pthread_mutex_lock", SECOND, 100, 200, 1, FIRST, 0x1040, 0 });
    report = finish(writer);
    expect_advice(report, 0, "cpu_oversubscription", 700);
    expect_advice(report, 1, "lock_contention", 100);
    report_close(report);
}

/* The wait from 100 to 405 lets the GPU run dry: without it the second kernel would be launched in time and start at
 * 400, and the program end at 850 instead of 955. The wait before the first work is the start of CUDA. */
static void a_wait_costs_what_a_replay_without_it_saves(void **state)
{
    struct writer *writer = capture();

    add_cuda_call(writer, (struct cuda_call){ "cudaDeviceSynchronize_v3020", 10, 60 });
    add_launch(writer, 99, 100, 400, 1);
    add_cuda_call(writer, (struct cuda_call){ "cudaDeviceSynchronize_v3020", 100, 405 });
    add_launch(writer, 499, 500, 950, 2);
    add_cuda_call(writer, (struct cuda_call){ "cudaDeviceSynchronize_v3020", 500, 955 });
    struct report *report = finish(writer);
    expect_advice(report, 0, "result_waits", 105);
    report_close(report);
}

static void a_wait_for_a_gpu_that_works_costs_nothing(void **state)
{
    struct writer *writer = capture();

    add_launch(writer, 99, 100, 400, 1);
    add_launch(writer, 110, 400, 1000, 2);
    add_cuda_call(writer, (struct cuda_call){ "cudaStreamSynchronize_v3020", 120, 1000 });
    struct report *report = finish(writer);
    struct table *table = advice_of(report);
    assert_int_equal(table_row_count(table), 0);
    table_delete(table);
    report_close(report);
}

/* Of two processes that wait, the one that ends the run lets the GPU run dry; the other is done early. */
static void a_wait_of_a_process_that_ends_early_costs_nothing(void **state)
{
    enum { OTHER = 200 };
    struct writer *writer = capture();

    add_launch(writer, 99, 100, 400, 1);
    add_cuda_call(writer, (struct cuda_call){ "cudaDeviceSynchronize_v3020", 100, 405 });
    add_launch(writer, 499, 500, 950, 2);
    add_cuda_call(writer, (struct cuda_call){ "cudaDeviceSynchronize_v3020", 500, 955 });
    made_kernel(writer,
                (struct made_kernel){ .begin = 0, .end = MS(220), .pid = OTHER, .id = NO_ID, .name = "kernel" });
    add_call_with_id(writer, OTHER, (struct cuda_call){ "cudaDeviceSynchronize_v3020", 10, 230 }, NO_ID);
    struct report *report = finish(writer);
    expect_advice(report, 0, "result_waits", 105);
    report_close(report);
}

/* ---- what was checked ------------------------------------------------------------------------------------------ */

static void add_setting(struct writer *writer, const char *name, const char *value)
{
    struct row_META_DATA_CAPTURE row = { 0 };

    ROW_SET(&row, META_DATA_CAPTURE, name, made_string(writer, name));
    ROW_SET(&row, META_DATA_CAPTURE, value, made_string(writer, value));
    writer_append(writer, TABLE_META_DATA_CAPTURE, &row);
}

static void no_problem_and_not_checked_are_two_things(void **state)
{
    struct writer *writer = capture();

    add_process(writer, PID, 0, 0, 1000, "/usr/bin/python3.12", NULL);
    add_cuda_call(writer, (struct cuda_call){ "cudaSetDevice_v3020", 0, 100 });
    struct report *report = finish(writer);
    assert_int_equal(rule_state(&rule_cuda_api_sync, report), RULE_READY);
    assert_int_equal(rule_state(&rule_cuda_memset_sync, report), RULE_CLEAR); /* CUDA was traced: there were none */
    assert_int_equal(rule_state(&rule_gil_contention, report), RULE_UNCHECKED);
    assert_int_equal(rule_state(&rule_lock_contention, report), RULE_UNCHECKED);
    assert_int_equal(rule_state(&rule_dx12_mem_ops, report), RULE_FOREIGN);
    report_close(report);
}

static void rules_on_other_programs_do_not_apply(void **state)
{
    struct writer *writer = capture();

    add_process(writer, PID, 0, 0, 1000, "/opt/mx", NULL);
    add_setting(writer, "SOURCES", "nvtx,osrt,cuda");
    struct report *report = finish(writer);
    assert_int_equal(rule_state(&rule_gil_contention, report), RULE_FOREIGN);
    assert_int_equal(rule_state(&rule_gpu_gaps, report), RULE_FOREIGN);
    assert_int_equal(rule_state(&rule_cuda_memset_sync, report), RULE_FOREIGN);
    report_close(report);
    writer = capture();
    add_process(writer, PID, 0, 0, 1000, "/opt/mx", NULL);
    add_module(writer, "/usr/lib/libpython3.12.so.1.0", 0x1000, 0x100);
    add_setting(writer, "SOURCES", "nvtx,osrt,cudart");
    report = finish(writer);
    assert_int_equal(rule_state(&rule_gil_contention, report), RULE_UNCHECKED);
    assert_int_equal(rule_state(&rule_gpu_gaps, report), RULE_FOREIGN); /* CUDA was not traced, but nothing loads it */
    report_close(report);
}

/* A capture of OS calls. module: a library that the program loaded; NULL: the report has none at all. */
static struct report *traced_without_cuda(const char *module)
{
    struct writer *writer = capture();

    add_process(writer, PID, 0, 0, 1000, "/opt/mx", NULL);
    if (module) {
        add_module(writer, "/usr/lib/x86_64-linux-gnu/libc.so.6", 0x1000, 0x100);
        add_module(writer, module, 0x2000, 0x100);
    }
    add_setting(writer, "SOURCES", "osrt");
    return finish(writer);
}

static void libraries_say_which_rules_apply(void **state)
{
    static const struct {
        const char *module;
        enum rule_state cuda, metrics, torch, mpi;
    } cases[] = {
        { "/opt/libmx.so", RULE_FOREIGN, RULE_FOREIGN, RULE_FOREIGN, RULE_FOREIGN },
        { "/opt/libcudart_of_mx.so", RULE_FOREIGN, RULE_FOREIGN, RULE_FOREIGN, RULE_FOREIGN },
        { "/usr/lib/x86_64-linux-gnu/libcuda.so.550.54", RULE_UNCHECKED, RULE_UNCHECKED, RULE_FOREIGN, RULE_FOREIGN },
        { "/usr/local/cuda/lib64/libcudart.so.12", RULE_UNCHECKED, RULE_UNCHECKED, RULE_FOREIGN, RULE_FOREIGN },
        { "/opt/torch/lib/libtorch_cpu.so", RULE_FOREIGN, RULE_FOREIGN, RULE_FOREIGN, RULE_FOREIGN }, /* no GPU */
        { NULL, RULE_UNCHECKED, RULE_UNCHECKED, RULE_UNCHECKED, RULE_FOREIGN },
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct report *report = traced_without_cuda(cases[i].module);
        print_message("%s\n", cases[i].module ? cases[i].module : "no modules");
        assert_int_equal(rule_state(&rule_gpu_gaps, report), cases[i].cuda);
        assert_int_equal(rule_state(&rule_low_sm_activity, report), cases[i].metrics);
        assert_int_equal(rule_state(&rule_data_loader, report), cases[i].torch);
        assert_int_equal(rule_state(&rule_straggler, report), cases[i].mpi);
        assert_int_equal(rule_state(&rule_lock_contention, report), RULE_UNCHECKED); /* any program may have locks */
        report_close(report);
    }
}

/* A rank that loads MPI, whose calls were not recorded. */
static void a_rank_without_calls_of_mpi_is_not_checked(void **state)
{
    struct writer *writer = capture();
    struct row_TACHO_MODEL model = { 0 };

    ROW_SET(&model, TACHO_MODEL, model, made_string(writer, "OpenMP"));
    writer_append(writer, TABLE_TACHO_MODEL, &model);
    struct report *report = finish(writer);
    assert_int_equal(rule_state(&rule_straggler, report), RULE_FOREIGN);
    report_close(report);
    writer = capture();
    ROW_SET(&model, TACHO_MODEL, model, made_string(writer, "MPI"));
    writer_append(writer, TABLE_TACHO_MODEL, &model);
    report = finish(writer);
    assert_int_equal(rule_state(&rule_straggler, report), RULE_UNCHECKED);
    report_close(report);
}

/* A CUDA program whose work was recorded: rules on PyTorch have data, but say something only where it is loaded. */
static void rules_on_pytorch_are_for_programs_that_load_it(void **state)
{
    static const char *const modules[] = { "/opt/libmx.so", "/opt/torch/lib/libtorch_python.so", NULL };

    for (size_t i = 0; i < COUNT_OF(modules); i++) {
        struct writer *writer = capture();
        struct row_CUPTI_ACTIVITY_KIND_KERNEL kernel = { 0 };
        add_cuda_call(writer, (struct cuda_call){ "cudaLaunchKernel_v7000", 0, 100 });
        writer_append(writer, TABLE_CUPTI_ACTIVITY_KIND_KERNEL, &kernel);
        if (modules[i])
            add_module(writer, modules[i], 0x1000, 0x100);
        struct report *report = finish(writer);
        assert_int_equal(rule_state(&rule_launch_bound, report), RULE_READY);
        assert_int_equal(rule_state(&rule_straggler, report), RULE_FOREIGN); /* kernels of one process are no ranks */
        assert_int_equal(rule_state(&rule_unused_autograd, report), i ? RULE_READY : RULE_FOREIGN);
        report_close(report);
    }
}

/* A training loop that samples of Python have seen: nothing was collected and nothing compiled. */
static struct report *sampled_training(int watches_collections)
{
    struct writer *writer = capture();
    struct row_CUPTI_ACTIVITY_KIND_KERNEL kernel = { 0 };
    struct row_TACHO_TORCH_METADATA version = { 0 };

    add_process(writer, PID, 0, 0, 1000, "/usr/bin/python3.12", NULL);
    add_cuda_call(writer, (struct cuda_call){ "cudaLaunchKernel_v7000", 0, 100 });
    writer_append(writer, TABLE_CUPTI_ACTIVITY_KIND_KERNEL, &kernel);
    ROW_SET(&version, TACHO_TORCH_METADATA, name, made_string(writer, "tacho.torchVersion"));
    writer_append(writer, TABLE_TACHO_TORCH_METADATA, &version);
    add_python(writer, PID, 10, GIL_HELD, 1);
    if (watches_collections)
        add_setting(writer, "PYTHON_COLLECTIONS", "sampled");
    return finish(writer);
}

static void events_of_python_are_checked_by_samples(void **state)
{
    struct report *report = sampled_training(1);

    assert_int_equal(rule_state(&rule_garbage_collection, report), RULE_CLEAR);
    assert_int_equal(rule_state(&rule_recompilations, report), RULE_READY);
    assert_int_equal(rule_state(&rule_graph_breaks, report), RULE_READY);
    report_close(report);
    report = sampled_training(0); /* of an older Tacho */
    assert_int_equal(rule_state(&rule_garbage_collection, report), RULE_UNCHECKED);
    assert_int_equal(rule_state(&rule_recompilations, report), RULE_READY);
    report_close(report);
}

/* Rules without data name the option that records it. */
static void options_that_record_are_known(void **state)
{
    assert_string_equal(analysis_need_option(&rule_lock_contention.needs[0]), "--trace=osrt");
    assert_string_equal(analysis_need_option(&rule_gil_contention.needs[0]), "--python-sampling=true");
    assert_string_equal(analysis_need_option(&rule_cpu_oversubscription.needs[0]), "--cpuctxsw=process-tree");
    assert_string_equal(analysis_need_option(&rule_cuda_api_sync.needs[0]), "--trace=cuda");
    assert_null(analysis_need_option(&rule_dx12_mem_ops.needs[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_with_more_to_do_is_found),
        cmocka_unit_test(only_threads_that_do_the_same_can_be_even),
        cmocka_unit_test(equal_work_is_even),
        cmocka_unit_test(a_wait_for_a_lock_is_no_uneven_work),
        cmocka_unit_test(a_contended_lock_has_a_holder_and_a_line),
        cmocka_unit_test(a_holder_can_be_in_a_call),
        cmocka_unit_test(a_lock_changes_hands_when_a_wait_ends),
        cmocka_unit_test(a_holder_can_wait_for_another_lock),
        cmocka_unit_test(a_lock_is_named_by_its_variable),
        cmocka_unit_test(readers_can_hold_a_lock),
        cmocka_unit_test(a_lock_of_a_library_has_no_critical_section),
        cmocka_unit_test(short_waits_and_waits_for_work_are_no_contention),
        cmocka_unit_test(io_that_keeps_the_program_waiting_is_found),
        cmocka_unit_test(a_socket_is_no_file),
        cmocka_unit_test(a_thread_without_a_cpu_does_not_wait_for_io),
        cmocka_unit_test(io_beside_work_is_not),
        cmocka_unit_test(a_read_that_waits_for_input_is_not),
        cmocka_unit_test(threads_that_wait_for_the_gil_are_found),
        cmocka_unit_test(threads_that_take_turns_are_told_apart),
        cmocka_unit_test(a_holder_is_named_for_one_thread),
        cmocka_unit_test(threads_without_a_cpu_are_found),
        cmocka_unit_test(a_machine_with_idle_cpus_is_not_oversubscribed),
        cmocka_unit_test(a_process_has_the_name_of_its_last_program),
        cmocka_unit_test(processes_of_others_are_no_findings),
        cmocka_unit_test(many_short_processes_are_found),
        cmocka_unit_test(what_a_parent_spends_on_processes_counts),
        cmocka_unit_test(a_slow_start_is_found),
        cmocka_unit_test(imports_without_a_bytecode_cache_are_told_apart),
        cmocka_unit_test(pinned_memory_is_no_initialization),
        cmocka_unit_test(loading_of_libraries_is_found),
        cmocka_unit_test(the_largest_impact_comes_first),
        cmocka_unit_test(reports_that_share_findings_run_the_rules_once),
        cmocka_unit_test(causes_outside_of_the_program_come_last),
        cmocka_unit_test(a_wait_of_a_process_that_ends_early_costs_nothing),
        cmocka_unit_test(a_wait_for_a_gpu_that_works_costs_nothing),
        cmocka_unit_test(a_wait_costs_what_a_replay_without_it_saves),
        cmocka_unit_test(no_problem_and_not_checked_are_two_things),
        cmocka_unit_test(rules_on_other_programs_do_not_apply),
        cmocka_unit_test(libraries_say_which_rules_apply),
        cmocka_unit_test(a_rank_without_calls_of_mpi_is_not_checked),
        cmocka_unit_test(rules_on_pytorch_are_for_programs_that_load_it),
        cmocka_unit_test(events_of_python_are_checked_by_samples),
        cmocka_unit_test(options_that_record_are_known),
    };

    return cmocka_run_group_tests_name("analyze_cpu_rules", tests, make_path, remove_path);
}
