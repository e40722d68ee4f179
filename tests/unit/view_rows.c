/* What becomes of a small report whose rows can be counted on fingers: which rows there are and in what order, what
 * they are called, and the events that no table has as they are: states, steps, ranges on streams, memory. */
#include "made_report.h"

#include <stdio.h>

#include "view/load/derived.h"
#include "view/load/event_search.h"
#include "view/load/view_state.h"
#include "view/timeline.h"

/* ---- making ---------------------------------------------------------------------------------------------------- */

#define THREAD made_thread(7, 7)
#define OTHER_THREAD made_thread(7, 9)

enum { PUSH_POP = 59, DOMAIN_NAME = 75 }; /* types of rows of NVTX_EVENTS */

static void add_range_of(struct writer *writer, int64_t domain, int64_t type, int64_t begin, int64_t end,
                         const char *text)
{
    struct row_NVTX_EVENTS row = { 0 };

    ROW_SET(&row, NVTX_EVENTS, start, begin);
    if (end != NO_ID)
        ROW_SET(&row, NVTX_EVENTS, end, end);
    ROW_SET(&row, NVTX_EVENTS, eventType, type);
    ROW_SET(&row, NVTX_EVENTS, globalTid, THREAD);
    ROW_SET(&row, NVTX_EVENTS, domainId, domain);
    ROW_SET(&row, NVTX_EVENTS, text, made_string(writer, text));
    writer_append(writer, TABLE_NVTX_EVENTS, &row);
}

static void add_range(struct writer *writer, int64_t type, int64_t begin, int64_t end, const char *text)
{
    add_range_of(writer, 0, type, begin, end, text);
}

#define ADD_LIBRARY_CALL(writer, table, thread, begin, end_at, name)    \
    do {                                                                \
        struct row_##table row = { 0 };                                 \
        ROW_SET(&row, table, start, begin);                             \
        ROW_SET(&row, table, end, end_at);                              \
        ROW_SET(&row, table, globalTid, thread);                        \
        ROW_SET(&row, table, nameId, made_string(writer, name));        \
        writer_append(writer, TABLE_##table, &row);                     \
    } while (0)

static void add_call(struct writer *writer, int64_t begin, int64_t end, int64_t id, int64_t result)
{
    struct row_CUPTI_ACTIVITY_KIND_RUNTIME row = { 0 };

    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, start, begin);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, end, end);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, globalTid, THREAD);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, correlationId, id);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, nameId, made_string(writer, "cudaLaunchKernel_v7000"));
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, returnValue, result);
    writer_append(writer, TABLE_CUPTI_ACTIVITY_KIND_RUNTIME, &row);
}

static void add_switch(struct writer *writer, int64_t at, int64_t cpu, int is_in, int64_t why)
{
    struct row_SCHED_EVENTS row = { 0 };

    ROW_SET(&row, SCHED_EVENTS, start, at);
    ROW_SET(&row, SCHED_EVENTS, cpu, cpu);
    ROW_SET(&row, SCHED_EVENTS, isSchedIn, is_in);
    ROW_SET(&row, SCHED_EVENTS, globalTid, THREAD);
    if (!is_in)
        ROW_SET(&row, SCHED_EVENTS, threadState, why);
    writer_append(writer, TABLE_SCHED_EVENTS, &row);
}

static void add_python_sample(struct writer *writer, int64_t at, int64_t gil)
{
    struct row_TACHO_PYTHON_SAMPLE row = { 0 };

    ROW_SET(&row, TACHO_PYTHON_SAMPLE, start, at);
    ROW_SET(&row, TACHO_PYTHON_SAMPLE, globalTid, OTHER_THREAD);
    ROW_SET(&row, TACHO_PYTHON_SAMPLE, threadState, gil == 0 ? 7 : 1); /* waiting, running */
    ROW_SET(&row, TACHO_PYTHON_SAMPLE, gil, gil);
    ROW_SET(&row, TACHO_PYTHON_SAMPLE, callchainId, 5);
    writer_append(writer, TABLE_TACHO_PYTHON_SAMPLE, &row);
}

