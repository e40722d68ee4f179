/* Rules on trainings, on captures made by hand with savings that can be worked out on paper, in µs. A launch takes 5
 * µs, and its kernel starts when it ends. Gaps between kernels are taken to be 1 µs, since there are none to measure.
 */
#include "analyze/advice/adviser.h"
#include "analyze/registry.h"
#include "made_cuda.h"

enum { NO_SEQUENCE = -1, LAUNCH = 5 };

struct made_op {
    int64_t start, end;
    const char *name;
    int64_t sequence;
    int is_backward;
    const char *shapes;
    int64_t tid; /* 0: the main thread */
};

static void op(struct writer *writer, struct made_op made)
{
    struct row_TACHO_TORCH_OP row = { 0 };
    int is_annotation = strchr(made.name, '#') != NULL;

    ROW_SET(&row, TACHO_TORCH_OP, start, made.start * US);
    ROW_SET(&row, TACHO_TORCH_OP, end, made.end * US);
    ROW_SET(&row, TACHO_TORCH_OP, globalTid, made_thread(1, made.tid ? made.tid : MAIN));
    ROW_SET(&row, TACHO_TORCH_OP, nameId, made_string(writer, made.name));
    ROW_SET(&row, TACHO_TORCH_OP, category, made_string(writer, is_annotation ? "user_annotation" : "cpu_op"));
    ROW_SET(&row, TACHO_TORCH_OP, forwardThread, made.is_backward);
    if (made.sequence >= 0)
        ROW_SET(&row, TACHO_TORCH_OP, sequenceNumber, made.sequence);
    if (made.shapes) {
        ROW_SET(&row, TACHO_TORCH_OP, inputDimsId, made_string(writer, made.shapes));
        ROW_SET(&row, TACHO_TORCH_OP, inputTypesId, made_string(writer, "[\"c10::BFloat16\", \"c10::BFloat16\"]"));
    }
    writer_append(writer, TABLE_TACHO_TORCH_OP, &row);
}

/* An operator of 20 µs that launches a kernel of so many µs, 10 µs after it starts. */
static void work(struct writer *writer, int64_t start, int64_t run, struct made_op made)
{
    static int64_t id;

    id++;
    made.start = start;
    made.end = start + 20;
    op(writer, made);
    call(writer, made.tid ? made.tid : MAIN, start + 10, start + 10 + LAUNCH, "cudaLaunchKernel", id);
    kernel(writer, start + 10 + LAUNCH, start + 10 + LAUNCH + run, id, 7);
}

static void advise(struct adviser *adviser, struct writer *writer, const struct analysis *const *chosen)
{
    struct report *report = finish(writer);
    struct error err;

    if (adviser_open(adviser, report, &(struct analysis_request){ 0 }, &err) != 0)
        fail_msg("%s", err.text);
    for (; *chosen; chosen++)
        if (adviser_find(adviser, *chosen, &err) != 0)
            fail_msg("%s", err.text);
    if (adviser_judge(adviser, &err) != 0)
        fail_msg("%s", err.text);
    report_close(report);
}
#define RULES(...) ((const struct analysis *const[]){ __VA_ARGS__, NULL })

static void assert_first(const struct adviser *adviser, const char *what)
{
    assert_int_not_equal(adviser->count, 0);
    assert_string_equal(text_string(&adviser->causes[0].what), what);
}

/* ---- optimizers ------------------------------------------------------------------------------------------------ */

enum { TENSORS = 20, EACH = 40, RUN = 8 };

static void add_updates(struct writer *writer, const char *optimizer, const char *name)
{
    op(writer, (struct made_op){ 0, TENSORS * EACH, optimizer, NO_SEQUENCE, 0, NULL, MAIN });
    for (int i = 0; i < TENSORS; i++)
        work(writer, EACH * i, RUN, (struct made_op){ .name = name, .sequence = NO_SEQUENCE });
}

