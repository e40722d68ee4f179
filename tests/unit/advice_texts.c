/* What rules on the host advise must be true and possible in the program at hand: of PyTorch or not, of Python or not,
 * with copies that nobody waits for. The captures are made by hand, as those of advice_host.c. */
#include "made_advice.h"

enum { STEPS = 10, LOOP = 600, KERNEL = 100, FROM_GPU = 2, PAGEABLE = 0, PINNED = 1, DEVICE = 2 };

/* The advice of the only cause; texts of rules outlive the adviser. */
static const char *advice_on(struct writer *writer, const struct analysis *rule, int has_steps, const char *what)
{
    struct adviser adviser;
    struct report *report = advise(&adviser, writer, rule, has_steps);

    assert_int_equal(adviser.count, 1);
    if (!text_begins_with(text_string(&adviser.causes[0].what), what))
        fail_msg("\"%s\" is none of \"%s\"", text_string(&adviser.causes[0].what), what);
    const char *advice = adviser.causes[0].advice;
    done(&adviser, report);
    return advice;
}

static void has(const char *advice, const char *words)
{
    if (!strstr(advice, words))
        fail_msg("\"%s\" is not in \"%s\"", words, advice);
}

static void has_not(const char *advice, const char *words)
{
    if (strstr(advice, words))
        fail_msg("\"%s\" is in \"%s\"", words, advice);
}

/* ---- waits ----------------------------------------------------------------------------------------------------- */

/* Steps of a kernel and a copy to the CPU, which is waited for; `operator` may be NULL. */
static struct writer *copy_back(const char *name, const char *stack)
{
    struct writer *writer = start();

    for (int i = 0; i < STEPS; i++) {
        int64_t at = LOOP * i;
        launch(writer, at, at + 5, at + 5 + KERNEL, 10 * i + 1, 7);
        if (name)
            operator(writer, at + 7, at + 118, name, stack);
        call(writer, MAIN, at + 10, at + 110, "cudaMemcpyAsync", 10 * i + 2);
        made_copy(writer,
                  (struct made_memory){ (at + 106) * US, (at + 108) * US, 10 * i + 2, 4, FROM_GPU, DEVICE, PAGEABLE });
    }
    return writer;
}

/* Who reads the copy a step later without waiting for it may read the values of another step. */
static void a_copy_is_waited_for_before_it_is_read(void **state)
{
    const char *torch = advice_on(copy_back("aten::to", NULL), &rule_result_waits, WITHOUT_STEPS, "a copy to the CPU"),
               *cuda = advice_on(copy_back(NULL, NULL), &rule_result_waits, WITHOUT_STEPS, "a copy from the GPU");

    has(torch, "wait for its event (torch.cuda.Event)");
    has(cuda, "wait for its event");
    has_not(cuda, "torch");
}

/* No mask takes the place of unique(). */
static void unique_is_no_mask(void **state)
{
    const char *advice = advice_on(copy_back("aten::_unique2", NULL), &rule_result_waits, WITHOUT_STEPS, ".unique()");

    has(advice, "torch.sort");
    has_not(advice, "mask");
}

/* GradScaler.step() calls .item(): the program has no value that it could keep. */
static void a_scaler_reads_for_itself(void **state)
{
    static const char own[] = "train.py(57): train",
                      scaler[] = "torch/amp/grad_scaler.py(361): GradScaler._maybe_opt_step;"
                                 "torch/amp/grad_scaler.py(457): GradScaler.step;train.py(57): train";
    const char *of_scaler = advice_on(copy_back("aten::item", scaler), &rule_result_waits, WITHOUT_STEPS, ".item()"),
               *of_program = advice_on(copy_back("aten::item", own), &rule_result_waits, WITHOUT_STEPS, ".item()");

    has(of_scaler, "fused=True");
    has_not(of_scaler, "loss.detach()");
    has(of_program, "loss.detach()");
}

/* The CPU may read managed memory after the wait: without it, it reads what the GPU has not written yet. */
static void a_device_may_be_waited_for_with_reason(void **state)
{
    struct writer *writer = start();

    for (int i = 0; i < STEPS; i++) {
        launch(writer, LOOP * i, LOOP * i + 5, LOOP * i + 5 + KERNEL, 10 * i + 1, 7);
        call(writer, MAIN, LOOP * i + 10, LOOP * i + 110, "cudaDeviceSynchronize", 10 * i + 2);
        sync_record(writer, 4, 7, 10 * i + 2, 0);
    }
    has(advice_on(writer, &rule_result_waits, WITHOUT_STEPS, "cudaDeviceSynchronize()"),
        "unless the CPU then reads what the GPU wrote");
}

