/* process_sum, and the reports on OS calls that were too short for events, on captures made by hand. Times are in ms.
 */
#include <stdio.h>

#include "analyze/registry.h"
#include "cmd/print/print.h"
#include "made_report.h"

enum { MS = 1000000 };

struct made_program {
    int64_t pid, image, parent, start, end, cpu;
    const char *exe, *command, *origin, *ending;
};

static void program(struct writer *writer, struct made_program made)
{
    struct row_TACHO_PROCESS row = { 0 };

    ROW_SET(&row, TACHO_PROCESS, start, made.start * MS);
    if (made.end)
        ROW_SET(&row, TACHO_PROCESS, end, made.end * MS);
    ROW_SET(&row, TACHO_PROCESS, globalPid, made_thread(made.pid, 0));
    ROW_SET(&row, TACHO_PROCESS, image, made.image);
    if (made.parent)
        ROW_SET(&row, TACHO_PROCESS, parentGlobalPid, made_thread(made.parent, 0));
    if (made.exe)
        ROW_SET(&row, TACHO_PROCESS, exe, made_string(writer, made.exe));
    if (made.command)
        ROW_SET(&row, TACHO_PROCESS, command, made_string(writer, made.command));
    ROW_SET(&row, TACHO_PROCESS, origin, made_string(writer, made.origin));
    ROW_SET(&row, TACHO_PROCESS, ending, made_string(writer, made.ending));
    if (made.cpu)
        ROW_SET(&row, TACHO_PROCESS, cpuNs, made.cpu * MS);
    writer_append(writer, TABLE_TACHO_PROCESS, &row);
}

static void thread(struct writer *writer, int64_t pid, int64_t start, int64_t end)
{
    struct row_TACHO_THREAD row = { 0 };

    ROW_SET(&row, TACHO_THREAD, start, start * MS);
    ROW_SET(&row, TACHO_THREAD, end, end * MS);
    ROW_SET(&row, TACHO_THREAD, globalTid, made_thread(pid, pid));
    writer_append(writer, TABLE_TACHO_THREAD, &row);
}

static void call(struct writer *writer, int64_t pid, int64_t start, int64_t end, const char *name, int64_t result)
{
    struct row_OSRT_API row = { 0 };

    ROW_SET(&row, OSRT_API, start, start * MS);
    ROW_SET(&row, OSRT_API, end, end * MS);
    ROW_SET(&row, OSRT_API, eventClass, 27);
    ROW_SET(&row, OSRT_API, globalTid, made_thread(pid, pid));
    ROW_SET(&row, OSRT_API, nameId, made_string(writer, name));
    ROW_SET(&row, OSRT_API, returnValue, result);
    if (result < 0)
        ROW_SET(&row, OSRT_API, errnoValue, 2);
    writer_append(writer, TABLE_OSRT_API, &row);
}

struct made_short {
    int64_t pid, image;
    const char *name;
    int64_t count, failed, us, bytes;
};

static void short_call(struct writer *writer, struct made_short made)
{
    struct row_TACHO_SHORT_CALL row = { 0 };

    ROW_SET(&row, TACHO_SHORT_CALL, globalPid, made_thread(made.pid, 0));
    ROW_SET(&row, TACHO_SHORT_CALL, image, made.image);
    ROW_SET(&row, TACHO_SHORT_CALL, nameId, made_string(writer, made.name));
    ROW_SET(&row, TACHO_SHORT_CALL, count, made.count);
    ROW_SET(&row, TACHO_SHORT_CALL, failed, made.failed);
    ROW_SET(&row, TACHO_SHORT_CALL, duration, made.us * 1000);
    if (made.bytes)
        ROW_SET(&row, TACHO_SHORT_CALL, bytes, made.bytes);
    writer_append(writer, TABLE_TACHO_SHORT_CALL, &row);
}

/* make starts a compiler and then an assembler, and waits for each. Before exec, the first child was still make. */
static struct report *made_build(void)
{
    struct writer *writer = start();

