/* Native and Python frames of a thread as one stack: where the interpreter's loop runs, the
 * Python functions that it runs.
 *
 * A run of the loop is one native frame, _PyEval_EvalFrameDefault, and one Python function or more: since 3.11 a Python
 * function that calls another does so in the same run. So the n-th run is that of the functions from the n-th on that C
 * code called. Where all functions of a run are known, they stand for its frame, and the interpreter's helpers for
 * calls go too; what is not known keeps that frame. */
#ifndef TACHO_ANALYZE_MODEL_STACKS_STACKS_JOIN_H
#define TACHO_ANALYZE_MODEL_STACKS_STACKS_JOIN_H

#include "stacks.h"

/* Starts from {0}. */
struct stack_join {
    struct stacks python;                    /* with entries: frames that C code called are FRAME_PYTHON_ENTRY */
    struct stack_chains chains;              /* of TACHO_PYTHON_CALLCHAINS */
    struct keys known;                       /* what was joined before */
    struct keys calls;                       /* of C functions by Python functions, seen where all was certain */
    int is_learning;
    uint32_t *joined;                        /* owned, as all below; by known */
    size_t joined_room;
    uint32_t *native_frames, *python_frames; /* of the two stacks at hand, the innermost first */
    size_t native_room, python_room;
    signed char *roles;                      /* by frame of the native tree, + 1; 0: not looked at yet */
    size_t role_room;
};

int stack_join_open(struct stack_join *join, struct report *report, int lines, struct error *err);
void stack_join_free(struct stack_join *join);

/* How much of a Python stack was there at the moment of the native one: so many of its outermost frames. */
enum { STACK_JOIN_ALL = UINT32_MAX };

/* A stack of `native` and one of join->python as one of `native`: of the latter, `certain` frames; and of a run of the
 * loop the others too, if nothing but the interpreter's own code is within it, or C code that its innermost function is
 * known to call. NO_KEY when memory is short. */
uint32_t stack_join(struct stack_join *join, struct stacks *native, uint32_t stack, uint32_t python, uint32_t certain);

/* A frame of join->python as one of `native`; NO_KEY when memory is short. */
uint32_t stack_join_frame(const struct stack_join *join, struct stacks *native, uint32_t frame);

/* The samples of CPUs, joined with the Python stack that the thread itself read at the same moment; else with those
 * that were read next to it: what both the one before and the one behind have is certain, the rest is taken from the
 * nearer one. What is certain in some samples says which C functions a Python function calls. */
int stacks_join_samples(struct stacks *stacks, int lines, const struct filter *filter, struct error *err);

#endif
