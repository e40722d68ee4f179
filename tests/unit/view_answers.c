/* What the timeline says of events, over small reports whose ties are known: operators and their other halves, calls
 * and work, locks, lines of Python from each of their sources. And names and ids that nobody wants. */
#include "made_report.h"

#include <stdio.h>

#include "base/cancel.h"
#include "view/load/view_state.h"
#include "view/timeline.h"

enum { MAIN = 1, BACKWARD = 2, HOLDER = 3 };

/* ---- making ---------------------------------------------------------------------------------------------------- */

static void range(struct writer *writer, int64_t tid, int64_t begin, int64_t end, const char *text, size_t length)
{
    struct row_NVTX_EVENTS row = { 0 };

    ROW_SET(&row, NVTX_EVENTS, start, begin);
    ROW_SET(&row, NVTX_EVENTS, end, end);
    ROW_SET(&row, NVTX_EVENTS, eventType, 59);
    ROW_SET(&row, NVTX_EVENTS, globalTid, made_thread(1, tid));
    ROW_SET(&row, NVTX_EVENTS, domainId, 0);
    ROW_SET(&row, NVTX_EVENTS, text, writer_string(writer, text, length));
    writer_append(writer, TABLE_NVTX_EVENTS, &row);
}

static void call(struct writer *writer, int64_t tid, int64_t begin, int64_t end, int64_t id, int64_t python_chain)
{
    struct row_CUPTI_ACTIVITY_KIND_RUNTIME row = { 0 };

    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, start, begin);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, end, end);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, globalTid, made_thread(1, tid));
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, correlationId, id);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, nameId, made_string(writer, "cudaLaunchKernel_v7000"));
    if (python_chain)
        ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, pythonCallchainId, python_chain);
    writer_append(writer, TABLE_CUPTI_ACTIVITY_KIND_RUNTIME, &row);
}

struct made_operator {
    int64_t tid, begin, end;
    const char *name;
    int64_t sequence, forward_thread, external;
    const char *stack;
};
static void made_operator(struct writer *writer, struct made_operator made)
{
    struct row_TACHO_TORCH_OP row = { 0 };

    ROW_SET(&row, TACHO_TORCH_OP, start, made.begin);
    ROW_SET(&row, TACHO_TORCH_OP, end, made.end);
    ROW_SET(&row, TACHO_TORCH_OP, globalTid, made_thread(1, made.tid));
    ROW_SET(&row, TACHO_TORCH_OP, nameId, made_string(writer, made.name));
    ROW_SET(&row, TACHO_TORCH_OP, category, made_string(writer, "cpu_op"));
    ROW_SET(&row, TACHO_TORCH_OP, sequenceNumber, made.sequence);
    ROW_SET(&row, TACHO_TORCH_OP, forwardThread, made.forward_thread);
    if (made.external)
        ROW_SET(&row, TACHO_TORCH_OP, externalId, made.external);
    if (made.stack)
        ROW_SET(&row, TACHO_TORCH_OP, callStackId, made_string(writer, made.stack));
    writer_append(writer, TABLE_TACHO_TORCH_OP, &row);
}

static void link_work(struct writer *writer, int64_t correlation, int64_t external)
{
    struct row_TACHO_TORCH_LINK row = { 0 };

    ROW_SET(&row, TACHO_TORCH_LINK, start, 0);
    ROW_SET(&row, TACHO_TORCH_LINK, globalPid, made_thread(1, 0));
    ROW_SET(&row, TACHO_TORCH_LINK, correlationId, correlation);
    ROW_SET(&row, TACHO_TORCH_LINK, externalId, external);
    ROW_SET(&row, TACHO_TORCH_LINK, category, made_string(writer, "kernel"));
    writer_append(writer, TABLE_TACHO_TORCH_LINK, &row);
}

static void python_frame(struct writer *writer, int64_t chain, int64_t depth, const char *function, int64_t line)
{
    struct row_TACHO_PYTHON_CALLCHAINS row = { 0 };

    ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, id, chain);
    ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, symbol, made_string(writer, function));
    ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, module, made_string(writer, "/home/me/train.py"));
    ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, stackDepth, depth);
    ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, line, line);
    writer_append(writer, TABLE_TACHO_PYTHON_CALLCHAINS, &row);
}

