/* Joins samples of GPU metrics with the work of groups, and makes a table of the figures: see gpu_metrics_by.h. */
#include "gpu_metrics_by.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/report_options.h"
#include "analyze/model/gpu_busy.h"
#include "base/array.h"

enum { HALF = 50 }; /* percent of a sample that a group must cover, by default */

/* ---- work ------------------------------------------------------------------------------------------------------ */

static int metrics_by_add_table(struct launched_works *works, const struct gpu_metrics_by *by,
                                const struct gpu_ops *ops)
{
    if (array_reserve(&works->list, &works->room, works->count + ops->count, sizeof *works->list) != 0)
        return ERR_NO_MEMORY;
    for (size_t row = 0; row < ops->count; row++) {
        uint32_t call = gpu_counts(ops, row, &by->filter)
                            ? calls_find(&works->calls, ops->process[row], ops->correlation[row])
                            : NO_CALL;
        if (call == NO_CALL)
            continue;
        works->list[works->count++] = (struct launched_work){
            ops->start[row], ops->end[row], gpu_device_of(&by->devices, ops->process[row], ops->device[row]), call
        };
    }
    return 0;
}

int launched_works_read(struct launched_works *works, const struct gpu_metrics_by *by, struct error *err)
{
    int code = calls_read(&works->calls, by->report, err);

    if (code != 0)
        return code;
    for (const char *const *table = gpu_busy_tables; *table; table++) {
        struct gpu_ops ops;
        if ((code = gpu_read_table(&ops, by->report, *table, NULL, err)) != 0)
            return code;
        if (metrics_by_add_table(works, by, &ops) != 0)
            code = error_short_memory(err, "for the GPU work");
        gpu_free(&ops);
        if (code != 0)
            return code;
    }
    return 0;
}

