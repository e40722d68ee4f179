/* The chain of threads that set the wall time, on captures made by hand. All times are in ms; the program is process 1,
 * and its main thread is 1. */
#include "analyze/model/wall/wall_lines.h"
#include "analyze/model/wall/wall_path.h"
#include "base/array.h"
#include "made_report.h"

#include <stdio.h>

enum { MS = 1000000, MAIN = 1, BLOCKED = 7, PREEMPTED = 6 };

static const struct filter whole;

static void process(struct writer *writer, int64_t pid, int64_t parent, int64_t start, int64_t end)
{
    struct row_TACHO_PROCESS row = { 0 };

    ROW_SET(&row, TACHO_PROCESS, start, start * MS);
    ROW_SET(&row, TACHO_PROCESS, end, end * MS);
    ROW_SET(&row, TACHO_PROCESS, globalPid, made_thread(pid, 0));
    if (parent)
        ROW_SET(&row, TACHO_PROCESS, parentGlobalPid, made_thread(parent, 0));
    writer_append(writer, TABLE_TACHO_PROCESS, &row);
}

static void thread(struct writer *writer, int64_t pid, int64_t tid, int64_t start, int64_t end)
{
    struct row_TACHO_THREAD row = { 0 };

    ROW_SET(&row, TACHO_THREAD, start, start * MS);
    ROW_SET(&row, TACHO_THREAD, end, end * MS);
    ROW_SET(&row, TACHO_THREAD, globalTid, made_thread(pid, tid));
    writer_append(writer, TABLE_TACHO_THREAD, &row);
}

struct made_wait {
    int64_t pid, tid, start, end;
    const char *name;
    int64_t holder, result;
};

static void os_call(struct writer *writer, struct made_wait wait)
{
    struct row_OSRT_API row = { 0 };

    ROW_SET(&row, OSRT_API, start, wait.start * MS);
    ROW_SET(&row, OSRT_API, end, wait.end * MS);
    ROW_SET(&row, OSRT_API, eventClass, 27);
    ROW_SET(&row, OSRT_API, globalTid, made_thread(wait.pid, wait.tid));
    ROW_SET(&row, OSRT_API, nameId, made_string(writer, wait.name));
    ROW_SET(&row, OSRT_API, returnValue, wait.result);
    if (wait.holder)
        ROW_SET(&row, OSRT_API, lockHolder, made_thread(wait.pid, wait.holder));
    writer_append(writer, TABLE_OSRT_API, &row);
}

static void off_cpu(struct writer *writer, int64_t pid, int64_t tid, int64_t start, int64_t end, int64_t state)
{
    for (int is_in = 0; is_in <= 1; is_in++) {
        struct row_SCHED_EVENTS row = { 0 };
        ROW_SET(&row, SCHED_EVENTS, start, (is_in ? end : start) * MS);
        ROW_SET(&row, SCHED_EVENTS, cpu, 0);
        ROW_SET(&row, SCHED_EVENTS, isSchedIn, is_in);
        ROW_SET(&row, SCHED_EVENTS, globalTid, made_thread(pid, tid));
        ROW_SET(&row, SCHED_EVENTS, threadState, is_in ? 1 : state);
        writer_append(writer, TABLE_SCHED_EVENTS, &row);
    }
}

/* "runs 1 0-10, sleeps 1 10-30": kind, thread and time of each piece. Checks that there is no gap. */
static const char *part_of_chain(struct writer *writer, const struct filter *filter)
{
    static const char *const kinds[WALL_KINDS] = {
        [WALL_RUNS] = "runs",     [WALL_READY] = "ready", [WALL_SLEEPS] = "sleeps", [WALL_IO] = "reads",
        [WALL_EVENTS] = "events", [WALL_LOCKS] = "locks", [WALL_WAITS] = "waits",
    };
    static char out[4096];
    struct report *report = finish(writer);
    struct wall_path chain;
    struct error err;
    size_t used = 0;

    if (wall_path_read(&chain, report, filter, &err) != 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < chain.count && used + 64 < sizeof out; i++) {
        const struct wall_piece *piece = &chain.list[i];
        if (i)
            assert_int_equal(piece->from_ns, chain.list[i - 1].to_ns);
        used += (size_t)sprintf(out + used, "%s%s %d %d-%d", i ? ", " : "", kinds[piece->kind],
                                (int)(piece->thread & 0xffffff), (int)(piece->from_ns / MS), (int)(piece->to_ns / MS));
    }
    wall_path_free(&chain);
    report_close(report);
    return out;
}

