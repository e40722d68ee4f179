/* nvtx_pushpop_trace: every push/pop range, where it lies in its thread's stack, and what time was its own.
 *
 * Which range lies in which is found from times alone, thread by thread and across domains, as nsys does. */
#include <stdlib.h>
#include <string.h>

#include "events.h"
#include "nvtx.h"
#include "reports.h"

enum { NO_PARENT = -1, DEEPEST_SHOWN = 1000 }; /* deeper stacks show their innermost ranges: the text would grow with the square */

struct range {
    int64_t start_ns, end_ns, thread;
    size_t row; /* in NVTX_EVENTS */
    int64_t name, domain;
    int64_t parent; /* index of the enclosing range, or NO_PARENT */
    int64_t children_ns;
    uint32_t level, children;
};

struct trace {
    struct report *report;
    struct nvtx_domains domains;
    struct range *ranges; /* owned; by thread, then outer before inner */
    size_t count;
    struct text label, scratch;
};

static int is_null(const struct report_columns *columns, int column, size_t row)
{
    return columns->nulls[column] && (columns->nulls[column][row / 64] >> (row % 64) & 1);
}

static int64_t name_of(const struct report_columns *columns, size_t row)
{
    if (!is_null(columns, NVTX_TEXT, row))
        return columns->values[NVTX_TEXT][row];
    return is_null(columns, NVTX_TEXT_ID, row) ? NVTX_NO_NAME : columns->values[NVTX_TEXT_ID][row];
}

static int64_t last_moment(const struct report_columns *columns)
{
    int64_t last_ns = INT64_MIN;

    for (size_t row = 0; row < columns->rows; row++) {
        int64_t end = columns->values[is_null(columns, NVTX_END, row) ? NVTX_START : NVTX_END][row];
        last_ns = end > last_ns ? end : last_ns;
    }
    return last_ns;
}

/* Picks the ranges and the domains out of the table. */
static int collect(struct trace *trace, const struct report_columns *columns, const struct report_span *span)
{
    int64_t last_ns = last_moment(columns);

    trace->ranges = malloc((columns->rows + 1) * sizeof *trace->ranges);
    if (!trace->ranges)
        return ERR_NO_MEMORY;
    for (size_t row = 0; row < columns->rows; row++) {
        int64_t type = columns->values[NVTX_TYPE][row], thread = columns->values[NVTX_THREAD][row];
        int64_t start = columns->values[NVTX_START][row];
        int64_t end = is_null(columns, NVTX_END, row) ? last_ns : columns->values[NVTX_END][row];
        int64_t domain = is_null(columns, NVTX_DOMAIN, row) ? 0 : columns->values[NVTX_DOMAIN][row];
        if (type == EVENT_NVTX_DOMAIN_CREATE) {
            struct nvtx_domain created = { global_process(thread), domain, start, name_of(columns, row) };
            if (nvtx_domains_add(&trace->domains, &created) != 0)
                return ERR_NO_MEMORY;
        } else if ((type == EVENT_NVTX_PUSHPOP || type == EVENT_NVTXT_PUSHPOP) && span_overlaps(span, start, end)) {
            trace->ranges[trace->count++] = (struct range){ .start_ns = start, .end_ns = end, .thread = thread, .row = row,
                                                            .name = name_of(columns, row), .domain = domain };
        }
    }
    nvtx_domains_sort(&trace->domains);
    return 0;
}

