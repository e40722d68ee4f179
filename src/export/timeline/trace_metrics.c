/* Samples of GPU metrics as counters, a curve for each metric of each GPU. */
#include <math.h>
#include <stdlib.h>

#include "analyze/engine/row_cursor.h"
#include "analyze/model/metrics/gpu_metric_names.h"
#include "base/array.h"
#include "trace.h"

enum { TIME, TYPE, METRIC, VALUE, EXACT, COLUMNS };
enum { GPU_OF_TYPE = 0xff };

/* The names of metrics, by type and number. */
struct metric_names {
    struct keys keys;
    struct {
        struct trace_string name;
        double scale;
    } *list; /* owned; by key */
    size_t room;
};

static void names_free(struct metric_names *names)
{
    keys_free(&names->keys);
    free(names->list);
}

static uint32_t trace_metrics_add_metric(struct metric_names *names, const int64_t key[2])
{
    size_t before = names->keys.count;
    uint32_t number = keys_add(&names->keys, key);

    if (number == NO_KEY || array_reserve(&names->list, &names->room, names->keys.count, sizeof *names->list) != 0)
        return NO_KEY;
    if (number == before) {
        names->list[number].name = trace_text("metric without a name");
        names->list[number].scale = 1;
    }
    return number;
}

static int names_read(struct metric_names *names, struct report *report, struct error *err)
{
    static const char *const columns[] = { "typeId", "metricId", "metricName", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, "TARGET_INFO_GPU_METRICS", columns, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        if (row_is_null(&rows, 0) || row_is_null(&rows, 1) || row_is_null(&rows, 2))
            continue;
        uint32_t number = trace_metrics_add_metric(names, (int64_t[]){ row_int(&rows, 0), row_int(&rows, 1) });
        if (number == NO_KEY && (code = error_short_memory(err, "for the GPU metrics")) != 0)
            goto close_rows;
        struct trace_string name = { .id = row_int(&rows, 2) };
        name.bytes = report_string(report, name.id, &name.length);
        names->list[number].name = name;
        names->list[number].scale = gpu_metric_unit(name.bytes, name.length).scale;
    }
close_rows:
    row_cursor_close(&rows);
    return code;
}

/* The value of a row, exact where it was recorded. */
static double trace_metrics_value_of(const struct trace_rows *rows)
{
    union {
        int64_t bits;
        double real;
    } exact = { .bits = trace_row_int(rows, EXACT) };

    return trace_row_has(rows, EXACT) ? exact.real : (double)trace_row_int(rows, VALUE);
}

static int trace_metrics_emit(struct trace *trace, struct metric_names *names, const struct trace_rows *rows,
                              struct error *err)
{
    if (!trace_row_has(rows, TIME) || !trace_row_has(rows, TYPE) || !trace_row_has(rows, METRIC) ||
        (!trace_row_has(rows, VALUE) && !trace_row_has(rows, EXACT)))
        return 0;
    int64_t type = trace_row_int(rows, TYPE), time = trace_row_int(rows, TIME);
    double value = trace_metrics_value_of(rows);
    if (!isfinite(value))
        return 0;
    uint32_t number = trace_metrics_add_metric(names, (int64_t[]){ type, trace_row_int(rows, METRIC) });
    if (number == NO_KEY)
        return error_short_memory(err, "for the GPU metrics");
    struct trace_event *event = trace_begin(trace, TRACE_COUNTER, "gpu_metric", time, time);
    event->where = ON_GPU;
    event->name = names->list[number].name;
    event->device = type & GPU_OF_TYPE;
    event->lane = number;
    trace_arg(event, "value", ARG_REAL)->real = value * names->list[number].scale;
    return trace_emit(trace, err);
}

int trace_metrics(struct trace *trace, struct error *err)
{
    static const char *const columns[COLUMNS] = { "timestamp", "typeId", "metricId", "value", "exact" };
    struct metric_names names = { .keys.width = 2 };
    struct trace_rows rows = { 0 };
    int code;

    if ((code = names_read(&names, trace->report, err)) != 0 ||
        (code = trace_rows_open(trace, &rows, "GPU_METRICS", columns, COLUMNS, err)) != 0)
        goto done;
    while ((code = trace_rows_next(&rows, err)) == 1)
        if ((code = trace_metrics_emit(trace, &names, &rows, err)) != 0)
            goto done;
done:
    trace_rows_close(&rows);
    names_free(&names);
    return code;
}
