/* Cuts the loop of a sequence into steps: see period.h. */
#include "period.h"

#include <stdlib.h>

#include "analyze/engine/statistics.h"
#include "base/array.h"
#include "base/error.h"
#include "base/saturating.h"

/* Pauses are sampled in MOST_SAMPLES rounds. A round begins where the sequence begins or ends if the pause there is at
 * least an EDGE_PARTth of the longest one, and where it enters or leaves the loop if it is a LONG_PARTth. A step
 * shorter than a LEAST_PARTth of the usual one is part of the step before it. Before the first usual step, or after the
 * last, one that is longer than MOST_TIMES the usual one is no step. */
enum {
    MOST_SAMPLES = 31,
    EDGE_PART = 32,
    LONG_PART = 8,
    LEAST_PART = 2,
    MOST_TIMES = 4,
};

/* ---- where a round begins -------------------------------------------------------------------------------------- */

/* The places from the anchor to a possible begin of a round. is_edge: the sequence begins or ends there. */
struct offset {
    uint32_t places;
    int is_edge;
};

/* Moves on to a symbol that a round may begin with. */
static uint32_t behind_waits(const struct sequence *sequence, const struct loop *loop, uint64_t offset)
{
    for (uint32_t i = 0; i < loop->length; i++) {
        uint32_t at = (uint32_t)((offset + i) % loop->length);
        if (sequence->roles[sequence->symbols[loop->first + at]] != SYMBOL_ENDS)
            return at;
    }
    return 0;
}

/* Where the sequence enters the loop: with the first symbol of a body, and what is usual before it. The first round may
 * be unusual further on. */
static struct offset period_find_entry(const struct loop_index *index, const struct loop *loop)
{
    const uint32_t *symbols = index->sequence->symbols, *body = symbols + loop->first;
    uint32_t first = loop->first, offset = 0, before = 0;

    for (uint32_t i = 0; i < loop->length; i++) {
        const struct loop *other = &index->loops[body[i]];
        if (other->length && other->body == loop->body && other->bodies <= loop->bodies &&
            *loop_places(index, body[i]) < first) {
            first = *loop_places(index, body[i]);
            offset = i;
        }
    }
    while (before < first && before < loop->length &&
           symbols[first - before - 1] == body[(offset + 2 * (uint64_t)loop->length - before - 1) % loop->length])
        before++;
    return (struct offset){ behind_waits(index->sequence, loop, offset + (uint64_t)loop->length - before),
                            before == first };
}

static struct offset find_exit(const struct sequence *sequence, const struct loop *loop)
{
    size_t at = (size_t)loop->last + loop->length;

    while (at < sequence->count && sequence->symbols[at] == sequence->symbols[at - loop->length])
        at++;
    return (struct offset){ behind_waits(sequence, loop, at - loop->last), at == sequence->count };
}

/* The usual pause of the program before this place of a round, over some usual rounds. */
static double pause_before(const struct loop_index *index, const struct loop *loop, uint32_t offset)
{
    const struct sequence *sequence = index->sequence;
    const uint32_t *places = loop_places(index, loop->anchor);
    int64_t pauses[MOST_SAMPLES], scratch[MOST_SAMPLES];
    uint32_t step = loop->bodies / MOST_SAMPLES + 1;
    size_t count = 0;

    for (uint32_t b = 0; b < loop->bodies; b += step) {
        size_t at = (size_t)places[b] + offset;
        if (at > 0 && loop_body(index, places[b], places[b + 1]) == loop->body)
            pauses[count++] = saturating_subtract(sequence->start_ns[at], sequence->end_ns[at - 1]);
    }
    return statistics_median_of(pauses, count, scratch);
}

static uint32_t find_offset(const struct loop_index *index, const struct loop *loop)
{
    struct offset entry = period_find_entry(index, loop), exit = find_exit(index->sequence, loop);
    double at_entry = pause_before(index, loop, entry.places), at_exit = pause_before(index, loop, exit.places);
    double longest = 0;
    uint32_t behind_longest = 0;

    if (entry.places == exit.places)
        return entry.places;
    for (uint32_t offset = 0; offset < loop->length; offset++) {
        double pause = pause_before(index, loop, offset);
        if (pause > longest) {
            longest = pause;
            behind_longest = offset;
        }
    }
    if (entry.is_edge != exit.is_edge && (entry.is_edge ? at_entry : at_exit) * EDGE_PART >= longest)
        return entry.is_edge ? entry.places : exit.places;
    if ((at_entry > at_exit ? at_entry : at_exit) * LONG_PART >= longest)
        return at_entry > at_exit ? entry.places : exit.places;
    return behind_longest;
}

/* ---- cuts ------------------------------------------------------------------------------------------------------ */

