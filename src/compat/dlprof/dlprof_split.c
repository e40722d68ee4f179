/* Splits calls into iterations, and finds the operator of each call.
 *
 * An iteration ends where a call of the key operator ends, or a step. The time after the last end is an iteration
 * too. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyze/engine/keys.h"
#include "analyze/model/torch/steps_read.h"
#include "base/array.h"
#include "base/saturating.h"
#include "dlprof_internal.h"

/* ---- order ----------------------------------------------------------------------------------------------------- */

struct dlprof_split_numbered {
    int64_t start_ns, end_ns;
    uint32_t number;
};

static int dlprof_split_by_start(const void *left, const void *right)
{
    const struct dlprof_split_numbered *a = left, *b = right;

    return COMPARE(a->start_ns, b->start_ns) ?: COMPARE(b->end_ns, a->end_ns) ?: COMPARE(a->number, b->number);
}

/* Brings the calls into the order of time, and the numbers of calls in the works with them. */
static int order_calls(struct dlprof *dlprof)
{
    size_t count = dlprof->call_count;
    struct dlprof_split_numbered *order = malloc((count + 1) * sizeof *order);
    struct dlprof_call *calls = malloc((count + 1) * sizeof *calls);
    uint32_t *places = malloc((count + 1) * sizeof *places);
    int code = ERR_NO_MEMORY;

    if (!order || !calls || !places)
        goto done;
    for (size_t i = 0; i < count; i++)
        order[i] = (struct dlprof_split_numbered){ dlprof->calls[i].start_ns, dlprof->calls[i].end_ns, (uint32_t)i };
    qsort(order, count, sizeof *order, dlprof_split_by_start);
    for (size_t i = 0; i < count; i++) {
        calls[i] = dlprof->calls[order[i].number];
        places[order[i].number] = (uint32_t)i;
    }
    memcpy(dlprof->calls, calls, count * sizeof *calls);
    for (size_t i = 0; i < dlprof->work_count; i++)
        dlprof->works[i].call = places[dlprof->works[i].call];
    code = 0;
done:
    free(order);
    free(calls);
    free(places);
    return code;
}

/* ---- operators ------------------------------------------------------------------------------------------------- */

struct dlprof_split_numbering {
    struct keys names;     /* name and direction */
    struct occurrence {
        uint32_t iteration, count;
    } *seen;               /* owned; by name: how often in the last iteration */
    struct keys ops;       /* name, direction and place in the iteration */
    struct keys types;
    uint32_t *type_counts; /* owned; by type */
    size_t seen_room, type_room;
};

/* CONV2D_1, with types counted in order of time. */
static int dlprof_split_add_op(struct dlprof *dlprof, struct dlprof_split_numbering *numbering,
                               const struct dlprof_call *call)
{
    struct intern_string type = dlprof_text(dlprof, call->words.type);
    struct text id = { 0 };
    uint32_t key = keys_add(&numbering->types, (int64_t[]){ call->words.type });

    if (key == NO_KEY ||
        array_reserve(&dlprof->ops, &dlprof->op_room, dlprof->op_count + 1, sizeof *dlprof->ops) != 0 ||
        array_reserve_zeroed(&numbering->type_counts, &numbering->type_room, (size_t)key + 1,
                             sizeof *numbering->type_counts) != 0)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < type.length; i++)
        text_add_char(&id, (char)toupper((unsigned char)type.bytes[i]));
    text_addf(&id, "_%u", ++numbering->type_counts[key]);
    struct dlprof_op *op = &dlprof->ops[dlprof->op_count++];
    *op = (struct dlprof_op){ .words = call->words, .id = dlprof_intern_built(dlprof, &id) };
    op->is_eligible = dlprof_is_eligible(dlprof_text(dlprof, op->words.type).bytes);
    text_free(&id);
    return op->id == UINT32_MAX ? ERR_NO_MEMORY : 0;
}

static int dlprof_split_number_call(struct dlprof *dlprof, struct dlprof_split_numbering *numbering,
                                    struct dlprof_call *call)
{
    uint32_t name = keys_add(&numbering->names, (int64_t[]){ call->words.name, call->words.direction });

    if (name == NO_KEY ||
        array_reserve_zeroed(&numbering->seen, &numbering->seen_room, (size_t)name + 1, sizeof *numbering->seen) != 0)
        return ERR_NO_MEMORY;
    struct occurrence *seen = &numbering->seen[name];
    if (seen->iteration != call->iteration)
        *seen = (struct occurrence){ call->iteration, 0 };
    call->op = keys_add(&numbering->ops, (int64_t[]){ name, seen->count++ });
    if (call->op == NO_KEY)
        return ERR_NO_MEMORY;
    return call->op < dlprof->op_count ? 0 : dlprof_split_add_op(dlprof, numbering, call);
}