static const char *chain_of(struct writer *writer)
{
    return part_of_chain(writer, &whole);
}

static struct writer *start_program(int64_t end)
{
    struct writer *writer = start();

    process(writer, 1, 0, 0, end);
    thread(writer, 1, MAIN, 0, end);
    return writer;
}

static void a_thread_works_and_sleeps(void **state)
{
    struct writer *writer = start_program(100);

    os_call(writer, (struct made_wait){ 1, MAIN, 10, 30, "clock_nanosleep", 0, 0 });
    os_call(writer, (struct made_wait){ 1, MAIN, 40, 60, "read", 0, 0 });
    assert_string_equal(chain_of(writer), "runs 1 0-10, sleeps 1 10-30, runs 1 30-40, reads 1 40-60, runs 1 60-100");
}

static void a_filter_keeps_a_part_of_the_chain(void **state)
{
    static const struct report_span span = { 20 * MS, 35 * MS };
    static const struct filter part = { .span = &span };
    struct writer *writer = start_program(100);

    os_call(writer, (struct made_wait){ 1, MAIN, 10, 30, "clock_nanosleep", 0, 0 });
    assert_string_equal(part_of_chain(writer, &part), "sleeps 1 20-30, runs 1 30-35");
}

static void time_without_a_cpu_is_told_apart(void **state)
{
    struct writer *writer = start_program(100);

    off_cpu(writer, 1, MAIN, 10, 30, PREEMPTED);
    off_cpu(writer, 1, MAIN, 50, 60, BLOCKED);
    assert_string_equal(chain_of(writer), "runs 1 0-10, ready 1 10-30, runs 1 30-50, waits 1 50-60, runs 1 60-100");
}

static void queued(struct writer *writer, int64_t waits, int64_t queue)
{
    struct row_TACHO_THREAD_SCHED row = { 0 };

    ROW_SET(&row, TACHO_THREAD_SCHED, globalTid, made_thread(1, MAIN));
    ROW_SET(&row, TACHO_THREAD_SCHED, runNs, 40 * MS);
    ROW_SET(&row, TACHO_THREAD_SCHED, queueNs, queue * MS);
    writer_append(writer, TABLE_TACHO_THREAD_SCHED, &row);
    for (int64_t i = 0; i < waits; i++)
        off_cpu(writer, 1, MAIN, 10 + 4 * i, 10 + 4 * i + (i ? 3 : 1), BLOCKED);
}

/* The kernel knows that the thread stood in run queues for 31 ms: 1 of them after the shortest of its 16 waits, which
 * was not longer, and 2 after each other one. Of three waits it does not say enough. */
static void threads_that_were_woken_wait_for_a_cpu(void **state)
{
    struct writer *writer = start_program(100);

    queued(writer, 16, 31);
    const char *chain = chain_of(writer);
    static const char
        begin[] = "runs 1 0-10, ready 1 10-11, runs 1 11-14, waits 1 14-15, ready 1 15-17, runs 1 17-18, ";
    assert_memory_equal(chain, begin, sizeof begin - 1);
    assert_non_null(strstr(chain, "waits 1 70-71, ready 1 71-73, runs 1 73-100"));
    writer = start_program(100);
    queued(writer, 3, 7);
    assert_null(strstr(chain_of(writer), "ready"));
}

