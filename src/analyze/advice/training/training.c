/* Finds the parts of a training in one pass over its operators: see training.h. */
#include "training.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/row_cursor.h"
#include "base/array.h"
#include "report/schema/torch_names.h"

/* At least LEAST_CLIPPED norms in a row are clipping by tensor. Up to MOST_BETWEEN other operators may lie between two
 * norms or two products, and up to MOST_MIDDLE between the norms and the products. */
enum { LEAST_CLIPPED = 4, MOST_BETWEEN = 2, MOST_MIDDLE = 12 };

/* Clipping in the making: norms of gradients, then products in place. */
struct clip {
    int64_t thread, start_ns, end_ns;
    uint32_t op;
    size_t norms, products, others; /* others: operators since the last of these */
};

struct training_reading {
    struct adviser *adviser;
    struct training *training;
    uint8_t *within; /* owned; by operator: enum training_part that it lies in or is */
    struct clip clip;
};

/* ---- parts ----------------------------------------------------------------------------------------------------- */

static int training_add_span(struct training_reading *reading, struct training_span span)
{
    struct training *training = reading->training;
    const struct adviser *adviser = reading->adviser;

    if (span.start_ns < adviser->span.from_ns || span.start_ns >= adviser->span.to_ns)
        return 0;
    span.step = steps_period_at(adviser->steps, global_process(span.thread), span.start_ns);
    if (adviser->steps->count && (span.step == NO_STEP || !adviser->steps->list[span.step].is_chosen))
        return 0;
    return ARRAY_PUSH(training->list, training->room, training->count, span);
}

static int end_clip(struct training_reading *reading)
{
    struct clip *clip = &reading->clip;
    int is_clip = clip->norms >= LEAST_CLIPPED && clip->products >= LEAST_CLIPPED;
    struct training_span span = { .thread = clip->thread,
                                  .start_ns = clip->start_ns,
                                  .end_ns = clip->end_ns,
                                  .op = clip->op,
                                  .part = TRAINING_CLIP };

    *clip = (struct clip){ 0 };
    return is_clip ? training_add_span(reading, span) : 0;
}

static int training_is_name(struct intern_string name, const char *wanted)
{
    return name.length == strlen(wanted) && memcmp(name.bytes, wanted, name.length) == 0;
}

/* Looks for clipping in operators that lie in no other. */
static int follow_clip(struct training_reading *reading, uint32_t at, struct intern_string name)
{
    const struct operators_event *op = &reading->training->operators->list[at];
    struct clip *clip = &reading->clip;
    int is_norm = training_is_name(name, "aten::linalg_vector_norm") || training_is_name(name, "aten::norm"),
        is_product = clip->norms >= LEAST_CLIPPED && training_is_name(name, "aten::mul_");
    int code = 0;

    if (clip->norms && (clip->thread != op->thread ||
                        !call_works_count(&reading->training->works, op->thread, op->start_ns, op->end_ns)))
        return 0;
    if ((is_norm && clip->products) ||
        (clip->norms && !is_norm && !is_product &&
         clip->others >= (clip->products || clip->norms < LEAST_CLIPPED ? (size_t)MOST_BETWEEN : (size_t)MOST_MIDDLE)))
        code = end_clip(reading);
    if (is_norm && !clip->norms)
        *clip = (struct clip){ .thread = op->thread, .start_ns = op->start_ns, .op = at };
    clip->norms += (size_t)is_norm;
    clip->products += (size_t)is_product;
    clip->others = is_norm || is_product ? 0 : clip->others + 1;
    if (is_norm || is_product)
        clip->end_ns = op->end_ns;
    return code;
}

static int begins(struct intern_string name, const char *wanted)
{
    return name.length >= strlen(wanted) && memcmp(name.bytes, wanted, strlen(wanted)) == 0;
}

static const struct named_part {
    const char *begin;
    enum training_part part;
} named_parts[] = {
    { "Optimizer.step#", TRAINING_UPDATE },
    { "Optimizer.zero_grad#", TRAINING_ZERO },
    { "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", TRAINING_ACCUMULATE },
    { "autograd::engine::evaluate_function: ", TRAINING_NODE },
};

