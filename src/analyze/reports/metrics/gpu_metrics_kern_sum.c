/* gpu_metrics_kern_sum: GPU metrics while kernels ran, by the kernels' names. */
#include "analyze/registry.h"
#include "gpu_metrics_by.h"

static int metrics_kern_collect(struct gpu_metrics_by *by, struct error *err)
{
    const char *const extra[] = { kernel_name_column(by->request), NULL };
    struct gpu_ops ops;
    int code = gpu_read(&ops, by->report, GPU_KERNEL, extra, err);

    if (code != 0)
        return code;
    for (size_t row = 0; row < ops.count; row++) {
        int64_t key[STRETCH_PARTS] = { gpu_device_of(&by->devices, ops.process[row], ops.device[row]),
                                       gpu_extra(&ops, 0, row) };
        if (gpu_counts(&ops, row, &by->filter) &&
            gpu_stretches_add(&by->stretches, key, ops.start[row], ops.end[row]) != 0 &&
            (code = error_short_memory(err, "for the kernels")) != 0)
            goto free_ops;
    }
free_ops:
    gpu_free(&ops);
    return code;
}

static void metrics_kern_label(struct gpu_metrics_by *by, struct text *out, const int64_t key[STRETCH_PARTS])
{
    size_t length;
    const char *name = report_string(by->report, key[STRETCH_A], &length);

    text_add_bytes(out, name, length);
}

static int gpu_metrics_kern_sum(struct report *report, const struct analysis_request *request, struct table **out,
                                struct error *err)
{
    static const struct gpu_metrics_kind kind = { .collect = metrics_kern_collect, .label = metrics_kern_label };

    return gpu_metrics_by_run(&kind, NULL, report, request, out, err);
}

const struct analysis analysis_gpu_metrics_kern_sum = {
    .name = "gpu_metrics_kern_sum",
    .title = "GPU Metrics by Kernel",
    .usage = "[:base|:mangled]" GPU_METRICS_BY_USAGE,
    .help = "GPU metrics while the kernels of each name ran." GPU_METRICS_BY_HELP,
    .needs = { { "GPU metrics", gpu_metrics_tables }, { "CUDA kernel data", gpu_kernel_tables } },
    .overlap = "kernels that ran side by side share their samples",
    .is_of_gpus = 1,
    .run = gpu_metrics_kern_sum,
};
