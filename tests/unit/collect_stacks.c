/* Stacks are in the file while it grows: rounds of naming driven tick by tick, and the unfinished file read after each.
 * trace/killed_stacks does the same with a collector that is killed. */
#include "made_report.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "until.h"

#include "analyze/engine/event_columns.h"
#include "collect/capture/capture_new.h"
#include "collect/collect.h"
#include "collect/sources/stacks/stack_rows.h"

#define stacks_source collect_sources[COLLECT_SOURCE_STACKS]

static struct collect_options options;
static struct collect_result capture_result;
static struct capture *capture;
static struct symbols_process *space;
static int64_t samples;

__attribute__((noinline)) static void first_function(void)
{
    __asm__ volatile("nop; nop; nop; nop");
}

__attribute__((noinline)) static void second_function(void)
{
    __asm__ volatile("nop; nop; nop; nop; nop");
}

static void begin(void)
{
    capture = capture_new(&options, &capture_result);
    capture->collector.writer = start();
    stacks_source->begin(&capture->collector, 0);
    space = symbols_process_new(stacks_symbols(&capture->collector), getpid());
    samples = 0;
}

static struct report *end(void)
{
    struct writer *writer = capture->collector.writer;
    stacks_source->finish(&capture->collector);
    SOURCES_CALL(free, &capture->collector);
    capture_free(capture);
    return finish(writer);
}

/* A sample with the innermost of these addresses first. */
static int64_t sample_in(struct symbols_process *process, const void *inner, const void *outer)
{
    const uint64_t addresses[] = { (uint64_t)inner + 4, (uint64_t)outer + 4 };
    const struct symbols_chain chain = { addresses, 2, 0, SYMBOLS_BY_FRAME_POINTER };
    uint32_t stack = symbols_stack_from_chain(process, &chain).stack;
    assert_int_not_equal(stack, SYMBOLS_NO_STACK);
    stacks_sample(&capture->collector, ++samples, stack);
    return samples;
}

static struct report *read_now(void)
{
    struct report *report = NULL;
    struct error err;
    if (writer_flush(capture->collector.writer, &err) != 0 || report_open(path, &report, &err) != 0)
        fail_msg("%s", err.text);
    return report;
}

/* The names of a sample's stack with spaces between them, innermost first; "" if there is none. */
static void stack_in(struct report *report, int64_t id, char *text, size_t size)
{
    static const char *const names[] = { "id", "symbol" };
    struct report_columns rows = { 0 };
    struct error err;
    size_t length = 0;
    *text = 0;
    if (!report_table(report, "SAMPLING_CALLCHAINS"))
        return;
    assert_int_equal(columns_read(report, "SAMPLING_CALLCHAINS", names, 2, &rows, &err), 0);
    for (size_t i = 0; i < rows.rows; i++)
        if (rows.values[0][i] == id)
            length += (size_t)snprintf(text + length, size - length, "%s%s", length ? " " : "",
                                       report_string(report, rows.values[1][i], NULL));
    report_columns_free(&rows);
}

static int is_in_file(int64_t id, const char *wanted)
{
    char text[256];
    struct report *report = read_now();
    stack_in(report, id, text, sizeof text);
    report_close(report);
    return strcmp(text, wanted) == 0;
}

static void expect(int64_t id, const char *wanted)
{
    char text[256];
    struct report *report = read_now();
    stack_in(report, id, text, sizeof text);
    report_close(report);
    assert_string_equal(text, wanted);
}

/* Ticks until the sample is in the file: a round of naming ends when its thread does. */
static void tick_until(int64_t id)
{
    uint64_t before = writer_rows(capture->collector.writer, TABLE_SAMPLING_CALLCHAINS);
    WAIT_UNTIL(writer_rows(capture->collector.writer, TABLE_SAMPLING_CALLCHAINS) != before) {
        capture->collector.ticks++;
        stacks_source->tick(&capture->collector);
    }
    assert_false(is_in_file(id, ""));
}

static void ticks(int count)
{
    while (count-- > 0) {
        capture->collector.ticks++;
        stacks_source->tick(&capture->collector);
    }
}

static void stacks_are_in_a_file_that_grows(void **state)
{
    begin();
    int64_t first = sample_in(space, first_function, first_function);
    expect(first, "");
    tick_until(first);
    expect(first, "first_function first_function");
    /* The next has a new frame, the one after it none. */
    int64_t second = sample_in(space, second_function, first_function);
    tick_until(second);
    expect(second, "second_function first_function");
    int64_t third = sample_in(space, first_function, second_function);
    tick_until(third);
    expect(third, "first_function second_function");
    int64_t last = sample_in(space, first_function, first_function);
    expect(last, "");
    struct report *report = end();
    char text[256];
    for (int64_t id = first; id <= last; id++) {
        stack_in(report, id, text, sizeof text);
        assert_string_equal(text, id == second  ? "second_function first_function"
                                  : id == third ? "first_function second_function"
                                                : "first_function first_function");
    }
    assert_int_equal(report_table(report, "SAMPLING_CALLCHAINS")->rows, 8);
    report_close(report);
}

