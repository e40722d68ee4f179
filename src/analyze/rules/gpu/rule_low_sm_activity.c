/* The rule low_sm_activity: kernels run, but many multiprocessors have no warp. */
#include "analyze/registry.h"
#include "kernel_metric.h"

static void low_sm_activity_say(struct text *out, const struct table *table, size_t row)
{
    kernel_metric_say(out, "SMs active", "kernels", table, row);
}

const struct analysis rule_low_sm_activity = {
    .name = "low_sm_activity",
    .title = "Low SM Activity",
    .usage = RULE_OPTIONS "[:threshold=<percent>]",
    .help = "GPUs on which, while kernels ran, less than half of the multiprocessors had a warp, on average over the "
            "time. Only samples count of which kernels cover nine tenths, and they must make up threshold (5) percent "
            "of the capture's time. Impact is that time multiplied by the idle share: the most that fuller kernels can "
            "save. Kernel is the one that adds most to it.",
    .needs = { { "samples of SM activity while kernels ran", gpu_metrics_tables },
               { "CUDA kernel data", gpu_kernel_tables } },
    .run_as = kernel_metric_run,
    .as = &(const struct kernel_metric){ { ROLE_SM, GPU_METRIC_ROLES }, GPU_METRIC_ROLES, 0, 50, 0, "SM activity" },
    .rule = ANALYSIS_RULE(
            .finding = low_sm_activity_say,
            .advice = "Kernels have too few blocks for the GPU, or wait for their last ones. Give them more work at "
                      "once: larger batches, fused or batched operators, independent kernels in several streams.",
            .praise = "Most multiprocessors were active while kernels ran."),
};
