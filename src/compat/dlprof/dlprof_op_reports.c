/* The reports on operators: each of them, by type, and by the groups that their names form. */
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/keys.h"
#include "analyze/engine/statistics.h"
#include "base/array.h"
#include "base/saturating.h"
#include "dlprof_internal.h"

#define FIGURES(what)                                                                                                  \
    { "Total " what, CELL_INT, UNIT_NS, 0 }, { "Avg. " what, CELL_REAL, UNIT_NS, 1 },                                  \
        { "Min " what, CELL_INT, UNIT_NS, 0 }, { "Max " what, CELL_INT, UNIT_NS, 0 }
#define ALL_FIGURES FIGURES("CPU Time"), FIGURES("GPU Time"), FIGURES("CPU Overhead"), FIGURES("GPU Idle")
enum { FIGURE_COLUMNS = 4 * DLPROF_TIMES };

struct op_reports_times {
    struct statistics figures[DLPROF_TIMES];
};

static void op_reports_add_times(struct op_reports_times *times, const int64_t ns[DLPROF_TIMES])
{
    for (int i = 0; i < DLPROF_TIMES; i++)
        statistics_add(&times->figures[i], ns[i]);
}

static void op_reports_set_times(struct table_cell *cells, const struct op_reports_times *times)
{
    for (int i = 0; i < DLPROF_TIMES; i++)
        dlprof_set_figures(&cells[4 * i], &times->figures[i]);
}

static int by_first_text(const struct table_cell *a, const struct table_cell *b, void *context)
{
    return cell_compare_text(&a[0], &b[0]);
}

/* ---- detailed -------------------------------------------------------------------------------------------------- */

enum {
    OP_ID,
    OP_NAME,
    OP_DIRECTION,
    OP_TYPE,
    OP_CALLS,
    OP_ELIGIBLE,
    OP_USES,
    OP_FIGURES,
    OP_DATA_TYPE = OP_FIGURES + FIGURE_COLUMNS,
    OP_STACK,
    OP_DETAILED
};
static const struct table_column detailed_columns[] = {
    { "Op ID", CELL_TEXT, UNIT_NONE, 0 },     { "Op Name", CELL_TEXT, UNIT_NAME, 0 },
    { "Direction", CELL_TEXT, UNIT_NONE, 0 }, { "Op Type", CELL_TEXT, UNIT_NONE, 0 },
    { "No. Calls", CELL_INT, UNIT_NONE, 0 },  { "TC Eligible", CELL_TEXT, UNIT_NONE, 0 },
    { "Using TC", CELL_TEXT, UNIT_NONE, 0 },  ALL_FIGURES,
    { "Data Type", CELL_TEXT, UNIT_NONE, 0 }, { "Stack Trace", CELL_TEXT, UNIT_NONE, 0 },
};

static int op_reports_add_detail(struct table *table, const struct dlprof *dlprof, const struct dlprof_op *op,
                                 const struct op_reports_times *times)
{
    struct table_cell *cells = table_add_row(table);

    if (!cells || dlprof_set_text(table, &cells[OP_ID], dlprof, op->id) != 0 ||
        dlprof_set_text(table, &cells[OP_NAME], dlprof, op->words.name) != 0 ||
        cell_set_string(table, &cells[OP_DIRECTION], dlprof_direction_name(op->words.direction)) != 0 ||
        dlprof_set_text(table, &cells[OP_TYPE], dlprof, op->words.type) != 0 ||
        cell_set_string(table, &cells[OP_ELIGIBLE], dlprof_yes(op->is_eligible)) != 0 ||
        cell_set_string(table, &cells[OP_USES], dlprof_yes(op->uses_tensor_cores)) != 0 ||
        dlprof_set_text(table, &cells[OP_DATA_TYPE], dlprof, op->words.data_type) != 0 ||
        dlprof_set_text(table, &cells[OP_STACK], dlprof, op->words.stack) != 0)
        return ERR_NO_MEMORY;
    cell_set_int(&cells[OP_CALLS], (int64_t)times->figures[0].count);
    op_reports_set_times(&cells[OP_FIGURES], times);
    return 0;
}

