/* torch_fwd_bwd_sum: the cost of PyTorch's forward operators, and of the backward operators that autograd ran for them.
 *
 * A backward operator has the sequence number of the forward operator that it belongs to. If several nested forward
 * operators have that number, it belongs to the one that began last, as in torch's own traces. */
#include <stdlib.h>

#include "analyze/engine/event_columns.h"
#include "analyze/model/torch/forward_operators.h"
#include "analyze/model/torch/operators.h"
#include "analyze/registry.h"
#include "report/schema/torch_names.h"

enum pair_side { FORWARD, BACKWARD, SIDES };

struct operator_pair {
    int64_t count, cpu_ns[SIDES], gpu_ns[SIDES];
};

struct operator_matching {
    struct operators operators;
    double *gpu_us;              /* owned; by operator, descendants included */
    struct forward_operators forwards;
    struct keys names;           /* names of the forward and the backward operator; each key has a pair */
    struct operator_pair *pairs; /* owned */
};

static void sum_gpu(struct operator_matching *matching)
{
    const struct operators *operators = &matching->operators;

    for (size_t i = operators->count; i-- > 0;) { /* descendants come after their operator */
        const struct operators_event *op = &operators->list[i];
        if (op->is_collapsed || !operator_is_cpu((enum operator_kind)op->kind))
            continue;
        matching->gpu_us[i] += op->kernels_us;
        if (op->parent != NO_OPERATOR)
            matching->gpu_us[op->parent] += matching->gpu_us[i];
    }
}

static void add_side(struct operator_matching *matching, struct operator_pair *pair, enum pair_side side, uint32_t at)
{
    const struct operators_event *op = &matching->operators.list[at];

    pair->cpu_ns[side] = saturating_add(pair->cpu_ns[side], saturating_duration(op->start_ns, op->end_ns));
    pair->gpu_ns[side] = saturating_add(pair->gpu_ns[side], saturating_from_double(matching->gpu_us[at] * 1000 + 0.5));
}

static int fwd_bwd_sum_add_pair(struct operator_matching *matching, uint32_t forward, uint32_t backward)
{
    const struct operators_event *list = matching->operators.list;
    uint32_t key = keys_add(&matching->names, (int64_t[]){ list[forward].name, list[backward].name });

    if (key == NO_KEY)
        return ERR_NO_MEMORY;
    matching->pairs[key].count++;
    add_side(matching, &matching->pairs[key], FORWARD, forward);
    add_side(matching, &matching->pairs[key], BACKWARD, backward);
    return 0;
}

/* Whether an operator can be part of a pair. An operator of autograd's engine encloses each backward operator, and in
 * some versions it has the same sequence number. */
static int fwd_bwd_sum_counts(const struct operator_matching *matching, const struct operators_event *op)
{
    struct intern_string name = operators_text(&matching->operators, op->name);

    return op->kind == OPERATOR && !op->is_collapsed && op->sequence >= 0 && !torch_is_engine(name.bytes, name.length);
}

static int match_one(struct operator_matching *matching, uint32_t at)
{
    const struct operators_event *op = &matching->operators.list[at];

    if (!op->is_backward)
        return forward_operators_add(&matching->forwards, op, at);
    uint32_t forward = forward_operators_find(&matching->forwards, op).last;
    if (forward == NO_OPERATOR)
        return 0; /* the forward operator was not recorded */
    return fwd_bwd_sum_add_pair(matching, forward, at);
}

