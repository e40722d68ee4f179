/* Names of PyTorch operators that have a special meaning, in reports and in PyTorch's traces. */
#ifndef TACHO_REPORT_SCHEMA_TORCH_NAMES_H
#define TACHO_REPORT_SCHEMA_TORCH_NAMES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TORCH_STEP "ProfilerStep#"
enum { TORCH_STEP_LENGTH = sizeof TORCH_STEP - 1, TORCH_STEP_DIGITS = 18 }; /* a longer number is not a step */

/* N of ProfilerStep#N, or -1. */
static inline int64_t torch_step_number(const char *name, size_t length)
{
    int64_t number = 0;
    if (length <= TORCH_STEP_LENGTH || length > TORCH_STEP_LENGTH + TORCH_STEP_DIGITS ||
        memcmp(name, TORCH_STEP, TORCH_STEP_LENGTH) != 0)
        return -1;
    for (size_t i = TORCH_STEP_LENGTH; i < length; i++) {
        if ((unsigned char)(name[i] - '0') > 9)
            return -1;
        number = number * 10 + (name[i] - '0');
    }
    return number;
}

/* The operator that autograd's engine puts around each node of the backward graph. Some versions append the node's
 * numbers. */
static inline int torch_is_engine(const char *name, size_t length)
{
    static const char prefix[] = "autograd::engine::evaluate_function";
    return length >= sizeof prefix - 1 && memcmp(name, prefix, sizeof prefix - 1) == 0;
}

#endif
