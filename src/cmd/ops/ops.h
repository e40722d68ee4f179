/* The output of `tacho ops`, in the layout of torch's key_averages().table(). */
#ifndef TACHO_CMD_OPS_H
#define TACHO_CMD_OPS_H

#include "analyze/reports/torch/torch_ops.h"
#include "base/text.h"

/* Widths are in characters; a limit of 0 means no limit. */
struct ops_layout {
    size_t rows; /* SIZE_MAX: all */
    size_t name_width, shapes_width, source_width;
    int top_level_only;
};

void ops_table(struct text *out, const struct torch_ops *ops, const struct ops_layout *layout);

#endif
