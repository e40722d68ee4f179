/* Shared by the reports on counters of kernels. */
#ifndef TACHO_ANALYZE_REPORTS_COUNTERS_COUNTERS_REPORT_H
#define TACHO_ANALYZE_REPORTS_COUNTERS_COUNTERS_REPORT_H

#include <math.h>

#include "analyze/engine/cell_text.h"
#include "analyze/model/counters/kernel_counters.h"

/* Runs a report that adds rows for each kernel. `add` returns 0 or ERR_NO_MEMORY. */
int counters_report(struct report *report, const struct table_column *columns, size_t column_count,
                    int (*add)(struct table *table, const struct kernel_counters *counters,
                               const struct counted_kernel *kernel, void *context),
                    void *context, struct table **out, struct error *err);

/* Sets a cell unless the number is NAN. */
static inline void cell_set_number(struct table_cell *cell, double value)
{
    if (!isnan(value))
        cell_set_real(cell, value);
}

static inline void cell_set_rounded(struct table_cell *cell, double value)
{
    if (fabs(value) < 9e18)
        cell_set_int(cell, llround(value));
}

/* Sets the cells with the launch and the name of a kernel. */
int counters_set_kernel(struct table *table, struct table_cell *launch, struct table_cell *name,
                        const struct kernel_counters *counters, const struct counted_kernel *kernel);

/* Adds a name to a list: "a, b". */
void counters_add_name(struct text *list, const char *name);
/* Sets the cell if the list has names, and frees the list. */
int counters_set_names(struct table *table, struct table_cell *cell, struct text *list);

/* Whether a metric is part of another one: its name begins with a unit in capitals (TPC.TriageCompute…). ncu's raw page
 * lists these metrics first, but people want them last. */
int counters_is_part(const char *metric);

#endif
