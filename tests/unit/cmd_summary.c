/* What the last lines of `tacho profile` and `tacho summary` say, from reports made here; the figures were worked out
 * by hand. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/summary/summary_lines.h"
#include "cmd/summary/summary_wrap.h"
#include "made_mpi.h"

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

/* ---- rows about the capture ------------------------------------------------------------------------------------ */

static void setting(struct writer *writer, const char *name, const char *value)
{
    struct row_META_DATA_CAPTURE row = { 0 };

    ROW_SET(&row, META_DATA_CAPTURE, name, made_string(writer, name));
    ROW_SET(&row, META_DATA_CAPTURE, value, made_string(writer, value));
    writer_append(writer, TABLE_META_DATA_CAPTURE, &row);
}

static void process(struct writer *writer, int64_t pid, const char *exe, const char *origin, const char *ending)
{
    struct row_TACHO_PROCESS row = { 0 };

    ROW_SET(&row, TACHO_PROCESS, start, 0);
    ROW_SET(&row, TACHO_PROCESS, globalPid, made_thread(pid, 0));
    ROW_SET(&row, TACHO_PROCESS, image, 0);
    ROW_SET(&row, TACHO_PROCESS, exe, made_string(writer, exe));
    ROW_SET(&row, TACHO_PROCESS, origin, made_string(writer, origin));
    ROW_SET(&row, TACHO_PROCESS, ending, made_string(writer, ending));
    if (strcmp(ending, "exit") == 0) {
        ROW_SET(&row, TACHO_PROCESS, exitStatus, 3);
        ROW_SET(&row, TACHO_PROCESS, end, 20 * MS);
    }
    writer_append(writer, TABLE_TACHO_PROCESS, &row);
}

static void message(struct writer *writer, const char *text)
{
    struct row_DIAGNOSTIC_EVENT row = { 0 };

    ROW_SET(&row, DIAGNOSTIC_EVENT, severity, 2);
    ROW_SET(&row, DIAGNOSTIC_EVENT, text, made_string(writer, text));
    writer_append(writer, TABLE_DIAGNOSTIC_EVENT, &row);
}

static void count_as(struct writer *writer, const char *source, const char *fate, const char *cause, int64_t count)
{
    struct row_TACHO_COUNT row = { 0 };

    ROW_SET(&row, TACHO_COUNT, globalPid, made_thread(1, 0));
    ROW_SET(&row, TACHO_COUNT, source, made_string(writer, source));
    ROW_SET(&row, TACHO_COUNT, fate, made_string(writer, fate));
    if (*cause)
        ROW_SET(&row, TACHO_COUNT, cause, made_string(writer, cause));
    ROW_SET(&row, TACHO_COUNT, count, count);
    writer_append(writer, TABLE_TACHO_COUNT, &row);
}

static void cupti(struct writer *writer, int64_t pid, const char *refusal)
{
    struct row_TACHO_CUPTI row = { 0 };

    ROW_SET(&row, TACHO_CUPTI, timestamp, 0);
    ROW_SET(&row, TACHO_CUPTI, globalPid, made_thread(pid, 0));
    if (refusal)
        ROW_SET(&row, TACHO_CUPTI, refusal, made_string(writer, refusal));
    writer_append(writer, TABLE_TACHO_CUPTI, &row);
}

static void check(struct writer *writer, const char *finding, int64_t count)
{
    struct row_TACHO_CUDA_CHECK row = { 0 };

    ROW_SET(&row, TACHO_CUDA_CHECK, globalPid, made_thread(1, 0));
    ROW_SET(&row, TACHO_CUDA_CHECK, finding, made_string(writer, finding));
    ROW_SET(&row, TACHO_CUDA_CHECK, count, count);
    writer_append(writer, TABLE_TACHO_CUDA_CHECK, &row);
}

static void capture_row_of(struct writer *writer, const char *over, int64_t kill_signal, int64_t cpu_ns)
{
    struct row_TACHO_CAPTURE row = { 0 };

    ROW_SET(&row, TACHO_CAPTURE, timestamp, 20 * MS);
    ROW_SET(&row, TACHO_CAPTURE, over, made_string(writer, over));
    if (kill_signal)
        ROW_SET(&row, TACHO_CAPTURE, killSignal, kill_signal);
    ROW_SET(&row, TACHO_CAPTURE, cpuNs, cpu_ns);
    ROW_SET(&row, TACHO_CAPTURE, costNs, 100 * US);
    ROW_SET(&row, TACHO_CAPTURE, startCostNs, 60 * US);
    ROW_SET(&row, TACHO_CAPTURE, cutStacks, 0);
    ROW_SET(&row, TACHO_CAPTURE, throttled, 0);
    writer_append(writer, TABLE_TACHO_CAPTURE, &row);
}

static void capture_row(struct writer *writer, const char *over, int64_t kill_signal)
{
    capture_row_of(writer, over, kill_signal, 10 * MS);
}

static void recorded_from(struct writer *writer, int64_t begin, int64_t end, const char *cause)
{
    struct row_TACHO_RANGE row = { 0 };

    ROW_SET(&row, TACHO_RANGE, start, begin);
    ROW_SET(&row, TACHO_RANGE, end, end);
    ROW_SET(&row, TACHO_RANGE, cause, made_string(writer, cause));
    writer_append(writer, TABLE_TACHO_RANGE, &row);
}

