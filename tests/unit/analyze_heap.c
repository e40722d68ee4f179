/* heap_sum and heap_growth on blocks whose figures are worked out by hand. */
#include <stdio.h>

#include "analyze/registry.h"
#include "cmd/print/print.h"
#include "made_report.h"

enum { PID = 100, OTHER = 200 };

static void allocate(struct writer *writer, int64_t time_ns, int64_t pid, int64_t tid, int64_t number, int64_t bytes,
                     double represents, int64_t thread_bytes)
{
    struct row_TACHO_HEAP_ALLOCATION row = { 0 };

    ROW_SET(&row, TACHO_HEAP_ALLOCATION, start, time_ns);
    ROW_SET(&row, TACHO_HEAP_ALLOCATION, globalTid, made_thread(pid, tid));
    ROW_SET(&row, TACHO_HEAP_ALLOCATION, blockId, number);
    ROW_SET(&row, TACHO_HEAP_ALLOCATION, bytes, bytes);
    ROW_SET(&row, TACHO_HEAP_ALLOCATION, represents, represents);
    ROW_SET(&row, TACHO_HEAP_ALLOCATION, threadBytes, thread_bytes);
    writer_append(writer, TABLE_TACHO_HEAP_ALLOCATION, &row);
}

static void set_free(struct writer *writer, int64_t time_ns, int64_t pid, int64_t tid, int64_t number,
                     int64_t thread_bytes)
{
    struct row_TACHO_HEAP_FREE row = { 0 };

    ROW_SET(&row, TACHO_HEAP_FREE, start, time_ns);
    ROW_SET(&row, TACHO_HEAP_FREE, globalTid, made_thread(pid, tid));
    ROW_SET(&row, TACHO_HEAP_FREE, blockId, number);
    if (thread_bytes >= 0)
        ROW_SET(&row, TACHO_HEAP_FREE, threadBytes, thread_bytes);
    writer_append(writer, TABLE_TACHO_HEAP_FREE, &row);
}

static void end_program(struct writer *writer, int64_t pid, int64_t image, int64_t start_ns, int64_t end_ns)
{
    struct row_TACHO_PROCESS row = { 0 };

    ROW_SET(&row, TACHO_PROCESS, start, start_ns);
    ROW_SET(&row, TACHO_PROCESS, end, end_ns);
    ROW_SET(&row, TACHO_PROCESS, globalPid, made_thread(pid, 0));
    ROW_SET(&row, TACHO_PROCESS, image, image);
    writer_append(writer, TABLE_TACHO_PROCESS, &row);
}

static void expect(struct report *report, const char *name, const char *option, const char *value, const char *expected)
{
    const struct analysis_option options[] = { { option, value }, { "threads", NULL } };
    struct analysis_request request = { .options = option ? options : options + 1,
                                        .option_count = strcmp(name, "heap_sum") ? 1
                                                        : option                 ? 2
                                                                                 : 1 };
    struct table *table;
    struct error err;
    struct text out = { 0 };

    if (analysis_run(analysis_find(name), report, &request, &table, &err) != 0)
        fail_msg("%s: %s", name, err.text);
    print_csv.table(&out, table, &(struct print_request){ .time = &time_unit_ns });
    assert_string_equal(text_string(&out), expected);
    text_free(&out);
    table_delete(table);
}

#define HEAD                                                                                              \
    "Share (%),At Peak (B),Blocks At Peak,Allocated (B),Allocations,Temporary,Never Freed (B),Blocks Never " \
    "Freed,Where,Call\n"

/* Thread 1 holds 1000 bytes from 10 to 90, and has a temporary block of 50 at 20. Thread 2 has 300 bytes from 40 on,
 * which nobody frees. Block 3 of thread 1 is freed by thread 2: it is not temporary. */
static void blocks_of_threads(void **state)
{
    struct writer *writer = start();

    allocate(writer, 10, PID, 1, 1, 1000, 1, 0);
    allocate(writer, 20, PID, 1, 2, 50, 1, 1000);
    set_free(writer, 21, PID, 1, 2, 1050);
    allocate(writer, 40, PID, 2, 4, 300, 1, 0);
    allocate(writer, 50, PID, 1, 3, 70, 1, 1050);
    set_free(writer, 51, PID, 2, 3, 300);
    set_free(writer, 90, PID, 1, 1, 1120);
    end_program(writer, PID, 0, 0, 100);
    struct report *report = finish(writer);

    expect(report, "heap_sum", NULL, NULL,
           HEAD "78.1,1070,2,1120,3,1,0,0,1,\n"
                "21.9,300,1,300,1,0,300,1,2,\n");
    expect(report, "heap_sum", "leaks", NULL, HEAD "100.0,300,1,300,1,0,300,1,2,\n");
    expect(report, "heap_sum", "temporary", NULL, HEAD "100.0,1070,2,1120,3,1,0,0,1,\n");
    expect(report, "heap_growth", "parts", "3",
           "Time (ns),Alive (B),Highest (B),Allocated (B),Freed (B),Allocations,Frees\n"
           "40,1300,1300,1350,50,3,1\n"
           "70,1300,1370,70,70,1,1\n"
           "100,0,1300,0,1300,0,2\n");
    report_close(report);
}

/* A sampled block stands for 2.5 of its size. */
static void samples_stand_for_others(void **state)
{
    struct writer *writer = start();

    allocate(writer, 10, PID, 1, 1, 1000, 2.5, 0);
    allocate(writer, 20, PID, 1, 2, 400, 5, 2500);
    set_free(writer, 30, PID, 1, 2, -1);
    struct report *report = finish(writer);

    expect(report, "heap_sum", NULL, NULL, HEAD "100.0,4500,8,4500,8,0,2500,3,1,\n");
    report_close(report);
}

/* The program that follows in a process counts its blocks from 1 again: the free at 60 is of its own block. What the
 * first one did not free was gone at 50, so both were never there at once. */
static void programs_of_one_process(void **state)
{
    struct writer *writer = start();

    allocate(writer, 10, PID, 1, 1, 1000, 1, 0);
    allocate(writer, 55, PID, 1, 1, 800, 1, 0);
    set_free(writer, 60, PID, 1, 1, 800);
    allocate(writer, 70, PID, 1, 2, 10, 1, 800);
    end_program(writer, PID, 0, 0, 50);
    end_program(writer, PID, 1, 50, 100);
    struct report *report = finish(writer);

    expect(report, "heap_sum", NULL, NULL, HEAD "100.0,1000,1,1810,3,1,1010,2,1,\n");
    report_close(report);
}

/* The same number in another process is another block. */
static void processes_add_up(void **state)
{
    struct writer *writer = start();

    allocate(writer, 10, PID, 1, 1, 1000, 1, 0);
    allocate(writer, 20, OTHER, 1, 1, 500, 1, 0);
    set_free(writer, 30, OTHER, 1, 1, 500);
    set_free(writer, 40, PID, 1, 1, 1000);
    struct report *report = finish(writer);

    expect(report, "heap_sum", NULL, NULL,
           HEAD "66.7,1000,1,1000,1,1,0,0,1,\n"
                "33.3,500,1,500,1,1,0,0,1,\n");
    report_close(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_of_threads),
        cmocka_unit_test(samples_stand_for_others),
        cmocka_unit_test(programs_of_one_process),
        cmocka_unit_test(processes_add_up),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
