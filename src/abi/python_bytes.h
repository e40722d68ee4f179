/* The memory of a Python program, and the two functions that all reading of it goes through. */
#ifndef TACHO_ABI_PYTHON_BYTES_H
#define TACHO_ABI_PYTHON_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct python_memory {
    /* 0 when all bytes were read; anything else when some could not be. */
    int (*read_at)(void *context, uint64_t address, void *buffer, size_t size);
    void *context;
};

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