static void add_python_frame(struct writer *writer)
{
    struct row_TACHO_PYTHON_CALLCHAINS row = { 0 };

    ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, id, 5);
    ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, symbol, made_string(writer, "train"));
    ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, module, made_string(writer, "train.py"));
    ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, stackDepth, 0);
    writer_append(writer, TABLE_TACHO_PYTHON_CALLCHAINS, &row);
}

static void add_memory(struct writer *writer, int64_t at, int64_t operation, int64_t bytes)
{
    struct row_CUDA_GPU_MEMORY_USAGE_EVENTS row = { 0 };

    ROW_SET(&row, CUDA_GPU_MEMORY_USAGE_EVENTS, start, at);
    ROW_SET(&row, CUDA_GPU_MEMORY_USAGE_EVENTS, globalPid, made_thread(7, 0));
    ROW_SET(&row, CUDA_GPU_MEMORY_USAGE_EVENTS, deviceId, 0);
    ROW_SET(&row, CUDA_GPU_MEMORY_USAGE_EVENTS, contextId, 1);
    ROW_SET(&row, CUDA_GPU_MEMORY_USAGE_EVENTS, address, 4096);
    ROW_SET(&row, CUDA_GPU_MEMORY_USAGE_EVENTS, bytes, bytes);
    ROW_SET(&row, CUDA_GPU_MEMORY_USAGE_EVENTS, memoryOperationType, operation);
    writer_append(writer, TABLE_CUDA_GPU_MEMORY_USAGE_EVENTS, &row);
}

static void add_step(struct writer *writer, int64_t begin, int64_t end, int64_t number)
{
    struct row_TACHO_TORCH_STEP row = { 0 };

    ROW_SET(&row, TACHO_TORCH_STEP, start, begin);
    ROW_SET(&row, TACHO_TORCH_STEP, end, end);
    ROW_SET(&row, TACHO_TORCH_STEP, globalTid, THREAD);
    ROW_SET(&row, TACHO_TORCH_STEP, number, number);
    writer_append(writer, TABLE_TACHO_TORCH_STEP, &row);
}

static void add_torch(struct writer *writer, int64_t begin, int64_t end, const char *category, const char *text)
{
    struct row_TACHO_TORCH_OP row = { 0 };

    ROW_SET(&row, TACHO_TORCH_OP, start, begin);
    ROW_SET(&row, TACHO_TORCH_OP, end, end);
    ROW_SET(&row, TACHO_TORCH_OP, globalTid, THREAD);
    ROW_SET(&row, TACHO_TORCH_OP, nameId, made_string(writer, text));
    ROW_SET(&row, TACHO_TORCH_OP, category, made_string(writer, category));
    writer_append(writer, TABLE_TACHO_TORCH_OP, &row);
}

/* ---- comparing ------------------------------------------------------------------------------------------------- */

static struct report *report;
static struct view *view;

static const struct view_row *row_in(const struct view *of, enum row_type type, int64_t last_number)
{
    for (size_t i = 0; i < of->row_count; i++) {
        const struct view_row *row = &of->rows[i];
        if (row->type == type && (last_number == NO_ID || row->cpu == last_number || row->stream == last_number))
            return row;
    }
    return NULL;
}

static const struct view_row *row_of(enum row_type type, int64_t last_number)
{
    return row_in(view, type, last_number);
}

/* "name from-to", flags as ! (failed) and … (no end), in order of start. */
static const char *events_in(struct view *of, const struct view_row *row)
{
    static struct text text;

    text_clear(&text);
    assert_non_null(row);
    for (uint32_t i = 0; i < row->events.count; i++) {
        text_addf(&text, "%s%s %lld-%lld", i ? ", " : "", view_name(of, row->events.name[i], NULL),
                  (long long)row->events.start_ns[i], (long long)event_end(&row->events, i));
        if (row->events.tag[i] & EVENT_FAILED)
            text_add_char(&text, '!');
        if (row->events.tag[i] & EVENT_NO_END)
            text_add(&text, "…");
    }
    return text_string(&text);
}

static const char *events_of(const struct view_row *row)
{
    return events_in(view, row);
}