int dlprof_detailed(struct dlprof *dlprof, const struct dlprof_maker *maker, struct dlprof_tables *out,
                    struct error *err)
{
    struct table *table = table_new(detailed_columns, OP_DETAILED);
    struct op_reports_times *times = calloc(dlprof->op_count + 1, sizeof *times);
    int code = table && times ? 0 : ERR_NO_MEMORY;

    for (size_t i = 0; i < dlprof->call_count && code == 0; i++)
        op_reports_add_times(&times[dlprof->calls[i].op], dlprof->calls[i].ns);
    for (size_t i = 0; i < dlprof->op_count && code == 0; i++)
        if (times[i].figures[0].count)
            code = op_reports_add_detail(table, dlprof, &dlprof->ops[i], &times[i]);
    if (code == 0)
        table_sort(table, by_first_text, NULL);
    free(times);
    return dlprof_hand_over(table, code, "All Iterations", out, err);
}

/* ---- by type --------------------------------------------------------------------------------------------------- */

enum { TYPE_NAME, TYPE_OPS, TYPE_CALLS, TYPE_FIGURES, TYPE_COLUMNS = TYPE_FIGURES + FIGURE_COLUMNS };
static const struct table_column type_columns[] = {
    { "Op Type", CELL_TEXT, UNIT_NAME, 0 },
    { "# Ops", CELL_INT, UNIT_NONE, 0 },
    { "# Calls", CELL_INT, UNIT_NONE, 0 },
    ALL_FIGURES,
};

struct type_sum {
    struct op_reports_times times;
    int64_t ops;
};

static int sum_types(const struct dlprof *dlprof, struct keys *types, struct type_sum *sums)
{
    unsigned char *seen = calloc(dlprof->op_count + 1, 1);

    if (!seen)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < dlprof->call_count; i++) {
        const struct dlprof_call *call = &dlprof->calls[i];
        uint32_t type = keys_add(types, (int64_t[]){ call->words.type });
        if (type == NO_KEY) {
            free(seen);
            return ERR_NO_MEMORY;
        }
        op_reports_add_times(&sums[type].times, call->ns);
        sums[type].ops += !seen[call->op];
        seen[call->op] = 1;
    }
    free(seen);
    return 0;
}

int dlprof_op_type(struct dlprof *dlprof, const struct dlprof_maker *maker, struct dlprof_tables *out,
                   struct error *err)
{
    struct table *table = table_new(type_columns, TYPE_COLUMNS);
    struct keys types = { .width = 1 };
    struct type_sum *sums = calloc(dlprof->op_count + 1, sizeof *sums);
    int code = table && sums ? sum_types(dlprof, &types, sums) : ERR_NO_MEMORY;

    for (uint32_t i = 0; i < types.count && code == 0; i++) {
        struct table_cell *cells = table_add_row(table);
        if (!cells || dlprof_set_text(table, &cells[TYPE_NAME], dlprof, (uint32_t)*keys_get(&types, i)) != 0) {
            code = ERR_NO_MEMORY;
            break;
        }
        cell_set_int(&cells[TYPE_OPS], sums[i].ops);
        cell_set_int(&cells[TYPE_CALLS], (int64_t)sums[i].times.figures[0].count);
        op_reports_set_times(&cells[TYPE_FIGURES], &sums[i].times);
    }
    if (code == 0)
        table_sort(table, by_first_text, NULL);
    keys_free(&types);
    free(sums);
    return dlprof_hand_over(table, code, "Op Type Summary Report", out, err);
}

/* ---- by group -------------------------------------------------------------------------------------------------- */

