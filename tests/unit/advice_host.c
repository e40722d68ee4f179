/* Rules on the time of threads, on small captures made by hand, with savings that can be worked out on paper, in µs. */
#include "made_advice.h"

/* ---- launches --------------------------------------------------------------------------------------------------- */

/* Twenty rounds of 95 µs: a launch of 5 µs, its kernel of 10 µs, 50 µs of other code, a wait of 10 µs that finds it
 * done, and 30 µs until the next launch. No graph goes on after a wait, so the launches remain, and so does the way to
 * each wait: only the way to the launches goes. */
static void a_graph_ends_where_a_result_is_read(void **state)
{
    enum { ROUNDS = 20, ROUND = 95, TO_LAUNCH = 30 };
    struct writer *writer = start();
    struct adviser adviser;

    for (int i = 0; i < ROUNDS; i++) {
        launch(writer, ROUND * i, ROUND * i + 5, ROUND * i + 15, 2 * i + 1, 7);
        call(writer, MAIN, ROUND * i + 55, ROUND * i + 65, "cudaStreamSynchronize", 2 * i + 2);
        sync_record(writer, STREAM_SYNC, 7, 2 * i + 2, 0);
    }
    struct report *report = advise(&adviser, writer, &rule_launch_bound, WITHOUT_STEPS);
    assert_int_equal(adviser.count, 1);
    assert_int_equal(adviser.causes[0].estimate_ns, (ROUNDS - 1) * TO_LAUNCH * US);
    done(&adviser, report);
}

/* ---- waits ----------------------------------------------------------------------------------------------------- */

enum { STEPS = 10, STEP = 150, KERNEL = 100 };

/* A step of 150 µs: a launch of 5 µs, its kernel of 100 µs, and an operator of 15 + 100 µs that launches a copy of 2 µs
 * and waits until 5 µs behind it. From the first launch to the last return: 9 · 150 + 117. Ten kernels and copies in a
 * row, with gaps of 1 µs: 5 + 10 · 102 + 19. Kernels alone: 5 + 10 · 100 + 9. */
static void expect_results(const int ids[3])
{
    enum { RUN = 9 * STEP + 117, WITHOUT_WAITS = 5 + 10 * 102 + 19, WITHOUT_COPIES = 5 + 10 * 100 + 9 };
    struct writer *writer = start();
    struct adviser adviser;

    for (int i = 0; i < STEPS; i++) {
        int64_t at = STEP * i, first = ids[0] == ids[1] ? 0 : 10 * i;
        launch(writer, at, at + 5, at + 5 + KERNEL, first + ids[0], 7);
        operator(writer, at + 7, at + 118, "aten::item", "train.py(57): train");
        call(writer, MAIN, at + 10, at + 13, "cudaMemcpyAsync", first + ids[1]);
        made_copy(writer, (struct made_memory){ (at + 106) * US, (at + 108) * US, first + ids[1], 4, 2, 2, 1 });
        call(writer, MAIN, at + 15, at + 117, "cudaStreamSynchronize", first + ids[2]);
        sync_record(writer, STREAM_SYNC, 7, first + ids[2], 0);
    }
    struct report *report = advise(&adviser, writer, &rule_result_waits, WITHOUT_STEPS);
    assert_int_equal(adviser.step_ns, RUN * US);
    assert_int_equal(adviser.count, 1);
    expect(&adviser.causes[0], RUN - WITHOUT_COPIES, RUN - WITHOUT_WAITS, ".item() waits for the GPU (10 times)",
           "train.py:57 train");
    done(&adviser, report);
}

/* A step of 300 µs: a kernel, and four operators that read a value each: they copy it in 2 µs and wait until 5 µs
 * behind the copy. The first takes 106 µs, the others 10. The bound is all of that. In the estimate the first remains,
 * and takes 6 µs: 3 up to its wait, and 3 for a call that does not wait. The rest of the step is other code. */
static void values_that_a_line_reads_one_by_one(void **state)
{
    enum { READS = 4, LOOP = 300 };
    struct writer *writer = start();
    struct adviser adviser;

    for (int i = 0; i < STEPS; i++) {
        int64_t at = LOOP * i;
        step(writer, at, at + LOOP, i);
        launch(writer, at, at + 5, at + 5 + KERNEL, 100 * i, 7);
        for (int64_t k = 0, read = at + 7; k < READS; k++, read = at + 113 + 10 * k) {
            int64_t copied = k ? read + 5 : at + 108, id = 100 * i + 2 * k + 1;
            operator(writer, read, copied + 5, "aten::item", "train.py(57): train");
            call(writer, MAIN, read + 1, read + 2, "cudaMemcpyAsync", id);
            made_copy(writer, (struct made_memory){ (copied - 2) * US, copied * US, id, 4, 2, 2, 1 });
            call(writer, MAIN, read + 3, copied + 5, "cudaStreamSynchronize", id + 1);
            sync_record(writer, STREAM_SYNC, 7, id + 1, 0);
        }
    }
    struct report *report = advise(&adviser, writer, &rule_result_waits, WITH_STEPS);
    assert_int_equal(adviser.step_ns, LOOP * US);
    assert_int_equal(adviser.count, 1);
    expect(&adviser.causes[0], 136, 130, ".item() waits for the GPU (4 in each step)", "train.py:57 train");
    done(&adviser, report);
}

static void a_result_in_each_step(void **state)
{
    expect_results((const int[]){ 1, 2, 3 });
}

/* CUPTI sometimes gives all calls of a thread the same id. The figures are the same. */
static void calls_that_share_an_id(void **state)
{
    expect_results((const int[]){ 1, 1, 1 });
}

/* A copy to pageable memory waits, and the call behind it would. Records put them on two lines, but they are one
 * operator: without both, kernels and copies follow each other as above. */
