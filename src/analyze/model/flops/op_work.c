/* Finds the rule of an operator and applies it. */
#include "op_work.h"

#include <string.h>

#include "base/text.h"

const char *op_class_name(enum op_class class)
{
    static const char *const names[OP_CLASSES] = {
        [OP_UNKNOWN] = "not known",
        [OP_MATMUL] = "matmul",
        [OP_CONVOLUTION] = "convolution",
        [OP_ATTENTION] = "attention",
        [OP_NORM] = "norm",
        [OP_SOFTMAX] = "softmax",
        [OP_POOLING] = "pooling",
        [OP_EMBEDDING] = "embedding",
        [OP_ELEMENTWISE] = "elementwise",
        [OP_REDUCTION] = "reduction",
        [OP_OPTIMIZER] = "optimizer",
        [OP_COPY] = "copy",
        [OP_COMMUNICATION] = "communication",
        [OP_FUSED] = "fused",
    };

    return names[class];
}

const struct op_input *op_tensor(const struct op_inputs *inputs, int place)
{
    if (place < 0 || (size_t)place >= inputs->count || !inputs->list[place].tensors)
        return NULL;
    return &inputs->list[place];
}

double op_tensor_bytes(const struct op_input *input)
{
    return input->bytes ? input->stored * input->bytes : NOT_KNOWN;
}

static const struct op_rule *op_work_find_in(const struct op_rule *rules, const char *name, size_t length)
{
    for (; rules->name; rules++)
        if (strncmp(rules->name, name, length) == 0 && !rules->name[length])
            return rules;
    return NULL;
}

const struct op_rule *op_rule_find(const char *name, size_t length)
{
    const struct op_rule *rule;

    if (length > 1 && name[length - 1] == '_')
        length--;
    return (rule = op_work_find_in(matrix_rules, name, length)) ? rule : op_work_find_in(tensor_rules, name, length);
}

static int has_types_of_several_sizes(const struct op_inputs *inputs)
{
    int bytes = 0;

    for (size_t i = 0; i < inputs->count; i++) {
        const struct op_input *input = &inputs->list[i];
        int is_floating = input->tensors && input->type >= DATA_FP64 && input->type <= DATA_BF16;
        if (is_floating && bytes && input->bytes != bytes)
            return 1;
        bytes = is_floating ? input->bytes : bytes;
    }
    return 0;
}

struct op_work op_work_of(const char *name, const struct op_texts *texts)
{
    struct op_work work = { .flops = NOT_KNOWN, .bytes = NOT_KNOWN };
    const struct op_rule *rule = op_rule_find(name, strlen(name));
    int is_fused = text_begins_with(name, "triton_");
    struct op_inputs inputs;

    if (!rule && !is_fused)
        return work;
    op_inputs_read(&inputs, texts);
    work.class = rule ? rule->class : OP_FUSED;
    for (size_t i = 0; i < inputs.count && !work.type; i++)
        work.type = inputs.list[i].type;
    work.is_cast = work.class == OP_COPY && has_types_of_several_sizes(&inputs);
    if (is_fused)
        fused_work(&work, &inputs, name);
    else if (!inputs.is_cut)
        rule->count(&work, &inputs, rule);
    return work;
}
