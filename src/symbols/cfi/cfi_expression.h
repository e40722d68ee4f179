/* DWARF expressions in call frame information: PLTs, signal frames, realigned stacks. */
#ifndef TACHO_SYMBOLS_CFI_CFI_EXPRESSION_H
#define TACHO_SYMBOLS_CFI_CFI_EXPRESSION_H

#include <stddef.h>
#include <stdint.h>

#include "cfi_registers.h"

/* The data that an expression may read. */
struct cfi_expression_scene {
    const struct symbols_registers *registers;
    int (*read)(void *context, uint64_t address, unsigned bytes, uint64_t *value); /* 0, or -1 if it cannot be read */
    void *context;
};

/* Evaluates an expression, with `first` on its stack unless that is NULL: 0 and the value on top, or -1. Bounded in
 * time. */
int cfi_expression_value(const struct cfi_expression_scene *scene, const unsigned char *code, size_t bytes,
                         const uint64_t *first, uint64_t *value);

#endif
