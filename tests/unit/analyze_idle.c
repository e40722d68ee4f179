/* Why a GPU was idle, on small captures made by hand: every moment has one cause. Times are in µs. */
#include "analyze/idle/gap_causes.h"
#include "analyze/registry.h"
#include "analyze/reports/gpu_idle_sum.h"
#include "made_cuda.h"

static void overhead(struct writer *writer, int64_t start, int64_t end, const char *name)
{
    struct row_PROFILER_OVERHEAD row = { 0 };

    ROW_SET(&row, PROFILER_OVERHEAD, start, start * US);
    ROW_SET(&row, PROFILER_OVERHEAD, end, end * US);
    ROW_SET(&row, PROFILER_OVERHEAD, globalTid, made_thread(1, MAIN));
    ROW_SET(&row, PROFILER_OVERHEAD, nameId, made_string(writer, name));
    writer_append(writer, TABLE_PROFILER_OVERHEAD, &row);
}

static void operator_span(struct writer *writer, int64_t start, int64_t end, const char *name)
{
    struct row_TACHO_TORCH_OP row = { 0 };

    ROW_SET(&row, TACHO_TORCH_OP, start, start * US);
    ROW_SET(&row, TACHO_TORCH_OP, end, end * US);
    ROW_SET(&row, TACHO_TORCH_OP, globalTid, made_thread(1, MAIN));
    ROW_SET(&row, TACHO_TORCH_OP, nameId, made_string(writer, name));
    writer_append(writer, TABLE_TACHO_TORCH_OP, &row);
}

/* Compares the sums of all causes, and each cause's time, in µs. */
static void expect(struct writer *writer, const int64_t expected[GAP_CAUSES])
{
    struct report *report = finish(writer);
    int64_t found[GAP_CAUSES] = { 0 };
    struct table *table;
    struct error err;

    if (analysis_run(&analysis_gpu_idle_sum, report, &(struct analysis_request){ 0 }, &table, &err) != 0)
        fail_msg("%s", err.text);
    for (size_t row = 0; row < table_row_count(table); row++) {
        const struct table_cell *cells = table_row(table, row);
        int cause = 0;
        while (cause < GAP_CAUSES &&
               (strlen(gap_cause_names[cause]) != cells[IDLE_CAUSE].text.length ||
                memcmp(gap_cause_names[cause], cells[IDLE_CAUSE].text.bytes, cells[IDLE_CAUSE].text.length) != 0))
            cause++;
        assert_true(cause < GAP_CAUSES);
        found[cause] += cells[IDLE_TOTAL].integer;
    }
    for (int cause = 0; cause < GAP_CAUSES; cause++)
        if (found[cause] != expected[cause] * US)
            fail_msg("%s: %lld ns instead of %lld µs", gap_cause_names[cause], (long long)found[cause],
                     (long long)expected[cause]);
    table_delete(table);
    report_close(report);
}

/* A gap of 110 µs: 100 µs of code whose line is not known, the launch, and 5 µs until the kernel begins. */
static void code_between_launches(void **state)
{
    struct writer *writer = start();

    launch(writer, 100, 110, 300, 1, 7);
    launch(writer, 400, 410, 420, 2, 7);
    expect(writer, (int64_t[GAP_CAUSES]){ [GAP_NATIVE] = 100, [GAP_LAUNCH] = 5, [GAP_LATENCY] = 5 });
}

/* The code takes 60 µs from one call to the next: that is the way from one launch to the next. */
static void short_ways_are_launches(void **state)
{
    struct writer *writer = start();

    launch(writer, 100, 110, 120, 1, 7);
    launch(writer, 165, 175, 185, 2, 7);
    expect(writer, (int64_t[GAP_CAUSES]){ [GAP_LAUNCH] = 50, [GAP_LATENCY] = 5 });
}

/* The thread waits for 90 µs. Without that it would launch 90 µs earlier, and there would be no gap: of the 70 µs all
 * but the GPU's own 5 are due to the wait. */
