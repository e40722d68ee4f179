/* The work of a report's operators: see op_works.h. */
#include "op_works.h"

#include <stdlib.h>

#include "base/array.h"

struct op_texts op_texts_of(const struct operators *operators, const struct operators_event *op)
{
    return (struct op_texts){
        .shapes = operators_text(operators, op->shapes),
        .types = operators_text(operators, op->types),
        .strides = operators_text(operators, op->strides),
        .values = operators_text(operators, op->values),
    };
}

uint32_t op_works_find(struct op_works *works, const struct operators *operators, const struct operators_event *op)
{
    size_t before = works->keys.count;
    uint32_t key = NO_KEY;

    /* room comes first: every key must have an entry */
    if (array_reserve(&works->list, &works->room, before + 1, sizeof *works->list) == 0)
        key = keys_add(&works->keys, (int64_t[]){ op->name, op->shapes, op->types, op->strides, op->values });
    if (key != before)
        return key;
    struct op_texts texts = op_texts_of(operators, op);
    works->list[key] = op_work_of(operators_text(operators, op->name).bytes, &texts);
    return key;
}

void op_works_free(struct op_works *works)
{
    keys_free(&works->keys);
    free(works->list);
    *works = OP_WORKS_NONE;
}
