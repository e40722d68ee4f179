/* The names of the NVTX ranges that torch.autograd.profiler.emit_nvtx makes of operators. */
#ifndef TACHO_ANALYZE_MODEL_NAMES_OPERATOR_TEXT_H
#define TACHO_ANALYZE_MODEL_NAMES_OPERATOR_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"

/* The parts of the name of such a range. */
struct operator_text {
    size_t name_length;          /* from its begin */
    int64_t sequence;            /* -1: none */
    struct intern_string shapes; /* in the text; length 0: none */
    int is_operator;             /* else an annotation, or anything */
    int is_backward;             /* by its name, such as AddmmBackward0 */
};
struct operator_text operator_text(const char *bytes, size_t length);

/* The length of the operator's name, "aten::add" of "aten::add, seq = 12, op_id = 34, sizes = [[2]]"; of another text
 * all of it. Quick for most names. */
size_t operator_name_length(const char *bytes, size_t length);

#endif