/* The main thread waits for the slower of two. */
static void a_joined_thread_is_the_chain(void **state)
{
    struct writer *writer = start_program(100);

    thread(writer, 1, 2, 10, 40);
    thread(writer, 1, 3, 12, 80);
    os_call(writer, (struct made_wait){ 1, MAIN, 20, 81, "pthread_join", 0, 0 });
    os_call(writer, (struct made_wait){ 1, 3, 30, 50, "nanosleep", 0, 0 });
    assert_string_equal(chain_of(writer),
                        "runs 1 0-12, runs 3 12-30, sleeps 3 30-50, runs 3 50-80, waits 1 80-81, runs 1 81-100");
}

/* Thread 2 holds the lock while it sleeps. */
static void the_holder_of_a_lock_is_the_chain(void **state)
{
    struct writer *writer = start_program(100);

    thread(writer, 1, 2, 0, 100);
    os_call(writer, (struct made_wait){ 1, MAIN, 20, 70, "pthread_mutex_lock", 2, 0 });
    os_call(writer, (struct made_wait){ 1, 2, 10, 69, "usleep", 0, 0 });
    assert_string_equal(chain_of(writer), "runs 2 0-10, sleeps 2 10-69, runs 2 69-70, runs 1 70-100");
}

/* The holder of when the wait began has ended. Thread 3 had the lock after it. */
static void a_lock_goes_on_to_others(void **state)
{
    struct writer *writer = start_program(100);

    thread(writer, 1, 2, 0, 40);
    thread(writer, 1, 3, 0, 100);
    os_call(writer, (struct made_wait){ 1, MAIN, 10, 80, "pthread_mutex_lock", 2, 0 });
    os_call(writer, (struct made_wait){ 1, 3, 12, 40, "pthread_mutex_lock", 2, 0 });
    os_call(writer, (struct made_wait){ 1, 3, 80, 95, "nanosleep", 0, 0 });
    assert_string_equal(chain_of(writer), "runs 2 0-40, runs 3 40-80, runs 1 80-100");
}

/* A condition says nothing of who signals it: thread 3 was at work last, and is asleep when the main thread has a CPU
 * again. */
static void the_thread_that_worked_last_ended_the_wait(void **state)
{
    struct writer *writer = start_program(100);

    thread(writer, 1, 2, 0, 100);
    thread(writer, 1, 3, 0, 100);
    os_call(writer, (struct made_wait){ 1, MAIN, 20, 70, "pthread_cond_wait", 0, 0 });
    os_call(writer, (struct made_wait){ 1, 2, 5, 95, "pthread_cond_wait", 0, 0 });
    os_call(writer, (struct made_wait){ 1, 3, 68, 90, "nanosleep", 0, 0 });
    assert_string_equal(chain_of(writer), "runs 3 0-68, waits 1 68-70, runs 1 70-100");
}

/* A shell waits for the second of its children. The end of a process is known later than its parent goes on. */
static void a_child_is_the_chain(void **state)
{
    struct writer *writer = start_program(100);

    process(writer, 2, 1, 10, 30);
    thread(writer, 2, 2, 10, 30);
    process(writer, 3, 1, 12, 83);
    thread(writer, 3, 3, 12, 83);
    os_call(writer, (struct made_wait){ 1, MAIN, 13, 80, "waitpid", 0, 3 });
    assert_string_equal(chain_of(writer), "runs 1 0-12, runs 3 12-80, runs 1 80-100");
}

/* What a process becomes by exec() goes on with its life. */
static void a_program_goes_on_after_exec(void **state)
{
    struct writer *writer = start();

    process(writer, 1, 0, 0, 20);
    process(writer, 1, 0, 20, 100);
    thread(writer, 1, MAIN, 0, 20);
    thread(writer, 1, MAIN, 25, 100);
    assert_string_equal(chain_of(writer), "runs 1 0-100");
}

