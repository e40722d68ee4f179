/* Operators of PyTorch in the last lines: those that took most time themselves. Annotations and the kernels that
 * torch's table has beside them are no operators. */
#include "torch_summary.h"

#include "analyze/reports/torch/torch_ops.h"
#include "base/saturating.h"
#include "wire/wire.h"

enum { MOST_COUNTED = 2000000 }; /* about two seconds */
enum { SHARE, TOTAL, COUNT, NAME, COLUMNS };
static const struct table_column torch_summary_columns[COLUMNS] = {
    [SHARE] = { "Time", CELL_REAL, UNIT_PERCENT, 1 },
    [TOTAL] = { "Self Time", CELL_INT, UNIT_NS, 0 },
    [COUNT] = { "Calls", CELL_INT, UNIT_NONE, 0 },
    [NAME] = { "Operator", CELL_TEXT, UNIT_NONE, 0 },
};

/* NULL: the row is none. */
static const struct table_cell *torch_summary_time_of(const struct table_cell *row, int by_gpu)
{
    const struct table_cell *time = &row[by_gpu ? TORCH_SELF_DEVICE : TORCH_SELF_CPU];

    return row[TORCH_ON_DEVICE].integer || row[TORCH_IS_ANNOTATION].integer || time->real <= 0 ? NULL : time;
}

static int torch_summary_fill(struct table *table, const struct table *all, int by_gpu)
{
    double sum = 0;

    for (size_t i = 0; i < table_row_count(all); i++) {
        const struct table_cell *time = torch_summary_time_of(table_row(all, i), by_gpu);
        sum += time ? time->real : 0;
    }
    for (size_t i = 0; i < table_row_count(all); i++) {
        const struct table_cell *from = table_row(all, i), *time = torch_summary_time_of(from, by_gpu);
        if (!time)
            continue;
        struct table_cell *row = table_add_row(table);
        if (!row || cell_set_text(table, &row[NAME], from[TORCH_KEY].text.bytes, from[TORCH_KEY].text.length) != 0)
            return ERR_NO_MEMORY;
        cell_set_real(&row[SHARE], 100 * time->real / sum);
        cell_set_int(&row[TOTAL], saturating_from_double(time->real * 1000 + 0.5));
        cell_set_int(&row[COUNT], from[TORCH_COUNT].integer);
    }
    return 0;
}

/* By their own time, on the CPU or that of their kernels: share, total, count, name; the largest first. NULL: there are
 * none, or too many to count them while somebody waits. */
static struct table *torch_summary_read_operators(struct report *report, int by_gpu)
{
    const struct torch_ops_request request = { .sort_by = by_gpu ? "self_device_time_total" : "self_cpu_time_total" };
    const struct analysis_request everything = { 0 };
    const struct report_table *recorded = report_table(report, "TACHO_TORCH_OP");
    struct torch_ops ops;
    struct error err;

    if (!recorded || !recorded->rows || recorded->rows > MOST_COUNTED ||
        torch_ops(&ops, report, &everything, &request, &err) != 0)
        return NULL;
    struct table *table = table_new(torch_summary_columns, COLUMNS);
    int is_filled = table && torch_summary_fill(table, ops.table, by_gpu) == 0 && table_row_count(table);
    table_delete(ops.table);
    if (is_filled)
        return table;
    table_delete(table);
    return NULL;
}

static void *torch_summary_find(struct summary *summary)
{
    struct table *operators = torch_summary_read_operators(summary->shown, summary->has_gpu_work);

    const struct event_counts *counts = &summary->facts.sources.counts;
    const struct counted_source *ranges = event_counts_find(counts, wire_source_name(WIRE_SOURCE_NVTX));

    /* ranges that are the operators once more */
    if (operators && counts->source_count && (!ranges || !ranges->recorded))
        summary_drop_table(summary, &cmd_source_nvtx);
    return operators;
}

static void free_operators(void *operators)
{
    table_delete(operators);
}

static void add_brief(struct text *out, const void *operators)
{
    summary_add_names(out, operators, "PyTorch operators, by GPU time of their kernels");
}

/* Operators without work on a GPU: they come first. */
static void torch_summary_lead(struct text *out, struct summary *summary, const void *operators)
{
    enum { LEAST_ROWS = 3, MOST_ROWS = 5 };
    size_t rows = summary_take_lines(summary, 1 + LEAST_ROWS) ? LEAST_ROWS : 0;
    uint32_t tables = summary_take_tables(summary);

    if (rows && summary_take_lines(summary, MOST_ROWS - LEAST_ROWS))
        rows = MOST_ROWS;
    if (rows)
        summary_add_top(out, summary, operators, "PyTorch operators, by self CPU time", rows);
    summary_add_tables(out, summary, tables);
}

const struct source_summary torch_summary = {
    .find = torch_summary_find,
    .free = free_operators,
    .lead = torch_summary_lead,
    .add_brief = add_brief,
    .next = "ops",
    .next_also = "or stats for all tables, or view for the timeline",
};