static void recorded_range(struct writer *writer, int64_t captured_ns)
{
    recorded_from(writer, 0, captured_ns, "start");
}

/* A report of ours whose capture is over; it recorded for so long. */
static struct writer *start_captured(int64_t captured_ns)
{
    struct writer *writer = start();

    setting(writer, "TACHO_VERSION", "0");
    setting(writer, "PROGRAM", "'./my p' 'a b'");
    recorded_range(writer, captured_ns);
    process(writer, 1, "/bin/p", "launch", "running");
    process(writer, 1, "/bin/p", "launch", "exit");
    capture_row(writer, "program", 0);
    return writer;
}

static struct text out;

/* The lines for a report; lines is their number. */
static const char *close_with(struct report *report, size_t *lines)
{
    struct summary_request request = { .report = report, .report_path = "r.tacho", .report_bytes = 1, .finish_ns = MS };
    struct error err;

    text_clear(&out);
    if (summary_add(&out, &request, &err) != 0)
        fail_msg("%s", err.text);
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
    struct writer *writer = start_captured(10 * MS);
    size_t lines;

    gpu(writer, 0, "Made-up GPU");
    kernel(writer, 4 * MS, 5 * MS, 1, 0, "gemm");
    kernel(writer, 1 * MS, 3 * MS, 1, 0, "gemm");
    kernel(writer, 2 * MS, 3500 * US, 1, 0, "add");
    copy(writer, 0, 500 * US, 1, 2000000);
    copy(writer, 6 * MS, 6250 * US, 2, 1000000);
    fill(writer, 6250 * US, 6260 * US, 4096);
    const char *text = close_with(finish(writer), &lines);
    expect_line(text, "  GPU 0 (Made-up GPU) busy 68.1 % of the 6.26 ms from its first work to its last; 42.6 % of the "
                      "10.0 ms recorded");
    expect_line(text, "  kernels by base name: tacho stats -r cuda_gpu_kern_sum:base");
    expect_line(text, "     66.7 %     3.00 ms             2 ×  gemm");
    expect_line(text, "     33.3 %     1.50 ms             1 ×  add");
    expect_line(text, "  copies and fills 760 µs: Host-to-Device 500 µs, 2.00 MB; Device-to-Host 250 µs, 1.00 MB; "
                      "fills 10.0 µs, 4.10 kB");
    expect_line(text, "  longest gaps without work: 1.00 ms at 0.0050 s, 500 µs at 0.00050 s, 500 µs at 0.00350 s");
    expect_no(text, "GPU records");
    assert_int_equal(lines, 1 + 2 + 1 + 3 + 1 + 1 + 4); /* the first, a cause, busy, kernels, copies, gaps, the last */
}

/* Two processes call two GPUs device 0 each, as CUDA_VISIBLE_DEVICES has it; a third process shares GPU 3. */
static void gpus_and_not_devices(void **state)
{
    struct writer *writer = start_captured(10 * MS);
    size_t lines;

    device(writer, 1, 0, 2);
    device(writer, 2, 0, 3);
    device(writer, 4, 1, 3);
    kernel(writer, 0, 10 * MS, 1, 0, "a");     /* GPU 2: all the time */
    kernel(writer, 1 * MS, 2 * MS, 2, 0, "a"); /* GPU 3: 1 ms and 0.5 ms that the first does not cover */
    kernel(writer, 1500 * US, 2500 * US, 4, 1, "a");
    const char *text = close_with(finish(writer), &lines);
    expect_line(
        text,
        "  2 GPUs busy 57.5 % on average, least GPU 3 with 15.0 %, of the 10.0 ms from their first work to their last");
    expect_no(text, "without work"); /* each was busy from its first work to its last */
}

/* The thread that launched was in a call for 1.5 of the 2 ms without work; nothing is known of the rest. */
static void what_it_was_idle_for(void **state)
{
    struct writer *writer = start_captured(10 * MS);
    size_t lines;

    kernel(writer, 0, 1 * MS, 1, 0, "a");
    kernel(writer, 3 * MS, 4 * MS, 1, 0, "a");
    wait_call(writer, 1500 * US, 5 * MS);
    const char *text = close_with(finish(writer), &lines);
    expect_line(text, "  main cause of idle time: thread blocked, 75.0 % of 2.00 ms (tacho stats -r gpu_idle_sum)");
}

/* A graph that was traced as a whole is work too. */
static void graphs_are_work(void **state)
{
    struct writer *writer = start_captured(1 * MS);
    size_t lines;

    graph(writer, 0, 600 * US);
    graph(writer, 700 * US, 1 * MS);
    const char *text = close_with(finish(writer), &lines);
    expect_line(text, "  GPU 0 busy 90.0 % of the 1.00 ms from its first work to its last");
    expect_line(text, "  longest gaps without work: 100 µs at 0.00060 s");
    expect_no(text, "kernels");
}

