/* The CUDA reports and rules on small captures made by hand: what joins with what, what a filter leaves
 * in, what the options do, and that no value in a file can upset them. nsys's own captures, in golden/,
 * have none of these corners. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyze/model/nvtx_span.h"
#include "analyze/registry.h"
#include "analyze/rules/rule.h"
#include "cmd/print/print.h"
#include "made_report.h"

static void call(struct writer *writer, int64_t begin, int64_t end, int64_t global_tid, int64_t id, const char *name)
{
    struct row_CUPTI_ACTIVITY_KIND_RUNTIME row = { 0 };

    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, start, begin);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, end, end);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, globalTid, global_tid);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, correlationId, id);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, nameId, made_string(writer, name));
    writer_append(writer, TABLE_CUPTI_ACTIVITY_KIND_RUNTIME, &row);
}

static void copy(struct writer *writer, int64_t begin, int64_t end, int64_t id, int64_t source, int64_t target,
                 int64_t kind)
{
    made_copy(writer, (struct made_memory){ begin, end, id, 2000000, kind, source, target });
}

static void fill(struct writer *writer, int64_t begin, int64_t end, int64_t id, int64_t kind)
{
    made_fill(writer, (struct made_memory){ begin, end, id, .bytes = 64, .kind = kind });
}

enum { PUSHPOP = 59, STARTEND = 60, DOMAIN_CREATE = 75 };

static void range(struct writer *writer, int type, int64_t begin, int64_t end, const char *name, int64_t global_tid,
                  int64_t end_tid, int64_t domain)
{
    struct row_NVTX_EVENTS row = { 0 };

    ROW_SET(&row, NVTX_EVENTS, start, begin);
    if (type != DOMAIN_CREATE)
        ROW_SET(&row, NVTX_EVENTS, end, end);
    ROW_SET(&row, NVTX_EVENTS, eventType, type);
    ROW_SET(&row, NVTX_EVENTS, text, made_string(writer, name));
    ROW_SET(&row, NVTX_EVENTS, globalTid, global_tid);
    if (type == STARTEND)
        ROW_SET(&row, NVTX_EVENTS, endGlobalTid, end_tid);
    ROW_SET(&row, NVTX_EVENTS, domainId, domain);
    writer_append(writer, TABLE_NVTX_EVENTS, &row);
}

static const struct analysis *find(const char *name)
{
    return analysis_find(name) ? analysis_find(name) : rule_find(name);
}

/* Runs a report or a rule and compares it as csv, without the header. */
static void expect_request(struct report *report, const char *name, const struct analysis_request *request,
                           const char *expected)
{
    struct table *table;
    struct error err;
    struct text out = { 0 };

    if (analysis_run(find(name), report, request, &table, &err) != 0)
        fail_msg("%s: %s", name, err.text);
    print_csv.table(&out, table, &(struct print_request){ .time = &time_unit_ns });
    assert_string_equal(strchr(text_string(&out), '\n') + 1, expected);
    text_free(&out);
    table_delete(table);
}

static void expect(struct report *report, const char *name, const char *expected)
{
    expect_request(report, name, &(struct analysis_request){ 0 }, expected);
}

static void expect_option(struct report *report, const char *name, const char *option, const char *value,
                          const char *expected)
{
    struct analysis_option one = { option, value };

    expect_request(report, name, &(struct analysis_request){ .options = &one, .option_count = 1 }, expected);
}

/* Both processes count from 7; the last kernel has no id, and what stands before it must not be taken for one. */
static void calls_and_kernels_join_in_their_process(void **state)
{
    struct writer *writer = start();

    call(writer, 100, 110, made_thread(1, 10), 7, "cudaLaunchKernel_v7000");
    call(writer, 200, 230, made_thread(2, 20), 7, "cuLaunchKernel");
    made_kernel(writer, (struct made_kernel){ 105, 120, 1, 7, 0, 1, .name = "one" });
    made_kernel(writer, (struct made_kernel){ 240, 300, 2, 7, 1, 1, .name = "two" });
    made_kernel(writer, (struct made_kernel){ 400, 410, 2, NO_ID, 1, 1, .name = "lost" });
    struct report *report = finish(writer);
    expect(report, "cuda_kern_exec_trace",
           "100,10,,,105,15,20,1,10,0,cudaLaunchKernel,   0    0    0,   0    0    0,one\n"
           "200,30,230,10,240,60,100,2,20,1,cuLaunchKernel,   0    0    0,   0    0    0,two\n");
    expect(report, "cuda_gpu_kern_sum",
           "70.6,60,1,60.0,60.0,60,60,0.0,two\n17.6,15,1,15.0,15.0,15,15,0.0,one\n"
           "11.8,10,1,10.0,10.0,10,10,0.0,lost\n");
    report_close(report);
}

