/* Means of GPU metrics over the time of kernels: see kernel_metric.h. */
#include "kernel_metric.h"

#include <stdlib.h>

#include "analyze/engine/cell_text.h"
#include "analyze/model/metrics/gpu_stretches.h"
#include "analyze/model/tensor/tensor_cores.h"
#include "base/human.h"
#include "samples_text.h"

enum { LEAST_PERCENT = 5, COVERED_PERCENT = 90 };
enum { ALL_KERNELS = -1 }; /* the group of all kernels of a GPU; others are names */

struct kernel_metric_search {
    struct rule_search base;
    const struct kernel_metric *how;
    const struct gpu_metrics *metrics;
    struct gpu_metrics own; /* unless they are shared */
    struct gpu_devices devices;
    struct gpu_stretches stretches;
    struct gpu_stretch_join join;
};

static void kernel_metric_search_free(void *context)
{
    struct kernel_metric_search *search = context;

    gpu_stretch_join_free(&search->join);
    gpu_stretches_free(&search->stretches);
    gpu_devices_free(&search->devices);
    gpu_metrics_free(&search->own);
}

/* ---- kernels --------------------------------------------------------------------------------------------------- */

static int kernel_metric_add_kernels(struct kernel_metric_search *search, const struct gpu_ops *ops,
                                     struct tensor_kernels *kernels)
{
    for (size_t row = 0; row < ops->count; row++) {
        if (!gpu_counts(ops, row, &search->base.filter) ||
            (search->how->only_products && !tensor_cores_of_row(kernels, ops, row).is_matrix))
            continue;
        int64_t gpu = gpu_device_of(&search->devices, ops->process[row], ops->device[row]);
        int64_t keys[][STRETCH_PARTS] = { { gpu, ALL_KERNELS }, { gpu, gpu_extra(ops, TENSOR_DEMANGLED, row) } };
        for (int i = 0; i < 2; i++)
            if (gpu_stretches_add(&search->stretches, keys[i], ops->start[row], ops->end[row]) != 0)
                return ERR_NO_MEMORY;
    }
    return 0;
}

static int kernel_metric_read_kernels(struct kernel_metric_search *search, struct error *err)
{
    struct tensor_kernels kernels = { 0 };
    struct gpu_ops ops = { 0 };
    int code;

    if ((code = tensor_kernels_read(&kernels, search->base.report, err)) != 0 ||
        (code = gpu_read(&ops, search->base.report, GPU_KERNEL, tensor_kernel_columns, err)) != 0)
        goto done;
    if (kernel_metric_add_kernels(search, &ops, &kernels) != 0)
        code = error_short_memory(err, "for the kernels");
done:
    gpu_free(&ops);
    tensor_kernels_free(&kernels);
    return code;
}

static int kernel_metric_read_all(void *context, struct error *err)
{
    struct kernel_metric_search *search = context;
    int code;

    if ((code = gpu_devices_read(&search->devices, search->base.report, err)) != 0 ||
        (code = gpu_metrics_get(&search->metrics, &search->own, search->base.report, &search->base.rule.request,
                                err)) != 0 ||
        (code = kernel_metric_read_kernels(search, err)) != 0)
        return code;
    if (gpu_stretches_join(&search->join, &search->stretches, search->metrics, COVERED_PERCENT) != 0)
        return error_short_memory(err, "for the GPU metrics");
    return 0;
}

/* ---- means ----------------------------------------------------------------------------------------------------- */

struct mean {
    double percent;
    int64_t sampled_ns, samples; /* samples 0: there is no mean */
    const struct gpu_metric *metric;
};

static struct mean mean_in(const struct kernel_metric_search *search, uint32_t group, enum gpu_metric_role role)
{
    int64_t gpu = keys_get(&search->stretches.groups, group)[STRETCH_GPU];
    struct gpu_role found = gpu_metric_role(search->metrics, search->base.report, gpu, role, NULL);