void launched_works_free(struct launched_works *works)
{
    calls_free(&works->calls);
    free(works->list);
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

enum { TIME, COVERED, SAMPLES, MEAN, LEAST, GREATEST, UNIT, METRIC, GPU, NAME, COLUMNS };
static const struct table_column metrics_by_columns[COLUMNS] = {
    [TIME] = { "GPU Time", CELL_INT, UNIT_NS, 0 },     [COVERED] = { "Sampled", CELL_INT, UNIT_NS, 0 },
    [SAMPLES] = { "Samples", CELL_INT, UNIT_NONE, 0 }, [MEAN] = { "Avg", CELL_REAL, UNIT_NONE, 3 },
    [LEAST] = { "Min", CELL_REAL, UNIT_NONE, 3 },      [GREATEST] = { "Max", CELL_REAL, UNIT_NONE, 3 },
    [UNIT] = { "Unit", CELL_TEXT, UNIT_NONE, 0 },      [METRIC] = { "Metric", CELL_TEXT, UNIT_NONE, 0 },
    [GPU] = { "GPU", CELL_INT, UNIT_ID, 0 },           [NAME] = { "Name", CELL_TEXT, UNIT_NAME, 0 },
};

struct metrics_by_filling {
    struct gpu_metrics_by *by;
    const struct gpu_metrics *metrics;
    const struct gpu_stretch_join *join;
    const struct gpu_metrics_kind *kind;
    struct table *table;
    struct text name, metric, unit;
};

/* A metric without samples has no figures: it is unsampled, not 0. */
static void metrics_by_set_figures(struct table_cell *row, const struct gpu_stretch_figures *figures)
{
    cell_set_int(&row[COVERED], figures->covered_ns);
    cell_set_int(&row[SAMPLES], figures->samples);
    if (!figures->samples)
        return;
    cell_set_real(&row[MEAN], gpu_stretch_mean(figures));
    cell_set_real(&row[LEAST], figures->min);
    cell_set_real(&row[GREATEST], figures->max);
}

static int metrics_by_add_row(struct metrics_by_filling *filling, uint32_t group, const struct gpu_metric *metric,
                              const struct gpu_stretch_figures *figures)
{
    struct table_cell *row = table_add_row(filling->table);

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_int(&row[TIME], filling->join->busy_ns[group]);
    metrics_by_set_figures(row, figures);
    cell_set_int(&row[GPU], metric->gpu);
    text_clear(&filling->unit);
    gpu_metric_add_unit(&filling->unit, filling->by->report, metric);
    if (filling->unit.length && cell_set_built(filling->table, &row[UNIT], &filling->unit) != 0)
        return ERR_NO_MEMORY;
    if (cell_set_built(filling->table, &row[METRIC], &filling->metric) != 0)
        return ERR_NO_MEMORY;
    return cell_set_built(filling->table, &row[NAME], &filling->name);
}

static int metrics_by_add_group(struct metrics_by_filling *filling, uint32_t group)
{
    const int64_t *key = keys_get(&filling->by->stretches.groups, group);
    struct gpu_metrics_part part = gpu_metrics_of(filling->metrics, key[STRETCH_GPU]);
    const char *wanted = option_text(filling->by->request, "metric");

    text_clear(&filling->name);
    filling->kind->label(filling->by, &filling->name, key);
    for (size_t i = 0; i < part.count; i++) {
        const struct gpu_metric *metric = &filling->metrics->list[part.first + i];
        text_clear(&filling->metric);
        gpu_metric_add_name(&filling->metric, filling->by->report, metric);
        if ((!wanted || strstr(text_string(&filling->metric), wanted)) &&
            metrics_by_add_row(filling, group, metric, &filling->join->figures[filling->join->first[group] + i]) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int metrics_by_fill(struct metrics_by_filling *filling)
{
    int code = 0;

    for (uint32_t i = 0; i < filling->by->stretches.groups.count; i++)
        if ((code = metrics_by_add_group(filling, i)) != 0)
            break;
    if (!filling->kind->is_in_order)
        table_sort_by(filling->table, BY(DOWN(TIME), NAME, GPU));
    text_free(&filling->name);
    text_free(&filling->metric);
    text_free(&filling->unit);
    return code;
}

/* ---- the report ------------------------------------------------------------------------------------------------ */

static int metrics_by_make_table(struct table *table, const struct gpu_metrics_kind *kind, struct gpu_metrics_by *by,
                                 int64_t percent, struct error *err)
{
    struct gpu_metrics metrics = { 0 };
    struct gpu_stretch_join join = { 0 };
    int code;

    if ((code = filter_open(&by->filter, by->report, by->request, err)) != 0 ||
        (code = gpu_devices_read(&by->devices, by->report, err)) != 0 || (code = kind->collect(by, err)) != 0 ||
        (code = gpu_metrics_read(&metrics, by->report, by->request, err)) != 0)
        goto done;
    if (table && gpu_stretches_join(&join, &by->stretches, &metrics, percent) == 0)
        code = metrics_by_fill(
            &(struct metrics_by_filling){ .by = by, .metrics = &metrics, .join = &join, .kind = kind, .table = table });
    else
        code = ERR_NO_MEMORY;
done:
    gpu_stretch_join_free(&join);
    gpu_metrics_free(&metrics);
    gpu_stretches_free(&by->stretches);
    gpu_devices_free(&by->devices);
    filter_close(&by->filter);
    return code;
}

int gpu_metrics_by_run(const struct gpu_metrics_kind *kind, void *context, struct report *report,
                       const struct analysis_request *request, struct table **out, struct error *err)
{
    struct gpu_metrics_by by = {
        .report = report, .request = request, .stretches = GPU_STRETCHES_NONE, .context = context
    };
    struct table *table = table_new(metrics_by_columns, COLUMNS);
    int64_t percent;
    int code = option_number(request, "covered", HALF, 0, 100, &percent, err);

    if (code != 0)
        goto done;
    code = metrics_by_make_table(table, kind, &by, percent, err);
done:
    return table_hand_over(table, code, out, err);
}