/* A and B overlap without nesting; the launch at 50 is in both, the one at 90 in B alone; C ends in another thread. */
static void ranges_that_overlap_have_their_own_work(void **state)
{
    struct writer *writer = start();

    range(writer, STARTEND, 0, 60, "A", made_thread(1, 1), made_thread(1, 1), 0);
    range(writer, STARTEND, 40, 100, "B", made_thread(1, 1), made_thread(1, 1), 0);
    range(writer, STARTEND, 0, 100, "C", made_thread(1, 1), made_thread(1, 2), 0);
    range(writer, PUSHPOP, 0, 100, "other thread", made_thread(1, 2), 0, 0);
    call(writer, 50, 55, made_thread(1, 1), 1, "cudaLaunchKernel");
    call(writer, 90, 95, made_thread(1, 1), 2, "cudaLaunchKernel");
    call(writer, 98, 105, made_thread(1, 1), 3, "cudaLaunchKernel");
    made_kernel(writer, (struct made_kernel){ 1000, 1100, 1, 1, 0, 1, .name = "k" });
    made_kernel(writer, (struct made_kernel){ 1200, 1250, 1, 2, 0, 1, .name = "k" });
    made_kernel(writer, (struct made_kernel){ 9000, 9001, 1, 3, 0, 1, .name = "k" });
    struct report *report = finish(writer);
    expect(report, "nvtx_gpu_proj_trace",
           ":A,1000,100,0,60,StartEnd,1,1,1,0,0,1,,:1\n:B,1000,250,40,60,StartEnd,1,1,2,0,0,2,,:2\n");
    expect(report, "nvtx_kern_sum",
           ",,1,1,0,1,1,1.0,1.0,1,1,0.0,k\n:A,StartEnd,1,1,1,1,100,100.0,100.0,100,100,0.0,k\n"
           ":B,StartEnd,1,1,1,2,150,75.0,75.0,50,100,35.4,k\n");
    report_close(report);
}

/* ---- the projection beside one that looks at every pair -------------------------------------------------------- */

enum { RANDOM_CALLS = 300, RANDOM_RANGES = 200 };
struct span {
    int64_t start, end, thread;
};

static uint64_t random_state;

static int64_t random_below(int64_t limit)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (int64_t)(random_state >> 33) % limit;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void check_projection(uint64_t seed)
{
    struct span calls[RANDOM_CALLS], ops[RANDOM_CALLS], ranges[RANDOM_RANGES];
    struct writer *writer = start();
    struct analysis_request request = { 0 };
    struct table *table;
    struct error err;
    int64_t now[3] = { 0 };
    size_t found = 0;

    random_state = seed;
    for (int i = 0; i < RANDOM_CALLS; i++) {
        int64_t t = random_below(3), begin = now[t] + random_below(20);
        now[t] = begin + 1 + random_below(10);
        calls[i] = (struct span){ begin, now[t], made_thread(1, t) };
        ops[i] = (struct span){ begin + random_below(500), 0, 0 };
        ops[i].end = ops[i].start + random_below(100);
        call(writer, begin, now[t], made_thread(1, t), i, "cudaLaunchKernel");
        made_kernel(writer, (struct made_kernel){ ops[i].start, ops[i].end, 1, i, 0, 1, .name = "k" });
    }
    for (int i = 0; i < RANDOM_RANGES; i++) {
        int64_t begin = random_below(3000);
        ranges[i] = (struct span){ begin, begin + random_below(random_below(10) ? 60 : 2000),
                                   made_thread(1, random_below(3)) };
        range(writer, STARTEND, begin, ranges[i].end, "r", ranges[i].thread, ranges[i].thread, 0);
    }
    struct report *report = finish(writer);
    assert_int_equal(analysis_run(analysis_find("nvtx_gpu_proj_trace"), report, &request, &table, &err), 0);
    for (int i = 0; i < RANDOM_RANGES; i++) {
        int64_t first = INT64_MAX, last = INT64_MIN, count = 0;
        for (int j = 0; j < RANDOM_CALLS; j++) {
            if (calls[j].thread != ranges[i].thread || calls[j].start < ranges[i].start || calls[j].end > ranges[i].end)
                continue;
            first = least(first, ops[j].start);
            last = most(last, ops[j].end);
            count++;
        }
        found += count > 0;
        for (size_t row = 0; count && row < table_row_count(table); row++) {
            const struct table_cell *cells = table_row(table, row);
            if (cells[11].integer != i + 1)
                continue;
            assert_int_equal(cells[1].integer, first);
            assert_int_equal(cells[2].integer, last - first);
            assert_int_equal(cells[8].integer, count);
        }
    }
    assert_int_equal(table_row_count(table), found);
    assert_true(found > 20);
    table_delete(table);
    report_close(report);
}

