/* The shift between two samples: the Hodges–Lehmann estimate, the median of all differences between a value after and a
 * value before, with the confidence interval of the Mann–Whitney rank test. It assumes no distribution of the noise,
 * and one outlier moves it little. With few runs even the widest interval, from the least difference to the greatest,
 * has less than 95 % confidence; the function returns the confidence that it has. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "table_diff.h"

enum { MOST_EXACT = 20 }; /* values a side up to which counts fit exactly into a double */

static double diff_shift_median(const double *sorted, size_t count)
{
    return count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

/* How many differences to leave out at each end for 95 %, and the confidence of that. Exact: the number of orders of m
 * and n values in which the rank sum is u is the coefficient of q^u in the Gaussian binomial. */
static size_t leave_out_exactly(size_t m, size_t n, double *confidence)
{
    double ways[MOST_EXACT * MOST_EXACT + 1] = { 1 }, all = 0, below = 0;
    size_t most = m * n, out = 0;

    for (size_t i = 1; i <= m; i++) {
        for (size_t u = most; u >= n + i; u--)
            ways[u] -= ways[u - n - i];
        for (size_t u = i; u <= most; u++)
            ways[u] += ways[u - i];
    }
    for (size_t u = 0; u <= most; u++)
        all += ways[u];
    *confidence = 1 - 2 * ways[0] / all;
    for (size_t u = 0; u <= most / 2; u++) {
        below += ways[u];
        if (1 - 2 * below / all < 0.95)
            break;
        out = u;
        *confidence = 1 - 2 * below / all;
    }
    return out;
}

static size_t leave_out(size_t m, size_t n, double *confidence)
{
    if (m <= MOST_EXACT && n <= MOST_EXACT)
        return leave_out_exactly(m, n, confidence);
    double product = (double)m * (double)n;
    double out = floor(product / 2 - 1.96 * sqrt(product * (double)(m + n + 1) / 12)) - 1;
    *confidence = 0.95;
    return out > 0 ? (size_t)out : 0;
}

double table_diff_shift(double *before, size_t before_count, double *after, size_t after_count, double *shift,
                        double *low, double *high)
{
    size_t count = before_count * after_count;
    double *differences = calloc(count + 1, sizeof *differences), confidence = 0;

    qsort(before, before_count, sizeof *before, array_by_double);
    qsort(after, after_count, sizeof *after, array_by_double);
    *shift = *low = *high = count ? diff_shift_median(after, after_count) - diff_shift_median(before, before_count) : 0;
    if (differences && count > 1) {
        for (size_t i = 0; i < before_count; i++)
            for (size_t j = 0; j < after_count; j++)
                differences[i * after_count + j] = after[j] - before[i];
        qsort(differences, count, sizeof *differences, array_by_double);
        size_t out = leave_out(before_count, after_count, &confidence);
        *shift = diff_shift_median(differences, count);
        *low = differences[out];
        *high = differences[count - 1 - out];
    }
    free(differences);
    return confidence;
}