static void all_lines_with_everything(void **state)
{
    struct writer *writer = start_captured(10 * MS);
    size_t lines;

    process(writer, 7, "/bin/child", "fork", "running");
    for (int i = 0; i < 5; i++)
        message(writer, "something is not as it should be");
    cupti(writer, 1, NULL);
    cupti(writer, 7, "CUDA is not recorded. Another profiler has CUPTI.");
    check(writer, "launch-without-kernel", 1);
    for (int i = 0; i < 7; i++)
        kernel(writer, i * 10 * US, i * 10 * US + US, 1, 0, (const char *[]){ "a", "b", "c", "d", "e", "f", "g" }[i]);
    copy(writer, 100 * US, 110 * US, 1, 1000);
    range(writer, 0, 100 * US, "step");
    wait_call(writer, 0, 100 * US);
    const char *text = close_with(finish(writer), &lines);
    assert_in_range(lines, 1, SUMMARY_LINES);
    expect_line(text, "  1 process still runs: child (pid 7)");
    expect_line(text, "  note: 3 more are in the report: tacho info");
    expect_line(text, "  note: CUDA is not recorded. Another profiler has CUPTI. (1 process)");
    expect_line(text, "  GPU records: 1 launch has no kernel");
    assert_non_null(strstr(text, "busy"));
}

/* With no notes there is room for a cause, five kernels, copies, gaps, ranges and what the threads waited for. */
static void what_all_lines_hold(void **state)
{
    struct writer *writer = start_captured(10 * MS);
    size_t lines;

    for (int i = 0; i < 7; i++)
        kernel(writer, i * 45 * US, i * 45 * US + (7 - i) * US, 1, 0,
               (const char *[]){ "a", "b", "c", "d", "e", "f", "g" }[i]);
    copy(writer, 310 * US, 320 * US, 1, 1000);
    range(writer, 0, 100 * US, "step");
    range(writer, 0, 50 * US, "forward");
    wait_call(writer, 0, 100 * US);
    const char *text = close_with(finish(writer), &lines);
    assert_int_equal(lines, SUMMARY_LINES);
    expect_line(text, "  kernels by base name: tacho stats -r cuda_gpu_kern_sum:base (5 of 7)");
    expect_line(text, "     10.7 %     3.00 µs             1 ×  e");
    expect_line(text, "  NVTX ranges: :step 100 µs, :forward 50.0 µs");
    /* of the 282 µs, poll is in 39 + 5 behind the range forward; most of the time nothing is known */
    expect_line(text, "  main cause of idle time: thread blocked at range step, 15.6 % of 282 µs (tacho stats -r "
                      "gpu_idle_sum)");

    writer = start();
    kernel(writer, 0, MS, 1, 0, "a");
    wait_call(writer, 0, 100 * US);
    text = close_with(finish(writer), &lines);
    expect_line(text, "  waiting, all threads together 100 µs: poll 100 µs");
}

static void sample(struct writer *writer, int64_t number, const char *function, const char *module)
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
    ROW_SET(&frame, SAMPLING_CALLCHAINS, module, made_string(writer, module));
    ROW_SET(&frame, SAMPLING_CALLCHAINS, stackDepth, 0);
    writer_append(writer, TABLE_SAMPLING_CALLCHAINS, &frame);
}

/* Of 40 samples in the program: 16 in a, 12 in b, 8 in c, 4 in d. */
static void functions(void **state)
{
    struct writer *writer = start_captured(10 * MS);
    size_t lines;

    for (int i = 0; i < 40; i++)
        sample(writer, i + 1, (const char *[]){ "a", "a", "a", "a", "b", "b", "b", "c", "c", "d" }[i % 10], "/bin/p");
    const char *text = close_with(finish(writer), &lines);
    expect_line(text, "  CPU, by function (self time): a 40.0 %, b 30.0 %, c 20.0 %, …");

    writer = start_captured(10 * MS);
    sample(writer, 1, "a", "/bin/p");
    kernel(writer, 0, MS, 1, 0, "k");
    text = close_with(finish(writer), &lines);
    expect_no(text, "by function");
}

/* 1 of 40 in the agent; a function with callers but no samples of its own has no row. */
static void functions_of_tacho(void **state)
{
    struct writer *writer = start_captured(10 * MS);
    size_t lines;

    for (int i = 0; i < 39; i++)
        sample(writer, i + 1, "a", "/bin/p");
    sample(writer, 40, "find_by_gnu_hash", "/opt/tacho/lib/tacho/libtacho-agent.so");
    const char *text = close_with(finish(writer), &lines);
    expect_line(text, "  CPU, by function (self time): a 97.5 %; [tacho] 2.5 %");

    writer = start_captured(10 * MS);
    for (int i = 0; i < 19; i++)
        sample(writer, i + 1, "a", "/bin/p");
    text = close_with(finish(writer), &lines);
    expect_line(text, "  CPU, by function (self time): too few samples (19)");
}

/* Of 40 samples: 16 in a, 10 and 4 in the import machinery, 10 in b. The machinery is one thing. */
static void functions_that_import(void **state)
{
    static const struct {
        const char *function, *module;
        int count;
    } taken[] = {
        { "a", "/bin/p", 16 },
        { "get_data", "<frozen importlib._bootstrap_external>", 10 },
        { "b", "/bin/p", 10 },
        { "_call_with_frames_removed", "<frozen importlib._bootstrap>", 4 },
    };
    struct writer *writer = start_captured(10 * MS);
    size_t lines;
    int number = 0;

    for (size_t i = 0; i < COUNT_OF(taken); i++)
        for (int j = 0; j < taken[i].count; j++)
            sample(writer, ++number, taken[i].function, taken[i].module);
    const char *text = close_with(finish(writer), &lines);
    expect_line(text, "  CPU, by function (self time): a 40.0 %, Python imports 35.0 %, b 25.0 %");
}