static int fwd_bwd_sum_match(struct operator_matching *matching)
{
    for (size_t i = 0; i < matching->operators.count; i++)
        if (fwd_bwd_sum_counts(matching, &matching->operators.list[i]) && match_one(matching, (uint32_t)i) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

enum {
    CELL_SHARE,
    CELL_COUNT,
    CELL_CPU,
    CELL_GPU = CELL_CPU + SIDES,
    CELL_NAMES = CELL_GPU + SIDES,
    CELLS = CELL_NAMES + SIDES
};
static const struct table_column fwd_bwd_sum_columns[CELLS] = {
    { "Time", CELL_REAL, UNIT_PERCENT, 1 },  { "Pairs", CELL_INT, UNIT_NONE, 0 },
    { "Forward CPU", CELL_INT, UNIT_NS, 0 }, { "Backward CPU", CELL_INT, UNIT_NS, 0 },
    { "Forward GPU", CELL_INT, UNIT_NS, 0 }, { "Backward GPU", CELL_INT, UNIT_NS, 0 },
    { "Forward", CELL_TEXT, UNIT_NAME, 0 },  { "Backward", CELL_TEXT, UNIT_NONE, 0 },
};

/* The time by which pairs are ranked. */
static int64_t fwd_bwd_sum_weight(const struct operator_pair *pair, int by_gpu)
{
    const int64_t *ns = by_gpu ? pair->gpu_ns : pair->cpu_ns;

    return saturating_add(ns[FORWARD], ns[BACKWARD]);
}

static int fwd_bwd_sum_add_row(struct table *table, const struct operator_matching *matching, uint32_t key,
                               double share)
{
    const struct operator_pair *pair = &matching->pairs[key];
    const int64_t *names = keys_get(&matching->names, key);
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_real(&row[CELL_SHARE], share);
    cell_set_int(&row[CELL_COUNT], pair->count);
    for (int side = 0; side < SIDES; side++) {
        struct intern_string name = operators_text(&matching->operators, (uint32_t)names[side]);
        cell_set_int(&row[CELL_CPU + side], pair->cpu_ns[side]);
        cell_set_int(&row[CELL_GPU + side], pair->gpu_ns[side]);
        if (cell_set_text(table, &row[CELL_NAMES + side], name.bytes, name.length) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int fwd_bwd_sum_fill(struct table *table, const struct operator_matching *matching)
{
    int64_t totals[2] = { 0 };

    for (uint32_t key = 0; key < matching->names.count; key++)
        for (int by_gpu = 0; by_gpu < 2; by_gpu++)
            totals[by_gpu] = saturating_add(totals[by_gpu], fwd_bwd_sum_weight(&matching->pairs[key], by_gpu));
    int by_gpu = totals[1] > 0;
    double total = totals[by_gpu] ? (double)totals[by_gpu] : 1;
    for (uint32_t key = 0; key < matching->names.count; key++)
        if (fwd_bwd_sum_add_row(table, matching, key,
                                100.0 * (double)fwd_bwd_sum_weight(&matching->pairs[key], by_gpu) / total) != 0)
            return ERR_NO_MEMORY;
    table_sort_by(table, BY(DOWN(CELL_SHARE)));
    return 0;
}

/* Finds all pairs, with the time of both operators. */
static int find_pairs(struct operator_matching *matching)
{
    matching->gpu_us = calloc(matching->operators.count + 1, sizeof *matching->gpu_us);
    matching->pairs = calloc(matching->operators.count + 1, sizeof *matching->pairs);
    if (!matching->gpu_us || !matching->pairs || operators_nest(&matching->operators) != 0)
        return ERR_NO_MEMORY;
    sum_gpu(matching);
    return fwd_bwd_sum_match(matching);
}

static int fwd_bwd_sum_run(struct report *report, const struct analysis_request *request, struct table **out,
                           struct error *err)
{
    struct operator_matching matching = { .forwards = FORWARD_OPERATORS_NONE, .names.width = 2 };
    struct table *table = table_new(fwd_bwd_sum_columns, CELLS);
    int code = operators_read(&matching.operators, report, request, err);

    if (code != 0)
        goto done;
    if (!table || find_pairs(&matching) != 0 || fwd_bwd_sum_fill(table, &matching) != 0)
        code = error_short_memory(err, "for the operators");
done:
    operators_free(&matching.operators);
    forward_operators_free(&matching.forwards);
    keys_free(&matching.names);
    free(matching.gpu_us);
    free(matching.pairs);
    return table_hand_over(table, code, out, err);
}

const struct analysis analysis_torch_fwd_bwd_sum = {
    .name = "torch_fwd_bwd_sum",
    .title = "PyTorch Forward and Backward Summary",
    .help = "PyTorch forward operators with their backward operators, matched by sequence number: count, CPU time and "
            "GPU time of both, including their callees. Time is the share of GPU time, or of CPU time if nothing ran "
            "on a GPU.",
    .needs = { { "PyTorch operators", TABLES("TACHO_TORCH_OP", "NVTX_EVENTS") } },
    .run = fwd_bwd_sum_run,
};
