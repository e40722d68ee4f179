/* step_sum and step_stats: how the time of each step was spent, and statistics over all steps. */
#include <stdlib.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/keys.h"
#include "analyze/model/torch/step_times.h"
#include "analyze/model/torch/steps_read.h"
#include "analyze/registry.h"

struct step_summary {
    struct report *report;
    struct steps found;          /* owned, unless the request brought its own */
    const struct steps *steps;
    struct step_breakdown times;
    struct report_columns ranks; /* owned; globalPid and rank of each process */
};

/* ---- figures of a step ----------------------------------------------------------------------------------------- */

enum step_quantity { TIME, BUSY, IDLE, KERNEL, COPY, COMMUNICATION, OVERLAP, LOADING, OPTIMIZER, CPU_ONLY, QUANTITIES };
static const char *const quantity_names[QUANTITIES] = { "Time",      "GPU Busy",      "GPU Idle", "Kernel",
                                                        "Copy",      "Communication", "Overlap",  "Data Loading",
                                                        "Optimizer", "CPU Only" };
#define NOT_KNOWN INT64_MIN

static void fill_quantities(int64_t out[QUANTITIES], const struct step_summary *summary, size_t at)
{
    const struct step *step = &summary->steps->list[at];
    const struct step_breakdown *times = &summary->times;
    const int64_t *ns = times->list[at].ns;

    for (int i = 0; i < QUANTITIES; i++)
        out[i] = NOT_KNOWN;
    out[TIME] = saturating_duration(step->start_ns, step->end_ns);
    out[LOADING] = ns[LAYER_LOADING];
    out[OPTIMIZER] = ns[LAYER_OPTIMIZER];
    out[COMMUNICATION] = times->has_communication ? ns[LAYER_COMMUNICATION] : ns[LAYER_CPU_COMMUNICATION];
    if (times->has_operators)
        out[CPU_ONLY] = saturating_subtract(ns[LAYER_WORK_OR_CPU], ns[LAYER_WORK]);
    if (!times->has_work)
        return;
    out[BUSY] = ns[LAYER_BUSY];
    out[IDLE] = saturating_subtract(out[TIME], ns[LAYER_WORK]);
    out[KERNEL] = ns[LAYER_KERNEL];
    out[COPY] = ns[LAYER_COPY];
    out[OVERLAP] = saturating_subtract(saturating_add(ns[LAYER_KERNEL], ns[LAYER_COMMUNICATION]), ns[LAYER_COMPUTING]);
}

static int step_sum_is_shown(const struct step *step, const struct analysis_request *request)
{
    return step->is_chosen && span_overlaps(request->span, step->start_ns, step->end_ns) &&
           (!request->filter || !(request->filter->only & ONLY_PID) ||
            global_pid_number(step->process) == request->filter->pid);
}