static void python_sample(struct writer *writer, int64_t tid, int64_t time, int64_t chain)
{
    struct row_TACHO_PYTHON_SAMPLE row = { 0 };

    ROW_SET(&row, TACHO_PYTHON_SAMPLE, start, time);
    ROW_SET(&row, TACHO_PYTHON_SAMPLE, globalTid, made_thread(1, tid));
    ROW_SET(&row, TACHO_PYTHON_SAMPLE, threadState, 1);
    ROW_SET(&row, TACHO_PYTHON_SAMPLE, gil, 1);
    ROW_SET(&row, TACHO_PYTHON_SAMPLE, callchainId, chain);
    writer_append(writer, TABLE_TACHO_PYTHON_SAMPLE, &row);
}

static void lock_wait(struct writer *writer, int64_t begin, int64_t end)
{
    struct row_OSRT_API row = { 0 };

    ROW_SET(&row, OSRT_API, start, begin);
    ROW_SET(&row, OSRT_API, end, end);
    ROW_SET(&row, OSRT_API, eventClass, 27);
    ROW_SET(&row, OSRT_API, globalTid, made_thread(1, MAIN));
    ROW_SET(&row, OSRT_API, nameId, made_string(writer, "pthread_mutex_lock"));
    ROW_SET(&row, OSRT_API, lockHolder, made_thread(1, HOLDER));
    writer_append(writer, TABLE_OSRT_API, &row);
}

/* ---- asking ---------------------------------------------------------------------------------------------------- */

static struct report *report;
static struct view *view;
static struct text answer;

static void show(struct writer *writer)
{
    struct error err;

    report = finish(writer);
    if (view_open(report, &view, &err) != 0)
        fail_msg("%s", err.text);
}

static void close_all(void)
{
    view_close(view);
    report_close(report);
    text_free(&answer);
}

static const char *ask(const char *format, ...)
{
    char request[512];
    const char *type;
    struct error err = { 0 };
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(request, sizeof request, format, arguments);
    va_end(arguments);
    text_clear(&answer);
    if (view_answer(view, request, NULL, 0, &answer, &type, &err) != 0)
        fail_msg("%s: %s", request, err.text);
    assert_string_equal(type, "application/json");
    return text_string(&answer);
}

/* The event with this name; of several the first by row. */
static void locate(const char *name, int *row, uint32_t *event)
{
    for (size_t r = 0; r < view->row_count; r++)
        for (uint32_t i = 0; i < view->rows[r].events.count; i++)
            if (strcmp(view_name(view, view->rows[r].events.name[i], NULL), name) == 0) {
                *row = (int)r;
                *event = i;
                return;
            }
    fail_msg("there is no event '%s'", name);
}

static const char *ask_event(const char *name)
{
    int row;
    uint32_t event;

    locate(name, &row, &event);
    return ask("event?row=%d&event=%u", row, event);
}

static void expect(const char *got, const char *part)
{
    if (!strstr(got, part))
        fail_msg("'%s' is not in\n%s", part, got);
}

static void expect_none(const char *got, const char *part)
{
    if (strstr(got, part))
        fail_msg("'%s' is in\n%s", part, got);
}

/* The event has (or has not) a link of this kind to that one. */
static int has_link(const char *from, const char *kind, const char *to)
{
    char place[64], start[64];
    const char *links = strstr(ask_event(from), "\"links\":");
    int row, found = 0;
    uint32_t event;

    assert_non_null(links);
    locate(to, &row, &event);
    snprintf(start, sizeof start, "{\"kind\":\"%s\",", kind);
    snprintf(place, sizeof place, "\"row\":%d,\"event\":%u,", row, event);
    for (const char *at = links; (at = strstr(at, start)) && !found; at++) {
        const char *end = strchr(at, '}'), *here = strstr(at, place);
        found = here && here < end;
    }
    return found;
}

/* ---- tests ----------------------------------------------------------------------------------------------------- */

