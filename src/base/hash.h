/* Hashes of bytes (XXH3, 64 bits): for tables in memory and checksums in files. The values
 * are stable across machines. */
#ifndef TACHO_BASE_HASH_H
#define TACHO_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t hash_bytes(const void *bytes, size_t length);
uint64_t hash_bytes_seeded(const void *bytes, size_t length, uint64_t seed);

/* Spreads a number over all bits: for open-addressing tables keyed by integers. */
static inline uint64_t hash_number(uint64_t x)
{
    x ^= x >> 32;
    x *= UINT64_C(0x9e3779b97f4a7c15);
    x ^= x >> 29;
    return x;
}

#endif