static void an_operator_that_waits_twice(void **state)
{
    enum { RUN = 9 * STEP + 115, WITHOUT_WAITS = 5 + 10 * 102 + 19, WITHOUT_COPIES = 5 + 10 * 100 + 9 };
    struct writer *writer = start();
    struct adviser adviser;

    for (int i = 0; i < STEPS; i++) {
        int64_t at = STEP * i;
        launch(writer, at, at + 5, at + 5 + KERNEL, 10 * i + 1, 7);
        operator(writer, at + 7, at + 118, "aten::to", NULL);
        function(writer, at + 7, at + 111, "train.py(57): train");
        call(writer, MAIN, at + 10, at + 110, "cudaMemcpyAsync", 10 * i + 2);
        made_copy(writer, (struct made_memory){ (at + 106) * US, (at + 108) * US, 10 * i + 2, 4, 2, 2, 0 });
        function(writer, at + 111, at + 118, "train.py(60): train");
        call(writer, MAIN, at + 112, at + 115, "cudaStreamSynchronize", 10 * i + 3);
        sync_record(writer, STREAM_SYNC, 7, 10 * i + 3, 0);
    }
    struct report *report = advise(&adviser, writer, &rule_result_waits, WITHOUT_STEPS);
    assert_int_equal(adviser.step_ns, RUN * US);
    assert_int_equal(adviser.count, 1);
    expect(&adviser.causes[0], RUN - WITHOUT_COPIES, RUN - WITHOUT_WAITS,
           "a copy to the CPU waits for the GPU (10 times)", "train.py:57 train");
    done(&adviser, report);
}

/* The thread waits for one stream while the other has work for much longer. */
static void a_wait_while_the_gpu_has_work_saves_nothing(void **state)
{
    struct writer *writer = start();
    struct adviser adviser;

    call(writer, MAIN, 0, 5, "cudaLaunchKernel", 1);
    kernel(writer, 10, 2000, 1, 8);
    for (int i = 0; i < STEPS; i++) {
        int64_t at = 20 + STEP * i;
        launch(writer, at, at + 5, at + 5 + KERNEL, 10 * i + 11, 7);
        call(writer, MAIN, at + 10, at + 110, "cudaStreamSynchronize", 10 * i + 12);
        sync_record(writer, STREAM_SYNC, 7, 10 * i + 12, 0);
    }
    struct report *report = advise(&adviser, writer, &rule_result_waits, WITHOUT_STEPS);
    assert_int_equal(adviser.count, 0);
    done(&adviser, report);
}

/* ---- the thread's own time ------------------------------------------------------------------------------------- */

/* Ten kernels of 100 µs, each launched in 5 µs; 500 µs of the program's code between two launches. */
enum { OWN = 500, OWN_RUN = 9 * (OWN + 5) + 5 + KERNEL };

static void launch_rarely(struct writer *writer)
{
    for (int i = 0; i < STEPS; i++)
        launch(writer, (OWN + 5) * i, (OWN + 5) * i + 5, (OWN + 5) * i + 5 + KERNEL, i + 1, 7);
}

/* The same 500 µs, of which `own` are in an operator: up to its launch, or without one. */
static struct report *advise_on_operators(struct adviser *adviser, int64_t own, int launches)
{
    struct writer *writer = start();

    launch_rarely(writer);
    for (int i = 1; i < STEPS; i++) {
        int64_t called = (OWN + 5) * i;
        operator(writer, launches ? called - own : called - OWN, launches ? called + 5 : called - OWN + own,
                 launches ? "aten::scaled_dot_product_attention" : "aten::topk", "train.py(40): train");
    }
    return advise(adviser, writer, &rule_slow_operators, WITHOUT_STEPS);
}

/* Without the preparation, kernels follow each other with gaps of 1 µs. */
static void operators_that_prepare_their_kernels(void **state)
{
    enum { AT_ONCE = 5 + 10 * KERNEL + 9 };
    struct adviser adviser;
    struct report *report = advise_on_operators(&adviser, OWN, 1);

    assert_int_equal(adviser.count, 1);
    expect(&adviser.causes[0], OWN_RUN - AT_ONCE, OWN_RUN - AT_ONCE, "scaled_dot_product_attention: 4.50 ms on the CPU",
           "train.py:40 train");
    done(&adviser, report);
}

/* The other 100 µs between two launches remain. */
static void operators_that_compute_on_the_cpu(void **state)
{
    enum { SLOW = 400 };
    struct adviser adviser;
    struct report *report = advise_on_operators(&adviser, SLOW, 0);

    assert_int_equal(adviser.count, 1);
    expect(&adviser.causes[0], 9 * SLOW, 9 * SLOW, "topk computes on the CPU: 3.60 ms", "train.py:40 train");
    done(&adviser, report);
}

/* A step of 600 µs: a kernel of 100 µs, a copy to the CPU of 2 µs that is waited for until 117 µs after the launch, and
 * 400 µs that compute with it there. On the GPU neither is left: ten kernels in a row, with gaps of 1 µs. The copies
 * remain in the estimate. */
static void operators_that_compute_on_the_cpu_what_their_line_copies_there(void **state)
{
    enum { LOOP = 600, RUN = 9 * LOOP + 117, WITHOUT_COPIES = 5 + 10 * 100 + 9, WITHOUT_WAITS = 5 + 10 * 102 + 19 };
    static const char *const lines[] = { "train.py(40): train", "train.py(41): train" };
    static const struct steps none;
    static const struct analysis_filter without_steps = { .steps = &none };

    for (int lines_apart = 0; lines_apart < 2; lines_apart++) {
        struct writer *writer = start();
        struct adviser adviser;
        struct error err;
        for (int i = 0; i < STEPS; i++) {
            int64_t at = LOOP * i;
            launch(writer, at, at + 5, at + 5 + KERNEL, 3 * i + 1, 7);
            operator(writer, at + 7, at + 120, "aten::to", lines[0]);
            call(writer, MAIN, at + 10, at + 13, "cudaMemcpyAsync", 3 * i + 2);
            made_copy(writer, (struct made_memory){ (at + 106) * US, (at + 108) * US, 3 * i + 2, 4, 2, 2, 1 });
            call(writer, MAIN, at + 15, at + 117, "cudaStreamSynchronize", 3 * i + 3);
            sync_record(writer, STREAM_SYNC, 7, 3 * i + 3, 0);
            operator(writer, at + 121, at + 521, "aten::histc", lines[lines_apart]);
        }
        struct report *report = finish(writer);
        if (adviser_open(&adviser, report, &(struct analysis_request){ .filter = &without_steps }, &err) != 0 ||
            adviser_find(&adviser, &rule_result_waits, &err) != 0 ||
            adviser_find(&adviser, &rule_slow_operators, &err) != 0 || adviser_judge(&adviser, &err) != 0)
            fail_msg("%s", err.text);
        assert_int_equal(adviser.count, lines_apart ? 2 : 1);
        assert_ptr_equal(adviser.causes[0].rule, &rule_slow_operators);
        if (!lines_apart)
            expect(&adviser.causes[0], RUN - WITHOUT_COPIES, RUN - WITHOUT_WAITS,
                   "histc computes on the CPU: 4.00 ms; a copy to the CPU waits for the GPU (10 times)",
                   "train.py:40 train");
        done(&adviser, report);
    }
}