/* A group is the start of a name, up to a slash; _CompleteModel_ is all operators. Its figures are over iterations. */
enum {
    GROUP_NAME,
    GROUP_CALLS,
    GROUP_ELIGIBLE,
    GROUP_USING,
    GROUP_FIGURES,
    GROUP_COLUMNS = GROUP_FIGURES + FIGURE_COLUMNS
};
static const struct table_column group_columns[] = {
    { "Name", CELL_TEXT, UNIT_NAME, 0 },
    { "Num Calls Aggregated", CELL_INT, UNIT_NONE, 0 },
    { "Num TC Eligible Ops", CELL_INT, UNIT_NONE, 0 },
    { "Num Ops Using TC", CELL_INT, UNIT_NONE, 0 },
    ALL_FIGURES,
};

struct group_sum {
    struct op_reports_times times;
    int64_t calls, eligible, using_tensor_cores;
    int64_t ns[DLPROF_TIMES]; /* within the iteration */
    uint32_t iteration_plus_1;
};

struct grouping {
    struct dlprof *dlprof;
    struct keys names;      /* texts */
    struct group_sum *sums; /* owned; by name */
    size_t room;
    unsigned char *seen;    /* owned; by operator */
};

static void close_iteration(struct group_sum *sum)
{
    if (sum->iteration_plus_1)
        op_reports_add_times(&sum->times, sum->ns);
    memset(sum->ns, 0, sizeof sum->ns);
}

static int op_reports_add_to_group(struct grouping *grouping, const char *name, size_t length,
                                   const struct dlprof_call *call)
{
    const struct dlprof_op *op = &grouping->dlprof->ops[call->op];
    uint32_t text = dlprof_intern(grouping->dlprof, name, length);
    uint32_t key = text == UINT32_MAX ? NO_KEY : keys_add(&grouping->names, (int64_t[]){ text });

    if (key == NO_KEY ||
        array_reserve_zeroed(&grouping->sums, &grouping->room, (size_t)key + 1, sizeof *grouping->sums) != 0)
        return ERR_NO_MEMORY;
    struct group_sum *sum = &grouping->sums[key];
    if (sum->iteration_plus_1 != call->iteration + 1)
        close_iteration(sum);
    sum->iteration_plus_1 = call->iteration + 1;
    sum->calls++;
    sum->eligible += op->is_eligible && !grouping->seen[call->op];
    sum->using_tensor_cores += op->uses_tensor_cores && !grouping->seen[call->op];
    for (int i = 0; i < DLPROF_TIMES; i++)
        sum->ns[i] = saturating_add(sum->ns[i], call->ns[i]);
    return 0;
}

static int add_to_groups(struct grouping *grouping, const struct dlprof_call *call)
{
    static const char all[] = "_CompleteModel_";
    struct intern_string name = dlprof_text(grouping->dlprof, call->words.name);

    for (size_t i = 0; name.length && name.bytes[0] == '/' && i < name.length; i++)
        if (name.bytes[i] == '/' && op_reports_add_to_group(grouping, name.bytes, i + 1, call) != 0)
            return ERR_NO_MEMORY;
    if (op_reports_add_to_group(grouping, all, sizeof all - 1, call) != 0)
        return ERR_NO_MEMORY;
    grouping->seen[call->op] = 1;
    return 0;
}

static int op_reports_add_groups(struct table *table, struct grouping *grouping)
{
    for (uint32_t i = 0; i < grouping->names.count; i++) {
        struct group_sum *sum = &grouping->sums[i];
        struct table_cell *cells = table_add_row(table);
        if (!cells ||
            dlprof_set_text(table, &cells[GROUP_NAME], grouping->dlprof, (uint32_t)*keys_get(&grouping->names, i)) != 0)
            return ERR_NO_MEMORY;
        close_iteration(sum);
        cell_set_int(&cells[GROUP_CALLS], sum->calls);
        cell_set_int(&cells[GROUP_ELIGIBLE], sum->eligible);
        cell_set_int(&cells[GROUP_USING], sum->using_tensor_cores);
        op_reports_set_times(&cells[GROUP_FIGURES], &sum->times);
    }
    table_sort(table, by_first_text, NULL);
    return 0;
}

