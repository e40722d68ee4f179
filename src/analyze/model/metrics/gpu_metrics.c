/* Sorts the rows of GPU_METRICS into metrics, and finds the time that each sample is about: see gpu_metrics.h.
 *
 * A file has a row for each metric of each sample, so millions of them. Rows come metric after metric, sample after
 * sample: the metric of a row is guessed from that of the row before, and looked up only if the guess is wrong. */
#include "gpu_metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/event_columns.h"
#include "analyze/engine/keys.h"
#include "analyze/engine/order.h"
#include "analyze/engine/row_cursor.h"
#include "base/array.h"
#include "gpu_metric_names.h"

const char *const gpu_metrics_tables[] = { "GPU_METRICS", NULL };

enum { TIME, TYPE, METRIC, VALUE, EXACT, COLUMNS };
enum { GPU_OF_TYPE = 0xff };  /* the last byte of a type is its GPU */
enum { MOST_METRICS = 4096 }; /* more are no metrics of GPUs, but a damaged file */

/* The samples of one metric, before its clock is known. */
struct gpu_metrics_series {
    int64_t type, id;
    int64_t *time;  /* owned */
    double *values; /* owned */
    size_t count, room;
};

struct gpu_metrics_reading {
    struct report *report;
    struct report_columns rows;
    struct keys keys;                  /* type and id */
    uint32_t *after;                   /* owned; by key: the key of the row that followed its last one */
    struct gpu_metrics_series *series; /* owned; by key */
    size_t after_room, series_room;
    uint32_t *key_of;                  /* owned; by row, NO_KEY: it does not count */
};

static int gpu_metrics_no_memory(struct error *err)
{
    return error_short_memory(err, "for the GPU metrics");
}

static void reading_free(struct gpu_metrics_reading *reading)
{
    for (size_t i = 0; i < reading->keys.count && i < reading->series_room; i++) {
        free(reading->series[i].time);
        free(reading->series[i].values);
    }
    free(reading->series);
    free(reading->after);
    free(reading->key_of);
    keys_free(&reading->keys);
    report_columns_free(&reading->rows);
}

/* ---- rows to series -------------------------------------------------------------------------------------------- */

/* The value of a row, exact where it was recorded; a NaN without one. */
static double gpu_metrics_value_of(const struct report_columns *rows, size_t row)
{
    union {
        int64_t bits;
        double real;
    } exact;

    if (!columns_is_null(rows, EXACT, row)) {
        exact.bits = rows->values[EXACT][row];
        return exact.real;
    }
    return columns_is_null(rows, VALUE, row) ? NAN : (double)rows->values[VALUE][row];
}

static uint32_t gpu_metrics_add_key(struct gpu_metrics_reading *reading, const int64_t *key)
{
    uint32_t number = keys_add(&reading->keys, key);
    size_t count = reading->keys.count;

    if (number == NO_KEY ||
        array_reserve_zeroed(&reading->series, &reading->series_room, count, sizeof *reading->series) != 0 ||
        array_reserve_zeroed(&reading->after, &reading->after_room, count, sizeof *reading->after) != 0)
        return NO_KEY;
    reading->series[number].type = key[0];
    reading->series[number].id = key[1];
    return number;
}

static int gpu_metrics_is_key(const struct gpu_metrics_reading *reading, uint32_t number, const int64_t *key)
{
    return number < reading->keys.count && memcmp(keys_get(&reading->keys, number), key, 2 * sizeof *key) == 0;
}

