/* kernel_origins: where each counted kernel was launched (operator, NVTX range, step, line), beside its main counters.
 */
#include <stdlib.h>

#include "analyze/model/calls.h"
#include "analyze/model/launches.h"
#include "analyze/model/places/places.h"
#include "analyze/model/torch/operators.h"
#include "analyze/model/torch/steps_read.h"
#include "analyze/registry.h"
#include "counters_report.h"

enum { LAUNCH, DURATION, SM, MEMORY, OP, RANGE, STEP, LINE, KERNEL, COLUMNS };
static const struct table_column kernel_origins_columns[COLUMNS] = {
    [LAUNCH] = { "ID", CELL_INT, UNIT_ID, 0 },      [DURATION] = { "Duration", CELL_INT, UNIT_NS, 0 },
    [SM] = { "SM", CELL_REAL, UNIT_PERCENT, 1 },    [MEMORY] = { "Memory", CELL_REAL, UNIT_PERCENT, 1 },
    [OP] = { "Operator", CELL_TEXT, UNIT_NAME, 0 }, [RANGE] = { "Range", CELL_TEXT, UNIT_NAME, 0 },
    [STEP] = { "Step", CELL_TEXT, UNIT_NONE, 0 },   [LINE] = { "Where", CELL_TEXT, UNIT_NAME, 0 },
    [KERNEL] = { "Name", CELL_TEXT, UNIT_NAME, 0 },
};

static const char *const duration[] = { "gpu__time_duration.sum", NULL };
static const char *const sm[] = { "sm__throughput.avg.pct_of_peak_sustained_elapsed",
                                  "sm__cycles_active.avg.pct_of_peak_sustained_elapsed", NULL };
static const char *const memory[] = { "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
                                      "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
                                      "dram__throughput.avg.pct_of_peak_sustained_elapsed", NULL };

/* The data recorded beside the counters; each part may be empty. */
struct origins {
    struct report *report;
    struct calls calls;
    struct ranges ranges;
    struct operators operators;
    struct steps steps;
    struct places places;
    struct text text;
    uint32_t *call;     /* owned, by kernel, as the rest; NO_CALL: its launch was not recorded */
    uint32_t *operator_of;
    uint32_t *range_of; /* by call */
};

/* ---- finding --------------------------------------------------------------------------------------------------- */

static int kernel_origins_find_operators(struct origins *origins, size_t count)
{
    struct operators_moment *moments = malloc((count + 1) * sizeof *moments);

    if (!moments)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        uint32_t call = origins->call[i];
        moments[i] = call == NO_CALL
                         ? (struct operators_moment){ -1, INT64_MIN }
                         : (struct operators_moment){ origins->calls.thread[call], origins->calls.start[call] };
    }
    int code = operators_at(&origins->operators, moments, count, origins->operator_of);
    free(moments);
    return code;
}

static int note_range(void *context, uint32_t call, const uint32_t *around, size_t around_count)
{
    struct origins *origins = context;

    if (around_count)
        origins->range_of[call] = around[around_count - 1];
    return 0;
}

static int kernel_origins_find_ranges(struct origins *origins, size_t count)
{
    uint32_t *list = malloc((count + 1) * sizeof *list);
    size_t listed = 0;
    int code = ERR_NO_MEMORY;

    origins->range_of = malloc((origins->calls.count + 1) * sizeof *origins->range_of);
    if (!list || !origins->range_of)
        goto free_list;
    for (size_t i = 0; i < origins->calls.count; i++)
        origins->range_of[i] = NO_RANGE;
    for (size_t i = 0; i < count; i++)
        if (origins->call[i] != NO_CALL)
            list[listed++] = origins->call[i];
    code = launches_sweep(&origins->calls, list, listed, &origins->ranges, 1, note_range, origins);
free_list:
    free(list);
    return code;
}

static int find_all(struct origins *origins, const struct kernel_counters *counters)
{
    size_t count = counters->kernel_count;
    int code;

    origins->call = malloc((count + 1) * sizeof *origins->call);
    origins->operator_of = malloc((count + 1) * sizeof *origins->operator_of);
    if (!origins->call || !origins->operator_of)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const struct counted_kernel *kernel = &counters->kernels[i];
        origins->call[i] = calls_find(&origins->calls, kernel->global_pid, kernel->correlation);
        origins->operator_of[i] = NO_OPERATOR;
    }
    if (origins->operators.count && ((code = operators_nest(&origins->operators)) != 0 ||
                                     (code = kernel_origins_find_operators(origins, count)) != 0))
        return code;
    return kernel_origins_find_ranges(origins, count);
}

