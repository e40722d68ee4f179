/* kernel_stalls: why warps did not issue an instruction. */
#include <stdlib.h>
#include <string.h>

#include "abi/counters/counter_sections.h"
#include "analyze/engine/cell_text.h"
#include "analyze/registry.h"
#include "base/array.h"
#include "counters_report.h"

enum { LAUNCH, REASON, SHARE, CYCLES, MISSING, KERNEL, COLUMNS };
static const struct table_column kernel_stalls_columns[COLUMNS] = {
    [LAUNCH] = { "ID", CELL_INT, UNIT_ID, 0 },
    [REASON] = { "Reason", CELL_TEXT, UNIT_NONE, 0 },
    [SHARE] = { "Share", CELL_REAL, UNIT_PERCENT, 1 },
    [CYCLES] = { "Value", CELL_REAL, UNIT_NONE, 2 },
    [MISSING] = { "Not Collected", CELL_TEXT, UNIT_NONE, 0 },
    [KERNEL] = { "Name", CELL_TEXT, UNIT_NAME, 0 },
};

/* Metrics with a reason in the middle of their name: counters, else samples. */
static const struct family {
    const char *before, *behind;
} families[] = {
    { "smsp__average_warps_issue_stalled_", "_per_issue_active.ratio" },
    { "smsp__pcsamp_warps_issue_stalled_", "" },
};
#define FAMILIES COUNT_OF(families)
#define NOT_ISSUED "_not_issued" /* the same once more, for cycles without an instruction */

/* The reason in a metric's name; its length is 0 if it is not of the family. */
static const char *kernel_stalls_reason_of(const char *metric, const struct family *family, size_t *length)
{
    size_t whole = strlen(metric), before = strlen(family->before), behind = strlen(family->behind);

    *length = 0;
    if (whole <= before + behind || strncmp(metric, family->before, before) != 0 ||
        strcmp(metric + whole - behind, family->behind) != 0 || strstr(metric, NOT_ISSUED))
        return metric;
    *length = whole - before - behind;
    return metric + before;
}

static const char *reason_in(const struct kernel_counters *counters, const struct counter_value *value,
                             const struct family *family, size_t *length)
{
    const char *reason = kernel_stalls_reason_of(counters->metrics[value->metric].name, family, length);

    *length = isnan(value->value) ? 0 : *length;
    return reason;
}

static int by_share(const struct table_cell *a, const struct table_cell *b, void *context)
{
    return COMPARE(b[CYCLES].real, a[CYCLES].real);
}

/* Whether a value of the kernel has a reason that begins with this one: no_instruction is no_instructions in samples.
 */
static int has_reason(const struct kernel_counters *counters, const struct counted_kernel *kernel,
                      const struct family *family, const char *wanted, size_t wanted_length)
{
    size_t length;

    for (size_t i = kernel->first; i < kernel->first + kernel->count; i++) {
        const char *reason = reason_in(counters, &counters->values[i], family, &length);
        if (length >= wanted_length && memcmp(reason, wanted, wanted_length) == 0)
            return 1;
    }
    return 0;
}

/* Adds the reasons that all chips have, and the kernel lacks: without them, shares would be of an unknown part. */
static void kernel_stalls_add_missing(struct text *missing, const struct kernel_counters *counters,
                                      const struct counted_kernel *kernel, const struct family *family)
{
    const struct counter_section *section = counter_section_find("WarpStateStats");
    size_t length;

    for (const struct section_metric *metric = section->metrics; metric->names; metric++) {
        const char *reason = kernel_stalls_reason_of(metric->names, &families[0], &length);
        if (length && metric->chips && !*metric->chips && !has_reason(counters, kernel, family, reason, length))
            text_addf(missing, "%s%.*s", missing->length ? ", " : "", (int)length, reason);
    }
}

/* The rows of a family; none if the kernel lacks its metrics. */
static int add_family(struct table *table, const struct kernel_counters *counters, const struct counted_kernel *kernel,
                      const struct family *family)
{
    size_t length, first = table_row_count(table), end = kernel->first + kernel->count;
    struct text missing = { 0 };
    double total = 0;
    int code = ERR_NO_MEMORY;

    for (size_t i = kernel->first; i < end; i++) {
        reason_in(counters, &counters->values[i], family, &length);
        total += length ? counters->values[i].value : 0;
    }
    kernel_stalls_add_missing(&missing, counters, kernel, family);
    for (size_t i = kernel->first; i < end; i++) {
        const struct counter_value *value = &counters->values[i];
        const char *reason = reason_in(counters, value, family, &length);
        struct table_cell *row = length ? table_add_row(table) : NULL;
        if (!length)
            continue;
        if (!row || cell_set_text(table, &row[REASON], reason, length) != 0 ||
            counters_set_kernel(table, &row[LAUNCH], &row[KERNEL], counters, kernel) != 0 ||
            (missing.length && cell_set_built(table, &row[MISSING], &missing) != 0))
            goto free_missing;
        if (total > 0 && !missing.length)
            cell_set_real(&row[SHARE], 100 * value->value / total);
        cell_set_real(&row[CYCLES], value->value);
    }
    table_sort_part(table, first, table_row_count(table) - first, by_share, NULL);
    code = 0;
free_missing:
    text_free(&missing);
    return code;
}

static int kernel_stalls_add_kernel(struct table *table, const struct kernel_counters *counters,
                                    const struct counted_kernel *kernel, void *context)
{
    size_t before = table_row_count(table);

    for (size_t i = 0; i < FAMILIES && table_row_count(table) == before; i++)
        if (add_family(table, counters, kernel, &families[i]) != 0)
            return ERR_NO_MEMORY;
    if (table_row_count(table) > before)
        return 0;
    struct table_cell *row = table_add_row(table);
    struct text missing = { 0 };
    if (!row)
        return ERR_NO_MEMORY;
    text_addf(&missing, "%s*%s", families[0].before, families[0].behind);
    if (counters_set_names(table, &row[MISSING], &missing) != 0)
        return ERR_NO_MEMORY;
    return counters_set_kernel(table, &row[LAUNCH], &row[KERNEL], counters, kernel);
}

static int kernel_stalls_run(struct report *report, const struct analysis_request *request, struct table **out,
                             struct error *err)
{
    return counters_report(report, kernel_stalls_columns, COLUMNS, kernel_stalls_add_kernel, NULL, out, err);
}

const struct analysis analysis_kernel_stalls = {
    .name = "kernel_stalls",
    .title = "Kernel Stall Reasons",
    .help =
        "What the warps of each counted kernel waited for, as a share of all their time: from counters (Value: "
        "warps in this state for each instruction that was issued), else from samples (Value: samples). selected is "
        "no stall: the warp issued an instruction. Not Collected names the reasons, or metrics, that a kernel lacks: "
        "shares need all reasons.",
    .needs = { KERNEL_COUNTER_NEED },
    .run = kernel_stalls_run,
};
