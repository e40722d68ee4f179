/* Finds loops by their anchors, and chooses the one that is the step: see loops.h. */
#include "loops.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"

/* A loop has at least LEAST_PLACES places in all rounds and covers a LEAST_PARTth of the sequence. If it has only two
 * rounds, the body has LEAST_TWICE places and LEAST_SYMBOLS different symbols. More than a NOVEL_PARTth of a body
 * between two rounds, or more than a SHORT_PARTth as many shorter bodies as usual ones, are no accident. Where no loop
 * is the step, one is that has RARE_BREAKS rounds for each time that something else comes between them. */
enum {
    LEAST_PLACES = 12,
    LEAST_TWICE = 16,
    LEAST_SYMBOLS = 8,
    LEAST_PART = 4,
    NOVEL_PART = 8,
    SHORT_PART = 4,
    MOST_CANDIDATES = 24,
    RARE_BREAKS = 64,
};

/* ---- the index ------------------------------------------------------------------------------------------------- */

static void loops_find_places(struct loop_index *index)
{
    const struct sequence *sequence = index->sequence;

    for (size_t i = 0; i < sequence->count; i++)
        index->first[sequence->symbols[i] + 1]++;
    for (size_t s = 0; s < sequence->symbol_count; s++)
        index->first[s + 1] += index->first[s];
    for (size_t i = 0; i < sequence->count; i++)
        index->places[index->first[sequence->symbols[i]]++] = (uint32_t)i;
    for (size_t s = sequence->symbol_count; s > 0; s--)
        index->first[s] = index->first[s - 1];
    index->first[0] = 0;
}

static int loops_add_up(struct loop_index *index)
{
    const struct sequence *sequence = index->sequence;
    uint64_t *weights = malloc((sequence->symbol_count + 1) * sizeof *weights); /* by symbol */

    if (!weights)
        return ERR_NO_MEMORY;
    for (uint32_t s = 0; s < sequence->symbol_count; s++)
        weights[s] = hash_bytes(&s, sizeof s);
    index->sums[0] = 0;
    index->counted[0] = 0;
    for (size_t i = 0; i < sequence->count; i++) {
        uint32_t symbol = sequence->symbols[i];
        index->sums[i + 1] = index->sums[i] + weights[symbol];
        index->counted[i + 1] = index->counted[i] + (sequence->roles[symbol] >= SYMBOL_COUNTS);
    }
    free(weights);
    return 0;
}

/* Counts places in the usual bodies, and around them as far as they may be parts of one more. */
static uint64_t loops_cover(const struct loop_index *index, const struct loop *loop)
{
    const uint32_t *counted = index->counted;
    uint32_t body = counted[loop->first + loop->length] - counted[loop->first];
    uint32_t around = counted[loop->first] + counted[index->sequence->count] - counted[loop->last + loop->length];

    return body ? (uint64_t)loop->usual * body + (around < body ? around : body) : 0;
}

/* The body that more than half of the bodies equal, if there is one: two passes, after Boyer and Moore. A symbol that
 * often comes sooner is no anchor: it comes several times in a round. */
static struct loop loops_measure(const struct loop_index *index, uint32_t symbol)
{
    const uint32_t *places = loop_places(index, symbol);
    uint32_t count = loop_count(index, symbol), votes = 0;
    uint64_t shorter = 0;
    struct loop loop = { .anchor = symbol };

    if (count < 2)
        return loop;
    loop.bodies = count - 1;
    for (uint32_t i = 0; i + 1 < count; i++) {
        uint64_t body = loop_body(index, places[i], places[i + 1]);
        if (!votes)
            loop.body = body;
        votes = body == loop.body ? votes + 1 : votes - 1;
    }
    for (uint32_t i = 0; i + 1 < count; i++) {
        if (loop_body(index, places[i], places[i + 1]) != loop.body)
            continue;
        if (!loop.usual++)
            loop.first = places[i];
        loop.last = places[i];
        loop.length = places[i + 1] - places[i];
    }
    int is_usual = 2 * (uint64_t)loop.usual > loop.bodies;
    for (uint32_t i = 0; is_usual && i + 1 < count; i++)
        shorter += places[i + 1] - places[i] < loop.length;
    if (!is_usual || SHORT_PART * shorter > loop.usual)
        loop.length = 0;
    else
        loop.covered = loops_cover(index, &loop);
    return loop;
}

