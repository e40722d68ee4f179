/* Distances between samples: see heap_distance.h. -ln(u) = ln 2 * -log2(u), where u is a random number of 64 bits,
 * taken as a fraction. */
#include "heap_distance.h"

#define LOG_BITS 24              /* of the fraction of a logarithm */
#define LN_2 UINT64_C(0xb17217f7) /* ln 2, times 2^32 */

#define GOLDEN_FRACTION UINT64_C(0x9e3779b97f4a7c15)

/* Multiples of the golden ratio's fraction, modulo 1, lie evenly, so that the number of samples in some bytes would be
 * known better. But one of them says something of the next: where two lines allocate in turn, samples would prefer one.
 * Mixed, they are independent (splitmix64). */
static uint64_t distance_mixed(uint64_t number)
{
    number = (number ^ number >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);
    return number ^ number >> 31;
}

uint64_t heap_distance_seed(uint32_t thread)
{
    return distance_mixed((thread + UINT64_C(1)) * GOLDEN_FRACTION) | 1;
}

/* log2() of a number from 1 to 2, whose highest bit stands for 1: each square that reaches 2 gives one more bit. */
static uint64_t fraction_of_log2(uint64_t number)
{
    uint64_t bits = 0;
    for (int i = 0; i < LOG_BITS; i++) {
        unsigned __int128 square = (unsigned __int128)number * number;
        uint64_t reaches_2 = (uint64_t)(square >> 127);
        number = (uint64_t)(square >> (63 + reaches_2));
        bits = bits << 1 | reaches_2;
    }
    return bits;
}

uint64_t heap_distance_draw(uint64_t *state, uint64_t mean_bytes)
{
    *state += GOLDEN_FRACTION;
    uint64_t number = distance_mixed(*state) | 1;
    unsigned zeros = (unsigned)__builtin_clzll(number);
    uint64_t minus_log2 = ((zeros + UINT64_C(1)) << LOG_BITS) - fraction_of_log2(number << zeros);
    uint64_t minus_ln = (uint64_t)((unsigned __int128)minus_log2 * LN_2 >> 32);
    return (uint64_t)((unsigned __int128)mean_bytes * minus_ln >> LOG_BITS) + 1;
}