static int compare_number(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_in_thread(const struct range *a, const struct range *b)
{
    int order = compare_number(a->start_ns, b->start_ns);

    if (!order)
        order = compare_number(b->end_ns, a->end_ns); /* the longer one is outside */
    return order ? order : (a->row > b->row) - (a->row < b->row);
}

static int by_thread(const void *a, const void *b)
{
    const struct range *x = a, *y = b;
    int order = compare_number(x->thread, y->thread);

    return order ? order : compare_in_thread(x, y);
}

static int by_time(const void *a, const void *b)
{
    const struct range *x = *(const struct range *const *)a, *y = *(const struct range *const *)b;
    int order = compare_number(x->start_ns, y->start_ns);

    if (!order)
        order = compare_number(x->thread, y->thread);
    return order ? order : compare_in_thread(x, y);
}

/* Finds each range's parent, with the parent field as the link of the stack. A range that ends before the next one does
 * cannot hold that one, nor any later one that the next would not hold too, so it can leave the stack for good. */
static void nest(struct trace *trace)
{
    int64_t top = NO_PARENT;

    for (size_t i = 0; i < trace->count; i++) {
        struct range *range = &trace->ranges[i];
        if (i > 0 && trace->ranges[i - 1].thread != range->thread)
            top = NO_PARENT;
        while (top != NO_PARENT && trace->ranges[top].end_ns < range->end_ns)
            top = trace->ranges[top].parent;
        range->parent = top;
        if (top != NO_PARENT) {
            struct range *parent = &trace->ranges[top];
            range->level = parent->level + 1;
            parent->children++;
            parent->children_ns += duration_of(range->start_ns, range->end_ns);
        }
        top = (int64_t)i;
    }
}

/* ":2:3:7", outermost first. Written from the end, as the links lead outwards. */
static int set_range_stack(const struct trace *trace, struct table *table, struct table_cell *cell, const struct range *range)
{
    static const char cut[] = "…";
    char text[DEEPEST_SHOWN * 21 + sizeof cut];
    size_t at = sizeof text;

    for (int shown = 0; range && shown < DEEPEST_SHOWN; shown++) {
        uint64_t id = range->row + 1;
        do
            text[--at] = (char)('0' + id % 10);
        while (id /= 10);
        text[--at] = ':';
        range = range->parent == NO_PARENT ? NULL : &trace->ranges[range->parent];
    }
    if (range) {
        at -= sizeof cut - 1;
        memcpy(text + at, cut, sizeof cut - 1);
    }
    return cell_set_text(table, cell, text + at, sizeof text - at);
}

static int set_name_tree(struct trace *trace, struct table *table, struct table_cell *cell, const struct range *range)
{
    text_clear(&trace->scratch);
    text_add_repeat(&trace->scratch, '-', 2 * (size_t)(range->level < DEEPEST_SHOWN ? range->level : DEEPEST_SHOWN));
    text_add_bytes(&trace->scratch, trace->label.bytes, trace->label.length);
    return cell_set_text(table, cell, trace->scratch.bytes, trace->scratch.length);
}

enum { START, END, DURATION, CHILDREN_NS, OWN_NS, NAME, PID, TID, LEVEL, CHILDREN, ID, PARENT, STACK, TREE, COLUMNS };

static const struct table_column trace_columns[COLUMNS] = {
    [START] = { "Start", CELL_INT, UNIT_NS, 0 },
    [END] = { "End", CELL_INT, UNIT_NS, 0 },
    [DURATION] = { "Duration", CELL_INT, UNIT_NS, 0 },
    [CHILDREN_NS] = { "DurChild", CELL_INT, UNIT_NS, 0 },
    [OWN_NS] = { "DurNonChild", CELL_INT, UNIT_NS, 0 },
    [NAME] = { "Name", CELL_TEXT, UNIT_NONE, 0 },
    [PID] = { "PID", CELL_INT, UNIT_ID, 0 },
    [TID] = { "TID", CELL_INT, UNIT_ID, 0 },
    [LEVEL] = { "Lvl", CELL_INT, UNIT_ID, 0 },
    [CHILDREN] = { "NumChild", CELL_INT, UNIT_NONE, 0 },
    [ID] = { "RangeId", CELL_INT, UNIT_ID, 0 },
    [PARENT] = { "ParentId", CELL_INT, UNIT_ID, 0 },
    [STACK] = { "RangeStack", CELL_TEXT, UNIT_NONE, 0 },
    [TREE] = { "NameTree", CELL_TEXT, UNIT_NONE, 0 },
};

static int add_row(struct trace *trace, struct table *table, const struct range *range)
{
    int64_t domain = range->domain ? nvtx_domain_name(&trace->domains, global_process(range->thread), range->domain) : NVTX_NO_NAME;
    int64_t duration = duration_of(range->start_ns, range->end_ns);
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    nvtx_label(&trace->label, trace->report, domain, range->name);
    cell_set_int(&row[START], range->start_ns);
    cell_set_int(&row[END], range->end_ns);
    cell_set_int(&row[DURATION], duration);
    cell_set_int(&row[CHILDREN_NS], range->children_ns);
    cell_set_int(&row[OWN_NS], duration_of(range->children_ns, duration));
    cell_set_int(&row[PID], global_pid_number(range->thread));
    cell_set_int(&row[TID], global_tid_number(range->thread));
    cell_set_int(&row[LEVEL], range->level);
    cell_set_int(&row[CHILDREN], range->children);
    cell_set_int(&row[ID], (int64_t)range->row + 1);
    if (range->parent != NO_PARENT)
        cell_set_int(&row[PARENT], (int64_t)trace->ranges[range->parent].row + 1);
    if (cell_set_text(table, &row[NAME], trace->label.bytes, trace->label.length) != 0 ||
        set_range_stack(trace, table, &row[STACK], range) != 0)
        return ERR_NO_MEMORY;
    if (set_name_tree(trace, table, &row[TREE], range) != 0 || text_failed(&trace->label) || text_failed(&trace->scratch))
        return ERR_NO_MEMORY;
    return 0;
}

static int fill_table(struct trace *trace, struct table *table)
{
    const struct range **order = malloc((trace->count + 1) * sizeof *order);
    int code = order ? 0 : ERR_NO_MEMORY;

    if (order) {
        for (size_t i = 0; i < trace->count; i++)
            order[i] = &trace->ranges[i];
        qsort(order, trace->count, sizeof *order, by_time);
    }
    for (size_t i = 0; i < trace->count && code == 0; i++)
        code = add_row(trace, table, order[i]);
    free(order);
    return code;
}

static int nvtx_pushpop_trace(struct report *report, const struct analysis_request *request, struct table **out, struct error *err)
{
    const struct report_table *events = report_table(report, "NVTX_EVENTS");
    struct trace trace = { .report = report };
    struct report_columns columns;
    struct table *table = NULL;
    int wanted[NVTX_COLUMNS];

    nvtx_columns(events, wanted);
    int code = report_read(report, events, wanted, NVTX_COLUMNS, &columns, err);
    if (code != 0)
        return code;
    code = collect(&trace, &columns, request->span);
    report_columns_free(&columns);
    if (code == 0) {
        qsort(trace.ranges, trace.count, sizeof *trace.ranges, by_thread);
        nest(&trace);
        table = table_new(trace_columns, COLUMNS);
        code = table ? fill_table(&trace, table) : ERR_NO_MEMORY;
    }
    if (code == 0) {
        *out = table;
    } else {
        table_delete(table);
        error_set(err, code, "not enough memory for the ranges");
    }
    nvtx_domains_free(&trace.domains);
    text_free(&trace.label);
    text_free(&trace.scratch);
    free(trace.ranges);
    return code;
}

static const char *const tables[] = { "NVTX_EVENTS", NULL };
const struct analysis analysis_nvtx_pushpop_trace = {
    .name = "nvtx_pushpop_trace", .old_name = "nvtxpptrace", .title = "NVTX Push/Pop Range Trace", .usage = "",
    .help = "Every NVTX push/pop range in order of its start: how deep it lies, in which range, and how much of its time "
            "is its own. RangeId is the range's row in NVTX_EVENTS.",
    .data = "NV Tools Extension (NVTX)", .tables = tables, .run = nvtx_pushpop_trace,
};
