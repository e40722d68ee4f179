/* What the last lines of `tacho profile` say about GPUs, from reports made here; the
 * figures were worked out by hand. */
#include <stdio.h>
#include <string.h>

#include "cmd/profile/summary.h"
#include "made_report.h"

#define US INT64_C(1000)
#define MS INT64_C(1000000)

static void kernel(struct writer *writer, int64_t begin, int64_t end, int64_t pid, int64_t device, const char *name)
{
    made_kernel(writer,
                (struct made_kernel){ begin, end, pid, NO_ID, device, 7, .name = "long<name>(int)", .brief = name });
}

static void copy(struct writer *writer, int64_t begin, int64_t end, int64_t kind, int64_t bytes)
{
    made_copy(writer, (struct made_memory){ begin, end, NO_ID, bytes, kind, NO_ID, NO_ID });
}

static void fill(struct writer *writer, int64_t begin, int64_t end, int64_t bytes)
{
    made_fill(writer, (struct made_memory){ begin, end, NO_ID, .bytes = bytes, .kind = NO_ID });
}

static void graph(struct writer *writer, int64_t begin, int64_t end)
{
    struct row_CUPTI_ACTIVITY_KIND_GRAPH_TRACE row = { 0 };

    ROW_SET(&row, CUPTI_ACTIVITY_KIND_GRAPH_TRACE, start, begin);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_GRAPH_TRACE, end, end);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_GRAPH_TRACE, deviceId, 0);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_GRAPH_TRACE, globalPid, made_thread(1, 0));
    writer_append(writer, TABLE_CUPTI_ACTIVITY_KIND_GRAPH_TRACE, &row);
}

static void gpu(struct writer *writer, int64_t id, const char *name)
{
    struct row_TARGET_INFO_GPU row = { 0 };

    ROW_SET(&row, TARGET_INFO_GPU, id, id);
    ROW_SET(&row, TARGET_INFO_GPU, name, writer_string(writer, name, strlen(name)));
    writer_append(writer, TABLE_TARGET_INFO_GPU, &row);
}

/* What a process calls device `number` is this GPU. */
static void device(struct writer *writer, int64_t pid, int64_t number, int64_t gpu_id)
{
    struct row_TARGET_INFO_CUDA_DEVICE row = { 0 };

    ROW_SET(&row, TARGET_INFO_CUDA_DEVICE, gpuId, gpu_id);
    ROW_SET(&row, TARGET_INFO_CUDA_DEVICE, cudaId, number);
    ROW_SET(&row, TARGET_INFO_CUDA_DEVICE, pid, pid);
    writer_append(writer, TABLE_TARGET_INFO_CUDA_DEVICE, &row);
}

static void range(struct writer *writer, int64_t begin, int64_t end, const char *text)
{
    struct row_NVTX_EVENTS row = { 0 };

    ROW_SET(&row, NVTX_EVENTS, start, begin);
    ROW_SET(&row, NVTX_EVENTS, end, end);
    ROW_SET(&row, NVTX_EVENTS, eventType, 59);
    ROW_SET(&row, NVTX_EVENTS, text, writer_string(writer, text, strlen(text)));
    ROW_SET(&row, NVTX_EVENTS, globalTid, made_thread(1, 1));
    writer_append(writer, TABLE_NVTX_EVENTS, &row);
}

static void operator_row(struct writer *writer, int64_t begin, int64_t end, const char *name, const char *category)
{
    struct row_TACHO_TORCH_OP row = { 0 };

    ROW_SET(&row, TACHO_TORCH_OP, start, begin);
    ROW_SET(&row, TACHO_TORCH_OP, end, end);
    ROW_SET(&row, TACHO_TORCH_OP, globalTid, made_thread(1, 1));
    ROW_SET(&row, TACHO_TORCH_OP, nameId, writer_string(writer, name, strlen(name)));
    ROW_SET(&row, TACHO_TORCH_OP, category, writer_string(writer, category, strlen(category)));
    writer_append(writer, TABLE_TACHO_TORCH_OP, &row);
}

static void wait_call(struct writer *writer, int64_t begin, int64_t end)
{
    struct row_OSRT_API row = { 0 };

    ROW_SET(&row, OSRT_API, start, begin);
    ROW_SET(&row, OSRT_API, end, end);
    ROW_SET(&row, OSRT_API, eventClass, 27);
    ROW_SET(&row, OSRT_API, globalTid, made_thread(1, 1));
    ROW_SET(&row, OSRT_API, nameId, writer_string(writer, "poll", 4));
    writer_append(writer, TABLE_OSRT_API, &row);
}

