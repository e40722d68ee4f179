/* Growing arrays: memory of malloc(), a count and a capacity, all owned by the caller. Also the length of
 * other arrays, binary search, and the order of two elements. */
#ifndef TACHO_BASE_ARRAY_H
#define TACHO_BASE_ARRAY_H

#include <stddef.h>
#include <stdint.h>

/* How many elements an array has whose size the compiler knows. */
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* Memory for elements, as of malloc(). A large list has huge pages, where there are any. */
void *array_alloc(size_t count, size_t element_bytes);

int array_grow(void *list, size_t *room, size_t wanted, size_t most, size_t element_bytes);
int array_grow_zeroed(void *list, size_t *room, size_t wanted, size_t most, size_t element_bytes);

/* Makes room for at least `wanted` elements. `list` is the address of the pointer to the first element; new elements
 * are not cleared. The capacity more than doubles when it is too small, so that appending one by one costs amortised
 * constant time. Returns 0, or -1 when memory is short: then nothing has changed. */
static inline int array_reserve(void *list, size_t *room, size_t wanted, size_t element_bytes)
{
    return wanted <= *room ? 0 : array_grow(list, room, wanted, SIZE_MAX, element_bytes);
}

/* Does the same for a list of at most `most` elements. Returns -1 if more are wanted. */
static inline int array_reserve_up_to(void *list, size_t *room, size_t wanted, size_t most, size_t element_bytes)
{
    return wanted <= *room ? 0 : array_grow(list, room, wanted, most, element_bytes);
}

/* These two do the same and clear all new elements, up to the end of the room. */
static inline int array_reserve_zeroed(void *list, size_t *room, size_t wanted, size_t element_bytes)
{
    return wanted <= *room ? 0 : array_grow_zeroed(list, room, wanted, SIZE_MAX, element_bytes);
}

static inline int array_reserve_zeroed_up_to(void *list, size_t *room, size_t wanted, size_t most, size_t element_bytes)
{
    return wanted <= *room ? 0 : array_grow_zeroed(list, room, wanted, most, element_bytes);
}

/* Binary search: the first index from `from` to `end` for which is_before, an expression of the index `i`, is false,
 * or `end` if there is none. It must be true for all indices before that one, and false for all after. If end is not
 * after `from`, the result is `from`; so "the last that is not after, or else the first" is
 * BISECT(1, count, i, list[i] <= wanted) - 1. */
#define BISECT(from, end, i, is_before)                                                                                \
    ({                                                                                                                 \
        __typeof__((end) + 0) bisect_low = (from), bisect_high = (end);                                                \
        while (bisect_low < bisect_high) {                                                                             \
            __typeof__(bisect_low) i = bisect_low + (bisect_high - bisect_low) / 2;                                    \
            if (is_before)                                                                                             \
                bisect_low = i + 1;                                                                                    \
            else                                                                                                       \
                bisect_high = i;                                                                                       \
        }                                                                                                              \
        bisect_low;                                                                                                    \
    })

/* The index of the first number that is not below `wanted`, or `count` if all are below. */
static inline size_t array_first_not_below(const uint64_t *sorted, size_t count, uint64_t wanted)
{
    return BISECT(0, count, i, sorted[i] < wanted);
}

/* The same for times, which may be below 0. */
static inline size_t array_first_not_before(const int64_t *sorted, size_t count, int64_t wanted)
{
    return BISECT(0, count, i, sorted[i] < wanted);
}

/* For qsort() and bsearch() of numbers. */
int array_by_int64(const void *a, const void *b);
int array_by_uint32(const void *a, const void *b);
int array_by_uint64(const void *a, const void *b);
int array_by_double(const void *a, const void *b);

/* For comparisons of elements: -1, 0 or 1, as a is before, like or after b; COMPARE(b, a) is the other way round.
 * Values that decide where those before them are the same stand in a row:
 *
 *     return COMPARE(a->process, b->process) ?: COMPARE(a->start_ns, b->start_ns);
 */
#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/* Appends a value to a list of this capacity and count. ERR_NO_MEMORY or 0. */
#define ARRAY_PUSH(list, room, count, ...)                                                                             \
    (array_reserve(&(list), &(room), (count) + 1, sizeof *(list)) != 0 ? ERR_NO_MEMORY                                 \
                                                                       : ((list)[(count)++] = (__VA_ARGS__), 0))

#endif