/* Labels, each level two spaces further in. */
static const char *tree_of(const struct view *of)
{
    static struct text text;

    text_clear(&text);
    for (size_t i = 0; i < of->row_count; i++) {
        for (int at = of->rows[i].parent; at >= 0; at = of->rows[at].parent)
            text_add(&text, "  ");
        text_addf(&text, "%s\n", of->rows[i].label);
    }
    return text_string(&text);
}

static const char *tree(void)
{
    return tree_of(view);
}

static int open_report(void **state)
{
    struct error err;

    if (make_path(state) != 0)
        return -1;
    struct writer *writer = start();
    add_range(writer, PUSH_POP, 0, 100, "outer");
    add_range(writer, PUSH_POP, 25, 45, "inner");
    add_range(writer, 34, 50, NO_ID, "mark");
    add_range(writer, 60, 700, NO_ID, "open");
    add_range(writer, DOMAIN_NAME, 0, NO_ID, "domain");
    add_call(writer, 10, 20, 1, 0);
    add_call(writer, 30, 40, 2, 600);
    add_call(writer, 60, 130, 3, 2);
    made_kernel(writer, (struct made_kernel){ 50, 80, 7, 1, 0, 7, "first", NULL, NULL });
    made_kernel(writer, (struct made_kernel){ 90, 120, 7, 2, 0, 7, "second", NULL, NULL });
    made_kernel(writer, (struct made_kernel){ 140, 150, 7, 3, 0, 8, "late", NULL, NULL });
    made_copy(writer, (struct made_memory){ 200, 210, NO_ID, 64, 1, NO_ID, NO_ID });
    add_switch(writer, 250, 1, 1, 0); /* each CPU has its own ring: not in order */
    add_switch(writer, 300, 1, 0, 2);
    add_switch(writer, 100, 0, 1, 0);
    add_switch(writer, 200, 0, 0, 6);
    add_switch(writer, 400, 0, 1, 0);
    add_switch(writer, 500, 0, 0, 5);
    add_switch(writer, 800, 0, 1, 0);
    add_python_frame(writer);
    for (int i = 0; i < 5; i++)
        add_python_sample(writer, 10 * i, (int64_t[]){ 1, 1, 2, 0, 1 }[i]);
    add_memory(writer, 30, 1, 100);
    add_memory(writer, 10, 0, 300);
    add_memory(writer, 20, 0, 50);
    add_torch(writer, 0, 35, "user_annotation", "forward");
    add_step(writer, 0, 60, 4);
    add_step(writer, 60, 120, 5);
    report = finish(writer);
    return view_open(report, &view, &err);
}

static int close_report(void **state)
{
    view_close(view);
    report_close(report);
    return remove_path(state);
}

/* ---- tests ----------------------------------------------------------------------------------------------------- */

static void rows_stand_in_order(void **state)
{
    assert_string_equal(tree(), "Steps\n"
                                "GPU 0 · 50 % busy\n"
                                "  Why idle\n"
                                "  Context 1\n"
                                "    Stream 7\n"
                                "  Context 1\n"
                                "    Stream 7\n"
                                "    Stream 8\n"
                                "    NVTX on stream 7\n"
                                "  Annotations, stream 7\n"
                                "  Memory, process 7\n"
                                "Process 7\n"
                                "  Thread 7\n"
                                "    State\n"
                                "    CUDA API\n"
                                "    NVTX domain\n"
                                "    PyTorch\n"
                                "  Thread 9\n"
                                "    Python samples\n"
                                "    GIL\n"
                                "CPU cores\n"
                                "  CPU 0\n"
                                "  CPU 1\n");
}

static void states_come_from_switches(void **state)
{
    const struct view_row *row = row_of(ROW_STATE, NO_ID);

    assert_string_equal(events_of(row),
                        "Running 100-200, Runnable 200-250, Running 250-300, Blocked 300-400, Running 400-500");
    assert_int_equal(view_colour(view, row, row->events.name[0]), 0);
    assert_int_equal(view_colour(view, row, row->events.name[1]), 1);
    assert_int_equal(view_colour(view, row, row->events.name[3]), 2);
    assert_string_equal(events_of(row_of(ROW_CPU_THREADS, 0)), "Thread 7 100-200, Thread 7 400-500");
    assert_string_equal(events_of(row_of(ROW_CPU_THREADS, 1)), "Thread 7 250-300");
}