/* From the first call to the end of the last kernel: 19 · 40 + 5 + 8. Without the update the first kernel would start 5
 * after the first call and take no time. In the estimate the first launch remains, and all others are made when it
 * returns; a kernel loses the 2 µs of its start and two thirds of the rest, and takes 2. */
static void an_update_by_tensor_is_not_fused(void **state)
{
    enum { WHOLE = 19 * EACH + LAUNCH + RUN, LEFT = LAUNCH + LAUNCH + 19 * 2 };
    struct writer *writer = start();
    struct adviser adviser;

    add_updates(writer, "Optimizer.step#Adam.step", "aten::mul_");
    advise(&adviser, writer, RULES(&rule_launch_bound, &rule_unfused_optimizer));
    assert_int_equal(adviser.count, 2); /* launch_bound comes second: it does not say what to change */
    assert_first(&adviser, "Adam is not fused: 20 kernels");
    assert_int_equal(adviser.step_ns, WHOLE * US);
    assert_int_equal(adviser.causes[0].bound_ns, (WHOLE - LAUNCH) * US);
    assert_int_equal(adviser.causes[0].estimate_ns, (WHOLE - LEFT) * US);
    adviser_free(&adviser);
}

static void a_fused_update_is_launch_bound_at_most(void **state)
{
    struct writer *writer = start();
    struct adviser adviser;

    add_updates(writer, "Optimizer.step#Adam.step", "aten::_fused_adam_");
    advise(&adviser, writer, RULES(&rule_launch_bound, &rule_unfused_optimizer));
    assert_int_equal(adviser.count, 1);
    assert_string_equal(adviser.causes[0].rule->name, "launch_bound");
    adviser_free(&adviser);
}

static void foreach_is_all_that_some_optimizers_have(void **state)
{
    struct writer *writer = start();
    struct adviser adviser;

    add_updates(writer, "Optimizer.step#Rprop.step", "aten::_foreach_mul_");
    advise(&adviser, writer, RULES(&rule_unfused_optimizer));
    assert_int_equal(adviser.count, 0);
    adviser_free(&adviser);
}

/* torch.optim.LBFGS has neither fused nor foreach. */
static void no_option_makes_lbfgs_faster(void **state)
{
    struct writer *writer = start();
    struct adviser adviser;

    add_updates(writer, "Optimizer.step#LBFGS.step", "aten::mul_");
    advise(&adviser, writer, RULES(&rule_unfused_optimizer));
    assert_int_equal(adviser.count, 0);
    adviser_free(&adviser);
}

static void an_optimizer_of_the_program_has_no_options(void **state)
{
    struct writer *writer = start();
    struct adviser adviser;

    add_updates(writer, "Optimizer.step#Lion.step", "aten::mul_");
    advise(&adviser, writer, RULES(&rule_unfused_optimizer));
    assert_first(&adviser, "Lion is not fused: 20 kernels");
    assert_non_null(strstr(adviser.causes[0].advice, "torch._foreach_"));
    adviser_free(&adviser);
}

static void add_clipping(struct writer *writer, const char *norm, const char *product)
{
    int64_t at = 0;

    for (int i = 0; i < 5; i++, at += EACH)
        work(writer, at, RUN, (struct made_op){ .name = norm, .sequence = NO_SEQUENCE });
    work(writer, at, RUN, (struct made_op){ .name = "aten::stack", .sequence = NO_SEQUENCE });
    for (int i = 0; i < 5; i++)
        work(writer, at += EACH, RUN, (struct made_op){ .name = product, .sequence = NO_SEQUENCE });
}

