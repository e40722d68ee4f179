/* Loops in a sequence of symbols.
 *
 * An anchor is a symbol that occurs once in each round of a loop. The places between two occurrences are the body of
 * the loop; most bodies have the same symbols. So each symbol shows at most one loop, and all of them together are
 * examined in the time that it takes to read the sequence.
 *
 * A loop may be part of another: layers in a step, steps in an epoch. Both are found; loops_choose() says which one is
 * the step of a program. */
#ifndef TACHO_ANALYZE_MODEL_STEPS_LOOPS_H
#define TACHO_ANALYZE_MODEL_STEPS_LOOPS_H

#include <stddef.h>
#include <stdint.h>

/* The role of a symbol in a loop: none; no round begins with it; a loop needs one; a loop may consist of it alone. */
enum symbol_role { SYMBOL_IN_BETWEEN, SYMBOL_ENDS, SYMBOL_COUNTS, SYMBOL_STANDS_ALONE };

struct sequence {
    const uint32_t *symbols;          /* by place */
    const int64_t *start_ns, *end_ns; /* by place: of the call; in order of start */
    size_t count;
    const uint32_t *names;            /* by symbol: the same number for symbols that differ in details only */
    const uint8_t *roles;             /* by symbol: enum symbol_role */
    size_t symbol_count;              /* symbols and names are below it */
};

struct loop {
    uint32_t anchor;        /* a symbol */
    uint32_t length;        /* places of a usual body */
    uint64_t body;          /* the sum of the weights of its symbols */
    uint32_t bodies, usual; /* how many there are, and how many are usual */
    uint32_t first, last;   /* where the first and the last usual body begin */
    uint64_t covered;       /* places that count in all rounds */
};

/* Where each symbol occurs, and sums that show which symbols lie between two places, in any order. */
struct loop_index {
    const struct sequence *sequence;
    uint32_t *first;    /* owned, as all here; by symbol, and one more: its first place in the list */
    uint32_t *places;   /* symbol by symbol, in order */
    uint32_t *counted;  /* by place, and one more: how many before it count */
    uint64_t *sums;     /* by place, and one more: of the weights of all symbols before it */
    struct loop *loops; /* by symbol; length 0: it is no anchor */
};

/* ERR_NO_MEMORY or 0; needs loop_index_close() in both cases. */
int loop_index_open(struct loop_index *index, const struct sequence *sequence);
void loop_index_close(struct loop_index *index);

/* The loop whose rounds are the steps of the program, in *out; its length is 0 if there is none. */
int loops_choose(const struct loop_index *index, struct loop *out);

static inline uint64_t loop_body(const struct loop_index *index, size_t from, size_t to)
{
    return index->sums[to] - index->sums[from];
}

static inline uint32_t loop_count(const struct loop_index *index, uint32_t symbol)
{
    return index->first[symbol + 1] - index->first[symbol];
}

static inline const uint32_t *loop_places(const struct loop_index *index, uint32_t symbol)
{
    return index->places + index->first[symbol];
}

#endif
