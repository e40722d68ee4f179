/* Operators of a step with details, and the same operators of the steps after it, which have none.
 *
 * A capture with --advise records shapes, stacks and modules in a few steps alone, because they cost time. The next
 * steps run the same operators in the same order. So an operator without details gets those of the operator at its
 * place, as long as the names from the begin of the step on agree. Each thread has a sequence of its own. */
#ifndef TACHO_COLLECT_SOURCES_TORCH_TORCH_TWINS_H
#define TACHO_COLLECT_SOURCES_TORCH_TORCH_TWINS_H

#include <stddef.h>
#include <stdint.h>

/* Ids in the writer's string pool; 0: none. */
struct torch_details {
    int64_t dims, types, strides, values, stack, modules;
};

struct torch_twin {
    int64_t name;
    struct torch_details details;
};

/* All zero: no step so far. */
struct torch_twins {
    struct torch_twin *list; /* owned: the last step with details */
    size_t count, capacity;
    size_t place;            /* in the step that runs */
    uint32_t step;           /* enough of its number to tell it from the one before */
    int differs;             /* the step that runs has had another operator */
};

/* An operator begins. With details, remembers them; else fills them in, if its twin is known. */
void torch_twins_take(struct torch_twins *twins, uint32_t step, int has_details, int64_t name,
                      struct torch_details *details);
void torch_twins_free(struct torch_twins *twins);

#endif
