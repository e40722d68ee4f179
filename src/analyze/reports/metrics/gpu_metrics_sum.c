/* gpu_metrics_sum and nvlink_sum: figures of each GPU metric over all its samples. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/report_options.h"
#include "analyze/engine/statistics.h"
#include "analyze/model/metrics/gpu_metric_names.h"
#include "analyze/model/metrics/gpu_metrics.h"
#include "analyze/registry.h"

struct metrics_sum_figures {
    double mean, min, median, upper, max, deviation;
};

/* These integers sort as their doubles do. */
static int64_t to_ordered(double value)
{
    union {
        double real;
        int64_t bits;
    } number = { .real = value + 0.0 }; /* -0 becomes 0 */

    return number.bits < 0 ? number.bits ^ INT64_MAX : number.bits;
}

static double from_ordered(int64_t ordered)
{
    union {
        int64_t bits;
        double real;
    } number = { .bits = ordered < 0 ? ordered ^ INT64_MAX : ordered };

    return number.real;
}

static double value_at_rank(int64_t *scratch, const double *values, size_t count, size_t rank)
{
    for (size_t i = 0; i < count; i++)
        scratch[i] = to_ordered(values[i]);
    return from_ordered(statistics_select(scratch, count, rank));
}

/* The mean is weighted by time; a sample without a length has no weight, unless all are so. */
static double metrics_sum_mean_of(const double *values, const struct gpu_clock *clock)
{
    double sum = 0, time = 0, plain = 0;

    for (size_t i = 0; i < clock->count; i++) {
        double length = (double)(clock->end[i] - clock->start[i]);
        sum += values[i] * length;
        time += length;
        plain += values[i];
    }
    return time > 0 ? sum / time : plain / (double)clock->count;
}

static double deviation_of(const double *values, size_t count)
{
    double mean = 0, squares = 0;

    for (size_t i = 0; i < count; i++)
        mean += values[i];
    mean /= (double)count;
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    return count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
}

static struct metrics_sum_figures metrics_sum_measure(const double *values, const struct gpu_clock *clock,
                                                      int64_t *scratch)
{
    size_t count = clock->count;
    struct metrics_sum_figures figures = { .mean = metrics_sum_mean_of(values, clock),
                                           .deviation = deviation_of(values, count) };

    figures.min = figures.max = values[0];
    for (size_t i = 1; i < count; i++) {
        figures.min = values[i] < figures.min ? values[i] : figures.min;
        figures.max = values[i] > figures.max ? values[i] : figures.max;
    }
    figures.median = value_at_rank(scratch, values, count, (count - 1) / 2);
    if (count % 2 == 0)
        figures.median = (figures.median + value_at_rank(scratch, values, count, count / 2)) / 2;
    figures.upper = value_at_rank(scratch, values, count, (count * 95 + 99) / 100 - 1);
    return figures;
}

enum { GPU, METRIC, UNIT, SAMPLES, MEAN, LEAST, MEDIAN, UPPER, GREATEST, DEVIATION, PERIOD, COLUMNS };
static const struct table_column metrics_sum_columns[COLUMNS] = {
    [GPU] = { "GPU", CELL_INT, UNIT_ID, 0 },         [METRIC] = { "Metric", CELL_TEXT, UNIT_NAME, 0 },
    [UNIT] = { "Unit", CELL_TEXT, UNIT_NONE, 0 },    [SAMPLES] = { "Samples", CELL_INT, UNIT_NONE, 0 },
    [MEAN] = { "Avg", CELL_REAL, UNIT_NONE, 3 },     [LEAST] = { "Min", CELL_REAL, UNIT_NONE, 3 },
    [MEDIAN] = { "Med", CELL_REAL, UNIT_NONE, 3 },   [UPPER] = { "P95", CELL_REAL, UNIT_NONE, 3 },
    [GREATEST] = { "Max", CELL_REAL, UNIT_NONE, 3 }, [DEVIATION] = { "StdDev", CELL_REAL, UNIT_NONE, 3 },
    [PERIOD] = { "Period", CELL_INT, UNIT_NS, 0 },
};

/* Which metrics are wanted, and how they are shown. */
struct metrics_sums {
    const char *part; /* part of the wanted names, case ignored; NULL: all */
    int is_short; /* names without units, and the units that people use; the same in all runs, so that they compare */
    int64_t *scratch;
};

/* The usual unit for another one, and the factor to it. */
static const struct {
    const char *unit, *usual;
    double factor;
} usual_units[] = { { "Hz", "MHz", 1e-6 }, { "bytes", "GB", 1e-9 }, { "bytes/s", "MB/s", 1e-6 } };

static void take_usual(struct text *unit, struct metrics_sum_figures *figures)
{
    double *const values[] = { &figures->mean,  &figures->min, &figures->median,
                               &figures->upper, &figures->max, &figures->deviation };

    for (size_t i = 0; i < COUNT_OF(usual_units); i++) {
        if (strcmp(text_string(unit), usual_units[i].unit) != 0)
            continue;
        text_clear(unit);
        text_add(unit, usual_units[i].usual);
        for (size_t j = 0; j < COUNT_OF(values); j++)
            *values[j] *= usual_units[i].factor;
        return;
    }
}