/* Whatever the times of a report are, a share is from 0 to 100. */
static void times_at_the_limits(void **state)
{
    static const int64_t times[][2] = {
        { INT64_MIN, INT64_MAX },      { INT64_MAX, INT64_MIN },
        { INT64_MIN, -5 * MS },        { 0, INT64_MAX },
        { INT64_MAX - 1, 0 },          { 1, 2 },
        { INT64_MIN, INT64_MIN + 10 }, { -7, INT64_MAX },
    };
    enum { COUNT = COUNT_OF(times) };

    for (size_t i = 0; i < COUNT * COUNT; i++) {
        const int64_t *one = times[i / COUNT], *other = times[i % COUNT];
        struct writer *writer = start_captured(i % 3 ? INT64_MAX : 10 * MS);
        size_t lines;
        kernel(writer, one[0], one[1], 1, 0, "a");
        kernel(writer, other[0], other[1], 1, (int64_t)(i % 2), "b");
        copy(writer, one[0], other[1], 1, INT64_MAX);
        wait_call(writer, one[0], one[1]);
        wait_call(writer, other[0], other[1]);
        range(writer, other[0], other[1], "step");
        const char *text = close_with(finish(writer), &lines);
        for (const char *at = text; (at = strstr(at, " %")) != NULL; at++) {
            const char *number = at;
            while (number > text && strchr("0123456789.,-", number[-1]))
                number--;
            if (at - number > 5 || *number == '-' || strtod(number, NULL) > 100)
                fail_msg("case %zu, a share of %.*s in\n%s", i, (int)(at - number), number, text);
        }
    }
}

static void truth(void **state)
{
    struct writer *writer = start_captured(10 * MS);
    size_t lines;

    cupti(writer, 1, NULL);
    check(writer, "launch-without-kernel", 1000);
    check(writer, "launch-without-kernel", 234);
    check(writer, "kernel-without-launch", 1);
    check(writer, "kernel-before-launch", 2);
    count_as(writer, "cuda", "recorded", "", 5);
    count_as(writer, "cuda", "recorded", "recovered", 3);
    kernel(writer, 0, MS, 1, 0, "a");
    const char *text = close_with(finish(writer), &lines);
    expect_line(text, "  GPU records: 1,234 launches have no kernel, 1 kernel has no launch, 2 kernels started before "
                      "their launch, 3 records were found in memory that CUPTI had not handed over");
    expect_line(text, "  events: cuda 8; none lost");

    writer = start_captured(10 * MS);
    cupti(writer, 1, NULL);
    text = close_with(finish(writer), &lines);
    expect_line(text, "  CUDA was used, but no GPU work was recorded");

    writer = start_captured(10 * MS);
    cupti(writer, 1, "CUDA is not recorded. No CUPTI was found.");
    text = close_with(finish(writer), &lines);
    expect_line(text, "  note: CUDA is not recorded. No CUPTI was found.");

    writer = start_captured(10 * MS); /* said once is enough */
    cupti(writer, 1, "CUDA is not recorded. No CUPTI was found.");
    message(writer, "p (pid 7): CUDA is not recorded. No CUPTI was found.");
    text = close_with(finish(writer), &lines);
    expect_no(text, "note: CUDA is not recorded");

    text = close_with(finish(start_captured(10 * MS)), &lines);
    expect_no(text, "CUDA");
}

/* ---- the first lines ------------------------------------------------------------------------------------------- */

static void expect_first(const char *text, const char *line)
{
    if (strncmp(text, line, strlen(line)) != 0)
        fail_msg("the first line is not\n%sin\n%s", line, text);
}

/* A capture of the whole machine that runs a program which sleeps costs more than the program. */
static void a_cost_above_the_programs_has_no_share(void **state)
{
    size_t lines;
    struct writer *writer = start();

    setting(writer, "TACHO_VERSION", "0");
    setting(writer, "PROGRAM", "sleep");
    process(writer, 1, "/bin/sleep", "launch", "exit");
    capture_row_of(writer, "program", 0, 50 * US);
    expect_line(close_with(finish(writer), &lines),
                "  recording took about 100 µs of the program's CPU time, most of it for the start of 1 process; the "
                "report was ready 1.00 ms after the program");
}

