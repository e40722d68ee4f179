/* Arithmetic on numbers that a file gave us: at the ends of the range results stay there, where plain
 * arithmetic would overflow.
 *
 * A damaged or hostile report holds any 64 bits as a time, a size or a count. Whoever adds, subtracts or multiplies
 * such numbers does it with these, so that the result is wrong by a little and never undefined. */
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

/* Below zero where something ends before it starts. */
static inline int64_t saturating_duration(int64_t start, int64_t end)
{
    return saturating_subtract(end, start);
}

/* Without what is behind the point; 0 for what is no number. */
static inline int64_t saturating_from_double(double value)
{
    return value != value ? 0 : value >= 0x1p63 ? INT64_MAX : value < -0x1p63 ? INT64_MIN : (int64_t)value;
}

#endif
