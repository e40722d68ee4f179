/* Every table of values over time, and the row that its values go to. To show another table is to add a line. */
#include "counter_sources.h"

#include <stdlib.h>

#include "analyze/engine/event_columns.h"
#include "analyze/engine/row_cursor.h"
#include "base/array.h"
#include "counter_points.h"
#include "gather.h"

enum { TIME, VALUE, EXACT, KEY, COLUMNS = KEY + KEY_PARTS - 1 };

struct counter_source {
    const char *table, *time, *value;
    const char *exact;              /* a column of reals that is used where it has a value; NULL: there is none */
    int is_real;                    /* the value's column is */
    int is_sum;                     /* values are changes, to be added up in order of time */
    enum row_type type;
    const char *key[KEY_PARTS - 1]; /* columns that make the row; NULL: 0. The last is a string that is its label */
    const char *label;              /* if the table lacks the column */
    const char *unit;
    /* Changes the key or the value, or leaves the row out (returns 0). */
    int (*take)(int64_t *key, double *value);
    /* Labels, by name_number() of parts B and C of the key. */
    const char *names_table;
};

/* PyTorch numbers kinds of devices from 0, the CPU. The memory of a GPU stands with it. */
static int take_torch_memory(int64_t *key, double *value)
{
    int64_t process = global_process(key[KEY_A]);

    if (key[KEY_C] == 0) {
        key[KEY_A] = process;
        key[KEY_B] = 0;
        return 1;
    }
    key[KEY_TYPE] = ROW_GPU_MEMORY;
    key[KEY_A] = key[KEY_B];
    key[KEY_B] = process;
    key[KEY_C] = 0;
    return 1;
}

enum { MEMORY_TAKEN = 0, MEMORY_GIVEN_BACK = 1 }; /* ENUM_CUDA_DEV_MEM_EVENT_OPER */

static int take_memory_usage(int64_t *key, double *value)
{
    int64_t operation = key[KEY_C];

    key[KEY_C] = 0;
    *value = operation == MEMORY_GIVEN_BACK ? -*value : *value;
    return operation == MEMORY_TAKEN || operation == MEMORY_GIVEN_BACK;
}

static int take_counter(int64_t *key, double *value)
{
    key[KEY_A] = global_process(key[KEY_A]);
    return 1;
}

static int take_gpu_metric(int64_t *key, double *value)
{
    key[KEY_A] = key[KEY_B] & 0xff; /* a type's last byte is its GPU */
    return 1;
}