/* Optimizers of apex and DeepSpeed, whose kernels take a list of tensors, need no operators of PyTorch for that. */
static size_t causes_of_kernels(const char *name)
{
    struct writer *writer = start();
    struct adviser adviser;

    op(writer, (struct made_op){ 0, TENSORS * EACH, "Optimizer.step#FusedLAMB.step", NO_SEQUENCE, 0, NULL, MAIN });
    for (int64_t i = 0, at = 0; i < TENSORS; i++, at += EACH) {
        call(writer, MAIN, at, at + LAUNCH, "cudaLaunchKernel", 1000 + i);
        made_kernel(writer, (struct made_kernel){ (at + LAUNCH) * US, (at + LAUNCH + RUN) * US, 1, 1000 + i, 0, 7, name,
                                                  NULL, NULL });
    }
    advise(&adviser, writer, RULES(&rule_unfused_optimizer));
    size_t count = adviser.count;
    adviser_free(&adviser);
    return count;
}

static void kernels_of_many_tensors_are_fused(void **state)
{
    assert_int_equal(causes_of_kernels("void multi_tensor_apply_kernel<TensorListMetadata<4>, LAMBStage1Functor>"), 0);
    assert_int_equal(causes_of_kernels("void lamb_of_one_tensor<float>"), 1);
}

/* Other packages have an AdamW, too, which takes no fused=True. */
static void an_optimizer_with_options_is_pytorchs(void **state)
{
    struct writer *writer = start();
    struct adviser adviser;

    add_updates(writer, "Optimizer.step#AdamW.step", "aten::mul_");
    advise(&adviser, writer, RULES(&rule_unfused_optimizer));
    assert_first(&adviser, "AdamW is not fused: 20 kernels");
    assert_non_null(strstr(adviser.causes[0].advice, "torch.optim.AdamW(…, fused=True)"));
    adviser_free(&adviser);
}

static void clipping_by_tensor_is_found(void **state)
{
    enum { WHOLE = 10 * EACH + LAUNCH + RUN };
    struct writer *writer = start();
    struct adviser adviser;

    add_clipping(writer, "aten::linalg_vector_norm", "aten::mul_");
    advise(&adviser, writer, RULES(&rule_unfused_optimizer));
    assert_first(&adviser, "gradients are clipped one by one: 11 kernels");
    assert_int_equal(adviser.causes[0].bound_ns, (WHOLE - LAUNCH) * US);
    adviser_free(&adviser);
}

static void norms_without_products_are_no_clipping(void **state)
{
    struct writer *writer = start();
    struct adviser adviser;

    add_clipping(writer, "aten::linalg_vector_norm", "aten::add");
    advise(&adviser, writer, RULES(&rule_unfused_optimizer));
    assert_int_equal(adviser.count, 0);
    adviser_free(&adviser);
}

#define ENGINE "autograd::engine::evaluate_function: "
#define ACCUMULATE ENGINE "torch::autograd::AccumulateGrad"

/* A forward operator, its node, gradients and zero_grad(). */
static void add_gradients(struct writer *writer, int gradients, const char *zeroed)
{
    work(writer, 0, RUN, (struct made_op){ .name = "aten::linear", .sequence = 1 });
    work(writer, EACH, RUN, (struct made_op){ .name = ENGINE "AddmmBackward0", .sequence = 1, .is_backward = 1 });
    for (int i = 0; i < gradients; i++)
        work(writer, EACH * (2 + i), RUN, (struct made_op){ .name = ACCUMULATE, .sequence = NO_SEQUENCE });
    work(writer, EACH * (2 + gradients), RUN, (struct made_op){ .name = zeroed, .sequence = NO_SEQUENCE });
}

/* Five kernels go, and the time between them that lies in their operators: 20 of 40 µs, less the last 10, in which
 * there is nothing more to wait for. */
static void gradients_are_added_to_those_set_to_zero(void **state)
{
    struct writer *writer = start();
    struct adviser adviser;

    add_gradients(writer, 4, "Optimizer.zero_grad#Adam.zero_grad");
    advise(&adviser, writer, RULES(&rule_unfused_optimizer));
    assert_first(&adviser, "gradients are set to 0 and added to: 5 kernels");
    assert_int_equal(adviser.causes[0].bound_ns, adviser.causes[0].estimate_ns);
    assert_int_equal(adviser.causes[0].bound_ns, (5 * 20 - 5 + RUN) * US);
    adviser_free(&adviser);
}