/* The calls must be in order of time, so that those of an iteration are neighbours. */
static int dlprof_split_number_calls(struct dlprof *dlprof)
{
    struct dlprof_split_numbering numbering = { .names.width = 2, .ops.width = 2, .types.width = 1 };
    int code = 0;

    dlprof->op_count = 0;
    for (size_t i = 0; i < dlprof->call_count && code == 0; i++)
        code = dlprof_split_number_call(dlprof, &numbering, &dlprof->calls[i]);
    for (size_t i = 0; i < dlprof->work_count && code == 0; i++)
        if (dlprof->works[i].tensor.use == TENSOR_YES)
            dlprof->ops[dlprof->calls[dlprof->works[i].call].op].uses_tensor_cores = 1;
    keys_free(&numbering.names);
    keys_free(&numbering.ops);
    keys_free(&numbering.types);
    free(numbering.seen);
    free(numbering.type_counts);
    return code;
}

/* ---- ends ------------------------------------------------------------------------------------------------------ */

static int dlprof_split_add_end(struct dlprof *dlprof, int64_t end_ns)
{
    if (array_reserve(&dlprof->ends, &dlprof->iteration_room, dlprof->iteration_count + 1, sizeof *dlprof->ends) != 0)
        return ERR_NO_MEMORY;
    dlprof->ends[dlprof->iteration_count++] = end_ns;
    return 0;
}

static int dlprof_split_by_time(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;

    return (*a > *b) - (*a < *b);
}

/* The key is an operator's name, its type or its id. An id counts the calls of the whole report, and stands for all
 * calls of the same name. */
static int key_name(struct dlprof *dlprof, const char *key, uint32_t *out)
{
    if (dlprof_split_number_calls(dlprof) != 0)
        return ERR_NO_MEMORY;
    *out = UINT32_MAX;
    for (size_t i = 0; i < dlprof->op_count && *out == UINT32_MAX; i++)
        if (strcasecmp(dlprof_text(dlprof, dlprof->ops[i].id).bytes, key) == 0)
            *out = dlprof->ops[i].words.name;
    return 0;
}