/* aten::empty shows the number that the next operator will get: nothing runs backward for it. */
static void halves_of_operators(void **state)
{
    struct writer *writer = start();

    made_operator(writer, (struct made_operator){ MAIN, 10, 20, "aten::empty", 7, 0, 0, NULL });
    made_operator(writer, (struct made_operator){ MAIN, 30, 60, "aten::linear", 7, 0, 0,
                                                  "model.py(12): forward;train.py(3): main" });
    made_operator(writer, (struct made_operator){ MAIN, 35, 55, "aten::addmm", 7, 0, 0, NULL });
    made_operator(writer,
                  (struct made_operator){ BACKWARD, 95, 130, "autograd::engine::evaluate_function: AddmmBackward0", 7,
                                          1, 0, NULL });
    made_operator(writer, (struct made_operator){ BACKWARD, 100, 120, "AddmmBackward0", 7, 1, 0, NULL });
    made_operator(writer, (struct made_operator){ BACKWARD, 105, 115, "aten::mm", 7, 0, 0, NULL });
    made_operator(writer, (struct made_operator){ MAIN, 200, 210, "aten::late", 7, 0, 0, NULL });
    show(writer);

    assert_int_equal(has_link("aten::linear", "backward", "AddmmBackward0"), 1);
    assert_int_equal(has_link("aten::addmm", "backward", "AddmmBackward0"), 1);
    assert_int_equal(has_link("aten::linear", "backward", "autograd::engine::evaluate_function: AddmmBackward0"), 0);
    expect(ask_event("aten::empty"), "\"links\":[]");
    expect(ask_event("aten::late"), "\"links\":[]");
    expect(ask_event("aten::mm"), "\"links\":[]");
    assert_int_equal(has_link("AddmmBackward0", "forward", "aten::linear"), 1);
    assert_int_equal(has_link("AddmmBackward0", "forward", "aten::addmm"), 1);
    assert_int_equal(has_link("AddmmBackward0", "forward", "aten::empty"), 0);
    expect(ask_event("aten::addmm"),
           "\"python\":{\"frames\":[{\"name\":\"forward\",\"file\":\"model.py\",\"line\":12,\"kind\":\"python\"},"
           "{\"name\":\"main\",\"file\":\"train.py\",\"line\":3,\"kind\":\"python\"}],\"from\":\"recorded with "
           "aten::linear\"}");
    expect(ask_event("aten::mm"), "\"line\":12,\"kind\":\"python\"}");
    expect(ask_event("aten::mm"), "\"from\":\"of the forward operator aten::linear\"");
    expect(ask_event("aten::mm"), "\"operator\":{\"row\"");
    expect(ask_event("aten::empty"), "\"python\":null");
    close_all();
}

/* A trace without calls: the external ids lead from work to operators and back. */
static void work_without_calls(void **state)
{
    struct writer *writer = start();

    made_operator(writer, (struct made_operator){ MAIN, 10, 40, "aten::outer", -1, 0, 5, NULL });
    made_operator(writer, (struct made_operator){ MAIN, 20, 30, "aten::inner", -1, 0, 6, NULL });
    link_work(writer, 71, 6);
    link_work(writer, 72, 5);
    made_kernel(writer, (struct made_kernel){ 50, 60, 1, 71, 0, 7, "inner_kernel", NULL, NULL });
    made_kernel(writer, (struct made_kernel){ 60, 70, 1, 72, 0, 7, "outer_kernel", NULL, NULL });
    made_kernel(writer, (struct made_kernel){ 70, 80, 1, NO_ID, 0, 7, "stray_kernel", NULL, NULL });
    show(writer);

    assert_int_equal(has_link("aten::inner", "kernels", "inner_kernel"), 1);
    assert_int_equal(has_link("aten::inner", "kernels", "outer_kernel"), 0);
    expect(ask_event("inner_kernel"), "\"operator\":{\"row\"");
    expect(ask_event("inner_kernel"), "\"name\":\"aten::inner\",\"from\":20,\"to\":30},\"python\"");
    expect(ask_event("outer_kernel"), "\"name\":\"aten::outer\",\"from\":10,\"to\":40},\"python\"");
    expect(ask_event("stray_kernel"), "\"operator\":null");
    close_all();
}