static void step_sum_set_process(const struct step_summary *summary, struct table_cell *pid, struct table_cell *rank,
                                 int64_t process)
{
    const struct report_columns *rows = &summary->ranks;

    cell_set_int(pid, global_pid_number(process));
    for (size_t row = 0; row < rows->rows; row++)
        if (rows->values[0][row] == process && !columns_is_null(rows, 1, row))
            cell_set_int(rank, rows->values[1][row]);
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

static void step_sum_summary_free(struct step_summary *summary)
{
    step_breakdown_free(&summary->times);
    steps_free(&summary->found);
    report_columns_free(&summary->ranks);
}

static int summary_read(struct step_summary *summary, struct report *report, const struct analysis_request *request,
                        struct error *err)
{
    static const char *const names[] = { "globalPid", "rank" };
    const struct steps_request automatic = { .may_guess = 1 };
    struct analysis_filter only = request->filter ? *request->filter : (struct analysis_filter){ 0 };
    struct analysis_request all = { .filter = &only };
    struct filter filter = { 0 };
    int code;

    *summary = (struct step_summary){ .report = report, .steps = only.steps ? only.steps : &summary->found };
    if (!only.steps && (code = steps_read(&summary->found, report, &automatic, err)) != 0)
        return code;
    if ((code = columns_read(report, "TACHO_PROCESS", names, 2, &summary->ranks, err)) != 0)
        return code;
    /* These select the steps that are shown; the work in a step counts whatever its process and thread are. */
    only.only &= ~(ONLY_STEPS | ONLY_PID | ONLY_TID);
    if ((code = filter_open(&filter, report, &all, err)) != 0)
        goto close_filter;
    code = step_breakdown_read(&summary->times, summary->steps, report, &filter, err);
close_filter:
    filter_close(&filter);
    return code;
}

/* ---- step_sum -------------------------------------------------------------------------------------------------- */

enum {
    CELL_STEP,
    CELL_FIRST,
    CELL_KERNELS = CELL_FIRST + QUANTITIES,
    CELL_START,
    CELL_PID,
    CELL_RANK,
    CELL_NAME,
    CELLS
};

static int step_sum_add_step(struct table *table, const struct step_summary *summary, size_t at, struct text *label)
{
    const struct step *step = &summary->steps->list[at];
    struct table_cell *row = table_add_row(table);
    int64_t quantities[QUANTITIES];

    if (!row)
        return ERR_NO_MEMORY;
    fill_quantities(quantities, summary, at);
    for (int i = 0; i < QUANTITIES; i++)
        if (quantities[i] != NOT_KNOWN)
            cell_set_int(&row[CELL_FIRST + i], quantities[i]);
    cell_set_int(&row[CELL_STEP], step->number);
    cell_set_int(&row[CELL_START], step->start_ns);
    if (summary->times.has_work)
        cell_set_int(&row[CELL_KERNELS], summary->times.list[at].kernels);
    step_sum_set_process(summary, &row[CELL_PID], &row[CELL_RANK], step->process);
    step_label(label, summary->report, step);
    return cell_set_built(table, &row[CELL_NAME], label);
}

static int fill_steps(struct table *table, const struct step_summary *summary, const struct analysis_request *request)
{
    struct text label = { 0 };
    int code = 0;

    for (size_t i = 0; i < summary->steps->count; i++)
        if (step_sum_is_shown(&summary->steps->list[i], request) &&
            (code = step_sum_add_step(table, summary, i, &label)) != 0)
            goto free_label;
free_label:
    text_free(&label);
    return code;
}

static int step_sum(struct report *report, const struct analysis_request *request, struct table **out,
                    struct error *err)
{
    struct table_column columns[CELLS] = {
        [CELL_STEP] = { "Step", CELL_INT, UNIT_ID, 0 },     [CELL_KERNELS] = { "Kernels", CELL_INT, UNIT_NONE, 0 },
        [CELL_START] = { "Start", CELL_INT, UNIT_TIME, 0 }, [CELL_PID] = { "PID", CELL_INT, UNIT_ID, 0 },
        [CELL_RANK] = { "Rank", CELL_INT, UNIT_ID, 0 },     [CELL_NAME] = { "Name", CELL_TEXT, UNIT_NAME, 0 },
    };
    struct table *table = NULL;
    struct step_summary summary;
    int code = summary_read(&summary, report, request, err);

    if (code != 0)
        goto done;
    for (int i = 0; i < QUANTITIES; i++)
        columns[CELL_FIRST + i] = (struct table_column){ quantity_names[i], CELL_INT, UNIT_NS, 0 };
    table = table_new(columns, CELLS);
    code = table ? fill_steps(table, &summary, request) : ERR_NO_MEMORY;
done:
    step_sum_summary_free(&summary);
    return table_hand_over(table, code, out, err);
}

/* ---- step_stats ------------------------------------------------------------------------------------------------ */

enum {
    STAT_NAME,
    STAT_SHARE,
    STAT_COUNT,
    STAT_TOTAL,
    STAT_MEAN,
    STAT_MEDIAN,
    STAT_MIN,
    STAT_MAX,
    STAT_DEVIATION,
    STAT_PID,
    STAT_RANK,
    STATS
};

static int add_quantity(struct table *table, const struct step_summary *summary, enum step_quantity quantity,
                        const struct keys_figures *figures, __int128 time, int64_t process)
{
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    if (time > 0)
        cell_set_real(&row[STAT_SHARE], 100.0 * (double)figures->figures.total / (double)time);
    cell_set_int(&row[STAT_COUNT], (int64_t)figures->figures.count);
    cell_set_int(&row[STAT_TOTAL], (int64_t)figures->figures.total);
    cell_set_real(&row[STAT_MEAN], statistics_mean(&figures->figures));
    cell_set_real(&row[STAT_MEDIAN], figures->median);
    cell_set_int(&row[STAT_MIN], figures->figures.min);
    cell_set_int(&row[STAT_MAX], figures->figures.max);
    cell_set_real(&row[STAT_DEVIATION], statistics_deviation(&figures->figures));
    step_sum_set_process(summary, &row[STAT_PID], &row[STAT_RANK], process);
    return cell_set_string(table, &row[STAT_NAME], quantity_names[quantity]);
}

/* Adds the rows of one process, whose steps are adjacent. */
static int step_sum_add_process(struct table *table, const struct step_summary *summary,
                                const struct analysis_request *request, size_t first, size_t behind)
{
    size_t room = (behind - first) * QUANTITIES, count = 0;
    uint32_t *groups = malloc((room + 1) * sizeof *groups);
    int64_t *values = malloc((room + 1) * sizeof *values), quantities[QUANTITIES];
    struct keys_figures figures[QUANTITIES];
    int code = ERR_NO_MEMORY;

    if (!groups || !values)
        goto done;
    for (size_t at = first; at < behind; at++) {
        if (!step_sum_is_shown(&summary->steps->list[at], request))
            continue;
        fill_quantities(quantities, summary, at);
        for (uint32_t i = 0; i < QUANTITIES; i++, count++) {
            groups[count] = quantities[i] == NOT_KNOWN ? NO_KEY : i;
            values[count] = quantities[i];
        }
    }
    if ((code = keys_summarize(figures, QUANTITIES, groups, values, count)) != 0)
        goto done;
    for (int i = 0; i < QUANTITIES; i++)
        if (figures[i].figures.count &&
            (code = add_quantity(table, summary, (enum step_quantity)i, &figures[i], figures[TIME].figures.total,
                                 summary->steps->list[first].process)) != 0)
            goto done;
done:
    free(groups);
    free(values);
    return code;
}

static int fill_stats(struct table *table, const struct step_summary *summary, const struct analysis_request *request)
{
    const struct steps *steps = summary->steps;

    for (size_t first = 0, i = 1; i <= steps->count; i++) {
        if (i < steps->count && steps->list[i].process == steps->list[first].process)
            continue;
        if (step_sum_add_process(table, summary, request, first, i) != 0)
            return ERR_NO_MEMORY;
        first = i;
    }
    return 0;
}

static int step_stats(struct report *report, const struct analysis_request *request, struct table **out,
                      struct error *err)
{
    static const struct table_column columns[STATS] = {
        { "Quantity", CELL_TEXT, UNIT_NONE, 0 }, { "Share", CELL_REAL, UNIT_PERCENT, 1 },
        { "Steps", CELL_INT, UNIT_NONE, 0 },     { "Total", CELL_INT, UNIT_NS, 0 },
        { "Avg", CELL_REAL, UNIT_NS, 1 },        { "Med", CELL_REAL, UNIT_NS, 1 },
        { "Min", CELL_INT, UNIT_NS, 0 },         { "Max", CELL_INT, UNIT_NS, 0 },
        { "StdDev", CELL_REAL, UNIT_NS, 1 },     { "PID", CELL_INT, UNIT_ID, 0 },
        { "Rank", CELL_INT, UNIT_ID, 0 },
    };
    struct table *table = table_new(columns, STATS);
    struct step_summary summary;
    int code = summary_read(&summary, report, request, err);

    if (code != 0)
        goto done;
    code = table ? fill_stats(table, &summary, request) : ERR_NO_MEMORY;
done:
    step_sum_summary_free(&summary);
    return table_hand_over(table, code, out, err);
}

const struct analysis analysis_step_sum = {
    .name = "step_sum",
    .title = "Step Summary",
    .help = "Time of each step, and its parts. Steps are ProfilerStep#N, ranges 'iteration N' or 'step N', or those of "
            "--step-range or --step-op. Of the GPU work that the step launched: GPU Busy, Kernel, Copy, Communication "
            "(kernels of NCCL and NVSHMEM) and its Overlap with other kernels. Of the step's own time: GPU Idle (no "
            "work ran), Data Loading, Optimizer, and CPU Only (operators on the CPU, nothing on a GPU). Overlapping "
            "work counts once.",
    .needs = { { "steps", steps_tables } },
    .run = step_sum,
};

const struct analysis analysis_step_stats = {
    .name = "step_stats",
    .title = "Step Statistics",
    .help = "The columns of step_sum over all steps of a process: share of the time of the steps, total, mean, median, "
            "minimum, maximum and standard deviation.",
    .needs = { { "steps", steps_tables } },
    .overlap = "quantities overlap",
    .run = step_stats,
};