static struct text out;

/* The lines for a report; lines is their number. */
static const char *close_with(struct report *report, struct collect_result *result, size_t *lines)
{
    struct summary_request request = { .result = result,
                                       .report = report,
                                       .report_path = "r.tacho",
                                       .program = "p",
                                       .expected = cmd_source_bit(&cmd_source_cuda) };

    text_clear(&out);
    summary_add(&out, &request);
    report_close(report);
    *lines = 0;
    for (const char *at = text_string(&out); *at; at++)
        *lines += *at == '\n';
    return text_string(&out);
}

static void expect_line(const char *text, const char *line)
{
    struct text whole = { 0 };

    text_addf(&whole, "\n%s\n", line);
    if (!strstr(text, text_string(&whole)))
        fail_msg("no line is\n%s\nin\n%s", line, text);
    text_free(&whole);
}

static void expect_no(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("'%s' is in\n%s", part, text);
}

/* Busy: 0–0.5, 1–3.5 (two kernels side by side), 4–5 and 6–6.26 ms are 4.26 of 6.26 ms. Rows
 * are not in order of time. */
static void one_gpu(void **state)
{
    struct collect_result result = { .captured_ns = 10 * MS };
    struct writer *writer = start();
    size_t lines;

    gpu(writer, 0, "Made-up GPU");
    kernel(writer, 4 * MS, 5 * MS, 1, 0, "gemm");
    kernel(writer, 1 * MS, 3 * MS, 1, 0, "gemm");
    kernel(writer, 2 * MS, 3500 * US, 1, 0, "add");
    copy(writer, 0, 500 * US, 1, 2000000);
    copy(writer, 6 * MS, 6250 * US, 2, 1000000);
    fill(writer, 6250 * US, 6260 * US, 4096);
    const char *text = close_with(finish(writer), &result, &lines);
    expect_line(text, "  GPU 0 (Made-up GPU) busy 68.1 % of the 6.26 ms from its first work to its last; 42.6 % of the "
                      "10.0 ms recorded");
    expect_line(text, "  kernels");
    expect_line(text, "     66.7 %     3.00 ms             2 ×  gemm");
    expect_line(text, "     33.3 %     1.50 ms             1 ×  add");
    expect_line(text, "  copies and fills 760 µs: Host-to-Device 500 µs, 2.00 MB; Device-to-Host 250 µs, 1.00 MB; "
                      "fills 10.0 µs, 4.10 kB");
    expect_line(text, "  without work for longest: 1.00 ms at 5.00 ms, 500 µs at 500 µs, 500 µs at 3.50 ms");
    expect_no(text, "GPU records");
    assert_int_equal(lines, 1 + 1 + 3 + 1 + 1 + 4);
}

/* Two processes call two GPUs device 0 each, as CUDA_VISIBLE_DEVICES has it; a third process shares GPU 3. */
static void gpus_and_not_devices(void **state)
{
    struct collect_result result = { .captured_ns = 10 * MS };
    struct writer *writer = start();
    size_t lines;

    device(writer, 1, 0, 2);
    device(writer, 2, 0, 3);
    device(writer, 4, 1, 3);
    kernel(writer, 0, 10 * MS, 1, 0, "a");     /* GPU 2: all the time */
    kernel(writer, 1 * MS, 2 * MS, 2, 0, "a"); /* GPU 3: 1 ms and 0.5 ms that the first does not cover */
    kernel(writer, 1500 * US, 2500 * US, 4, 1, "a");
    const char *text = close_with(finish(writer), &result, &lines);
    expect_line(
        text,
        "  2 GPUs busy 57.5 % on average, least GPU 3 with 15.0 %, of the 10.0 ms from their first work to their last");
    expect_no(text, "without work"); /* each was busy from its first work to its last */
}

/* The thread that launched was in a call for 1.5 of the 2 ms without work; nothing is known of the rest. */
static void what_it_was_idle_for(void **state)
{
    struct collect_result result = { .captured_ns = 10 * MS };
    struct writer *writer = start();
    size_t lines;

    kernel(writer, 0, 1 * MS, 1, 0, "a");
    kernel(writer, 3 * MS, 4 * MS, 1, 0, "a");
    wait_call(writer, 1500 * US, 5 * MS);
    const char *text = close_with(finish(writer), &result, &lines);
    expect_line(text,
                "  idle mostly for: OS call poll, 75.0 % of the 2.00 ms without work (tacho stats -r gpu_idle_sum)");
}

