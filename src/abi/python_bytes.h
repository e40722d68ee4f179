/* The two steps that all reading of a Python program's memory is made of: for
 * python_layout.c and python_code.c alone. */
#ifndef TACHO_ABI_PYTHON_BYTES_H
#define TACHO_ABI_PYTHON_BYTES_H

#include <string.h>

#include "python_layout.h"

static inline uint64_t python_word(const unsigned char *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

static inline int python_read(const struct python_memory *memory, uint64_t address, void *buffer, size_t size)
{
    if (!address || address > UINT64_MAX - size)
        return -1;
    return memory->read_at(memory->context, address, buffer, size);
}

#endif