/* A pipe ends with the child that wrote to it, which had slept. */
static void a_pipe_leads_to_the_child(void **state)
{
    struct writer *writer = start_program(100);

    process(writer, 2, 1, 10, 70);
    thread(writer, 2, 2, 10, 70);
    os_call(writer, (struct made_wait){ 1, MAIN, 15, 69, "read", 0, 0 });
    os_call(writer, (struct made_wait){ 2, 2, 20, 69, "nanosleep", 0, 0 });
    assert_string_equal(chain_of(writer), "runs 1 0-10, runs 2 10-20, sleeps 2 20-69, runs 1 69-100");
}

/* A file is not a pipe: whoever works meanwhile has nothing to do with it. */
static void a_disk_is_waited_for(void **state)
{
    struct writer *writer = start_program(100);

    process(writer, 2, 1, 10, 100);
    thread(writer, 2, 2, 10, 100);
    os_call(writer, (struct made_wait){ 1, MAIN, 15, 69, "fsync", 0, 0 });
    assert_string_equal(chain_of(writer), "runs 1 0-15, reads 1 15-69, runs 1 69-100");
}

/* A server without clients, and its idle threads. */
static void nobody_ends_a_wait_for_the_world(void **state)
{
    struct writer *writer = start_program(100);

    thread(writer, 1, 2, 0, 100);
    os_call(writer, (struct made_wait){ 1, MAIN, 10, 90, "epoll_wait", 0, 0 });
    os_call(writer, (struct made_wait){ 1, 2, 5, 95, "pthread_cond_wait", 0, 0 });
    assert_string_equal(chain_of(writer), "runs 1 0-10, events 1 10-90, runs 1 90-100");
}

/* The main thread of a server waits, and the one that serves works for 40 of 80 ms. A tenth would be housekeeping. */
static void the_thread_that_serves_is_the_chain(void **state)
{
    struct writer *writer = start_program(100);

    thread(writer, 1, 2, 0, 100);
    os_call(writer, (struct made_wait){ 1, MAIN, 10, 90, "epoll_wait", 0, 0 });
    os_call(writer, (struct made_wait){ 1, 2, 5, 30, "epoll_wait", 0, 0 });
    os_call(writer, (struct made_wait){ 1, 2, 50, 60, "epoll_wait", 0, 0 });
    os_call(writer, (struct made_wait){ 1, 2, 80, 95, "epoll_wait", 0, 0 });
    assert_string_equal(chain_of(writer), "runs 1 0-10, events 1 10-30, runs 2 30-50, events 1 50-60, runs 2 60-80, "
                                          "events 1 80-90, runs 1 90-100");
    writer = start_program(100);
    thread(writer, 1, 2, 0, 100);
    os_call(writer, (struct made_wait){ 1, MAIN, 10, 90, "epoll_wait", 0, 0 });
    os_call(writer, (struct made_wait){ 1, 2, 5, 30, "epoll_wait", 0, 0 });
    os_call(writer, (struct made_wait){ 1, 2, 37, 95, "epoll_wait", 0, 0 });
    assert_string_equal(chain_of(writer), "runs 1 0-10, events 1 10-90, runs 1 90-100");
    writer = start_program(100);
    thread(writer, 1, 2, 0, 50);
    os_call(writer, (struct made_wait){ 1, MAIN, 10, 90, "epoll_wait", 0, 0 });
    os_call(writer, (struct made_wait){ 1, 2, 5, 30, "epoll_wait", 0, 0 });
    assert_string_equal(chain_of(writer), "runs 1 0-10, events 1 10-30, runs 2 30-50, events 1 50-90, runs 1 90-100");
}

/* Processes that wait for each other, and threads that do. */
static void a_circle_ends(void **state)
{
    struct writer *writer = start_program(100);

    process(writer, 2, 1, 10, 100);
    thread(writer, 2, 2, 10, 100);
    thread(writer, 1, 3, 0, 100);
    os_call(writer, (struct made_wait){ 1, MAIN, 20, 90, "read", 0, 0 });
    os_call(writer, (struct made_wait){ 2, 2, 20, 90, "read", 0, 0 });
    os_call(writer, (struct made_wait){ 1, 3, 20, 90, "pthread_mutex_lock", 1, 0 });
    assert_non_null(strstr(chain_of(writer), "runs 1 90-100"));
}

