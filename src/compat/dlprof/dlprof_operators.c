/* Operators that PyTorch's profiler, an observer or emit_nvtx recorded. Only the outermost of nested operators counts.
 * A backward operator has the words of the forward operator with its sequence number. */
#include <stdlib.h>
#include <string.h>

#include "analyze/model/torch/forward_operators.h"
#include "analyze/model/torch/torch_frames.h"
#include "dlprof_internal.h"

struct dlprof_ops_reading {
    struct dlprof *dlprof;
    struct operators operators;
    struct torch_frames frames;
    struct forward_operators forwards;
    uint32_t *outermost; /* owned; by operator: the outermost one around it, or NO_OPERATOR */
    uint32_t *forward;   /* owned; by operator: the forward operator of an outermost backward one, or NO_OPERATOR */
};

/* ---- words ----------------------------------------------------------------------------------------------------- */

/* "aten::conv2d" is conv2d, "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad" AccumulateGrad. */
static uint32_t dlprof_ops_type_of(struct dlprof_ops_reading *reading, const struct operators_event *op)
{
    struct intern_string name = operators_text(&reading->operators, op->name);
    const char *colon = memrchr(name.bytes, ':', name.length);
    const char *begin = colon ? colon + 1 : name.bytes;

    begin += *begin == ' ';
    return dlprof_intern(reading->dlprof, begin, name.length - (size_t)(begin - name.bytes));
}

/* "aten::conv2d" belongs to aten. */
static uint32_t dlprof_ops_module_of(struct dlprof_ops_reading *reading, const struct operators_event *op)
{
    struct intern_string name = operators_text(&reading->operators, op->name);
    const char *colons = op->kind == OPERATOR ? memmem(name.bytes, name.length, "::", 2) : NULL;

    return dlprof_intern(reading->dlprof, name.bytes, colons ? (size_t)(colons - name.bytes) : 0);
}

enum { DEEPEST = 64 };

/* The modules around it, outermost first, and its type: "/Net_0/Conv2d_1/conv2d". */
static uint32_t dlprof_ops_name_of(struct dlprof_ops_reading *reading, uint32_t at, uint32_t type)
{
    const struct operators *modules = &reading->frames.modules;
    uint32_t path[DEEPEST];
    size_t depth = 0;
    struct text name = { 0 };

    for (uint32_t m = reading->frames.module[at]; m != NO_OPERATOR && depth < DEEPEST; m = modules->list[m].parent)
        path[depth++] = m;
    while (depth > 0) {
        struct intern_string module = operators_text(modules, modules->list[path[--depth]].name);
        text_add_char(&name, '/');
        text_add_bytes(&name, module.bytes, module.length);
    }
    text_addf(&name, "/%s", dlprof_text(reading->dlprof, type).bytes);
    uint32_t number = dlprof_intern_built(reading->dlprof, &name);
    text_free(&name);
    return number;
}

/* "train.py(41): forward" is train.py:41. */
static void dlprof_ops_add_frame(struct text *out, const char *frame, size_t length)
{
    const char *open = memchr(frame, '(', length), *close = open ? memmem(frame, length, "):", 2) : NULL;

    if (!length || frame[0] == '<')
        return;
    text_add(out, out->length ? "\n" : "");
    if (!close || close < open) {
        text_add_bytes(out, frame, length);
        return;
    }
    text_add_bytes(out, frame, (size_t)(open - frame));
    text_add_char(out, ':');
    text_add_bytes(out, open + 1, (size_t)(close - open - 1));
}

/* A stack is recorded innermost first and shown outermost first. */
static uint32_t dlprof_ops_stack_of(struct dlprof_ops_reading *reading, uint32_t at)
{
    struct intern_string stack = operators_text(&reading->operators, reading->operators.list[at].stack);
    const char *end = stack.bytes + stack.length;
    struct text out = { 0 };

    while (end > stack.bytes) {
        const char *mark = memrchr(stack.bytes, ';', (size_t)(end - stack.bytes));
        const char *begin = mark ? mark + 1 : stack.bytes;
        dlprof_ops_add_frame(&out, begin, (size_t)(end - begin));
        end = mark ? mark : stack.bytes;
    }
    if (!stack.length && reading->frames.line[at] != NO_TEXT) {
        struct intern_string line = operators_text(&reading->frames.lines, reading->frames.line[at]);
        dlprof_ops_add_frame(&out, line.bytes, line.length);
    }
    uint32_t number = dlprof_intern_built(reading->dlprof, &out);
    text_free(&out);
    return number;
}

/* The lists of shapes, types and values have an element for each input. A tensor is an input whose type is not empty
 * or a scalar's; without types, one with a shape. */
static size_t dlprof_ops_read_arguments(const struct operators *operators, const struct operators_event *op,
                                        struct dlprof_argument *out)
{
    const uint32_t texts[] = { op->shapes, op->types, op->values };
    struct literal_scan scans[3];
    size_t count = 0;

    for (size_t i = 0; i < 3; i++) {
        struct intern_string text = operators_text(operators, texts[i]);
        scans[i] = literal_parts((struct literal){ text.bytes, text.length });
    }
    while (count < DLPROF_MOST_ARGUMENTS) {
        struct dlprof_argument *argument = &out[count];
        *argument = (struct dlprof_argument){ 0 };
        if (!literal_element(&scans[0], &argument->shape))
            break;
        literal_element(&scans[1], &argument->data_type);
        literal_element(&scans[2], &argument->value);
        if (argument->shape.length <= 2 || literal_is(argument->data_type, "Scalar"))
            argument->shape.length = 0;
        count++;
    }
    return count;
}

/* ---- calls ----------------------------------------------------------------------------------------------------- */