/* emit_nvtx gives each call of an operator a name of its own, with numbers and shapes. */
static void operators_that_emit_nvtx_named(void **state)
{
    enum { AT_ONCE = 5 + 10 * KERNEL + 9 };
    struct writer *writer = start();
    struct adviser adviser;
    struct text name = { 0 };

    launch_rarely(writer);
    for (int i = 1; i < STEPS; i++) {
        struct row_NVTX_EVENTS row = { 0 };
        text_clear(&name);
        text_addf(&name, "aten::conv2d, seq = %d, op_id = %d, sizes = [[5, 3, %d, 224], [64, 3, 7, 7], []]", i, 7 * i,
                  i);
        ROW_SET(&row, NVTX_EVENTS, start, ((OWN + 5) * i - OWN) * US);
        ROW_SET(&row, NVTX_EVENTS, end, ((OWN + 5) * i + 5) * US);
        ROW_SET(&row, NVTX_EVENTS, eventType, 59);
        ROW_SET(&row, NVTX_EVENTS, globalTid, made_thread(1, MAIN));
        ROW_SET(&row, NVTX_EVENTS, text, made_string(writer, text_string(&name)));
        writer_append(writer, TABLE_NVTX_EVENTS, &row);
    }
    text_free(&name);
    struct report *report = advise(&adviser, writer, &rule_slow_operators, WITHOUT_STEPS);
    assert_int_equal(adviser.count, 1);
    expect(&adviser.causes[0], OWN_RUN - AT_ONCE, OWN_RUN - AT_ONCE, "conv2d: 4.50 ms on the CPU", "");
    assert_int_equal(adviser.causes[0].count, 9);
    done(&adviser, report);
}

/* 199 µs are what some operators take for their launches. */
static void operators_that_are_fast_enough(void **state)
{
    struct adviser adviser;
    struct report *report = advise_on_operators(&adviser, 199, 1);

    assert_int_equal(adviser.count, 0);
    done(&adviser, report);
}

/* Without that code, kernels follow each other with gaps of 1 µs. */
static void python_between_launches(void **state)
{
    enum { AT_ONCE = 5 + 10 * KERNEL + 9 };
    struct writer *writer = start();
    struct adviser adviser;

    launch_rarely(writer);
    function(writer, 0, OWN_RUN, "train.py(40): train");
    struct report *report = advise(&adviser, writer, &rule_python_between, WITHOUT_STEPS);
    assert_int_equal(adviser.count, 1);
    expect(&adviser.causes[0], OWN_RUN - AT_ONCE, OWN_RUN - AT_ONCE, "Python between launches: 4.50 ms",
           "train.py:40 train");
    done(&adviser, report);
}

static void native_sample(struct writer *writer, int64_t id, int64_t time, const char *function)
{
    struct row_COMPOSITE_EVENTS row = { 0 };
    struct row_SAMPLING_CALLCHAINS frame = { 0 };

    ROW_SET(&row, COMPOSITE_EVENTS, id, id);
    ROW_SET(&row, COMPOSITE_EVENTS, start, time * US);
    ROW_SET(&row, COMPOSITE_EVENTS, globalTid, made_thread(1, MAIN));
    writer_append(writer, TABLE_COMPOSITE_EVENTS, &row);
    ROW_SET(&frame, SAMPLING_CALLCHAINS, id, id);
    ROW_SET(&frame, SAMPLING_CALLCHAINS, symbol, made_string(writer, function));
    ROW_SET(&frame, SAMPLING_CALLCHAINS, module, made_string(writer, "[nvidia_uvm]"));
    ROW_SET(&frame, SAMPLING_CALLCHAINS, stackDepth, 0);
    writer_append(writer, TABLE_SAMPLING_CALLCHAINS, &frame);
}

/* Steps of three kernels, the first of which takes 300 µs and the others 100, and of 500 µs of the program's code, of
 * which a part is in page faults. If that is most, kernels after it take 100 µs, too; the first of all has nothing
 * before it. */
static void code_that_touches_managed_memory(void **state)
{
    enum { LOOP = 15 + OWN, RUN = 9 * LOOP + 507, FIRST = 300, SAMPLES = 5, ALL_FAST = 5 + FIRST + 29 * (KERNEL + 1) };

    for (int faults = 2; faults <= 3; faults++) {
        struct writer *writer = start();
        struct adviser adviser;
        for (int i = 0; i < STEPS; i++) {
            int64_t at = LOOP * i, second = at + 5 + FIRST + 1, third = second + KERNEL + 1;
            launch(writer, at, at + 5, at + 5 + FIRST, 3 * i + 1, 7);
            launch(writer, at + 5, second, second + KERNEL, 3 * i + 2, 7);
            launch(writer, at + 10, third, third + KERNEL, 3 * i + 3, 7);
            for (int k = 0; k < SAMPLES; k++)
                native_sample(writer, SAMPLES * i + k + 1, at + 20 + 100 * k,
                              k < faults ? "uvm_vm_fault_entry" : "steer");
        }
        function(writer, 0, RUN, "train.py(40): train");
        struct report *report = advise(&adviser, writer, &rule_python_between, WITHOUT_STEPS);
        assert_int_equal(adviser.step_ns, RUN * US);
        assert_int_equal(adviser.count, 1);
        int is_most = 2 * faults > SAMPLES;
        int64_t left = is_most ? ALL_FAST : ALL_FAST + 9 * (FIRST - KERNEL);
        expect(&adviser.causes[0], RUN - left, RUN - left,
               is_most ? "pages of managed memory move to the CPU: 4.50 ms" : "Python between launches: 4.50 ms",
               "train.py:40 train");
        assert_int_equal(adviser.causes[0].confidence, is_most ? ADVICE_MODELLED : ADVICE_MEASURED);
        done(&adviser, report);
    }
}