/* clang-format off */
static const struct counter_source counters[] = {
    { .table = "CUDA_GPU_MEMORY_USAGE_EVENTS", .time = "start", .value = "bytes", .is_sum = 1, .type = ROW_GPU_MEMORY,
      .key = { "deviceId", "globalPid", "memoryOperationType", "memKind" }, .label = "Memory", .unit = "bytes",
      .take = take_memory_usage },
    { .table = "TACHO_TORCH_MEMORY", .time = "timestamp", .value = "totalAllocated", .type = ROW_PROCESS_MEMORY,
      .key = { "globalTid", "deviceId", "deviceType" }, .label = "PyTorch: memory in use", .unit = "bytes",
      .take = take_torch_memory },
    { .table = "TACHO_TORCH_MEMORY", .time = "timestamp", .value = "totalReserved", .type = ROW_PROCESS_MEMORY,
      .key = { "globalTid", "deviceId", "deviceType" }, .label = "PyTorch: memory reserved", .unit = "bytes",
      .take = take_torch_memory },
    { .table = "TACHO_COUNTER", .time = "timestamp", .value = "value", .is_real = 1, .type = ROW_PROCESS_COUNTER,
      .key = { "globalTid", "domainId", "counterId", NULL, "nameId" }, .take = take_counter },
    { .table = "GPU_METRICS", .time = "timestamp", .value = "value", .exact = "exact", .type = ROW_GPU_METRIC,
      .key = { NULL, "typeId", "metricId" }, .label = "Metric", .take = take_gpu_metric,
      .names_table = "TARGET_INFO_GPU_METRICS" },
    { .table = "SOC_METRICS", .time = "timestamp", .value = "value", .type = ROW_COUNTER,
      .key = { NULL, "typeId", "metricId" }, .label = "Metric", .names_table = "TARGET_INFO_SOC_METRICS" },
    { .table = "NET_NIC_METRIC", .time = "start", .value = "value", .type = ROW_COUNTER,
      .key = { "globalId", "portId", "metricsListId", "metricsIdx" }, .label = "Network interface" },
    { .table = "NET_IB_SWITCH_METRIC", .time = "start", .value = "value", .type = ROW_COUNTER,
      .key = { "globalId", "portId", "metricsListId", "metricsIdx" }, .label = "InfiniBand switch" },
    { .table = "PERF_EVENT_SOC_OR_CPU_RAW_EVENT", .time = "start", .value = "count", .type = ROW_COUNTER,
      .key = { "vmId", "componentId", "eventId" }, .label = "Event counts" },
    { .table = "PERF_EVENT_SOC_OR_CPU_METRIC_EVENT", .time = "start", .value = "value", .is_real = 1,
      .type = ROW_COUNTER, .key = { "vmId", "componentId", "metricId" }, .label = "Metric" },
};
/* clang-format on */

/* ---- labels ---------------------------------------------------------------------------------------------------- */

static int64_t name_number(int64_t type, int64_t metric)
{
    return (int64_t)((uint64_t)type * UINT64_C(0x100000001b3) + (uint64_t)metric);
}

static int read_names(struct view *view, const char *table, struct view_name_map *names, struct error *err)
{
    enum { TYPE, METRIC, NAME };
    static const char *const wanted[] = { "typeId", "metricId", "metricName", NULL };
    struct row_cursor rows;
    int code;

    if ((code = row_cursor_open(&rows, view->report, table, wanted, err)) != 0)
        return code;
    while (row_cursor_next(&rows))
        if (view_name_map_add(names, name_number(row_int(&rows, TYPE), row_int(&rows, METRIC)),
                              view_pool_name(row_int(&rows, NAME))) != 0 &&
            (code = error_no_memory(err)) != 0)
            goto close_rows;
    view_name_map_sort(names);
close_rows:
    row_cursor_close(&rows);
    return code;
}

/* ---- points ---------------------------------------------------------------------------------------------------- */

struct counter_sources_counting {
    struct view *view;
    const struct counter_source *source;
    struct report_columns columns;
    struct view_name_map names;
    int64_t label;
    struct keys keys;            /* rows of this table */
    struct view_points *points;  /* owned; by key */
    size_t point_rows, capacity; /* used and allocated points */
};

/* Reads the key and the value of a row of the table. Returns 0 if the row has no value or is left out. */
static int counter_sources_take(const struct counter_sources_counting *counting, size_t row, int64_t key[KEY_PARTS],
                                double *value)
{
    const struct report_columns *columns = &counting->columns;
    union {
        int64_t bits;
        double real;
    } raw = { .bits = columns->values[VALUE][row] };

    if (columns_is_null(columns, VALUE, row) || columns_is_null(columns, TIME, row))
        return 0;
    *value = counting->source->is_real ? raw.real : (double)raw.bits;
    if (!columns_is_null(columns, EXACT, row)) {
        raw.bits = columns->values[EXACT][row];
        *value = raw.real;
    }
    key[KEY_TYPE] = counting->source->type;
    for (int part = 0; part < KEY_PARTS - 1; part++)
        key[KEY_A + part] = counting->source->key[part] && !columns_is_null(columns, (size_t)(KEY + part), row)
                                ? columns->values[KEY + part][row]
                                : 0;
    if (!counting->source->key[KEY_E - KEY_A])
        key[KEY_E] = counting->names.count ? view_name_map_find(&counting->names, name_number(key[KEY_B], key[KEY_C]),
                                                                (uint32_t)counting->label)
                                           : counting->label;
    return *value == *value && (!counting->source->take || counting->source->take(key, value));
}

