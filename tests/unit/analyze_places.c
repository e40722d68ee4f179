/* Lines of the user's program: from call stacks, operators, functions, samples and ranges, each in a report made for
 * it. */
#include <stdio.h>

#include "analyze/model/places/places.h"
#include "base/path.h"
#include "made_report.h"

enum { PID = 1 };
#define MAIN made_thread(PID, 1)
#define AUTOGRAD made_thread(PID, 2)
#define US(n) ((int64_t)(n) * 1000)

static const char torch_file[] = "/opt/venv/lib/python3.12/site-packages/torch/nn/modules/module.py";
static const char vision_file[] = "/opt/venv/lib/python3.12/site-packages/torchvision/models/resnet.py";
static const char users_file[] = "/home/me/train.py";

/* ---- rows ------------------------------------------------------------------------------------------------------ */

static void call(struct writer *writer, int64_t begin, int64_t end, const char *name, int64_t python, int64_t native)
{
    struct row_CUPTI_ACTIVITY_KIND_RUNTIME row = { 0 };

    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, start, US(begin));
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, end, US(end));
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, globalTid, MAIN);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, nameId, made_string(writer, name));
    if (python)
        ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, pythonCallchainId, python);
    if (native)
        ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, callchainId, native);
    writer_append(writer, TABLE_CUPTI_ACTIVITY_KIND_RUNTIME, &row);
}

static void operator(struct writer *writer, int64_t begin, int64_t end, const char *name, const char *stack)
{
    struct row_TACHO_TORCH_OP row = { 0 };

    ROW_SET(&row, TACHO_TORCH_OP, start, US(begin));
    ROW_SET(&row, TACHO_TORCH_OP, end, US(end));
    ROW_SET(&row, TACHO_TORCH_OP, globalTid, MAIN);
    ROW_SET(&row, TACHO_TORCH_OP, nameId, made_string(writer, name));
    ROW_SET(&row, TACHO_TORCH_OP, category, made_string(writer, "cpu_op"));
    if (stack)
        ROW_SET(&row, TACHO_TORCH_OP, callStackId, made_string(writer, stack));
    writer_append(writer, TABLE_TACHO_TORCH_OP, &row);
}

static void function(struct writer *writer, int64_t begin, int64_t end, const char *name)
{
    struct row_TACHO_TORCH_PYTHON row = { 0 };

    ROW_SET(&row, TACHO_TORCH_PYTHON, start, US(begin));
    ROW_SET(&row, TACHO_TORCH_PYTHON, end, US(end));
    ROW_SET(&row, TACHO_TORCH_PYTHON, globalTid, MAIN);
    ROW_SET(&row, TACHO_TORCH_PYTHON, nameId, made_string(writer, name));
    writer_append(writer, TABLE_TACHO_TORCH_PYTHON, &row);
}

static void range(struct writer *writer, int64_t begin, int64_t end, const char *name)
{
    struct row_NVTX_EVENTS row = { 0 };

    ROW_SET(&row, NVTX_EVENTS, start, US(begin));
    ROW_SET(&row, NVTX_EVENTS, end, US(end));
    ROW_SET(&row, NVTX_EVENTS, eventType, 59);
    ROW_SET(&row, NVTX_EVENTS, globalTid, MAIN);
    ROW_SET(&row, NVTX_EVENTS, text, made_string(writer, name));
    writer_append(writer, TABLE_NVTX_EVENTS, &row);
}

static void python_frame(struct writer *writer, int64_t id, int64_t depth, const char *function, const char *file,
                         int64_t line)
{
    struct row_TACHO_PYTHON_CALLCHAINS row = { 0 };

    ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, id, id);
    ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, symbol, made_string(writer, function));
    ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, module, made_string(writer, file));
    ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, stackDepth, depth);
    ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, line, line);
    writer_append(writer, TABLE_TACHO_PYTHON_CALLCHAINS, &row);
}

/* A chain whose line of the program is `line`, in main(), with a function of torch inside. */
static void chain_of_line(struct writer *writer, int64_t id, const char *act, int64_t line)
{
    python_frame(writer, id, 0, act, torch_file, 900);
    python_frame(writer, id, 1, "main", users_file, line);
    python_frame(writer, id, 2, "<module>", users_file, 99);
    python_frame(writer, id, 3, "_run_code", "<frozen runpy>", 88);
}

