/* The Python stack that an event is shown with, as in torch. */
#ifndef TACHO_ANALYZE_MODEL_TORCH_TORCH_STACKS_H
#define TACHO_ANALYZE_MODEL_TORCH_TORCH_STACKS_H

#include "operators.h"

/* Whether a frame is shown. torch hides some of its own frames; those of Tacho's Python package are hidden too. */
int torch_shows_frame(const char *bytes, size_t length);
/* The next frame of a stack that is shown, from *at on; *at moves past it. The length is 0 when there are no more. */
struct intern_string torch_next_frame(const char **at, const char *end);

/* For each event of the list, after operators_nest(), finds the one whose stack it has: itself or, for a backward
 * operator, the first forward operator with its sequence number; NO_OPERATOR: it has none. ERR_NO_MEMORY or 0. */
int torch_stack_owners(const struct operators *operators, uint32_t *owners);

#endif