/* Gradients that are accumulated over several steps, and a buffer of the program's own; or as many zeros as gradients.
 */
static void a_buffer_is_no_gradient(void **state)
{
    enum { GRADIENTS = 4 };

    for (int zeros = 1; zeros <= GRADIENTS; zeros += GRADIENTS - 1) {
        struct writer *writer = start();
        struct adviser adviser;

        for (int i = 0; i < zeros; i++)
            work(writer, EACH * i, RUN, (struct made_op){ .name = "aten::zero_", .sequence = 0 });
        work(writer, 200, RUN, (struct made_op){ .name = "aten::linear", .sequence = 1 });
        work(writer, 240, RUN, (struct made_op){ .name = ENGINE "AddmmBackward0", .sequence = 1, .is_backward = 1 });
        for (int i = 0; i < GRADIENTS; i++)
            work(writer, 280 + EACH * i, RUN, (struct made_op){ .name = ACCUMULATE, .sequence = NO_SEQUENCE });
        advise(&adviser, writer, RULES(&rule_unfused_optimizer));
        assert_int_equal(adviser.count, zeros == GRADIENTS);
        adviser_free(&adviser);
    }
}

static void dropped_gradients_need_no_kernels(void **state)
{
    struct writer *writer = start();
    struct adviser adviser;

    add_gradients(writer, 4, "aten::mul");
    advise(&adviser, writer, RULES(&rule_unfused_optimizer));
    assert_int_equal(adviser.count, 0);
    adviser_free(&adviser);
}

/* ---- autograd -------------------------------------------------------------------------------------------------- */

/* Two operators and a node that runs two operators again; then its own kernel. */
static void add_checkpoint_in(struct writer *writer, int64_t tid, const char *first, const char *second)
{
    work(writer, 0, 50, (struct made_op){ .name = "aten::linear", .sequence = 1 });
    work(writer, 100, 50, (struct made_op){ .name = "aten::relu", .sequence = 2 });
    op(writer, (struct made_op){ 200, 500, ENGINE "ReluBackward0", 2, 1, NULL, tid });
    work(writer, 200, 50, (struct made_op){ .name = first, .sequence = 3, .tid = tid });
    work(writer, 300, 50, (struct made_op){ .name = second, .sequence = 4, .tid = tid });
    work(writer, 400, 50, (struct made_op){ .name = "aten::threshold_backward", .sequence = NO_SEQUENCE, .tid = tid });
}

static void add_checkpoint(struct writer *writer, const char *first, const char *second)
{
    add_checkpoint_in(writer, MAIN, first, second);
}

/* From the start of the node at 200 to its own call at 410 there is nothing but the checkpoint. */
static void a_checkpoint_runs_operators_again(void **state)
{
    struct writer *writer = start();
    struct adviser adviser;

    add_checkpoint(writer, "aten::linear", "aten::relu");
    advise(&adviser, writer, RULES(&rule_recomputation));
    assert_first(&adviser, "activations are computed twice: 2 operators");
    assert_int_equal(adviser.causes[0].estimate_ns, 210 * US);
    assert_int_equal(adviser.causes[0].bound_ns, 210 * US);
    adviser_free(&adviser);
}

/* Autograd's thread runs the modules of the model again. The main thread is in the line that called backward(). */
static void the_line_of_the_backward_pass_is_named(void **state)
{
    enum { AUTOGRAD = 2 };
    struct writer *writer = start();
    struct adviser adviser;

    function_in(writer, MAIN, 0, 600, "train.py(63): train");
    function_in(writer, AUTOGRAD, 200, 400, "layers.py(29): forward");
    add_checkpoint_in(writer, AUTOGRAD, "aten::linear", "aten::relu");
    advise(&adviser, writer, RULES(&rule_recomputation));
    assert_first(&adviser, "activations are computed twice: 2 operators");
    assert_string_equal(text_string(&adviser.causes[0].where), "train.py:63 train");
    adviser_free(&adviser);
}