/* Three kernels; in between, the program is in a function of PyTorch, `own` µs each time. */
static void expect_library_code(int64_t own, size_t causes)
{
    struct writer *writer = start();
    struct adviser adviser;

    for (int i = 0; i < 3; i++) {
        int64_t at = (own + 5) * i;
        launch(writer, at, at + 5, at + 5 + KERNEL, i + 1, 7);
        function(writer, at, at + 5 + own, "train.py(40): train");
        function(writer, at + 5, at + 5 + own, "torch/serialization.py(965): save");
    }
    struct report *report = advise(&adviser, writer, &rule_python_between, WITHOUT_STEPS);
    assert_int_equal(adviser.count, causes);
    if (causes)
        assert_string_equal(text_string(&adviser.causes[0].where), "train.py:40 train");
    done(&adviser, report);
}

static void code_of_pytorch_is_a_way_to_launches_unless_it_is_long(void **state)
{
    expect_library_code(1900, 0);
    expect_library_code(3000, 1);
}

/* Twenty kernels of 10 µs, one every 45 µs: three in four are launched in line 30. */
static void most_launches_are_in_a_line(void **state)
{
    struct writer *writer = start();
    struct adviser adviser;

    for (int i = 0; i < 20; i++)
        launch(writer, 45 * i, 45 * i + 5, 45 * i + 15, i + 1, 7);
    function(writer, 0, 45 * 15, "train.py(30): forward");
    function(writer, 45 * 15, 45 * 20, "train.py(40): update");
    struct report *report = advise(&adviser, writer, &rule_launch_bound, WITHOUT_STEPS);
    assert_int_equal(adviser.count, 1);
    assert_string_equal(text_string(&adviser.causes[0].where), "train.py:30 forward");
    done(&adviser, report);
}

static void sample(struct writer *writer, int64_t tid, int64_t time, int64_t gil)
{
    struct row_TACHO_PYTHON_SAMPLE row = { 0 };

    ROW_SET(&row, TACHO_PYTHON_SAMPLE, start, time * US);
    ROW_SET(&row, TACHO_PYTHON_SAMPLE, globalTid, made_thread(1, tid));
    ROW_SET(&row, TACHO_PYTHON_SAMPLE, gil, gil);
    writer_append(writer, TABLE_TACHO_PYTHON_SAMPLE, &row);
}

/* In the first 400 of each 500 µs another thread holds the GIL. Without the wait a step takes 100 µs and a launch, 4
 * more than its kernel and a gap. */
static void another_thread_holds_the_gil(void **state)
{
    enum { OTHER = 2, HOLDS = 1, WAITS = 2 };
    struct writer *writer = start();
    struct adviser adviser;

    launch_rarely(writer);
    for (int i = 0; i < STEPS - 1; i++)
        for (int round = 0; round < 5; round++) {
            sample(writer, MAIN, (OWN + 5) * i + 5 + 100 * round, round < 4 ? WAITS : HOLDS);
            sample(writer, OTHER, (OWN + 5) * i + 5 + 100 * round, round < 4 ? HOLDS : 0);
        }
    struct report *report = advise(&adviser, writer, &rule_python_between, WITHOUT_STEPS);
    assert_int_equal(adviser.count, 1);
    expect(&adviser.causes[0], 9 * 400, 9 * 400, "another thread holds the GIL: 3.60 ms", "");
    done(&adviser, report);
}

/* The thread is one of autograd's, which Python does not know: it is in an operator and in a wait of the C library
 * while another thread holds the GIL. */
static void a_thread_without_samples_waits_for_the_gil(void **state)
{
    enum { OTHER = 2, HOLDS = 1 };
    struct writer *writer = start();
    struct adviser adviser;

    launch_rarely(writer);
    for (int i = 0; i < STEPS - 1; i++) {
        int64_t at = (OWN + 5) * i + 5;
        operator(writer, at, at + OWN, "autograd::engine::evaluate_function: AddmmBackward0", NULL);
        os_call(writer, MAIN, at + 50, at + 450, "pthread_cond_timedwait");
        for (int round = 0; round < 5; round++)
            sample(writer, OTHER, at + 100 * round, round < 4 ? HOLDS : 0);
    }
    struct report *report = advise(&adviser, writer, &rule_python_between, WITHOUT_STEPS);
    assert_int_equal(adviser.count, 1);
    expect(&adviser.causes[0], 9 * 350, 9 * 350, "another thread holds the GIL: 3.15 ms", "");
    done(&adviser, report);
}

/* ---- events of Python ------------------------------------------------------------------------------------------ */

struct python_event {
    int64_t start, end, line;
    const char *kind, *name, *function, *file, *reason;
};

static void python_event(struct writer *writer, struct python_event event)
{
    struct row_TACHO_PYTHON_EVENT row = { 0 };

    ROW_SET(&row, TACHO_PYTHON_EVENT, start, event.start * US);
    ROW_SET(&row, TACHO_PYTHON_EVENT, end, event.end * US);
    ROW_SET(&row, TACHO_PYTHON_EVENT, globalTid, made_thread(1, MAIN));
    ROW_SET(&row, TACHO_PYTHON_EVENT, kind, made_string(writer, event.kind));
    ROW_SET(&row, TACHO_PYTHON_EVENT, nameId, made_string(writer, event.name));
    if (event.function) {
        ROW_SET(&row, TACHO_PYTHON_EVENT, symbol, made_string(writer, event.function));
        ROW_SET(&row, TACHO_PYTHON_EVENT, module, made_string(writer, event.file));
        ROW_SET(&row, TACHO_PYTHON_EVENT, line, event.line);
    }
    if (event.reason)
        ROW_SET(&row, TACHO_PYTHON_EVENT, reasonId, made_string(writer, event.reason));
    writer_append(writer, TABLE_TACHO_PYTHON_EVENT, &row);
}