/* A graph that was traced as a whole is work too. */
static void graphs_are_work(void **state)
{
    struct collect_result result = { .captured_ns = 1 * MS };
    struct writer *writer = start();
    size_t lines;

    graph(writer, 0, 600 * US);
    graph(writer, 700 * US, 1 * MS);
    const char *text = close_with(finish(writer), &result, &lines);
    expect_line(text, "  GPU 0 busy 90.0 % of the 1.00 ms from its first work to its last");
    expect_line(text, "  without work for longest: 100 µs at 600 µs");
    expect_no(text, "kernels");
}

static void fifteen_lines_with_everything(void **state)
{
    struct collect_result result = {
        .captured_ns = 10 * MS, .left_count = 1, .left = { { 7, "child" } }, .warning_count = 5
    };
    struct writer *writer = start();
    size_t lines;

    for (size_t i = 0; i < result.warning_count; i++)
        result.warnings[i] = (char *)"something is not as it should be";
    result.cuda = (struct collect_cuda_result){
        .processes = 1,
        .refused = 1,
        .refusal = "CUDA is not recorded. Another profiler has CUPTI.",
        .launches_without_kernel = 1,
    };
    for (int i = 0; i < 7; i++)
        kernel(writer, i * 10 * US, i * 10 * US + US, 1, 0, (const char *[]){ "a", "b", "c", "d", "e", "f", "g" }[i]);
    copy(writer, 100 * US, 110 * US, 1, 1000);
    range(writer, 0, 100 * US, "step");
    wait_call(writer, 0, 100 * US);
    const char *text = close_with(finish(writer), &result, &lines);
    assert_in_range(lines, 1, SUMMARY_LINES);
    expect_line(text, "  note: CUDA is not recorded. Another profiler has CUPTI. (1 process)");
    expect_line(text, "  GPU records: 1 launch has no kernel");
    assert_non_null(strstr(text, "busy"));
}

/* With no notes there is room for five kernels, copies, gaps and ranges; what the threads waited for has to wait. */
static void what_fifteen_lines_hold(void **state)
{
    struct collect_result result = { .captured_ns = 10 * MS };
    struct writer *writer = start();
    size_t lines;

    for (int i = 0; i < 7; i++)
        kernel(writer, i * 10 * US, i * 10 * US + (7 - i) * US, 1, 0,
               (const char *[]){ "a", "b", "c", "d", "e", "f", "g" }[i]);
    copy(writer, 100 * US, 110 * US, 1, 1000);
    range(writer, 0, 100 * US, "step");
    range(writer, 0, 50 * US, "forward");
    wait_call(writer, 0, 100 * US);
    const char *text = close_with(finish(writer), &result, &lines);
    assert_int_equal(lines, SUMMARY_LINES);
    expect_line(text, "  kernels (5 of 7)");
    expect_line(text, "     10.7 %     3.00 µs             1 ×  e");
    expect_line(text, "  NVTX ranges: :step 100 µs, :forward 50.0 µs");
    expect_no(text, "waiting");

    writer = start();
    kernel(writer, 0, MS, 1, 0, "a");
    wait_call(writer, 0, 100 * US);
    text = close_with(finish(writer), &result, &lines);
    expect_line(text, "  waiting, all threads together 100 µs: poll 100 µs");
}

static void sample(struct writer *writer, int64_t number, const char *function)
{
    struct row_COMPOSITE_EVENTS row = { 0 };
    struct row_SAMPLING_CALLCHAINS frame = { 0 };

    ROW_SET(&row, COMPOSITE_EVENTS, id, number);
    ROW_SET(&row, COMPOSITE_EVENTS, start, number * MS);
    ROW_SET(&row, COMPOSITE_EVENTS, globalTid, 1);
    ROW_SET(&row, COMPOSITE_EVENTS, cpuCycles, 1);
    writer_append(writer, TABLE_COMPOSITE_EVENTS, &row);
    ROW_SET(&frame, SAMPLING_CALLCHAINS, id, number);
    ROW_SET(&frame, SAMPLING_CALLCHAINS, symbol, writer_string(writer, function, strlen(function)));
    ROW_SET(&frame, SAMPLING_CALLCHAINS, stackDepth, 0);
    writer_append(writer, TABLE_SAMPLING_CALLCHAINS, &frame);
}

static void functions(void **state)
{
    struct collect_result result = { .captured_ns = 10 * MS };
    struct writer *writer = start();
    size_t lines;

    for (int i = 0; i < 10; i++)
        sample(writer, i + 1, (const char *[]){ "a", "a", "a", "a", "b", "b", "b", "c", "c", "d" }[i]);
    const char *text = close_with(finish(writer), &result, &lines);
    expect_line(text, "  CPU, by function without what it calls: a 40.0 %, b 30.0 %, c 20.0 %, …");

    writer = start();
    sample(writer, 1, "a");
    kernel(writer, 0, MS, 1, 0, "k");
    text = close_with(finish(writer), &result, &lines);
    expect_no(text, "by function");
}