static void projections_are_those_of_every_pair(void **state)
{
    for (uint64_t seed = 1; seed <= 20; seed++)
        check_projection(seed);
}

/* ---- filters and options --------------------------------------------------------------------------------------- */

static struct report *make_filtered(void)
{
    struct writer *writer = start();

    call(writer, 0, 10, made_thread(1, 10), 1, "cudaLaunchKernel");
    call(writer, 20, 30, made_thread(1, 11), 2, "cudaLaunchKernel");
    call(writer, 40, 50, made_thread(2, 20), 1, "cudaLaunchKernel");
    made_kernel(writer, (struct made_kernel){ 100, 200, 1, 1, 0, 7, .name = "a" });
    made_kernel(writer, (struct made_kernel){ 300, 410, 1, 2, 1, 7, .name = "b" });
    made_kernel(writer, (struct made_kernel){ 500, 620, 2, 1, 0, 9, .name = "c" });
    return finish(writer);
}

static void expect_filter(struct report *report, const char *name, struct analysis_filter filter, const char *expected)
{
    expect_request(report, name, &(struct analysis_request){ .filter = &filter }, expected);
}

static void filters_leave_in_what_they_name(void **state)
{
    struct report *report = make_filtered();
#define A "100,1,100.0,100.0,100,100,0.0,a\n"
#define B "110,1,110.0,110.0,110,110,0.0,b\n"
#define C "120,1,120.0,120.0,120,120,0.0,c\n"

    expect_filter(report, "cuda_gpu_kern_sum", (struct analysis_filter){ .only = ONLY_PID, .pid = 1 },
                  "52.4," B "47.6," A);
    expect_filter(report, "cuda_gpu_kern_sum", (struct analysis_filter){ .only = ONLY_TID, .tid = 11 }, "100.0," B);
    expect_filter(report, "cuda_gpu_kern_sum", (struct analysis_filter){ .only = ONLY_DEVICE, .device = 1 },
                  "100.0," B);
    expect_filter(report, "cuda_gpu_kern_sum", (struct analysis_filter){ .only = ONLY_STREAM, .stream = 9 },
                  "100.0," C);
    expect_filter(report, "cuda_gpu_kern_sum",
                  (struct analysis_filter){ .only = ONLY_STREAM | ONLY_DEVICE, .stream = 7, .device = 0 }, "100.0," A);
    expect_filter(report, "cuda_api_sum", (struct analysis_filter){ .only = ONLY_PID, .pid = 2 },
                  "100.0,10,1,10.0,10.0,10,10,0.0,cudaLaunchKernel\n");
    expect_filter(report, "cuda_kern_exec_trace", (struct analysis_filter){ .only = ONLY_TID, .tid = 20 },
                  "40,10,50,450,500,120,580,2,20,0,cudaLaunchKernel,   0    0    0,   0    0    0,c\n");
    expect_request(report, "cuda_gpu_kern_sum", &(struct analysis_request){ .span = &(struct report_span){ 200, 300 } },
                   "52.4," B "47.6," A);
    expect_request(report, "cuda_gpu_kern_sum", &(struct analysis_request){ .span = &(struct report_span){ 201, 299 } },
                   "");
    report_close(report);
}

