/* The rule layout_conversions: cuDNN converts tensors between NCHW and NHWC around its convolutions, or the program
 * does so around a norm over the channels, there and back.
 *
 * Tensor cores want NHWC. A model in PyTorch's default layout, NCHW, makes cuDNN convert the inputs and outputs of
 * convolutions, forward and backward. Bound and estimate: these kernels are not there. How long cuDNN takes on the CPU
 * for a convolution without conversions is not known: no time, in the bound. Kernels of batch norms change
 * with the layout, too: those for NCHW are slow. In NHWC they are limited by the memory. Estimate: they read their
 * inputs twice, once for the statistics, at the usual rate. Bound: they move each tensor once, at the peak. */
#include <string.h>

#include "analyze/advice/advice_kernels.h"
#include "analyze/registry.h"

#define READ_TWICE (5.0 / 3) /* of the bytes of two inputs and a result, if the inputs are read twice */

enum { MOST_OF_NORM = 8 }; /* kernels of a norm and of its gradients */

/* Reads the shape of a tensor with four dimensions that contiguous() copies: it does so if the order of the elements
 * changes. 0: a kernel does something else. */
static int read_reordered(const struct advice_kernels *kernels, const struct advice_kernel *kernel,
                          struct op_input *out)
{
    const struct operators_event *list = kernels->operators->list;
    struct op_inputs inputs;
    uint32_t op = kernel->op;

    if (kernel->class != OP_COPY || op == NO_OPERATOR)
        return 0;
    struct op_texts texts = op_texts_of(kernels->operators, &list[op]);
    while (op != NO_OPERATOR && strcmp(advice_operator_name(kernels, op).bytes, "aten::contiguous") != 0)
        op = list[op].parent;
    op_inputs_read(&inputs, &texts);
    if (op == NO_OPERATOR || !inputs.count || !inputs.list[0].tensors || inputs.list[0].rank != 4)
        return 0;
    *out = inputs.list[0];
    return 1;
}

static int is_last_for_second(const struct op_input *last, const struct op_input *second)
{
    return last->dims[0] == second->dims[0] && last->dims[1] == second->dims[2] && last->dims[2] == second->dims[3] &&
           last->dims[3] == second->dims[1];
}

/* The copy back after this kernel, if it is a copy from NCHW to NHWC, or the other way round, before a norm; else 0. */
static size_t way_back(const struct advice_kernels *kernels, size_t there)
{
    struct op_input from, to;
    size_t at = there + 1;
    int has_norm = 0;

    if (!read_reordered(kernels, &kernels->list[there], &from))
        return 0;
    for (; at < kernels->count && at - there <= MOST_OF_NORM; at++) {
        const struct advice_kernel *kernel = &kernels->list[at];
        if (!advice_kernel_follows(kernels, &kernels->list[there], kernel) ||
            (kernel->class != OP_NORM && kernel->class != OP_REDUCTION))
            break;
        has_norm |= kernel->class == OP_NORM;
    }
    return has_norm && at < kernels->count &&
                   advice_kernel_follows(kernels, &kernels->list[there], &kernels->list[at]) &&
                   read_reordered(kernels, &kernels->list[at], &to) &&
                   (is_last_for_second(&from, &to) || is_last_for_second(&to, &from))
               ? at
               : 0;
}

/* What the tensors of a conversion say about the change. A capture without shapes or strides says nothing. */
enum { IMAGES, VOLUMES, CHANNELS_LAST };

/* Whether the first tensor of an operator, of four dimensions, has its channels last: their stride is 1. */
static int has_channels_last(const struct op_input *first, const struct op_texts *texts)
{
    int64_t strides[2];

    if (first->rank != 4 || first->dims[1] < 2 || (first->dims[2] < 2 && first->dims[3] < 2) || !texts->strides.length)
        return 0;
    const struct op_input of_first = { .value = { texts->strides.bytes + 1, texts->strides.length - 1 } };
    return op_value_numbers(&of_first, strides, 2) == 2 && strides[1] == 1;
}

static int layout_of(const struct advice_kernels *kernels, const struct advice_kernel *kernel)
{
    struct op_inputs inputs;

    if (kernel->op == NO_OPERATOR || !kernels->named[kernel->name].is_layout)
        return IMAGES;
    struct op_texts texts = op_texts_of(kernels->operators, &kernels->operators->list[kernel->op]);
    op_inputs_read(&inputs, &texts);
    if (!inputs.count || !inputs.list[0].tensors)
        return IMAGES;
    return inputs.list[0].rank == 5 ? VOLUMES : has_channels_last(&inputs.list[0], &texts) ? CHANNELS_LAST : IMAGES;
}

