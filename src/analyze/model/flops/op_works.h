/* The work of operators: each combination of a name and inputs is computed once. */
#ifndef TACHO_ANALYZE_MODEL_FLOPS_OP_WORKS_H
#define TACHO_ANALYZE_MODEL_FLOPS_OP_WORKS_H

#include "analyze/engine/keys.h"
#include "analyze/model/torch/operators.h"
#include "op_work.h"

struct op_works {
    struct keys keys;     /* names and inputs */
    struct op_work *list; /* owned; by key */
    size_t room;
};
#define OP_WORKS_NONE (struct op_works){ .keys.width = 5 }

/* The number in the list of what an operator does; NO_KEY when memory is short. */
uint32_t op_works_find(struct op_works *works, const struct operators *operators, const struct operators_event *op);
void op_works_free(struct op_works *works);

/* The texts of an operator's inputs. */
struct op_texts op_texts_of(const struct operators *operators, const struct operators_event *op);

#endif