int loop_index_open(struct loop_index *index, const struct sequence *sequence)
{
    size_t symbols = sequence->symbol_count;

    *index = (struct loop_index){ .sequence = sequence };
    index->first = calloc(symbols + 1, sizeof *index->first);
    index->places = array_alloc(sequence->count + 1, sizeof *index->places);
    index->sums = array_alloc(sequence->count + 1, sizeof *index->sums);
    index->counted = array_alloc(sequence->count + 1, sizeof *index->counted);
    index->loops = malloc((symbols + 1) * sizeof *index->loops);
    if (!index->first || !index->counted || !index->places || !index->sums || !index->loops)
        return ERR_NO_MEMORY;
    loops_find_places(index);
    if (loops_add_up(index) != 0)
        return ERR_NO_MEMORY;
    for (uint32_t s = 0; s < symbols; s++)
        index->loops[s] = loops_measure(index, s);
    return 0;
}

void loop_index_close(struct loop_index *index)
{
    free(index->first);
    free(index->places);
    free(index->sums);
    free(index->counted);
    free(index->loops);
}

/* ---- loops that may be steps ----------------------------------------------------------------------------------- */

static int covers_much(const struct loop_index *index, const struct loop *loop)
{
    return LEAST_PART * loop->covered >= index->counted[index->sequence->count] && loop->covered;
}

static uint64_t span(const struct loop *loop)
{
    return (uint64_t)loop->last - loop->first + loop->length;
}

/* A body that comes only twice must be long, varied, and all that there is. */
static int comes_twice(const struct loop_index *index, const struct loop *loop, uint8_t *seen)
{
    const struct sequence *sequence = index->sequence;
    const uint32_t *symbols = sequence->symbols;
    size_t from = loop->first, to = (size_t)loop->first + loop->length;
    uint32_t different = 0;

    while (from > 0 && symbols[from - 1] == symbols[from - 1 + loop->length])
        from--;
    while (to < sequence->count && symbols[to] == symbols[to - loop->length])
        to++;
    memset(seen, 0, sequence->symbol_count);
    for (size_t i = 0; i < loop->length; i++) {
        different += !seen[symbols[loop->first + i]];
        seen[symbols[loop->first + i]] = 1;
    }
    return to - from >= 2 * (size_t)loop->length && 5 * (to - from) >= 4 * sequence->count &&
           loop->length >= LEAST_TWICE && different >= LEAST_SYMBOLS;
}

/* Whether the loop is part of a greater one: what lies between its runs has names that no body has. A step with a
 * print or an evaluation in it has more of the same names. A single wait is no sign of a greater loop: programs wait
 * for the GPU once, before they measure the time. */
static int loops_is_part(const struct loop_index *index, const struct loop *loop, uint8_t *seen, uint64_t *breaks_out)
{
    const struct sequence *sequence = index->sequence;
    const uint32_t *places = loop_places(index, loop->anchor);
    uint64_t breaks = 0, more = 0, novel = 0, waits = 0;

    memset(seen, 0, sequence->symbol_count);
    for (size_t i = 0; i < loop->length; i++)
        seen[sequence->names[sequence->symbols[loop->first + i]]] = 1;
    for (uint32_t b = 0; b < loop->bodies; b++) {
        if (places[b] < loop->first || places[b] > loop->last ||
            loop_body(index, places[b], places[b + 1]) == loop->body)
            continue;
        uint32_t length = places[b + 1] - places[b];
        breaks++;
        more += length > loop->length ? length - loop->length : 0;
        for (size_t i = places[b]; i < places[b + 1]; i++) {
            uint32_t symbol = sequence->symbols[i];
            *(sequence->roles[symbol] == SYMBOL_ENDS ? &waits : &novel) += !seen[sequence->names[symbol]];
        }
    }
    novel += breaks > 1 ? waits : 0;
    *breaks_out = breaks;
    return NOVEL_PART * novel > breaks * loop->length && 2 * novel > more;
}