static void gradients_of_gradients_are_not_computed_twice(void **state)
{
    struct writer *writer = start();
    struct adviser adviser;

    add_checkpoint(writer, "aten::mm", "aten::mul");
    advise(&adviser, writer, RULES(&rule_recomputation));
    assert_int_equal(adviser.count, 0);
    adviser_free(&adviser);
}

/* A layer whose parameter is trained, and one before it; the optimizer updates `updated`. */
static void add_frozen_at(struct writer *writer, int64_t at, const char *updated)
{
    static const char shape[] = "[[64, 64]]";

    work(writer, at, 50, (struct made_op){ .name = "aten::linear", .sequence = at + 1 });
    work(writer, at + 100, 50, (struct made_op){ .name = "aten::linear", .sequence = at + 2 });
    work(writer, at + 200, 50,
         (struct made_op){ .name = ENGINE "AddmmBackward0", .sequence = at + 2, .is_backward = 1 });
    op(writer, (struct made_op){ at + 220, at + 230, ACCUMULATE, NO_SEQUENCE, 0, shape, MAIN });
    work(writer, at + 300, 50,
         (struct made_op){ .name = ENGINE "AddmmBackward0", .sequence = at + 1, .is_backward = 1 });
    op(writer, (struct made_op){ at + 320, at + 330, ACCUMULATE, NO_SEQUENCE, 0, shape, MAIN });
    op(writer, (struct made_op){ at + 400, at + 430, "Optimizer.step#AdamW.step", NO_SEQUENCE, 0, NULL, MAIN });
    work(writer, at + 400, 50,
         (struct made_op){ .name = "aten::_fused_adamw_", .sequence = NO_SEQUENCE, .shapes = updated });
}

static void add_frozen(struct writer *writer, const char *updated)
{
    add_frozen_at(writer, 0, updated);
}

/* The last node goes from 230 to 330, and its kernel. The optimizer is called 100 µs earlier. */
static void layers_before_the_trained_ones_need_no_gradients(void **state)
{
    struct writer *writer = start();
    struct adviser adviser;

    add_frozen(writer, "[[[64, 64]], []]");
    advise(&adviser, writer, RULES(&rule_unused_gradients));
    assert_first(&adviser, "gradients of 1 tensors are computed that no optimizer updates");
    assert_int_equal(adviser.causes[0].estimate_ns, 100 * US);
    adviser_free(&adviser);
}

/* Two updates in turn, of one layer each time, or of one and of both: what the first leaves aside the second may use.
 */
static void gradients_may_be_of_another_optimizer(void **state)
{
    static const char one[] = "[[[64, 64]], []]", both[] = "[[[64, 64], [64, 64]], []]";
    static const struct steps none;
    static const struct analysis_filter without_steps = { .steps = &none };

    for (int is_same = 0; is_same < 2; is_same++) {
        struct writer *writer = start();
        struct adviser adviser;
        struct error err;

        add_frozen_at(writer, 0, one);
        add_frozen_at(writer, 500, is_same ? one : both);
        struct report *report = finish(writer);
        if (adviser_open(&adviser, report, &(struct analysis_request){ .filter = &without_steps }, &err) != 0 ||
            adviser_find(&adviser, &rule_unused_gradients, &err) != 0)
            fail_msg("%s", err.text);
        assert_int_equal(adviser.count, is_same);
        adviser_free(&adviser);
        report_close(report);
    }
}

static void gradients_of_all_parameters_are_used(void **state)
{
    struct writer *writer = start();
    struct adviser adviser;

    add_frozen(writer, "[[[64, 64], [64, 64]], []]");
    advise(&adviser, writer, RULES(&rule_unused_gradients));
    assert_int_equal(adviser.count, 0);
    adviser_free(&adviser);
}

