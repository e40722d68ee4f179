/* Reads the reports of a summary: see run_figures.h. */
#include "run_figures.h"

#include <string.h>

#include "analyze/registry.h"
#include "analyze/reports/advice_sum.h"
#include "analyze/reports/breakdown/step_breakdown.h"
#include "analyze/reports/gpu_idle_sum.h"

/* ---- cells ----------------------------------------------------------------------------------------------------- */

const struct table_cell *table_cell_at(const struct table *table, size_t row, const char *column)
{
    size_t at = table_find_column(table, column);
    const struct table_cell *cell = at == TABLE_NO_COLUMN ? NULL : &table_row(table, row)[at];

    return cell && cell->kind != CELL_NONE ? cell : NULL;
}

double table_number_at(const struct table *table, size_t row, const char *column)
{
    const struct table_cell *cell = table_cell_at(table, row, column);

    if (!cell || cell->kind == CELL_TEXT)
        return 0;
    return cell->kind == CELL_INT ? (double)cell->integer : cell->real;
}

const char *table_text_at(const struct table *table, size_t row, const char *column)
{
    const struct table_cell *cell = table_cell_at(table, row, column);

    return cell && cell->kind == CELL_TEXT ? cell->text.bytes : "";
}

/* ---- tables ---------------------------------------------------------------------------------------------------- */

static const char *const run_figures_names[RUN_TABLES] = {
    [RUN_TABLE_RUN] = "run_sum",
    [RUN_TABLE_BUSY] = "cuda_gpu_busy",
    [RUN_TABLE_IDLE] = "gpu_idle_sum",
    [RUN_TABLE_STEPS] = "step_sum",
    [RUN_TABLE_STEP_PARTS] = "step_breakdown",
    [RUN_TABLE_STEP_FLOPS] = "step_flops",
    [RUN_TABLE_TENSOR_CORES] = "tensor_core_sum",
    [RUN_TABLE_METRICS] = "gpu_metrics_sum",
    [RUN_TABLE_ROOFLINE] = "roofline",
    [RUN_TABLE_OPERATORS] = "torch_op_sum",
    [RUN_TABLE_KERNELS] = "cuda_gpu_kern_sum",
    [RUN_TABLE_PYTHON] = "python_sample_sum",
    [RUN_TABLE_FUNCTIONS] = "cpu_sample_sum",
    [RUN_TABLE_OS_CALLS] = "osrt_sum",
    [RUN_TABLE_WAITS] = "thread_wait_sum",
    [RUN_TABLE_WALL] = "wall_sum",
    [RUN_TABLE_MEMORY] = "torch_memory_peak",
    [RUN_TABLE_COPIES] = "cuda_gpu_mem_time_sum",
};

const struct analysis *run_table_analysis(enum run_table which)
{
    return analysis_find(run_figures_names[which]);
}

int run_table_is_missing(enum run_table which, struct report *report)
{
    return analysis_missing(run_table_analysis(which), report) ||
           (which == RUN_TABLE_WALL && !analysis_missing(&analysis_cuda_gpu_sum, report));
}

/* Reports that take the peaks of the GPU. */
static int takes_peaks(const struct analysis *analysis)
{
    return strstr(analysis_usage(analysis), ":peak=") != NULL;
}

/* The table that a report returned: no data is no table, and so are no rows. */
static int run_figures_drop_empty(int code, struct table **out, struct error *err)
{
    if (code == ERR_NO_DATA) {
        *out = NULL;
        *err = (struct error){ 0 };
        return 0;
    }
    if (code != 0 || table_row_count(*out))
        return code;
    table_delete(*out);
    *out = NULL;
    return 0;
}

int run_table_read(struct table **out, struct report *report, enum run_table which, const char *peaks,
                   struct error *err)
{
    const struct analysis *analysis = run_table_analysis(which);
    const struct analysis_option peak = { "peak", peaks };
    const struct analysis_request request = { .options = &peak, .option_count = peaks && takes_peaks(analysis) };

    *out = NULL;
    if (run_table_is_missing(which, report))
        return 0;
    return run_figures_drop_empty(analysis_run(analysis, report, &request, out, err), out, err);
}

int run_table_read_replayed(struct table **out, struct adviser *adviser, enum run_table which, struct error *err)
{
    const struct replay_events *events = &adviser->replay.events;
    const struct analysis_request all = { 0 };
    struct places *places;
    int code;

    *out = NULL;
    if (analysis_missing(run_table_analysis(which), adviser->report))
        return 0;
    if ((code = adviser_places(adviser, &places, err)) != 0)
        return code;
    code = which == RUN_TABLE_IDLE ? gpu_idle_sum_of(adviser->report, &all, events, places, out, err)
                                   : step_breakdown_of(adviser->report, &all, events, places, out, err);
    return run_figures_drop_empty(code, out, err);
}

/* ---- advice ---------------------------------------------------------------------------------------------------- */

int run_advice_read(struct adviser *adviser, struct table **causes, struct report *report, struct error *err)
{
    const struct analysis_request all = { 0 };
    int code;

    *causes = NULL;
    if (analysis_missing(&analysis_advice_sum, report))
        return error_set(err, ERR_NO_DATA, "the report has no data that a rule needs");
    if ((code = adviser_open(adviser, report, &all, err)) != 0)
        return code;
    if ((code = advice_sum_of(adviser, &all, causes, err)) != 0) {
        adviser_free(adviser);
        *adviser = (struct adviser){ 0 };
        return code;
    }
    if (!table_row_count(*causes)) {
        table_delete(*causes);
        *causes = NULL;
    }
    return 0;
}

const char *run_late_rank(const struct table *causes)
{
    int is_first = causes && strcmp(table_text_at(causes, 0, "Rule"), rule_straggler.name) == 0;

    return is_first ? table_text_at(causes, 0, "Finding") : "";
}

int run_late_rank_read(struct text *out, struct report *report, struct error *err)
{
    const struct analysis_request all = { 0 };
    struct table *found = NULL;

    if (analysis_missing(&rule_straggler, report))
        return 0;
    int code = run_figures_drop_empty(analysis_run(&rule_straggler, report, &all, &found, err), &found, err);
    if (code == 0 && found)
        rule_straggler.rule->finding(out, found, 0);
    table_delete(found);
    return code == 0 && text_failed(out) ? error_no_memory(err) : code;
}

/* ---- single figures -------------------------------------------------------------------------------------------- */

double run_time_of(const struct table *run, const char *name)
{
    for (size_t row = 0; run && row < table_row_count(run); row++)
        if (strcmp(table_text_at(run, row, "Name"), name) == 0)
            return table_number_at(run, row, "Time");
    return -1;
}

double run_memory_peak(const struct table *memory, const char **device)
{
    double bytes = 0;

    *device = memory ? table_text_at(memory, 0, "Device") : "";
    for (size_t row = 0; memory && row < table_row_count(memory); row++)
        if (strcmp(table_text_at(memory, row, "Device"), *device) == 0)
            bytes += table_number_at(memory, row, "Bytes");
    return bytes;
}