static void kernels_are_named_as_asked(void **state)
{
    struct writer *writer = start();

    range(writer, DOMAIN_CREATE, 0, 0, "lib", made_thread(1, 1), 0, 4);
    range(writer, PUSHPOP, 0, 100, "outer", made_thread(1, 1), 0, 0);
    range(writer, PUSHPOP, 10, 50, "inner", made_thread(1, 1), 0, 4);
    call(writer, 20, 30, made_thread(1, 1), 1, "cudaLaunchKernel");
    call(writer, 60, 70, made_thread(1, 1), 2, "cudaLaunchKernel");
    call(writer, 200, 210, made_thread(1, 1), 3, "cudaLaunchKernel");
    made_kernel(writer, (struct made_kernel){ 100, 130, 1, 1, 0, 1, "void k<1>(int)", "k", "_Z1k" });
    made_kernel(writer, (struct made_kernel){ 200, 220, 1, 2, 0, 1, "void k<1>(int)", "k", "_Z1k" });
    made_kernel(writer, (struct made_kernel){ 300, 310, 1, 3, 0, 1, "other", "other", NULL });
    struct report *report = finish(writer);
    expect_option(report, "cuda_gpu_kern_sum", "base", NULL,
                  "83.3,50,2,25.0,25.0,20,30,7.1,k\n16.7,10,1,10.0,10.0,10,10,0.0,other\n");
    expect_option(report, "cuda_gpu_kern_sum", "rows", "1", "83.3,50,2,25.0,25.0,20,30,7.1,void k<1>(int)\n");
    expect_option(report, "cuda_gpu_kern_sum", "rows", "0", "");
    expect_option(report, "cuda_gpu_kern_sum", "mangled", NULL,
                  "83.3,50,2,25.0,25.0,20,30,7.1,_Z1k\n16.7,10,1,10.0,10.0,10,10,0.0,other\n");
    expect_option(
        report, "cuda_gpu_kern_sum", "nvtx-name", NULL,
        "50.0,30,1,30.0,30.0,30,30,0.0,lib:inner/void k<1>(int)\n33.3,20,1,20.0,20.0,20,20,0.0,:outer/void k<1>(int)\n"
        "16.7,10,1,10.0,10.0,10,10,0.0,other\n");
    report_close(report);
}

static void an_option_that_is_not_known_is_an_error(void **state)
{
    static const struct {
        const char *analysis, *option, *value;
    } wrong[] = {
        { "cuda_gpu_kern_sum", "bas", NULL },  { "cuda_gpu_kern_sum", "base", "1" }, { "cuda_api_sum", "base", NULL },
        { "gpu_gaps", "gap", NULL },           { "gpu_gaps", "gap", "soon" },        { "gpu_gaps", "chunks", "3" },
        { "gpu_time_util", "chunks", "1001" }, { "gpu_time_util", "rows", "" },      { "cuda_api_sum", "rows", "-2" },
        { "cuda_api_sum", "rows", NULL },
    };
    struct report *report = make_filtered();

    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct analysis_option option = { wrong[i].option, wrong[i].value };
        struct table *table = NULL;
        struct error err;
        assert_int_equal(analysis_run(find(wrong[i].analysis), report,
                                      &(struct analysis_request){ .options = &option, .option_count = 1 }, &table,
                                      &err),
                         ERR_BAD_ARGUMENT);
    }
    report_close(report);
}

