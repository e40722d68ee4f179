/* Finds kernels that take turns: see turns.h. */
#include "turns.h"

#include <stdlib.h>

#include "analyze/engine/statistics.h"
#include "base/array.h"
#include "base/error.h"

/* There are at least LEAST_ROUNDS rounds and LEAST_KERNELS kernels that take turns. LEAST_PERCENT of the sequence lie
 * in the rounds, and as much of the rounds in such as are at most MOST_TIMES longer or shorter than the usual one: the
 * layers of a text that is read are no rounds of the loop that writes the next one. */
enum {
    LEAST_ROUNDS = 8,
    LEAST_KERNELS = 4,
    LEAST_PERCENT = 75,
    MOST_TIMES = 4,
};

struct turns_symbol {
    uint32_t symbol, count, first;
};

/* Rarer kernels first: a loop has more rounds than the one around it. */
static int by_count(const void *a, const void *b)
{
    const struct turns_symbol *x = a, *y = b;

    return COMPARE(x->count, y->count) ?: COMPARE(x->first, y->first);
}

/* The kernels that come often enough, in that order; their number. */
static size_t list_kernels(const struct loop_index *index, struct turns_symbol *out)
{
    size_t count = 0;

    for (uint32_t s = 0; s < index->sequence->symbol_count; s++)
        if (index->sequence->roles[s] == SYMBOL_COUNTS && loop_count(index, s) >= LEAST_ROUNDS)
            out[count++] = (struct turns_symbol){ s, loop_count(index, s), *loop_places(index, s) };
    if (count)
        qsort(out, count, sizeof *out, by_count);
    return count;
}

/* Whether the second symbol, which comes as often, comes once after each time that the first one does. */
static int take_turns(const struct loop_index *index, const struct turns_symbol *first, uint32_t second)
{
    const uint32_t *a = loop_places(index, first->symbol), *b = loop_places(index, second);

    for (uint32_t i = 0; i < first->count; i++)
        if (b[i] < a[i] || (i + 1 < first->count && b[i] > a[i + 1]))
            return 0;
    return 1;
}

/* Whether the rounds that begin at these places are most of the sequence, and are about as long as each other. */
static int are_regular(const struct loop_index *index, const uint32_t *places, uint32_t count, int64_t *scratch)
{
    uint64_t all = places[count - 1] - places[0], regular = 0;

    for (uint32_t i = 0; i + 1 < count; i++)
        scratch[i] = places[i + 1] - places[i];
    double usual = statistics_median_of(scratch, count - 1, scratch + count);
    for (uint32_t i = 0; i + 1 < count; i++) {
        uint32_t length = places[i + 1] - places[i];
        regular += length <= usual * MOST_TIMES && length * MOST_TIMES >= usual ? length : 0;
    }
    return 100 * all >= LEAST_PERCENT * (uint64_t)index->sequence->count && 100 * regular >= LEAST_PERCENT * all;
}

/* A round ends where the next one begins, and the last one with its last kernel that takes turns. */
static int add_rounds(struct period *period, const uint32_t *places, uint32_t count, uint32_t end)
{
    for (uint32_t i = 0; i < count; i++)
        if (ARRAY_PUSH(period->steps, period->room, period->count,
                       (struct period_step){ places[i], i + 1 < count ? places[i + 1] : end }) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

/* Tries `count` kernels that come equally often. */
static int try_kernels(struct period *period, const struct loop_index *index, const struct turns_symbol *list,
                       size_t count, int64_t *scratch)
{
    const uint32_t *places = loop_places(index, list->symbol);
    uint32_t kernels = 0, end = 0;

    if (count < LEAST_KERNELS)
        return 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t last = loop_places(index, list[i].symbol)[list->count - 1];
        if (!take_turns(index, list, list[i].symbol))
            continue;
        kernels++;
        end = last >= end ? last + 1 : end;
    }
    if (kernels < LEAST_KERNELS || !are_regular(index, places, list->count, scratch))
        return 0;
    period->sample = *places;
    period->length = kernels;
    return add_rounds(period, places, list->count, end);
}

/* Tries the rarest kernels first. */
static int find_rounds(struct period *period, const struct loop_index *index, const struct turns_symbol *list,
                       size_t count, int64_t *scratch)
{
    for (size_t first = 0, end; first < count && !period->count; first = end) {
        for (end = first; end < count && list[end].count == list[first].count;)
            end++;
        if (try_kernels(period, index, list + first, end - first, scratch) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

int turns_find(struct period *period, const struct sequence *sequence)
{
    struct turns_symbol *list = array_alloc(sequence->symbol_count + 1, sizeof *list);
    int64_t *scratch = array_alloc(2 * (sequence->count + 1), sizeof *scratch);
    struct loop_index index = { 0 };
    int code = ERR_NO_MEMORY;

    *period = (struct period){ 0 };
    if (list && scratch && loop_index_open(&index, sequence) == 0)
        code = find_rounds(period, &index, list, list_kernels(&index, list), scratch);
    loop_index_close(&index);
    free(scratch);
    free(list);
    return code;
}