struct cutter {
    const struct loop_index *index;
    struct loop loop;  /* with the first good anchor after the begin of a round */
    uint32_t sample;   /* where a usual round begins */
    uint32_t distance; /* from there to the anchor */
};

/* A round begins `offset` after the anchor, so the next anchor is far from the begin of its round, and unusual symbols
 * in between would hide it. Takes the first good anchor after the begin. */
static void move_anchor(struct cutter *cutter, uint32_t offset)
{
    const struct loop_index *index = cutter->index;
    const struct loop old = cutter->loop;
    const uint32_t *symbols = index->sequence->symbols;

    cutter->sample = old.first + offset;
    cutter->distance = offset ? old.length - offset : 0;
    for (uint32_t i = 0; i < cutter->distance; i++) {
        const struct loop *loop = &index->loops[symbols[old.first + offset + i]];
        if (loop->length && loop->body == old.body && 10 * ((uint64_t)loop->usual + 1) >= 9 * (uint64_t)old.usual) {
            cutter->loop = *loop;
            cutter->distance = i;
        }
    }
}

/* Where the round of this anchor begins: before as many places as are usual there. */
static uint32_t period_begin_of(const struct cutter *cutter, uint32_t anchor)
{
    const uint32_t *symbols = cutter->index->sequence->symbols;
    uint32_t same = 0, distance = cutter->distance, to = cutter->sample + distance;

    while (same < distance && same < anchor && symbols[anchor - same - 1] == symbols[to - same - 1])
        same++;
    return anchor - same;
}

static int period_add_step(struct period *period, uint32_t first, uint32_t end)
{
    return ARRAY_PUSH(period->steps, period->room, period->count, (struct period_step){ first, end });
}

static int period_is_whole(const struct cutter *cutter, size_t first)
{
    const struct loop_index *index = cutter->index;

    return first + cutter->loop.length <= index->sequence->count &&
           loop_body(index, first, first + cutter->loop.length) == cutter->loop.body;
}

/* The end of the round that begins at `first`, while the next begins at `next`. Much more than a step between two
 * steps, such as an evaluation, belongs to neither. */
static uint32_t period_end_of(const struct cutter *cutter, uint32_t first, uint32_t next)
{
    uint32_t length = cutter->loop.length;

    return next - first >= 2 * (uint64_t)length && period_is_whole(cutter, first) ? first + length : next;
}

/* Which anchors begin steps: from the first usual one to the last, and further while the rounds are of about the usual
 * length. */
struct anchors {
    uint32_t first, end;
};
static struct anchors find_anchors(const struct cutter *cutter)
{
    const struct loop *loop = &cutter->loop;
    const uint32_t *places = loop_places(cutter->index, loop->anchor);
    uint32_t least = loop->length / LEAST_PART, first = 0, end = loop->bodies;
    uint64_t most = (uint64_t)loop->length * MOST_TIMES;

    while (places[first] < loop->first)
        first++;
    while (first > 0 && places[first] - places[first - 1] >= least && places[first] - places[first - 1] <= most)
        first--;
    while (end > 0 && places[end - 1] > loop->last)
        end--;
    while (end < loop->bodies && places[end + 1] - places[end] >= least && places[end + 1] - places[end] <= most)
        end++;
    return (struct anchors){ first, end + 1 };
}

static int cut(struct period *period, const struct cutter *cutter)
{
    const uint32_t *places = loop_places(cutter->index, cutter->loop.anchor);
    struct anchors anchors = find_anchors(cutter);
    uint32_t first = period_begin_of(cutter, places[anchors.first]);

    for (uint32_t i = anchors.first + 1; i < anchors.end; i++) {
        uint32_t next = period_begin_of(cutter, places[i]);
        if (next <= first || next - first < cutter->loop.length / LEAST_PART)
            continue;
        if (period_add_step(period, first, period_end_of(cutter, first, next)) != 0)
            return ERR_NO_MEMORY;
        first = next;
    }
    return period_is_whole(cutter, first) ? period_add_step(period, first, first + cutter->loop.length) : 0;
}

int period_find(struct period *period, const struct sequence *sequence)
{
    struct loop_index index;
    struct cutter cutter = { .index = &index };
    int code = ERR_NO_MEMORY;

    *period = (struct period){ 0 };
    if (loop_index_open(&index, sequence) != 0 || loops_choose(&index, &cutter.loop) != 0)
        goto close_index;
    code = 0;
    if (!cutter.loop.length)
        goto close_index;
    period->sample = cutter.loop.first;
    period->length = cutter.loop.length;
    move_anchor(&cutter, find_offset(&index, &cutter.loop));
    code = cut(period, &cutter);
close_index:
    loop_index_close(&index);
    return code;
}

void period_free(struct period *period)
{
    free(period->steps);
    *period = (struct period){ 0 };
}
