/* Lists of numbers as bytes, from which a median over many lists is found without reading all of them.
 *
 * The numbers of a list are sorted into buckets, which are the same for all lists: of 16 between two powers of two.
 * The bytes begin with the buckets and how many numbers each has. So the bucket of the median over any number of lists
 * is known from these, and only the numbers of that bucket are looked at. Each distinct number is stored once, with
 * its count. */
#ifndef TACHO_ANALYZE_ENGINE_NUMBER_LISTS_H
#define TACHO_ANALYZE_ENGINE_NUMBER_LISTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* Appends sorted numbers. */
void number_list_put(struct text *out, const int64_t *sorted, size_t count);

/* The bytes of a list, which need not be well-formed. */
struct number_list {
    const uint8_t *bytes;
    size_t length;
};

/* The number of this rank, from 0, among those of all lists; ERR_CORRUPT if there are fewer, or the bytes are bad. */
int number_lists_select(const struct number_list *lists, size_t count, uint64_t rank, int64_t *out);

/* The median of the `total` numbers of all lists. */
int number_lists_median(const struct number_list *lists, size_t count, uint64_t total, double *out);

#endif