static void lines_of_python(void **state)
{
    static const char marker[] = "{'traceMarker': ['/a/outer.py:1', '/a/it\"s.py:23'], 'op': 'x'}";
    struct writer *writer = start();

    python_frame(writer, 9, 0, "step", 44);
    python_frame(writer, 9, 1, "<module>", 50);
    python_frame(writer, 11, 0, "idle", 77);
    range(writer, MAIN, 0, 100, "no lines here", 13);
    call(writer, MAIN, 10, 20, 1, 9);
    made_kernel(writer, (struct made_kernel){ 30, 40, 1, 1, 0, 7, "told_kernel", NULL, NULL });
    range(writer, MAIN, 200, 300, marker, sizeof marker - 1);
    range(writer, MAIN, 210, 220, "within", 6);
    range(writer, HOLDER, 200, 300, "sampled", 7);
    python_sample(writer, HOLDER, 250, 11);
    range(writer, HOLDER, 5000250, 5000300, "sampled before", 14);
    range(writer, HOLDER, 900000000, 900000300, "never sampled", 13);
    show(writer);

    expect(ask_event("told_kernel"),
           "\"python\":{\"frames\":[{\"name\":\"step\",\"file\":\"/home/me/train.py\",\"line\":44,\"kind\":\"python\"},"
           "{\"name\":\"<module>\",\"file\":\"/home/me/"
           "train.py\",\"line\":50,\"kind\":\"python\"}],\"from\":\"recorded with cudaLaunchKernel\"}");
    expect(ask_event("cudaLaunchKernel"), "\"line\":44");
    assert_int_equal(has_link("cudaLaunchKernel", "launches", "told_kernel"), 1);
    assert_int_equal(has_link("no lines here", "kernels", "told_kernel"), 1);
    expect(ask_event("within"), "\"frames\":[{\"name\":\"/a/it\\\"s.py:23\",\"file\":\"/a/"
                                "it\\\"s.py\",\"line\":23,\"kind\":\"python\"},{\"name\":\"/a/outer.py:1\"");
    expect(ask_event("sampled"), "\"line\":77,\"kind\":\"python\"}],\"from\":\"sample of the thread in that time\"");
    expect(ask_event("sampled before"), "\"from\":\"nearest sample of the thread, 5 ms before\"");
    expect(ask_event("never sampled"), "\"python\":null");
    expect(ask_event("no lines here"), "\"python\":null");
    close_all();
}

static void who_held_the_lock(void **state)
{
    struct writer *writer = start();

    lock_wait(writer, 200, 300);
    range(writer, HOLDER, 150, 350, "holding", 7);
    range(writer, HOLDER, 190, 250, "writing", 7);
    range(writer, HOLDER, 260, 280, "later", 5);
    range(writer, MAIN, 100, 400, "waiting", 7);
    show(writer);

    assert_int_equal(has_link("pthread_mutex_lock", "lock-holder", "writing"), 1);
    assert_int_equal(has_link("pthread_mutex_lock", "lock-holder", "holding"), 0);
    expect(ask_event("pthread_mutex_lock"), "\"around\":[{\"row\"");
    expect(ask_event("pthread_mutex_lock"), "\"label\":\"process 1, thread 3\"");
    close_all();
}

/* Of ranges that begin and end together the outer is around the inner, and not the other way round. */
static void ranges_of_one_length(void **state)
{
    struct writer *writer = start();

    range(writer, MAIN, 10, 20, "first", 5);
    range(writer, MAIN, 10, 20, "second", 6);
    range(writer, MAIN, 15, 15, "moment", 6);
    show(writer);

    const char *around = strstr(ask_event("first"), "\"around\":");
    int first_is_outer = strncmp(around, "\"around\":[]", 11) == 0;
    around = strstr(ask_event(first_is_outer ? "second" : "first"), "\"around\":");
    expect_none(around, "\"around\":[]");
    expect(ask_event("moment"), first_is_outer ? "\"name\":\"second\",\"from\":10,\"to\":20}],\"operator\""
                                               : "\"name\":\"first\",\"from\":10,\"to\":20}],\"operator\"");
    close_all();
}