/* Of each 500 µs between two launches the collector takes 300. */
static struct writer *collect_rarely(void)
{
    struct writer *writer = start();

    launch_rarely(writer);
    function(writer, 0, OWN_RUN, "train.py(40): train");
    for (int i = 0; i < STEPS - 1; i++)
        python_event(writer, (struct python_event){ .start = (OWN + 5) * i + 105,
                                                    .end = (OWN + 5) * i + 405,
                                                    .kind = "gc",
                                                    .name = "gc generation 2" });
    return writer;
}

static void garbage_is_collected_in_the_loop(void **state)
{
    struct adviser adviser;
    struct report *report = advise(&adviser, collect_rarely(), &rule_garbage_collection, WITHOUT_STEPS);

    assert_int_equal(adviser.count, 1);
    expect(&adviser.causes[0], 9 * 300, 9 * 300, "garbage collection: 2.70 ms (9 times)", "train.py:40 train");
    done(&adviser, report);
}

/* The other 200 µs are the function's. */
static void collections_are_not_charged_to_the_line(void **state)
{
    struct adviser adviser;
    struct report *report = advise(&adviser, collect_rarely(), &rule_python_between, WITHOUT_STEPS);

    assert_int_equal(adviser.count, 1);
    assert_string_equal(text_string(&adviser.causes[0].what), "Python between launches: 1.80 ms");
    done(&adviser, report);
}

/* In two steps a function is compiled for 225 µs. The mean is of the nine times from one step to the next. A break of a
 * graph takes no time. */
static void a_function_is_compiled_again(void **state)
{
    struct writer *writer = start();
    struct adviser adviser;

    for (int i = 0; i < STEPS; i++) {
        int64_t at = OWN * i;
        step(writer, at, at + OWN - 1, i);
        launch(writer, at, at + 5, at + 105, i + 1, 7);
        if (i == 4 || i == 6)
            python_event(writer,
                         (struct python_event){ at + 200, at + 425, 41, "recompile", "recompile forward", "forward",
                                                "/home/me/train.py", "size mismatch at index 0\nmore" });
        python_event(writer, (struct python_event){ at + 460, at + 460, 43, "graph break", "graph break forward",
                                                    "forward", "/home/me/train.py", "print" });
    }
    struct report *report = advise(&adviser, writer, &rule_recompilations, WITH_STEPS);
    assert_int_equal(adviser.count, 1);
    expect(&adviser.causes[0], 2 * 225 / (STEPS - 1), 2 * 225 / (STEPS - 1),
           "forward is compiled again: 450 µs for 2: size mismatch at index 0", "train.py:41 forward");
    assert_non_null(strstr(adviser.causes[0].advice, "If shapes must change")); /* dynamic=True is for shapes */
    done(&adviser, report);
}

/* Three breaks at one line, and one at another: findings without a figure. */
static void torch_compile_cannot_compile_a_line(void **state)
{
    struct writer *writer = start();
    struct adviser adviser;

    launch_rarely(writer);
    for (int i = 0; i < 4; i++)
        python_event(writer, (struct python_event){ i, i, i < 3 ? 43 : 52, "graph break", "graph break forward",
                                                    "forward", "/home/me/train.py", "call of print()\nmore" });
    struct report *report = advise(&adviser, writer, &rule_graph_breaks, WITHOUT_STEPS);
    assert_int_equal(adviser.count, 2);
    expect(&adviser.causes[0], 0, 0, "graph break: call of print() (3 times)", "train.py:43 forward");
    expect(&adviser.causes[1], 0, 0, "graph break: call of print()", "train.py:52 forward");
    assert_int_equal(adviser.causes[0].confidence, ADVICE_TRY);
    done(&adviser, report);
}

static void compiling_frame(struct writer *writer, int64_t id, int64_t depth, const char *symbol, const char *module,
                            int64_t line)
{
    struct row_TACHO_PYTHON_CALLCHAINS row = { 0 };

    ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, id, id);
    ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, symbol, made_string(writer, symbol));
    ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, module, made_string(writer, module));
    ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, stackDepth, depth);
    ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, line, line);
    writer_append(writer, TABLE_TACHO_PYTHON_CALLCHAINS, &row);
}

/* Stack 1 is the loop's, stacks 2 and 3 are within a compilation, of different lines of PyTorch, for line 41. What
 * Inductor does there is no compilation of backward. A function of the same name is the user's own. */
enum { LOOPS = 1, COMPILES = 2, LOWERS = 3 };
static void compiling_stacks(struct writer *writer)
{
    static const char converts[] = "/venv/lib/python3.12/site-packages/torch/_dynamo/convert_frame.py",
                      lowers[] = "/venv/lib/python3.12/site-packages/torch/_inductor/compile_fx.py",
                      program[] = "/home/me/train.py";

    compiling_frame(writer, LOOPS, 0, "_compile", program, 30);
    compiling_frame(writer, LOOPS, 1, "train", program, 41);
    for (int64_t id = COMPILES; id <= LOWERS; id++) {
        int64_t depth = 0;
        if (id == LOWERS)
            compiling_frame(writer, id, depth++, "compile_fx_inner", lowers, 700);
        compiling_frame(writer, id, depth++, "_compile.<locals>.compile_inner", converts, 900 + id);
        compiling_frame(writer, id, depth++, "_compile", converts, 1000);
        compiling_frame(writer, id, depth++, "Optimized.__call__", "/venv/lib/python3.12/site-packages/torch/nn/x.py",
                        5);
        compiling_frame(writer, id, depth++, "train", program, 41);
        compiling_frame(writer, id, depth++, "<module>", program, 60);
    }
}

static void chain_sample(struct writer *writer, int64_t time, int64_t chain)
{
    struct row_TACHO_PYTHON_SAMPLE row = { 0 };

    ROW_SET(&row, TACHO_PYTHON_SAMPLE, start, time * US);
    ROW_SET(&row, TACHO_PYTHON_SAMPLE, globalTid, made_thread(1, MAIN));
    ROW_SET(&row, TACHO_PYTHON_SAMPLE, callchainId, chain);
    writer_append(writer, TABLE_TACHO_PYTHON_SAMPLE, &row);
}

