/* The rule layout_conversions: cuDNN converts tensors between NCHW and NHWC around its convolutions.
 *
 * Tensor cores want NHWC. A model in PyTorch's default layout, NCHW, makes cuDNN convert the inputs and outputs of
 * convolutions, forward and backward. Bound and estimate: these kernels are not there. */
#include "analyze/advice/advice_kernels.h"
#include "analyze/registry.h"

static int add_kernels(struct advice_groups *groups, struct advice_kernels *kernels)
{
    for (size_t i = 0; i < kernels->count; i++) {
        const struct advice_kernel *kernel = &kernels->list[i];
        if (!kernel->is_layout)
            continue;
        uint32_t group = advice_group(groups, 0, 0);
        if (group == NO_KEY || advice_kernel_note(groups, group, kernels, kernel) != 0 ||
            advice_kernel_vanish(&groups->list[group].cause.bound, kernels, kernel) != 0 ||
            advice_kernel_vanish(&groups->list[group].cause.estimate, kernels, kernel) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* "layout conversions: 70 kernels convert between NCHW and NHWC in 2.31 ms" */
static int describe(struct advice_groups *groups, uint32_t group)
{
    advice_group_say(groups, group, "layout conversions: ", " kernels convert between NCHW and NHWC in ");
    groups->list[group].cause.advice =
        "model.to(memory_format=torch.channels_last), and the same for its input: then convolutions on tensor cores "
        "find the layout that they need.";
    return 1;
}

static int find_layout_conversions(struct adviser *adviser, struct error *err)
{
    return advice_kernels_find(adviser, &(struct advice_kernel_rule){ add_kernels, describe }, err);
}

ADVICE_RUN(layout_conversions)

const struct analysis rule_layout_conversions = {
    .name = "layout_conversions",
    .title = "Layout Conversions",
    .usage = "",
    .help = "Kernels of cuDNN that convert tensors between NCHW and NHWC around convolutions. Tensor cores want NHWC, "
            "which PyTorch calls channels_last; its default is NCHW. The saving is that of a replay without these "
            "kernels.",
    .needs = ADVICE_NEEDS,
    .advice = "Use the layout of the convolutions: model.to(memory_format=torch.channels_last), and the same for its "
              "input.",
    .praise = "Convolutions need no conversions between NCHW and NHWC.",
    ADVICE_RULE(layout_conversions),
};