static void a_range_is_found_by_name_domain_and_number(void **state)
{
    static const struct {
        const char *range;
        int64_t from, to;
    } known[] = {
        { "step", 10, 20 },  { "step/1", 30, 45 }, { "step@lib", 12, 14 }, { "step@*/1", 12, 14 },
        { "a\\/b", 50, 60 }, { "a/b", 50, 60 },    { "only", 70, 80 },     { "wide", 90, 99 },
    };
    static const char *const unknown[] = { "Step", "step/2", "step@nolib", "a" };
    struct writer *writer = start();
    struct report_span span;
    struct error err;

    range(writer, DOMAIN_CREATE, 0, 0, "lib", made_thread(1, 1), 0, 4);
    range(writer, PUSHPOP, 30, 45, "step", made_thread(1, 1), 0, 0);
    range(writer, PUSHPOP, 10, 20, "step", made_thread(1, 2), 0, 0);
    range(writer, PUSHPOP, 12, 14, "step", made_thread(1, 1), 0, 4);
    range(writer, PUSHPOP, 50, 60, "a/b", made_thread(1, 1), 0, 0);
    range(writer, PUSHPOP, 70, 80, "only", made_thread(1, 1), 0, 4);
    range(writer, STARTEND, 90, 99, "wide", made_thread(1, 1), made_thread(1, 2), 0);
    struct report *report = finish(writer);
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        assert_int_equal(nvtx_span_find(report, known[i].range, &span, &err), 0);
        assert_int_equal(span.from_ns, known[i].from);
        assert_int_equal(span.to_ns, known[i].to);
    }
    for (size_t i = 0; i < COUNT_OF(unknown); i++)
        assert_int_equal(nvtx_span_find(report, unknown[i], &span, &err), ERR_NOT_FOUND);
    assert_int_equal(nvtx_span_find(report, "", &span, &err), ERR_BAD_ARGUMENT);
    report_close(report);
}

/* ---- rules ----------------------------------------------------------------------------------------------------- */

enum { PAGEABLE = 0, PINNED = 1, DEVICE = 2, MANAGED = 4, HOST_TO_DEVICE = 1, ON_DEVICE = 8 };

static void rules_tell_what_waits(void **state)
{
    struct writer *writer = start();
    static const char *const names[] = { "cudaMemcpyAsync_v3020", "cudaMemcpyAsync_v3020", "cudaMemcpy_v3020",
                                         "cudaMemcpy_v3020",      "cudaMemset_v3020",      "cudaMemset_v3020",
                                         "cudaMemsetAsync_v3020", "cudaStreamSynchronize" };

    for (int i = 0; i < 8; i++)
        call(writer, i * 100, i * 100 + 10 + i, made_thread(1, 5), i, names[i]);
    copy(writer, 10, 40, 0, PAGEABLE, DEVICE, HOST_TO_DEVICE);
    copy(writer, 110, 140, 1, PINNED, DEVICE, HOST_TO_DEVICE);
    copy(writer, 210, 250, 2, PINNED, DEVICE, HOST_TO_DEVICE);
    copy(writer, 310, 340, 3, DEVICE, DEVICE, ON_DEVICE);
    fill(writer, 410, 440, 4, MANAGED);
    fill(writer, 510, 540, 5, DEVICE);
    fill(writer, 610, 640, 6, PINNED);
    struct report *report = finish(writer);
    expect(report, "cuda_memcpy_async", "30,10,Pageable,Device,2.000,1,0,1,,7,cudaMemcpyAsync_v3020\n");
    expect(report, "cuda_memcpy_sync", "40,210,Pinned,Device,2.000,1,0,1,,7,cudaMemcpy_v3020\n");
    expect(report, "cuda_memset_sync", "30,410,Managed,0.000,1,0,1,,7,cudaMemset_v3020\n");
    expect(report, "cuda_api_sync", "17,700,1,5,cudaStreamSynchronize\n");
    expect_option(report, "cuda_api_sync", "thread", "6", "");
    expect_option(report, "cuda_api_sync", "rows", "0", "");
    expect_option(report, "cuda_api_sync", "end", "699", "");
    report_close(report);
}

/* The sentence about the first row of a rule. */
static void expect_finding(struct report *report, const char *rule, const char *option, const char *value,
                           const char *sentence)
{
    const struct analysis_option given = { option, value };
    const struct analysis_request request = { .options = &given, .option_count = 1 };
    struct text found = { 0 };
    struct table *table = NULL;
    struct error err;

    assert_int_equal(analysis_run(rule_find(rule), report, &request, &table, &err), 0);
    rule_finding(&found, rule_find(rule), table, 0);
    assert_string_equal(text_string(&found), sentence);
    text_free(&found);
    table_delete(table);
}