/* ---- code between launches ------------------------------------------------------------------------------------- */

static void launch_rarely(struct writer *writer)
{
    for (int i = 0; i < STEPS; i++)
        launch(writer, LOOP * i, LOOP * i + 5, LOOP * i + 5 + KERNEL, i + 1, 7);
}

static void native_sample(struct writer *writer, int64_t id, int64_t time)
{
    struct row_COMPOSITE_EVENTS row = { 0 };
    struct row_SAMPLING_CALLCHAINS frame = { 0 };

    ROW_SET(&row, COMPOSITE_EVENTS, id, id);
    ROW_SET(&row, COMPOSITE_EVENTS, start, time * US);
    ROW_SET(&row, COMPOSITE_EVENTS, globalTid, made_thread(1, MAIN));
    writer_append(writer, TABLE_COMPOSITE_EVENTS, &row);
    ROW_SET(&frame, SAMPLING_CALLCHAINS, id, id);
    ROW_SET(&frame, SAMPLING_CALLCHAINS, symbol, made_string(writer, "advance"));
    ROW_SET(&frame, SAMPLING_CALLCHAINS, module, made_string(writer, "/home/me/solver"));
    ROW_SET(&frame, SAMPLING_CALLCHAINS, stackDepth, 0);
    writer_append(writer, TABLE_SAMPLING_CALLCHAINS, &frame);
}

static struct writer *native_program(void)
{
    struct writer *writer = start();

    launch_rarely(writer);
    for (int i = 0; i < 60; i++)
        native_sample(writer, i + 1, 10 + LOOP / 6 * i);
    return writer;
}

/* A program in C++ has no DataLoader, and Python in another thread would hold the GIL. */
static void code_goes_where_it_can_run(void **state)
{
    const char *native = advice_on(native_program(), &rule_python_between, WITHOUT_STEPS,
                                   "CPU code between launches: ");
    struct writer *writer = start();

    has(native, "another thread");
    has_not(native, "DataLoader");
    launch_rarely(writer);
    function(writer, 0, STEPS * LOOP, "train.py(40): train");
    const char *python = advice_on(writer, &rule_python_between, WITHOUT_STEPS, "Python between launches: ");
    has(python, "to another thread if it releases the GIL");
    has_not(python, "DataLoader"); /* it is not known to use PyTorch */
}

/* Twenty short kernels, or as many short graphs. */
static const char *advice_on_launches(const char *launch_call)
{
    struct writer *writer = start();

    for (int i = 0; i < 20; i++) {
        call(writer, MAIN, 45 * i, 45 * i + 5, launch_call, i + 1);
        kernel(writer, 45 * i + 5, 45 * i + 15, i + 1, 7);
    }
    return advice_on(writer, &rule_launch_bound, WITHOUT_STEPS, "launch-bound: 20 kernels");
}

/* Who launches graphs is not helped by CUDA graphs. */
static void graphs_are_no_news_to_a_program_with_graphs(void **state)
{
    has(advice_on_launches("cudaLaunchKernel"), "CUDA graphs launch all kernels at once");
    has(advice_on_launches("cudaGraphLaunch_v10000"), "put more of the step into each");
}

/* ---- operators ------------------------------------------------------------------------------------------------- */

static void range(struct writer *writer, int64_t begin, int64_t end, const char *name)
{
    struct row_NVTX_EVENTS row = { 0 };

    ROW_SET(&row, NVTX_EVENTS, start, begin * US);
    ROW_SET(&row, NVTX_EVENTS, end, end * US);
    ROW_SET(&row, NVTX_EVENTS, eventType, 59);
    ROW_SET(&row, NVTX_EVENTS, globalTid, made_thread(1, MAIN));
    ROW_SET(&row, NVTX_EVENTS, text, made_string(writer, name));
    writer_append(writer, TABLE_NVTX_EVENTS, &row);
}

/* Ranges of a program in C++ are named after its functions, and no operators of PyTorch. */
static void a_range_of_a_function_is_no_operator(void **state)
{
    struct writer *writer = native_program();
    struct adviser adviser;

    for (int i = 0; i < STEPS; i++)
        range(writer, LOOP * i + 6, LOOP * i + LOOP - 1, "Solver::advance");
    struct report *report = advise(&adviser, writer, &rule_slow_operators, WITHOUT_STEPS);
    assert_int_equal(adviser.count, 0);
    done(&adviser, report);
}