static int add_conversions(struct advice_groups *groups, struct advice_kernels *kernels)
{
    uint32_t last = NO_OPERATOR; /* operator with a conversion */
    size_t back = 0;

    for (size_t i = 0; i < kernels->count; i++) {
        const struct advice_kernel *kernel = &kernels->list[i];
        int is_back = back && i == back;
        size_t next = way_back(kernels, i);
        back = next ? next : back;
        if (!kernels->named[kernel->name].is_layout && !is_back && !next)
            continue;
        uint32_t group = advice_group(groups, layout_of(kernels, kernel), 0);
        if (group == NO_KEY || advice_kernel_note(groups, group, kernels, kernel) != 0 ||
            advice_kernel_vanish(&groups->list[group].cause.bound, kernels, kernel) != 0 ||
            advice_kernel_vanish(&groups->list[group].cause.estimate, kernels, kernel) != 0 ||
            (kernel->op != last && advice_operator_vanish(&groups->list[group].cause.bound, kernels, kernel->op) != 0))
            return ERR_NO_MEMORY;
        last = kernel->op;
    }
    return 0;
}

static int is_batch_norm(const struct advice_kernels *kernels, const struct advice_kernel *kernel)
{
    const struct op_work *work = advice_kernel_work(kernels, kernel);

    return work && work->bytes > 0 && strstr(advice_operator_name(kernels, kernel->op).bytes, "batch_norm");
}

/* Makes the kernels of one batch norm, which run from first to end, as fast as the memory allows. */
static int speed_up(struct advice_cause *cause, const struct advice_kernels *kernels, size_t first, size_t end)
{
    double bytes = advice_kernel_work(kernels, &kernels->list[first])->bytes;
    int64_t most_ns = advice_work_ns(&kernels->peaks, &advice_peak, GPU_RATES, 0, bytes),
            usual_ns = advice_work_ns(&kernels->peaks, &advice_usual, GPU_RATES, 0, READ_TWICE * bytes), total_ns = 0;

    for (size_t i = first; i < end; i++)
        total_ns = saturating_add(total_ns, kernels->list[i].run_ns);
    if (usual_ns <= 0 || usual_ns >= total_ns)
        return 0;
    cause->confidence = ADVICE_MODELLED;
    for (size_t i = first; i < end; i++) {
        const struct advice_kernel *kernel = &kernels->list[i];
        double share = (double)kernel->run_ns / (double)total_ns;
        if (advice_kernel_take(&cause->bound, kernel, saturating_from_double(share * (double)most_ns)) != 0 ||
            advice_kernel_take(&cause->estimate, kernel, saturating_from_double(share * (double)usual_ns)) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int layout_change_add_kernels(struct advice_groups *groups, struct advice_kernels *kernels)
{
    if (add_conversions(groups, kernels) != 0)
        return ERR_NO_MEMORY;
    for (size_t first = 0, end; first < kernels->count && groups->keys.count; first = end) {
        const struct advice_kernel *kernel = &kernels->list[first];
        for (end = first + 1; end < kernels->count && kernels->list[end].op == kernel->op; end++)
            continue;
        if (is_batch_norm(kernels, kernel) && speed_up(&groups->list[0].cause, kernels, first, end) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* "layout conversions: 70 kernels (NCHW/NHWC) in 2.31 ms" */
static int layout_change_describe(struct advice_groups *groups, uint32_t group)
{
    static const char *const advice[] = {
        [IMAGES] =
            "model.to(memory_format=torch.channels_last), and the same for its input: then convolutions on tensor "
            "cores find the layout that they need.",
        [VOLUMES] = "model.to(memory_format=torch.channels_last_3d), and the same for its input: then convolutions on "
                    "tensor cores find the layout that they need.",
        [CHANNELS_LAST] =
            "The tensors are channels_last, but cuDNN chose kernels for NCHW: these compute float32 without "
            "tensor cores. Allow TF32 (torch.backends.cudnn.allow_tf32 = True), use 16-bit types, or keep "
            "the default layout.",
    };
    static const char elsewhere[] = "Keep the tensors in the layout that the convolutions on tensor cores need: NHWC.";

    advice_group_say(groups, group, "layout conversions: ", " kernels (NCHW/NHWC) in ");
    groups->list[group].cause.advice = adviser_uses_torch(groups->adviser) ? advice[keys_get(&groups->keys, group)[0]]
                                                                           : elsewhere;
    if (groups->list[group].cause.confidence == ADVICE_MODELLED)
        text_addf(&groups->list[group].cause.rate, "batch norms at %.0f %% of the memory's peak",
                  100 * advice_usual.memory);
    return 1;
}

static int find_layout_conversions(struct adviser *adviser, struct error *err)
{
    return advice_kernels_find(adviser,
                               &(struct advice_kernel_rule){ layout_change_add_kernels, layout_change_describe }, err);
}

const struct analysis rule_layout_conversions = {
    .name = "layout_conversions",
    .title = "Layout Conversions",
    .help = "Kernels of cuDNN that convert tensors between NCHW and NHWC around convolutions. Tensor cores want NHWC, "
            "which PyTorch calls channels_last; its default is NCHW. The saving is that of a replay without these "
            "kernels, and in which batch norms, whose kernels for NCHW are slow, are limited by the memory.",
    .needs = ADVICE_NEEDS,
    ADVICE_RULE(layout_conversions,
                .advice = "Use the layout of the convolutions: model.to(memory_format=torch.channels_last), and the "
                          "same for its input.",
                .praise = "Convolutions need no conversions between NCHW and NHWC."),
};