static int gpu_metrics_number_rows(struct gpu_metrics_reading *reading)
{
    const struct report_columns *rows = &reading->rows;
    uint32_t last = NO_KEY;

    if (!(reading->key_of = malloc((rows->rows + 1) * sizeof *reading->key_of)))
        return ERR_NO_MEMORY;
    for (size_t row = 0; row < rows->rows; row++) {
        int64_t key[] = { rows->values[TYPE][row], rows->values[METRIC][row] };
        reading->key_of[row] = NO_KEY;
        if (columns_is_null(rows, TIME, row) || columns_is_null(rows, TYPE, row) ||
            columns_is_null(rows, METRIC, row) || !isfinite(gpu_metrics_value_of(rows, row)))
            continue;
        uint32_t number = last == NO_KEY ? NO_KEY : reading->after[last];
        if (!gpu_metrics_is_key(reading, number, key) && (number = gpu_metrics_add_key(reading, key)) == NO_KEY)
            return ERR_NO_MEMORY;
        if (number >= MOST_METRICS)
            return ERR_UNSUPPORTED;
        if (last != NO_KEY)
            reading->after[last] = number;
        reading->key_of[row] = last = number;
        reading->series[number].room++;
    }
    return 0;
}

static int fill_series(struct gpu_metrics_reading *reading)
{
    for (size_t i = 0; i < reading->keys.count; i++) {
        struct gpu_metrics_series *series = &reading->series[i];
        series->time = malloc(series->room * sizeof *series->time);
        series->values = malloc(series->room * sizeof *series->values);
        if (!series->time || !series->values)
            return ERR_NO_MEMORY;
    }
    for (size_t row = 0; row < reading->rows.rows; row++) {
        if (reading->key_of[row] == NO_KEY)
            continue;
        struct gpu_metrics_series *series = &reading->series[reading->key_of[row]];
        series->time[series->count] = reading->rows.values[TIME][row];
        series->values[series->count++] = gpu_metrics_value_of(&reading->rows, row);
    }
    return 0;
}

static int is_in_order(const struct gpu_metrics_series *series)
{
    size_t i = 1;

    while (i < series->count && series->time[i - 1] < series->time[i])
        i++;
    return i >= series->count;
}

/* Puts the samples in order of time. Of those at one time the last row stays. */
static int sort_series(struct gpu_metrics_series *series)
{
    size_t kept = 0;
    int code = ERR_NO_MEMORY;

    if (is_in_order(series))
        return 0;
    uint32_t *order = malloc(series->count * sizeof *order);
    int64_t *time = malloc(series->count * sizeof *time);
    double *values = malloc(series->count * sizeof *values);
    if (!order || !time || !values)
        goto done;
    for (size_t i = 0; i < series->count; i++)
        order[i] = (uint32_t)i;
    if (order_by_time(order, series->count, series->time) != 0)
        goto done;
    memcpy(time, series->time, series->count * sizeof *time);
    memcpy(values, series->values, series->count * sizeof *values);
    for (size_t i = 0; i < series->count; i++) {
        kept -= kept > 0 && series->time[kept - 1] == time[order[i]];
        series->time[kept] = time[order[i]];
        series->values[kept++] = values[order[i]];
    }
    series->count = kept;
    code = 0;
done:
    free(order);
    free(time);
    free(values);
    return code;
}

static int read_series(struct gpu_metrics_reading *reading, struct error *err)
{
    static const char *const names[COLUMNS] = { "timestamp", "typeId", "metricId", "value", "exact" };
    int code = columns_read(reading->report, "GPU_METRICS", names, COLUMNS, &reading->rows, err);

    if (code != 0)
        return code;
    if (reading->rows.rows >= UINT32_MAX)
        return error_set(err, ERR_UNSUPPORTED, "the table GPU_METRICS has too many rows to sort");
    if ((code = gpu_metrics_number_rows(reading)) == ERR_UNSUPPORTED)
        return error_set(err, code, "the table GPU_METRICS has more than %d metrics", MOST_METRICS);
    if (code != 0 || fill_series(reading) != 0)
        return gpu_metrics_no_memory(err);
    report_columns_free(&reading->rows);
    reading->rows = (struct report_columns){ 0 };
    free(reading->key_of);
    reading->key_of = NULL;
    for (size_t i = 0; i < reading->keys.count; i++)
        if (sort_series(&reading->series[i]) != 0)
            return gpu_metrics_no_memory(err);
    return 0;
}

/* ---- series to metrics ----------------------------------------------------------------------------------------- */