/* More ranges around each other than any program has: the nearest are told. */
static void ranges_without_number(void **state)
{
    enum { RANGES = 1500 };
    struct writer *writer = start();
    char name[32];
    size_t count = 0;

    for (int64_t i = 0; i <= RANGES; i++) {
        snprintf(name, sizeof name, "range_%lld", (long long)i);
        range(writer, MAIN, i, 10000 - i, name, strlen(name));
    }
    show(writer);

    snprintf(name, sizeof name, "range_%d", RANGES);
    const char *around = strstr(ask_event(name), "\"around\":[");
    for (const char *at = around; (at = strstr(at, "\"name\":")) && at < strstr(around, "\"operator\":"); at++)
        count++;
    assert_int_equal(count, 1000);
    expect(around, "\"name\":\"range_1499\",\"from\":1499,\"to\":8501}],\"operator\"");
    close_all();
}

/* Ids that fall as time goes on, over several chunks, and the same ids in another process. */
static void ids_in_no_order(void **state)
{
    enum { CALLS = 70000 };
    struct writer *writer = start();
    char name[32];

    for (int64_t i = 0; i < CALLS; i++) {
        call(writer, MAIN, i * 100, i * 100 + 10, CALLS - i, 0);
        snprintf(name, sizeof name, "kernel_%lld", (long long)(i % 1000 ? 1000 : i));
        made_kernel(writer, (struct made_kernel){ i * 100 + 20, i * 100 + 30, 1, CALLS - i, 0, 7, name, NULL, NULL });
        made_kernel(writer,
                    (struct made_kernel){ i * 100 + 20, i * 100 + 30, 2, CALLS - i, 0, 7, "foreign", NULL, NULL });
    }
    show(writer);
    for (int64_t i = 2000; i < CALLS; i += 7000) {
        char from[64];
        snprintf(name, sizeof name, "kernel_%lld", (long long)i);
        snprintf(from, sizeof from, "\"name\":\"cudaLaunchKernel\",\"from\":%lld,", (long long)(i * 100));
        expect(strstr(ask_event(name), "\"launched-by\""), from);
    }
    expect_none(ask_event("foreign"), "launched-by");
    close_all();
}

/* Two processes that see one GPU each: it is device 0 for both. */
static void gpus_of_processes(void **state)
{
    struct writer *writer = start();

    for (int64_t pid = 1; pid <= 2; pid++) {
        struct row_TARGET_INFO_CUDA_DEVICE device = { 0 };
        struct row_TARGET_INFO_GPU gpu = { 0 };
        ROW_SET(&device, TARGET_INFO_CUDA_DEVICE, gpuId, 4 + pid);
        ROW_SET(&device, TARGET_INFO_CUDA_DEVICE, cudaId, 0);
        ROW_SET(&device, TARGET_INFO_CUDA_DEVICE, pid, pid);
        writer_append(writer, TABLE_TARGET_INFO_CUDA_DEVICE, &device);
        ROW_SET(&gpu, TARGET_INFO_GPU, id, 4 + pid);
        ROW_SET(&gpu, TARGET_INFO_GPU, name, made_string(writer, "GPU"));
        writer_append(writer, TABLE_TARGET_INFO_GPU, &gpu);
        made_kernel(writer,
                    (struct made_kernel){ pid * 10, pid * 10 + 5, pid, 1, 0, 7, pid == 1 ? "one" : "two", NULL, NULL });
    }
    show(writer);

    expect(ask("table?report=cuda_gpu_kern_sum"), "\"total\":2,");
    expect(ask("table?report=cuda_gpu_kern_sum&device=6"), "\"two\"]],\"total\":1,");
    expect(ask("table?report=cuda_gpu_kern_sum&device=5&stream=7"), "\"one\"]],\"total\":1,");
    expect(ask("table?report=cuda_gpu_kern_sum&device=5&pid=2"), "\"total\":0,");
    close_all();
}