/* ---- lines ------------------------------------------------------------------------------------------------------ */

struct made_frame {
    const char *function, *module, *source;
    int64_t line; /* 0: neither it nor the source is known */
};

/* The innermost frame comes first. */
static void stack(struct writer *writer, int64_t pid, int64_t at, const struct made_frame *frames, size_t count)
{
    struct row_COMPOSITE_EVENTS row = { 0 };

    ROW_SET(&row, COMPOSITE_EVENTS, id, at);
    ROW_SET(&row, COMPOSITE_EVENTS, start, at * MS);
    ROW_SET(&row, COMPOSITE_EVENTS, globalTid, made_thread(pid, pid));
    ROW_SET(&row, COMPOSITE_EVENTS, cpuCycles, 1);
    writer_append(writer, TABLE_COMPOSITE_EVENTS, &row);
    for (size_t i = 0; i < count; i++) {
        struct row_SAMPLING_CALLCHAINS frame = { 0 };
        ROW_SET(&frame, SAMPLING_CALLCHAINS, id, at);
        ROW_SET(&frame, SAMPLING_CALLCHAINS, symbol, made_string(writer, frames[i].function));
        ROW_SET(&frame, SAMPLING_CALLCHAINS, module, made_string(writer, frames[i].module));
        ROW_SET(&frame, SAMPLING_CALLCHAINS, stackDepth, (int64_t)i);
        if (frames[i].line) {
            ROW_SET(&frame, SAMPLING_CALLCHAINS, sourceFile, made_string(writer, frames[i].source));
            ROW_SET(&frame, SAMPLING_CALLCHAINS, sourceLine, frames[i].line);
        }
        writer_append(writer, TABLE_SAMPLING_CALLCHAINS, &frame);
    }
}

static void sample(struct writer *writer, int64_t pid, int64_t at, const char *function, const char *module,
                   int64_t line)
{
    stack(writer, pid, at, &(struct made_frame){ function, module, "/src/own.c", line }, 1);
}

/* "prepare (own.c:7); -": where each line is, in the order in which it comes; "-" for programs without lines. */
static const char *lines_of(struct writer *writer)
{
    static char out[512];
    struct report *report = finish(writer);
    struct wall_lines lines;
    struct error err;
    struct text where = { 0 };

    if (wall_lines_read(&lines, report, &whole, &err) != 0)
        fail_msg("%s", err.text);
    for (uint32_t i = 0; i < lines.keys.count; i++) {
        text_add(&where, i ? "; " : "");
        if (lines.list[i].place < 0)
            text_add_char(&where, '-');
        wall_line_where(&where, &lines, &lines.list[i]);
    }
    snprintf(out, sizeof out, "%s", text_string(&where));
    text_free(&where);
    wall_lines_free(&lines);
    report_close(report);
    return out;
}

/* A compiler that the program starts has functions, but they are nobody's own code. What a program that runs scripts
 * is made of is not, either. */
static void functions_of_other_programs_are_no_lines(void **state)
{
    static const struct {
        const char *module;
        int64_t line;
        const char *lines;
    } roots[] = { { "/opt/own", 7, "prepare (own.c:7); -" },
                  { "/opt/own", 0, "prepare (own); -" },
                  { "/usr/bin/bash", 0, "-; -" },
                  { "/usr/bin/python3.11", 0, "-; -" },
                  { "/opt/nodes", 0, "prepare (nodes); -" } };

    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        struct writer *writer = start_program(100);
        process(writer, 2, 1, 50, 100);
        thread(writer, 2, 2, 50, 100);
        os_call(writer, (struct made_wait){ 1, MAIN, 50, 100, "waitpid", 0, 2 });
        for (int64_t at = 5; at < 100; at += 10)
            sample(writer, at < 50 ? 1 : 2, at, at < 50 ? "prepare" : "xmalloc", at < 50 ? roots[i].module : "/bin/cc1",
                   at < 50 ? roots[i].line : 0);
        assert_string_equal(lines_of(writer), roots[i].lines);
    }
}