/* Up to two of a hundred written ones: names are read for three. A round that runs is waited for, so that none is
 * missed. */
static void a_few_stacks_wait_for_names(void **state)
{
    enum { KNOWN = 100 };
    int64_t known = 0;
    begin();
    for (int i = 0; i < KNOWN; i++)
        known = sample_in(space, first_function, first_function);
    tick_until(known);
    int64_t rare = sample_in(space, second_function, first_function);
    sample_in(space, second_function, first_function);
    ticks(10);
    symbols_naming_end(stacks_symbols(&capture->collector));
    ticks(10);
    expect(rare, "");
    sample_in(space, second_function, first_function);
    tick_until(rare);
    expect(rare, "second_function first_function");
    report_close(end());
}

/* ---- Code that is made at run time ------------------------------------------------------------------------------ */

static const void *const made = (const void *)UINT64_C(0x700000001000);
static pid_t child;
static char map_path[64];

/* The kernel fills it last: until then exec() is under way, and the process looks like ours or like none. */
static int has_own_environment(pid_t pid)
{
    char environ_path[64], first[32] = "";
    snprintf(environ_path, sizeof environ_path, "/proc/%d/environ", (int)pid);
    FILE *file = fopen(environ_path, "r");
    size_t length = file ? fread(first, 1, sizeof first - 1, file) : 0;
    if (file)
        fclose(file);
    return length && strncmp(first, "JAVA_TOOL_OPTIONS=", strlen("JAVA_TOOL_OPTIONS=")) == 0;
}

/* A process that waits, with this option of Java's in its environment, and code that is in no file. */
static struct symbols_process *begin_child(const char *java_options)
{
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char variable[128];
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* it ends with the test, whatever fails */
        snprintf(variable, sizeof variable, "JAVA_TOOL_OPTIONS=%s", java_options);
        execle("/bin/sleep", "sleep", "1000", NULL, (char *[]){ variable, NULL });
        _exit(127);
    }
    WAIT_UNTIL(has_own_environment(child))
        ;
    snprintf(map_path, sizeof map_path, "/tmp/perf-%d.map", (int)child);
    struct symbols_process *process = symbols_process_new(stacks_symbols(&capture->collector), child);
    const struct symbols_mapping mapping = { .address = (uint64_t)made, .bytes = 4096, .path = "//anon" };
    assert_int_equal(symbols_process_map(process, &mapping), 0);
    return process;
}

static void write_map(void)
{
    FILE *map = fopen(map_path, "w");
    assert_non_null(map);
    fprintf(map, "%llx 1000 made_function\n", (unsigned long long)made);
    fclose(map);
}

static void end_child(struct symbols_process *process)
{
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    symbols_process_end(process);
}

static void names_that_come_at_exit_are_waited_for(void **state)
{
    begin();
    struct symbols_process *process = begin_child("-XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit");
    int64_t waits = sample_in(process, made, made), other = sample_in(space, first_function, first_function);
    tick_until(other);
    ticks(50);
    expect(waits, "");
    write_map();
    end_child(process);
    tick_until(waits);
    unlink(map_path);
    expect(waits, "made_function made_function");
    report_close(end());
}

static void other_code_does_not_wait_for_its_names(void **state)
{
    begin();
    struct symbols_process *process = begin_child("");
    int64_t before = sample_in(process, made, made);
    tick_until(before);
    expect(before, "0x700000001004 0x700000001004");
    write_map();
    int64_t after = before; /* some are written while the thread still reads the map */
    WAIT_UNTIL(is_in_file(after, "made_function made_function"))
        tick_until(after = sample_in(process, made, made));
    end_child(process);
    unlink(map_path);
    report_close(end());
}

static void samples_without_names_are_told_of(void **state)
{
    struct process node = { .name = "node" };
    begin();
    struct symbols_process *process = begin_child("");
    for (int i = 0; i < 30; i++)
        sample_in(i < 25 ? process : space, i < 25 ? made : (const void *)first_function, first_function);
    capture_result = (struct collect_result){ .cpu.samples = 30 };
    end_child(process);
    capture->processes.first = &node;
    stacks_source->finish(&capture->collector);
    capture->processes.first = NULL;
    assert_int_equal(capture_result.warning_count, 1);
    assert_non_null(strstr(capture_result.warnings[0], "25 of 30 samples"));
    assert_non_null(strstr(capture_result.warnings[0], "node --perf-basic-prof"));
    assert_null(strstr(capture_result.warnings[0], "java"));
    collect_result_free(&capture_result);
    report_close(end());
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(stacks_are_in_a_file_that_grows),
                                        cmocka_unit_test(a_few_stacks_wait_for_names),
                                        cmocka_unit_test(names_that_come_at_exit_are_waited_for),
                                        cmocka_unit_test(other_code_does_not_wait_for_its_names),
                                        cmocka_unit_test(samples_without_names_are_told_of) };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
