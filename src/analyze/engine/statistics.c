/* Exact figures: sums in 128 bits, and medians by counting instead of sorting. */
#include "statistics.h"

#include <math.h>
#include <string.h>

void statistics_merge(struct statistics *into, const struct statistics *from)
{
    if (!from->count)
        return;
    if (!into->count || from->min < into->min)
        into->min = from->min;
    if (!into->count || from->max > into->max)
        into->max = from->max;
    into->count += from->count;
    into->total += from->total;
    into->squares += from->squares;
}

double statistics_mean(const struct statistics *figures)
{
    return figures->count ? (double)figures->total / (double)figures->count : 0;
}

/* With q the integer part of the mean and r the remainder of the total: Σ(x−mean)² = Σx² − q(2·total − n·q) − r²/n.
 * Only the last term is not an integer, and it is small, so large numbers that are close to each other lose no
 * precision. No long double, whose precision differs between machines and in the page. Unsigned, since the times of a
 * damaged report may be anything: overflow then gives a meaningless figure, but is defined. */
double statistics_deviation(const struct statistics *figures)
{
    if (figures->count < 2)
        return 0;
    __int128 n = (__int128)figures->count;
    __int128 q = figures->total / n, r = figures->total - n * q;
    unsigned __int128 around = figures->squares -
                               (unsigned __int128)q * (unsigned __int128)(2 * figures->total - n * q);
    double squares = (double)around - (double)r * (double)r / (double)n;
    return squares > 0 ? sqrt(squares / (double)(n - 1)) : 0;
}

/* Buckets that widen with the number: 64 to each power of two, so that one far outlier does not put all others into
 * the same bucket. */
enum { BUCKETS_A_POWER = 64, BUCKETS = 60 * BUCKETS_A_POWER };

static inline unsigned statistics_bucket_of(uint64_t distance)
{
    if (distance < BUCKETS_A_POWER)
        return (unsigned)distance;
    int power = 63 - __builtin_clzll(distance);
    return (unsigned)(power - 5) * BUCKETS_A_POWER + (unsigned)((distance >> (power - 6)) & (BUCKETS_A_POWER - 1));
}

/* The bucket in which the number of this rank lies; rank becomes its rank in there. */
static unsigned statistics_find_bucket(const uint32_t *counts, uint64_t *rank)
{
    unsigned bucket = 0;

    while (*rank >= counts[bucket])
        *rank -= counts[bucket++];
    return bucket;
}

static void sort_few(int64_t *values, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        int64_t value = values[i];
        size_t j = i;
        for (; j > 0 && values[j - 1] > value; j--)
            values[j] = values[j - 1];
        values[j] = value;
    }
}

/* Each round keeps one bucket, whose width is at most a
 * sixty-fourth of its distance from the least number, so there are eleven rounds at worst. */
int64_t statistics_select(int64_t *values, size_t count, uint64_t rank)
{
    while (count > 32) {
        uint32_t counts[BUCKETS] = { 0 };
        int64_t min = values[0];
        for (size_t i = 1; i < count; i++)
            min = values[i] < min ? values[i] : min;
        for (size_t i = 0; i < count; i++)
            counts[statistics_bucket_of((uint64_t)values[i] - (uint64_t)min)]++;
        unsigned bucket = statistics_find_bucket(counts, &rank);
        if (bucket < BUCKETS_A_POWER)
            return min + (int64_t)bucket; /* a bucket of one value */
        size_t kept = 0;
        for (size_t i = 0; i < count; i++)
            if (statistics_bucket_of((uint64_t)values[i] - (uint64_t)min) == bucket)
                values[kept++] = values[i];
        count = kept;
    }
    sort_few(values, count);
    return values[rank];
}

/* The least number above value; there is one. */
static int64_t next_above(const struct statistics_piece *pieces, int64_t value, int64_t max)
{
    int64_t next = max;

    for (const struct statistics_piece *piece = pieces; piece; piece = piece->next)
        for (uint32_t i = 0; i < piece->used; i++)
            if (piece->values[i] > value && piece->values[i] < next)
                next = piece->values[i];
    return next;
}

static uint64_t count_up_to(const struct statistics_piece *pieces, int64_t value)
{
    uint64_t count = 0;

    for (const struct statistics_piece *piece = pieces; piece; piece = piece->next)
        for (uint32_t i = 0; i < piece->used; i++)
            count += piece->values[i] <= value;
    return count;
}

/* The first round of statistics_select(), over the pieces. It copies the numbers that remain to scratch. */
static int64_t lower_middle(const struct statistics_piece *pieces, uint64_t count, int64_t min, int64_t *scratch)
{
    uint32_t counts[BUCKETS] = { 0 };
    uint64_t rank = (count - 1) / 2;
    size_t kept = 0;

    for (const struct statistics_piece *piece = pieces; piece; piece = piece->next)
        for (uint32_t i = 0; i < piece->used; i++)
            counts[statistics_bucket_of((uint64_t)piece->values[i] - (uint64_t)min)]++;
    unsigned bucket = statistics_find_bucket(counts, &rank);
    for (const struct statistics_piece *piece = pieces; piece; piece = piece->next)
        for (uint32_t i = 0; i < piece->used; i++)
            if (statistics_bucket_of((uint64_t)piece->values[i] - (uint64_t)min) == bucket)
                scratch[kept++] = piece->values[i];
    return statistics_select(scratch, kept, rank);
}

static double median_of_few(const struct statistics_piece *pieces, uint64_t count, int64_t *scratch)
{
    size_t kept = 0;

    for (const struct statistics_piece *piece = pieces; piece; piece = piece->next) {
        memcpy(scratch + kept, piece->values, piece->used * sizeof *scratch);
        kept += piece->used;
    }
    sort_few(scratch, kept);
    return ((double)scratch[(count - 1) / 2] + (double)scratch[count / 2]) / 2;
}

double statistics_median(const struct statistics_piece *pieces, uint64_t count, int64_t min, int64_t max,
                         int64_t *scratch)
{
    if (count == 0)
        return 0;
    if (min == max)
        return (double)min;
    if (count <= 32)
        return median_of_few(pieces, count, scratch);
    int64_t low = lower_middle(pieces, count, min, scratch);
    if (count % 2 || count_up_to(pieces, low) > count / 2)
        return (double)low;
    return ((double)low + (double)next_above(pieces, low, max)) / 2;
}

double statistics_median_of(const int64_t *values, size_t count, int64_t *scratch)
{
    if (count == 0)
        return 0;
    memcpy(scratch, values, count * sizeof *scratch);
    int64_t low = statistics_select(scratch, count, (count - 1) / 2), above = INT64_MAX;
    size_t up_to = 0;
    for (size_t i = 0; i < count; i++) {
        up_to += values[i] <= low;
        if (values[i] > low && values[i] < above)
            above = values[i];
    }
    return count % 2 || up_to > count / 2 ? (double)low : ((double)low + (double)above) / 2;
}