static void native_frame(struct writer *writer, int64_t id, int64_t depth, const char *symbol, const char *module,
                         const char *source, int64_t line)
{
    struct row_CUDA_CALLCHAINS row = { 0 };

    ROW_SET(&row, CUDA_CALLCHAINS, id, id);
    ROW_SET(&row, CUDA_CALLCHAINS, symbol, made_string(writer, symbol));
    ROW_SET(&row, CUDA_CALLCHAINS, module, made_string(writer, module));
    ROW_SET(&row, CUDA_CALLCHAINS, stackDepth, depth);
    if (source) {
        ROW_SET(&row, CUDA_CALLCHAINS, sourceFile, made_string(writer, source));
        ROW_SET(&row, CUDA_CALLCHAINS, sourceLine, line);
    }
    writer_append(writer, TABLE_CUDA_CALLCHAINS, &row);
}

static void sample(struct writer *writer, int64_t at, int64_t chain)
{
    struct row_TACHO_PYTHON_SAMPLE row = { 0 };

    ROW_SET(&row, TACHO_PYTHON_SAMPLE, start, US(at));
    ROW_SET(&row, TACHO_PYTHON_SAMPLE, globalTid, MAIN);
    ROW_SET(&row, TACHO_PYTHON_SAMPLE, threadState, 1);
    ROW_SET(&row, TACHO_PYTHON_SAMPLE, gil, 1);
    ROW_SET(&row, TACHO_PYTHON_SAMPLE, callchainId, chain);
    writer_append(writer, TABLE_TACHO_PYTHON_SAMPLE, &row);
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

struct opened {
    struct report *report;
    struct places places;
};

static struct opened open_places(struct writer *writer)
{
    struct opened opened = { .report = finish(writer) };
    struct error err;

    if (places_open(&opened.places, opened.report, &err) != 0)
        fail_msg("%s", err.text);
    return opened;
}

static void close_places(struct opened *opened)
{
    places_close(&opened->places);
    report_close(opened->report);
}

static void expect(struct opened *opened, int64_t thread, int64_t from, int64_t to, const char *place)
{
    struct text text = { 0 };

    place_text(&text, &opened->places, places_at(&opened->places, thread, US(from), US(to)));
    assert_string_equal(text_string(&text), place);
    text_free(&text);
}

static void expect_act(struct opened *opened, int64_t from, int64_t to, const char *act)
{
    uint32_t place = places_at(&opened->places, MAIN, US(from), US(to));

    assert_int_not_equal(place, NO_PLACE);
    assert_string_equal(places_string(&opened->places, places_get(&opened->places, place).act), act);
}

/* ---- tests ----------------------------------------------------------------------------------------------------- */

static void calls_have_the_line_of_their_stack(void **state)
{
    struct writer *writer = start();

    chain_of_line(writer, 1, "Tensor.cpu", 41);
    chain_of_line(writer, 2, "Module.__call__", 44);
    python_frame(writer, 3, 0, "ResNet.forward", vision_file, 280);        /* no frame of the program: the package's */
    python_frame(writer, 3, 1, "_bootstrap_inner", "/usr/lib/python3.12/threading.py", 1073);
    python_frame(writer, 4, 0, "put", "/usr/lib/python3.12/queue.py", 12); /* libraries alone */
    call(writer, 10, 20, "cudaMemcpyAsync", 1, 0);
    call(writer, 30, 40, "cudaStreamSynchronize", 1, 0);
    call(writer, 50, 60, "cudaLaunchKernel", 2, 0);
    call(writer, 70, 80, "cudaLaunchKernel", 3, 0);
    call(writer, 90, 95, "cudaLaunchKernel", 4, 0);
    struct opened opened = open_places(writer);
    expect(&opened, MAIN, 10, 20, "train.py:41 main");
    expect_act(&opened, 10, 20, "Tensor.cpu");
    expect(&opened, MAIN, 20, 30, "train.py:41 main"); /* between two calls of the same line */
    expect(&opened, MAIN, 40, 50, "");                 /* between two lines */
    expect(&opened, MAIN, 50, 60, "train.py:44 main");
    expect(&opened, MAIN, 70, 80, "resnet.py:280 ResNet.forward");
    expect(&opened, MAIN, 90, 95, "");
    expect(&opened, MAIN, 10, 60, "train.py:41 main"); /* 30 µs against 10 */
    close_places(&opened);
}

/* The function that torch.compile was given is the program's; the code that it generates from it is not. */
static void generated_code_is_not_the_programs(void **state)
{
    static const char hash[] = "ub/cubkcdqx7sxgqy7xkobgguyjgaantazfwxhq5qihcf4bkifrx5bx.py",
                      other[] = "/home/me/ub/cubkcdqx.py"; /* the user's own name */
    static const char *const folders[] = { "/tmp/torchinductor_me/", "/scratch/cache/" };
    struct writer *writer = start();

    for (int i = 0; i < 2; i++) {
        struct text file = { 0 };
        text_addf(&file, "%s%s", folders[i], hash);
        python_frame(writer, i + 1, 0, "Runner.call", text_string(&file), 223);
        python_frame(writer, i + 1, 1, "loss_of", users_file, 4);
        call(writer, 20 * i + 10, 20 * i + 20, "cuLaunchKernel", i + 1, 0);
        text_free(&file);
    }
    python_frame(writer, 3, 0, "call", other, 5);
    python_frame(writer, 3, 1, "loss_of", users_file, 4);
    call(writer, 50, 60, "cuLaunchKernel", 3, 0);
    struct opened opened = open_places(writer);
    expect(&opened, MAIN, 10, 20, "train.py:4 loss_of");
    expect(&opened, MAIN, 30, 40, "train.py:4 loss_of");
    expect(&opened, MAIN, 50, 60, "cubkcdqx.py:5 call");
    close_places(&opened);
}

static void operators_have_the_line_of_their_stack(void **state)
{
    struct writer *writer = start();

    operator(writer, 0, 100, "aten::linear",
             "torch/nn/modules/linear.py(134): forward;net.py(9): forward;t.py(7): main");
    operator(writer, 10, 90, "aten::addmm", NULL);
    operator(writer, 100, 150, "aten::item", "t.py(12): main");
    struct opened opened = open_places(writer);
    expect(&opened, MAIN, 20, 30, "net.py:9 forward"); /* of the operator around it */
    expect_act(&opened, 20, 30, "forward");
    expect(&opened, MAIN, 110, 120, "t.py:12 main");
    close_places(&opened);
}

static void functions_nest(void **state)
{
    struct writer *writer = start();

    function(writer, 0, 1000, "train.py(30): <module>");
    function(writer, 100, 900, "train.py(8): step");
    function(writer, 200, 600, "nn.Module: Net_0");
    function(writer, 210, 590, "torch/nn/modules/module.py(1783): _call_impl");
    function(writer, 220, 580, "torchvision/models/resnet.py(89): forward");
    function(writer, 700, 800, "<built-in method item of Tensor object at 0x7f9e08b2dc70>");
    struct opened opened = open_places(writer);
    expect(&opened, MAIN, 10, 20, "train.py:30");
    expect(&opened, MAIN, 300, 500, "train.py:8 step");     /* not the package that it calls */
    expect_act(&opened, 300, 500, "_call_impl");
    expect_act(&opened, 700, 800, "Tensor.item");
    expect(&opened, MAIN, 890, 2000, "train.py:30");        /* 100 µs of 1110, and 10 µs in step */
    expect(&opened, AUTOGRAD, 300, 500, "train.py:8 step"); /* it has no Python: its caller has */
    close_places(&opened);
}

/* The line of a data set knows the loop over its DataLoader. */
static void data_sets_know_their_loop(void **state)
{
    static const char loader_file[] = "/opt/venv/lib/python3.12/site-packages/torch/utils/data/dataloader.py";
    struct writer *writer = start();

    python_frame(writer, 1, 0, "Images.__getitem__", "/home/me/data.py", 31);
    python_frame(writer, 1, 1, "_SingleProcessDataLoaderIter._next_data", loader_file, 788);
    python_frame(writer, 1, 2, "_BaseDataLoaderIter.__next__", loader_file, 732);
    python_frame(writer, 1, 3, "main", users_file, 20);
    function(writer, 2000, 3000, "train.py(20): main");
    function(writer, 2100, 2900, "torch/utils/data/dataloader.py(732): __next__");
    function(writer, 2200, 2800, "data.py(30): __getitem__");
    call(writer, 10, 1000, "cudaHostAlloc", 1, 0);
    struct opened opened = open_places(writer);
    for (int64_t at = 10; at <= 2210; at += 2200) {
        struct place place = places_get(&opened.places, places_at(&opened.places, MAIN, US(at), US(at + 10)));
        struct text text = { 0 };
        assert_string_equal(path_base_name(places_string(&opened.places, place.file)), "data.py");
        place_text(&text, &opened.places, place.loop);
        assert_string_equal(text_string(&text), "train.py:20 main");
        text_free(&text);
    }
    expect_act(&opened, 2110, 2120, place_loads);
    close_places(&opened);
}

/* Ten steps of 2 ms with a wait of 100 µs each, in one of two lines that look alike but for the operator before; a
 * sample hits each wait in two of the steps, and one sample is wrong. */
static void samples_vote(void **state)
{
    struct writer *writer = start();

    chain_of_line(writer, 1, "forward", 41);
    chain_of_line(writer, 2, "forward", 57);
    for (int64_t step = 0; step < 10; step++) {
        static const struct {
            int64_t at;
            const char *before;
        } waits[] = { { 200, "aten::mm" }, { 1200, "aten::sum" } };
        char name[32];
        int64_t begin = 2000 * step;
        snprintf(name, sizeof name, "step %d", (int)step);
        range(writer, begin, begin + 1999, name);
        for (int i = 0; i < 2; i++) {
            int64_t at = begin + waits[i].at;
            operator(writer, at - 50, at - 10, waits[i].before, NULL);
            operator(writer, at, at + 100, "aten::item", NULL);
            call(writer, at + 10, at + 90, "cudaStreamSynchronize_v3020", 0, 0);
        }
    }
    sample(writer, 2000 * 2 + 250, 1);
    sample(writer, 2000 * 4 + 250, 1);
    sample(writer, 2000 * 5 + 1250, 2);
    sample(writer, 2000 * 6 + 250, 2); /* late: the thread was there before */
    sample(writer, 2000 * 7 + 1250, 2);
    struct opened opened = open_places(writer);
    for (int64_t step = 0; step < 10; step++) {
        expect(&opened, MAIN, 2000 * step + 210, 2000 * step + 290, "train.py:41 main");
        expect(&opened, MAIN, 2000 * step + 1210, 2000 * step + 1290, "train.py:57 main");
    }
    expect(&opened, MAIN, 600, 700, "range step"); /* between operators that no sample hit */
    close_places(&opened);
}

static void native_calls_have_their_function(void **state)
{
    struct writer *writer = start();

    native_frame(writer, 1, 0, "cudaMemcpy", "/usr/lib/libcudart.so.12", NULL, 0);
    native_frame(writer, 1, 1, "step", "/home/me/solver", "/home/me/solver.c", 12);
    native_frame(writer, 1, 2, "main", "/home/me/solver", "/home/me/solver.c", 80);
    native_frame(writer, 2, 0, "at::native::copy", "/opt/libtorch_cuda.so", NULL, 0);
    native_frame(writer, 3, 0, "main", "/home/me/stripped", NULL, 0);
    call(writer, 10, 20, "cudaMemcpy", 0, 1);
    call(writer, 30, 40, "cudaMemcpy", 0, 2);
    call(writer, 50, 60, "cudaMemcpy", 0, 3);
    struct opened opened = open_places(writer);
    expect(&opened, MAIN, 10, 20, "step (solver.c:12)");
    expect(&opened, MAIN, 30, 40, ""); /* a library without lines */
    expect(&opened, MAIN, 50, 60, "main (stripped)");
    close_places(&opened);
}

/* A sample in a program that is not Python: its functions, the innermost first. The line of one is `line` and its
 * depth. */
static void native_sample(struct writer *writer, int64_t id, int64_t at, const char *const *functions, int64_t line)
{
    struct row_COMPOSITE_EVENTS row = { 0 };

    ROW_SET(&row, COMPOSITE_EVENTS, id, id);
    ROW_SET(&row, COMPOSITE_EVENTS, start, US(at));
    ROW_SET(&row, COMPOSITE_EVENTS, globalTid, MAIN);
    ROW_SET(&row, COMPOSITE_EVENTS, cpuCycles, 1);
    writer_append(writer, TABLE_COMPOSITE_EVENTS, &row);
    for (int depth = 0; functions[depth]; depth++) {
        struct row_SAMPLING_CALLCHAINS frame = { 0 };
        ROW_SET(&frame, SAMPLING_CALLCHAINS, id, id);
        ROW_SET(&frame, SAMPLING_CALLCHAINS, symbol, made_string(writer, functions[depth]));
        ROW_SET(&frame, SAMPLING_CALLCHAINS, module, made_string(writer, "/home/me/solver"));
        ROW_SET(&frame, SAMPLING_CALLCHAINS, stackDepth, depth);
        if (depth) {
            ROW_SET(&frame, SAMPLING_CALLCHAINS, sourceFile, made_string(writer, "/home/me/solver.cu"));
            ROW_SET(&frame, SAMPLING_CALLCHAINS, sourceLine, line + depth);
        }
        writer_append(writer, TABLE_SAMPLING_CALLCHAINS, &frame);
    }
}
#define NATIVE_STACK(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* Ten iterations of a CUDA program. Samples hit two of the launches and two of the waits; all others are like them. */
static void samples_of_a_native_program_vote(void **state)
{
    struct writer *writer = start();

    for (int i = 0; i < 10; i++) {
        call(writer, 100 * i, 100 * i + 5, "cudaLaunchKernel", 0, 0);
        call(writer, 100 * i + 10, 100 * i + 60, "cudaMemcpy", 0, 0);
        if (i == 1 || i == 4)
            native_sample(writer, i, 100 * i + 40, NATIVE_STACK("cudaMemcpy", "solve"), 99);
        if (i == 2 || i == 5)
            native_sample(writer, i, 100 * i + 2, NATIVE_STACK("__device_stub__Z5sweepPKfPf", "iterate"), 45);
    }
    struct opened opened = open_places(writer);
    expect(&opened, MAIN, 800, 805, "iterate (solver.cu:46)");
    expect(&opened, MAIN, 810, 860, "solve (solver.cu:100)");
    close_places(&opened);
}

static void launch_of(struct writer *writer, int64_t begin, int64_t id, const char *kernel)
{
    struct row_CUPTI_ACTIVITY_KIND_RUNTIME row = { 0 };
    struct row_CUPTI_ACTIVITY_KIND_KERNEL work = { 0 };

    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, start, US(begin));
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, end, US(begin + 5));
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, globalTid, MAIN);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, nameId, made_string(writer, "cudaLaunchKernel"));
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, correlationId, id);
    writer_append(writer, TABLE_CUPTI_ACTIVITY_KIND_RUNTIME, &row);
    ROW_SET(&work, CUPTI_ACTIVITY_KIND_KERNEL, start, US(begin + 6));
    ROW_SET(&work, CUPTI_ACTIVITY_KIND_KERNEL, end, US(begin + 8));
    ROW_SET(&work, CUPTI_ACTIVITY_KIND_KERNEL, globalPid, made_thread(PID, 0));
    ROW_SET(&work, CUPTI_ACTIVITY_KIND_KERNEL, correlationId, id);
    ROW_SET(&work, CUPTI_ACTIVITY_KIND_KERNEL, demangledName, made_string(writer, kernel));
    writer_append(writer, TABLE_CUPTI_ACTIVITY_KIND_KERNEL, &work);
}