static void samples_of_python_say_who_has_the_lock(void **state)
{
    assert_string_equal(events_of(row_of(ROW_GIL, NO_ID)),
                        "Holds the GIL 0-20, Waits for the GIL 20-30, Holds the GIL 40-40");
    assert_string_equal(events_of(row_of(ROW_PYTHON_SAMPLES, NO_ID)),
                        "train 0-0, train 10-10, train 20-20, train 30-30, train 40-40");
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(row_of(ROW_PYTHON_SAMPLES, NO_ID)->events.tag[i] & EVENT_FLAGS, i == 3 ? EVENT_WAITING : 0);
}

/* The third call outlasts the range, so what it launched is not the range's. The inner range has the second alone,
 * the annotation the first. */
static void ranges_are_seen_on_the_stream_of_their_work(void **state)
{
    assert_string_equal(events_of(row_of(ROW_GPU_NVTX, NO_ID)), "outer 50-120, inner 90-120");
    assert_string_equal(events_of(row_of(ROW_GPU_TORCH, NO_ID)), "forward 50-80");
}

static void annotations_on_a_stream_lead_to_those_on_the_thread(void **state)
{
    struct text request = { 0 }, answer = { 0 }, wanted = { 0 };
    const char *type;
    struct error err;

    text_addf(&request, "event?row=%d&event=0", (int)(row_of(ROW_GPU_TORCH, NO_ID) - view->rows));
    text_addf(&wanted, "{\"kind\":\"launched-by\",\"label\":\"CPU range\",\"row\":%d,",
              (int)(row_of(ROW_TORCH, NO_ID) - view->rows));
    assert_int_equal(view_answer(view, text_string(&request), NULL, 0, &answer, &type, &err), 0);
    if (!strstr(text_string(&answer), text_string(&wanted)))
        fail_msg("%s is not in %s", text_string(&wanted), text_string(&answer));
    text_free(&request);
    text_free(&answer);
    text_free(&wanted);
}

static void calls_and_ranges_are_as_tables_call_them(void **state)
{
    assert_string_equal(events_of(row_of(ROW_CUDA_API, NO_ID)),
                        "cudaLaunchKernel 10-20, cudaLaunchKernel 30-40, cudaLaunchKernel 60-130!");
    assert_string_equal(events_of(row_of(ROW_NVTX, NO_ID)), "outer 0-100, open 700-800…, inner 25-45, mark 50-50");
    assert_string_equal(events_of(row_of(ROW_STEPS, NO_ID)), "ProfilerStep#4 0-60, ProfilerStep#5 60-120");
    assert_string_equal(events_of(row_of(ROW_STREAM, 7)), "[CUDA memcpy Host-to-Device] 200-210");
}

static void memory_is_added_up_in_order_of_time(void **state)
{
    const struct view_row *row = row_of(ROW_GPU_MEMORY, NO_ID);

    assert_non_null(row);
    assert_int_equal(row->points.count, 3);
    assert_true(row->points.value[0] == 300 && row->points.value[1] == 350 && row->points.value[2] == 250);
    assert_true(row->points.min == 250 && row->points.max == 350);
    assert_string_equal(row->unit, "bytes");
}

/* The profiler writes a call into a table of nsys and as a range of the library's domain. An nsys capture has the
 * table alone. */
