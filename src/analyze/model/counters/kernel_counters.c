/* Reads the three tables of counters. */
#include "kernel_counters.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/keys.h"
#include "analyze/engine/row_cursor.h"
#include "base/array.h"
#include "base/text.h"

const char *const kernel_counter_tables[] = { "TACHO_KERNEL_COUNTERS", NULL };

/* ---- metrics --------------------------------------------------------------------------------------------------- */

/* A value without a number may have lost its unit. */
uint32_t kernel_counters_metric(struct kernel_counters *counters, const char *name, const char *unit,
                                const char *section)
{
    int64_t at = intern_find(&counters->names, name, strlen(name));
    struct text both = { 0 };

    if (at >= 0 && (!*unit || !*counters->metrics[at].unit || strcmp(counters->metrics[at].unit, unit) == 0)) {
        if (*unit)
            counters->metrics[at].unit = unit;
        return (uint32_t)at;
    }
    if (at >= 0)
        text_addf(&both, "%s\n%s", name, unit);
    else
        text_add(&both, name);
    size_t before = counters->names.count;
    at = text_failed(&both) ? -1 : intern_add(&counters->names, text_string(&both), both.length);
    text_free(&both);
    if (at < 0 ||
        array_reserve(&counters->metrics, &counters->metric_room, (size_t)at + 1, sizeof *counters->metrics) != 0)
        return NO_KEY;
    if ((size_t)at == before)
        counters->metrics[at] = (struct counted_metric){ name, unit, section };
    return (uint32_t)at;
}

static int read_metrics(struct kernel_counters *counters, struct keys *ids, uint32_t **place, struct error *err)
{
    static const char *const names[] = { "id", "name", "unit", "section", NULL };
    struct row_cursor rows;
    size_t room = 0;
    int code;

    if ((code = row_cursor_open(&rows, counters->report, "TACHO_METRICS", names, err)) != 0)
        return code;
    while (row_cursor_next(&rows)) {
        uint32_t id = keys_add(ids, &(int64_t){ row_int(&rows, 0) });
        uint32_t at = kernel_counters_metric(counters, report_string(counters->report, row_int_or(&rows, 1, 0), NULL),
                                             report_string(counters->report, row_int_or(&rows, 2, 0), NULL),
                                             report_string(counters->report, row_int_or(&rows, 3, 0), NULL));
        if ((id == NO_KEY || at == NO_KEY || array_reserve(place, &room, (size_t)id + 1, sizeof **place) != 0) &&
            (code = error_no_memory(err)) != 0)
            break;
        (*place)[id] = at;
    }
    row_cursor_close(&rows);
    return code;
}

/* ---- kernels --------------------------------------------------------------------------------------------------- */

enum {
    ID,
    LAUNCH,
    CORRELATION,
    PID,
    PROCESS_NAME,
    HOST_NAME,
    DEVICE,
    MAJOR,
    MINOR,
    CONTEXT,
    STREAM,
    NAME,
    SHORT_NAME,
    GRID,
    BLOCK = GRID + 3,
    INVOCATIONS = BLOCK + 3,
    PASSES,
    RANGE,
    SOURCE,
    REPLAY
};

static struct counted_kernel kernel_counters_of(const struct row_cursor *rows)
{
    int64_t pid = row_int_or(rows, PID, -1), invocations = row_int_or(rows, INVOCATIONS, 0);
    struct counted_kernel kernel = {
        .id = row_int(rows, ID),
        .launch = row_int_or(rows, LAUNCH, -1),
        .correlation = row_int_or(rows, CORRELATION, -1),
        .global_pid = pid,
        .pid = pid < 0 ? -1 : pid >> 24 & 0xffffff,
        .device = row_int_or(rows, DEVICE, -1),
        .context = row_int_or(rows, CONTEXT, -1),
        .stream = row_int_or(rows, STREAM, -1),
        .major = row_int_or(rows, MAJOR, -1),
        .minor = row_int_or(rows, MINOR, -1),
        .passes = row_int_or(rows, PASSES, -1),
        .name = row_int_or(rows, NAME, 0),
        .short_name = row_int_or(rows, SHORT_NAME, 0),
        .process_name = row_int_or(rows, PROCESS_NAME, 0),
        .host_name = row_int_or(rows, HOST_NAME, 0),
        .range = row_int_or(rows, RANGE, 0),
        .invocations = invocations > 0 ? invocations : 1,
        .is_summary = invocations > 0,
    };

    for (size_t i = 0; i < 3; i++) {
        kernel.grid[i] = row_int_or(rows, GRID + i, 0);
        kernel.block[i] = row_int_or(rows, BLOCK + i, 0);
    }
    return kernel;
}

static int kernel_counters_is_text(struct report *report, const struct row_cursor *rows, size_t column,
                                   const char *text)
{
    return strcmp(report_string(report, row_int_or(rows, column, 0), NULL), text) == 0;
}