static void how_it_ended(void **state)
{
    size_t lines;
    struct writer *writer = start_captured(10 * MS);

    process(writer, 2, "/bin/q", "fork", "exit");
    process(writer, 3, "/bin/q", "fork", "exit");
    const char *text = close_with(finish(writer), &lines);
    expect_first(text,
                 "tacho: './my p' ended with status 3 after 20.0 ms; CPU time 10.0 ms; 3 processes (2 programs)\n");
    expect_line(text, "  events: none");
    expect_line(text, "  recording took about 100 µs of the program's CPU time (1.0 %), most of it for the start of 3 "
                      "processes; the report was ready 1.00 ms after the program");
    expect_line(text, "  report: r.tacho (1 B)");
    if (!strstr(text, " info r.tacho\n"))
        fail_msg("there is nothing to see but info:\n%s", text);

    writer = start(); /* the collector was killed */
    setting(writer, "TACHO_VERSION", "0");
    setting(writer, "PROGRAM", "./p");
    process(writer, 1, "/bin/p", "launch", "running");
    range(writer, 0, 5 * MS, "step");
    range(writer, 5 * MS, 8 * MS, "step");
    struct report *report = NULL;
    struct error err;
    if (writer_flush(writer, &err) != 0 || report_open(path, &report, &err) != 0)
        fail_msg("%s", err.text);
    text = close_with(report, &lines);
    writer_close(writer, &err);
    expect_first(text, "tacho: ./p: the report is unfinished (tacho is still writing it, or was killed), recorded "
                       "time 8.00 ms; 1 process\n");
    expect_line(text, "  events: nvtx 2");
    expect_no(text, "still runs");
    expect_no(text, "none lost");
    expect_no(text, "recording took");

    writer = start(); /* an import */
    kernel(writer, 0, MS, 1, 0, "a");
    text = close_with(finish(writer), &lines);
    expect_first(text, "tacho: r.tacho: recorded by another profiler, recorded time 1.00 ms\n");
}

/* The program ran for 20 ms, of which 3 ms in a range, or 3 and 1 ms in two, were recorded: shares of the time recorded
 * are of these, and each time has its name. */
static void recorded_in_ranges(void **state)
{
    static const char *const recorded[] = { "3.00 ms", "4.00 ms in 2 capture ranges" }, *const busy[] = { "3.00 ms",
                                                                                                          "4.00 ms" };
    struct text line = { 0 };
    size_t lines;

    for (int ranges = 1; ranges <= 2; ranges++) {
        struct writer *writer = start();
        setting(writer, "TACHO_VERSION", "0");
        setting(writer, "PROGRAM", "./p");
        process(writer, 1, "/bin/p", "launch", "running");
        process(writer, 1, "/bin/p", "launch", "exit");
        capture_row(writer, "program", 0);
        recorded_from(writer, 5 * MS, 8 * MS, "nvtx");
        if (ranges == 2)
            recorded_from(writer, 12 * MS, 13 * MS, "nvtx");
        kernel(writer, 6 * MS, 7 * MS, 1, 0, "gemm");
        const char *text = close_with(finish(writer), &lines);
        text_addf(&line,
                  "tacho: ./p ended with status 3 after 20.0 ms; recorded time %s; CPU time 10.0 ms; 1 process\n",
                  recorded[ranges - 1]);
        expect_first(text, text_string(&line));
        text_clear(&line);
        text_addf(&line,
                  "  GPU 0 busy 100.0 %% of the 1.00 ms from its first work to its last; %s %% of the %s recorded",
                  ranges == 1 ? "33.3" : "25.0", busy[ranges - 1]);
        expect_line(text, text_string(&line));
        text_clear(&line);
    }
    text_free(&line);
}

static void step(struct writer *writer, int64_t begin, int64_t end, const char *phase)
{
    struct row_TACHO_STEP_TIME row = { 0 };

    ROW_SET(&row, TACHO_STEP_TIME, start, begin);
    ROW_SET(&row, TACHO_STEP_TIME, end, end);
    ROW_SET(&row, TACHO_STEP_TIME, globalTid, 1 << 24 | 1);
    ROW_SET(&row, TACHO_STEP_TIME, number, 0);
    ROW_SET(&row, TACHO_STEP_TIME, phase, made_string(writer, phase));
    ROW_SET(&row, TACHO_STEP_TIME, nameId, made_string(writer, "step"));
    writer_append(writer, TABLE_TACHO_STEP_TIME, &row);
}

static void cost(struct writer *writer, const char *source, int64_t ns)
{
    struct row_TACHO_COST row = { 0 };

    ROW_SET(&row, TACHO_COST, source, made_string(writer, source));
    ROW_SET(&row, TACHO_COST, ns, ns);
    writer_append(writer, TABLE_TACHO_COST, &row);
}

/* A traced step of 1.005 ms or 1.2 ms, and timed ones of 1 ms. The sources share what it took longer; the start of
 * processes is in no step, and a source that took next to nothing is not named. */
static void how_much_longer_recording_made_a_step(void **state)
{
    size_t lines;

    for (int64_t traced = 1005 * US; traced <= 1200 * US; traced += 195 * US) {
        struct writer *writer = start_captured(10 * MS);
        cost(writer, "start", 500 * US);
        cost(writer, "osrt", US);
        cost(writer, "pytorch", 100 * US);
        cost(writer, "cuda", 299 * US);
        step(writer, 0, MS, "settling");
        step(writer, MS, MS + traced, "traced");
        step(writer, 3 * MS, 4 * MS, "settling");
        step(writer, 4 * MS, 5 * MS, "timed");
        step(writer, 5 * MS, 6 * MS, "timed");
        const char *text = close_with(finish(writer), &lines);
        expect_line(text,
                    traced > 1100 * US
                        ? "  recording made a step about 200 µs (20.0 %) longer: cuda 150 µs, pytorch 50.0 µs; it "
                          "took 1.00 ms in 2 steps that were only timed; the report was ready 1.00 ms after the "
                          "program"
                        : "  recording made a step less than 1 % longer; it took 1.00 ms in 2 steps that were only "
                          "timed; the report was ready 1.00 ms after the program");
    }
}