/* Libraries of headers and crates of Rust are in the program, and are not its own code. */
static void code_of_others_in_the_program_is_no_line(void **state)
{
    static const struct {
        struct made_frame frames[3];
        const char *lines;
    } stacks[] = {
        { { { "std::map::insert()", "/opt/own", "/usr/include/c++/12/bits/stl_map.h", 3 },
            { "json::parse()", "/opt/own", "/opt/json/include/json.hpp", 5 },
            { "load()", "/opt/own", "/src/own.cpp", 7 } },
          "load() (own.cpp:7)" },
        { { { "std::map::insert()", "/opt/own", "/usr/include/c++/12/bits/stl_map.h", 3 },
            { "json::parse()", "/opt/own", "/opt/json/include/json.hpp", 5 },
            { "__libc_start_main", "/lib/libc.so.6", "", 0 } },
          "json::parse() (json.hpp:5)" },
        { { { "alloc::vec::Vec<T>::push", "/opt/my-own", "/rustc/5980/library/alloc/src/vec/mod.rs", 3 },
            { "regex::Regex::new", "/opt/my-own", "src/regex/string.rs", 5 },
            { "my_own::is_error", "/opt/my-own", "src/main.rs", 7 } },
          "my_own::is_error (main.rs:7)" },
        { { { "regex::Regex::new", "/opt/my-own", "src/regex/string.rs", 5 },
            { "<my_own::Line as core::str::FromStr>::from_str", "/opt/my-own", "src/main.rs", 9 },
            { "main", "/opt/my-own", "", 0 } },
          "<my_own::Line as core::str::FromStr>::from_str (main.rs:9)" },
        { { { "regex::Regex::new", "/opt/renamed", "src/regex/string.rs", 5 },
            { "my_own::is_error", "/opt/renamed", "src/main.rs", 7 },
            { "main", "/opt/renamed", "", 0 } },
          "regex::Regex::new (string.rs:5)" },
    };

    for (size_t i = 0; i < COUNT_OF(stacks); i++) {
        struct writer *writer = start_program(100);
        for (int64_t at = 5; at < 100; at += 10)
            stack(writer, 1, at, stacks[i].frames, COUNT_OF(stacks[i].frames));
        assert_string_equal(lines_of(writer), stacks[i].lines);
    }
}

static void a_report_without_an_end_has_no_chain(void **state)
{
    struct writer *writer = start();
    struct wall_path chain;
    struct error err;

    thread(writer, 1, MAIN, 0, 100);
    struct report *report = finish(writer);
    assert_int_equal(wall_path_read(&chain, report, &whole, &err), ERR_NO_DATA);
    report_close(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_works_and_sleeps),
        cmocka_unit_test(a_filter_keeps_a_part_of_the_chain),
        cmocka_unit_test(time_without_a_cpu_is_told_apart),
        cmocka_unit_test(threads_that_were_woken_wait_for_a_cpu),
        cmocka_unit_test(a_joined_thread_is_the_chain),
        cmocka_unit_test(the_holder_of_a_lock_is_the_chain),
        cmocka_unit_test(a_lock_goes_on_to_others),
        cmocka_unit_test(the_thread_that_worked_last_ended_the_wait),
        cmocka_unit_test(a_child_is_the_chain),
        cmocka_unit_test(a_program_goes_on_after_exec),
        cmocka_unit_test(a_pipe_leads_to_the_child),
        cmocka_unit_test(a_disk_is_waited_for),
        cmocka_unit_test(nobody_ends_a_wait_for_the_world),
        cmocka_unit_test(the_thread_that_serves_is_the_chain),
        cmocka_unit_test(a_circle_ends),
        cmocka_unit_test(functions_of_other_programs_are_no_lines),
        cmocka_unit_test(code_of_others_in_the_program_is_no_line),
        cmocka_unit_test(a_report_without_an_end_has_no_chain),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
