/* The reports cuda_stream_wait and cuda_gpu_busy on small captures made by hand: corners that no
 * real capture at hand has. */
#include <stdio.h>
#include <string.h>

#include "analyze/registry.h"
#include "cmd/print/print.h"
#include "made_report.h"

static int64_t process(int64_t pid)
{
    return (int64_t)(UINT64_C(1) << 48 | (uint64_t)pid << 24);
}

/* A kernel, and the call that launched it, which began 5 before it returned. */
struct kernel {
    int64_t begin, end, pid, id, stream, returned;
    const char *name;
};

static void kernel(struct writer *writer, struct kernel k)
{
    struct row_CUPTI_ACTIVITY_KIND_KERNEL row = { 0 };
    struct row_CUPTI_ACTIVITY_KIND_RUNTIME call = { 0 };

    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, start, k.begin);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, end, k.end);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, deviceId, 0);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, contextId, 1);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, streamId, k.stream);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, correlationId, k.id);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, globalPid, process(k.pid));
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, demangledName, writer_string(writer, k.name, strlen(k.name)));
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, shortName, writer_string(writer, k.name, strlen(k.name)));
    writer_append(writer, TABLE_CUPTI_ACTIVITY_KIND_KERNEL, &row);
    if (!k.returned)
        return;
    ROW_SET(&call, CUPTI_ACTIVITY_KIND_RUNTIME, start, k.returned - 5);
    ROW_SET(&call, CUPTI_ACTIVITY_KIND_RUNTIME, end, k.returned);
    ROW_SET(&call, CUPTI_ACTIVITY_KIND_RUNTIME, globalTid, process(k.pid) + 1);
    ROW_SET(&call, CUPTI_ACTIVITY_KIND_RUNTIME, correlationId, k.id);
    ROW_SET(&call, CUPTI_ACTIVITY_KIND_RUNTIME, nameId, writer_string(writer, "cudaLaunchKernel", 16));
    writer_append(writer, TABLE_CUPTI_ACTIVITY_KIND_RUNTIME, &call);
}

static void record(struct writer *writer, int64_t pid, int64_t stream, int64_t id, int64_t sync_id)
{
    struct row_CUPTI_ACTIVITY_KIND_CUDA_EVENT row = { 0 };

    ROW_SET(&row, CUPTI_ACTIVITY_KIND_CUDA_EVENT, contextId, 1);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_CUDA_EVENT, streamId, stream);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_CUDA_EVENT, correlationId, id);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_CUDA_EVENT, globalPid, process(pid));
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_CUDA_EVENT, eventId, 9);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_CUDA_EVENT, eventSyncId, sync_id);
    writer_append(writer, TABLE_CUPTI_ACTIVITY_KIND_CUDA_EVENT, &row);
}

static void wait_for(struct writer *writer, int64_t begin, int64_t type, int64_t pid, int64_t stream, int64_t id,
                     int64_t sync_id)
{
    struct row_CUPTI_ACTIVITY_KIND_SYNCHRONIZATION row = { 0 };

    ROW_SET(&row, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, start, begin);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, end, begin + 2);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, deviceId, 0);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, contextId, 1);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, streamId, stream);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, correlationId, id);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, globalPid, process(pid));
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, syncType, type);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, eventId, 9);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, eventSyncId, sync_id);
    writer_append(writer, TABLE_CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, &row);
}

static void expect(struct report *report, const char *name, const struct analysis_request *request,
                   const char *expected)
{
    struct print_request style = { .time = &time_unit_ns };
    struct text out = { 0 };
    struct table *table;
    struct error err;

    if (analysis_run(analysis_find(name), report, request, &table, &err) != 0)
        fail_msg("%s", err.text);
    print_csv.table(&out, table, &style);
    assert_string_equal(strchr(text_string(&out), '\n') + 1, expected); /* without the heading */
    table_delete(table);
    text_free(&out);
}

/* Ids of calls say what came before what: kernel b was launched after the record and is not waited for, though it ended
 * first; kernel y runs first but was launched before the wait. */
static void order_is_that_of_the_calls(void **state)
{
    struct analysis_request all = { 0 };
    struct writer *writer = start();

    kernel(writer, (struct kernel){ 100, 500, 1, 1, 7, 20, "a" });
    record(writer, 1, 7, 2, 40);
    kernel(writer, (struct kernel){ 500, 510, 1, 3, 7, 40, "b" });
    kernel(writer, (struct kernel){ 60, 90, 1, 4, 8, 50, "y" });
    wait_for(writer, 52, 2, 1, 8, 5, 40);
    kernel(writer, (struct kernel){ 503, 600, 1, 6, 8, 70, "z" }); /* could have run at 90, when y was done */
    kernel(writer, (struct kernel){ 600, 700, 1, 7, 8, 80, "later" });
    struct report *report = finish(writer);
    expect(report, "cuda_stream_wait", &all, "413,52,1,0,8,503,z,7,500,a,3,9\n");
    report_close(report);
}