    if (!found.metric)
        return (struct mean){ 0 };
    size_t place = (size_t)(found.metric - search->metrics->list) - gpu_metrics_of(search->metrics, gpu).first;
    const struct gpu_stretch_figures *figures = &search->join.figures[search->join.first[group] + place];
    if (!figures->samples)
        return (struct mean){ 0 };
    return (struct mean){ gpu_stretch_mean(figures) * found.scale, figures->covered_ns, figures->samples,
                          found.metric };
}

static struct mean kernel_metric_mean_of(const struct kernel_metric_search *search, uint32_t group)
{
    const struct kernel_metric *how = search->how;
    struct mean mean = mean_in(search, group, how->instead), other;

    if (mean.samples)
        return mean;
    mean = mean_in(search, group, how->roles[0]);
    other = how->roles[1] == GPU_METRIC_ROLES ? (struct mean){ 0 } : mean_in(search, group, how->roles[1]);
    mean.percent += mean.samples ? other.percent : 0;
    return mean;
}

/* How far a mean is beyond the limit; at most 0: it is not. */
static double beyond(const struct kernel_metric_search *search, const struct mean *mean)
{
    double off = mean->percent - search->how->limit;

    return mean->samples ? (search->how->is_above ? off : -off) : 0;
}

/* The kernel that is beyond the limit for longest, weighted by how far; NO_KEY: none is known. */
static uint32_t worst_kernel(const struct kernel_metric_search *search, int64_t gpu)
{
    uint32_t worst = NO_KEY;
    double most = 0;

    for (uint32_t i = 0; i < search->stretches.groups.count; i++) {
        const int64_t *key = keys_get(&search->stretches.groups, i);
        struct mean mean = key[STRETCH_GPU] == gpu && key[STRETCH_A] != ALL_KERNELS ? kernel_metric_mean_of(search, i)
                                                                                    : (struct mean){ 0 };
        double weight = beyond(search, &mean) * (double)mean.sampled_ns;
        if (weight > most) {
            most = weight;
            worst = i;
        }
    }
    return worst;
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

static const struct table_column kernel_metric_columns[METRIC_CELLS] = {
    [METRIC_IMPACT] = { "Impact", CELL_INT, UNIT_NS, 0 },
    [METRIC_MEAN] = { "Avg", CELL_REAL, UNIT_PERCENT, 1 },
    [METRIC_SAMPLED] = { "Sampled", CELL_INT, UNIT_NS, 0 },
    [METRIC_KERNEL_TIME] = { "Kernel Time", CELL_INT, UNIT_NS, 0 },
    [METRIC_START] = { "Start", CELL_INT, UNIT_TIME, 0 },
    [METRIC_SAMPLES] = { "Samples", CELL_INT, UNIT_NONE, 0 },
    [METRIC_GPU] = { "GPU", CELL_INT, UNIT_ID, 0 },
    [METRIC_KERNEL_MEAN] = { "Kernel Avg", CELL_REAL, UNIT_PERCENT, 1 },
    [METRIC_KERNEL_SAMPLED] = { "Kernel Sampled", CELL_INT, UNIT_NS, 0 },
    [METRIC_KERNEL] = { "Kernel", CELL_TEXT, UNIT_NONE, 0 },
    [METRIC_SOURCE] = { "Source", CELL_TEXT, UNIT_NONE, 0 },
};

static int64_t kernel_metric_first_start(const struct kernel_metric_search *search, uint32_t group)
{
    size_t i = 0;

    while (search->stretches.list[i].group != group)
        i++;
    return search->stretches.list[i].start_ns;
}

static int kernel_metric_set_kernel(const struct kernel_metric_search *search, struct table *table,
                                    struct table_cell *row, uint32_t kernel)
{
    if (kernel == NO_KEY)
        return 0;
    struct mean mean = kernel_metric_mean_of(search, kernel);
    cell_set_real(&row[METRIC_KERNEL_MEAN], mean.percent);
    cell_set_int(&row[METRIC_KERNEL_SAMPLED], mean.sampled_ns);
    return cell_set_pooled(table, &row[METRIC_KERNEL], search->base.report,
                           keys_get(&search->stretches.groups, kernel)[STRETCH_A]);
}

static int kernel_metric_add_row(const struct kernel_metric_search *search, struct table *table, uint32_t group,
                                 const struct mean *mean)
{
    int64_t gpu = keys_get(&search->stretches.groups, group)[STRETCH_GPU];
    uint32_t kernel = worst_kernel(search, gpu);
    double share = search->how->is_above ? mean->percent / 100 : 1 - mean->percent / 100;
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_int(&row[METRIC_IMPACT], saturating_from_double((double)mean->sampled_ns * share));
    cell_set_real(&row[METRIC_MEAN], mean->percent);
    cell_set_int(&row[METRIC_SAMPLED], mean->sampled_ns);
    cell_set_int(&row[METRIC_KERNEL_TIME], search->join.busy_ns[group]);
    cell_set_int(&row[METRIC_START], kernel_metric_first_start(search, kernel == NO_KEY ? group : kernel));
    cell_set_int(&row[METRIC_SAMPLES], mean->samples);
    cell_set_int(&row[METRIC_GPU], gpu);
    int code = samples_set_source(table, &row[METRIC_SOURCE], search->base.report, search->metrics, mean->metric);
    return code != 0 ? code : kernel_metric_set_kernel(search, table, row, kernel);
}

static int kernel_metric_fill(void *context, struct table *table, struct error *err)
{
    struct kernel_metric_search *search = context;
    int64_t samples = 0;

    for (uint32_t i = 0; i < search->stretches.groups.count; i++) {
        if (keys_get(&search->stretches.groups, i)[STRETCH_A] != ALL_KERNELS)
            continue;
        struct mean mean = kernel_metric_mean_of(search, i);
        samples += mean.samples;
        if (beyond(search, &mean) > 0 && rule_is_enough(&search->base, mean.sampled_ns) &&
            kernel_metric_add_row(search, table, i, &mean) != 0)
            return ERR_NO_MEMORY;
    }
    return samples ? 0
                   : error_set(err, ERR_NO_DATA, "the report does not contain samples of %s while %s ran",
                               search->how->data, search->how->only_products ? "products of matrices" : "kernels");
}

int kernel_metric_run(struct report *report, const struct analysis_request *request, const void *as, struct table **out,
                      struct error *err)
{
    const struct kernel_metric *how = as;
    static const struct rule_steps steps = { kernel_metric_columns,    METRIC_CELLS,           LEAST_PERCENT,
                                             "the GPU metrics",        kernel_metric_read_all, kernel_metric_fill,
                                             kernel_metric_search_free };
    struct kernel_metric_search search = { .base.report = report, .how = how, .stretches = GPU_STRETCHES_NONE };

    return rule_run(&steps, &search.base, request, out, err);
}

void kernel_metric_say(struct text *out, const char *what, const char *which, const struct table *table, size_t at)
{
    const struct table_cell *row = table_row(table, at);

    text_addf(out, "GPU %lld: %s %.0f %% on average while %s ran, in ", (long long)row[METRIC_GPU].integer, what,
              row[METRIC_MEAN].real, which);
    human_time(out, row[METRIC_SAMPLED].integer);
    text_add_char(out, ' ');
    samples_say(out, &row[METRIC_SAMPLES], &row[METRIC_SOURCE]);
    if (row[METRIC_KERNEL].kind != CELL_TEXT)
        return;
    text_addf(out, "; %.0f %% for ", row[METRIC_KERNEL_MEAN].real);
    human_time(out, row[METRIC_KERNEL_SAMPLED].integer);
    rule_add_text(out, " in ", &row[METRIC_KERNEL]);
}