static int metrics_sum_set_names(struct table *table, struct table_cell *row, struct report *report,
                                 const struct gpu_metric *metric, const struct text *unit, int is_short)
{
    struct text name = { 0 };

    gpu_metric_add_name(&name, report, metric);
    if (is_short)
        text_cut(&name, gpu_metric_unit(text_string(&name), name.length).name_length);
    int code = cell_set_built(table, &row[METRIC], &name);
    text_free(&name);
    return code != 0 || !unit->length ? code : cell_set_built(table, &row[UNIT], unit);
}

static int metrics_sum_add_row(struct table *table, struct report *report, const struct gpu_metrics *metrics,
                               const struct gpu_metric *metric, const struct metrics_sums *sums)
{
    const struct gpu_clock *clock = &metrics->clocks[metric->clock];
    struct metrics_sum_figures figures = metrics_sum_measure(metric->values, clock, sums->scratch);
    struct table_cell *row = table_add_row(table);
    struct text unit = { 0 };

    if (!row)
        return ERR_NO_MEMORY;
    gpu_metric_add_unit(&unit, report, metric);
    if (sums->is_short)
        take_usual(&unit, &figures);
    cell_set_int(&row[GPU], metric->gpu);
    cell_set_int(&row[SAMPLES], (int64_t)clock->count);
    cell_set_real(&row[MEAN], figures.mean);
    cell_set_real(&row[LEAST], figures.min);
    cell_set_real(&row[MEDIAN], figures.median);
    cell_set_real(&row[UPPER], figures.upper);
    cell_set_real(&row[GREATEST], figures.max);
    cell_set_real(&row[DEVIATION], figures.deviation);
    if (clock->period_ns > 0)
        cell_set_int(&row[PERIOD], clock->period_ns);
    int code = metrics_sum_set_names(table, row, report, metric, &unit, sums->is_short);
    text_free(&unit);
    return code;
}

static int metrics_sum_is_wanted(struct report *report, const struct gpu_metric *metric, const char *part)
{
    struct text name = { 0 };

    if (!part)
        return 1;
    gpu_metric_add_name(&name, report, metric);
    int is_found = strcasestr(text_string(&name), part) != NULL;
    text_free(&name);
    return is_found;
}

static int metrics_sum_fill(struct table *table, struct report *report, const struct gpu_metrics *metrics,
                            struct metrics_sums *sums)
{
    size_t most = 0;

    for (size_t i = 0; i < metrics->clock_count; i++)
        most = metrics->clocks[i].count > most ? metrics->clocks[i].count : most;
    sums->scratch = malloc((most + 1) * sizeof *sums->scratch);
    int code = sums->scratch ? 0 : ERR_NO_MEMORY;
    for (size_t i = 0; i < metrics->count && sums->scratch; i++)
        if (metrics_sum_is_wanted(report, &metrics->list[i], sums->part) &&
            (code = metrics_sum_add_row(table, report, metrics, &metrics->list[i], sums)) != 0)
            break;
    free(sums->scratch);
    return code;
}

/* part: that of the metrics ("nvlink"); NULL: all. */
static int metrics_sum_summarize(struct report *report, const struct analysis_request *request, const void *part,
                                 struct table **out, struct error *err)
{
    struct table *table = table_new(metrics_sum_columns, COLUMNS);
    struct metrics_sums sums = { .part = part };
    struct gpu_metrics metrics;
    int code = option_truth(request, "short", &sums.is_short, err);

    if (code != 0 || (code = gpu_metrics_read(&metrics, report, request, err)) != 0)
        goto done;
    code = table ? metrics_sum_fill(table, report, &metrics, &sums) : ERR_NO_MEMORY;
    gpu_metrics_free(&metrics);
done:
    return table_hand_over(table, code, out, err);
}

#define SHORT_USAGE "[:short=<true|false>]"

const struct analysis analysis_gpu_metrics_sum = {
    .name = "gpu_metrics_sum",
    .title = "GPU Metrics Summary",
    .usage = SHORT_USAGE,
    .for_people = { "short", "true" },
    .help =
        "Each metric that was sampled on each GPU: its mean over time, and of the values of its samples the least, "
        "the median, the 95th percentile, the greatest and the standard deviation. Period is the median time "
        "between two samples. On a terminal, and with short=true, names have no unit, and clocks are in MHz, memory "
        "in GB, rates in MB/s.",
    .needs = { { "GPU metrics", gpu_metrics_tables } },
    .by_default = 73,
    .default_where = "TACHO_GPU_SAMPLING", /* nsys prints no such table by default */
    .run_as = metrics_sum_summarize,
};

const struct analysis analysis_nvlink_sum = {
    .name = "nvlink_sum",
    .title = "NVLink Network Bandwidth Summary",
    .usage = SHORT_USAGE,
    .for_people = { "short", "true" },
    .help = "gpu_metrics_sum of the metrics that have NVLink in their names.",
    .needs = { { "GPU metrics", gpu_metrics_tables } },
    .run_as = metrics_sum_summarize,
    .as = "nvlink",
};