    program(writer, (struct made_program){ 1, 0, 0, 0, 0, 0, "/usr/bin/make", "make -j2", "launch", "running" });
    program(writer, (struct made_program){ 2, 0, 1, 10, 12, 1, "/usr/bin/make", "make -j2", "fork", "exec" });
    program(writer,
            (struct made_program){ 2, 1, 1, 12, 60, 40, "/opt/other", "'/opt/my tools/cc1' -O2", "exec", "exit" });
    program(writer, (struct made_program){ 3, 0, 1, 62, 90, 20, "/usr/bin/as", NULL, "found", "exit" });
    program(writer, (struct made_program){ 1, 0, 0, 0, 100, 5, "/usr/bin/make", "make -j2", "launch", "exit" });
    thread(writer, 1, 0, 100);
    thread(writer, 2, 10, 60);
    thread(writer, 3, 62, 90);
    call(writer, 1, 10, 61, "wait4", 2);
    call(writer, 2, 11, 11, "write", 300);
    call(writer, 2, 20, 20, "read", 500);
    call(writer, 2, 21, 21, "read", -1);
    call(writer, 1, 62, 91, "wait4", 3);
    call(writer, 3, 70, 70, "sendfile", 70);
    short_call(writer, (struct made_short){ 2, 1, "read", 3, 0, 2, 30 });
    short_call(writer, (struct made_short){ 2, 0, "write", 2, 1, 1, 20 });
    short_call(writer, (struct made_short){ 2, 1, "read", 1, 1, 1, 0 });
    return finish(writer);
}

static struct table *table_of(struct report *report, const char *name, const struct analysis_request *request)
{
    struct table *table;
    struct error err;

    if (analysis_run(analysis_find(name), report, request, &table, &err) != 0)
        fail_msg("%s: %s", name, err.text);
    return table;
}

static void expect(struct report *report, const char *name, const struct analysis_request *request,
                   const char *expected)
{
    struct table *table = table_of(report, name, request);
    struct text out = { 0 };

    print_csv.table(&out, table, &(struct print_request){ .time = &time_unit_ns });
    assert_string_equal(text_string(&out), expected);
    text_free(&out);
    table_delete(table);
}

static const struct analysis_request plain;

/* The chain is make for 0 to 10, cc1 for 10 to 60, make for 60 to 62, as for 62 to 90, and make again. */
static void commands_are_in_the_order_of_what_set_the_time(void **state)
{
    struct report *report = made_build();

    expect(report, "process_sum", &plain,
           "Critical Path (%),Path Time (ns),CPU Time (ns),Wall Time (ns),Read (B),Written (B),Processes,Command\n"
           "50.0,50000000,41000000,50000000,530,320,1,cc1\n"
           "28.0,28000000,20000000,28000000,70,70,1,as\n"
           "22.0,22000000,5000000,100000000,0,0,1,make\n");
    report_close(report);
}

static void each_process_has_its_command_line(void **state)
{
    const struct analysis_option processes = { "processes", NULL };
    const struct analysis_request request = { .options = &processes, .option_count = 1 };
    struct report *report = made_build();

    expect(report, "process_sum", &request,
           "Critical Path (%),Path Time (ns),CPU Time (ns),Wall Time (ns),Read (B),Written (B),Start (ns),PID,"
           "Parent PID,Command\n"
           "50.0,50000000,41000000,50000000,530,320,12000000,2,1,'/opt/my tools/cc1' -O2\n"
           "28.0,28000000,20000000,28000000,70,70,62000000,3,1,as\n"
           "22.0,22000000,5000000,100000000,0,0,0,1,,make -j2\n");
    report_close(report);
}