static void truth(void **state)
{
    struct collect_result result = { .captured_ns = 10 * MS };
    struct writer *writer = start();
    size_t lines;

    result.cuda = (struct collect_cuda_result){
        .processes = 1,
        .launches_without_kernel = 1234,
        .kernels_without_launch = 1,
        .kernels_before_launch = 2,
        .recovered = 3,
    };
    kernel(writer, 0, MS, 1, 0, "a");
    const char *text = close_with(finish(writer), &result, &lines);
    expect_line(text, "  GPU records: 1,234 launches have no kernel, 1 kernel has no launch, 2 kernels began before "
                      "their launch, 3 records were found in memory that CUPTI had not handed over");

    result.cuda = (struct collect_cuda_result){ .processes = 1 };
    text = close_with(finish(start()), &result, &lines);
    expect_line(text, "  CUDA was used, but no work on a GPU was recorded");

    result.cuda = (struct collect_cuda_result){ .refused = 1, .refusal = "CUDA is not recorded. No CUPTI was found." };
    text = close_with(finish(start()), &result, &lines);
    expect_line(text, "  note: CUDA is not recorded. No CUPTI was found.");

    result.warning_count = 1; /* said once is enough */
    result.warnings[0] = (char *)"p (pid 7): CUDA is not recorded. No CUPTI was found.";
    text = close_with(finish(start()), &result, &lines);
    expect_no(text, "note: CUDA is not recorded");

    result = (struct collect_result){ 0 };
    text = close_with(finish(start()), &result, &lines);
    expect_no(text, "CUDA");
}

static int clean_up(void **state)
{
    text_free(&out);
    return remove_path(state);
}

/* Their own time: 3 ms of addmm, 1 ms of linear around it. The range is the operator once more,
 * not one of the program's. */
static void operators_without_a_gpu(void **state)
{
    struct collect_result result = { .counts[WIRE_SOURCE_TORCH].recorded = 3 };
    struct writer *writer = start();
    size_t lines;

    operator_row(writer, 0, 5 * MS, "ProfilerStep#1", "user_annotation");
    operator_row(writer, 0, 4 * MS, "aten::linear", "cpu_op");
    operator_row(writer, 1 * MS, 4 * MS, "aten::addmm", "cpu_op");
    range(writer, 0, 4 * MS, "aten::linear, op_id = 1");
    const char *text = close_with(finish(writer), &result, &lines);
    expect_line(text, "  PyTorch operators, by their own CPU time");
    expect_line(text, "     75.0 %     3.00 ms             1 ×  aten::addmm");
    expect_line(text, "     25.0 %     1.00 ms             1 ×  aten::linear");
    expect_no(text, "ProfilerStep");
    expect_no(text, "NVTX ranges");
    if (!strstr(text, " ops r.tacho, or stats for all else, or view for the timeline\n"))
        fail_msg("no word of ops in\n%s", text);
}

static void fifteen_lines_with_operators(void **state)
{
    struct collect_result result = { .counts[WIRE_SOURCE_NVTX].recorded = 9 };
    struct writer *writer = start();
    char name[] = "aten::a";
    size_t lines;

    for (int i = 0; i < 9; i++, name[6]++)
        operator_row(writer, i * MS, (i + 1) * MS, name, "cpu_op");
    for (int i = 0; i < 9; i++, name[6]++)
        range(writer, i * MS, (i + 1) * MS, name);
    wait_call(writer, 0, MS);
    const char *text = close_with(finish(writer), &result, &lines);
    assert_int_equal(lines, 1 + 6 + 1 + 2 + 1 + 4); /* operators, ranges, calls, waiting, and what is always there */
    expect_line(text, "  PyTorch operators, by their own CPU time (5 of 9)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_gpu),
        cmocka_unit_test(gpus_and_not_devices),
        cmocka_unit_test(what_it_was_idle_for),
        cmocka_unit_test(graphs_are_work),
        cmocka_unit_test(fifteen_lines_with_everything),
        cmocka_unit_test(what_fifteen_lines_hold),
        cmocka_unit_test(functions),
        cmocka_unit_test(truth),
        cmocka_unit_test(operators_without_a_gpu),
        cmocka_unit_test(fifteen_lines_with_operators),
    };

    return cmocka_run_group_tests(tests, make_path, clean_up);
}