/* Who ended what, in the first line. */
/* In each of ten steps of 1 ms, rank 2 comes 300 µs later than the others. */
static void a_late_rank_comes_first(void **state)
{
    enum { RANKS = 3, STEPS = 10 };
    static const char
        line[] = "tacho: rank 2 is late: 300 µs in each of 10 steps; outside of collectives; without it a step of "
                 "the job takes about 300 µs less of 1.00 ms\n";
    for (int64_t late = 0; late <= 300 * US; late += 300 * US) {
        size_t lines;
        struct writer *writer = start_captured(10 * MS);
        for (int64_t rank = 0; rank < RANKS; rank++) {
            made_rank(writer, rank);
            made_communicator(writer, rank, 0, 10, "0,1,2", RANKS, "world");
            for (int64_t step = 0; step <= STEPS; step++)
                made_collective(writer, (struct made_collective){ rank, (step + 1) * MS + (rank == 2 ? late : 0),
                                                                  (step + 1) * MS + late + 20 * US, "MPI_Allreduce", 10,
                                                                  8, 0 });
        }
        const char *text = close_with(finish(writer), &lines);
        if (!late)
            expect_no(text, "is late");
        else if (!strstr(text, "analyze -r straggler r.tacho") || strncmp(text, line, strlen(line)) != 0)
            fail_msg("the late rank does not come first:\n%s", text);
    }
}

static void who_ended_it(void **state)
{
    static const struct {
        const char *ending, *over;
        int64_t kill_signal;
        const char *line;
    } cases[] = {
        { "exit", "duration", SIGTERM,
          "tacho: p was ended by tacho with SIGTERM (--kill) after 20.0 ms: the capture ended after 10.0 ms "
          "(--duration); CPU" },
        { "exit", "range", SIGINT,
          "tacho: p was ended by tacho with SIGINT (--kill) after 20.0 ms: the capture ended after 10.0 ms, with "
          "the end of the capture range; CPU" },
        { "running", "signal", SIGTERM,
          "tacho: p still runs, despite SIGTERM (--kill); the capture ended after 6.00 s; CPU" },
        { "running", "duration", 0, "tacho: p still runs; the capture ended after 6.00 s (--duration); CPU" },
        { "exit", "duration", 0, "tacho: p ended with status 3 after 20.0 ms; CPU" },
    };
    size_t lines;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct writer *writer = start();
        struct row_ANALYSIS_DETAILS details = { 0 };
        ROW_SET(&details, ANALYSIS_DETAILS, duration, 6000 * MS);
        writer_append(writer, TABLE_ANALYSIS_DETAILS, &details);
        setting(writer, "TACHO_VERSION", "0");
        setting(writer, "PROGRAM", "p");
        process(writer, 1, "/bin/p", "launch", cases[i].ending);
        recorded_range(writer, 10 * MS);
        capture_row(writer, cases[i].over, cases[i].kill_signal);
        expect_first(close_with(finish(writer), &lines), cases[i].line);
    }
}

/* Names are anybody's: nothing reaches the terminal that it would interpret. */
static void exports_and_names(void **state)
{
    const char *beside[] = { "r.sqlite" };
    struct row_ProcessStreams streams = { 0 };
    struct writer *writer = start_captured(10 * MS);
    struct error err;

    message(writer, "in both");
    message(writer, ""); /* the disk was full when its text was to be written */
    process(writer, 77, "/bin/child\033", "fork", "running");
    ROW_SET(&streams, ProcessStreams, globalPid, made_thread(1, 0));
    ROW_SET(&streams, ProcessStreams, filenameId, made_string(writer, "stdout"));
    ROW_SET(&streams, ProcessStreams, contentId, made_string(writer, "x"));
    writer_append(writer, TABLE_ProcessStreams, &streams);
    struct report *report = finish(writer);
    char *warnings[] = { (char *)"The disk is full", (char *)"in both" };
    struct summary_request request = { .report = report,
                                       .report_path = "r\033.tacho",
                                       .finish_ns = -1,
                                       .exports = beside,
                                       .export_count = 1,
                                       .warnings = warnings,
                                       .warning_count = 2 };
    text_clear(&out);
    if (summary_add(&out, &request, &err) != 0)
        fail_msg("%s", err.text);
    report_close(report);
    expect_no(text_string(&out), "\033");
    expect_line(text_string(&out), "  1 process still runs: child\\x1b (pid 77)");
    expect_line(text_string(&out), "  report: r\\x1b.tacho (0 B), r.sqlite; the program's output is in it: tacho info "
                                   "--output");
    expect_no(text_string(&out), "the report was ready");
    expect_line(text_string(&out), "  note: The disk is full");
    expect_line(text_string(&out), "  note: in both");
    expect_no(text_string(&out), "note: \n");
    expect_no(text_string(&out), " in the report: tacho info");
}

