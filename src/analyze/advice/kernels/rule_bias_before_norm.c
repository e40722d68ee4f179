/* The rule bias_before_norm: a convolution or linear layer adds a bias that the batch norm after it takes out again.
 *
 * The norm subtracts the mean of each channel, and with it any constant. Bound and estimate: the kernels that add the
 * bias, and those that sum up its gradient, are not there. */
#include <stdlib.h>

#include "analyze/advice/advice_kernels.h"
#include "analyze/registry.h"

static const char *const layers[] = { "aten::conv",   "aten::_conv", "aten::cudnn_conv",
                                      "aten::linear", "aten::addmm", NULL };
static const char *const norms[] = { "aten::batch_norm",
                                     "aten::cudnn_batch_norm",
                                     "aten::native_batch_norm",
                                     "aten::_batch_norm_impl_index",
                                     "aten::_native_batch_norm_legit",
                                     NULL };

/* What a norm does to the bias before it. One in eval() subtracts the mean of the training, which is a constant. */
enum { BEFORE_NO_NORM, BEFORE_NORM, BEFORE_CONSTANTS };

/* In a program that computes no gradients, norms are constants. */
static int is_training(const struct advice_kernels *kernels)
{
    for (size_t i = 0; i < kernels->count; i++)
        if (kernels->list[i].is_backward)
            return 1;
    return 0;
}

/* The argument `training` of an operator, if the values of its inputs were recorded. */
static unsigned char norm_mark_of(const struct advice_kernels *kernels, uint32_t op, int is_in_training)
{
    enum { TRAINING = 5 };
    struct op_texts texts = op_texts_of(kernels->operators, &kernels->operators->list[op]);
    struct op_inputs inputs;
    int64_t value = is_in_training;

    op_inputs_read(&inputs, &texts);
    if (inputs.count > TRAINING && inputs.list[TRAINING].value.length)
        op_value_numbers(&inputs.list[TRAINING], &value, 1);
    return value ? BEFORE_NORM : BEFORE_CONSTANTS;
}

/* Marks the layers in front of norms. In between, the module counts its batches, and a residual may be added: to that a
 * bias is a constant as well. */
static void mark_layers(const struct advice_kernels *kernels, unsigned char *is_before_norm)
{
    const struct operators_event *ops = kernels->operators->list;
    uint32_t layer = NO_OPERATOR;
    int is_in_training = is_training(kernels);

    for (size_t i = 0; i < kernels->program_count; i++) {
        uint32_t op = kernels->program[i];
        const char *name = advice_operator_name(kernels, op).bytes;
        if (layer != NO_OPERATOR && ops[op].thread != ops[layer].thread)
            layer = NO_OPERATOR;
        if (layer != NO_OPERATOR && text_begins_with_one(name, norms))
            is_before_norm[layer] = norm_mark_of(kernels, op, is_in_training);
        if (text_begins_with_one(name, layers))
            layer = op;
        else if (!text_begins_with(name, "aten::add"))
            layer = NO_OPERATOR;
    }
}

/* The bias of a convolution is added by a kernel of its own, that of a linear layer in the product. */
static int is_of_bias(const struct advice_kernel *kernel)
{
    return kernel->class == (kernel->is_backward ? OP_REDUCTION : OP_ELEMENTWISE);
}

static int bias_norm_add_kernels(struct advice_groups *groups, struct advice_kernels *kernels)
{
    unsigned char *is_before_norm = calloc(kernels->operators->count + 1, 1);
    int code = is_before_norm ? 0 : ERR_NO_MEMORY;

    if (is_before_norm)
        mark_layers(kernels, is_before_norm);
    for (size_t i = 0; i < kernels->count && code == 0; i++) {
        const struct advice_kernel *kernel = &kernels->list[i];
        if (kernel->source == NO_OPERATOR || !is_before_norm[kernel->source] || !is_of_bias(kernel))
            continue;
        uint32_t group = advice_group(groups, is_before_norm[kernel->source], 0);
        code = group == NO_KEY || advice_kernel_note(groups, group, kernels, kernel) != 0 ||
                       advice_kernel_vanish(&groups->list[group].cause.bound, kernels, kernel) != 0 ||
                       advice_kernel_vanish(&groups->list[group].cause.estimate, kernels, kernel) != 0
                   ? ERR_NO_MEMORY
                   : 0;
    }
    free(is_before_norm);
    return code;
}

/* "bias before batch norm: 20 kernels add it and sum up its gradient in 2.61 ms" */
static int bias_norm_describe(struct advice_groups *groups, uint32_t group)
{
    int is_constant = keys_get(&groups->keys, group)[0] == BEFORE_CONSTANTS;

    advice_group_say(groups, group, "bias before batch norm: ",
                     is_constant ? " kernels add it in " : " kernels add it and sum up its gradient in ");
    groups->list[group].cause.advice =
        is_constant ? "In eval() both are constants: fold the batch norm into the layer before it "
                      "(torch.nn.utils.fusion.fuse_conv_bn_eval, fuse_linear_bn_eval)."
                    : "Create these layers with bias=False: the batch norm subtracts the mean of each channel, and the "
                      "bias with it.";
    return 1;
}

static int find_bias_before_norm(struct adviser *adviser, struct error *err)
{
    return advice_kernels_find(adviser, &(struct advice_kernel_rule){ bias_norm_add_kernels, bias_norm_describe }, err);
}

const struct analysis rule_bias_before_norm = {
    .name = "bias_before_norm",
    .title = "Bias Before Batch Norm",
    .help = "Convolutions and linear layers with a bias in front of a batch norm, which takes the bias out again. The "
            "saving is that of a replay without the kernels that add the bias, and those that sum up its gradient.",
    .needs = ADVICE_NEEDS,
    ADVICE_RULE(bias_before_norm, .is_of_torch = 1, .advice = "Create layers in front of a batch norm with bias=False.",
                .praise = "No kernels add a bias in front of a batch norm."),
};