static void a_wait_costs_what_it_delays(void **state)
{
    struct writer *writer = start();

    launch(writer, 100, 110, 200, 1, 7);
    call(writer, MAIN, 120, 210, "cudaStreamSynchronize", 2);
    sync_record(writer, STREAM_SYNC, 7, 2, 0);
    launch(writer, 260, 270, 300, 3, 7);
    expect(writer, (int64_t[GAP_CAUSES]){ [GAP_WAIT] = 65, [GAP_LATENCY] = 5 });
}

/* A wait of 20 µs, 10 of them in the gap: 20 µs of what follows are due to it, and the other 25 and the launch are not.
 */
static void a_short_wait_costs_little(void **state)
{
    struct writer *writer = start();

    launch(writer, 100, 110, 200, 1, 7);
    call(writer, MAIN, 190, 210, "cudaStreamSynchronize", 2);
    sync_record(writer, STREAM_SYNC, 7, 2, 0);
    launch(writer, 260, 270, 300, 3, 7);
    expect(writer, (int64_t[GAP_CAUSES]){ [GAP_WAIT] = 30, [GAP_LAUNCH] = 35, [GAP_LATENCY] = 5 });
}

static void calls_have_their_causes(void **state)
{
    struct writer *writer = start();

    launch(writer, 100, 110, 120, 1, 7);
    call(writer, MAIN, 121, 150, "cudaMalloc_v3020", 2);
    call(writer, MAIN, 150, 160, "cuLibraryLoadData", 3);
    call(writer, MAIN, 160, 167, "cudaMemsetAsync", 4);
    launch(writer, 170, 180, 190, 5, 7);
    expect(writer, (int64_t[GAP_CAUSES]){
                       [GAP_ALLOCATION] = 29, [GAP_CODE] = 10, [GAP_COPY] = 7, [GAP_LAUNCH] = 9, [GAP_LATENCY] = 5 });
}

/* cudaFree() waits for the kernel: what that delays is due to the allocation, too. */
static void a_free_that_waits(void **state)
{
    struct writer *writer = start();

    launch(writer, 100, 110, 200, 1, 7);
    call(writer, MAIN, 110, 210, "cudaFree_v3020", 2);
    launch(writer, 230, 240, 250, 3, 7);
    expect(writer, (int64_t[GAP_CAUSES]){ [GAP_ALLOCATION] = 35, [GAP_LATENCY] = 5 });
}