/* A node of 300 µs, of which 200 are a check. */
static void add_check(struct writer *writer, const char *check)
{
    work(writer, 0, 50, (struct made_op){ .name = "aten::linear", .sequence = 1 });
    op(writer, (struct made_op){ 100, 400, ENGINE "AddmmBackward0", 1, 1, NULL, MAIN });
    work(writer, 100, 50, (struct made_op){ .name = "AddmmBackward0", .sequence = 1, .is_backward = 1 });
    work(writer, 200, 10, (struct made_op){ .name = check, .sequence = NO_SEQUENCE });
    work(writer, 400, 50, (struct made_op){ .name = "aten::mul", .sequence = NO_SEQUENCE });
}

static void checks_for_nan_are_anomaly_detection(void **state)
{
    struct writer *writer = start();
    struct adviser adviser;

    add_check(writer, "aten::isnan");
    advise(&adviser, writer, RULES(&rule_anomaly_detection));
    assert_first(&adviser, "anomaly detection is on: 1 checks for NaN wait for the GPU");
    assert_int_equal(adviser.causes[0].estimate_ns, 200 * US);
    adviser_free(&adviser);
}

static void other_operators_of_a_node_are_no_checks(void **state)
{
    struct writer *writer = start();
    struct adviser adviser;

    add_check(writer, "aten::sum");
    advise(&adviser, writer, RULES(&rule_anomaly_detection));
    assert_int_equal(adviser.count, 0);
    adviser_free(&adviser);
}

/* Ten operators, each 20 µs behind the last, so that the GPU waits; `step` is what their sequence numbers grow by. */
static void add_inference(struct writer *writer, int64_t step)
{
    for (int i = 0; i < 10; i++)
        work(writer, 20 * i, 2, (struct made_op){ .name = "aten::linear", .sequence = step * i });
}

/* Nine of them record a node, each of which takes 2 µs. The first of these lies before the first call. */
static void autograd_records_inference(void **state)
{
    struct writer *writer = start();
    struct adviser adviser;

    add_inference(writer, 1);
    advise(&adviser, writer, RULES(&rule_unused_autograd));
    assert_first(&adviser, "autograd records 9 operators, and there is no backward pass");
    assert_int_equal(adviser.causes[0].estimate_ns, 8 * 2 * US);
    adviser_free(&adviser);
}

/* Only the forward pass of a training was asked for: under no_grad() it would train no more. */
static void a_backward_pass_outside_of_the_part_counts(void **state)
{
    for (int has_backward = 0; has_backward < 2; has_backward++) {
        const struct report_span forward = { 0, 300 * US };
        static const struct steps none;
        static const struct analysis_filter without_steps = { .steps = &none };
        struct writer *writer = start();
        struct adviser adviser;
        struct error err;

        add_inference(writer, 1);
        if (has_backward)
            work(writer, 400, 2, (struct made_op){ .name = ENGINE "AddmmBackward0", .sequence = 1, .is_backward = 1 });
        struct report *report = finish(writer);
        if (adviser_open(&adviser, report, &(struct analysis_request){ .span = &forward, .filter = &without_steps },
                         &err) != 0 ||
            adviser_find(&adviser, &rule_unused_autograd, &err) != 0)
            fail_msg("%s", err.text);
        assert_int_equal(adviser.count, !has_backward);
        adviser_free(&adviser);
        report_close(report);
    }
}

static void operators_that_need_no_gradients_are_not_recorded(void **state)
{
    struct writer *writer = start();
    struct adviser adviser;

    add_inference(writer, 0);
    advise(&adviser, writer, RULES(&rule_unused_autograd));
    assert_int_equal(adviser.count, 0);
    adviser_free(&adviser);
}

/* ---- batches --------------------------------------------------------------------------------------------------- */

