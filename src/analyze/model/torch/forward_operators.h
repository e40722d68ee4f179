/* Finds the forward operator of a backward one by its sequence number. Numbers are unique only within a process. */
#ifndef TACHO_ANALYZE_MODEL_TORCH_FORWARD_OPERATORS_H
#define TACHO_ANALYZE_MODEL_TORCH_FORWARD_OPERATORS_H

#include "analyze/engine/keys.h"
#include "operators.h"

/* Indices into the list of operators, in order of time; NO_OPERATOR: there is none. Operators with the same number are
 * nested: the program called the first, the outermost; torch draws its arrows from the last, the innermost. */
struct forward_operator {
    uint32_t first, last;
};

struct forward_operators {
    struct keys keys;
    struct forward_operator *list; /* owned; by key */
    size_t capacity;
};

#define FORWARD_OPERATORS_NONE (struct forward_operators){ .keys.width = 2 }
/* Call it in order of time. ERR_NO_MEMORY or 0. */
int forward_operators_add(struct forward_operators *forwards, const struct operators_event *op, uint32_t place);
/* The forward operators added so far with the number and the process of a backward operator. */
struct forward_operator forward_operators_find(const struct forward_operators *forwards,
                                               const struct operators_event *backward);
void forward_operators_free(struct forward_operators *forwards);

#endif
