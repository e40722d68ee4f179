/* Details that the PyTorch operators in a call report: sequence numbers, which autograd gives to an operator and its
 * backward operator, and FLOPs and bytes, where shapes were recorded. */
#include <stdlib.h>

#include "analyze/model/flops/operator_flops.h"
#include "base/array.h"
#include "dlprof_internal.h"

/* A sequence number of a call beside its first. */
struct other_sequence {
    size_t call;
    int64_t sequence;
};

struct other_sequences {
    struct other_sequence *list; /* owned */
    size_t count, room;
};

static int dlprof_details_by_call(const void *left, const void *right)
{
    const struct other_sequence *a = left, *b = right;

    return COMPARE(a->call, b->call) ?: COMPARE(a->sequence, b->sequence);
}

/* Operators come in order of time, the outer before the inner. */
static int find_sequences(struct dlprof *dlprof, const struct operators *operators, struct other_sequences *others)
{
    for (size_t i = 0; i < operators->count; i++) {
        const struct operators_event *op = &operators->list[i];
        size_t at = op->kind == OPERATOR && op->sequence >= 0 ? dlprof_call_at(dlprof, op->thread, op->start_ns)
                                                              : SIZE_MAX;
        if (at == SIZE_MAX || dlprof->calls[at].sequence == op->sequence)
            continue;
        if (dlprof->calls[at].sequence < 0) {
            dlprof->calls[at].sequence = op->sequence;
            continue;
        }
        if (array_reserve(&others->list, &others->room, others->count + 1, sizeof *others->list) != 0)
            return ERR_NO_MEMORY;
        others->list[others->count++] = (struct other_sequence){ at, op->sequence };
    }
    return 0;
}

static int note_sequences(struct dlprof *dlprof, const struct operators *operators)
{
    struct other_sequences others = { 0 };
    struct text text = { 0 };
    int code = find_sequences(dlprof, operators, &others);

    if (others.count)
        qsort(others.list, others.count, sizeof *others.list, dlprof_details_by_call);
    for (size_t i = 0; i < others.count && code == 0; i++) {
        const struct other_sequence *one = &others.list[i];
        int is_first = i == 0 || one[-1].call != one->call;
        if (is_first || one[-1].sequence != one->sequence)
            text_addf(&text, "%s%lld", text.length ? "," : "", (long long)one->sequence);
        if (i + 1 < others.count && one[1].call == one->call)
            continue;
        dlprof->calls[one->call].other_sequences = dlprof_intern_built(dlprof, &text);
        code = dlprof->calls[one->call].other_sequences == UINT32_MAX ? ERR_NO_MEMORY : 0;
    }
    text_free(&text);
    free(others.list);
    return code;
}

/* A figure is unknown if any part of it is. */
static double dlprof_details_sum_of(double sum, double part)
{
    return sum < 0 || part < 0 ? NOT_KNOWN : sum + part;
}

static void note_work(struct dlprof *dlprof, const struct flops *flops)
{
    for (size_t i = 0; i < flops->operators.count; i++) {
        const struct operators_event *op = &flops->operators.list[i];
        const struct operator_flops *own = &flops->list[i];
        const struct op_work unknown = { .class = OP_FUSED, .flops = NOT_KNOWN, .bytes = NOT_KNOWN };
        const struct op_work *work = own->work == FLOPS_NO_WORK ? &unknown : &flops->works.list[own->work];
        size_t at = op->kind == OPERATOR && (own->work != FLOPS_NO_WORK || own->gpu_ns > 0)
                        ? dlprof_call_at(dlprof, op->thread, op->start_ns)
                        : SIZE_MAX;
        if (at == SIZE_MAX)
            continue;
        struct op_work *sum = op_class_is_matrix(work->class) ? &dlprof->calls[at].products : &dlprof->calls[at].others;
        if (sum->class == OP_UNKNOWN)
            *sum = (struct op_work){ .class = work->class, .type = work->type };
        sum->flops = dlprof_details_sum_of(sum->flops, work->flops);
        sum->bytes = dlprof_details_sum_of(sum->bytes, work->bytes);
    }
}

int dlprof_read_details(struct dlprof *dlprof, struct error *err)
{
    const struct analysis_request all = { 0 };
    struct flops flops = { 0 };
    int code = flops_of_operators(&flops, dlprof->report, &all, err);

    dlprof_sort_by_thread(dlprof);
    if (code == 0)
        note_work(dlprof, &flops);
    else if (code == ERR_NO_DATA) /* no shapes, or no operators */
        code = operators_read(&flops.operators, dlprof->report, &all, err);
    if (code == ERR_NO_DATA) {
        *err = (struct error){ 0 };
        return 0;
    }
    if (code != 0)
        return code;
    if ((!flops.list && operators_nest(&flops.operators) != 0) || note_sequences(dlprof, &flops.operators) != 0)
        code = error_short_memory(err, "for the operators");
    flops_free(&flops);
    return code;
}