/* -t names what is told even if there is none of it. */
static void what_was_requested(void **state)
{
    struct writer *writer = start_captured(10 * MS);
    size_t lines;

    setting(writer, "SOURCES_REQUESTED", "nvtx,osrt,cuda");
    count_as(writer, "osrt", "recorded", "", 4);
    count_as(writer, "osrt", "below-threshold", "", 2);
    count_as(writer, "osrt", "untimed", "", 3);
    const char *text = close_with(finish(writer), &lines);
    expect_line(text, "  events: osrt 4 (+ 5 short or uncontended, counted only); nvtx 0; cuda 0; none lost");
}

/* They are of the samples, and not of the context switches, which the same source counts. */
static void truncated_stacks(void **state)
{
    struct row_TACHO_CAPTURE row = { 0 };
    struct writer *writer = start_captured(10 * MS);
    size_t lines;

    ROW_SET(&row, TACHO_CAPTURE, timestamp, 20 * MS);
    ROW_SET(&row, TACHO_CAPTURE, over, made_string(writer, "program"));
    ROW_SET(&row, TACHO_CAPTURE, cutStacks, 3);
    writer_append(writer, TABLE_TACHO_CAPTURE, &row);
    count_as(writer, "samples", "recorded", "", 40);
    count_as(writer, "switches", "recorded", "", 7);
    const char *text = close_with(finish(writer), &lines);
    expect_line(text, "  events: samples 40 (3 truncated stacks); switches 7; none lost");
    expect_no(text, "truncated stack:"); /* functions are listed by their self time */
}

/* 94 of 40,094 are 0.234 %, 94 of 11,000 are 0.855 %, and 6,000 of 10,000 are 60 %. */
static void losses_in_proportion(void **state)
{
    struct writer *writer = start_captured(10 * MS);
    size_t lines;

    count_as(writer, "samples", "recorded", "", 40000);
    count_as(writer, "switches", "recorded", "", 10906);
    count_as(writer, "perf records", "lost", "ring-full", 94);
    count_as(writer, "nvtx", "recorded", "", 4000);
    count_as(writer, "nvtx", "lost", "buffer-full", 5990);
    count_as(writer, "nvtx", "lost", "in-signal", 10);
    count_as(writer, "processes", "lost", "not-attached", 1);
    const char *text = close_with(finish(writer), &lines);
    expect_line(text, "  incomplete: 94 of 51,000 perf records lost (ring full): sample counts up to 0.3 % low, "
                      "switch counts up to 0.9 % low");
    expect_line(text, "  INCOMPLETE: 6,000 of 10,000 NVTX events lost (buffer full 5,990, in signal 10): counts up to "
                      "60.0 % low");
    expect_line(text, "  events: samples 40,000; switches 10,906; nvtx 4,000");
    expect_no(text, "process not");
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
    struct writer *writer = start_captured(10 * MS);
    size_t lines;

    count_as(writer, "pytorch", "recorded", "", 3);
    operator_row(writer, 0, 5 * MS, "ProfilerStep#1", "user_annotation");
    operator_row(writer, 0, 4 * MS, "aten::linear", "cpu_op");
    operator_row(writer, 1 * MS, 4 * MS, "aten::addmm", "cpu_op");
    range(writer, 0, 4 * MS, "aten::linear, op_id = 1");
    const char *text = close_with(finish(writer), &lines);
    expect_line(text, "  PyTorch operators, by self CPU time");
    expect_line(text, "     75.0 %     3.00 ms             1 ×  aten::addmm");
    expect_line(text, "     25.0 %     1.00 ms             1 ×  aten::linear");
    expect_no(text, "ProfilerStep");
    expect_no(text, "NVTX ranges");
    if (!strstr(text, " ops r.tacho, or stats for all tables, or view for the timeline\n"))
        fail_msg("no word of ops in\n%s", text);
}

/* That nothing was found says less if data for some rules are not there. */
static void nothing_found_for_lack_of_data(void **state)
{
    for (int has_operators = 0; has_operators < 2; has_operators++) {
        struct writer *writer = start_captured(10 * MS);
        struct row_CUPTI_ACTIVITY_KIND_RUNTIME row = { 0 };
        size_t lines;

        ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, start, 0);
        ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, end, 5 * US);
        ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, globalTid, made_thread(1, 1));
        ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, correlationId, 1);
        ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, nameId, made_string(writer, "cudaLaunchKernel"));
        writer_append(writer, TABLE_CUPTI_ACTIVITY_KIND_RUNTIME, &row);
        made_kernel(writer, (struct made_kernel){ 5 * US, 10 * MS, 1, 1, 0, 7, "k", NULL, NULL });
        if (has_operators)
            operator_row(writer, 0, 6 * US, "aten::mm", "cpu_op");
        const char *text = close_with(finish(writer), &lines);
        expect_line(text, "  what to change first: no rule found anything that would save 1 % of it");
        assert_int_equal(strstr(text, "Not checked for lack of data: --pytorch-shapes=true") != NULL, has_operators);
    }
}

