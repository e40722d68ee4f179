/* network_map_aws: traffic of Elastic Fabric Adapters, which a plugin of nsys samples as generic events. */
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/event_columns.h"
#include "analyze/engine/keys.h"
#include "analyze/registry.h"
#include "base/array.h"
#include "metric_bins.h"

/* The fields that count traffic. */
static const char *const rates[] = {
    "rdma_read_bytes per second",
    "rdma_read_resp_bytes per second",
    "rdma_write_bytes per second",
    "rdma_write_recv_bytes per second",
};
enum { RATES = COUNT_OF(rates), NO_RATE = -1 };

enum { EVENT_ID, EVENT_TIME, EVENT_TYPE, EVENT_COLUMNS };
enum { DATA_EVENT, DATA_FIELD, DATA_INT, DATA_UINT, DATA_FLOAT, DATA_DOUBLE, DATA_COLUMNS };
enum { FIELD_TYPE, FIELD_INDEX, FIELD_NAME, FIELD_COLUMNS };

struct efa_events {
    struct report *report;
    struct report_columns events, data, fields;
    uint32_t *by_id;    /* owned; the events in order of their ids */
    struct keys series; /* adapter and rate */
};

static int efa_map_read_tables(struct efa_events *all, struct error *err)
{
    static const char *const events[] = { "genericEventId", "timestamp", "typeId" };
    static const char *const data[] = { "genericEventId", "fieldIdx", "intVal", "uintVal", "floatVal", "doubleVal" };
    static const char *const fields[] = { "typeId", "fieldIdx", "fieldNameId" };
    int code;

    if ((code = columns_read(all->report, "GENERIC_EVENTS", events, EVENT_COLUMNS, &all->events, err)) != 0)
        return code;
    if ((code = columns_read(all->report, "GENERIC_EVENT_DATA", data, DATA_COLUMNS, &all->data, err)) != 0)
        return code;
    return columns_read(all->report, "GENERIC_EVENT_TYPE_FIELDS", fields, FIELD_COLUMNS, &all->fields, err);
}

static int efa_map_compare_ids(const void *a, const void *b, void *context)
{
    const int64_t *ids = context;
    int64_t x = ids[*(const uint32_t *)a], y = ids[*(const uint32_t *)b];

    return COMPARE(x, y);
}

static int sort_events(struct efa_events *all)
{
    size_t count = all->events.rows;

    if (count >= UINT32_MAX || !(all->by_id = malloc((count + 1) * sizeof *all->by_id)))
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        all->by_id[i] = (uint32_t)i;
    if (count)
        qsort_r(all->by_id, count, sizeof *all->by_id, efa_map_compare_ids, all->events.values[EVENT_ID]);
    return 0;
}

/* The event of a row of data, or the number of events. */
static size_t efa_map_event_of(const struct efa_events *all, size_t row)
{
    const int64_t id = all->data.values[DATA_EVENT][row], *ids = all->events.rows ? all->events.values[EVENT_ID] : NULL;
    size_t first = BISECT(0, all->events.rows, i, ids[all->by_id[i]] < id);

    return first < all->events.rows && ids[all->by_id[first]] == id ? all->by_id[first] : all->events.rows;
}

static int efa_map_rate_of(const struct efa_events *all, int64_t type, int64_t field)
{
    for (size_t i = 0; i < all->fields.rows; i++) {
        if (all->fields.values[FIELD_TYPE][i] != type || all->fields.values[FIELD_INDEX][i] != field)
            continue;
        const char *name = report_string(all->report, all->fields.values[FIELD_NAME][i], NULL);
        for (int rate = 0; rate < RATES; rate++)
            if (strcmp(name, rates[rate]) == 0)
                return rate;
    }
    return NO_RATE;
}