/* Samples are 100 µs apart, at 50, 150, … of each step. In three steps those at 150 to 350 compile: 300 µs, as each
 * sample reaches half way to the next. */
static struct writer *compile_in_three_steps(void)
{
    struct writer *writer = start();

    compiling_stacks(writer);
    for (int i = 0; i < STEPS; i++) {
        int64_t at = OWN * i;
        step(writer, at, at + OWN - 1, i);
        launch(writer, at, at + 5, at + 105, i + 1, 7);
        for (int k = 0; k < 5; k++)
            chain_sample(writer, at + 50 + 100 * k,
                         (i != 4 && i != 6 && i != 8) || k < 1 || k > 3 ? LOOPS
                         : k == 2                                       ? LOWERS
                                                                        : COMPILES);
    }
    return writer;
}

static void samples_see_compilations(void **state)
{
    struct adviser adviser;
    struct report *report = advise(&adviser, compile_in_three_steps(), &rule_recompilations, WITH_STEPS);

    assert_int_equal(adviser.count, 1);
    expect(&adviser.causes[0], 3 * 300 / (STEPS - 1), 3 * 300 / (STEPS - 1),
           "torch.compile compiles in the loop: 900 µs for 3", "train.py:41 train");
    done(&adviser, report);
}

/* Of a compilation of 300 ms in each of three steps only the begin, the middle and the end were sampled. To neighbours
 * that do not compile a sample reaches 10 ms at most: 320 of 400 ms. */
static void samples_far_apart_are_one_compilation(void **state)
{
    enum { LONG = 400000 };
    struct writer *writer = start();
    struct adviser adviser;

    compiling_stacks(writer);
    for (int i = 0; i < STEPS; i++) {
        int64_t at = LONG * i;
        step(writer, at, at + LONG - 1, i);
        launch(writer, at, at + 5, at + 105, i + 1, 7);
        chain_sample(writer, at + 10, LOOPS);
        for (int k = 0; k < 3 && i % 3 == 1; k++)
            chain_sample(writer, at + 50000 + 150000 * k, k == 1 ? LOWERS : COMPILES);
    }
    struct report *report = advise(&adviser, writer, &rule_recompilations, WITH_STEPS);
    assert_int_equal(adviser.count, 1);
    assert_string_equal(text_string(&adviser.causes[0].what), "torch.compile compiles in the loop: 960 ms for 3");
    done(&adviser, report);
}

/* The other 200 of 500 µs, and all of the other steps. */
static void sampled_compilations_are_not_charged_to_the_line(void **state)
{
    struct adviser adviser;
    struct report *report = advise(&adviser, compile_in_three_steps(), &rule_python_between, WITH_STEPS);

    for (size_t i = 0; i < adviser.count; i++)
        assert_null(strstr(text_string(&adviser.causes[i].where), ":41"));
    done(&adviser, report);
}

/* Events of Python say more. */
static void events_come_before_samples(void **state)
{
    struct writer *writer = compile_in_three_steps();
    struct adviser adviser;

    for (int i = 4; i <= 6; i += 2)
        python_event(writer, (struct python_event){ OWN * i + 200, OWN * i + 425, 41, "recompile", "recompile forward",
                                                    "forward", "/home/me/train.py", "size mismatch" });
    struct report *report = advise(&adviser, writer, &rule_recompilations, WITH_STEPS);
    assert_int_equal(adviser.count, 1);
    assert_string_equal(text_string(&adviser.causes[0].what), "forward is compiled again: 450 µs for 2: size mismatch");
    done(&adviser, report);
}

/* Dynamo names what follows a break after the function and its line. */
static void stacks_name_the_lines_that_break_graphs(void **state)
{
    static const char *const names[] = { "Net.torch_dynamo_resume_in_forward_at_43",
                                         "torch_dynamo_resume_in_look_at_it_at_52",
                                         "torch_dynamo_resume_in_forward_at_line", "torch_dynamo_resume_in_forward" };
    static const char *const places[] = { "net.py:43 forward", "net.py:52 look_at_it" };
    struct writer *writer = start();
    struct adviser adviser;

    launch_rarely(writer);
    for (int64_t i = 0; i < (int64_t)COUNT_OF(names); i++) {
        compiling_frame(writer, i + 1, 0, names[i], "/home/me/net.py", 60);
        compiling_frame(writer, i + 1, 1, "train", "/home/me/train.py", 41);
        for (int k = 0; k < 3; k++)
            chain_sample(writer, 10 * i + k + 1, i + 1);
    }
    struct report *report = advise(&adviser, writer, &rule_graph_breaks, WITHOUT_STEPS);
    assert_int_equal(adviser.count, COUNT_OF(places));
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        expect(&adviser.causes[i], 0, 0, "graph break", places[i]);
        assert_int_equal(adviser.causes[i].start_ns, (10 * (int64_t)i + 1) * US);
        assert_int_equal(adviser.causes[i].confidence, ADVICE_TRY);
    }
    done(&adviser, report);
}

/* The same code is PyTorch's: no advice on lines of the program. */
static void code_of_pytorch_is_not_the_users(void **state)
{
    struct writer *writer = start();
    struct adviser adviser;

    launch_rarely(writer);
    function(writer, 0, OWN_RUN, "train.py(40): train");
    function(writer, 0, OWN_RUN, "torch/optim/adam.py(214): step");
    struct report *report = advise(&adviser, writer, &rule_python_between, WITHOUT_STEPS);
    assert_int_equal(adviser.count, 0);
    done(&adviser, report);
}

/* A DataLoader takes 400 of the 500 µs. The other 100 and the launch, 105 µs, are then the time of a step. */
static void batches_are_made_in_the_loop(void **state)
{
    struct writer *writer = start();
    struct adviser adviser;

    launch_rarely(writer);
    for (int i = 0; i < STEPS; i++)
        operator(writer, (OWN + 5) * i + 5, (OWN + 5) * i + 405,
                 "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", NULL);
    function(writer, 0, OWN_RUN, "train.py(20): main");
    function(writer, 0, OWN_RUN, "torch/utils/data/dataloader.py(732): __next__");
    function(writer, 0, OWN_RUN, "data.py(30): __getitem__");
    struct report *report = advise(&adviser, writer, &rule_data_loader, WITHOUT_STEPS);
    assert_int_equal(adviser.count, 1);
    expect(&adviser.causes[0], 9 * 400, 9 * 400,
           "the DataLoader has no workers: 400 µs for a batch, mostly in data.py:30 __getitem__", "train.py:20 main");
    done(&adviser, report);
}

