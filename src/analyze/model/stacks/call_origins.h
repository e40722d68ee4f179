/* Where calls into libc came from: the line of Python if it is known, else the function that made the call. */
#ifndef TACHO_ANALYZE_MODEL_STACKS_CALL_ORIGINS_H
#define TACHO_ANALYZE_MODEL_STACKS_CALL_ORIGINS_H

#include "stacks_join.h"

/* Starts from {0}. */
struct call_origins {
    struct stacks stacks;
    struct stack_chains chains; /* of OSRT_CALLCHAINS */
    struct stack_join join;
    size_t hints[2];            /* of the last lookups */
};

/* Needs call_origins_close() after an error too. */
int call_origins_open(struct call_origins *origins, struct report *report, struct error *err);
void call_origins_close(struct call_origins *origins);

struct call_origin {
    uint32_t frame; /* of origins->stacks; NO_KEY: not known */
    uint32_t stack; /* the whole stack, native and Python */
};

/* The origin of a call with these chains (0: none). ERR_NO_MEMORY or 0. */
int call_origins_find(struct call_origins *origins, int64_t chain, int64_t python, struct call_origin *out);

#endif