/* A report without operators, or without steps, has the rest. */
static int kernel_origins_read_all(struct origins *origins, const struct analysis_request *request, struct error *err)
{
    static const struct steps_request automatic = { .may_guess = 1 };
    static const struct filter everything = { 0 };
    int code;

    if ((code = calls_read(&origins->calls, origins->report, err)) != 0 ||
        (code = ranges_read(&origins->ranges, origins->report, RANGE_PUSHPOP | RANGE_STARTEND, &everything, err)) !=
            0 ||
        (code = places_open(&origins->places, origins->report, err)) != 0)
        return code;
    code = operators_read(&origins->operators, origins->report, request, err);
    if (code != 0 && code != ERR_NO_DATA)
        return code;
    code = steps_read(&origins->steps, origins->report, &automatic, err);
    return code == ERR_NO_DATA ? 0 : code;
}

static void kernel_origins_free_all(struct origins *origins)
{
    calls_free(&origins->calls);
    ranges_free(&origins->ranges);
    operators_free(&origins->operators);
    steps_free(&origins->steps);
    places_close(&origins->places);
    text_free(&origins->text);
    free(origins->call);
    free(origins->operator_of);
    free(origins->range_of);
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

static int kernel_origins_set_text(struct table *table, struct table_cell *cell, struct origins *origins)
{
    int code = origins->text.length ? cell_set_built(table, cell, &origins->text) : 0;

    text_clear(&origins->text);
    return code;
}

static int set_origin(struct table *table, struct table_cell *row, struct origins *origins, size_t i)
{
    uint32_t call = origins->call[i], range = origins->range_of[call], found = origins->operator_of[i];
    int64_t thread = origins->calls.thread[call], at = origins->calls.start[call];
    uint32_t step = steps_at(&origins->steps, global_process(thread), at);
    uint32_t place = places_at(&origins->places, thread, at, origins->calls.end[call]);
    int failed = 0;

    if (found != NO_OPERATOR)
        failed |= operators_cell(table, &row[OP], &origins->operators, origins->operators.list[found].name);
    if (range != NO_RANGE && origins->ranges.list[range].name != NVTX_NO_NAME)
        failed |= cell_set_pooled(table, &row[RANGE], origins->report, origins->ranges.list[range].name);
    if (step != NO_STEP)
        step_label(&origins->text, origins->report, &origins->steps.list[step]);
    failed |= kernel_origins_set_text(table, &row[STEP], origins);
    if (place != NO_PLACE)
        place_text(&origins->text, &origins->places, place);
    return failed | kernel_origins_set_text(table, &row[LINE], origins) ? ERR_NO_MEMORY : 0;
}

static int kernel_origins_add_kernel(struct table *table, const struct kernel_counters *counters,
                                     const struct counted_kernel *kernel, void *context)
{
    struct origins *origins = context;
    size_t i = (size_t)(kernel - counters->kernels);
    struct table_cell *row = table_add_row(table);
    int code;

    if (!row || (i == 0 && find_all(origins, counters) != 0))
        return ERR_NO_MEMORY;
    cell_set_rounded(&row[DURATION], kernel_counters_first(counters, kernel, duration));
    cell_set_number(&row[SM], kernel_counters_first(counters, kernel, sm));
    cell_set_number(&row[MEMORY], kernel_counters_first(counters, kernel, memory));
    if (origins->call[i] != NO_CALL && (code = set_origin(table, row, origins, i)) != 0)
        return code;
    return counters_set_kernel(table, &row[LAUNCH], &row[KERNEL], counters, kernel);
}

static int kernel_origins_run(struct report *report, const struct analysis_request *request, struct table **out,
                              struct error *err)
{
    struct origins origins = { .report = report };
    int code;

    if ((code = kernel_origins_read_all(&origins, request, err)) != 0)
        goto free_origins;
    code = counters_report(report, kernel_origins_columns, COLUMNS, kernel_origins_add_kernel, &origins, out, err);
free_origins:
    kernel_origins_free_all(&origins);
    return code;
}

const struct analysis analysis_kernel_origins = {
    .name = "kernel_origins",
    .title = "Where Counted Kernels Were Launched",
    .help = "The PyTorch operator, the innermost NVTX range, the step and the line of the program that launched each "
            "counted kernel, beside its duration and its throughputs. Cells are empty where that was not recorded.",
    .needs = { KERNEL_COUNTER_NEED },
    .run = kernel_origins_run,
};