/* Between two calls: an OS call, the profiler, a batch that is loaded, an operator, and code. */
static void threads_do_something_between_calls(void **state)
{
    struct writer *writer = start();

    launch(writer, 100, 110, 120, 1, 7);
    os_call(writer, MAIN, 200, 600, "poll");
    overhead(writer, 600, 650, "CUPTI Buffer flush");
    overhead(writer, 640, 660, "Lazy function loading");
    operator_span(writer, 700, 900, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
    os_call(writer, MAIN, 750, 800, "read"); /* of the batch */
    operator_span(writer, 900, 990, "aten::add");
    launch(writer, 1000, 1010, 1020, 2, 7);
    /* before the OS call 80 of 95 µs lie in the gap, after the lazy loading there are 40, behind the operator 10 */
    expect(writer, (int64_t[GAP_CAUSES]){ [GAP_BLOCKED] = 400,
                                          [GAP_PROFILER] = 50,
                                          [GAP_CODE] = 10,
                                          [GAP_LOADING] = 200,
                                          [GAP_LAUNCH] = 80 + 40 + 90 + 10 + 5,
                                          [GAP_LATENCY] = 5 });
}

static void python_event(struct writer *writer, int64_t start, int64_t end, const char *kind, const char *name)
{
    struct row_TACHO_PYTHON_EVENT row = { 0 };

    ROW_SET(&row, TACHO_PYTHON_EVENT, start, start * US);
    ROW_SET(&row, TACHO_PYTHON_EVENT, end, end * US);
    ROW_SET(&row, TACHO_PYTHON_EVENT, globalTid, made_thread(1, MAIN));
    ROW_SET(&row, TACHO_PYTHON_EVENT, kind, made_string(writer, kind));
    ROW_SET(&row, TACHO_PYTHON_EVENT, nameId, made_string(writer, name));
    writer_append(writer, TABLE_TACHO_PYTHON_EVENT, &row);
}

/* A collection of 300 µs and a compilation of 400 between two launches, with 50 µs before, between and after them. */
static void python_collects_and_compiles(void **state)
{
    struct writer *writer = start();

    launch(writer, 100, 110, 120, 1, 7);
    python_event(writer, 170, 470, "gc", "gc generation 2");
    python_event(writer, 520, 920, "recompile", "recompile forward");
    launch(writer, 970, 980, 990, 2, 7);
    expect(writer, (int64_t[GAP_CAUSES]){
                       [GAP_GC] = 300, [GAP_COMPILE] = 400, [GAP_LAUNCH] = 50 + 50 + 50 + 5, [GAP_LATENCY] = 5 });
}

static void chain_sample(struct writer *writer, int64_t time, int64_t chain)
{
    struct row_TACHO_PYTHON_SAMPLE row = { 0 };

    ROW_SET(&row, TACHO_PYTHON_SAMPLE, start, time * US);
    ROW_SET(&row, TACHO_PYTHON_SAMPLE, globalTid, made_thread(1, MAIN));
    ROW_SET(&row, TACHO_PYTHON_SAMPLE, callchainId, chain);
    writer_append(writer, TABLE_TACHO_PYTHON_SAMPLE, &row);
}

/* Samples see a compilation from 320 to 720, half way to those that see something else. */
static void samples_see_that_python_compiles(void **state)
{
    enum { COMPILES = 1, ELSE = 2 };
    struct row_TACHO_PYTHON_CALLCHAINS frame = { 0 };
    struct writer *writer = start();

    ROW_SET(&frame, TACHO_PYTHON_CALLCHAINS, id, COMPILES);
    ROW_SET(&frame, TACHO_PYTHON_CALLCHAINS, symbol, made_string(writer, "_compile"));
    ROW_SET(&frame, TACHO_PYTHON_CALLCHAINS, module, made_string(writer, "/torch/_dynamo/convert_frame.py"));
    writer_append(writer, TABLE_TACHO_PYTHON_CALLCHAINS, &frame);
    launch(writer, 100, 110, 120, 1, 7);
    for (int64_t at = 270; at <= 770; at += 100)
        chain_sample(writer, at, at == 270 || at == 770 ? ELSE : COMPILES);
    launch(writer, 970, 980, 990, 2, 7);
    expect(writer,
           (int64_t[GAP_CAUSES]){ [GAP_COMPILE] = 400, [GAP_PYTHON] = 200 + 250, [GAP_LAUNCH] = 5, [GAP_LATENCY] = 5 });
}

/* Part of a launch is the profiler's own. */
static void the_profiler_has_its_part_of_calls(void **state)
{
    struct writer *writer = start();

    launch(writer, 100, 110, 120, 1, 7);
    call(writer, MAIN, 130, 170, "cudaLaunchKernel", 2);
    overhead(writer, 140, 165, "CUPTI Instrumentation");
    kernel(writer, 180, 190, 2, 7);
    expect(writer, (int64_t[GAP_CAUSES]){ [GAP_LAUNCH] = 10 + 10 + 5, [GAP_PROFILER] = 25, [GAP_LATENCY] = 10 });
}

/* No call launched the second kernel, and nothing else is known. */
static void work_without_a_launch(void **state)
{
    struct writer *writer = start();

    launch(writer, 100, 110, 120, 1, 7);
    kernel(writer, 180, 190, 99, 7);
    expect(writer, (int64_t[GAP_CAUSES]){ [GAP_UNKNOWN] = 60 });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_between_launches),
        cmocka_unit_test(short_ways_are_launches),
        cmocka_unit_test(a_wait_costs_what_it_delays),
        cmocka_unit_test(a_short_wait_costs_little),
        cmocka_unit_test(calls_have_their_causes),
        cmocka_unit_test(a_free_that_waits),
        cmocka_unit_test(threads_do_something_between_calls),
        cmocka_unit_test(python_collects_and_compiles),
        cmocka_unit_test(samples_see_that_python_compiles),
        cmocka_unit_test(the_profiler_has_its_part_of_calls),
        cmocka_unit_test(work_without_a_launch),
    };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