static int counter_sources_add_point(struct counter_sources_counting *counting, const int64_t *key, int64_t time_ns,
                                     double value)
{
    size_t before = counting->keys.count;
    uint32_t number = keys_add(&counting->keys, key);

    if (number == NO_KEY ||
        array_reserve(&counting->points, &counting->capacity, (size_t)number + 1, sizeof *counting->points) != 0)
        return ERR_NO_MEMORY;
    if (counting->keys.count > before)
        counting->points[counting->point_rows++] = (struct view_points){ 0 };
    return points_add(&counting->points[number], time_ns, value);
}

static int counter_sources_add_leaves(struct counter_sources_counting *counting)
{
    for (uint32_t i = 0; i < counting->keys.count; i++) {
        struct view_points *points = &counting->points[i];
        struct view_leaf leaf = { .key = keys_add(&counting->view->row_keys, keys_get(&counting->keys, i)) };
        if (leaf.key == NO_KEY || points_arrange(points, counting->source->is_sum) != 0)
            return ERR_NO_MEMORY;
        points->unit = counting->source->unit ? counting->source->unit : "";
        leaf.points = *points;
        if (view_add_leaf(counting->view, &leaf) != 0)
            return ERR_NO_MEMORY;
        *points = (struct view_points){ 0 };
    }
    return 0;
}

static int counter_sources_no_memory(const struct counter_source *source, struct error *err)
{
    return error_set(err, ERR_NO_MEMORY, "not enough memory for the values of %s", source->table);
}

static int counter_sources_add_points(struct counter_sources_counting *counting, struct error *err)
{
    const struct counter_source *source = counting->source;
    int64_t key[KEY_PARTS];
    double value;
    int code;

    if (!counting->columns.rows)
        return 0;
    if (source->names_table && (code = read_names(counting->view, source->names_table, &counting->names, err)) != 0)
        return code;
    if (source->label)
        counting->label = view_own_name(counting->view, source->label);
    for (size_t row = 0; row < counting->columns.rows; row++)
        if (counter_sources_take(counting, row, key, &value) &&
            counter_sources_add_point(counting, key, counting->columns.values[TIME][row], value) != 0)
            return counter_sources_no_memory(source, err);
    return 0;
}

static int counter_sources_count_table(struct view *view, const struct counter_source *source, struct error *err)
{
    struct counter_sources_counting counting = { .view = view, .source = source, .keys.width = KEY_PARTS };
    const char *names[COLUMNS] = { source->time, source->value, source->exact ? source->exact : "" };
    int code;

    for (int part = 0; part < KEY_PARTS - 1; part++)
        names[KEY + part] = source->key[part] ? source->key[part] : "";
    if ((code = columns_read(view->report, source->table, names, COLUMNS, &counting.columns, err)) != 0 ||
        (code = counter_sources_add_points(&counting, err)) != 0)
        goto done;
    report_columns_free(&counting.columns); /* before points are arranged, which needs memory of its own */
    if (counter_sources_add_leaves(&counting) != 0)
        code = counter_sources_no_memory(source, err);
done:
    report_columns_free(&counting.columns);
    for (size_t i = 0; i < counting.point_rows; i++)
        points_free(&counting.points[i]);
    free(counting.points);
    free(counting.names.list);
    keys_free(&counting.keys);
    return code;
}

int counter_sources_read(struct view *view, struct error *err)
{
    int code;

    for (size_t i = 0; i < COUNT_OF(counters); i++)
        if ((code = counter_sources_count_table(view, &counters[i], err)) != 0)
            return code;
    return 0;
}