static int by_type(const void *a, const void *b)
{
    const struct gpu_metrics_series *x = a, *y = b;
    int64_t gpus[] = { x->type & GPU_OF_TYPE, y->type & GPU_OF_TYPE };

    return COMPARE(gpus[0], gpus[1]) ?: COMPARE(x->type, y->type) ?: COMPARE(x->id, y->id);
}

/* Metrics of a source have the same times; then they have one clock, whose `start` is these times for now. Only the
 * last clocks are compared: metrics of one source follow each other. */
static uint32_t clock_of(struct gpu_metrics *metrics, struct gpu_metrics_series *series)
{
    enum { COMPARED = 4 };
    size_t count = metrics->clock_count;

    for (size_t i = count; i > 0 && i + COMPARED > count; i--) {
        const struct gpu_clock *clock = &metrics->clocks[i - 1];
        if (clock->type == series->type && clock->count == series->count &&
            memcmp(clock->start, series->time, series->count * sizeof *series->time) == 0)
            return (uint32_t)(i - 1);
    }
    metrics->clocks[metrics->clock_count++] = (struct gpu_clock){
        .gpu = series->type & GPU_OF_TYPE, .type = series->type, .start = series->time, .count = series->count
    };
    series->time = NULL;
    return (uint32_t)count;
}

static int make_metrics(struct gpu_metrics *metrics, struct gpu_metrics_reading *reading,
                        const struct analysis_filter *filter)
{
    size_t count = reading->keys.count;

    metrics->list = calloc(count + 1, sizeof *metrics->list);
    metrics->clocks = calloc(count + 1, sizeof *metrics->clocks);
    if (!metrics->list || !metrics->clocks)
        return ERR_NO_MEMORY;
    if (count)
        qsort(reading->series, count, sizeof *reading->series, by_type);
    for (size_t i = 0; i < count; i++) {
        struct gpu_metrics_series *series = &reading->series[i];
        int64_t gpu = series->type & GPU_OF_TYPE;
        if (filter && (filter->only & ONLY_DEVICE) && filter->device != gpu)
            continue;
        metrics->list[metrics->count++] = (struct gpu_metric){
            gpu, series->type, series->id, -1, -1, clock_of(metrics, series), series->values
        };
        series->values = NULL;
    }
    return 0;
}

static struct gpu_metric_unit gpu_metrics_unit_of(struct report *report, const struct gpu_metric *metric)
{
    size_t length = 0;
    const char *name = metric->name < 0 ? "" : report_string(report, metric->name, &length);

    return gpu_metric_unit(name, length);
}

/* By type and id, as they are sorted. */
static struct gpu_metric *gpu_metrics_find_metric(const struct gpu_metrics *metrics, int64_t type, int64_t id)
{
    const struct gpu_metrics_series wanted = { .type = type, .id = id };
    const struct gpu_metric *list = metrics->list;
    size_t at = BISECT(0, metrics->count, i,
                       by_type(&(struct gpu_metrics_series){ .type = list[i].type, .id = list[i].id }, &wanted) < 0);

    return at < metrics->count && list[at].type == type && list[at].id == id ? &metrics->list[at] : NULL;
}

static int name_metrics(struct gpu_metrics *metrics, struct report *report, struct error *err)
{
    enum { NAME_TYPE, NAME_METRIC, NAME, SOURCE };
    static const char *const names[] = { "typeId", "metricId", "metricName", "typeName", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, "TARGET_INFO_GPU_METRICS", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        struct gpu_metric *metric = row_is_null(&rows, NAME_TYPE) || row_is_null(&rows, NAME_METRIC)
                                        ? NULL
                                        : gpu_metrics_find_metric(metrics, row_int(&rows, NAME_TYPE),
                                                                  row_int(&rows, NAME_METRIC));
        if (metric) {
            metric->name = row_int_or(&rows, NAME, -1);
            metric->source = row_int_or(&rows, SOURCE, -1);
        }
    }
    row_cursor_close(&rows);
    for (size_t i = 0; i < metrics->count; i++) {
        double scale = gpu_metrics_unit_of(report, &metrics->list[i]).scale;
        for (size_t j = 0; scale != 1 && j < metrics->clocks[metrics->list[i].clock].count; j++)
            metrics->list[i].values[j] *= scale;
    }
    return 0;
}