static void waits_that_hold_nothing_up(void **state)
{
    struct analysis_request all = { 0 };
    struct writer *writer = start();

    kernel(writer, (struct kernel){ 100, 200, 1, 1, 7, 20, "a" });
    record(writer, 1, 7, 2, 40);
    wait_for(writer, 300, 2, 1, 8, 3, 40);          /* the other stream is done already */
    kernel(writer, (struct kernel){ 340, 400, 1, 4, 8, 330, "z" });
    wait_for(writer, 310, 2, 1, 9, 5, 40);          /* nothing comes after it */
    wait_for(writer, 320, 2, 1, 8, 6, 77);          /* the event was recorded before the capture */
    record(writer, 1, 11, 7, 41);
    wait_for(writer, 325, 2, 1, 8, 8, 41);          /* of a stream that had no work */
    kernel(writer, (struct kernel){ 450, 460, 1, 9, 8, 440, "w" });
    wait_for(writer, 500, 2, 1, 8, 10, 4294967295); /* no event at all */
    wait_for(writer, 510, 3, 1, 8, 11, 40);         /* not a stream that waits */
    wait_for(writer, 520, 2, 1, 9, 12, 77);         /* both again: an unknown event, and a stream without work */
    record(writer, 1, 11, 13, 42);
    wait_for(writer, 530, 2, 1, 9, 14, 42);         /* a stream without work is recorded on again */
    struct report *report = finish(writer);
    expect(report, "cuda_stream_wait", &all,
           "0,300,1,0,8,340,z,7,200,a,140,9\n"
           ",310,1,0,9,,,7,200,a,,9\n"
           ",320,1,0,8,450,w,,,,,9\n"
           ",325,1,0,8,450,w,11,,,,9\n"
           ",520,1,0,9,,,,,,,9\n"
           ",530,1,0,9,,,11,,,,9\n");
    report_close(report);
}

/* Ids are counted anew in every process; and one kernel may wait for two streams. */
static void processes_and_several_waits(void **state)
{
    struct analysis_filter second = { .only = ONLY_PID, .pid = 2 };
    struct analysis_request all = { 0 }, of_second = { .filter = &second };
    struct writer *writer = start();

    for (int64_t pid = 1; pid <= 2; pid++) {
        kernel(writer, (struct kernel){ 100, 200 * pid, pid, 1, 7, 20, "a" });
        record(writer, pid, 7, 2, 40);
        kernel(writer, (struct kernel){ 100, 150, pid, 3, 6, 30, "b" });
        record(writer, pid, 6, 4, 41);
        wait_for(writer, 40 + pid, 2, pid, 8, 5, 40);
        wait_for(writer, 50 + pid, 2, pid, 8, 6, 41);
        kernel(writer, (struct kernel){ 200 * pid + 1, 1000, pid, 7, 8, 60, "z" });
    }
    struct report *report = finish(writer);
    const char *of_2 = "341,42,2,0,8,401,z,7,400,a,1,9\n341,52,2,0,8,401,z,6,150,b,251,9\n";
    char expected[400];
    snprintf(expected, sizeof expected, "%s141,41,1,0,8,201,z,7,200,a,1,9\n141,51,1,0,8,201,z,6,150,b,51,9\n", of_2);
    expect(report, "cuda_stream_wait", &all, expected);
    expect(report, "cuda_stream_wait", &of_second, of_2);
    report_close(report);
}

/* Of a span of time only what lies in it counts; work of several processes counts once where it overlaps. */
static void busy_time_of_a_span(void **state)
{
    struct report_span span = { 150, 450 };
    struct analysis_filter first = { .only = ONLY_PID, .pid = 1 };
    struct analysis_request all = { 0 }, part = { .span = &span }, of_first = { .filter = &first };
    struct writer *writer = start();

    kernel(writer, (struct kernel){ 400, 500, 1, 3, 7, 0, "c" }); /* not in order of time */
    kernel(writer, (struct kernel){ 100, 200, 1, 1, 7, 0, "a" });
    kernel(writer, (struct kernel){ 180, 300, 2, 2, 7, 0, "b" });
    kernel(writer, (struct kernel){ 190, 195, 2, 4, 8, 0, "d" });
    struct report *report = finish(writer);
    expect(report, "cuda_gpu_busy", &all, "75.0,300,400,4,100,500,100,300,0,\n");
    expect(report, "cuda_gpu_busy", &part, "66.7,200,300,4,150,450,100,300,0,\n");
    expect(report, "cuda_gpu_busy", &of_first, "50.0,200,400,2,100,500,200,200,0,\n");
    report_close(report);
}

/* A span of no length, and ends before their starts, as a damaged file may have them. */
static void times_that_make_no_sense(void **state)
{
    struct analysis_request all = { 0 };
    struct writer *writer = start();

    kernel(writer, (struct kernel){ 100, 50, 1, 1, 7, 0, "a" });
    struct report *report = finish(writer);
    expect(report, "cuda_gpu_busy", &all, ",0,0,1,100,100,,,0,\n");
    report_close(report);
    writer = start();
    kernel(writer, (struct kernel){ INT64_MIN, INT64_MAX, 1, 1, 7, 0, "a" });
    kernel(writer, (struct kernel){ INT64_MAX, INT64_MIN, 1, 2, 7, 0, "a" });
    report = finish(writer);
    struct table *table;
    struct error err;
    assert_int_equal(analysis_run(analysis_find("cuda_gpu_busy"), report, &all, &table, &err), 0);
    table_delete(table);
    report_close(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_is_that_of_the_calls),  cmocka_unit_test(waits_that_hold_nothing_up),
        cmocka_unit_test(processes_and_several_waits), cmocka_unit_test(busy_time_of_a_span),
        cmocka_unit_test(times_that_make_no_sense),
    };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
