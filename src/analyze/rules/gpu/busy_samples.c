/* Reads samples and kernels, and merges them in order of time: see busy_samples.h. */
#include "busy_samples.h"

#include <stdlib.h>

#include "analyze/engine/order.h"

int busy_search_read(void *context, struct error *err)
{
    struct busy_search *search = context;
    int code;

    if ((code = gpu_devices_read(&search->devices, search->base.report, err)) != 0 ||
        (code = gpu_metrics_read(&search->metrics, search->base.report, &search->base.rule.request, err)) != 0 ||
        (code = gpu_read(&search->kernels, search->base.report, GPU_KERNEL, NULL, err)) != 0)
        return code;
    search->order = malloc((search->kernels.count + 1) * sizeof *search->order);
    if (!search->order || search->kernels.count >= UINT32_MAX)
        return error_set(err, ERR_NO_MEMORY, "not enough memory for the kernels");
    for (size_t row = 0; row < search->kernels.count; row++)
        if (gpu_counts(&search->kernels, row, &search->base.filter))
            search->order[search->count++] = (uint32_t)row;
    if (order_by_time(search->order, search->count, search->kernels.start) != 0)
        return error_set(err, ERR_NO_MEMORY, "not enough memory for the kernels");
    return 0;
}

void busy_search_free(void *context)
{
    struct busy_search *search = context;

    gpu_metrics_free(&search->metrics);
    gpu_devices_free(&search->devices);
    gpu_free(&search->kernels);
    free(search->order);
}

/* Adds [start, end) to the samples from *at on, which moves to the first that may overlap what comes later. */
static void add_time(int64_t *busy, const struct gpu_clock *clock, int64_t start, int64_t end, size_t *at)
{
    while (*at < clock->count && clock->end[*at] <= start)
        ++*at;
    for (size_t i = *at; i < clock->count && clock->start[i] < end; i++) {
        int64_t from = clock->start[i] > start ? clock->start[i] : start,
                to = clock->end[i] < end ? clock->end[i] : end;
        busy[i] += to > from ? saturating_duration(from, to) : 0;
    }
}

int64_t *busy_samples(const struct busy_search *search, const struct gpu_clock *clock)
{
    const struct gpu_ops *kernels = &search->kernels;
    int64_t *busy = calloc(clock->count + 1, sizeof *busy), until = INT64_MIN;
    size_t at = 0;

    for (size_t i = 0; busy && i < search->count; i++) {
        uint32_t row = search->order[i];
        int64_t start = kernels->start[row] > until ? kernels->start[row] : until;
        if (kernels->end[row] <= start ||
            gpu_device_of(&search->devices, kernels->process[row], kernels->device[row]) != clock->gpu)
            continue;
        add_time(busy, clock, start, kernels->end[row], &at);
        until = kernels->end[row];
    }
    return busy;
}

int busy_each_gpu(struct busy_search *search, int (*visit)(struct busy_search *search, int64_t gpu, void *context),
                  void *context)
{
    int code;

    for (size_t i = 0; i < search->metrics.count; i++)
        if ((i == 0 || search->metrics.list[i].gpu != search->metrics.list[i - 1].gpu) &&
            (code = visit(search, search->metrics.list[i].gpu, context)) != 0)
            return code;
    return 0;
}