/* ---- intervals ------------------------------------------------------------------------------------------------- */

/* Whether values are about the time before their timestamps: readings. Counters, whose source has no name, are not. */
static int ends_at_time(const struct gpu_metric *metric, struct report *report)
{
    static const char *const readings[] = { "NVML", "GPM" };
    const char *source = metric->source < 0 ? "" : report_string(report, metric->source, NULL);

    for (size_t i = 0; i < COUNT_OF(readings); i++)
        if (strcmp(source, readings[i]) == 0)
            return 1;
    return 0;
}

static int64_t shorter(int64_t length, int64_t period)
{
    return (double)length > 1.5 * (double)period ? period : length;
}

/* A sample alone has no length. */
static int set_intervals(struct gpu_clock *clock, int is_end)
{
    size_t count = clock->count;
    int64_t *lengths = malloc(2 * count * sizeof *lengths);

    clock->end = malloc(count * sizeof *clock->end);
    if (!lengths || !clock->end) {
        free(lengths);
        return ERR_NO_MEMORY;
    }
    for (size_t i = 1; i < count; i++)
        lengths[i - 1] = saturating_duration(clock->start[i - 1], clock->start[i]);
    clock->period_ns = saturating_from_double(statistics_median_of(lengths, count - 1, lengths + count));
    for (size_t i = 0; i < count; i++) {
        int has_other = is_end ? i > 0 : i + 1 < count;
        int64_t length = has_other ? shorter(lengths[is_end ? i - 1 : i], clock->period_ns) : clock->period_ns;
        clock->end[i] = is_end ? clock->start[i] : saturating_add(clock->start[i], length);
        lengths[count + i] = length;
    }
    for (size_t i = 0; is_end && i < count; i++)
        clock->start[i] = saturating_subtract(clock->end[i], lengths[count + i]);
    free(lengths);
    return 0;
}

/* Leaves the samples in the span, and of those the part in it. Returns the number of those that are gone before it. */
static size_t cut_clock(struct gpu_clock *clock, const struct report_span *span)
{
    size_t first = 0, behind = clock->count;

    while (first < behind && clock->end[first] < span->from_ns)
        first++;
    while (first < behind && clock->start[behind - 1] > span->to_ns)
        behind--;
    clock->count = behind - first;
    memmove(clock->start, clock->start + first, clock->count * sizeof *clock->start);
    memmove(clock->end, clock->end + first, clock->count * sizeof *clock->end);
    if (clock->count && clock->start[0] < span->from_ns)
        clock->start[0] = span->from_ns;
    if (clock->count && clock->end[clock->count - 1] > span->to_ns)
        clock->end[clock->count - 1] = span->to_ns;
    return first;
}

static int cut_to_span(struct gpu_metrics *metrics, const struct report_span *span)
{
    size_t *first = malloc((metrics->clock_count + 1) * sizeof *first);

    if (!first)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < metrics->clock_count; i++)
        first[i] = cut_clock(&metrics->clocks[i], span);
    for (size_t i = 0; i < metrics->count; i++) {
        struct gpu_metric *metric = &metrics->list[i];
        memmove(metric->values, metric->values + first[metric->clock],
                metrics->clocks[metric->clock].count * sizeof *metric->values);
    }
    free(first);
    return 0;
}

static void gpu_metrics_drop_empty(struct gpu_metrics *metrics)
{
    size_t kept = 0;

    for (size_t i = 0; i < metrics->count; i++)
        if (metrics->clocks[metrics->list[i].clock].count)
            metrics->list[kept++] = metrics->list[i];
        else
            free(metrics->list[i].values);
    metrics->count = kept;
}

/* ---- interface ------------------------------------------------------------------------------------------------- */

