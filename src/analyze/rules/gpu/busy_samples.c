/* Reads samples and kernels, and merges them in order of time: see busy_samples.h. */
#include "busy_samples.h"

#include <stdlib.h>

#include "analyze/engine/order.h"

static int search_read(void *context, struct error *err)
{
    struct busy_search *search = context;
    int code;

    if ((code = gpu_devices_read(&search->devices, search->base.report, err)) != 0 ||
        (code = gpu_metrics_get(&search->metrics, &search->own, search->base.report, &search->base.rule.request,
                                err)) != 0 ||
        (code = gpu_read(&search->kernels, search->base.report, GPU_KERNEL, NULL, err)) != 0)
        return code;
    search->order = malloc((search->kernels.count + 1) * sizeof *search->order);
    if (!search->order || search->kernels.count >= UINT32_MAX)
        return error_short_memory(err, "for the kernels");
    for (size_t row = 0; row < search->kernels.count; row++)
        if (gpu_counts(&search->kernels, row, &search->base.filter))
            search->order[search->count++] = (uint32_t)row;
    if (order_by_time(search->order, search->count, search->kernels.start) != 0)
        return error_short_memory(err, "for the kernels");
    return 0;
}

static void busy_samples_search_free(void *context)
{
    struct busy_search *search = context;

    gpu_metrics_free(&search->own);
    gpu_devices_free(&search->devices);
    gpu_free(&search->kernels);
    free(search->order);
}

/* Adds [start, end) to the samples from *at on, which moves to the first that may overlap what comes later. */
static void busy_samples_add_time(int64_t *busy, const struct gpu_clock *clock, int64_t start, int64_t end, size_t *at)
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
        busy_samples_add_time(busy, clock, start, kernels->end[row], &at);
        until = kernels->end[row];
    }
    return busy;
}

static int busy_samples_fill(void *context, struct table *table, struct error *err)
{
    struct busy_search *search = context;
    const struct gpu_metric *list = search->metrics->list;
    int code;

    search->table = table;
    for (size_t i = 0; i < search->metrics->count; i++)
        if ((i == 0 || list[i].gpu != list[i - 1].gpu) && (code = search->how->visit(search, list[i].gpu)) != 0)
            return code;
    return search->samples ? 0 : error_set(err, ERR_NO_DATA, "the report does not contain %s", search->how->missing);
}

int busy_run(struct report *report, const struct analysis_request *request, const void *as, struct table **out,
             struct error *err)
{
    const struct busy_rule *how = as;
    const struct rule_steps steps = {
        how->columns,      how->column_count,       how->percent, "the GPU metrics", search_read,
        busy_samples_fill, busy_samples_search_free
    };
    struct busy_search search = { .base.report = report, .how = how };

    return rule_run(&steps, &search.base, request, out, err);
}
