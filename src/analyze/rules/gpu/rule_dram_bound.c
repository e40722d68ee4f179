/* The rule dram_bound: the GPU's memory is nearly saturated while kernels run. That is no fault of a kernel, so it has
 * no impact: rules on the replay say what fused or narrower operators would save. */
#include "analyze/registry.h"
#include "kernel_metric.h"

static void dram_bound_say(struct text *out, const struct table *table, size_t row)
{
    kernel_metric_say(out, "memory bandwidth", "kernels", table, row);
}

const struct analysis rule_dram_bound = {
    .name = "dram_bound",
    .title = "Kernels Bound by Memory Bandwidth",
    .usage = RULE_OPTIONS "[:threshold=<percent>]",
    .help = "GPUs whose memory was read and written at more than 60 percent of its bandwidth while kernels ran, on "
            "average over the time. Only samples count of which kernels cover nine tenths, and they must make up "
            "threshold (5) percent of the capture's time. Kernel is the one that adds most to it.",
    .needs = { { "samples of memory bandwidth while kernels ran", gpu_metrics_tables },
               { "CUDA kernel data", gpu_kernel_tables } },
    .run_as = kernel_metric_run,
    .as = &(const struct kernel_metric){ { ROLE_DRAM_READ, ROLE_DRAM_WRITE }, ROLE_DRAM, 0, 60, 1, "memory bandwidth" },
    .rule = ANALYSIS_RULE(.finding = dram_bound_say, .is_listing = 1,
                          .advice = "Kernels wait for the GPU's memory. Move fewer bytes: fuse operators, use 16-bit "
                                    "types, recompute instead of store, keep data in caches.",
                          .praise = "The GPU's memory was not saturated while kernels ran."),
};
