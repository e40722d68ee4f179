/* Forward operators by their sequence number, for those who look for that of a backward one.
 * Numbers are a process's own. */
#ifndef TACHO_ANALYZE_MODEL_TORCH_FORWARD_OPERATORS_H
#define TACHO_ANALYZE_MODEL_TORCH_FORWARD_OPERATORS_H

#include "analyze/engine/keys.h"
#include "operators.h"

/* Of several with one number, one within the other: the outermost is what the program called, the innermost what
 * torch draws its arrows from. */
/* in the list of operators, in order of time; NO_OPERATOR: there is none */
struct forward {
    uint32_t first, last;
};

struct forwards {
    struct keys keys;
    struct forward *list; /* owned; by key */
    size_t capacity;
};

#define FORWARDS_NONE (struct forwards){ .keys.width = 2 }
/* In order of time. ERR_NO_MEMORY or 0. */
int forwards_add(struct forwards *forwards, const struct operator* operator, uint32_t place);
/* Of those added so far, that with the number and of the process of a backward operator. */
struct forward forwards_of(const struct forwards *forwards, const struct operator* backward);
void forwards_free(struct forwards *forwards);

#endif
