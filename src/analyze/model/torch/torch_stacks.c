/* A backward operator has no Python stack of its own, so it is shown with the stack of its forward operator. */
#include "torch_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "forward_operators.h"
#include "report/schema/torch_names.h"

int torch_shows_frame(const char *bytes, size_t length)
{
    static const char *const hidden[][2] = {
        /* both words are in them */
        { "autograd/__init__", "_make_grads" },
        { "autograd/__init__", "backward" },
        { "torch/tensor", "backward" },
        { "_internal/common_utils", "prof_callable" },
        { "_internal/common_utils", "prof_func_call" },
        { "_internal/common_utils", "prof_meth_call" },
        /* frames of Tacho's Python package around a function of the program */
        { "/tacho/_modules.py(", "): __call__" },
        { "/tacho/_marks.py(", "): wrapper" },
    };

    for (size_t i = 0; i < COUNT_OF(hidden); i++)
        if (memmem(bytes, length, hidden[i][0], strlen(hidden[i][0])) &&
            memmem(bytes, length, hidden[i][1], strlen(hidden[i][1])))
            return 0;
    return length > 0;
}

struct intern_string torch_next_frame(const char **at, const char *end)
{
    while (*at < end) {
        const char *first = *at, *stop = memchr(first, ';', (size_t)(end - first));
        stop = stop ? stop : end;
        *at = stop + 1;
        if (torch_shows_frame(first, (size_t)(stop - first)))
            return (struct intern_string){ .bytes = first, .length = (size_t)(stop - first) };
    }
    return (struct intern_string){ 0 };
}

/* Whether an operator is a node of the backward graph. In traces only the name distinguishes nodes from the engine that
 * evaluates them. Nodes that sum gradients have no sequence number, and so no forward operator. */
static int is_node(const struct operators *operators, const struct operators_event *op)
{
    static const char sum[] = "torch::autograd::AccumulateGrad";
    struct intern_string name = operators_text(operators, op->name);

    if (op->is_backward)
        return !torch_is_engine(name.bytes, name.length);
    return name.length == sizeof sum - 1 && memcmp(name.bytes, sum, sizeof sum - 1) == 0;
}

/* The operator itself or the nearest around it that is such a node; NO_OPERATOR: none. Parents come first in the list,
 * so the result of the parent is known. */
static uint32_t backward_of(const struct operators *operators, const uint32_t *found, size_t i)
{
    const struct operators_event *op = &operators->list[i];

    if (is_node(operators, op))
        return (uint32_t)i;
    return op->parent == NO_OPERATOR ? NO_OPERATOR : found[op->parent];
}

int torch_stack_owners(const struct operators *operators, uint32_t *owners)
{
    struct forward_operators forwards = FORWARD_OPERATORS_NONE;
    uint32_t *backward = malloc((operators->count + 1) * sizeof *backward);
    int code = 0;

    if (!backward)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < operators->count; i++) {
        const struct operators_event *op = &operators->list[i];
        backward[i] = backward_of(operators, backward, i);
        owners[i] = (uint32_t)i;
        if (backward[i] != NO_OPERATOR || op->is_backward || op->sequence < 0)
            continue;
        if ((code = forward_operators_add(&forwards, op, (uint32_t)i)) != 0)
            goto done;
    }
    for (size_t i = 0; i < operators->count; i++)
        if (backward[i] != NO_OPERATOR)
            owners[i] = forward_operators_find(&forwards, &operators->list[backward[i]]).first;
done:
    free(backward);
    forward_operators_free(&forwards);
    return code;
}