static int split_by_key(struct dlprof *dlprof, const char *key)
{
    uint32_t name;

    if (key_name(dlprof, key, &name) != 0)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < dlprof->call_count; i++) {
        const struct dlprof_call *call = &dlprof->calls[i];
        if (call->words.name != name && strcmp(dlprof_text(dlprof, call->words.name).bytes, key) != 0 &&
            strcmp(dlprof_text(dlprof, call->words.type).bytes, key) != 0)
            continue;
        if (dlprof_split_add_end(dlprof, call->end_ns) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* Steps of the first process that has some. */
static int split_by_steps(struct dlprof *dlprof, struct error *err)
{
    const struct steps_request request = { .may_guess = 1 };
    struct steps steps;
    int code = steps_read(&steps, dlprof->report, &request, err);

    if (code == ERR_NO_DATA) {
        *err = (struct error){ 0 };
        return 0;
    }
    if (code != 0)
        return code;
    for (size_t i = 0; i < steps.count && code == 0; i++)
        if (steps.list[i].process == steps.list[0].process && dlprof_split_add_end(dlprof, steps.list[i].end_ns) != 0)
            code = error_no_memory(err);
    steps_free(&steps);
    return code;
}

/* Work that a recorded span launches may end after it: then it is part of that span. */
static void dlprof_split_lengthen(struct recorded *recorded, int64_t start_ns, int64_t end_ns)
{
    size_t after = BISECT(0, recorded->count, i, recorded->spans[i].from_ns <= start_ns), at = after ? after - 1 : 0;

    if (!recorded->count)
        return;
    if (at + 1 < recorded->count && end_ns > recorded->spans[at + 1].from_ns)
        end_ns = recorded->spans[at + 1].from_ns;
    if (end_ns > recorded->spans[at].to_ns)
        recorded->spans[at].to_ns = end_ns;
}

/* The last end of anything, and the iterations up to there. */
static int finish_ends(struct dlprof *dlprof)
{
    int64_t last_ns = dlprof->begin_ns;
    size_t kept = 0;

    for (size_t i = 0; i < dlprof->call_count; i++) {
        last_ns = dlprof->calls[i].end_ns > last_ns ? dlprof->calls[i].end_ns : last_ns;
        dlprof_split_lengthen(&dlprof->recorded, dlprof->calls[i].start_ns, dlprof->calls[i].end_ns);
    }
    for (size_t i = 0; i < dlprof->work_count; i++) {
        last_ns = dlprof->works[i].end_ns > last_ns ? dlprof->works[i].end_ns : last_ns;
        dlprof_split_lengthen(&dlprof->recorded, dlprof->works[i].start_ns, dlprof->works[i].end_ns);
    }
    if (dlprof->iteration_count)
        qsort(dlprof->ends, dlprof->iteration_count, sizeof *dlprof->ends, dlprof_split_by_time);
    for (size_t i = 0; i < dlprof->iteration_count; i++)
        if (dlprof->ends[i] < last_ns && dlprof->ends[i] > (kept ? dlprof->ends[kept - 1] : dlprof->begin_ns))
            dlprof->ends[kept++] = dlprof->ends[i];
    dlprof->iteration_count = kept;
    dlprof->is_split = kept > 0;
    return dlprof_split_add_end(dlprof, last_ns);
}

/* ---- the part that is aggregated ------------------------------------------------------------------------------- */

static int dlprof_split_choose(struct dlprof *dlprof, const struct dlprof_request *request, struct error *err)
{
    int64_t count = (int64_t)dlprof->iteration_count, last = request->last < 0 ? count - 1 : request->last;

    if (request->first < 0 || request->first >= count || last < request->first)
        return error_set(err, ERR_BAD_ARGUMENT,
                         "there are no iterations from %lld to %lld: the report has %lld, which count from 0",
                         (long long)request->first, (long long)last, (long long)count);
    dlprof->first = (size_t)request->first;
    dlprof->last = last < count ? (size_t)last : (size_t)count - 1;
    return 0;
}

static int dlprof_split_is_chosen(const struct dlprof *dlprof, const struct dlprof_call *call)
{
    return call->iteration >= dlprof->first && call->iteration <= dlprof->last;
}

static int dlprof_split_by_call(const void *left, const void *right)
{
    const struct dlprof_work *a = left, *b = right;

    return COMPARE(a->call, b->call) ?: COMPARE(a->start_ns, b->start_ns);
}

static int dlprof_split_drop_others(struct dlprof *dlprof)
{
    uint32_t *places = malloc((dlprof->call_count + 1) * sizeof *places);
    size_t calls = 0, works = 0;

    if (!places)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < dlprof->call_count; i++) {
        places[i] = dlprof_split_is_chosen(dlprof, &dlprof->calls[i]) ? (uint32_t)calls : UINT32_MAX;
        if (places[i] != UINT32_MAX)
            dlprof->calls[calls++] = dlprof->calls[i];
    }
    for (size_t i = 0; i < dlprof->work_count; i++) {
        uint32_t call = places[dlprof->works[i].call];
        if (call == UINT32_MAX)
            continue;
        dlprof->works[works] = dlprof->works[i];
        dlprof->works[works++].call = call;
    }
    dlprof->call_count = calls;
    dlprof->work_count = works;
    free(places);
    if (works)
        qsort(dlprof->works, works, sizeof *dlprof->works, dlprof_split_by_call);
    return 0;
}

/* A call belongs to the iteration in which it begins. */
static void place_calls(struct dlprof *dlprof)
{
    uint32_t iteration = 0;

    for (size_t i = 0; i < dlprof->call_count; i++) {
        while (iteration + 1 < dlprof->iteration_count && dlprof->calls[i].start_ns >= dlprof->ends[iteration])
            iteration++;
        dlprof->calls[i].iteration = iteration;
    }
}

int dlprof_split(struct dlprof *dlprof, const struct dlprof_request *request, struct error *err)
{
    int code = 0;

    if (order_calls(dlprof) != 0)
        goto no_memory;
    if (request->key_op && !request->is_simple) {
        text_add(&dlprof->key, request->key_op);
        if (split_by_key(dlprof, request->key_op) != 0)
            goto no_memory;
    } else if (!dlprof->is_marked && !request->is_simple && (code = split_by_steps(dlprof, err)) != 0) {
        return code;
    }
    if (finish_ends(dlprof) != 0)
        goto no_memory;
    if ((code = dlprof_split_choose(dlprof, request, err)) != 0)
        return code;
    place_calls(dlprof);
    if (dlprof_split_number_calls(dlprof) != 0 || dlprof_split_drop_others(dlprof) != 0)
        goto no_memory;
    return 0;
no_memory:
    return error_short_memory(err, "for the operators");
}

int64_t dlprof_iteration_ns(const struct dlprof *dlprof, size_t iteration)
{
    return recorded_within(&dlprof->recorded, iteration ? dlprof->ends[iteration - 1] : dlprof->begin_ns,
                           dlprof->ends[iteration]);
}
