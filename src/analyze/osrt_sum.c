/* osrt_sum: time in the calls of the C library and pthread, by function. */
#include "events.h"
#include "group.h"
#include "reports.h"
#include "summary.h"

enum { START, END, CLASS, NAME, COLUMNS };

struct scan {
    struct groups *groups;
    const struct report_span *span;
};

static int visit(void *context, int worker, const struct report_block *block)
{
    struct scan *scan = context;

    for (size_t row = 0; row < block->rows; row++) {
        int64_t start = block->values[START][row], end = block->values[END][row];
        if (block->values[CLASS][row] != EVENT_CLASS_OSRT) /* nsys keeps its own notes in the same table */
            continue;
        if (!span_overlaps(scan->span, start, end))
            continue;
        struct group_key key = { { block->values[NAME][row] } };
        if (groups_add(scan->groups, worker, &key, duration_of(start, end)) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static void label(void *context, const struct group *group, struct summary_label *out)
{
    out->name = report_string(context, group->key.part[0], &out->name_length);
}

static int osrt_sum(struct report *report, const struct analysis_request *request, struct table **out, struct error *err)
{
    static const struct summary_shape shape = { .count_name = "Num Calls", .name_name = "Name", .label = label };
    const struct report_table *table = report_table(report, "OSRT_API");
    int columns[COLUMNS] = { report_column(table, "start"), report_column(table, "end"),
                             report_column(table, "eventClass"), report_column(table, "nameId") };
    struct scan scan = { groups_new(report_workers(report)), request->span };
    struct group *groups;
    size_t count;

    if (!scan.groups)
        return error_set(err, ERR_NO_MEMORY, "not enough memory to group the events");
    int code = report_scan(report, table, columns, COLUMNS, request->span, visit, &scan, err);
    if (code == 0)
        code = groups_finish(scan.groups, NULL, NULL, &groups, &count, err);
    if (code == 0)
        code = summary_table(&shape, groups, count, report, out, err);
    groups_delete(scan.groups);
    return code;
}

static const char *const tables[] = { "OSRT_API", NULL };
const struct analysis analysis_osrt_sum = {
    .name = "osrt_sum", .old_name = "osrtsum", .title = "OS Runtime Summary", .usage = "",
    .help = "Time in the blocking and I/O calls of the C library and pthread, by function, over all threads. Calls "
            "shorter than the capture's threshold are counted in `tacho info`, not here.",
    .data = "OS Runtime trace", .tables = tables, .by_default = 2, .run = osrt_sum,
};
