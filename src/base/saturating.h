/* Saturating arithmetic: where plain arithmetic would overflow, the result stays at the end of the range.
 *
 * A damaged or hostile report holds any 64 bits as a time, a size or a count. Code that adds, subtracts or
 * multiplies such numbers uses these functions, so that a result may be wrong but is never undefined. */
#ifndef TACHO_BASE_SATURATING_H
#define TACHO_BASE_SATURATING_H

#include <stdint.h>

static inline int64_t saturating_add(int64_t a, int64_t b)
{
    int64_t sum;

    return !__builtin_add_overflow(a, b, &sum) ? sum : b < 0 ? INT64_MIN : INT64_MAX;
}

static inline int64_t saturating_subtract(int64_t a, int64_t b)
{
    int64_t difference;

    return !__builtin_sub_overflow(a, b, &difference) ? difference : b > 0 ? INT64_MIN : INT64_MAX;
}

static inline int64_t saturating_multiply(int64_t a, int64_t b)
{
    int64_t product;

    return !__builtin_mul_overflow(a, b, &product) ? product : (a < 0) != (b < 0) ? INT64_MIN : INT64_MAX;
}

/* Negative where an event ends before it starts. */
static inline int64_t saturating_duration(int64_t start, int64_t end)
{
    return saturating_subtract(end, start);
}

/* Truncates toward zero; 0 for NaN. */
static inline int64_t saturating_from_double(double value)
{
    return value != value ? 0 : value >= 0x1p63 ? INT64_MAX : value < -0x1p63 ? INT64_MIN : (int64_t)value;
}

#endif
