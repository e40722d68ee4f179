/* Whether a rank delays the others more than chance makes one of several equal ranks do. */
#ifndef TACHO_ANALYZE_STRAGGLERS_CHANCE_H
#define TACHO_ANALYZE_STRAGGLERS_CHANCE_H

#include <stddef.h>
#include <stdint.h>

/* values: a row for each block of the run, with the delay of each rank in it. If ranks were equal, the delays of a
 * block could as well be those of any other rank. Returns the probability that a rank then has as large a sum as this
 * one has. -1 when memory is short. */
double chance_of_rank(const int64_t *values, size_t blocks, size_t ranks, size_t rank);

#endif
