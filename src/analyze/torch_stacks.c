/* A backward operator runs where no Python is; it is shown with the stack of its forward operator. */
#include "torch_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "keys.h"

int torch_shows_frame(const char *bytes, size_t length)
{
    static const char *const hidden[][2] = { /* both words are in them */
        { "autograd/__init__", "_make_grads" }, { "autograd/__init__", "backward" }, { "torch/tensor", "backward" },
        { "_internal/common_utils", "prof_callable" }, { "_internal/common_utils", "prof_func_call" },
        { "_internal/common_utils", "prof_meth_call" },
    };

    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (memmem(bytes, length, hidden[i][0], strlen(hidden[i][0])) && memmem(bytes, length, hidden[i][1], strlen(hidden[i][1])))
            return 0;
    return length > 0;
}

/* Nodes of the backward graph. Traces do not tell them from what evaluates them, but their names do; those that sum up gradients
 * have no number, and so no forward operator. */
static int is_node(const struct operators *operators, const struct operator *operator)
{
    static const char evaluation[] = "autograd::engine::evaluate_function", sum[] = "torch::autograd::AccumulateGrad";
    struct intern_string name = operators_text(operators, operator->name);

    if (operator->is_backward)
        return name.length < sizeof evaluation - 1 || memcmp(name.bytes, evaluation, sizeof evaluation - 1) != 0;
    return name.length == sizeof sum - 1 && memcmp(name.bytes, sum, sizeof sum - 1) == 0;
}

/* The operator itself or the nearest around it that is such a node; NO_OPERATOR: none. Parents come first in the list, so each asks
 * only its own. */
static uint32_t backward_of(const struct operators *operators, const uint32_t *found, size_t i)
{
    const struct operator *operator = &operators->list[i];

    if (is_node(operators, operator))
        return (uint32_t)i;
    return operator->parent == NO_OPERATOR ? NO_OPERATOR : found[operator->parent];
}

int torch_stack_owners(const struct operators *operators, uint32_t *owners)
{
    struct keys sequences = { .width = 1 };
    uint32_t *backward = malloc((operators->count + 1) * sizeof *backward), *forward = malloc((operators->count + 1) * sizeof *forward);
    int code = backward && forward ? 0 : ERR_NO_MEMORY;

    for (size_t i = 0; i < operators->count && code == 0; i++) {
        const struct operator *operator = &operators->list[i];
        backward[i] = backward_of(operators, backward, i);
        owners[i] = (uint32_t)i;
        if (backward[i] != NO_OPERATOR || operator->is_backward || operator->sequence < 0)
            continue;
        size_t before = sequences.count;
        uint32_t key = keys_add(&sequences, &operator->sequence);
        code = key == NO_KEY ? ERR_NO_MEMORY : 0;
        if (code == 0 && key == before)
            forward[key] = (uint32_t)i;
    }
    for (size_t i = 0; i < operators->count && code == 0; i++) {
        if (backward[i] == NO_OPERATOR)
            continue;
        uint32_t key = keys_find(&sequences, &operators->list[backward[i]].sequence);
        owners[i] = key == NO_KEY ? NO_OPERATOR : forward[key];
    }
    free(backward);
    free(forward);
    keys_free(&sequences);
    return code;
}