static int kernel_counters_read_kernels(struct kernel_counters *counters, struct keys *ids, struct error *err)
{
    static const char *const names[] = { "id",       "launchId",      "correlationId", "globalPid",    "processName",
                                         "hostName", "deviceId",      "computeMajor",  "computeMinor", "contextId",
                                         "streamId", "demangledName", "shortName",     "gridX",        "gridY",
                                         "gridZ",    "blockX",        "blockY",        "blockZ",       "invocations",
                                         "passes",   "nvtxRange",     "source",        "replayMode",   NULL };
    struct row_cursor rows;
    int code;

    if ((code = row_cursor_open(&rows, counters->report, "TACHO_KERNEL_COUNTERS", names, err)) != 0)
        return code;
    while (row_cursor_next(&rows)) {
        uint32_t at = keys_add(ids, &(int64_t){ row_int(&rows, ID) });
        if ((at == NO_KEY || array_reserve(&counters->kernels, &counters->kernel_room, (size_t)at + 1,
                                           sizeof *counters->kernels) != 0) &&
            (code = error_no_memory(err)) != 0)
            break;
        counters->kernels[at] = kernel_counters_of(&rows);
        counters->has_origins |= kernel_counters_is_text(counters->report, &rows, SOURCE, "tacho") &&
                                 !kernel_counters_is_text(counters->report, &rows, REPLAY, "application");
        counters->kernel_count = ids->count;
    }
    row_cursor_close(&rows);
    return code;
}

/* ---- values ---------------------------------------------------------------------------------------------------- */

static double real_or(const struct row_cursor *rows, size_t column, double fallback)
{
    return row_is_null(rows, column) ? fallback : row_real(rows, column);
}

static int by_kernel(const void *a, const void *b)
{
    const struct counter_value *x = a, *y = b;

    return COMPARE(x->kernel, y->kernel) ?: COMPARE(x->metric, y->metric);
}

static int kernel_counters_by_row(const void *a, const void *b)
{
    const struct counter_value *x = a, *y = b;

    return by_kernel(a, b) ?: COMPARE(x->row, y->row);
}

void kernel_counters_order(struct kernel_counters *counters)
{
    size_t kept = 0;

    if (counters->value_count)
        qsort(counters->values, counters->value_count, sizeof *counters->values, kernel_counters_by_row);
    for (size_t i = 0; i < counters->value_count; i++)
        if (kept == 0 || by_kernel(&counters->values[kept - 1], &counters->values[i]) != 0)
            counters->values[kept++] = counters->values[i];
    counters->value_count = kept;
    for (size_t i = kept; i-- > 0;) {
        struct counted_kernel *kernel = &counters->kernels[counters->values[i].kernel];
        kernel->first = i;
        kernel->count++;
    }
}

static int kernel_counters_read_values(struct kernel_counters *counters, const struct keys *kernels,
                                       const struct keys *metrics, const uint32_t *place, struct error *err)
{
    static const char *const names[] = { "kernelId", "metricId", "value", "textValue", "minimum", "maximum", NULL };
    struct row_cursor rows;
    int code;

    if ((code = row_cursor_open(&rows, counters->report, "TACHO_KERNEL_COUNTER_VALUES", names, err)) != 0)
        return code;
    while (row_cursor_next(&rows)) {
        uint32_t kernel = keys_find(kernels, &(int64_t){ row_int(&rows, 0) });
        uint32_t metric = keys_find(metrics, &(int64_t){ row_int(&rows, 1) });
        if (kernel == NO_KEY || metric == NO_KEY)
            continue; /* a damaged report */
        if (array_reserve(&counters->values, &counters->value_room, counters->value_count + 1,
                          sizeof *counters->values) != 0 &&
            (code = error_no_memory(err)) != 0)
            break;
        double value = real_or(&rows, 2, NAN);
        counters->values[counters->value_count++] = (struct counter_value){ kernel,
                                                                            place[metric],
                                                                            rows.row,
                                                                            value,
                                                                            real_or(&rows, 4, value),
                                                                            real_or(&rows, 5, value),
                                                                            row_int_or(&rows, 3, 0) };
    }
    row_cursor_close(&rows);
    return code;
}

int kernel_counters_read(struct kernel_counters *counters, struct report *report, struct error *err)
{
    struct keys kernels = { .width = 1 }, metrics = { .width = 1 };
    uint32_t *place = NULL;
    int code;

    *counters = (struct kernel_counters){ .report = report };
    if ((code = read_metrics(counters, &metrics, &place, err)) != 0)
        goto done;
    if ((code = kernel_counters_read_kernels(counters, &kernels, err)) != 0)
        goto done;
    if ((code = kernel_counters_read_values(counters, &kernels, &metrics, place, err)) != 0)
        goto done;
    if ((code = kernel_counters_add_launches(counters, err)) != 0)
        goto done;
    kernel_counters_order(counters);
done:
    keys_free(&kernels);
    keys_free(&metrics);
    free(place);
    return code;
}

void kernel_counters_free(struct kernel_counters *counters)
{
    free(counters->kernels);
    free(counters->metrics);
    free(counters->values);
    intern_free(&counters->names);
    *counters = (struct kernel_counters){ 0 };
}

/* ---- lookups --------------------------------------------------------------------------------------------------- */

const struct counter_value *kernel_counters_find(const struct kernel_counters *counters,
                                                 const struct counted_kernel *kernel, const char *metric)
{
    int64_t at = intern_find(&counters->names, metric, strlen(metric));
    struct counter_value wanted = { .kernel = (uint32_t)(kernel - counters->kernels), .metric = (uint32_t)at };

    if (at < 0 || !kernel->count)
        return NULL;
    return bsearch(&wanted, counters->values + kernel->first, kernel->count, sizeof wanted, by_kernel);
}

double kernel_counters_number(const struct kernel_counters *counters, const struct counted_kernel *kernel,
                              const char *metric)
{
    const struct counter_value *value = kernel_counters_find(counters, kernel, metric);

    return value ? value->value : NAN;
}

double kernel_counters_first(const struct kernel_counters *counters, const struct counted_kernel *kernel,
                             const char *const *metrics)
{
    double value = NAN;

    for (; *metrics && isnan(value); metrics++)
        value = kernel_counters_number(counters, kernel, *metrics);
    return value;
}
