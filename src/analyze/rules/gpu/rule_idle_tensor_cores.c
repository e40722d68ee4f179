/* The rule idle_tensor_cores: products of matrices run, but tensor cores hardly work. */
#include "analyze/registry.h"
#include "kernel_metric.h"

static void idle_tensor_say(struct text *out, const struct table *table, size_t row)
{
    kernel_metric_say(out, "tensor cores active", "products of matrices", table, row);
}

const struct analysis rule_idle_tensor_cores = {
    .name = "idle_tensor_cores",
    .title = "Idle Tensor Cores in Matrix Products",
    .usage = RULE_OPTIONS "[:threshold=<percent>]",
    .help = "GPUs on which tensor cores worked in less than 20 percent of the cycles, on average over the time, while "
            "products of matrices ran (GEMM, convolution, attention; tensor_core_sum lists them). Only samples count "
            "of which these kernels cover nine tenths, and they must make up threshold (5) percent of the capture's "
            "time. Impact is that time multiplied by the idle share. Kernel is the one that adds most to it.",
    .needs = { { "samples of tensor core activity while products of matrices ran", gpu_metrics_tables },
               { "CUDA kernel data", gpu_kernel_tables } },
    .run_as = kernel_metric_run,
    .as = &(const struct kernel_metric){ { ROLE_TENSOR, GPU_METRIC_ROLES },
                                         GPU_METRIC_ROLES,
                                         1,
                                         20,
                                         0,
                                         "tensor core activity" },
    .rule = ANALYSIS_RULE(.finding = idle_tensor_say,
                          .advice = "Products compute on other units, are too small, or wait for memory: use TF32, "
                                    "bf16 or fp16, larger batches, and sizes that are multiples of 8. The rule "
                                    "tensor_cores names products that do not use tensor cores at all.",
                          .praise = "Tensor cores worked while products of matrices ran."),
};
