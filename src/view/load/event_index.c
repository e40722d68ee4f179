/* The pyramid over a row's events: see event_index.h. */
#include "event_index.h"

#include <stdlib.h>

#include "event_search.h"

enum { BLOCK_BITS = 4, BLOCK = 1 << BLOCK_BITS, MOST_LEVELS = 8 };

struct view_index {
    uint64_t *sums;                             /* owned; by block: the sum of all lengths before it */
    struct index_longest *longest[MOST_LEVELS]; /* owned; level l has one for BLOCK^(l + 1) events */
    int levels;
    struct index_work *works;                   /* owned; by WORK_BLOCK and kind; NULL: there is one kind */
    unsigned work_bits;
    int work_count;
    uint8_t slots[WORK_KINDS];                  /* the number of a kind among those that the row has */
};

void index_free(struct view_index *index)
{
    if (!index)
        return;
    free(index->sums);
    free(index->works);
    for (int level = 0; level < index->levels; level++)
        free(index->longest[level]);
    free(index);
}

static inline struct index_longest longer_of(const struct view_events *events, struct index_longest a,
                                             struct index_longest b)
{
    if (b.length_ns == LENGTH_IS_LONG && a.length_ns == LENGTH_IS_LONG)
        return events_long_length(events, b.event) > events_long_length(events, a.event) ? b : a;
    return b.length_ns > a.length_ns ? b : a;
}

static void event_index_fill_blocks(const struct view_events *events, struct view_index *index)
{
    uint64_t sum = 0;

    for (uint32_t event = 0; event < events->count; event++) {
        struct index_longest *to = &index->longest[0][event >> BLOCK_BITS],
                             from = { event, events->length_ns[event], events->name[event] };
        if (!(event & (BLOCK - 1))) {
            index->sums[event >> BLOCK_BITS] = sum;
            *to = from;
        } else
            *to = longer_of(events, *to, from);
        sum += (uint64_t)event_length(events, event);
    }
}

static void fill_level(const struct view_events *events, struct view_index *index, int level, size_t below)
{
    for (size_t i = 0; i < below; i++) {
        struct index_longest *to = &index->longest[level][i >> BLOCK_BITS], from = index->longest[level - 1][i];
        *to = i & (BLOCK - 1) ? longer_of(events, *to, from) : from;
    }
}

/* ---- by kinds of work ------------------------------------------------------------------------------------------ */

/* A query reads the blocks one after another. So the blocks are larger: they take a byte for each event where there are
 * four kinds. */
enum { WORK_BITS = 7, WORK_BLOCK = 1 << WORK_BITS };

static inline void event_index_add_work(struct index_work *to, uint32_t length_ns, uint32_t name)
{
    if (!to->count++ || length_ns > to->longest_ns) {
        to->longest_ns = length_ns;
        to->name = name;
    }
}

static inline void event_index_add_event(const struct view_events *events, uint32_t event, struct index_work *to)
{
    event_index_add_work(to, events->length_ns[event], events->name[event]);
    to->sum_ns += (uint64_t)event_length(events, event);
}

static int build_works(const struct view_events *events, struct view_index *index)
{
    size_t blocks = ((size_t)events->count + WORK_BLOCK - 1) >> WORK_BITS;

    for (uint32_t event = 0; event < events->count; event++)
        index->work_bits |= 1u << event_work(events, event);
    for (unsigned kind = 0; kind < WORK_KINDS; kind++)
        if (index->work_bits >> kind & 1)
            index->slots[kind] = (uint8_t)index->work_count++;
    if (index->work_count < 2)
        return 0;
    index->works = calloc(blocks * (size_t)index->work_count + 1, sizeof *index->works);
    if (!index->works)
        return ERR_NO_MEMORY;
    for (uint32_t event = 0; event < events->count; event++)
        event_index_add_event(events, event,
                              &index->works[(size_t)(event >> WORK_BITS) * (size_t)index->work_count +
                                            index->slots[event_work(events, event)]]);
    return 0;
}

unsigned index_works(const struct view_events *events)
{
    return events->index ? events->index->work_bits : 0;
}

