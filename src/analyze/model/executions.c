/* The join of calls and kernels by process and correlation id. */
#include "executions.h"

#include <stdlib.h>

#include "analyze/engine/report_options.h"
#include "base/array.h"

static int executions_add(struct executions *executions, size_t *capacity, uint32_t call, size_t kernel)
{
    if (array_reserve(&executions->list, capacity, executions->count + 1, sizeof *executions->list) != 0)
        return ERR_NO_MEMORY;
    executions->list[executions->count++] = (struct execution){ call, (uint32_t)kernel };
    return 0;
}

static int executions_join(struct executions *executions, const struct filter *filter)
{
    const struct gpu_ops *kernels = &executions->kernels;
    const struct calls *calls = &executions->calls;
    size_t capacity = 0;

    /* most kernels have one call */
    if (array_reserve(&executions->list, &capacity, kernels->count, sizeof *executions->list) != 0)
        return ERR_NO_MEMORY;
    for (size_t row = 0; row < kernels->count; row++) {
        if (!gpu_counts(kernels, row, filter))
            continue;
        uint32_t call = calls_find(calls, kernels->process[row], kernels->correlation[row]);
        for (; call != NO_CALL; call = calls_next(calls, call))
            if (executions_add(executions, &capacity, call, row) != 0)
                return ERR_NO_MEMORY;
    }
    return 0;
}

int executions_read(struct executions *executions, struct report *report, const struct analysis_request *request,
                    int with_dimensions, struct error *err)
{
    const char *extra[] = { kernel_name_column(request),
                            "demangledName",
                            with_dimensions ? "gridX" : NULL,
                            "gridY",
                            "gridZ",
                            "blockX",
                            "blockY",
                            "blockZ",
                            NULL };
    struct filter filter;
    int code;

    *executions = (struct executions){ .report = report };
    if ((code = filter_open(&filter, report, request, err)) != 0 ||
        (code = gpu_read(&executions->kernels, report, GPU_KERNEL, extra, err)) != 0 ||
        (code = calls_read(&executions->calls, report, err)) != 0)
        goto close_filter;
    if (option_given(request, "nvtx-name") && (code = launch_ranges_read(&executions->ranges, report, err)) != 0)
        goto close_filter;
    if (executions_join(executions, &filter) != 0)
        code = error_short_memory(err, "to match kernels with their launches");
close_filter:
    filter_close(&filter);
    return code;
}

void executions_free(struct executions *executions)
{
    gpu_free(&executions->kernels);
    calls_free(&executions->calls);
    launch_ranges_free(&executions->ranges);
    free(executions->list);
    executions->list = NULL;
}

int64_t execution_kernel_name(const struct executions *executions, const struct execution *execution)
{
    int column = gpu_extra_is_null(&executions->kernels, EXEC_NAME, execution->kernel) ? EXEC_FULL_NAME : EXEC_NAME;

    return gpu_extra(&executions->kernels, (size_t)column, execution->kernel);
}

uint32_t execution_range(const struct executions *executions, const struct execution *execution)
{
    return execution->kernel < executions->ranges.count ? executions->ranges.by_row[execution->kernel] : NO_KEY;
}

int64_t execution_total_ns(const struct executions *executions, const struct execution *execution)
{
    int64_t call_end = executions->calls.end[execution->call], kernel_end = executions->kernels.end[execution->kernel];

    return saturating_duration(executions->calls.start[execution->call], call_end > kernel_end ? call_end : kernel_end);
}

int64_t execution_queue_ns(const struct executions *executions, const struct execution *execution)
{
    return saturating_duration(executions->calls.end[execution->call], executions->kernels.start[execution->kernel]);
}