static void hostile_names(void **state)
{
    enum { LONG = 1 << 20 };
    struct writer *writer = start();
    char *long_name = malloc(LONG), many_x[100];

    assert_non_null(long_name);
    memset(long_name, 'x', LONG);
    memcpy(many_x, long_name, sizeof many_x);
    memcpy(long_name + LONG - 3, "END", 3);
    range(writer, MAIN, 0, 10, "a\0b\"\\\n<script>", 14);
    range(writer, MAIN, 10, 20, "\xff\xfe seq \xc3", 8);
    range(writer, MAIN, 20, 30, long_name, LONG);
    range(writer, MAIN, 30, 40, "", 0);
    range(writer, MAIN, 40, 50, ", seq = 99999999999999999999999, op_id = ", 41);
    range(writer, MAIN, 50, 60, "traceMarker [ ' ", 16);
    show(writer);
    free(long_name);

    expect(ask("find?text=end"), "\"total\":1,");
    expect(ask("find?text=%.100sEnd", many_x), "\"total\":1,"); /* long texts are looked for in another way */
    expect(ask("find?text=%.100sEnds", many_x), "\"total\":0,");
    expect(ask("find?text=end&mode=regex"), "\"total\":0,");    /* beyond what an expression looks at */
    expect(ask("find?text=b%%22"), "\"total\":1,");
    expect(ask("find?text=a%%00B"), "\"total\":1,");
    expect(ask("find?text=%%ff"), "\"total\":1,");
    expect(ask("find?text="), "\"total\":6,");
    expect(ask("find?text=&mode=exact"), "\"total\":1,");
    expect(ask("find?text=a.b&mode=regex"), "\"total\":1,");
    expect(ask("find?text=%%5Ea.b%%7C%%5Ez&mode=regex"), "\"total\":1,");
    expect(ask("find?text=x%%7B64%%7D&mode=regex"), "\"total\":1,");
    /* many parts see as many characters */
    expect(ask("find?text=%%5E(xx?)%%7B100%%7D(y?)*&mode=regex"), "\"total\":1,");
    for (uint32_t event = 0; event < 6; event++)
        expect(ask("event?row=%d&event=%u", (int)view->row_count - 1, event), "\"links\":[]");
    expect(ask("event?row=%d&event=0", (int)view->row_count - 1), "\"name\":\"a\\u0000b\\\"\\\\\\u000a<script>\"");
    expect(ask("flame?source=events&row=%d", (int)view->row_count - 1), "\"samples\":6");
    close_all();
}

static void an_empty_report(void **state)
{
    show(start());
    expect(ask("find?text=x"), "\"total\":0,\"rows\":[],\"names\":[]");
    expect(ask("next?text=x"), "null");
    expect(ask("flame"), "\"nodes\":[[-1,-1,0,0]],\"samples\":0");
    expect(ask("advice?step=1"), "{\"advice\":[],\"rules\":[],\"unchecked\":[{");
    expect(ask("advice"), "{\"name\":\"lock_contention\",\"title\":\"Contended Locks\",\"data\":\"OS calls\","
                          "\"option\":\"--trace=osrt\"},");
    expect(ask("advice"), "],\"complete\":true}");
    expect(ask("about"), "\"focus\":{\"from\":0,\"to\":0},");
    expect(ask("about"), "\"detail\":null,");
    close_all();
}

/* A program of 12 s whose GPU works from 10 to 10.3 s and, once, at 1 s. The work is looked at in 1024 parts of
 * (10.3 s - 1 s) / 1024 + 1 = 9,082,032 ns: 990 of them can be left out at the begin. Around the rest is a twentieth of
 * its length. */
static void opens_at_the_work_of_gpus(void **state)
{
    const int64_t second = 1000000000, ms = 1000000;
    struct writer *writer = start();

    range(writer, MAIN, 0, 12 * second, "all", 3);
    range(writer, BACKWARD, 0, 5 * second, "start", 5);
    made_kernel(writer, (struct made_kernel){ second, second + ms, 1, NO_ID, 0, 7, "clear", NULL, NULL });
    for (int64_t i = 0; i < 300; i++)
        made_kernel(writer, (struct made_kernel){ 10 * second + i * ms, 10 * second + (i + 1) * ms, 1, NO_ID, 0, 7, "k",
                                                  NULL, NULL });
    show(writer);
    expect(ask("about"), "\"from\":0,\"to\":12000000000,\"focus\":{\"from\":9975772264,\"to\":10315439416},");
    for (size_t r = 0; r < view->row_count; r++) /* a thread without events there is folded */
        if (view->rows[r].type == ROW_THREAD)
            assert_int_equal(view->rows[r].is_open, view->rows[r].thread == made_thread(1, MAIN));
    close_all();
}

