/* The pyramid over a row's events: see index.h. */
#include "index.h"

#include <stdlib.h>

enum { BLOCK_BITS = 4, BLOCK = 1 << BLOCK_BITS, MOST_LEVELS = 8 };

struct view_index {
    uint64_t *sums;                  /* owned; by block: of all lengths before it */
    uint32_t *longest[MOST_LEVELS];  /* owned; of level l, by BLOCK^(l + 1) events */
    int levels;
};

void index_free(struct view_index *index)
{
    if (!index)
        return;
    free(index->sums);
    for (int level = 0; level < index->levels; level++)
        free(index->longest[level]);
    free(index);
}

static uint32_t longer_of(const struct view_events *events, uint32_t a, uint32_t b)
{
    return event_length(events, b) > event_length(events, a) ? b : a;
}

static void fill_blocks(const struct view_events *events, struct view_index *index)
{
    uint64_t sum = 0;

    for (uint32_t event = 0; event < events->count; event++) {
        uint32_t block = event >> BLOCK_BITS;
        if (!(event & (BLOCK - 1))) {
            index->sums[block] = sum;
            index->longest[0][block] = event;
        } else
            index->longest[0][block] = longer_of(events, index->longest[0][block], event);
        sum += (uint64_t)event_length(events, event);
    }
}

static void fill_level(const struct view_events *events, struct view_index *index, int level, size_t below)
{
    for (size_t i = 0; i < below; i++) {
        uint32_t *to = &index->longest[level][i >> BLOCK_BITS], from = index->longest[level - 1][i];
        *to = i & (BLOCK - 1) ? longer_of(events, *to, from) : from;
    }
}

int index_build(struct view_events *events)
{
    size_t count = ((size_t)events->count + BLOCK - 1) >> BLOCK_BITS;

    index_free(events->index);
    struct view_index *index = events->index = calloc(1, sizeof *index);
    if (!index || !(index->sums = malloc((count + 1) * sizeof *index->sums)))
        return ERR_NO_MEMORY;
    for (size_t below = 0; index->levels == 0 || below > BLOCK;) {
        int level = index->levels;
        if (!(index->longest[level] = malloc((count + 1) * sizeof **index->longest)))
            return ERR_NO_MEMORY;
        index->levels++;
        if (level == 0)
            fill_blocks(events, index);
        else
            fill_level(events, index, level, below);
        below = count;
        count = (count + BLOCK - 1) >> BLOCK_BITS;
    }
    return 0;
}

/* Of all events before this one. */
static uint64_t sum_before(const struct view_events *events, uint32_t event)
{
    uint32_t block = event >> BLOCK_BITS;

    if (event == events->count && !(event & (BLOCK - 1)) && block)
        block--; /* there is no block behind the last */
    uint64_t sum = events->index->sums[block];
    for (uint32_t i = block << BLOCK_BITS; i < event; i++)
        sum += (uint64_t)event_length(events, i);
    return sum;
}

uint64_t index_sum(const struct view_events *events, uint32_t from, uint32_t to)
{
    uint64_t sum = 0;

    if (to - from > 2 * BLOCK)
        return sum_before(events, to) - sum_before(events, from);
    for (; from < to; from++)
        sum += (uint64_t)event_length(events, from);
    return sum;
}

/* The first of the events comes before the blocks, and what is behind them last, so that of equals the first is kept. */
static uint32_t longest_of_level(const struct view_events *events, int level, uint32_t from, uint32_t to, uint32_t best)
{
    const struct view_index *index = events->index;
#define AT(i) (level < 0 ? (i) : index->longest[level][i])

    if (level + 1 < index->levels && to - from > 2 * BLOCK) {
        for (; from & (BLOCK - 1); from++)
            best = longer_of(events, best, AT(from));
        best = longest_of_level(events, level + 1, from >> BLOCK_BITS, to >> BLOCK_BITS, best);
        from = to & ~(uint32_t)(BLOCK - 1);
    }
    for (; from < to; from++)
        best = longer_of(events, best, AT(from));
    return best;
#undef AT
}

uint32_t index_longest(const struct view_events *events, uint32_t from, uint32_t to)
{
    return longest_of_level(events, -1, from, to, from);
}