static void add_gpu(struct writer *writer)
{
    struct row_TARGET_INFO_GPU row = { 0 };

    ROW_SET(&row, TARGET_INFO_GPU, name, made_string(writer, "NVIDIA H200"));
    ROW_SET(&row, TARGET_INFO_GPU, computeMajor, 9);
    ROW_SET(&row, TARGET_INFO_GPU, computeMinor, 0);
    ROW_SET(&row, TARGET_INFO_GPU, smCount, 132);
    ROW_SET(&row, TARGET_INFO_GPU, memoryBandwidth, INT64_C(4800000000000));
    writer_append(writer, TABLE_TARGET_INFO_GPU, &row);
}

/* Two rounds of four products and a node, 100 µs each. */
static void add_rounds(struct writer *writer, const char *shapes)
{
    add_gpu(writer);
    for (int round = 0; round < 2; round++) {
        int64_t at = 600 * round;
        for (int i = 0; i < 4; i++)
            work(writer, at + 100 * i, 50,
                 (struct made_op){ .name = "aten::mm", .sequence = 10 * round + i, .shapes = shapes });
        work(writer, at + 400, 50,
             (struct made_op){ .name = ENGINE "MmBackward0", .sequence = 10 * round + 3, .is_backward = 1 });
        op(writer, (struct made_op){ at + 420, at + 430, ACCUMULATE, NO_SEQUENCE, 0, NULL, MAIN });
    }
}

/* The second round, from 600 to 1030, goes; products of 2 · 64³ operations take no time to speak of. The last call is
 * at 410 then, and what remains of the time between the rounds does not count. */
static void small_batches_could_be_one(void **state)
{
    struct writer *writer = start();
    struct adviser adviser;

    add_rounds(writer, "[[64, 64], [64, 64]]");
    advise(&adviser, writer, RULES(&rule_small_batches));
    assert_first(&adviser, "2 small batches in each step, whose gradients are added up");
    assert_true(adviser.causes[0].estimate_ns >= 400 * US);
    adviser_free(&adviser);
}

/* PPO has several updates in a step, each with a batch of its own. */
static void batches_of_several_updates_are_not_small(void **state)
{
    struct writer *writer = start();
    struct adviser adviser;

    add_rounds(writer, "[[64, 64], [64, 64]]");
    op(writer, (struct made_op){ 440, 460, "Optimizer.step#Adam.step", NO_SEQUENCE, 0, NULL, MAIN });
    op(writer, (struct made_op){ 1040, 1060, "Optimizer.step#Adam.step", NO_SEQUENCE, 0, NULL, MAIN });
    advise(&adviser, writer, RULES(&rule_small_batches));
    assert_int_equal(adviser.count, 0);
    adviser_free(&adviser);
}

/* At 989 TFLOP/s a product of 2 · 4096³ takes more than 139 µs: all rows take as long as both batches did. */
static void large_batches_are_as_good(void **state)
{
    struct writer *writer = start();
    struct adviser adviser;

    add_rounds(writer, "[[4096, 4096], [4096, 4096]]");
    advise(&adviser, writer, RULES(&rule_small_batches));
    assert_int_equal(adviser.count, 0);
    adviser_free(&adviser);
}

/* ---- where ----------------------------------------------------------------------------------------------------- */

enum { AUTOGRAD = 2 };

/* A node and its gradient, in the thread of autograd, with a launch of its own. */
static void node(struct writer *writer, int64_t at, int64_t id)
{
    const char *const names[] = { ENGINE "MmBackward0", ACCUMULATE };

    for (int i = 0; i < 2; i++) {
        struct row_TACHO_TORCH_OP row = { 0 };
        ROW_SET(&row, TACHO_TORCH_OP, start, (at + 40 * i) * US);
        ROW_SET(&row, TACHO_TORCH_OP, end, (at + 40 * i + 30) * US);
        ROW_SET(&row, TACHO_TORCH_OP, globalTid, made_thread(1, AUTOGRAD));
        ROW_SET(&row, TACHO_TORCH_OP, nameId, made_string(writer, names[i]));
        ROW_SET(&row, TACHO_TORCH_OP, category, made_string(writer, "cpu_op"));
        ROW_SET(&row, TACHO_TORCH_OP, forwardThread, 1);
        writer_append(writer, TABLE_TACHO_TORCH_OP, &row);
    }
    call(writer, AUTOGRAD, at + 10, at + 15, "cudaLaunchKernel", id);
    kernel(writer, at + 15, at + 20, id, 7);
}