/* The part that an operator is, by its name and by the part that it lies in. Gradients are computed without gradients
 * of their own, hence without sequence numbers; what a checkpoint runs again has them. */
static enum training_part training_part_of(const struct operators_event *op, struct intern_string name,
                                           enum training_part around, int is_in_engine)
{
    for (size_t i = 0; i < COUNT_OF(named_parts); i++)
        if (begins(name, named_parts[i].begin))
            return named_parts[i].part;
    if (op->kind != OPERATOR)
        return TRAINING_NONE;
    if (around == TRAINING_NODE && is_in_engine && training_is_name(name, "aten::isnan"))
        return TRAINING_NAN_CHECK;
    if (around == TRAINING_NODE && op->sequence >= 0 && !op->is_backward)
        return TRAINING_RECOMPUTED;
    return around == TRAINING_NONE && op->sequence >= 0 ? TRAINING_FORWARD : TRAINING_NONE;
}

static int training_add_operator(struct training_reading *reading, uint32_t at)
{
    const struct operators *operators = reading->training->operators;
    const struct operators_event *op = &operators->list[at];
    struct intern_string name = operators_text(operators, op->name);
    const struct operators_event *parent = op->parent == NO_OPERATOR ? NULL : &operators->list[op->parent];
    enum training_part around = parent ? (enum training_part)reading->within[op->parent] : TRAINING_NONE;
    struct intern_string outer = parent ? operators_text(operators, parent->name) : (struct intern_string){ "", 0 };
    int is_in_engine = parent && torch_is_engine(outer.bytes, outer.length);
    enum training_part part = training_part_of(op, name, around, is_in_engine);

    reading->within[at] = (uint8_t)(part == TRAINING_NONE ? around : part);
    if (around == TRAINING_NONE && op->kind == OPERATOR && (!parent || parent->kind != OPERATOR) &&
        follow_clip(reading, at, name) != 0)
        return ERR_NO_MEMORY;
    if (part != TRAINING_NONE)
        return training_add_span(reading, (struct training_span){ .thread = op->thread,
                                                                  .start_ns = op->start_ns,
                                                                  .end_ns = part == TRAINING_NAN_CHECK ? parent->end_ns
                                                                                                       : op->end_ns,
                                                                  .op = at,
                                                                  .part = part });
    return 0;
}

static int training_add_operators(struct training_reading *reading)
{
    const struct operators *operators = reading->training->operators;

    reading->within = calloc(operators->count + 1, 1);
    if (!reading->within)
        return ERR_NO_MEMORY;
    for (uint32_t i = 0; i < operators->count; i++)
        if ((operators->list[i].kind == OPERATOR || operators->list[i].kind == OPERATOR_ANNOTATION) &&
            training_add_operator(reading, i) != 0)
            return ERR_NO_MEMORY;
    return end_clip(reading);
}

/* ---- steps and rounds ------------------------------------------------------------------------------------------ */

static int training_by_step(const void *a, const void *b)
{
    const struct training_span *x = a, *y = b;

    return COMPARE(x->step, y->step) ?: COMPARE(x->start_ns, y->start_ns) ?: COMPARE(x->op, y->op);
}

static size_t training_step_end(const struct training *training, size_t first)
{
    size_t end = first + 1;

    while (end < training->count && training->list[end].step == training->list[first].step)
        end++;
    return end;
}

size_t training_update_end(const struct training *training, size_t first)
{
    const struct training_span *list = training->list;
    size_t end = first + 1;

    while (end < training->count && list[end].step == list[first].step && list[end].update == list[first].update)
        end++;
    return end;
}

/* A round ends where a forward operator follows a node, and an update where one follows Optimizer.step(). Several
 * optimizers may share the parameters of a model. */
