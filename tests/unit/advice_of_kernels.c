/* Rules on kernels, on small programs made by hand: the GPU is busy all the time, so that what is saved is the time of
 * the kernels that go, each with a gap of 1 µs. All times are in µs. */
#include "analyze/advice/adviser.h"
#include "analyze/registry.h"
#include "made_cuda.h"

/* ---- a program ------------------------------------------------------------------------------------------------- */

enum { OPERATOR_US = 10, GAP = 1, NO_SEQUENCE = -1 };

/* Where the program is: on the CPU and on the GPU. */
struct program {
    struct writer *writer;
    int64_t cpu, gpu, id, sequence;
    const char *strides, *values; /* of the inputs of operators from now on; NULL: not recorded */
};

struct gpu {
    const char *name;
    int64_t sms, major;
};
static const struct gpu h200 = { "NVIDIA H200", 132, 9 }, v100 = { "Tesla V100-SXM2-32GB", 80, 7 };

static void gpu_row(struct writer *writer, const struct gpu *gpu)
{
    struct row_TARGET_INFO_GPU row = { 0 };

    ROW_SET(&row, TARGET_INFO_GPU, id, 0);
    ROW_SET(&row, TARGET_INFO_GPU, name, made_string(writer, gpu->name));
    ROW_SET(&row, TARGET_INFO_GPU, smCount, gpu->sms);
    ROW_SET(&row, TARGET_INFO_GPU, computeMajor, gpu->major);
    ROW_SET(&row, TARGET_INFO_GPU, computeMinor, 0);
    writer_append(writer, TABLE_TARGET_INFO_GPU, &row);
}

/* What an operator has; is_backward: it is a node of the backward pass. */
struct op {
    const char *name, *shapes, *stack;
    int is_backward;
    const char *types; /* of the inputs; NULL: bf16 */
};

static void operator_row(const struct program *program, int64_t from, struct op op)
{
    struct writer *writer = program->writer;
    struct row_TACHO_TORCH_OP row = { 0 };

    ROW_SET(&row, TACHO_TORCH_OP, start, from * US);
    ROW_SET(&row, TACHO_TORCH_OP, end, program->cpu * US);
    ROW_SET(&row, TACHO_TORCH_OP, globalTid, made_thread(1, MAIN));
    ROW_SET(&row, TACHO_TORCH_OP, nameId, made_string(writer, op.name));
    ROW_SET(&row, TACHO_TORCH_OP, category, made_string(writer, "cpu_op"));
    if (program->sequence != NO_SEQUENCE)
        ROW_SET(&row, TACHO_TORCH_OP, sequenceNumber, program->sequence);
    if (op.is_backward)
        ROW_SET(&row, TACHO_TORCH_OP, forwardThread, 1);
    if (op.shapes) {
        ROW_SET(&row, TACHO_TORCH_OP, inputDimsId, made_string(writer, op.shapes));
        ROW_SET(&row, TACHO_TORCH_OP, inputTypesId,
                made_string(writer, op.types ? op.types : "[\"c10::BFloat16\", \"c10::BFloat16\", \"c10::BFloat16\"]"));
    }
    if (program->strides)
        ROW_SET(&row, TACHO_TORCH_OP, inputStridesId, made_string(writer, program->strides));
    if (program->values)
        ROW_SET(&row, TACHO_TORCH_OP, concreteInputsId, made_string(writer, program->values));
    if (op.stack)
        ROW_SET(&row, TACHO_TORCH_OP, callStackId, made_string(writer, op.stack));
    writer_append(writer, TABLE_TACHO_TORCH_OP, &row);
}

/* An operator that launches a kernel. */
static void runs(struct program *program, struct op op, const char *kernel, int64_t us)
{
    int64_t from = program->cpu, called = from + 2;

    call(program->writer, MAIN, called, called + 5, "cudaLaunchKernel", program->id);
    program->gpu = program->gpu + GAP > called + 5 ? program->gpu + GAP : called + 5;
    made_kernel(program->writer, (struct made_kernel){ program->gpu * US, (program->gpu + us) * US, 1, program->id++, 0,
                                                       7, kernel, NULL, NULL });
    program->gpu += us;
    program->cpu += OPERATOR_US;
    operator_row(program, from, op);
}

/* The first kernel is long, so that all others have been launched before it ends. */
static struct program begin_on(const struct gpu *gpu)
{
    struct program program = { .writer = start(), .id = 1, .sequence = NO_SEQUENCE };

    gpu_row(program.writer, gpu);
    runs(&program, (struct op){ .name = "first" }, "first", 5000);
    return program;
}

static struct program begin(void)
{
    return begin_on(&h200);
}

