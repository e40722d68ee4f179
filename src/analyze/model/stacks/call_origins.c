/* Looks up the chains of a call: see call_origins.h. */
#include "call_origins.h"

int call_origins_open(struct call_origins *origins, struct report *report, struct error *err)
{
    int code;

    if ((code = stacks_open(&origins->stacks, report, err)) != 0)
        return code;
    if ((code = stack_chains_read(&origins->chains, &origins->stacks, "OSRT_CALLCHAINS", STACKS_WITH_LINES, err)) != 0)
        return code;
    return stack_join_open(&origins->join, report, STACKS_WITH_LINES, err);
}

void call_origins_close(struct call_origins *origins)
{
    stacks_free(&origins->stacks);
    stack_chains_free(&origins->chains);
    stack_join_free(&origins->join);
}

int call_origins_find(struct call_origins *origins, int64_t chain, int64_t python_chain, struct call_origin *out)
{
    struct stacks *stacks = &origins->stacks;
    struct stack_join *join = &origins->join;
    uint32_t native = chain ? stack_chains_find(&origins->chains, chain, &origins->hints[0]) : STACK_EMPTY;
    uint32_t python = python_chain ? stack_chains_find(&join->chains, python_chain, &origins->hints[1]) : STACK_EMPTY;
    uint32_t joined = python == STACK_EMPTY ? STACK_EMPTY : stack_join(join, stacks, native, python, STACK_JOIN_ALL);

    *out = (struct call_origin){ stack_caller(stacks, native), joined == STACK_EMPTY ? native : joined };
    if (python != STACK_EMPTY)
        out->frame = stack_join_frame(join, stacks, stack_innermost(&join->python, python));
    return joined == NO_KEY || (python != STACK_EMPTY && out->frame == NO_KEY) ? ERR_NO_MEMORY : 0;
}