/* Ten iterations launch two kernels, one line after the other. Most samples hit the second launch, where the queue is
 * full; two are enough to know the first one. */
static void samples_vote_for_launches_of_their_kernel(void **state)
{
    struct writer *writer = start();

    for (int i = 0; i < 10; i++) {
        launch_of(writer, 100 * i, 2 * i + 1, "add_up(float*)");
        launch_of(writer, 100 * i + 10, 2 * i + 2, "share(float*)");
        if (i < 2)
            native_sample(writer, i + 1, 100 * i + 2, NATIVE_STACK("cudaLaunchKernel", "iterate"), 98);
        else if (i < 8)
            native_sample(writer, i + 1, 100 * i + 12, NATIVE_STACK("cudaLaunchKernel", "iterate"), 100);
    }
    struct opened opened = open_places(writer);
    expect(&opened, MAIN, 900, 905, "iterate (solver.cu:99)");
    expect(&opened, MAIN, 910, 915, "iterate (solver.cu:101)");
    close_places(&opened);
}

/* nvcc adds two functions to each kernel. Neither is where the program launches it. */
static void a_launch_is_where_the_kernel_is_called(void **state)
{
    static const char of_float[] = "__device_stub__ZN2ns5sweepIfEEvPT_(float*)";
    static const char *const stacks[][4] = {
        { "__device_stub__Z5sweepPKfPf(float const*, float*)", "sweep(float const*, float*)", "iterate" },
        { of_float, "void ns::sweep<float>(float*)", "iterate" },
        { "__device_stub__ZN57_GLOBAL__N__5b2f5sweepEi(int)", "(anonymous namespace)::sweep(int)", "iterate" },
        { of_float, "sweeps(float*)", "iterate" },
    };
    static const char *const expected[] = { "iterate (solver.cu:47)", "iterate (solver.cu:47)",
                                            "iterate (solver.cu:47)", "sweeps(float*) (solver.cu:46)" };

    for (int i = 0; i < 4; i++) {
        struct writer *writer = start();
        call(writer, 0, 5, "cudaLaunchKernel", 0, 0);
        native_sample(writer, 1, 2, stacks[i], 45);
        struct opened opened = open_places(writer);
        expect(&opened, MAIN, 0, 5, expected[i]);
        close_places(&opened);
    }
}