/* Runs one rule. Without a cause the text is NULL. */
static void expect(struct program *program, const struct analysis *rule, int64_t bound, int64_t estimate,
                   const char *what, const char *where)
{
    static const struct steps none;
    static const struct analysis_filter without_steps = { .steps = &none };
    struct report *report = finish(program->writer);
    struct adviser adviser;
    struct error err;

    if (adviser_open(&adviser, report, &(struct analysis_request){ .filter = &without_steps }, &err) != 0 ||
        adviser_find(&adviser, rule, &err) != 0 || adviser_judge(&adviser, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(adviser.count, what != NULL);
    if (what) {
        assert_string_equal(text_string(&adviser.causes[0].what), what);
        assert_string_equal(text_string(&adviser.causes[0].where), where);
        assert_int_equal(adviser.causes[0].bound_ns / US, bound);
        assert_int_equal(adviser.causes[0].estimate_ns / US, estimate);
    }
    adviser_free(&adviser);
    report_close(report);
}

/* The advice of the first cause, which outlives the adviser. */
static const char *advice_on(struct program *program, const struct analysis *rule)
{
    static const struct steps none;
    static const struct analysis_filter without_steps = { .steps = &none };
    struct report *report = finish(program->writer);
    struct adviser adviser;
    struct error err;

    if (adviser_open(&adviser, report, &(struct analysis_request){ .filter = &without_steps }, &err) != 0 ||
        adviser_find(&adviser, rule, &err) != 0 || adviser_judge(&adviser, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_not_equal(adviser.count, 0);
    const char *advice = adviser.causes[0].advice;
    adviser_free(&adviser);
    report_close(report);
    return advice;
}

static const char line[] = "train.py(12): forward", gemm[] = "nvjet_tst_128x256_64x4_2x1_v_bz_TNT",
                  pointwise[] = "void at::native::vectorized_elementwise_kernel<4>";

/* ---- layout ---------------------------------------------------------------------------------------------------- */

static void conversions_of_layouts_go(void **state)
{
    struct program program = begin();

    for (int i = 0; i < 10; i++) {
        struct op convolution = { .name = "aten::cudnn_convolution", .stack = line };
        runs(&program, convolution, "void cudnn::ops::nchwToNhwcKernel<float, float>", 30);
        runs(&program, convolution, "sm90_xmma_fprop_implicit_gemm_bf16bf16_nhwc", 100);
    }
    expect(&program, &rule_layout_conversions, 10 * (30 + GAP), 10 * (30 + GAP),
           "layout conversions: 10 kernels (NCHW/NHWC) in 300 µs", "train.py:12 forward");
}

static const char *advice_on_layout(const char *shapes, const char *strides)
{
    struct program program = begin();

    program.strides = strides;
    for (int i = 0; i < 10; i++) {
        struct op convolution = { .name = "aten::cudnn_convolution", .stack = line, .shapes = shapes };
        runs(&program, convolution, "void cudnn::ops::nhwcToNchwKernel<float, float>", 30);
        runs(&program, convolution, "sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nchw", 100);
    }
    return advice_on(&program, &rule_layout_conversions);
}

/* channels_last is for four dimensions: a tensor of five ends the program. And it is no news for one that has it. */
static void a_layout_is_advised_that_the_tensors_can_have(void **state)
{
    static const char images[] = "[[8, 64, 32, 32], [64, 64, 3, 3]]",
                      first[] = "[[65536, 1024, 32, 1], [576, 9, 3, 1]]",
                      last[] = "[[65536, 1, 2048, 64], [576, 9, 3, 1]]";

    assert_non_null(strstr(advice_on_layout(images, NULL), "torch.channels_last)"));
    assert_non_null(strstr(advice_on_layout(images, first), "torch.channels_last)"));
    assert_non_null(strstr(advice_on_layout(images, last), "allow_tf32"));
    assert_non_null(strstr(advice_on_layout("[[8, 64, 8, 32, 32], [64, 64, 3, 3, 3]]", NULL), "channels_last_3d"));
}

/* A batch norm of 67.1 MB of input and of output. 134.2 MB at 4.814 TB/s are 27.88 µs; the input read twice is counted
 * as 5/3 of that, at 80 %: 58.08 µs. One that takes 50 µs is fast enough, and one without conversions is no matter of
 * the layout. */
static void batch_norms_change_with_the_layout(void **state)
{
    const struct op norm = {
        .name = "aten::cudnn_batch_norm", .shapes = "[[256, 64, 32, 32]]", .stack = line, .types = "[\"float\"]"
    };
    const struct op convolution = { .name = "aten::cudnn_convolution", .stack = line };
    struct program program = begin();

    for (int i = 0; i < 10; i++) {
        runs(&program, convolution, "void cudnn::ops::nchwToNhwcKernel<float, float>", 30);
        runs(&program, norm, "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float>", 300);
        runs(&program, norm, "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float>", 50);
    }
    expect(&program, &rule_layout_conversions, 310 + 3000 - 279 /* 278.8 */, 310 + 3000 - 581 /* 580.8 */,
           "layout conversions: 10 kernels (NCHW/NHWC) in 300 µs", "train.py:12 forward");
    program = begin();
    runs(&program, norm, "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float>", 300);
    expect(&program, &rule_layout_conversions, 0, 0, NULL, NULL);
}

/* A copy by contiguous(), from NCHW to NHWC or back. */
static void reorders(struct program *program, const char *shapes)
{
    int64_t from = program->cpu++;

    runs(program, (struct op){ .name = "aten::copy_", .shapes = shapes }, "elementwise_kernel<direct_copy>", 160);
    program->cpu++;
    operator_row(program, from, (struct op){ .name = "aten::contiguous", .stack = line });
}

/* Forward a norm has one kernel, backward it has three. */
static void norm_of_channels(struct program *program, const char *there, const char *back)
{
    reorders(program, there);
    runs(program, (struct op){ .name = "aten::native_layer_norm", .stack = line }, "vectorized_layer_norm", 200);
    reorders(program, back);
    runs(program, (struct op){ .name = "aten::mm" }, gemm, 300);
    reorders(program, there);
    runs(program, (struct op){ .name = "aten::native_layer_norm_backward" }, "layer_norm_grad_input", 140);
    runs(program, (struct op){ .name = "aten::native_layer_norm_backward" }, "layer_norm_gamma_beta", 40);
    runs(program, (struct op){ .name = "aten::sum" }, "reduce_kernel", 10);
    reorders(program, back);
    runs(program, (struct op){ .name = "aten::mm" }, gemm, 300);
}

#define CHANNELS_LAST "[[48, 56, 28, 192], [48, 56, 28, 192], []]"
#define CHANNELS_SECOND "[[48, 192, 56, 28], [48, 192, 56, 28], []]"

static void conversions_around_a_norm_go(void **state)
{
    struct program program = begin();

    for (int i = 0; i < 10; i++)
        norm_of_channels(&program, CHANNELS_LAST, CHANNELS_SECOND);
    expect(&program, &rule_layout_conversions, 40 * (160 + GAP), 40 * (160 + GAP),
           "layout conversions: 40 kernels (NCHW/NHWC) in 6.40 ms", "train.py:12 forward");
}

/* Heads side by side again after a norm, and a copy that nothing takes back. */
static void other_copies_around_a_norm_stay(void **state)
{
    struct program program = begin();

    for (int i = 0; i < 10; i++) {
        norm_of_channels(&program, CHANNELS_LAST, "[[48, 28, 56, 192], [48, 28, 56, 192], []]");
        norm_of_channels(&program, "[[2688, 28, 192], [2688, 28, 192], []]", CHANNELS_SECOND);
    }
    expect(&program, &rule_layout_conversions, 0, 0, NULL, NULL);
}

/* ---- bias ------------------------------------------------------------------------------------------------------ */

/* A convolution with a bias, an operator behind it, and its gradients. */
static void convolution(struct program *program, int64_t sequence, const char *behind)
{
    int64_t from = program->cpu;

    program->sequence = sequence;
    runs(program, (struct op){ .name = "aten::cudnn_convolution" }, "sm90_xmma_fprop_bf16bf16_nhwc", 100);
    runs(program, (struct op){ .name = "aten::add_" }, pointwise, 40);
    operator_row(program, from, (struct op){ .name = "aten::conv2d", .stack = line });
    program->sequence = NO_SEQUENCE;
    runs(program, (struct op){ .name = "aten::add_" }, pointwise, 5); /* counts the batches */
    runs(program, (struct op){ .name = behind }, "void batch_norm_collect_statistics", 100);
    from = program->cpu;
    program->sequence = NO_SEQUENCE;
    runs(program, (struct op){ .name = "aten::sum" }, "void at::native::reduce_kernel<512, 1>", 60);
    runs(program, (struct op){ .name = "aten::convolution_backward" }, "sm90_xmma_dgrad_bf16bf16_nhwc", 100);
    program->sequence = sequence;
    operator_row(program, from, (struct op){ .name = "ConvolutionBackward0", .is_backward = 1 });
    program->sequence = NO_SEQUENCE;
}

static void a_bias_before_a_batch_norm_goes(void **state)
{
    struct program program = begin();

    for (int i = 0; i < 10; i++)
        convolution(&program, i, "aten::batch_norm");
    expect(&program, &rule_bias_before_norm, 10 * (40 + 60 + 2 * GAP), 10 * (40 + 60 + 2 * GAP),
           "bias before batch norm: 20 kernels add it and sum up its gradient in 1.00 ms", "train.py:12 forward");
}

/* A convolution whose bias is added, and a norm with the argument `training`; NULL: the values are not recorded. */
static const char *advice_on_bias(const char *training, int has_backward)
{
    struct program program = begin();

    program.values = training;
    for (int i = 0; i < 10; i++) {
        int64_t from = program.cpu;
        runs(&program, (struct op){ .name = "aten::cudnn_convolution" }, "sm90_xmma_fprop_bf16bf16_nhwc", 100);
        runs(&program, (struct op){ .name = "aten::add_" }, pointwise, 40);
        operator_row(&program, from, (struct op){ .name = "aten::conv2d", .stack = line });
        runs(&program,
             (struct op){ .name = "aten::batch_norm", .shapes = "[[8, 64, 32, 32], [64], [64], [64], [64], []]" },
             "void batch_norm_collect_statistics", 50);
        if (has_backward)
            runs(&program, (struct op){ .name = "MulBackward0", .is_backward = 1 }, "gradient", 20);
    }
    return advice_on(&program, &rule_bias_before_norm);
}

/* A norm in eval() subtracts the mean that it saw in the training, and the bias stays in its result. */
static void a_bias_before_a_norm_in_eval_is_folded(void **state)
{
    static const char yes[] = "[\"\", \"\", \"\", \"\", \"\", \"True\"]",
                      no[] = "[\"\", \"\", \"\", \"\", \"\", \"False\"]";

    assert_non_null(strstr(advice_on_bias(NULL, 1), "bias=False"));
    assert_non_null(strstr(advice_on_bias(NULL, 0), "fuse_conv_bn_eval"));
    assert_non_null(strstr(advice_on_bias(no, 1), "fuse_conv_bn_eval"));
    assert_non_null(strstr(advice_on_bias(yes, 0), "bias=False"));
}

static void a_bias_before_a_layer_norm_stays(void **state)
{
    struct program program = begin();

    for (int i = 0; i < 10; i++)
        convolution(&program, i, "aten::layer_norm");
    expect(&program, &rule_bias_before_norm, 0, 0, NULL, NULL);
}

/* ---- attention ------------------------------------------------------------------------------------------------- */

#define SCORES "[[16, 1024, 64], [16, 64, 1024]]"
#define VALUES "[[16, 1024, 1024], [16, 1024, 64]]"

/* Attention written out, of 4 · 16 · 1024 · 1024 · 64 = 4.295 GFLOP, and a layer behind it. An H200 has 989.4 TFLOP/s:
 * 4.34 µs in the bound; the estimate, at 40 %, 10.85 µs. The gradients take 2 times as much in the bound, 8.68 µs, and
 * 2.5 times as much at 35 %, 31.01 µs. */
static void attention(struct program *program, int64_t sequence, const char *values)
{
    program->sequence = sequence;
    runs(program, (struct op){ .name = "aten::bmm", .shapes = SCORES, .stack = line }, gemm, 100);
    program->sequence = sequence + 1;
    runs(program, (struct op){ .name = "aten::mul", .stack = line }, pointwise, 70);
    program->sequence = sequence + 2;
    runs(program, (struct op){ .name = "aten::_softmax", .stack = line }, "void softmax_warp_forward<float>", 80);
    program->sequence = sequence + 3;
    runs(program, (struct op){ .name = "aten::bmm", .shapes = values, .stack = line }, gemm, 90);
    program->sequence = NO_SEQUENCE;
    runs(program, (struct op){ .name = "aten::mm" }, gemm, 150);
    static const char *const gradients[] = { "MulBackward0", "SoftmaxBackward0", "BmmBackward0" };
    for (int i = 0; i < 3; i++) {
        program->sequence = sequence + i + 1;
        runs(program, (struct op){ .name = gradients[i], .is_backward = 1 }, "gradient", 100);
    }
    program->sequence = NO_SEQUENCE;
    runs(program, (struct op){ .name = "aten::mm" }, gemm, 150);
}

/* Of four kernels one remains, and of the three gradients one: five go, with their gaps. */
static void written_out_attention_becomes_one_kernel(void **state)
{
    struct program program = begin();

    for (int i = 0; i < 10; i++)
        attention(&program, 10 * i, VALUES);
    expect(&program, &rule_unfused_attention, 10 * (340 + 300 + 5 * GAP) - 131, 10 * (340 + 300 + 5 * GAP) - 419,
           "unfused attention: 70 kernels compute softmax(QK)V in 6.40 ms", "train.py:12 forward");
}

/* No fused kernel takes float64, and programs without PyTorch have no F.scaled_dot_product_attention(). */
static void attention_is_fused_where_there_is_a_kernel(void **state)
{
    static const char twice[] = "[\"double\", \"double\"]";
    struct program program = begin();

    for (int i = 0; i < 10; i++)
        attention(&program, 10 * i, VALUES);
    const char *advice = advice_on(&program, &rule_unfused_attention);
    assert_non_null(strstr(advice, "need_weights=False"));
    assert_non_null(strstr(advice, "Unless something else reads the scores"));
    program = begin();
    for (int i = 0; i < 10; i++) {
        runs(&program, (struct op){ "aten::bmm", SCORES, line, 0, twice }, gemm, 100);
        runs(&program, (struct op){ .name = "aten::_softmax", .stack = line }, "void softmax_warp_forward<double>", 80);
        runs(&program, (struct op){ "aten::bmm", VALUES, line, 0, twice }, gemm, 90);
        runs(&program, (struct op){ .name = "aten::mm" }, gemm, 150);
    }
    expect(&program, &rule_unfused_attention, 0, 0, NULL, NULL);
}

/* A classifier on top of a product is no attention, whatever product comes next. */
static void a_softmax_between_other_products_is_none(void **state)
{
    struct program program = begin();

    for (int i = 0; i < 10; i++)
        attention(&program, 10 * i, "[[16, 1024, 512], [16, 512, 64]]");
    expect(&program, &rule_unfused_attention, 0, 0, NULL, NULL);
}

/* A copy into another type, as the operator that the program calls for it. */
static void casts(struct program *program, const char *types)
{
    int64_t from = program->cpu++;
    const char *shapes = types ? "[[16, 1024, 64], [16, 1024, 64], []]" : NULL;

    runs(program, (struct op){ .name = "aten::copy_", .shapes = shapes, .types = types }, pointwise, 20);
    program->cpu++;
    operator_row(program, from, (struct op){ .name = "aten::to", .stack = line });
}

/* Attention in fp32. is_cast: q and k are cast before it, v in the middle, and the result after it; else a mask is,
 * before it. */
static void attention_in_fp32(struct program *program, int has_shapes, int is_cast)
{
    static const char both[] = "[\"float\", \"float\"]",
                      kernel[] = "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x256x8_stage3_ffma_aligna4_alignc4";
    const char *up = has_shapes ? "[\"float\", \"c10::BFloat16\", \"Scalar\"]" : NULL,
               *down = has_shapes ? "[\"c10::BFloat16\", \"float\", \"Scalar\"]" : NULL,
               *scores = has_shapes ? SCORES : NULL, *values = has_shapes ? VALUES : NULL;

    casts(program, up);
    casts(program, up);
    runs(program, (struct op){ "aten::bmm", scores, line, 0, both }, kernel, 200);
    runs(program, (struct op){ .name = "aten::mul", .stack = line }, pointwise, 70);
    runs(program, (struct op){ .name = "aten::_softmax", .stack = line }, "void softmax_warp_forward<float>", 80);
    if (is_cast)
        casts(program, up);
    runs(program, (struct op){ "aten::bmm", values, line, 0, both }, kernel, 180);
    if (is_cast)
        casts(program, down);
    runs(program, (struct op){ .name = "aten::mm" }, gemm, 150);
}

enum { UPCAST = 10 * (4 * 20 + 200 + 70 + 80 + 180 + 7 * GAP) }; /* of eight kernels one remains */

/* With shapes as above, but for the casts. Without, the two products take 2 · 66.91 / 989.4 of their 380 µs, 51.4 µs,
 * and half of that in the bound. */
static void attention_that_is_cast_to_fp32_becomes_one_of_16_bits(void **state)
{
    for (int has_shapes = 0; has_shapes < 2; has_shapes++) {
        struct program program = begin();
        for (int i = 0; i < 10; i++)
            attention_in_fp32(&program, has_shapes, 1);
        expect(&program, &rule_unfused_attention, UPCAST - (has_shapes ? 44 : 257), UPCAST - (has_shapes ? 109 : 514),
               "unfused attention: 80 kernels compute softmax(QK)V in 6.10 ms", "train.py:12 forward");
        program = begin();
        for (int i = 0; i < 10; i++)
            attention_in_fp32(&program, has_shapes, 1);
        expect(&program, &rule_tensor_cores, 0, 0, NULL, NULL);
    }
}

/* Products of fp32 remain, and are a matter of both rules. */
static void attention_of_fp32_stays_what_it_is(void **state)
{
    struct program program = begin();

    for (int i = 0; i < 10; i++)
        attention_in_fp32(&program, 0, 0);
    expect(&program, &rule_unfused_attention, 10 * (530 + 3 * GAP - 190), 10 * (530 + 3 * GAP - 380),
           "unfused attention: 40 kernels compute softmax(QK)V in 5.30 ms", "train.py:12 forward");
}

/* ---- chains ---------------------------------------------------------------------------------------------------- */

#define TENSOR "[[1024, 4096], []]"
#define TENSORS "[[1024, 4096], [1024, 4096]]"

/* x · (x + 1) and 3 · that: three kernels read four tensors of 8 MiB and write three. Two of the four are results, so
 * that two come from outside, of which one half is taken to be the other again: 1.5 tensors to read and one to write
 * remain of seven. The bound: one to read and one to write, at 4.89 TB/s: 3.43 µs. */
static void chain(struct program *program, const char *shape_of_last)
{
    runs(program, (struct op){ .name = "aten::add", .shapes = TENSOR, .stack = line }, pointwise, 60);
    runs(program, (struct op){ .name = "aten::mul", .shapes = TENSORS, .stack = line }, pointwise, 90);
    runs(program, (struct op){ .name = "aten::mul", .shapes = shape_of_last, .stack = line }, pointwise, 60);
    runs(program, (struct op){ .name = "aten::mm" }, gemm, 300);
}

static void a_chain_of_pointwise_kernels_becomes_one(void **state)
{
    struct program program = begin();

    for (int i = 0; i < 10; i++)
        chain(&program, TENSOR);
    expect(&program, &rule_pointwise_chains, 10 * (210 + 2 * GAP) - 35, 10 * (210 + 2 * GAP) - 750,
           "chains of pointwise kernels: 30 kernels in 2.10 ms", "train.py:12 forward");
}

/* The CPU is the limit, so that what is saved is the time of the operators that go: one adds the bias of a convolution,
 * which remains, and one is a product. */
static void operators_beside_a_chain_keep_their_time(void **state)
{
    struct program program = { .writer = start(), .id = 1, .sequence = NO_SEQUENCE };

    gpu_row(program.writer, &h200);
    for (int i = 0; i < 10; i++) {
        int64_t from = program.cpu;
        runs(&program, (struct op){ .name = "aten::cudnn_convolution" }, "sm90_xmma_fprop_bf16bf16_nhwc", 1);
        runs(&program, (struct op){ .name = "aten::add_", .shapes = TENSOR }, pointwise, 1);
        operator_row(&program, from, (struct op){ .name = "aten::conv2d", .stack = line });
        runs(&program, (struct op){ .name = "aten::mul", .shapes = TENSOR, .stack = line }, pointwise, 1);
        runs(&program, (struct op){ .name = "aten::add", .shapes = TENSOR, .stack = line }, pointwise, 2);
        runs(&program, (struct op){ .name = "aten::mm" }, gemm, 1);
    }
    expect(&program, &rule_pointwise_chains, 10 * 2 * OPERATOR_US, 10 * 2 * OPERATOR_US,
           "chains of pointwise kernels: 30 kernels in 40.0 µs", "train.py:12 forward");
}

/* Every other chain begins with a kernel of the caller, which makes it the caller's. But most of its time is on the
 * line of the others, too: one change, and one finding. */
static void chains_of_one_line_are_one_finding(void **state)
{
    struct program program = begin();

    for (int i = 0; i < 10; i++) {
        if (i % 2)
            runs(&program, (struct op){ .name = "aten::neg", .shapes = TENSOR, .stack = "train.py(30): train" },
                 pointwise, 50);
        chain(&program, TENSOR);
    }
    int64_t gone = 10 * (210 + 2 * GAP) + 5 * (50 + GAP);
    expect(&program, &rule_pointwise_chains, gone - 35, gone - 737 /* 5 * 75 + 5 * 72.2 */,
           "chains of pointwise kernels: 35 kernels in 2.35 ms", "train.py:12 forward");
}

static void kernels_on_tensors_of_other_sizes_are_no_chain(void **state)
{
    struct program program = begin();

    for (int i = 0; i < 10; i++)
        chain(&program, "[[1024, 1024], []]");
    expect(&program, &rule_pointwise_chains, 0, 0, NULL, NULL);
}

/* A norm that is written out: four kernels read one large tensor each, three of them write one. Two of the four are
 * results, so that 1.5 are to be read and one is to be written of seven. Small tensors add less than 0.1 %. */
static void a_norm_that_is_written_out_is_a_chain(void **state)
{
    struct program program = begin();

    for (int i = 0; i < 10; i++) {
        runs(&program, (struct op){ .name = "aten::pow", .shapes = TENSOR, .stack = line }, pointwise, 60);
        runs(&program, (struct op){ .name = "aten::mean", .shapes = TENSOR, .stack = line }, "reduce_kernel", 40);
        runs(&program, (struct op){ .name = "aten::add", .shapes = "[[1024, 1], []]", .stack = line }, pointwise, 2);
        runs(&program, (struct op){ .name = "aten::rsqrt", .shapes = "[[1024, 1]]", .stack = line }, pointwise, 2);
        runs(&program, (struct op){ .name = "aten::mul", .shapes = "[[1024, 4096], [1024, 1]]", .stack = line },
             pointwise, 60);
        runs(&program, (struct op){ .name = "aten::mul", .shapes = "[[1024, 4096], [4096]]", .stack = line }, pointwise,
             60);
        runs(&program, (struct op){ .name = "aten::mm" }, gemm, 300);
    }
    expect(&program, &rule_pointwise_chains, 10 * (224 + 5 * GAP) - 35, 10 * (224 + 5 * GAP) - 800,
           "chains of pointwise kernels: 60 kernels in 2.24 ms", "train.py:12 forward");
}

/* The gradient of a product with a weight: it is cast, scaled, multiplied, and summed up for the weight. In tensors of
 * bfloat16 the kernels read 1, 2, 4 and 2 and write 2, 2, 2 and next to nothing: 15 in all. What was multiplied goes
 * on: 2 are to be written, 4 are read again within the chain, and of the 5 others the first and half of the rest are to
 * be read. 5 of 15 remain of 210 µs. */
static void a_gradient_that_is_summed_up_goes_on(void **state)
{
    static const char wide[] = "[\"float\", \"c10::BFloat16\"]", both[] = "[\"float\", \"float\"]";
    struct program program = begin();

    for (int i = 0; i < 10; i++) {
        program.sequence = i;
        runs(&program, (struct op){ .name = "aten::mul", .stack = line }, pointwise, 60);
        program.sequence = NO_SEQUENCE;
        runs(&program, (struct op){ .name = "aten::mm" }, gemm, 300);
        program.sequence = i;
        runs(&program, (struct op){ "aten::copy_", TENSORS, NULL, 1, wide }, pointwise, 40);
        runs(&program, (struct op){ "aten::mul", TENSOR, NULL, 1, both }, pointwise, 50);
        runs(&program, (struct op){ "aten::mul", TENSORS, NULL, 1, both }, pointwise, 60);
        runs(&program, (struct op){ "aten::sum", TENSOR, NULL, 1, both }, "reduce_kernel", 60);
        program.sequence = NO_SEQUENCE;
        runs(&program, (struct op){ .name = "aten::mm" }, gemm, 300);
    }
    expect(&program, &rule_pointwise_chains, 10 * (210 + 3 * GAP) - 35, 10 * (210 + 3 * GAP) - 700,
           "chains of pointwise kernels: 40 kernels in 2.10 ms", "train.py:12 forward");
}

/* The same operator again and again: on a list of tensors, such as gradients that are clipped one by one. */
/* Through float32 and back: copies and a product of float32 read 1, 2 and 2 tensors of bfloat16 and write 2, 2 and 1.
 * Only the first input, 1, and the last result, 1, remain of 10. The bound is that at 4.89 TB/s, 3.43 µs. */
static void a_chain_through_a_wider_type_keeps_the_narrow_tensors(void **state)
{
    static const char wide[] = "[\"float\", \"c10::BFloat16\"]", narrow[] = "[\"c10::BFloat16\", \"float\"]";
    struct program program = begin();

    for (int i = 0; i < 10; i++) {
        runs(&program, (struct op){ .name = "aten::copy_", .shapes = TENSORS, .stack = line, .types = wide }, pointwise,
             60);
        runs(&program, (struct op){ .name = "aten::silu", .shapes = TENSOR, .stack = line, .types = wide }, pointwise,
             80);
        runs(&program, (struct op){ .name = "aten::copy_", .shapes = TENSORS, .stack = line, .types = narrow },
             pointwise, 60);
        runs(&program, (struct op){ .name = "aten::mm" }, gemm, 300);
    }
    expect(&program, &rule_pointwise_chains, 10 * (200 + 2 * GAP) - 35, 10 * (200 + 2 * GAP) - 400,
           "chains of pointwise kernels: 30 kernels in 2.00 ms", "train.py:12 forward");
}

static void one_operator_on_many_tensors_is_no_chain(void **state)
{
    struct program program = begin();

    for (int i = 0; i < 30; i++)
        runs(&program, (struct op){ .name = "aten::mul_", .shapes = TENSORS, .stack = line }, pointwise, 60);
    expect(&program, &rule_pointwise_chains, 0, 0, NULL, NULL);
}

/* ---- loops ----------------------------------------------------------------------------------------------------- */

/* An operator without a kernel. */
static void views(struct program *program, const char *name)
{
    int64_t from = program->cpu;

    program->cpu += OPERATOR_US;
    operator_row(program, from, (struct op){ .name = name, .stack = line });
}

/* Sixteen products of 2 · 512 · 1024 · 1024 = 1.0737 GFLOP, and of 2 · (512 · 1024 + 1024 · 1024 + 512 · 1024) = 4.19
 * MB: 17.36 µs together at 989.4 TFLOP/s, 28.94 µs at 60 % of that. The gradient of each slice is a kernel on the
 * whole. */
static void slices(struct program *program, const char *between)
{
    static const char product[] = "[[512, 1024], [1024, 1024]]";

    for (int i = 0; i < 16; i++) {
        program->sequence = 2 * i;
        views(program, between);
        program->sequence = 2 * i + 1;
        runs(program, (struct op){ .name = "aten::mm", .shapes = product, .stack = line }, gemm, 20);
    }
    program->sequence = NO_SEQUENCE;
    runs(program, (struct op){ .name = "aten::cat", .stack = line }, "void CatArrayBatchedCopy", 30);
    runs(program, (struct op){ .name = "aten::mm" }, gemm, 300);
    for (int i = 15; i >= 0; i--) {
        program->sequence = 2 * i;
        runs(program, (struct op){ .name = "SelectBackward0", .is_backward = 1 }, pointwise, 40);
    }
    program->sequence = NO_SEQUENCE;
    runs(program, (struct op){ .name = "aten::mm" }, gemm, 300);
}

/* Of the 33 kernels one remains. */
static void a_loop_over_slices_becomes_one_product(void **state)
{
    struct program program = begin();

    slices(&program, "aten::select");
    expect(&program, &rule_slice_loops, 16 * 20 + 30 + 16 * 40 + 32 * GAP - 18, 16 * 20 + 30 + 16 * 40 + 32 * GAP - 29,
           "loop over slices: 33 kernels in 990 µs", "train.py:12 forward");
}

/* Whether a call needs the result of the one before it no capture knows, such as in a product of many matrices. */
static void a_loop_may_be_there_for_a_reason(void **state)
{
    struct program program = begin();

    slices(&program, "aten::select");
    const char *advice = advice_on(&program, &rule_slice_loops);
    assert_non_null(strstr(advice, "If no call needs the result of the one before it"));
    assert_non_null(strstr(advice, "In training, the gradient"));
}

/* Layers of a model have no slices between them: one may need the result of the other. */
static void products_in_a_row_are_no_loop(void **state)
{
    struct program program = begin();

    slices(&program, "aten::t");
    expect(&program, &rule_slice_loops, 0, 0, NULL, NULL);
}

/* ---- fp32 ------------------------------------------------------------------------------------------------------ */

/* Products of 2 · 2048 · 4096 · 4096 = 68.72 GFLOP: 69.46 µs at 989.4 TFLOP/s of bf16, 231.5 µs at 60 % of 494.7 of
 * tf32. A repair to bf16 also removes the casts, and halves the bytes of other kernels on fp32; one to TF32 does not.
 */
static void a_head_of_fp32_goes_with_all_that_it_needs(void **state)
{
    struct program program = begin();
    const char *both = "[\"float\", \"float\"]", *cast = "[\"float\", \"c10::BFloat16\"]",
               *x = "[[2048, 4096], [2048, 4096]]";

    for (int i = 0; i < 10; i++) {
        runs(&program, (struct op){ "aten::mm", "[[2048, 4096], [4096, 4096]]", line, 0, NULL }, gemm, 120);
        runs(&program, (struct op){ "aten::copy_", x, line, 0, cast }, pointwise, 20);
        runs(&program, (struct op){ "aten::mm", "[[2048, 4096], [4096, 4096]]", line, 0, both },
             "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_alignc4", 1300);
        runs(&program, (struct op){ "aten::mul", x, line, 0, both }, pointwise, 40);
        runs(&program, (struct op){ "aten::mul", x, line, 0, NULL }, pointwise, 20);
        runs(&program, (struct op){ "aten::_fused_adamw_", NULL, line, 0, NULL },
             "multi_tensor_apply_kernel<FusedAdamMathFunctor<float, 4>>", 100);
        runs(&program, (struct op){ "aten::_fused_adamw_", NULL, line, 0, NULL },
             "multi_tensor_apply_kernel<FusedAdamMathFunctor<c10::BFloat16, 4>>", 50);
    }
    expect(&program, &rule_tensor_cores, 10 * (1300 + 20 + GAP + 20 + 50) - 695, 10 * 1300 - 2315 - 1,
           "tensor cores unused: 10 matrix products of fp32 in 13.0 ms", "train.py:12 forward");
}

/* ---- sizes ----------------------------------------------------------------------------------------------------- */

/* Products of 68.72 GFLOP as above, but of fp64: 69.46 µs with bf16 in the bound, 231.5 µs with TF32 in the estimate.
 * Of the other kernel on fp64 a fourth or a half of the time remains. */
static void products_of_float64_become_float32(void **state)
{
    static const char twice[] = "[\"double\", \"double\"]";
    struct program program = begin();

    for (int i = 0; i < 10; i++) {
        runs(&program, (struct op){ "aten::mm", "[[2048, 4096], [4096, 4096]]", line, 0, twice },
             "sm90_xmma_gemm_f64f64_f64f64_f64_nn_n_tilesize128x64x16_stage3", 1300);
        runs(&program, (struct op){ "aten::mul", "[[2048, 4096], [2048, 4096]]", line, 0, twice }, pointwise, 80);
        runs(&program, (struct op){ "aten::mul", "[[2048, 4096], [2048, 4096]]", line, 0, NULL }, pointwise, 20);
    }
    expect(&program, &rule_float64, 10 * (1300 + 60) - 695, 10 * (1300 + 40) - 2315 - 1,
           "float64: 20 kernels compute in double precision in 13.8 ms", "train.py:12 forward");
}

/* Tensor cores compute in TF32 from Ampere on. */
static void a_gpu_without_tf32_is_advised_none(void **state)
{
    static const struct gpu *const gpus[] = { &h200, &v100 };

    for (int i = 0; i < 2; i++) {
        struct program program = begin_on(gpus[i]);
        for (int k = 0; k < 10; k++)
            runs(&program,
                 (struct op){ .name = "aten::mm",
                              .shapes = "[[2048, 4096], [4096, 4096]]",
                              .stack = line,
                              .types = "[\"double\", \"double\"]" },
                 "volta_dgemm_128x64_nn", 13000);
        const char *advice = advice_on(&program, &rule_float64);
        assert_non_null(strstr(advice, "model.float()"));
        assert_int_equal(strstr(advice, "TF32") != NULL, gpus[i] == &h200);
    }
}

/* Small gradients are 0 in fp16 unless they are scaled. */
static void training_in_fp16_needs_a_scaler(void **state)
{
    struct program program = begin_on(&v100);

    for (int i = 0; i < 10; i++)
        runs(&program,
             (struct op){ .name = "aten::mm",
                          .shapes = "[[2048, 4096], [4096, 4096]]",
                          .stack = line,
                          .types = "[\"float\", \"float\"]" },
             "volta_sgemm_128x64_nn", 6000);
    assert_non_null(strstr(advice_on(&program, &rule_tensor_cores), "with a GradScaler"));
}

/* Products of 2 · 2048 · 4001 · 4001 = 65.57 GFLOP: 66.27 µs at 989.4 TFLOP/s. With 4008 instead of 4001 they
 * have 65.80 GFLOP: 110.84 µs at 60 %. Behind each, an elementwise operator reads two tensors of such
 * rows and writes one, 49.16 MB: 10.24 µs at 4.8 TB/s of the 40 it took. */
static void products_of_odd_sizes_are_padded(void **state)
{
    struct program program = begin();

    for (int i = 0; i < 10; i++) {
        runs(&program, (struct op){ .name = "aten::mm", .shapes = "[[2048, 4001], [4001, 4001]]", .stack = line },
             "cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_align1", 500);
        runs(&program, (struct op){ .name = "aten::mul", .shapes = "[[2048, 4001], [2048, 4001]]", .stack = line },
             pointwise, 40);
        runs(&program, (struct op){ .name = "aten::mul", .shapes = "[[2048, 4096], [2048, 4096]]", .stack = line },
             pointwise, 40);
    }
    expect(&program, &rule_tensor_cores, 5000 - 663 + 400 - 102, 5000 - 1109,
           "tensor cores slow: 10 matrix products of odd sizes in 5.00 ms", "train.py:12 forward");
}

/* The same products with an odd number of rows only: rows may be any number, and the kernel is fast. */
static void odd_sizes_that_cost_nothing_are_none(void **state)
{
    struct program program = begin();

    for (int i = 0; i < 10; i++)
        runs(&program, (struct op){ .name = "aten::mm", .shapes = "[[2047, 4096], [4096, 4096]]", .stack = line }, gemm,
             105);
    expect(&program, &rule_tensor_cores, 0, 0, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conversions_of_layouts_go),
        cmocka_unit_test(a_layout_is_advised_that_the_tensors_can_have),
        cmocka_unit_test(batch_norms_change_with_the_layout),
        cmocka_unit_test(conversions_around_a_norm_go),
        cmocka_unit_test(other_copies_around_a_norm_stay),
        cmocka_unit_test(a_bias_before_a_batch_norm_goes),
        cmocka_unit_test(a_bias_before_a_norm_in_eval_is_folded),
        cmocka_unit_test(a_bias_before_a_layer_norm_stays),
        cmocka_unit_test(written_out_attention_becomes_one_kernel),
        cmocka_unit_test(attention_is_fused_where_there_is_a_kernel),
        cmocka_unit_test(a_softmax_between_other_products_is_none),
        cmocka_unit_test(attention_that_is_cast_to_fp32_becomes_one_of_16_bits),
        cmocka_unit_test(attention_of_fp32_stays_what_it_is),
        cmocka_unit_test(a_chain_of_pointwise_kernels_becomes_one),
        cmocka_unit_test(chains_of_one_line_are_one_finding),
        cmocka_unit_test(operators_beside_a_chain_keep_their_time),
        cmocka_unit_test(kernels_on_tensors_of_other_sizes_are_no_chain),
        cmocka_unit_test(a_norm_that_is_written_out_is_a_chain),
        cmocka_unit_test(a_chain_through_a_wider_type_keeps_the_narrow_tensors),
        cmocka_unit_test(a_gradient_that_is_summed_up_goes_on),
        cmocka_unit_test(one_operator_on_many_tensors_is_no_chain),
        cmocka_unit_test(a_loop_over_slices_becomes_one_product),
        cmocka_unit_test(a_loop_may_be_there_for_a_reason),
        cmocka_unit_test(products_in_a_row_are_no_loop),
        cmocka_unit_test(a_head_of_fp32_goes_with_all_that_it_needs),
        cmocka_unit_test(products_of_float64_become_float32),
        cmocka_unit_test(a_gpu_without_tf32_is_advised_none),
        cmocka_unit_test(training_in_fp16_needs_a_scaler),
        cmocka_unit_test(products_of_odd_sizes_are_padded),
        cmocka_unit_test(odd_sizes_that_cost_nothing_are_none),
    };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