/* rare: something else comes between its rounds, but so seldom that the rounds are more of a step than what has both:
 * an evaluation after each epoch. */
static int may_be_step(const struct loop_index *index, const struct loop *loop, uint8_t *seen, int rare)
{
    uint64_t breaks = 0;

    if (loop->length == 1 && index->sequence->roles[loop->anchor] != SYMBOL_STANDS_ALONE)
        return 0;
    if (2 * (uint64_t)loop->usual * loop->length < span(loop))
        return 0;
    if (loop->usual == 1)
        return comes_twice(index, loop, seen);
    return (loop->length == 1 || ((uint64_t)loop->usual + 1) * loop->length >= LEAST_PLACES) &&
           (!loops_is_part(index, loop, seen, &breaks) || (rare && loop->usual >= RARE_BREAKS * breaks));
}

/* ---- the choice ------------------------------------------------------------------------------------------------ */

/* By how much they cover, the most first; the shorter one, and then the first anchor, of the same. */
static int by_cover(const void *a, const void *b)
{
    const struct loop *x = a, *y = b;

    return COMPARE(y->covered, x->covered) ?: COMPARE(x->length, y->length) ?: COMPARE(x->first, y->first);
}

/* The best anchor of each loop, the loop that covers most first; at most MOST_CANDIDATES. */
static size_t loops_find_candidates(const struct loop_index *index, struct loop *out)
{
    size_t count = 0;

    for (size_t s = 0; s < index->sequence->symbol_count; s++) {
        const struct loop *loop = &index->loops[s];
        size_t at = 0;
        if (!loop->length || !covers_much(index, loop))
            continue;
        while (at < count && out[at].body != loop->body)
            at++;
        if (at == count && count < MOST_CANDIDATES)
            out[count++] = *loop;
        else if (at == count && by_cover(loop, &out[count - 1]) < 0)
            out[count - 1] = *loop;
        else if (at < count && by_cover(loop, &out[at]) < 0)
            out[at] = *loop;
        if (count == MOST_CANDIDATES)
            qsort(out, count, sizeof *out, by_cover);
    }
    qsort(out, count, sizeof *out, by_cover);
    return count;
}

/* Whether most of the outer loop consists of rounds of the inner one. */
static int is_within(const struct loop_index *index, const struct loop *inner, const struct loop *outer)
{
    const uint32_t *places = loop_places(index, inner->anchor);
    uint64_t inside = 0;

    for (uint32_t b = 0; b < inner->bodies; b++)
        if (places[b] >= outer->first && places[b] < outer->first + span(outer) &&
            loop_body(index, places[b], places[b + 1]) == inner->body)
            inside += inner->length;
    return 2 * inside >= span(outer);
}

int loops_choose(const struct loop_index *index, struct loop *out)
{
    struct loop candidates[MOST_CANDIDATES];
    uint8_t *seen = malloc(index->sequence->symbol_count + 1);
    size_t count;

    *out = (struct loop){ 0 };
    if (!seen)
        return ERR_NO_MEMORY;
    count = loops_find_candidates(index, candidates);
    for (int rare = 0; rare <= 1 && !out->length; rare++)
        for (size_t i = 0; i < count; i++)
            if (may_be_step(index, &candidates[i], seen, rare) &&
                (!out->length || (candidates[i].length < out->length && is_within(index, &candidates[i], out))))
                *out = candidates[i];
    free(seen);
    return 0;
}