static void ranges_are_the_last_resort(void **state)
{
    struct writer *writer = start();

    range(writer, 0, 1000, "forward");
    range(writer, 100, 300, "aten::mm, seq = 12");
    range(writer, 400, 600, "attention");
    operator(writer, 0, 2000, "ProfilerStep#3", NULL);
    operator(writer, 700, 800, "aten::add", NULL);
    chain_of_line(writer, 1, "forward", 41);
    call(writer, 810, 820, "cudaLaunchKernel", 1, 0);
    struct opened opened = open_places(writer);
    expect(&opened, MAIN, 150, 200, "range forward");
    expect(&opened, MAIN, 410, 420, "range attention");
    expect(&opened, MAIN, 710, 720, "range forward");
    expect(&opened, MAIN, 810, 820, "train.py:41 main");
    expect(&opened, MAIN, 1200, 1300, "range ProfilerStep");
    expect(&opened, MAIN, 2200, 2300, "");
    close_places(&opened);
}

static int write_down(void *context, uint32_t place, int64_t from_ns, int64_t to_ns)
{
    struct opened *opened = ((void **)context)[0];
    struct text *out = ((void **)context)[1];

    text_addf(out, "%lld-%lld ", (long long)(from_ns / 1000), (long long)(to_ns / 1000));
    place_text(out, &opened->places, place);
    text_add_char(out, ';');
    return 0;
}