static void event_index_add_block(const struct view_index *index, size_t block, struct index_work works[WORK_KINDS])
{
    for (unsigned kind = 0; kind < WORK_KINDS; kind++) {
        const struct index_work *of = &index->works[block * (size_t)index->work_count + index->slots[kind]];
        if (!(index->work_bits >> kind & 1) || !of->count)
            continue;
        event_index_add_work(&works[kind], of->longest_ns, of->name);
        works[kind].count += of->count - 1;
        works[kind].sum_ns += of->sum_ns;
    }
}

void index_add_works(const struct view_events *events, uint32_t from, uint32_t to, struct index_work works[WORK_KINDS])
{
    const struct view_index *index = events->index;

    if (from == to)
        return;
    if (!index->works) {
        struct index_longest longest = index_longest(events, from, to);
        struct index_work *work = &works[event_work(events, from)];
        event_index_add_work(work, longest.length_ns, longest.name);
        work->count += to - from - 1;
        work->sum_ns += index_sum(events, from, to);
        return;
    }
    for (; from < to && from & (WORK_BLOCK - 1); from++)
        event_index_add_event(events, from, &works[event_work(events, from)]);
    for (; to - from >= WORK_BLOCK; from += WORK_BLOCK)
        event_index_add_block(index, from >> WORK_BITS, works);
    for (; from < to; from++)
        event_index_add_event(events, from, &works[event_work(events, from)]);
}

/* ---- building -------------------------------------------------------------------------------------------------- */

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
            event_index_fill_blocks(events, index);
        else
            fill_level(events, index, level, below);
        below = count;
        count = (count + BLOCK - 1) >> BLOCK_BITS;
    }
    return build_works(events, index);
}

/* The sum of the lengths of all events before this one. */
static uint64_t sum_before(const struct view_events *events, uint32_t event)
{
    uint32_t block = event >> BLOCK_BITS;

    if (event == events->count && !(event & (BLOCK - 1)) && block)
        block--; /* there is no block after the last */
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

/* Entries are compared in their order, so that the first of equals is kept. */
static struct index_longest longest_of_level(const struct view_events *events, int level, uint32_t from, uint32_t to,
                                             struct index_longest best)
{
    const struct index_longest *blocks = events->index->longest[level];

    if (level + 1 < events->index->levels && to - from > 2 * BLOCK) {
        for (; from & (BLOCK - 1); from++)
            best = longer_of(events, best, blocks[from]);
        best = longest_of_level(events, level + 1, from >> BLOCK_BITS, to >> BLOCK_BITS, best);
        from = to & ~(uint32_t)(BLOCK - 1);
    }
    for (; from < to; from++)
        best = longer_of(events, best, blocks[from]);
    return best;
}

enum { NAME_UNKNOWN = UINT32_MAX }; /* not looked up yet */

/* Finds the greatest length first, without branches, and then the event that has it. */
static inline struct index_longest longest_of_events(const struct view_events *events, uint32_t from, uint32_t to,
                                                     struct index_longest best)
{
    const uint32_t *lengths = events->length_ns;
    uint32_t most = best.length_ns;

    for (uint32_t i = from; i < to; i++)
        most = lengths[i] > most ? lengths[i] : most;
    if (most == LENGTH_IS_LONG) {
        for (; from < to; from++)
            best = longer_of(events, best, (struct index_longest){ from, lengths[from], NAME_UNKNOWN });
    } else if (most > best.length_ns) {
        while (lengths[from] != most)
            from++;
        best = (struct index_longest){ from, most, NAME_UNKNOWN };
    }
    return best;
}

struct index_longest index_longest(const struct view_events *events, uint32_t from, uint32_t to)
{
    struct index_longest best = { from, events->length_ns[from], NAME_UNKNOWN };

    if (to - from > 2 * BLOCK) {
        uint32_t first = (from + BLOCK - 1) >> BLOCK_BITS, behind = to >> BLOCK_BITS;
        best = longest_of_events(events, from, first << BLOCK_BITS, best);
        best = longest_of_level(events, 0, first, behind, best);
        from = behind << BLOCK_BITS;
    }
    best = longest_of_events(events, from, to, best);
    best.name = best.name == NAME_UNKNOWN || events->is_named_late ? event_name(events, best.event) : best.name;
    return best;
}
