/* cpu_event_sum: what counters of the CPU and the kernel counted, and the metrics that are made of them. */
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/keys.h"
#include "analyze/model/cpu_metrics.h"
#include "analyze/model/filter.h"
#include "analyze/registry.h"

const struct cpu_metric cpu_metrics[CPU_METRICS] = {
    { "ipc", "instructions", "cycles" },
    { "cache-miss-rate", "cache-misses", "cache-references" },
    { "branch-miss-rate", "branch-misses", "branches" },
};

struct total {
    int64_t request, name;         /* PMU_EVENT_REQUESTS.id; in the string pool */
    int64_t value;
    int64_t start_ns, end_ns, sum; /* of the reading at hand: all CPUs are read at one time */
    double most;                   /* a second, in the busiest one */
};

struct totals {
    struct total *list; /* owned */
    size_t count;
    int64_t first_ns, last_ns;
};

/* ---- reading --------------------------------------------------------------------------------------------------- */

static int read_requests(struct totals *totals, struct report *report, struct error *err)
{
    enum { ID, NAME, COLUMNS };
    static const char *const names[COLUMNS] = { "id", "event_name" };
    struct report_columns rows = { 0 };
    int code = columns_read(report, "PMU_EVENT_REQUESTS", names, COLUMNS, &rows, err);

    totals->list = code == 0 ? calloc(rows.rows + 1, sizeof *totals->list) : NULL;
    if (code == 0 && !totals->list)
        code = error_set(err, ERR_NO_MEMORY, "not enough memory for the counters");
    for (size_t row = 0; row < rows.rows && code == 0; row++)
        if (!columns_is_null(&rows, NAME, row))
            totals->list[totals->count++] = (struct total){ .request = rows.values[ID][row],
                                                            .name = rows.values[NAME][row] };
    if (rows.values)
        report_columns_free(&rows);
    return code;
}

static void end_reading(struct total *total)
{
    int64_t length = saturating_duration(total->start_ns, total->end_ns);
    double rate = length > 0 ? (double)total->sum * 1e9 / (double)length : 0;

    total->most = rate > total->most ? rate : total->most;
    total->sum = 0;
}

static void add(struct totals *totals, int64_t request, int64_t value, int64_t start_ns, int64_t end_ns)
{
    for (size_t i = 0; i < totals->count; i++) {
        struct total *total = &totals->list[i];
        if (total->request != request)
            continue;
        if (total->start_ns != start_ns)
            end_reading(total);
        total->start_ns = start_ns;
        total->end_ns = end_ns;
        total->sum = saturating_add(total->sum, value);
        total->value = saturating_add(total->value, value);
    }
}

