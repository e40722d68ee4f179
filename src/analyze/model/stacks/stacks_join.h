/* Joins the native and the Python frames of a thread to one stack: Python functions replace the frames of the
 * interpreter's loop that runs them.
 *
 * A run of the loop is one native frame, _PyEval_EvalFrameDefault, and one Python function or more: since 3.11 a Python
 * function that calls another does so in the same run. So the n-th run begins with the n-th Python function that C code
 * called. If all functions of a run are known, they replace its frame, and the interpreter's helpers for calls are
 * dropped; otherwise the frame stays. */
#ifndef TACHO_ANALYZE_MODEL_STACKS_STACKS_JOIN_H
#define TACHO_ANALYZE_MODEL_STACKS_STACKS_JOIN_H

#include "stacks.h"

/* Starts from {0}. */
struct stack_join {
    struct stacks python;                    /* with entries: frames that C code called are FRAME_PYTHON_ENTRY */
    struct stack_chains chains;              /* of TACHO_PYTHON_CALLCHAINS */
    struct keys known;                       /* pairs of stacks that were joined before */
    struct keys calls;                       /* of C functions by Python functions, from samples that were certain */
    int is_learning;
    uint32_t *joined;                        /* owned, as all below; by known */
    size_t joined_room;
    uint32_t *native_frames, *python_frames; /* of the current two stacks, the innermost first */
    size_t native_room, python_room;
    signed char *roles;                      /* by frame of the native tree, + 1; 0: not determined yet */
    size_t role_room;
};

/* Needs stack_join_free() after an error too. */
int stack_join_open(struct stack_join *join, struct report *report, int lines, struct error *err);
void stack_join_free(struct stack_join *join);

/* The number of outermost frames of a Python stack that were there at the time of the native one. */
enum { STACK_JOIN_ALL = UINT32_MAX };

/* Joins a stack of `native` with one of join->python to a stack of `native`. It uses the `certain` outermost Python
 * frames, and the others of a run of the loop only if the run called nothing but the interpreter's own code, or C code
 * that its innermost function is known to call. NO_KEY when memory is short. */
uint32_t stack_join(struct stack_join *join, struct stacks *native, uint32_t stack, uint32_t python, uint32_t certain);

/* A frame of join->python as one of `native`; NO_KEY when memory is short. */
uint32_t stack_join_frame(const struct stack_join *join, struct stacks *native, uint32_t frame);

/* Reads the CPU samples and joins each with the Python stack that the thread itself recorded at the same time. Without
 * such a stack it uses the Python samples before and after: frames that both have are certain, the others come from the
 * nearer one. A first pass over the certain samples learns which C functions each Python function calls. */
int stacks_join_samples(struct stacks *stacks, int lines, const struct filter *filter, struct error *err);

#endif