static void only_trees_have_the_table_by_default(void **state)
{
    enum { ROOM = 60 };
    const struct analysis *defaults[ROOM];

    for (int64_t count = 3; count <= 4; count++) {
        struct writer *writer = start();
        for (int64_t pid = 1; pid <= count; pid++)
            program(writer, (struct made_program){ pid, 0, 1, 0, 1, 1, "/bin/a", "a", "exec", "exit" });
        struct report *report = finish(writer);
        int found = 0;
        for (size_t i = 0; i < analysis_defaults_for_people(report, defaults, ROOM, NULL); i++)
            found |= defaults[i] == analysis_find("process_sum");
        assert_int_equal(found, count == 4);
        report_close(report);
    }
}

#define CALLS "Time (%),Total Time (ns),Avg (ns),Calls,Errors,Short Calls,Name\n"

static void all_calls_are_counted(void **state)
{
    struct report *report = made_build();

    expect(report, "osrt_call_sum", &plain,
           CALLS "100.0,80000000,40000000.0,2,0,0,wait4\n"
                 "0.0,3000,500.0,6,2,4,read\n"
                 "0.0,1000,333.3,3,1,2,write\n"
                 "0.0,0,0.0,1,0,0,sendfile\n");
    report_close(report);
}

/* Nobody knows when short calls were: a part of the time has none. Their process is known. */
static void parts_of_a_capture(void **state)
{
    const struct report_span span = { 15 * MS, 30 * MS };
    const struct analysis_filter other = { .only = ONLY_PID, .pid = 3 }, own = { .only = ONLY_PID, .pid = 2 };
    struct report *report = made_build();

    expect(report, "osrt_call_sum", &(struct analysis_request){ .span = &span },
           CALLS "100.0,51000000,51000000.0,1,0,0,wait4\n"
                 "0.0,0,0.0,2,1,0,read\n");
    expect(report, "osrt_call_sum", &(struct analysis_request){ .filter = &other }, CALLS "0.0,0,0.0,1,0,0,sendfile\n");
    expect(report, "osrt_call_sum", &(struct analysis_request){ .filter = &own },
           CALLS "75.0,3000,500.0,6,2,4,read\n"
                 "25.0,1000,333.3,3,1,2,write\n");
    report_close(report);
}

static void expect_note(struct report *report, const struct analysis_request *request, const char *expected)
{
    struct table *table = table_of(report, "osrt_sum", request);

    assert_string_equal(table_note(table), expected);
    table_delete(table);
}

static void a_note_says_what_osrt_sum_lacks(void **state)
{
    const struct report_span span = { 15 * MS, 30 * MS };
    struct report *report = made_build();

    expect_note(report, &plain,
                "Without calls too short for events: 4 × read (3.00 µs), 2 × write (1.00 µs); osrt_call_sum counts "
                "them.");
    expect_note(report, &(struct analysis_request){ .span = &span }, "");
    report_close(report);
}

/* The names with most calls, and the sum of the others. */
static void a_note_names_a_few(void **state)
{
    struct writer *writer = start();
    char name[8];

    call(writer, 1, 1, 2, "poll", 1);
    for (int64_t i = 0; i < 6; i++) {
        snprintf(name, sizeof name, "f%d", (int)i);
        short_call(writer, (struct made_short){ 1, 0, name, 1000 * (i + 1), 0, 1, 0 });
    }
    struct report *report = finish(writer);
    expect_note(report, &plain,
                "Without calls too short for events: 6,000 × f5 (1.00 µs), 5,000 × f4 (1.00 µs), 4,000 × f3 (1.00 µs), "
                "3,000 × f2 (1.00 µs), 3,000 × 2 others (2.00 µs); osrt_call_sum counts them.");
    report_close(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_are_in_the_order_of_what_set_the_time),
        cmocka_unit_test(each_process_has_its_command_line),
        cmocka_unit_test(only_trees_have_the_table_by_default),
        cmocka_unit_test(all_calls_are_counted),
        cmocka_unit_test(parts_of_a_capture),
        cmocka_unit_test(a_note_says_what_osrt_sum_lacks),
        cmocka_unit_test(a_note_names_a_few),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
