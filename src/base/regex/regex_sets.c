/* Character sets as sorted ranges of code points. Named classes and case folding are limited to ASCII. */
#include "regex_sets.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void regex_sets_begin(struct regex_sets *sets)
{
    sets->open = sets->range_count;
}

void regex_sets_add(struct regex_sets *sets, uint32_t first, uint32_t last)
{
    if (array_reserve(&sets->ranges, &sets->range_room, sets->range_count + 1, sizeof *sets->ranges) != 0) {
        sets->failed = 1;
        return;
    }
    sets->ranges[sets->range_count++] = (struct regex_range){ first, last };
}

void regex_sets_add_named(struct regex_sets *sets, const struct regex_named_set *named, int is_negated)
{
    uint32_t next = 0;

    for (size_t i = 0; i < named->count; i++) {
        const struct regex_range *range = &named->ranges[i];
        if (!is_negated)
            regex_sets_add(sets, range->first, range->last);
        else if (range->first > next)
            regex_sets_add(sets, next, range->first - 1);
        next = range->last + 1;
    }
    if (is_negated)
        regex_sets_add(sets, next, REGEX_LAST_CODE);
}

/* Adds the other case of the letters of `from` to `to` that the range contains. */
static void add_folded(struct regex_sets *sets, struct regex_range range, uint32_t from, uint32_t to, int distance)
{
    uint32_t first = range.first > from ? range.first : from, last = range.last < to ? range.last : to;

    if (first <= last)
        regex_sets_add(sets, first + (uint32_t)distance, last + (uint32_t)distance);
}

static int compare_ranges(const void *a, const void *b)
{
    const struct regex_range *left = a, *right = b;

    return COMPARE(left->first, right->first);
}

static size_t regex_sets_merge(struct regex_range *ranges, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++)
        if (kept > 0 && ranges[i].first <= ranges[kept - 1].last + 1)
            ranges[kept - 1].last = ranges[i].last > ranges[kept - 1].last ? ranges[i].last : ranges[kept - 1].last;
        else
            ranges[kept++] = ranges[i];
    return kept;
}

/* Replaces the ranges of the open set with the gaps between them. */
static void invert(struct regex_sets *sets)
{
    size_t kept = sets->open;
    uint32_t next = 0;

    for (size_t i = sets->open; i < sets->range_count; i++) {
        struct regex_range range = sets->ranges[i];
        if (range.first > next)
            sets->ranges[kept++] = (struct regex_range){ next, range.first - 1 };
        next = range.last + 1;
    }
    sets->range_count = kept;
    if (next <= REGEX_LAST_CODE)
        regex_sets_add(sets, next, REGEX_LAST_CODE);
}

int32_t regex_sets_end(struct regex_sets *sets, int is_negated, int ignores_case)
{
    size_t start = sets->open, end = sets->range_count;

    for (size_t i = start; ignores_case && !sets->failed && i < end; i++) {
        add_folded(sets, sets->ranges[i], 'A', 'Z', 'a' - 'A');
        add_folded(sets, sets->ranges[i], 'a', 'z', 'A' - 'a');
    }
    if (sets->failed || array_reserve(&sets->list, &sets->room, sets->count + 1, sizeof *sets->list) != 0) {
        sets->failed = 1;
        return 0;
    }
    struct regex_range *ranges = sets->ranges + start;
    qsort(ranges, sets->range_count - start, sizeof *ranges, compare_ranges);
    sets->range_count = start + regex_sets_merge(ranges, sets->range_count - start);
    if (is_negated)
        invert(sets);
    ranges = sets->ranges + start;
    size_t count = sets->range_count - start;
    for (size_t i = 0; i < sets->count; i++)
        if (sets->list[i].count == count &&
            memcmp(sets->ranges + sets->list[i].start, ranges, count * sizeof *ranges) == 0) {
            sets->range_count = start;
            return (int32_t)i;
        }
    sets->list[sets->count] = (struct regex_set){ start, count };
    return (int32_t)sets->count++;
}

void regex_sets_free(struct regex_sets *sets)
{
    free(sets->ranges);
    free(sets->list);
}