static int dlprof_ops_add_call(struct dlprof_ops_reading *reading, uint32_t at, const struct dlprof_words *forward)
{
    const struct operators_event *op = &reading->operators.list[at];
    struct dlprof_call *call = dlprof_add_call(reading->dlprof);
    struct dlprof_argument arguments[DLPROF_MOST_ARGUMENTS];

    if (!call)
        return ERR_NO_MEMORY;
    call->start_ns = op->start_ns;
    call->end_ns = op->end_ns;
    call->thread = op->thread;
    if (forward) {
        call->words = *forward;
        call->words.direction = DLPROF_BACKWARD;
        return 0;
    }
    struct dlprof_words *words = &call->words;
    words->direction = reading->frames.is_backward[at] ? DLPROF_BACKWARD : DLPROF_FORWARD;
    words->type = dlprof_ops_type_of(reading, op);
    words->module = dlprof_ops_module_of(reading, op);
    words->name = words->type == UINT32_MAX ? UINT32_MAX : dlprof_ops_name_of(reading, at, words->type);
    words->stack = dlprof_ops_stack_of(reading, at);
    if (words->name == UINT32_MAX || words->stack == UINT32_MAX)
        return ERR_NO_MEMORY;
    return dlprof_describe(reading->dlprof, words, arguments,
                           dlprof_ops_read_arguments(&reading->operators, op, arguments));
}

static int is_loader(const struct dlprof_ops_reading *reading, const struct operators_event *op)
{
    struct intern_string name = operators_text(&reading->operators, op->name);

    return op->kind == OPERATOR_ANNOTATION && memmem(name.bytes, name.length, "DataLoader", 10) &&
           memmem(name.bytes, name.length, "__next__", 8);
}

/* Parents come before their children. A backward operator below the outermost one brings the sequence number. Operators
 * without a gradient have the number that the next one with a gradient gets: the last is the one that it belongs to. */
static int find_outermost(struct dlprof_ops_reading *reading)
{
    const struct operators *operators = &reading->operators;

    for (uint32_t i = 0; i < operators->count; i++) {
        const struct operators_event *op = &operators->list[i];
        uint32_t around = op->parent == NO_OPERATOR ? NO_OPERATOR : reading->outermost[op->parent];
        reading->forward[i] = NO_OPERATOR;
        reading->outermost[i] = around;
        if (around == NO_OPERATOR && (op->kind == OPERATOR || is_loader(reading, op)))
            reading->outermost[i] = i;
        if (!operator_is_cpu((enum operator_kind)op->kind) || op->sequence < 0)
            continue;
        if (!reading->frames.is_backward[i]) {
            if (forward_operators_add(&reading->forwards, op, i) != 0)
                return ERR_NO_MEMORY;
            continue;
        }
        uint32_t top = reading->outermost[i];
        if (top != NO_OPERATOR && reading->forward[top] == NO_OPERATOR)
            reading->forward[top] = forward_operators_find(&reading->forwards, op).last;
    }
    return 0;
}

/* Forward operators first, since backward ones take their words. */
static int dlprof_ops_add_calls(struct dlprof_ops_reading *reading)
{
    struct dlprof *dlprof = reading->dlprof;
    const struct operators *operators = &reading->operators;

    for (uint32_t i = 0; i < operators->count && !dlprof->is_marked; i++)
        if (reading->outermost[i] == i && reading->forward[i] == NO_OPERATOR &&
            dlprof_ops_add_call(reading, i, NULL) != 0)
            return ERR_NO_MEMORY;
    dlprof_sort_by_thread(dlprof);
    size_t forward_count = dlprof->call_count;
    for (uint32_t i = 0; i < operators->count; i++) {
        uint32_t forward = reading->outermost[i] == i ? reading->forward[i] : NO_OPERATOR;
        if (forward == NO_OPERATOR)
            continue;
        size_t added = dlprof->call_count;
        dlprof->call_count = forward_count; /* calls after these are not sorted */
        size_t at = dlprof_call_at(dlprof, operators->list[forward].thread, operators->list[forward].start_ns);
        dlprof->call_count = added;
        struct dlprof_words words = at == SIZE_MAX ? (struct dlprof_words){ 0 } : dlprof->calls[at].words;
        if (dlprof_ops_add_call(reading, i, at == SIZE_MAX ? NULL : &words) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int dlprof_ops_read_calls(struct dlprof_ops_reading *reading, struct error *err)
{
    const struct analysis_request all = { 0 };
    size_t count = reading->operators.count;
    int code;

    if (operators_nest(&reading->operators) != 0)
        return error_short_memory(err, "for the operators");
    if ((code = torch_frames_read(&reading->frames, &reading->operators, reading->dlprof->report, &all, err)) != 0)
        return code;
    reading->outermost = malloc((count + 1) * sizeof *reading->outermost);
    reading->forward = malloc((count + 1) * sizeof *reading->forward);
    if (!reading->outermost || !reading->forward || find_outermost(reading) != 0 || dlprof_ops_add_calls(reading) != 0)
        code = error_short_memory(err, "for the operators");
    torch_frames_free(&reading->frames);
    return code;
}

int dlprof_read_operators(struct dlprof *dlprof, struct error *err)
{
    struct dlprof_ops_reading reading = { .dlprof = dlprof, .forwards = FORWARD_OPERATORS_NONE };
    const struct analysis_request all = { 0 };
    int code = operators_read(&reading.operators, dlprof->report, &all, err);

    if (code != 0) {
        if (code != ERR_NO_DATA)
            return code;
        *err = (struct error){ 0 };
        return 0;
    }
    code = dlprof_ops_read_calls(&reading, err);
    free(reading.outermost);
    free(reading.forward);
    forward_operators_free(&reading.forwards);
    operators_free(&reading.operators);
    return code;
}