/* Work in most of the time, or none: all of it is shown. */
static void opens_whole(void **state)
{
    for (int has_work = 0; has_work < 2; has_work++) {
        struct writer *writer = start();
        range(writer, MAIN, 0, 1000, "all", 3);
        for (int64_t i = 0; has_work && i < 6; i++)
            made_kernel(writer, (struct made_kernel){ i * 100, i * 100 + 50, 1, NO_ID, 0, 7, "k", NULL, NULL });
        show(writer);
        expect(ask("about"), "\"focus\":{\"from\":0,\"to\":1000},");
        close_all();
    }
}

static void add_running(struct writer *writer, int64_t at, int is_in)
{
    struct row_SCHED_EVENTS row = { 0 };

    ROW_SET(&row, SCHED_EVENTS, start, at);
    ROW_SET(&row, SCHED_EVENTS, cpu, 0);
    ROW_SET(&row, SCHED_EVENTS, isSchedIn, is_in);
    ROW_SET(&row, SCHED_EVENTS, globalTid, made_thread(1, MAIN));
    writer_append(writer, TABLE_SCHED_EVENTS, &row);
}

static void add_os_call(struct writer *writer, int64_t from, int64_t to, const char *name)
{
    struct row_OSRT_API row = { 0 };

    ROW_SET(&row, OSRT_API, start, from);
    ROW_SET(&row, OSRT_API, end, to);
    ROW_SET(&row, OSRT_API, eventClass, EVENT_CLASS_OSRT);
    ROW_SET(&row, OSRT_API, globalTid, made_thread(1, MAIN));
    ROW_SET(&row, OSRT_API, nameId, made_string(writer, name));
    writer_append(writer, TABLE_OSRT_API, &row);
}

static void check_focus(int64_t least_from, int64_t most_from, int64_t least_to, int64_t most_to)
{
    int64_t from = view->focus_from_ns - view->begin_ns, to = view->focus_to_ns - view->begin_ns;

    if (from < least_from || from > most_from || to < least_to || to > most_to)
        fail_msg("opens from %lld to %lld", (long long)from, (long long)to);
}

/* A program that computes for one second and then waits for nine, and wakes up for a moment in the middle of that: as
 * switches of its thread tell it, and as its calls do. */
static void opens_at_what_threads_did(void **state)
{
    const int64_t second = 1000000000, ms = 1000000;

    for (int has_switches = 0; has_switches < 2; has_switches++) {
        struct writer *writer = start();
        for (int64_t i = 0; i < 1000; i++) {
            if (has_switches) {
                add_running(writer, i * ms, 1);
                add_running(writer, i * ms + ms / 2, 0);
            }
            add_os_call(writer, i * ms + ms / 2, (i + 1) * ms, "write");
        }
        if (has_switches) {
            add_running(writer, 5 * second, 1);
            add_running(writer, 5 * second + ms / 10, 0);
        }
        add_os_call(writer, second, 5 * second, "poll");
        add_os_call(writer, 5 * second + ms / 10, 10 * second, "poll");
        show(writer);
        check_focus(0, 0, second, 11 * second / 10);
        close_all();
    }
}

/* Of ten seconds, the user recorded from 2 s to 8 s; in that are steps from 3 s to 4 s. */
static void opens_at_the_recorded_range_and_the_steps(void **state)
{
    const int64_t second = 1000000000;

    for (int has_steps = 0; has_steps < 2; has_steps++) {
        struct writer *writer = start();
        struct row_TACHO_RANGE row = { 0 };
        ROW_SET(&row, TACHO_RANGE, start, 2 * second);
        ROW_SET(&row, TACHO_RANGE, end, 8 * second);
        ROW_SET(&row, TACHO_RANGE, cause, made_string(writer, "cudaProfilerApi"));
        writer_append(writer, TABLE_TACHO_RANGE, &row);
        range(writer, MAIN, 0, 10 * second, "all", 3);
        for (int64_t i = 0; has_steps && i < 10; i++) {
            char name[16];
            snprintf(name, sizeof name, "step %d", (int)i);
            range(writer, MAIN, 3 * second + i * second / 10, 3 * second + (i + 1) * second / 10, name, strlen(name));
        }
        show(writer);
        if (has_steps)
            check_focus(29 * second / 10, 3 * second, 4 * second, 41 * second / 10);
        else
            check_focus(19 * second / 10, 2 * second, 8 * second, 81 * second / 10);
        close_all();
    }
}