/* Busy 0–100 and 400–500 on device 0, with a long kernel over the end of a short one; always on device 1. */
static void rules_find_idle_time(void **state)
{
    struct writer *writer = start();
    const int64_t ms = 1000000;

    made_kernel(writer, (struct made_kernel){ 0, 100 * ms, 1, 1, 0, 1, .name = "long" });
    made_kernel(writer, (struct made_kernel){ 10 * ms, 20 * ms, 1, 2, 0, 2, .name = "short" });
    made_kernel(writer, (struct made_kernel){ 400 * ms, 500 * ms, 1, 3, 0, 1, .name = "long" });
    made_kernel(writer, (struct made_kernel){ 0, 500 * ms, 1, 4, 1, 1, .name = "all" });
    struct report *report = finish(writer);
    expect(report, "gpu_gaps", "");
    expect_option(report, "gpu_gaps", "gap", "299", "1,300000000,100000000,1,0,1\n");
    expect_option(report, "gpu_gaps", "gap", "300", "");
    expect_option(report, "gpu_time_util", "chunks", "5", "1,0.0,300000000,100000000,1,0,1\n");
    expect_option(report, "gpu_time_util", "chunks", "1", "1,42.0,500000000,0,1,0,1\n");
    expect_finding(report, "gpu_time_util", "chunks", "1", "GPU 0 was in use for 42 % of a span of 500 ms");
    report_close(report);
}

/* A process on each of two devices, many times: more than any first guess has room for. */
static void every_device_of_many_processes_is_counted(void **state)
{
    enum { PROCESSES = 1000, DEVICES = 2, OPERATIONS = 3 };
    struct writer *writer = start();
    struct table *table;
    struct error err;

    for (int64_t i = 0; i < PROCESSES * DEVICES; i++)
        made_kernel(writer, (struct made_kernel){ i, i + 10, 1 + i / DEVICES, 1, i % DEVICES, 1, .name = "k" });
    struct report *report = finish(writer);
    if (analysis_run(analysis_find("cuda_gpu_busy"), report, &(struct analysis_request){ 0 }, &table, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(table_row_count(table), DEVICES);
    for (size_t device = 0; device < DEVICES; device++)
        assert_int_equal(table_row(table, device)[OPERATIONS].integer, PROCESSES);
    table_delete(table);
    report_close(report);
}

/* ---- values that no capture has -------------------------------------------------------------------------------- */

static void no_value_upsets_a_report(void **state)
{
    static const int64_t extremes[] = { INT64_MIN, -1, 0, 1, INT64_MAX - 1, INT64_MAX };
    enum { EXTREMES = COUNT_OF(extremes) };
    struct writer *writer = start();

    for (int i = 0; i < EXTREMES; i++)
        for (int j = 0; j < EXTREMES; j++) {
            int64_t a = extremes[i], b = extremes[j];
            call(writer, a, b, b, a, "cudaMemcpy");
            made_kernel(writer, (struct made_kernel){ a, b, a, b, a, b, .name = "k" });
            copy(writer, a, b, b, a, b, 11);
            fill(writer, b, a, a, b);
            range(writer, STARTEND, a, b, "r", b, b, a);
            range(writer, PUSHPOP, a, b, "p", a, b, 0);
        }
    struct report *report = finish(writer);
    for (int list = 0; list < 2; list++)
        for (const struct analysis *const *at = list ? rules : analyses; *at; at++) {
            struct table *table = NULL;
            struct error err;
            int code = analysis_run(*at, report, &(struct analysis_request){ 0 }, &table, &err);
            if (code != 0 && code != ERR_NO_DATA)
                fail_msg("%s: %s", (*at)->name, err.text);
            table_delete(table);
        }
    report_close(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_and_kernels_join_in_their_process),
        cmocka_unit_test(ranges_that_overlap_have_their_own_work),
        cmocka_unit_test(projections_are_those_of_every_pair),
        cmocka_unit_test(filters_leave_in_what_they_name),
        cmocka_unit_test(kernels_are_named_as_asked),
        cmocka_unit_test(an_option_that_is_not_known_is_an_error),
        cmocka_unit_test(a_range_is_found_by_name_domain_and_number),
        cmocka_unit_test(rules_tell_what_waits),
        cmocka_unit_test(rules_find_idle_time),
        cmocka_unit_test(every_device_of_many_processes_is_counted),
        cmocka_unit_test(no_value_upsets_a_report),
    };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
