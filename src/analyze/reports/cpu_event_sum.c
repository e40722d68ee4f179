/* cpu_event_sum: totals and rates of the counters of CPU and kernel, and metrics that are ratios of two of them. */
#include "cpu_event_sum.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/event_columns.h"
#include "analyze/engine/keys.h"
#include "analyze/engine/row_cursor.h"
#include "analyze/registry.h"

const struct cpu_metric cpu_metrics[CPU_METRICS] = {
    { "ipc", "instructions", "cycles" },
    { "cache-miss-rate", "cache-misses", "cache-references" },
    { "branch-miss-rate", "branch-misses", "branches" },
};

struct counter_total {
    int64_t request, name;         /* PMU_EVENT_REQUESTS.id; a string id */
    int64_t value;
    int64_t start_ns, end_ns, sum; /* the current reading, summed over all CPUs, which are read at the same time */
    double most;                   /* events per second, in the busiest reading */
};

struct counter_totals {
    struct counter_total *list; /* owned */
    size_t count;
    int64_t first_ns, last_ns;
};

/* ---- reading --------------------------------------------------------------------------------------------------- */

static int read_requests(struct counter_totals *totals, struct report *report, struct error *err)
{
    enum { ID, NAME };
    static const char *const names[] = { "id", "event_name", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, "PMU_EVENT_REQUESTS", names, err);

    if (code != 0)
        return code;
    if (!(totals->list = calloc(rows.columns.rows + 1, sizeof *totals->list)) &&
        (code = error_short_memory(err, "for the counters")) != 0)
        goto close_rows;
    while (row_cursor_next(&rows))
        if (!row_is_null(&rows, NAME))
            totals->list[totals->count++] = (struct counter_total){ .request = row_int(&rows, ID),
                                                                    .name = row_int(&rows, NAME) };
close_rows:
    row_cursor_close(&rows);
    return code;
}

static void end_reading(struct counter_total *total)
{
    int64_t length = saturating_duration(total->start_ns, total->end_ns);
    double rate = length > 0 ? (double)total->sum * 1e9 / (double)length : 0;

    total->most = rate > total->most ? rate : total->most;
    total->sum = 0;
}