static const char *advice_on_operator(const char *name, const char *what)
{
    struct writer *writer = start();

    launch_rarely(writer);
    for (int i = 0; i < STEPS - 1; i++)
        operator(writer, LOOP * i + 10, LOOP * i + 500, name, "train.py(40): train");
    return advice_on(writer, &rule_slow_operators, WITHOUT_STEPS, what);
}

/* cuDNN is PyTorch's choice: other packages have attention of their own. */
static const char *advice_on_attention(const char *name, const char *what)
{
    struct writer *writer = start();

    launch_rarely(writer);
    for (int i = 1; i < STEPS; i++)
        operator(writer, LOOP * i - 400, LOOP * i + 5, name, "serve.py(40): step");
    return advice_on(writer, &rule_slow_operators, WITHOUT_STEPS, what);
}

static void attention_of_others_is_not_cudnns(void **state)
{
    has(advice_on_attention("aten::scaled_dot_product_attention", "scaled_dot_product_attention: "),
        "enable_cudnn_sdp");
    has_not(advice_on_attention("vllm::unified_attention", "vllm::unified_attention: "), "cudnn");
}

/* What an operator that is not PyTorch's does without a call of CUDA is not known: gloo's wait for other ranks. */
static void operators_of_others_need_no_tensors_on_the_cpu(void **state)
{
    has(advice_on_operator("aten::topk", "topk computes on the CPU: "), "Its tensors are on the CPU.");
    has_not(advice_on_operator("c10d::allreduce_", "c10d::allreduce_: "), "Its tensors are on the CPU.");
}

/* ---- batches --------------------------------------------------------------------------------------------------- */

static struct writer *load(int uses_gpu)
{
    struct writer *writer = start();

    for (int i = 0; i < STEPS; i++) {
        int64_t at = LOOP * i;
        step(writer, at, at + LOOP - 1, i);
        launch(writer, at, at + 5, at + 5 + KERNEL, 10 * i + 1, 7);
        operator(writer, at + 110, at + 590, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", NULL);
        if (uses_gpu)
            launch(writer, at + 300, at + 306, at + 310, 10 * i + 2, 7);
    }
    return writer;
}

/* A forked worker cannot use CUDA: num_workers would end the program. */
static void a_data_set_on_the_gpu_has_no_workers(void **state)
{
    const char *cpu = advice_on(load(0), &rule_data_loader, WITH_STEPS, "the DataLoader has no workers: "),
               *gpu = advice_on(load(1), &rule_data_loader, WITH_STEPS, "the data set uses the GPU: ");

    has(cpu, "get_worker_info()"); /* each worker of an IterableDataset has all of its data otherwise */
    has(gpu, "cannot use CUDA");
}

/* ---- calls in the loop ----------------------------------------------------------------------------------------- */

static struct writer *pool(int has_torch)
{
    struct writer *writer = start();

    for (int i = 0; i < STEPS; i++) {
        int64_t at = 200 * i;
        step(writer, at, at + 199, i);
        if (has_torch)
            operator(writer, at, at + 100, "aten::empty", NULL);
        call(writer, MAIN, at + 1, at + 61, "cudaMallocAsync_v11020", 10 * i + 1);
        launch(writer, at + 71, at + 76, at + 86, 10 * i + 2, 7);
        call(writer, MAIN, at + 101, at + 121, "cudaFreeAsync_v11020", 10 * i + 3);
    }
    return writer;
}

/* A program of PyTorch does not call cudaMemPoolSetAttribute(), and PyTorch's own pool keeps its memory. */
static void pytorch_has_an_allocator(void **state)
{
    static const char what[] = "memory is allocated or freed in the loop";

    has(advice_on(pool(1), &rule_loop_calls, WITH_STEPS, what), "backend:native");
    has_not(advice_on(pool(0), &rule_loop_calls, WITH_STEPS, what), "PyTorch");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_is_waited_for_before_it_is_read),
        cmocka_unit_test(unique_is_no_mask),
        cmocka_unit_test(a_scaler_reads_for_itself),
        cmocka_unit_test(a_device_may_be_waited_for_with_reason),
        cmocka_unit_test(code_goes_where_it_can_run),
        cmocka_unit_test(graphs_are_no_news_to_a_program_with_graphs),
        cmocka_unit_test(a_range_of_a_function_is_no_operator),
        cmocka_unit_test(attention_of_others_is_not_cudnns),
        cmocka_unit_test(operators_of_others_need_no_tensors_on_the_cpu),
        cmocka_unit_test(a_data_set_on_the_gpu_has_no_workers),
        cmocka_unit_test(pytorch_has_an_allocator),
    };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