int dlprof_group_op(struct dlprof *dlprof, const struct dlprof_maker *maker, struct dlprof_tables *out,
                    struct error *err)
{
    struct table *table = table_new(group_columns, GROUP_COLUMNS);
    struct grouping grouping = { .dlprof = dlprof, .names.width = 1 };
    int code = ERR_NO_MEMORY;

    grouping.seen = calloc(dlprof->op_count + 1, 1);
    if (table && grouping.seen)
        code = 0;
    for (size_t i = 0; i < dlprof->call_count && code == 0; i++)
        code = add_to_groups(&grouping, &dlprof->calls[i]);
    if (code == 0)
        code = op_reports_add_groups(table, &grouping);
    keys_free(&grouping.names);
    free(grouping.sums);
    free(grouping.seen);
    return dlprof_hand_over(table, code, "Group Op Report", out, err);
}

/* ---- the calls themselves -------------------------------------------------------------------------------------- */

enum {
    CALL_ITERATION,
    CALL_OP_ID,
    CALL_OP_NAME,
    CALL_OP_TYPE,
    CALL_OP_DIRECTION,
    CALL_BEGIN,
    CALL_TIMES,
    CALL_INPUTS = CALL_TIMES + DLPROF_TIMES,
    CALL_ALL
};
static const struct table_column op_reports_call_columns[] = {
    { "Iteration", CELL_INT, UNIT_ID, 0 },       { "Op ID", CELL_TEXT, UNIT_NONE, 0 },
    { "Op Name", CELL_TEXT, UNIT_NAME, 0 },      { "Op Type", CELL_TEXT, UNIT_NONE, 0 },
    { "Direction", CELL_TEXT, UNIT_NONE, 0 },    { "Start", CELL_INT, UNIT_TIME, 0 },
    { "CPU Time", CELL_INT, UNIT_NS, 0 },        { "GPU Time", CELL_INT, UNIT_NS, 0 },
    { "CPU Overhead", CELL_INT, UNIT_NS, 0 },    { "GPU Idle", CELL_INT, UNIT_NS, 0 },
    { "Input Shapes", CELL_TEXT, UNIT_NONE, 0 },
};

int dlprof_model_data(struct dlprof *dlprof, struct table **out, struct error *err)
{
    struct table *table = table_new(op_reports_call_columns, CALL_ALL);
    int code = table ? 0 : ERR_NO_MEMORY;

    for (size_t i = 0; i < dlprof->call_count && code == 0; i++) {
        const struct dlprof_call *call = &dlprof->calls[i];
        struct table_cell *cells = table_add_row(table);
        if (!cells || dlprof_set_text(table, &cells[CALL_OP_ID], dlprof, dlprof->ops[call->op].id) != 0 ||
            dlprof_set_text(table, &cells[CALL_OP_NAME], dlprof, call->words.name) != 0 ||
            dlprof_set_text(table, &cells[CALL_OP_TYPE], dlprof, call->words.type) != 0 ||
            cell_set_string(table, &cells[CALL_OP_DIRECTION], dlprof_direction_name(call->words.direction)) != 0 ||
            dlprof_set_text(table, &cells[CALL_INPUTS], dlprof, call->words.inputs) != 0) {
            code = ERR_NO_MEMORY;
            break;
        }
        cell_set_int(&cells[CALL_ITERATION], call->iteration);
        cell_set_int(&cells[CALL_BEGIN], call->start_ns);
        for (int t = 0; t < DLPROF_TIMES; t++)
            cell_set_int(&cells[CALL_TIMES + t], call->ns[t]);
    }
    return table_hand_over(table, code, out, err);
}
