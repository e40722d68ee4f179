/* Kernels that torch.compile makes with Triton. Their names list the operators inside,
 *
 *     triton_poi_fused_add_native_layer_norm_relu_3
 *
 * poi: elementwise, red and per: with a reduction, tem: a template, such as a matrix multiplication with an epilogue.
 * Each tensor that the kernel gets is read or written once. Names of operators have underscores in them, so the longest
 * that is known counts. */
#include "op_work.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* Operators that only move numbers, or are done when the kernel is compiled. */
static const char *const free_words[] = {
    "_to_copy",   "_unsafe_view",
    "alias",      "arange",
    "as_strided", "cat",
    "clone",      "constant_pad_nd",
    "copy",       "detach",
    "embedding",  "expand",
    "full",       "full_like",
    "gather",     "index",
    "index_put",  "index_select",
    "new_zeros",  "permute",
    "repeat",     "scalar_tensor",
    "select",     "select_backward",
    "slice",      "slice_backward",
    "split",      "split_with_sizes",
    "squeeze",    "stack",
    "t",          "transpose",
    "unbind",     "unsqueeze",
    "view",       "zeros",
    "zeros_like", "ones_like",
    "reshape",    "_unsafe_index",
    "iota",       "lift_fresh_copy",
    "flip",       "unfold",
    "empty",
};

enum { NO_WORD = -1 };

/* The cost for each element of the operator with this name; NO_WORD if there is none. */
static int word_cost(const char *word, size_t length)
{
    char name[64];

    for (size_t i = 0; i < COUNT_OF(free_words); i++)
        if (strlen(free_words[i]) == length && memcmp(free_words[i], word, length) == 0)
            return 0;
    if (length + sizeof "aten::" > sizeof name)
        return NO_WORD;
    snprintf(name, sizeof name, "aten::%.*s", (int)length, word);
    const struct op_rule *rule = op_rule_find(name, strlen(name));
    if (!rule)
        return NO_WORD;
    if (op_class_is_matrix(rule->class))
        return 1; /* in an elementwise kernel, only the bias */
    return rule->class == OP_POOLING || rule->class == OP_EMBEDDING ? NO_WORD : rule->at[0];
}

/* Sums the costs of the words up to the number that ends the name; NO_WORD if one is not known. */
static int sum_costs(const char *words)
{
    int sum = 0;

    for (const char *at = words; *at && strspn(at, "0123456789") != strlen(at);) {
        int cost = NO_WORD;
        size_t length = strlen(at);
        for (; length > 0; length--)
            if ((!at[length] || at[length] == '_') && (cost = word_cost(at, length)) != NO_WORD)
                break;
        if (cost == NO_WORD)
            return NO_WORD;
        sum += cost;
        at += length + (at[length] == '_');
    }
    return sum;
}

/* The first two tensors are the matrices. */
static void template_work(struct op_work *work, const struct op_inputs *inputs, const char *words)
{
    static const struct {
        const char *word, *name;
    } templates[] = {
        { "mm", "aten::mm" }, { "addmm", "aten::mm" }, { "bmm", "aten::bmm" }, { "baddbmm", "aten::bmm" }
    };
    size_t length = strcspn(words, "_");

    for (size_t i = 0; i < COUNT_OF(templates); i++) {
        if (strlen(templates[i].word) != length || memcmp(templates[i].word, words, length) != 0)
            continue;
        const struct op_input *a = op_tensor(inputs, 0), *b = op_tensor(inputs, 1);
        if (!a || !b || a->rank < 2 || a->rank != b->rank || a->dims[a->rank - 1] != b->dims[b->rank - 2])
            return;
        const struct op_rule *rule = op_rule_find(templates[i].name, strlen(templates[i].name));
        work->class = OP_MATMUL;
        rule->count(work, inputs, rule);
    }
}

void fused_work(struct op_work *work, const struct op_inputs *inputs, const char *name)
{
    const char *words = strstr(name, "_fused_");
    double bytes = 0, most = 0;

    if (!words || inputs->is_cut)
        return;
    words += strlen("_fused_");
    if (text_begins_with(name, "triton_tem_")) {
        template_work(work, inputs, words);
        return;
    }
    int cost = sum_costs(words);
    for (size_t i = 0; i < inputs->count; i++) {
        const struct op_input *input = op_tensor(inputs, (int)i);
        if (!input)
            continue;
        most = input->elements > most ? input->elements : most;
        bytes = bytes < 0 || !input->bytes ? NOT_KNOWN : bytes + op_tensor_bytes(input);
    }
    if (most > 0 && cost != NO_WORD)
        work->flops = cost * most;
    if (most > 0)
        work->bytes = bytes;
}
