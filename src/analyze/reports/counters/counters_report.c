/* Reading the counters, and handing each kernel to a report. */
#include "counters_report.h"

#include <string.h>

int counters_report(struct report *report, const struct table_column *columns, size_t column_count,
                    int (*add)(struct table *table, const struct kernel_counters *counters,
                               const struct counted_kernel *kernel, void *context),
                    void *context, struct table **out, struct error *err)
{
    struct table *table = table_new(columns, column_count);
    struct kernel_counters counters;
    int code;

    if ((code = kernel_counters_read(&counters, report, err)) != 0)
        goto done;
    code = table ? 0 : ERR_NO_MEMORY;
    for (size_t i = 0; table && i < counters.kernel_count; i++)
        if ((code = add(table, &counters, &counters.kernels[i], context)) != 0)
            break;
done:
    kernel_counters_free(&counters);
    return table_hand_over(table, code, out, err);
}

int counters_set_kernel(struct table *table, struct table_cell *launch, struct table_cell *name,
                        const struct kernel_counters *counters, const struct counted_kernel *kernel)
{
    if (kernel->launch >= 0)
        cell_set_int(launch, kernel->launch);
    return cell_set_pooled(table, name, counters->report, kernel->name);
}

void counters_add_name(struct text *list, const char *name)
{
    text_addf(list, "%s%s", list->length ? ", " : "", name);
}

int counters_set_names(struct table *table, struct table_cell *cell, struct text *list)
{
    int code = list->length || text_failed(list) ? cell_set_built(table, cell, list) : 0;

    text_free(list);
    return code;
}

int counters_is_part(const char *metric)
{
    return *metric >= 'A' && *metric <= 'Z' && strchr(metric, '.') && strstr(metric, "__") > strchr(metric, '.');
}