static void cut_to_a_size(void **state)
{
    struct writer *writer = start();

    range(writer, MAIN, 10, 200, "a range", 7);
    for (int64_t from = 30; from < 100; from += 50) {
        struct row_TACHO_DETAIL row = { 0 };
        ROW_SET(&row, TACHO_DETAIL, start, from);
        ROW_SET(&row, TACHO_DETAIL, end, from + 5);
        writer_append(writer, TABLE_TACHO_DETAIL, &row);
    }
    show(writer);
    expect(ask("about"), "\"detail\":[{\"from\":30,\"to\":35},{\"from\":80,\"to\":85}],");
    close_all();
}

/* Whatever may take long ends when it is called off, and leaves nothing half done behind. */
static void called_off(void **state)
{
    static const struct {
        const char *request, *body;
    } asked[] = {
        { "table?report=nvtx_sum", NULL },
        { "find?text=r", NULL },
        { "flame?source=cpu", NULL },
        { "event?row=%d&event=0", NULL },
        { "sql", "SELECT a.start, b.text FROM NVTX_EVENTS a, NVTX_EVENTS b WHERE a.start = b.start" },
        { "sql", "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n" },
    };
    enum { COUNT = COUNT_OF(asked), ENDLESS = COUNT - 1 };
    struct writer *writer = start();
    struct row_COMPOSITE_EVENTS sample = { 0 };

    range(writer, MAIN, 10, 20, "a range", 7);
    ROW_SET(&sample, COMPOSITE_EVENTS, id, 1);
    ROW_SET(&sample, COMPOSITE_EVENTS, start, 15);
    ROW_SET(&sample, COMPOSITE_EVENTS, globalTid, made_thread(1, MAIN));
    writer_append(writer, TABLE_COMPOSITE_EVENTS, &sample);
    show(writer);
    for (size_t i = 0; i < COUNT; i++) {
        _Atomic int flag = 1;
        const char *type;
        char request[64];
        struct error err = { 0 };
        int row;
        uint32_t event;
        size_t length = asked[i].body ? strlen(asked[i].body) : 0;
        locate("a range", &row, &event);
        snprintf(request, sizeof request, asked[i].request, row);
        cancel_watch(&flag);
        text_clear(&answer);
        if (view_answer(view, request, asked[i].body, length, &answer, &type, &err) != ERR_CANCELLED)
            fail_msg("%s: %d (%s)", request, err.code, err.text);
        flag = 0;
        text_clear(&answer);
        if (i != ENDLESS && view_answer(view, request, asked[i].body, length, &answer, &type, &err) != 0)
            fail_msg("%s, asked again: %s", request, err.text);
        cancel_watch(NULL);
    }
    close_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halves_of_operators),
        cmocka_unit_test(work_without_calls),
        cmocka_unit_test(lines_of_python),
        cmocka_unit_test(who_held_the_lock),
        cmocka_unit_test(ranges_of_one_length),
        cmocka_unit_test(ids_in_no_order),
        cmocka_unit_test(ranges_without_number),
        cmocka_unit_test(gpus_of_processes),
        cmocka_unit_test(hostile_names),
        cmocka_unit_test(an_empty_report),
        cmocka_unit_test(opens_at_the_work_of_gpus),
        cmocka_unit_test(opens_whole),
        cmocka_unit_test(opens_at_what_threads_did),
        cmocka_unit_test(opens_at_the_recorded_range_and_the_steps),
        cmocka_unit_test(cut_to_a_size),
        cmocka_unit_test(called_off),
    };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
