/* The distance from one sampled block to the next, in allocated bytes. */
#ifndef TACHO_AGENT_HEAP_HEAP_DISTANCE_H
#define TACHO_AGENT_HEAP_HEAP_DISTANCE_H

#include <stdint.h>

/* The first state of a thread; equal programs draw equal distances. Never 0. */
uint64_t heap_distance_seed(uint32_t thread);

/* The next distance, of an exponential distribution with this mean: every byte is as likely to be sampled as any other,
 * whatever the pattern of sizes. At least 1. Integers alone: a program can see the flags that floating point sets. */
uint64_t heap_distance_draw(uint64_t *state, uint64_t mean_bytes);

#endif