static void a_time_has_several_places(void **state)
{
    struct writer *writer = start();

    range(writer, 0, 100, "forward");
    chain_of_line(writer, 1, "forward", 41);
    call(writer, 20, 30, "cudaLaunchKernel", 1, 0);
    struct opened opened = open_places(writer);
    struct text text = { 0 };
    assert_int_equal(places_each(&opened.places, MAIN, US(10), US(120), write_down, (void *[]){ &opened, &text }), 0);
    assert_string_equal(text_string(&text),
                        "10-20 range forward;20-30 train.py:41 main;30-100 range forward;100-120 ;");
    text_free(&text);
    close_places(&opened);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_have_the_line_of_their_stack),
        cmocka_unit_test(generated_code_is_not_the_programs),
        cmocka_unit_test(operators_have_the_line_of_their_stack),
        cmocka_unit_test(functions_nest),
        cmocka_unit_test(data_sets_know_their_loop),
        cmocka_unit_test(samples_vote),
        cmocka_unit_test(native_calls_have_their_function),
        cmocka_unit_test(samples_of_a_native_program_vote),
        cmocka_unit_test(samples_vote_for_launches_of_their_kernel),
        cmocka_unit_test(a_launch_is_where_the_kernel_is_called),
        cmocka_unit_test(ranges_are_the_last_resort),
        cmocka_unit_test(a_time_has_several_places),
    };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
