/* kernel_counters_sum: values by the name of the kernel and metric. */
#include <string.h>

#include "analyze/engine/report_options.h"
#include "analyze/registry.h"
#include "counters_report.h"

enum { COUNT, METRIC, UNIT, MINIMUM, MEAN, MAXIMUM, KERNEL, COLUMNS };
static const struct table_column counted_sum_columns[COLUMNS] = {
    [COUNT] = { "Launches", CELL_INT, UNIT_NONE, 0 }, [METRIC] = { "Metric", CELL_TEXT, UNIT_NONE, 0 },
    [UNIT] = { "Unit", CELL_TEXT, UNIT_NONE, 0 },     [MINIMUM] = { "Min", CELL_REAL, UNIT_NONE, 3 },
    [MEAN] = { "Avg", CELL_REAL, UNIT_NONE, 3 },      [MAXIMUM] = { "Max", CELL_REAL, UNIT_NONE, 3 },
    [KERNEL] = { "Name", CELL_TEXT, UNIT_NAME, 0 },
};

static int counted_sum_add_row(struct table *table, const struct kernel_counters *summary,
                               const struct counter_value *value)
{
    const struct counted_kernel *kernel = &summary->kernels[value->kernel];
    const struct counted_metric *metric = &summary->metrics[value->metric];
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_int(&row[COUNT], kernel->invocations);
    cell_set_real(&row[MINIMUM], value->minimum);
    cell_set_real(&row[MEAN], value->value);
    cell_set_real(&row[MAXIMUM], value->maximum);
    if (cell_set_string(table, &row[METRIC], metric->name) != 0 ||
        (*metric->unit && cell_set_string(table, &row[UNIT], metric->unit) != 0))
        return ERR_NO_MEMORY;
    return cell_set_pooled(table, &row[KERNEL], summary->report, kernel->name);
}

static int counted_sum_add_kernel(struct table *table, const struct kernel_counters *summary,
                                  const struct counted_kernel *kernel, const char *part)
{
    for (int is_part = 0; is_part < 2; is_part++)
        for (size_t i = kernel->first; i < kernel->first + kernel->count; i++) {
            const char *name = summary->metrics[summary->values[i].metric].name;
            if (counters_is_part(name) == is_part && (!part || strstr(name, part)) &&
                counted_sum_add_row(table, summary, &summary->values[i]) != 0)
                return ERR_NO_MEMORY;
        }
    return 0;
}

static int counted_sum_fill(struct table *table, const struct kernel_counters *summary, const char *part)
{
    for (size_t k = 0; k < summary->kernel_count; k++)
        if (counted_sum_add_kernel(table, summary, &summary->kernels[k], part) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

static int counted_sum_run(struct report *report, const struct analysis_request *request, struct table **out,
                           struct error *err)
{
    struct table *table = table_new(counted_sum_columns, COLUMNS);
    struct kernel_counters counters, summary = { 0 };
    int code;

    if ((code = kernel_counters_read(&counters, report, err)) != 0)
        goto done;
    if ((code = kernel_counters_summarize(&summary, &counters, COUNTERS_BY_NAME)) != 0)
        goto done;
    code = table ? counted_sum_fill(table, &summary, option_text(request, "metric")) : ERR_NO_MEMORY;
done:
    kernel_counters_free(&summary);
    kernel_counters_free(&counters);
    return table_hand_over(table, code, out, err);
}

const struct analysis analysis_kernel_counters_sum = {
    .name = "kernel_counters_sum",
    .title = "Kernel Counter Summary",
    .usage = "[:metric=<part>]",
    .help = "Hardware counters by the name of the kernel and metric: number of launches, least, mean and greatest "
            "value, in base units. `metric` selects metrics whose name contains this text.",
    .needs = { KERNEL_COUNTER_NEED },
    .overlap = "metrics have different units",
    .run = counted_sum_run,
};