static void calls_of_a_library_are_one_row(void **state)
{
    struct writer *writer = start();
    struct view *shown;
    struct error err;

    add_range_of(writer, 2, DOMAIN_NAME, 0, NO_ID, "cuBLAS");
    add_range_of(writer, 3, DOMAIN_NAME, 0, NO_ID, "cuDNN");
    add_range_of(writer, 2, PUSH_POP, 10, 20, "cublasSgemm_v2");
    add_range_of(writer, 2, PUSH_POP, 30, 40, "cublasSgemm_v2");
    add_range_of(writer, 3, PUSH_POP, 50, 60, "cudnnConvolutionForward");
    ADD_LIBRARY_CALL(writer, CUBLAS_EVENTS, THREAD, 10, 20, "cublasSgemm_v2");
    ADD_LIBRARY_CALL(writer, CUBLAS_EVENTS, THREAD, 30, 40, "cublasSgemm_v2");
    ADD_LIBRARY_CALL(writer, CUDNN_EVENTS, THREAD, 50, 60, "cudnnConvolutionForward");
    ADD_LIBRARY_CALL(writer, CUDNN_EVENTS, OTHER_THREAD, 70, 80, "cudnnPoolingForward");
    struct report *made = finish(writer);
    assert_int_equal(view_open(made, &shown, &err), 0);
    assert_string_equal(tree_of(shown), "Process 7\n"
                                        "  Thread 7\n"
                                        "    cuBLAS\n"
                                        "    cuDNN\n"
                                        "  Thread 9\n"
                                        "    cuDNN\n");
    assert_string_equal(events_in(shown, &shown->rows[2]), "cublasSgemm_v2 10-20, cublasSgemm_v2 30-40");
    assert_string_equal(events_in(shown, &shown->rows[3]), "cudnnConvolutionForward 50-60");
    assert_string_equal(events_in(shown, &shown->rows[5]), "cudnnPoolingForward 70-80");
    view_close(shown);
    report_close(made);
}

/* What emit_nvtx, or the profiler in its place, makes of two operators and an annotation; and a range of the
 * program's own. */
static void add_emitted_ranges(struct writer *writer)
{
    add_range(writer, PUSH_POP, 0, 90, "epoch");
    add_range(writer, PUSH_POP, 5, 80, "train_step, op_id = 33");
    add_range(writer, PUSH_POP, 10, 20, "aten::add, seq = 12, op_id = 34, sizes = [[2, 3], [2, 3]]");
    add_range(writer, PUSH_POP, 30, 40, "aten::add, seq = 13, op_id = 35, sizes = [[4, 5], [4, 5]]");
}

static void check_operators(struct writer *writer)
{
    struct report *made = finish(writer);
    struct text answer = { 0 };
    struct view *shown;
    const char *type;
    struct error err;

    assert_int_equal(view_open(made, &shown, &err), 0);
    assert_string_equal(tree_of(shown), "Process 7\n"
                                        "  Thread 7\n"
                                        "    NVTX\n"
                                        "    PyTorch\n");
    assert_string_equal(events_in(shown, row_in(shown, ROW_NVTX, NO_ID)), "epoch 0-90");
    assert_string_equal(events_in(shown, row_in(shown, ROW_TORCH, NO_ID)),
                        "train_step 5-80, aten::add 10-20, aten::add 30-40");
    assert_int_equal(view_answer(shown, "find?text=aten::add", NULL, 0, &answer, &type, &err), 0);
    if (!strstr(text_string(&answer), "\"total\":2"))
        fail_msg("not 2 operators: %s", text_string(&answer));
    text_free(&answer);
    view_close(shown);
    report_close(made);
}

static void ranges_of_operators_are_the_row_of_pytorch(void **state)
{
    struct writer *writer = start();

    add_emitted_ranges(writer);
    check_operators(writer);
}

static void operators_of_both_sources_are_shown_once(void **state)
{
    struct writer *writer = start();

    add_emitted_ranges(writer);
    add_torch(writer, 5, 80, "user_annotation", "train_step");
    add_torch(writer, 10, 20, "cpu_op", "aten::add");
    add_torch(writer, 30, 40, "cpu_op", "aten::add");
    check_operators(writer);
}

/* A small value was rounded: the exact one is a quarter more. */
static void add_metric(struct writer *writer, int64_t number, const char *name, int64_t value)
{
    struct row_TARGET_INFO_GPU_METRICS metric = { 0 };
    struct row_GPU_METRICS row = { 0 };

    ROW_SET(&metric, TARGET_INFO_GPU_METRICS, typeId, 0);
    ROW_SET(&metric, TARGET_INFO_GPU_METRICS, metricId, number);
    ROW_SET(&metric, TARGET_INFO_GPU_METRICS, metricName, made_string(writer, name));
    writer_append(writer, TABLE_TARGET_INFO_GPU_METRICS, &metric);
    ROW_SET(&row, GPU_METRICS, timestamp, 5);
    ROW_SET(&row, GPU_METRICS, typeId, 0);
    ROW_SET(&row, GPU_METRICS, metricId, number);
    ROW_SET(&row, GPU_METRICS, value, value);
    if (value < 100)
        ROW_SET(&row, GPU_METRICS, exact, (double)value + 0.25);
    writer_append(writer, TABLE_GPU_METRICS, &row);
}

