/* nvtx_pushpop_trace: every push/pop range with its place in its thread's stack and its own time.
 *
 * The nesting follows from times alone, thread by thread and across domains, as in nsys. */
#include <stdlib.h>

#include "analyze/engine/cell_text.h"
#include "analyze/model/ranges.h"
#include "analyze/registry.h"
#include "base/array.h"

struct range_trace {
    struct report *report;
    struct ranges ranges;
    int64_t *children_ns; /* owned; by range */
    struct text label, scratch;
};

static int sum_children(struct range_trace *trace)
{
    trace->children_ns = calloc(trace->ranges.count + 1, sizeof *trace->children_ns);
    if (!trace->children_ns)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < trace->ranges.count; i++) {
        const struct range *range = &trace->ranges.list[i];
        if (range->parent != NO_RANGE)
            trace->children_ns[range->parent] = saturating_add(trace->children_ns[range->parent],
                                                               saturating_duration(range->start_ns, range->end_ns));
    }
    return 0;
}

static int pushpop_trace_by_time(const void *a, const void *b)
{
    const struct range *x = *(const struct range *const *)a, *y = *(const struct range *const *)b;

    return COMPARE(x->start_ns, y->start_ns) ?: COMPARE(x, y); /* by thread, outer before inner */
}

static int set_name_tree(struct range_trace *trace, struct table *table, struct table_cell *cell,
                         const struct range *range)
{
    text_clear(&trace->scratch);
    text_add_repeat(&trace->scratch, '-',
                    2 * (size_t)(range->level < RANGES_DEEPEST_SHOWN ? range->level : RANGES_DEEPEST_SHOWN));
    text_add_bytes(&trace->scratch, trace->label.bytes, trace->label.length);
    return cell_set_built(table, cell, &trace->scratch);
}

enum { START, END, DURATION, CHILDREN_NS, OWN_NS, NAME, PID, TID, LEVEL, CHILDREN, ID, PARENT, STACK, TREE, COLUMNS };

static const struct table_column pushpop_trace_columns[COLUMNS] = {
    [START] = { "Start", CELL_INT, UNIT_TIME, 0 },
    [END] = { "End", CELL_INT, UNIT_TIME, 0 },
    [DURATION] = { "Duration", CELL_INT, UNIT_NS, 0 },
    [CHILDREN_NS] = { "DurChild", CELL_INT, UNIT_NS, 0 },
    [OWN_NS] = { "DurNonChild", CELL_INT, UNIT_NS, 0 },
    [NAME] = { "Name", CELL_TEXT, UNIT_NAME, 0 },
    [PID] = { "PID", CELL_INT, UNIT_ID, 0 },
    [TID] = { "TID", CELL_INT, UNIT_ID, 0 },
    [LEVEL] = { "Lvl", CELL_INT, UNIT_ID, 0 },
    [CHILDREN] = { "NumChild", CELL_INT, UNIT_NONE, 0 },
    [ID] = { "RangeId", CELL_INT, UNIT_ID, 0 },
    [PARENT] = { "ParentId", CELL_INT, UNIT_ID, 0 },
    [STACK] = { "RangeStack", CELL_TEXT, UNIT_NONE, 0 },
    [TREE] = { "NameTree", CELL_TEXT, UNIT_NONE, 0 },
};

static int pushpop_trace_add_row(struct range_trace *trace, struct table *table, const struct range *range)
{
    int64_t duration = saturating_duration(range->start_ns, range->end_ns);
    int64_t children_ns = trace->children_ns[range - trace->ranges.list];
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_int(&row[START], range->start_ns);
    cell_set_int(&row[END], range->end_ns);
    cell_set_int(&row[DURATION], duration);
    cell_set_int(&row[CHILDREN_NS], children_ns);
    cell_set_int(&row[OWN_NS], saturating_duration(children_ns, duration));
    cell_set_int(&row[PID], global_pid_number(range->thread));
    cell_set_int(&row[TID], global_tid_number(range->thread));
    cell_set_int(&row[LEVEL], range->level);
    cell_set_int(&row[CHILDREN], range->children);
    cell_set_int(&row[ID], (int64_t)range->row + 1);
    if (range->parent != NO_RANGE)
        cell_set_int(&row[PARENT], (int64_t)trace->ranges.list[range->parent].row + 1);
    range_label(&trace->label, trace->report, range);
    range_stack(&trace->scratch, &trace->ranges, range);
    if (cell_set_built(table, &row[NAME], &trace->label) != 0 ||
        cell_set_built(table, &row[STACK], &trace->scratch) != 0)
        return ERR_NO_MEMORY;
    return set_name_tree(trace, table, &row[TREE], range);
}

static int pushpop_trace_fill_table(struct range_trace *trace, struct table *table)
{
    const struct range **order = malloc((trace->ranges.count + 1) * sizeof *order);
    int code = ERR_NO_MEMORY;

    if (!order)
        return code;
    if ((code = sum_children(trace)) != 0)
        goto free_order;
    for (size_t i = 0; i < trace->ranges.count; i++)
        order[i] = &trace->ranges.list[i];
    qsort(order, trace->ranges.count, sizeof *order, pushpop_trace_by_time);
    for (size_t i = 0; i < trace->ranges.count; i++)
        if ((code = pushpop_trace_add_row(trace, table, order[i])) != 0)
            goto free_order;
free_order:
    free(order);
    return code;
}

static int nvtx_pushpop_trace(struct report *report, const struct analysis_request *request, struct table **out,
                              struct error *err)
{
    struct table *table = table_new(pushpop_trace_columns, COLUMNS);
    struct range_trace trace = { .report = report };
    struct filter filter = { 0 };
    int code;

    if ((code = filter_open(&filter, report, request, err)) != 0)
        goto done;
    if ((code = ranges_read(&trace.ranges, report, RANGE_PUSHPOP, &filter, err)) != 0)
        goto done;
    ranges_nest(&trace.ranges);
    if (!table || pushpop_trace_fill_table(&trace, table) != 0)
        code = error_short_memory(err, "for the ranges");
done:
    filter_close(&filter);
    ranges_free(&trace.ranges);
    free(trace.children_ns);
    text_free(&trace.label);
    text_free(&trace.scratch);
    return table_hand_over(table, code, out, err);
}

const struct analysis analysis_nvtx_pushpop_trace = {
    .name = "nvtx_pushpop_trace",
    .title = "NVTX Push/Pop Range Trace",
    .help = "All NVTX push/pop ranges by start time, with their nesting level, their parent range, and their self time "
            "(without child ranges). RangeId is the row of the range in NVTX_EVENTS.",
    .needs = { { "NV Tools Extension (NVTX) data", TABLES("NVTX_EVENTS") } },
    .overlap = "ranges contain each other",
    .run = nvtx_pushpop_trace,
};