/* Readings that lie within the time that is asked for, at least in part. */
static int read_values(struct totals *totals, struct report *report, const struct report_span *span, struct error *err)
{
    enum { START, END, COUNTER, EVENT_COLUMNS };
    enum { ID, REQUEST, VALUE, VALUE_COLUMNS };
    static const char *const event_names[EVENT_COLUMNS] = { "start", "end", "counter_id" },
                             *const value_names[VALUE_COLUMNS] = { "id", "idx", "value" };
    struct report_columns events = { 0 }, values = { 0 };
    struct keys ids = { .width = 1 };
    size_t *rows = NULL; /* of an id, its reading: the first, where a file has several */
    int code = columns_read(report, "PMU_EVENTS", event_names, EVENT_COLUMNS, &events, err);

    if (code == 0)
        code = columns_read(report, "PMU_EVENT_COUNTERS", value_names, VALUE_COLUMNS, &values, err);
    if (code == 0 && !(rows = malloc((events.rows + 1) * sizeof *rows)))
        code = error_set(err, ERR_NO_MEMORY, "not enough memory for the counters");
    for (size_t row = 0; row < events.rows && code == 0; row++) {
        int64_t start = events.values[START][row], end = events.values[END][row];
        totals->first_ns = row == 0 || start < totals->first_ns ? start : totals->first_ns;
        totals->last_ns = row == 0 || end > totals->last_ns ? end : totals->last_ns;
        if (columns_is_null(&events, COUNTER, row))
            continue;
        size_t known = ids.count;
        uint32_t key = keys_add(&ids, &events.values[COUNTER][row]);
        if (key == NO_KEY)
            code = error_set(err, ERR_NO_MEMORY, "not enough memory for the counters");
        else if (key == known)
            rows[key] = row;
    }
    for (size_t i = 0; i < values.rows && code == 0; i++) {
        uint32_t key = keys_find(&ids, &values.values[ID][i]);
        if (key == NO_KEY)
            continue;
        int64_t start = events.values[START][rows[key]], end = events.values[END][rows[key]];
        if (!span || (start < span->to_ns && end > span->from_ns))
            add(totals, values.values[REQUEST][i], values.values[VALUE][i], start, end);
    }
    keys_free(&ids);
    free(rows);
    if (events.values)
        report_columns_free(&events);
    if (values.values)
        report_columns_free(&values);
    return code;
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

enum { CELL_TOTAL, CELL_RATE, CELL_MOST, CELL_RATIO, CELL_EVENT, CELLS };

static int add_event(struct table *table, struct report *report, struct total *total, int64_t length_ns)
{
    struct table_cell *row = table_add_row(table);
    size_t length;
    const char *name = report_string(report, total->name, &length);

    if (!row)
        return ERR_NO_MEMORY;
    end_reading(total);
    cell_set_int(&row[CELL_TOTAL], total->value);
    if (length_ns > 0)
        cell_set_real(&row[CELL_RATE], (double)total->value * 1e9 / (double)length_ns);
    cell_set_real(&row[CELL_MOST], total->most);
    return cell_set_text(table, &row[CELL_EVENT], name, length);
}

static const struct total *find(const struct totals *totals, struct report *report, const char *name)
{
    for (size_t i = 0; i < totals->count; i++)
        if (strcmp(report_string(report, totals->list[i].name, NULL), name) == 0)
            return &totals->list[i];
    return NULL;
}

static int add_metric(struct table *table, struct report *report, const struct totals *totals,
                      const struct cpu_metric *metric)
{
    const struct total *of = find(totals, report, metric->of), *per = find(totals, report, metric->per);
    struct table_cell *row = of && per && per->value > 0 ? table_add_row(table) : NULL;

    if (!of || !per || per->value <= 0)
        return 0;
    if (!row)
        return ERR_NO_MEMORY;
    cell_set_real(&row[CELL_RATIO], (double)of->value / (double)per->value);
    return cell_set_text(table, &row[CELL_EVENT], metric->name, strlen(metric->name));
}

static int cpu_event_sum(struct report *report, const struct analysis_request *request, struct table **out,
                         struct error *err)
{
    static const struct table_column columns[CELLS] = {
        { "Total", CELL_INT, UNIT_NONE, 0 },           { "Per Second", CELL_REAL, UNIT_NONE, 1 },
        { "Max Per Second", CELL_REAL, UNIT_NONE, 1 }, { "Ratio", CELL_REAL, UNIT_NONE, 3 },
        { "Event", CELL_TEXT, UNIT_NONE, 0 },
    };
    struct totals totals = { 0 };
    struct filter filter;
    int code = filter_open(&filter, report, request, err);

    if (code != 0)
        return code;
    struct table *table = table_new(columns, CELLS);
    if (!table)
        code = ERR_NO_MEMORY;
    if (code == 0)
        code = read_requests(&totals, report, err);
    if (code == 0)
        code = read_values(&totals, report, filter.span, err);
    int64_t length_ns = filter.span ? saturating_duration(filter.span->from_ns, filter.span->to_ns)
                                    : saturating_duration(totals.first_ns, totals.last_ns);
    for (size_t i = 0; i < totals.count && code == 0; i++)
        code = add_event(table, report, &totals.list[i], length_ns);
    for (size_t i = 0; i < CPU_METRICS && code == 0; i++)
        code = add_metric(table, report, &totals, &cpu_metrics[i]);
    free(totals.list);
    filter_close(&filter);
    return table_hand_over(table, code, out, err);
}

static const char *const tables[] = { "PMU_EVENTS", NULL };
const struct analysis analysis_cpu_event_sum = {
    .name = "cpu_event_sum",
    .title = "CPU Event Summary",
    .usage = "",
    .help = "What counters of the kernel and the CPU counted: in all, a second, and a second in the busiest of the "
            "intervals at which they were read. Metrics that are quotients of two of them have a row too.",
    .needs = { { "counters (--event-sample, --os-events, --cpu-core-events)", tables } },
    .run = cpu_event_sum,
};