/* A thread that pins batches hands them over, 15 µs before each launch. Without the wait for it the loop takes 5 µs
 * for a launch and 19 for itself, and a kernel follows the other after 1 µs. The last batch is there at once. */
static void a_thread_hands_batches_over(void **state)
{
    enum { OTHER = 2 };
    static const char loader[] = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
    struct writer *writer = start();
    struct adviser adviser;

    launch_rarely(writer);
    for (int i = 0; i < STEPS - 1; i++) {
        int64_t at = (OWN + 5) * i, next = (OWN + 5) * (i + 1);
        step(writer, at, next - 1, i);
        operator(writer, at + 8, next - 12, loader, NULL);
        os_call(writer, MAIN, at + 10, next - 14, "pthread_cond_wait");
        call(writer, OTHER, next - 20, next - 15, "cudaEventQuery", 100 + i);
    }
    step(writer, (OWN + 5) * (STEPS - 1), OWN_RUN, STEPS - 1);
    operator(writer, OWN_RUN - 10, OWN_RUN - 8, loader, NULL);
    function(writer, 0, OWN_RUN, "train.py(20): main");
    struct report *report = advise(&adviser, writer, &rule_data_loader, WITH_STEPS);
    assert_int_equal(adviser.count, 1);
    expect(&adviser.causes[0], OWN + 5 - (KERNEL + 1), OWN + 5 - (KERNEL + 1),
           "the loop waits for workers of the DataLoader: 437 µs for a batch", "train.py:20 main");
    done(&adviser, report);
}

static void worker_frame(struct writer *writer, int64_t id, int64_t depth, const char *symbol, const char *module)
{
    struct row_TACHO_PYTHON_CALLCHAINS row = { 0 };

    ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, id, id);
    ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, symbol, made_string(writer, symbol));
    ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, module, made_string(writer, module));
    ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, stackDepth, depth);
    writer_append(writer, TABLE_TACHO_PYTHON_CALLCHAINS, &row);
}

/* Two workers make a batch each in two steps of 500 µs, which a loop that needs 100 µs waits for. Of ten samples of
 * each of them, so many are in their data set; in the others they wait for an order. */
static struct report *wait_for_workers(struct adviser *adviser, int busy)
{
    enum { WORKERS = 2, ROUNDS = 10, LOADING = 11, WAITING = 12 };
    struct writer *writer = start();