static void number_rounds(struct training_span *list, size_t count)
{
    uint32_t update = 0, round = 0;
    int is_backward = 0, is_updated = 0;

    for (size_t i = 0; i < count; i++) {
        if (list[i].part == TRAINING_FORWARD && (is_updated || is_backward)) {
            update += (uint32_t)is_updated;
            round = is_updated ? 0 : round + 1;
            is_updated = is_backward = 0;
        }
        is_backward |= list[i].part == TRAINING_NODE;
        is_updated |= is_backward && list[i].part == TRAINING_UPDATE;
        list[i].update = update;
        list[i].round = round;
    }
}

/* ---- memory ---------------------------------------------------------------------------------------------------- */

/* The largest value of a column, 0 if there is none. */
static int training_largest(struct report *report, const char *table, const char *column, int64_t *out,
                            struct error *err)
{
    const char *const names[] = { column, NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, table, names, err);

    *out = 0;
    if (code != 0)
        return code;
    while (row_cursor_next(&rows))
        if (row_int_or(&rows, 0, 0) > *out)
            *out = row_int(&rows, 0);
    row_cursor_close(&rows);
    return 0;
}

static int training_read_memory(enum training_memory *out, struct report *report, struct error *err)
{
    int64_t used, whole;
    int code;

    if ((code = training_largest(report, "TACHO_TORCH_MEMORY", "totalReserved", &used, err)) != 0 ||
        (code = training_largest(report, "TARGET_INFO_GPU", "totalMemory", &whole, err)) != 0)
        return code;
    *out = !used || !whole ? MEMORY_UNKNOWN : used > whole / 2 ? MEMORY_SCARCE : MEMORY_ENOUGH;
    return 0;
}

/* ---- the training ---------------------------------------------------------------------------------------------- */

static int read_training(struct training *training, struct adviser *adviser, struct error *err)
{
    struct training_reading reading = { .adviser = adviser, .training = training };
    int code = adviser_operators(adviser, &training->operators, err);

    if (code != 0 || !training->operators->count)
        return code;
    if ((code = training_read_memory(&training->memory, adviser->report, err)) != 0)
        return code;
    if (call_works_open(&training->works, &adviser->replay) != 0 || training_add_operators(&reading) != 0)
        code = error_short_memory(err, "for the parts of a training");
    free(reading.within);
    if (training->count)
        qsort(training->list, training->count, sizeof *training->list, training_by_step);
    for (size_t first = 0, end; first < training->count; first = end) {
        end = training_step_end(training, first);
        number_rounds(training->list + first, end - first);
    }
    return code;
}

static void training_free(struct training *training)
{
    call_works_free(&training->works);
    free(training->list);
    free(training);
}

int adviser_training(struct adviser *adviser, struct training **out, struct error *err)
{
    int code;

    if (!adviser->training) {
        struct training *training = calloc(1, sizeof *training);
        if (!training)
            return error_short_memory(err, "for the parts of a training");
        if ((code = read_training(training, adviser, err)) != 0) {
            training_free(training);
            return code;
        }
        adviser->training = training;
        adviser->free_training = training_free;
    }
    *out = adviser->training;
    return 0;
}

/* ---- causes ---------------------------------------------------------------------------------------------------- */

int training_find(struct adviser *adviser, training_collect *collect, struct error *err)
{
    struct training *training;
    struct advice_cause cause = { 0 };
    int code = adviser_training(adviser, &training, err);

    if (code != 0 || !training->count)
        return code;
    if (collect(adviser, training, &cause) != 0) {
        advice_cause_free(&cause);
        return error_short_memory(err, "for the parts of a training");
    }
    if (cause.count)
        return adviser_add(adviser, &cause, err);
    advice_cause_free(&cause);
    return 0;
}

void training_note(struct advice_cause *cause, const struct training_span *span)
{
    int64_t length = saturating_duration(span->start_ns, span->end_ns);

    if (!cause->count++ || length > cause->duration_ns) {
        cause->start_ns = span->start_ns;
        cause->duration_ns = length;
        cause->thread = span->thread;
    }
}

int training_remove(const struct training *training, struct replay_edits *edits, const struct training_span *span)
{
    return removal_add(&training->works, edits,
                       &(struct removal){ .thread = span->thread, .from_ns = span->start_ns, .to_ns = span->end_ns });
}