/* The unit is that in the name; but clocks come in Hz under a name that says MHz. */
static void metrics_have_a_unit(void **state)
{
    static const struct {
        const char *name, *label, *unit;
        int64_t value;
    } metrics[] = {
        { "GPC Clock Frequency [MHz]", "GPC Clock Frequency", "Hz", 1980000000 },
        { "SYS Clock Frequency [MHz]", "SYS Clock Frequency", "MHz", 1980 },
        { "SMs Active [Throughput %]", "SMs Active", "%", 50 },
        { "Unit [", "Unit [", "", 1 },
        { "[B]", "[B]", "", 1 },
    };
    enum { METRICS = COUNT_OF(metrics) };
    struct writer *writer = start();
    int found = 0;

    for (int i = 0; i < METRICS; i++)
        add_metric(writer, i, metrics[i].name, metrics[i].value);
    struct report *made = finish(writer);
    struct view *shown;
    struct error err;
    assert_int_equal(view_open(made, &shown, &err), 0);
    for (size_t r = 0; r < shown->row_count; r++)
        for (int i = 0; i < METRICS && shown->rows[r].kind == KIND_COUNTER; i++)
            if (strcmp(shown->rows[r].label, metrics[i].label) == 0) {
                assert_string_equal(shown->rows[r].unit, metrics[i].unit);
                assert_true(shown->rows[r].points.max ==
                            (double)metrics[i].value + (metrics[i].value < 100 ? 0.25 : 0));
                found++;
            }
    assert_int_equal(found, METRICS);
    view_close(shown);
    report_close(made);
}

static void about_says_what_there_is(void **state)
{
    struct text answer = { 0 };
    const char *type;
    struct error err;

    assert_int_equal(view_answer(view, "about", NULL, 0, &answer, &type, &err), 0);
    assert_string_equal(type, "application/json");
    assert_non_null(strstr(answer.bytes, "\"origin\":\"0\",\"utc\":null,\"from\":0,\"to\":800,"));
    assert_non_null(strstr(answer.bytes, "\"steps\":{\"count\":2,\"source\":\"steps by ProfilerStep\"}"));
    assert_non_null(strstr(answer.bytes, "\"processes\":[{\"pid\":7,\"name\":\"\"}]"));
    assert_non_null(strstr(answer.bytes, "{\"name\":\"cuda_gpu_kern_sum\",\"title\":\"CUDA GPU Kernel Summary\"}"));
    text_free(&answer);
}

/* A GPU works from 50 to 80, 90 to 120, 140 to 150 and 200 to 210; the thread runs for 250 of 800. */
static void overview_tells_how_busy_all_was(void **state)
{
    struct text answer = { 0 };
    const char *type;
    struct error err;
    float shares[2];

    assert_int_equal(view_answer(view, "overview?width=1", NULL, 0, &answer, &type, &err), 0);
    assert_int_equal(answer.length, 16);
    memcpy(shares, answer.bytes + 8, sizeof shares);
    assert_true(shares[0] > 0.0995 && shares[0] < 0.1005);
    assert_true(shares[1] > 0.3120 && shares[1] < 0.3130);
    text_free(&answer);
}

/* The thread waits for a CPU from 200 to 250, and for something else from 300 to 400, in no call that is recorded. */
static void preemption_leads_to_the_state_of_the_thread(void **state)
{
    struct text answer = { 0 }, wanted = { 0 };
    const char *type;
    struct error err;

    text_addf(&wanted, "{\"row\":%d,\"event\":1,\"name\":\"Runnable\",\"from\":200,\"to\":250}",
              (int)(row_of(ROW_STATE, NO_ID) - view->rows));
    assert_int_equal(view_answer(view, "summary", NULL, 0, &answer, &type, &err), 0);
    const char *waits = strstr(text_string(&answer), "\"thread_wait_sum\"");
    assert_non_null(waits);
    assert_non_null(strstr(waits, "[preempted]"));
    if (!strstr(waits, text_string(&wanted)))
        fail_msg("%s is not in %s", text_string(&wanted), waits);
    text_free(&answer);
    text_free(&wanted);
}

