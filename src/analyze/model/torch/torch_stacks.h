/* Which stack of Python an event is shown with, as torch has it. */
#ifndef TACHO_ANALYZE_MODEL_TORCH_TORCH_STACKS_H
#define TACHO_ANALYZE_MODEL_TORCH_TORCH_STACKS_H

#include "operators.h"

/* Whether torch shows a frame: some of its own it leaves out. So are those of our Python package,
 * which stand around functions. */
int torch_shows_frame(const char *bytes, size_t length);
/* The next frame of a stack that is shown, from *at on, which lies behind it then; the length is
 * 0 when there are no more. */
struct intern_string torch_next_frame(const char **at, const char *end);

/* For each event of the list, after operators_nest(), the one whose stack it has: itself, or, of what runs backward,
 * the first forward operator with its sequence number; NO_OPERATOR: it has none. ERR_NO_MEMORY or 0. */
int torch_stack_owners(const struct operators *operators, uint32_t *owners);

#endif
