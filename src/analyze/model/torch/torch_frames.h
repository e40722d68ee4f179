/* The place in the program where an operator was called: its innermost module, and the innermost Python line outside of
 * PyTorch. Backward operators have the place of the forward operator with their sequence number. Places are known only
 * if Python functions or stacks were recorded. */
#ifndef TACHO_ANALYZE_MODEL_TORCH_TORCH_FRAMES_H
#define TACHO_ANALYZE_MODEL_TORCH_TORCH_FRAMES_H

#include "operators.h"

struct torch_frames {
    struct operators modules;   /* nested calls of modules */
    uint32_t *module;           /* owned; by operator: in modules.list, or NO_OPERATOR */
    uint32_t *line;             /* owned; by operator: a text of lines.texts, or NO_TEXT */
    struct operators lines;     /* calls of functions that are not PyTorch's */
    unsigned char *is_backward; /* owned; by operator: its module and line are those of forward */
};

/* The operators must be nested. The request selects a part of the report. */
int torch_frames_read(struct torch_frames *frames, const struct operators *operators, struct report *report,
                      const struct analysis_request *request, struct error *err);
void torch_frames_free(struct torch_frames *frames);

/* The operator that launched work on a GPU, or NO_OPERATOR. */
uint32_t torch_launcher(const struct operators *operators, size_t work);

#endif