/* In each round the main thread launches for 400 µs and waits 1000 for autograd; the update launches 185 µs later. That
 * is all that the thread itself does in this pause. */
static void a_pause_for_autograd_is_not_where_batches_are(void **state)
{
    struct writer *writer = start();
    struct adviser adviser;

    add_gpu(writer);
    for (int round = 0; round < 2; round++) {
        int64_t at = 1500 * round;
        for (int i = 0; i < 4; i++)
            work(writer, at + 100 * i, 50,
                 (struct made_op){ .name = "aten::mm", .sequence = 10 * round + i, .shapes = "[[64, 64], [64, 64]]" });
        for (int i = 0; i < 10; i++)
            node(writer, at + 400 + 100 * i, 1000 + 10 * round + i);
        os_call(writer, MAIN, at + 320, at + 1330, "pthread_cond_wait");
        function(writer, at, at + 400, "train.py(10): train");
    }
    work(writer, 2990, 5, (struct made_op){ .name = "aten::_fused_adam_", .sequence = NO_SEQUENCE });
    function(writer, 2900, 3010, "train.py(12): train");
    advise(&adviser, writer, RULES(&rule_small_batches));
    assert_first(&adviser, "2 small batches in each step, whose gradients are added up");
    assert_string_equal(text_string(&adviser.causes[0].where), "train.py:10 train");
    adviser_free(&adviser);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_update_by_tensor_is_not_fused),
        cmocka_unit_test(a_fused_update_is_launch_bound_at_most),
        cmocka_unit_test(foreach_is_all_that_some_optimizers_have),
        cmocka_unit_test(no_option_makes_lbfgs_faster),
        cmocka_unit_test(an_optimizer_of_the_program_has_no_options),
        cmocka_unit_test(kernels_of_many_tensors_are_fused),
        cmocka_unit_test(an_optimizer_with_options_is_pytorchs),
        cmocka_unit_test(clipping_by_tensor_is_found),
        cmocka_unit_test(norms_without_products_are_no_clipping),
        cmocka_unit_test(gradients_are_added_to_those_set_to_zero),
        cmocka_unit_test(a_buffer_is_no_gradient),
        cmocka_unit_test(dropped_gradients_need_no_kernels),
        cmocka_unit_test(a_checkpoint_runs_operators_again),
        cmocka_unit_test(the_line_of_the_backward_pass_is_named),
        cmocka_unit_test(gradients_of_gradients_are_not_computed_twice),
        cmocka_unit_test(layers_before_the_trained_ones_need_no_gradients),
        cmocka_unit_test(gradients_may_be_of_another_optimizer),
        cmocka_unit_test(gradients_of_all_parameters_are_used),
        cmocka_unit_test(checks_for_nan_are_anomaly_detection),
        cmocka_unit_test(other_operators_of_a_node_are_no_checks),
        cmocka_unit_test(autograd_records_inference),
        cmocka_unit_test(a_backward_pass_outside_of_the_part_counts),
        cmocka_unit_test(operators_that_need_no_gradients_are_not_recorded),
        cmocka_unit_test(small_batches_could_be_one),
        cmocka_unit_test(batches_of_several_updates_are_not_small),
        cmocka_unit_test(large_batches_are_as_good),
        cmocka_unit_test(a_pause_for_autograd_is_not_where_batches_are),
    };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