    worker_frame(writer, LOADING, 0, "Texts.__getitem__", "/home/me/data.py");
    worker_frame(writer, LOADING, 1, "_worker_loop", "/lib/torch/utils/data/_utils/worker.py");
    worker_frame(writer, WAITING, 0, "Queue.get", "/lib/python3.12/multiprocessing/queues.py");
    worker_frame(writer, WAITING, 1, "_worker_loop", "/lib/torch/utils/data/_utils/worker.py");
    for (int i = 0; i < STEPS; i++) {
        int64_t at = OWN * i;
        step(writer, at, at + OWN - 1, i);
        launch(writer, at, at + 5, at + 105, i + 1, 7);
        operator(writer, at + 100, at + OWN, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", NULL);
    }
    for (int worker = 0; worker < WORKERS; worker++)
        for (int round = 0; round < ROUNDS; round++) {
            struct row_TACHO_PYTHON_SAMPLE row = { 0 };
            ROW_SET(&row, TACHO_PYTHON_SAMPLE, start, (1000 + 300 * round) * US);
            ROW_SET(&row, TACHO_PYTHON_SAMPLE, globalTid, made_thread(5 + worker, 5 + worker));
            ROW_SET(&row, TACHO_PYTHON_SAMPLE, callchainId, round < busy ? LOADING : WAITING);
            writer_append(writer, TABLE_TACHO_PYTHON_SAMPLE, &row);
        }
    return advise(adviser, writer, &rule_data_loader, WITH_STEPS);
}

/* Each of two workers takes 1000 µs for a batch, and the loop 106 without waiting: its kernel, and the launch behind.
 */
static void workers_that_are_always_busy(void **state)
{
    struct adviser adviser;
    struct report *report = wait_for_workers(&adviser, 9);

    assert_int_equal(adviser.count, 1);
    assert_non_null(strstr(text_string(&adviser.causes[0].what),
                           "the loop waits for workers of the DataLoader: 400 µs for a batch, 10"));
    done(&adviser, report);
}

/* More of them would wait as well. */
static void workers_that_wait_for_orders(void **state)
{
    struct adviser adviser;
    struct report *report = wait_for_workers(&adviser, 8);

    assert_int_equal(adviser.count, 0);
    done(&adviser, report);
}

/* Steps of 100 µs, with a cudaMalloc of 50 µs in each. */
static void memory_is_allocated_in_each_step(void **state)
{
    struct writer *writer = start();
    struct adviser adviser;

    for (int i = 0; i < STEPS; i++) {
        step(writer, 100 * i, 100 * i + 99, i);
        launch(writer, 100 * i, 100 * i + 5, 100 * i + 25, 10 * i + 1, 7);
        call(writer, MAIN, 100 * i + 30, 100 * i + 80, "cudaMalloc", 10 * i + 2);
    }
    struct report *report = advise(&adviser, writer, &rule_loop_calls, WITH_STEPS);
    assert_int_equal(adviser.count, 1);
    expect(&adviser.causes[0], 50, 50, "memory is allocated or freed in the loop", "");
    done(&adviser, report);
}

/* Steps of 100 µs. Memory comes from a pool in 20, and the wait that follows its cudaFreeAsync() ends 40 µs after the
 * kernel: 30 of them are not the wait's own. */
static void a_wait_gives_the_memory_of_a_pool_back(void **state)
{
    struct writer *writer = start();
    struct adviser adviser;

    for (int i = 0; i < STEPS; i++) {
        step(writer, 100 * i, 100 * i + 99, i);
        call(writer, MAIN, 100 * i, 100 * i + 20, "cudaMallocAsync_v11020", 10 * i + 1);
        launch(writer, 100 * i + 21, 100 * i + 26, 100 * i + 46, 10 * i + 2, 7);
        call(writer, MAIN, 100 * i + 27, 100 * i + 28, "cudaFreeAsync_v11020", 10 * i + 3);
        call(writer, MAIN, 100 * i + 29, 100 * i + 86, "cudaStreamSynchronize", 10 * i + 4);
        sync_record(writer, STREAM_SYNC, 7, 10 * i + 4, 0);
    }
    struct report *report = advise(&adviser, writer, &rule_loop_calls, WITH_STEPS);
    assert_int_equal(adviser.count, 1);
    assert_int_equal(adviser.causes[0].estimate_ns, (20 + 30) * US);
    assert_non_null(strstr(adviser.causes[0].advice, "cudaMemPoolAttrReleaseThreshold"));
    done(&adviser, report);
}

/* Steps of 100 µs. `waits` of them wait 64 µs for a second kernel. */
static size_t causes_of_waits(int waits)
{
    struct writer *writer = start();
    struct adviser adviser;

    for (int i = 0; i < STEPS; i++) {
        step(writer, 100 * i, 100 * i + 99, i);
        launch(writer, 100 * i, 100 * i + 5, 100 * i + 25, 10 * i + 1, 7);
        if (i >= STEPS - 1 - waits && i < STEPS - 1) {
            call(writer, MAIN, 100 * i + 6, 100 * i + 70, "cudaStreamSynchronize", 10 * i + 2);
            kernel(writer, 100 * i + 26, 100 * i + 65, 10 * i + 1, 7);
            sync_record(writer, STREAM_SYNC, 7, 10 * i + 2, 0);
        }
    }
    struct report *report = advise(&adviser, writer, &rule_result_waits, WITH_STEPS);
    size_t count = adviser.count;
    done(&adviser, report);
    return count;
}

/* What one of ten steps does, such as to print a figure every 50 steps, is no habit. */
static void a_wait_in_one_step_is_no_cause(void **state)
{
    assert_int_equal(causes_of_waits(1), 0);
    assert_int_equal(causes_of_waits(2), 1);
}

/* A kernel that runs for the first time in the fifth step is loaded there: that is not done in each step. */
static void a_module_is_loaded_once(void **state)
{
    struct writer *writer = start();
    struct adviser adviser;

    for (int i = 0; i < STEPS; i++) {
        step(writer, 100 * i, 100 * i + 99, i);
        launch(writer, 100 * i, 100 * i + 5, 100 * i + 25, 10 * i + 1, 7);
    }
    call(writer, MAIN, 530, 580, "cuLibraryLoadData", 99);
    struct report *report = advise(&adviser, writer, &rule_loop_calls, WITH_STEPS);
    assert_int_equal(adviser.count, 0);
    done(&adviser, report);
}

/* ---- where ----------------------------------------------------------------------------------------------------- */

/* Launches in two operators, three in each step at line 41 and one at line 43: most of the time that goes is at 41. */
static void the_line_with_most_of_the_time_is_named(void **state)
{
    struct writer *writer = start();
    struct adviser adviser;

    for (int i = 0; i < 40; i++) {
        int64_t at = 50 * i;
        operator(writer, at, at + 50, "aten::mul", i % 4 == 3 ? "train.py(43): train" : "train.py(41): forward");
        launch(writer, at + 40, at + 46, at + 48, i + 1, 7);
    }
    struct report *report = advise(&adviser, writer, &rule_launch_bound, WITHOUT_STEPS);
    assert_int_equal(adviser.count, 1);
    assert_string_equal(text_string(&adviser.causes[0].where), "train.py:41 forward");
    done(&adviser, report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_graph_ends_where_a_result_is_read),
        cmocka_unit_test(a_result_in_each_step),
        cmocka_unit_test(values_that_a_line_reads_one_by_one),
        cmocka_unit_test(calls_that_share_an_id),
        cmocka_unit_test(a_wait_while_the_gpu_has_work_saves_nothing),
        cmocka_unit_test(operators_that_prepare_their_kernels),
        cmocka_unit_test(operators_that_compute_on_the_cpu),
        cmocka_unit_test(operators_that_compute_on_the_cpu_what_their_line_copies_there),
        cmocka_unit_test(operators_that_emit_nvtx_named),
        cmocka_unit_test(operators_that_are_fast_enough),
        cmocka_unit_test(python_between_launches),
        cmocka_unit_test(code_that_touches_managed_memory),
        cmocka_unit_test(code_of_pytorch_is_a_way_to_launches_unless_it_is_long),
        cmocka_unit_test(another_thread_holds_the_gil),
        cmocka_unit_test(most_launches_are_in_a_line),
        cmocka_unit_test(code_of_pytorch_is_not_the_users),
        cmocka_unit_test(batches_are_made_in_the_loop),
        cmocka_unit_test(memory_is_allocated_in_each_step),
        cmocka_unit_test(a_wait_gives_the_memory_of_a_pool_back),
        cmocka_unit_test(a_wait_in_one_step_is_no_cause),
        cmocka_unit_test(a_module_is_loaded_once),
        cmocka_unit_test(an_operator_that_waits_twice),
        cmocka_unit_test(a_thread_hands_batches_over),
        cmocka_unit_test(a_thread_without_samples_waits_for_the_gil),
        cmocka_unit_test(garbage_is_collected_in_the_loop),
        cmocka_unit_test(collections_are_not_charged_to_the_line),
        cmocka_unit_test(a_function_is_compiled_again),
        cmocka_unit_test(torch_compile_cannot_compile_a_line),
        cmocka_unit_test(samples_see_compilations),
        cmocka_unit_test(samples_far_apart_are_one_compilation),
        cmocka_unit_test(sampled_compilations_are_not_charged_to_the_line),
        cmocka_unit_test(events_come_before_samples),
        cmocka_unit_test(stacks_name_the_lines_that_break_graphs),
        cmocka_unit_test(workers_that_are_always_busy),
        cmocka_unit_test(workers_that_wait_for_orders),
        cmocka_unit_test(the_line_with_most_of_the_time_is_named),
    };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
