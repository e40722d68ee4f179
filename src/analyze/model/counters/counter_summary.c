/* Summaries of counters: kernels that are alike become one, with the least, mean and greatest value of each metric. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/keys.h"
#include "base/array.h"
#include "base/saturating.h"
#include "kernel_counters.h"

/* The numbers that distinguish kernels. */
enum { PID, HOST, NAME, GRID, BLOCK = GRID + 3, DEVICE = BLOCK + 3, MAJOR, MINOR, RANGE, WIDTH };

struct counter_summary_summing {
    struct kernel_counters *out;
    struct keys groups, cells; /* kernels that are alike; group and metric */
    double *launches;          /* owned; of each cell */
    size_t launch_room;
};

/* The kernel with only what its group has in common. */
static struct counted_kernel counter_summary_common(const struct counted_kernel *kernel, unsigned by)
{
    struct counted_kernel group = { .id = -1,
                                    .launch = -1,
                                    .correlation = -1,
                                    .global_pid = -1,
                                    .pid = -1,
                                    .device = -1,
                                    .context = -1,
                                    .stream = -1,
                                    .major = -1,
                                    .minor = -1,
                                    .passes = -1,
                                    .is_summary = 1 };

    if (by & COUNTERS_BY_PROCESS) {
        group.pid = kernel->pid;
        group.process_name = kernel->process_name;
        group.host_name = kernel->host_name;
    }
    if (by & COUNTERS_BY_NAME) {
        group.name = kernel->name;
        group.short_name = kernel->short_name;
    }
    if (by & COUNTERS_BY_SIZES) {
        memcpy(group.grid, kernel->grid, sizeof group.grid);
        memcpy(group.block, kernel->block, sizeof group.block);
    }
    if (by & COUNTERS_BY_DEVICE) {
        group.device = kernel->device;
        group.major = kernel->major;
        group.minor = kernel->minor;
    }
    if (by & COUNTERS_BY_RANGE)
        group.range = kernel->range;
    return group;
}

static uint32_t counter_summary_group_of(struct counter_summary_summing *summing, const struct counted_kernel *kernel,
                                         unsigned by)
{
    struct kernel_counters *out = summing->out;
    struct counted_kernel group = counter_summary_common(kernel, by);
    int64_t key[WIDTH] = {
        [PID] = group.pid,     [HOST] = group.host_name, [NAME] = group.name,  [DEVICE] = group.device,
        [MAJOR] = group.major, [MINOR] = group.minor,    [RANGE] = group.range
    };

    memcpy(key + GRID, group.grid, sizeof group.grid);
    memcpy(key + BLOCK, group.block, sizeof group.block);
    uint32_t at = keys_add(&summing->groups, key);
    if (at == NO_KEY || array_reserve(&out->kernels, &out->kernel_room, (size_t)at + 1, sizeof *out->kernels) != 0)
        return NO_KEY;
    if (at == out->kernel_count) {
        out->kernels[at] = group;
        out->kernel_count++;
    }
    out->kernels[at].invocations = saturating_add(out->kernels[at].invocations, kernel->invocations);
    return at;
}

/* Adds a value to its group; `value` is the sum until the end. */
static int counter_summary_add_value(struct counter_summary_summing *summing, uint32_t group,
                                     const struct counter_value *value, double launches)
{
    struct kernel_counters *out = summing->out;
    uint32_t at = keys_add(&summing->cells, (int64_t[]){ group, value->metric });

    if (at == NO_KEY || array_reserve(&out->values, &out->value_room, (size_t)at + 1, sizeof *out->values) != 0 ||
        array_reserve(&summing->launches, &summing->launch_room, (size_t)at + 1, sizeof *summing->launches) != 0)
        return ERR_NO_MEMORY;
    if (at == out->value_count) {
        size_t row = value->row == SIZE_MAX ? SIZE_MAX : at;
        out->values[at] = (struct counter_value){ group, value->metric, row, 0, value->minimum, value->maximum, 0 };
        summing->launches[at] = 0;
        out->value_count++;
    }
    out->values[at].value += value->value * launches;
    out->values[at].minimum = fmin(out->values[at].minimum, value->minimum);
    out->values[at].maximum = fmax(out->values[at].maximum, value->maximum);
    summing->launches[at] += launches;
    return 0;
}

static int counter_summary_add_kernels(struct counter_summary_summing *summing, const struct kernel_counters *from,
                                       unsigned by)
{
    for (size_t k = 0; k < from->kernel_count; k++) {
        const struct counted_kernel *kernel = &from->kernels[k];
        uint32_t group = counter_summary_group_of(summing, kernel, by);
        if (group == NO_KEY)
            return ERR_NO_MEMORY;
        for (size_t i = kernel->first; i < kernel->first + kernel->count; i++)
            if (!isnan(from->values[i].value) &&
                counter_summary_add_value(summing, group, &from->values[i], (double)kernel->invocations) != 0)
                return ERR_NO_MEMORY;
    }
    return 0;
}

static int copy_metrics(struct kernel_counters *out, const struct kernel_counters *from)
{
    size_t count = from->names.count;

    if (array_reserve(&out->metrics, &out->metric_room, count + 1, sizeof *out->metrics) != 0)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        if (intern_add(&out->names, from->names.strings[i].bytes, from->names.strings[i].length) != (int64_t)i)
            return ERR_NO_MEMORY;
        out->metrics[i] = from->metrics[i];
    }
    return 0;
}

int kernel_counters_summarize(struct kernel_counters *out, const struct kernel_counters *from, unsigned by)
{
    struct counter_summary_summing summing = { .out = out, .groups.width = WIDTH, .cells.width = 2 };
    int code;

    *out = (struct kernel_counters){ .report = from->report, .has_origins = from->has_origins };
    if ((code = copy_metrics(out, from)) != 0)
        goto done;
    if ((code = counter_summary_add_kernels(&summing, from, by)) != 0)
        goto done;
    for (size_t i = 0; i < out->value_count; i++)
        out->values[i].value /= summing.launches[i];
    kernel_counters_order(out);
done:
    keys_free(&summing.groups);
    keys_free(&summing.cells);
    free(summing.launches);
    return code;
}