/* Tables with times that tell of no events: lives, settings, clocks, ties between events, and what
 * other tables are made of. */
static const char *const no_events[] = {
    "TACHO_PROCESS",     "TACHO_THREAD",          "TACHO_MODULE",     "TACHO_CLOCK", "TACHO_CAPTURE",
    "TACHO_SAMPLING",    "TACHO_GPU_SAMPLING",    "TACHO_CPU_TIME",   "TACHO_CUPTI", "TACHO_RESOURCE",
    "TACHO_DETAIL",      "TACHO_TORCH_LINK",      "TACHO_TORCH_FLOW", "PMU_EVENTS",  "UNCORE_PMU_EVENTS",
    "TACHO_MPI_MESSAGE", /* the calls are events, and shown */
    "TACHO_NCCL_STATE",  "TACHO_HEAP_ALLOCATION", "TACHO_HEAP_FREE"
};

static int tells_of_events(const struct schema_table *table)
{
    int has_time = 0;

    for (size_t c = 0; c < table->column_count; c++)
        has_time |= table->columns[c].type == COLUMN_TIME;
    for (size_t i = 0; i < COUNT_OF(no_events); i++)
        has_time &= strcmp(no_events[i], table->name) != 0;
    return has_time;
}

/* Two rows of each table, one after the other in time and of the same thread; a number for all else, and a text
 * that is a table's name, too. */
static void every_table_of_events_is_shown(void **state)
{
    for (int table = 0; table < TABLE_COUNT; table++) {
        const struct schema_table *schema = &schema_tables[table];
        if (!tells_of_events(schema))
            continue;
        struct writer *writer = start();
        for (int i = 0; i < 2; i++) {
            int64_t row[65] = { 0 }, time = 10 * i;
            for (size_t c = 0; c < schema->column_count; c++) {
                int is_text = schema->columns[c].type == COLUMN_TEXT || schema->columns[c].type == COLUMN_STRING;
                row[0] |= (int64_t)(UINT64_C(1) << c);
                row[1 + c] = schema->columns[c].type == COLUMN_TIME              ? time++
                             : strcmp(schema->columns[c].name, "phase") == 0     ? made_string(writer, "traced")
                             : is_text                                           ? made_string(writer, "NVTX_EVENTS")
                             : strcmp(schema->columns[c].name, "eventType") == 0 ? 59
                                                                                 : 1;
            }
            writer_append(writer, (enum table_id)table, row);
        }
        struct report *made = finish(writer);
        struct view *shown;
        struct error err;
        if (view_open(made, &shown, &err) != 0)
            fail_msg("%s: %s", schema->name, err.text);
        if (!shown->event_count)
            fail_msg("%s is not shown", schema->name);
        view_close(shown);
        report_close(made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_stand_in_order),
        cmocka_unit_test(states_come_from_switches),
        cmocka_unit_test(samples_of_python_say_who_has_the_lock),
        cmocka_unit_test(ranges_are_seen_on_the_stream_of_their_work),
        cmocka_unit_test(annotations_on_a_stream_lead_to_those_on_the_thread),
        cmocka_unit_test(calls_and_ranges_are_as_tables_call_them),
        cmocka_unit_test(memory_is_added_up_in_order_of_time),
        cmocka_unit_test(calls_of_a_library_are_one_row),
        cmocka_unit_test(ranges_of_operators_are_the_row_of_pytorch),
        cmocka_unit_test(operators_of_both_sources_are_shown_once),
        cmocka_unit_test(metrics_have_a_unit),
        cmocka_unit_test(about_says_what_there_is),
        cmocka_unit_test(overview_tells_how_busy_all_was),
        cmocka_unit_test(preemption_leads_to_the_state_of_the_thread),
        cmocka_unit_test(every_table_of_events_is_shown),
    };
    return cmocka_run_group_tests(tests, open_report, close_report);
}