static int make_all(struct gpu_metrics *metrics, struct gpu_metrics_reading *reading,
                    const struct analysis_request *request, struct error *err)
{
    int code;

    if ((code = read_series(reading, err)) != 0)
        return code;
    if (make_metrics(metrics, reading, request->filter) != 0)
        return gpu_metrics_no_memory(err);
    if ((code = name_metrics(metrics, reading->report, err)) != 0)
        return code;
    /* Clocks are in the order of their first metrics. */
    for (size_t clock = 0, i = 0; clock < metrics->clock_count; clock++) {
        while (metrics->list[i].clock != clock)
            i++;
        if (set_intervals(&metrics->clocks[clock], ends_at_time(&metrics->list[i], reading->report)) != 0)
            return gpu_metrics_no_memory(err);
    }
    if (request->span && cut_to_span(metrics, request->span) != 0)
        return gpu_metrics_no_memory(err);
    gpu_metrics_drop_empty(metrics);
    return 0;
}

int gpu_metrics_read(struct gpu_metrics *metrics, struct report *report, const struct analysis_request *request,
                     struct error *err)
{
    struct gpu_metrics_reading reading = { .report = report, .keys.width = 2 };

    *metrics = (struct gpu_metrics){ 0 };
    int code = make_all(metrics, &reading, request, err);
    reading_free(&reading);
    if (code != 0)
        gpu_metrics_free(metrics);
    return code;
}

void gpu_metrics_free(struct gpu_metrics *metrics)
{
    for (size_t i = 0; i < metrics->count; i++)
        free(metrics->list[i].values);
    for (size_t i = 0; i < metrics->clock_count; i++) {
        free(metrics->clocks[i].start);
        free(metrics->clocks[i].end);
    }
    free(metrics->list);
    free(metrics->clocks);
    *metrics = (struct gpu_metrics){ 0 };
}

void gpu_metrics_share_free(struct gpu_metrics_share *share)
{
    gpu_metrics_free(&share->metrics);
    share->is_read = 0;
}

int gpu_metrics_get(const struct gpu_metrics **out, struct gpu_metrics *own, struct report *report,
                    const struct analysis_request *request, struct error *err)
{
    const struct report_span span = request->span ? *request->span : (struct report_span){ INT64_MIN, INT64_MAX };
    int64_t device = request->filter && (request->filter->only & ONLY_DEVICE) ? request->filter->device : -1;
    struct gpu_metrics_share *share = request->metrics;
    int code;

    *own = (struct gpu_metrics){ 0 };
    if (!share || (share->is_read && (share->span.from_ns != span.from_ns || share->span.to_ns != span.to_ns ||
                                      share->device != device))) {
        *out = own;
        return gpu_metrics_read(own, report, request, err);
    }
    *out = &share->metrics;
    if (share->is_read)
        return 0;
    if ((code = gpu_metrics_read(&share->metrics, report, request, err)) != 0)
        return code;
    share->span = span;
    share->device = device;
    share->is_read = 1;
    return 0;
}

void gpu_metric_add_name(struct text *out, struct report *report, const struct gpu_metric *metric)
{
    size_t length = 0;
    const char *name = metric->name < 0 ? "" : report_string(report, metric->name, &length);

    if (length)
        text_add_bytes(out, name, length);
    else
        text_addf(out, "metric %lld", (long long)metric->id);
}

void gpu_metric_add_unit(struct text *out, struct report *report, const struct gpu_metric *metric)
{
    struct gpu_metric_unit unit = gpu_metrics_unit_of(report, metric);

    text_add_bytes(out, unit.text, unit.length);
}

struct gpu_metrics_part gpu_metrics_of(const struct gpu_metrics *metrics, int64_t gpu)
{
    struct gpu_metrics_part part = { 0, 0 };

    while (part.first < metrics->count && metrics->list[part.first].gpu != gpu)
        part.first++;
    while (part.first + part.count < metrics->count && metrics->list[part.first + part.count].gpu == gpu)
        part.count++;
    return part;
}