static void cpu_event_sum_add(struct counter_totals *totals, int64_t request, int64_t value, int64_t start_ns,
                              int64_t end_ns)
{
    for (size_t i = 0; i < totals->count; i++) {
        struct counter_total *total = &totals->list[i];
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

/* When each reading took place. */
struct reading_times {
    struct keys ids;          /* keys: PMU_EVENTS.counter_id */
    struct report_span *list; /* owned; by key. A file may have several readings of an id: the first counts */
};

static int read_times(struct reading_times *times, struct counter_totals *totals, struct report *report,
                      struct error *err)
{
    enum { START, END, COUNTER };
    static const char *const names[] = { "start", "end", "counter_id", NULL };
    struct row_cursor events;
    int code = row_cursor_open(&events, report, "PMU_EVENTS", names, err);

    if (code != 0)
        return code;
    if (!(times->list = malloc((events.columns.rows + 1) * sizeof *times->list)) &&
        (code = error_short_memory(err, "for the counters")) != 0)
        goto close_events;
    while (row_cursor_next(&events)) {
        struct report_span span = { row_int(&events, START), row_int(&events, END) };
        totals->first_ns = events.row == 0 || span.from_ns < totals->first_ns ? span.from_ns : totals->first_ns;
        totals->last_ns = events.row == 0 || span.to_ns > totals->last_ns ? span.to_ns : totals->last_ns;
        if (row_is_null(&events, COUNTER))
            continue;
        size_t known = times->ids.count;
        uint32_t key = keys_add(&times->ids, &(int64_t){ row_int(&events, COUNTER) });
        if (key == NO_KEY && (code = error_short_memory(err, "for the counters")) != 0)
            goto close_events;
        if (key == known)
            times->list[key] = span;
    }
close_events:
    row_cursor_close(&events);
    return code;
}

/* Adds the readings that lie at least in part within the requested span of time. */
static int cpu_event_sum_read_values(struct counter_totals *totals, struct report *report,
                                     const struct report_span *span, struct error *err)
{
    enum { ID, REQUEST, VALUE };
    static const char *const names[] = { "id", "idx", "value", NULL };
    struct reading_times times = { .ids.width = 1 };
    struct row_cursor values = { 0 };
    int code;

    if ((code = read_times(&times, totals, report, err)) != 0)
        goto done;
    if ((code = row_cursor_open(&values, report, "PMU_EVENT_COUNTERS", names, err)) != 0)
        goto done;
    while (row_cursor_next(&values)) {
        uint32_t key = keys_find(&times.ids, &(int64_t){ row_int(&values, ID) });
        if (key == NO_KEY)
            continue;
        const struct report_span *reading = &times.list[key];
        if (!span || (reading->from_ns < span->to_ns && reading->to_ns > span->from_ns))
            cpu_event_sum_add(totals, row_int(&values, REQUEST), row_int(&values, VALUE), reading->from_ns,
                              reading->to_ns);
    }
done:
    row_cursor_close(&values);
    keys_free(&times.ids);
    free(times.list);
    return code;
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

enum { CELL_TOTAL, CELL_RATE, CELL_MOST, CELL_RATIO, CELL_EVENT, CELLS };

static int cpu_event_sum_add_event(struct table *table, struct report *report, struct counter_total *total,
                                   int64_t length_ns)
{
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    end_reading(total);
    cell_set_int(&row[CELL_TOTAL], total->value);
    if (length_ns > 0)
        cell_set_real(&row[CELL_RATE], (double)total->value * 1e9 / (double)length_ns);
    cell_set_real(&row[CELL_MOST], total->most);
    return cell_set_pooled(table, &row[CELL_EVENT], report, total->name);
}

static const struct counter_total *cpu_event_sum_find(const struct counter_totals *totals, struct report *report,
                                                      const char *name)
{
    for (size_t i = 0; i < totals->count; i++)
        if (strcmp(report_string(report, totals->list[i].name, NULL), name) == 0)
            return &totals->list[i];
    return NULL;
}

static int cpu_event_sum_add_metric(struct table *table, struct report *report, const struct counter_totals *totals,
                                    const struct cpu_metric *metric)
{
    const struct counter_total *of = cpu_event_sum_find(totals, report, metric->of),
                               *per = cpu_event_sum_find(totals, report, metric->per);

    if (!of || !per || per->value <= 0)
        return 0;
    struct table_cell *row = table_add_row(table);
    if (!row)
        return ERR_NO_MEMORY;
    cell_set_real(&row[CELL_RATIO], (double)of->value / (double)per->value);
    return cell_set_string(table, &row[CELL_EVENT], metric->name);
}

static int cpu_event_sum_fill_table(struct table *table, struct report *report, struct counter_totals *totals,
                                    const struct report_span *span)
{
    int64_t length_ns = span ? saturating_duration(span->from_ns, span->to_ns)
                             : saturating_duration(totals->first_ns, totals->last_ns);

    for (size_t i = 0; i < totals->count; i++)
        if (cpu_event_sum_add_event(table, report, &totals->list[i], length_ns) != 0)
            return ERR_NO_MEMORY;
    for (size_t i = 0; i < CPU_METRICS; i++)
        if (cpu_event_sum_add_metric(table, report, totals, &cpu_metrics[i]) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

static int cpu_event_sum(struct report *report, const struct analysis_request *request, struct table **out,
                         struct error *err)
{
    static const struct table_column columns[CELLS] = {
        { "Total", CELL_INT, UNIT_NONE, 0 },           { "Per Second", CELL_REAL, UNIT_NONE, 1 },
        { "Max Per Second", CELL_REAL, UNIT_NONE, 1 }, { "Ratio", CELL_REAL, UNIT_NONE, 3 },
        { "Event", CELL_TEXT, UNIT_NONE, 0 },
    };
    struct table *table = table_new(columns, CELLS);
    struct counter_totals totals = { 0 };
    int code;

    if ((code = read_requests(&totals, report, err)) != 0)
        goto done;
    if ((code = cpu_event_sum_read_values(&totals, report, request->span, err)) != 0)
        goto done;
    code = table ? cpu_event_sum_fill_table(table, report, &totals, request->span) : ERR_NO_MEMORY;
done:
    free(totals.list);
    return table_hand_over(table, code, out, err);
}

const struct analysis analysis_cpu_event_sum = {
    .name = "cpu_event_sum",
    .title = "CPU Event Summary",
    .help = "Kernel and CPU events that were counted: total, events per second, and events per second in the busiest "
            "interval. A metric that divides one event by another has a row of its own.",
    .needs = { { "counters (--event-sample, --os-events, --cpu-core-events)", TABLES("PMU_EVENTS") } },
    .overlap = "events have different units",
    .run = cpu_event_sum,
};