static void lines_with_operators(void **state)
{
    struct writer *writer = start_captured(10 * MS);
    char name[] = "aten::a";
    size_t lines;

    count_as(writer, "nvtx", "recorded", "", 9);
    for (int i = 0; i < 9; i++, name[6]++)
        operator_row(writer, i * MS, (i + 1) * MS, name, "cpu_op");
    for (int i = 0; i < 9; i++, name[6]++)
        range(writer, i * MS, (i + 1) * MS, name);
    wait_call(writer, 0, MS);
    const char *text = close_with(finish(writer), &lines);
    assert_int_equal(lines, 1 + 6 + 1 + 2 + 1 + 4); /* operators, ranges, calls, waiting, and what is always there */
    expect_line(text, "  PyTorch operators, by self CPU time (5 of 9)");
}

/* A terminal that is too narrow for all of it shows the command whole, and the rest below. */
static void the_next_command(void **state)
{
    static const struct {
        size_t columns;
        const char *ending;
    } cases[] = {
        { 0, " stats ./-x.tacho, or view for the timeline\n" },
        { 400, " stats ./-x.tacho, or view for the timeline\n" },
        { 40, " stats ./-x.tacho\n          or view for the timeline\n" },
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct writer *writer = start_captured(10 * MS);
        range(writer, 0, MS, "step");
        struct summary_request request = {
            .report = finish(writer), .report_path = "-x.tacho", .finish_ns = -1, .columns = cases[i].columns
        };
        struct error err;
        text_clear(&out);
        assert_int_equal(summary_add(&out, &request, &err), 0);
        report_close(request.report);
        size_t length = strlen(cases[i].ending);
        assert_string_equal(out.length > length ? text_string(&out) + out.length - length : "", cases[i].ending);
    }
}

/* Two notes are shown, and the third is counted. */
static void one_more_note(void **state)
{
    struct writer *writer = start_captured(10 * MS);
    size_t lines;

    for (int i = 0; i < 3; i++)
        message(writer, "something is not as it should be");
    expect_line(close_with(finish(writer), &lines), "  note: 1 more is in the report: tacho info");
}

/* ---- Wrapping -------------------------------------------------------------------------------------------------- */

static void lines_are_wrapped_at_spaces(void **state)
{
    static const char lines[] = "tacho: \033[1mprogram\033[0m ended with status 0 after 1.00 s; 1 process\n"
                                "      311 ms  lock queue_lock: 4 threads waited in take_job (queue.c:40)\n"
                                "     train.py:41 forward: torch.compile and CUDA graphs launch all at once\n"
                                "  report: a path that is much longer than any line here\n"
                                "  next:   \033[1mtacho stats a_path_that_is_longer.tacho\033[0m\n"
                                "  waits: µµµµ µµµµ µµµµ µµµµ µµµµ µµµµ µµµµ µµµµ\n"
                                "  copies: fills and some other words, 797 MB; more\n";
    static const char expected[] = "tacho: \033[1mprogram\033[0m ended with status 0 after\n"
                                   "    1.00 s; 1 process\n"
                                   "      311 ms  lock queue_lock: 4 threads\n"
                                   "              waited in take_job\n"
                                   "              (queue.c:40)\n"
                                   "     train.py:41 forward: torch.compile\n"
                                   "     and CUDA graphs launch all at once\n"
                                   "  report: a path that is much longer than any line here\n"
                                   "  next:   \033[1mtacho stats a_path_that_is_longer.tacho\033[0m\n"
                                   "  waits: µµµµ µµµµ µµµµ µµµµ µµµµ µµµµ\n"
                                   "    µµµµ µµµµ\n"
                                   "  copies: fills and some other words,\n"
                                   "    797 MB; more\n";
    struct text wrapped = { 0 };

    summary_wrap(&wrapped, lines, 40);
    assert_string_equal(text_string(&wrapped), expected);
    text_clear(&wrapped);
    summary_wrap(&wrapped, lines, 0);
    assert_string_equal(text_string(&wrapped), lines);
    text_free(&wrapped);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_gpu),
        cmocka_unit_test(gpus_and_not_devices),
        cmocka_unit_test(what_it_was_idle_for),
        cmocka_unit_test(graphs_are_work),
        cmocka_unit_test(all_lines_with_everything),
        cmocka_unit_test(what_all_lines_hold),
        cmocka_unit_test(functions),
        cmocka_unit_test(functions_of_tacho),
        cmocka_unit_test(functions_that_import),
        cmocka_unit_test(times_at_the_limits),
        cmocka_unit_test(truth),
        cmocka_unit_test(a_cost_above_the_programs_has_no_share),
        cmocka_unit_test(how_it_ended),
        cmocka_unit_test(recorded_in_ranges),
        cmocka_unit_test(a_late_rank_comes_first),
        cmocka_unit_test(how_much_longer_recording_made_a_step),
        cmocka_unit_test(who_ended_it),
        cmocka_unit_test(exports_and_names),
        cmocka_unit_test(what_was_requested),
        cmocka_unit_test(truncated_stacks),
        cmocka_unit_test(losses_in_proportion),
        cmocka_unit_test(operators_without_a_gpu),
        cmocka_unit_test(the_next_command),
        cmocka_unit_test(one_more_note),
        cmocka_unit_test(lines_are_wrapped_at_spaces),
        cmocka_unit_test(lines_with_operators),
        cmocka_unit_test(nothing_found_for_lack_of_data),
    };

    return cmocka_run_group_tests(tests, make_path, clean_up);
}
