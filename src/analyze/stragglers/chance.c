/* The distribution of the sum of one delay out of each block, in steps of a small part of the rank's own sum. */
#include "chance.h"

#include <stdlib.h>
#include <string.h>

enum { BINS = 512 };

/* Adds a block: each of its values is as likely as the others. Sums above the rank's stay in the last bin. */
static void chance_add_block(const double *before, double *after, const int64_t *values, size_t ranks, double unit)
{
    memset(after, 0, (BINS + 1) * sizeof *after);
    for (size_t rank = 0; rank < ranks; rank++) {
        double bins = (double)values[rank] / unit + 0.5;
        size_t step = bins < BINS ? (size_t)bins : BINS;
        for (size_t i = 0; i <= BINS; i++)
            after[i + step < BINS ? i + step : BINS] += before[i] / (double)ranks;
    }
}

double chance_of_rank(const int64_t *values, size_t blocks, size_t ranks, size_t rank)
{
    double *now = calloc(BINS + 1, sizeof *now), *next = calloc(BINS + 1, sizeof *next), sum = 0, chance = 0;

    for (size_t b = 0; b < blocks; b++)
        sum += (double)values[b * ranks + rank];
    if (!now || !next || sum <= 0)
        chance = now && next ? 1 : -1;
    else {
        now[0] = 1;
        for (size_t b = 0; b < blocks; b++) {
            chance_add_block(now, next, values + b * ranks, ranks, sum / BINS);
            double *other = now;
            now = next;
            next = other;
        }
        /* Each value was rounded: by half a bin at most. */
        for (size_t i = BINS - blocks / 2 - 1; i <= BINS; i++)
            chance += now[i];
    }
    free(now);
    free(next);
    return chance;
}