/* The first value that is not NULL. */
static double efa_map_value_of(const struct efa_events *all, size_t row)
{
    union {
        int64_t bits;
        double real;
    } number;

    for (size_t c = DATA_INT; c < DATA_COLUMNS; c++)
        if (!columns_is_null(&all->data, c, row)) {
            number.bits = all->data.values[c][row];
            return c == DATA_INT ? (double)number.bits : c == DATA_UINT ? (double)(uint64_t)number.bits : number.real;
        }
    return 0;
}

/* The number of the series that a row of data belongs to, or NO_KEY; *event is its event. */
static uint32_t series_of(struct efa_events *all, size_t row, size_t *event)
{
    if ((*event = efa_map_event_of(all, row)) == all->events.rows)
        return NO_KEY;
    int64_t type = all->events.values[EVENT_TYPE][*event];
    int rate = efa_map_rate_of(all, type, all->data.values[DATA_FIELD][row]);
    return rate == NO_RATE ? NO_KEY : keys_add(&all->series, (int64_t[]){ type & 0xff, rate });
}

static int add_series(struct table *table, const struct efa_events *all, const struct map_grid *grid, uint32_t series,
                      const struct metric_bins *bins)
{
    const int64_t *key = keys_get(&all->series, series);
    struct text name = { 0 }, device = { 0 };

    text_add(&name, rates[key[1]]);
    text_addf(&device, "adapter %lld", (long long)key[0]);
    int code = metric_bins_add_rows(bins, grid, table, &name, &device);
    text_free(&name);
    text_free(&device);
    return code;
}

enum { MOST_SERIES = 256 * RATES };

static int efa_map_fill_table(struct table *table, struct efa_events *all, const struct map_grid *grid)
{
    struct metric_bins *bins = calloc(MOST_SERIES, sizeof *bins);
    int code = ERR_NO_MEMORY;

    if (!bins || sort_events(all) != 0)
        goto free_bins;
    for (size_t row = 0; row < all->data.rows; row++) {
        size_t event;
        uint32_t series = series_of(all, row, &event);
        if (series == NO_KEY)
            continue;
        if (!bins[series].sums && metric_bins_new(&bins[series], grid) != 0)
            goto free_bins;
        metric_bins_add_moment(&bins[series], grid, all->events.values[EVENT_TIME][event], efa_map_value_of(all, row));
    }
    code = 0;
    for (uint32_t series = 0; series < all->series.count; series++)
        if ((code = add_series(table, all, grid, series, &bins[series])) != 0)
            goto free_bins;
free_bins:
    for (size_t i = 0; bins && i < MOST_SERIES; i++)
        metric_bins_free(&bins[i]);
    free(bins);
    return code;
}

static int network_map_aws(struct report *report, const struct analysis_request *request, struct table **out,
                           struct error *err)
{
    struct table *table = table_new(metric_map_columns, METRIC_MAP_COLUMNS);
    struct efa_events all = { .report = report, .series.width = 2 };
    struct map_grid grid;
    int code;

    if ((code = map_grid_find(&grid, report, request, err)) != 0)
        goto done;
    if ((code = efa_map_read_tables(&all, err)) != 0)
        goto done;
    code = table ? efa_map_fill_table(table, &all, &grid) : ERR_NO_MEMORY;
done:
    report_columns_free(&all.events);
    report_columns_free(&all.data);
    report_columns_free(&all.fields);
    keys_free(&all.series);
    free(all.by_id);
    return table_hand_over(table, code, out, err);
}

const struct analysis analysis_network_map_aws = {
    .name = "network_map_aws",
    .title = "AWS Metrics Heatmap",
    .usage = MAP_GRID_USAGE,
    .help = "For each Elastic Fabric Adapter: the mean of the samples of its RDMA traffic in each span of time, in "
            "bytes a second. bins: as in cuda_gpu_time_util_map.",
    .needs = { { "metrics of Elastic Fabric Adapters", TABLES("GENERIC_EVENT_DATA") } },
    .run = network_map_aws,
};
