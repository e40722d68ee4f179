/* kernel_counters: every value of every counted kernel. */
#include <string.h>

#include "analyze/engine/report_options.h"
#include "analyze/registry.h"
#include "counters_report.h"

enum { LAUNCH, METRIC, UNIT, VALUE, TEXT, KERNEL, COLUMNS };
static const struct table_column counted_list_columns[COLUMNS] = {
    [LAUNCH] = { "ID", CELL_INT, UNIT_ID, 0 },    [METRIC] = { "Metric", CELL_TEXT, UNIT_NONE, 0 },
    [UNIT] = { "Unit", CELL_TEXT, UNIT_NONE, 0 }, [VALUE] = { "Value", CELL_REAL, UNIT_NONE, 3 },
    [TEXT] = { "Text", CELL_TEXT, UNIT_NONE, 0 }, [KERNEL] = { "Name", CELL_TEXT, UNIT_NAME, 0 },
};

static int counted_list_add_value(struct table *table, const struct kernel_counters *counters,
                                  const struct counted_kernel *kernel, const struct counter_value *value)
{
    const struct counted_metric *metric = &counters->metrics[value->metric];
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_number(&row[VALUE], value->value);
    if (counters_set_kernel(table, &row[LAUNCH], &row[KERNEL], counters, kernel) != 0 ||
        cell_set_string(table, &row[METRIC], metric->name) != 0 ||
        (*metric->unit && cell_set_string(table, &row[UNIT], metric->unit) != 0))
        return ERR_NO_MEMORY;
    return value->text ? cell_set_pooled(table, &row[TEXT], counters->report, value->text) : 0;
}

static int counted_list_add_kernel(struct table *table, const struct kernel_counters *counters,
                                   const struct counted_kernel *kernel, void *context)
{
    const char *part = context;

    for (int is_part = 0; is_part < 2; is_part++)
        for (size_t i = kernel->first; i < kernel->first + kernel->count; i++) {
            const char *name = counters->metrics[counters->values[i].metric].name;
            if (counters_is_part(name) == is_part && (!part || strstr(name, part)) &&
                counted_list_add_value(table, counters, kernel, &counters->values[i]) != 0)
                return ERR_NO_MEMORY;
        }
    return 0;
}

static int counted_list_run(struct report *report, const struct analysis_request *request, struct table **out,
                            struct error *err)
{
    return counters_report(report, counted_list_columns, COLUMNS, counted_list_add_kernel,
                           (void *)option_text(request, "metric"), out, err);
}

const struct analysis analysis_kernel_counters = {
    .name = "kernel_counters",
    .title = "Kernel Counters",
    .usage = "[:metric=<part>]",
    .help = "Hardware counters of kernels, a row per launch and metric, in base units. `metric` selects metrics whose "
            "name contains this text. `tacho ncu --import FILE --csv --page raw` prints a column per metric.",
    .needs = { KERNEL_COUNTER_NEED },
    .overlap = "metrics have different units",
    .run = counted_list_run,
};
