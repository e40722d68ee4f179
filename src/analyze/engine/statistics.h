/* Figures of many whole numbers: count, sum, least, greatest, deviation and median, all exact.
 *
 * Sums are integers wide enough never to round, so the result does not depend on the order of the numbers or on the
 * number of threads that added them. */
#ifndef TACHO_ANALYZE_ENGINE_STATISTICS_H
#define TACHO_ANALYZE_ENGINE_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

struct statistics {
    uint64_t count;
    int64_t min, max; /* meaningless while count is 0 */
    __int128 total;
    unsigned __int128 squares;
};

static inline void statistics_add(struct statistics *figures, int64_t value)
{
    if (!figures->count || value < figures->min)
        figures->min = value;
    if (!figures->count || value > figures->max)
        figures->max = value;
    figures->count++;
    figures->total += value;
    figures->squares += (unsigned __int128)((__int128)value * value);
}

void statistics_merge(struct statistics *into, const struct statistics *from);

/* The mean; 0 of nothing. */
double statistics_mean(const struct statistics *figures);

/* The deviation of a sample (n − 1 below the line); 0 of fewer than two numbers. */
double statistics_deviation(const struct statistics *figures);

/* A list of numbers in pieces, as they were collected. */
struct statistics_piece {
    struct statistics_piece *next;
    uint32_t used, capacity;
    int64_t values[];
};

/* The median of the count numbers in the pieces, all of them between min and max. scratch has room for count
 * numbers. */
double statistics_median(const struct statistics_piece *pieces, uint64_t count, int64_t min, int64_t max,
                         int64_t *scratch);

/* The number of this rank, from 0, among values, which are shuffled. */
int64_t statistics_select(int64_t *values, size_t count, uint64_t rank);

/* The median of an array; 0 of nothing. */
double statistics_median_of(const int64_t *values, size_t count, int64_t *scratch);

#endif
