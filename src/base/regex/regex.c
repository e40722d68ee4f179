/* Matching with a lazily built DFA. A state is the set of program steps that are active between two characters, before
 * the epsilon closure, together with the kind of character before it: assertions are evaluated when the next character
 * is known. A transition is computed once, in time proportional to the number of steps, and then looked up. The cache
 * of states has a fixed size; when it is full, all states are dropped, and matching continues with an empty cache. */
#include "regex.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "regex_classes.h"
#include "regex_parse.h"

enum { CACHE_BYTES = 1 << 20, STATES_LEAST = 16, STATES_MOST = 4096 };

/* The target of a transition: one of these, or the row of a state. */
enum { NEXT_UNKNOWN, NEXT_MATCH, NEXT_NEVER, STATES_FIRST };

struct regex {
    struct regex_program program;
    struct regex_classes classes;
    int is_anchored; /* a match can only begin at the beginning of the text */

    /* The cache of states, by number; numbers below STATES_FIRST are not used. All pointers are owned. */
    uint32_t state_count, state_limit;
    uint32_t start;  /* row of the initial state; 0: not in the cache */
    uint32_t words;  /* of a bitmap of steps */
    uint64_t *steps; /* a bitmap for each state */
    uint8_t *before; /* enum regex_side */
    uint32_t *next;  /* a row for each state: a transition for each class, and one for the end of the text */
    uint32_t stride;
    uint32_t *slots; /* hash table of states; 0: free */
    uint32_t slot_count;

    /* Scratch memory for computing one transition. */
    uint64_t *seen, *fresh; /* bitmaps of steps */
    uint32_t *pending;      /* stack of steps to expand */
    uint32_t *consumers;    /* steps of the closure that consume a character */
    uint32_t consumer_count;
};

/* ---- States ---------------------------------------------------------------------------------------------------- */

static uint64_t *regex_steps_of(struct regex *regex, uint32_t state)
{
    return regex->steps + (size_t)state * regex->words;
}

static void drop_states(struct regex *regex)
{
    memset(regex->next, 0, (size_t)regex->state_count * regex->stride * sizeof *regex->next);
    memset(regex->slots, 0, regex->slot_count * sizeof *regex->slots);
    regex->state_count = STATES_FIRST;
    regex->start = 0;
}

/* Finds or adds the state whose steps are in `fresh`. */
static uint32_t find_state(struct regex *regex, enum regex_side before)
{
    size_t bytes = regex->words * sizeof *regex->fresh;
    uint32_t mask = regex->slot_count - 1;
    uint32_t slot = (uint32_t)hash_bytes_seeded(regex->fresh, bytes, before) & mask;

    for (; regex->slots[slot]; slot = (slot + 1) & mask) {
        uint32_t state = regex->slots[slot];
        if (regex->before[state] == before && memcmp(regex_steps_of(regex, state), regex->fresh, bytes) == 0)
            return state;
    }
    if (regex->state_count == regex->state_limit) {
        drop_states(regex);
        return find_state(regex, before);
    }
    uint32_t state = regex->state_count++;
    memcpy(regex_steps_of(regex, state), regex->fresh, bytes);
    regex->before[state] = (uint8_t)before;
    regex->slots[slot] = state;
    return state;
}

/* The initial state: the first step, at the beginning of a text. */
static uint32_t start_row(struct regex *regex)
{
    if (!regex->start) {
        memset(regex->fresh, 0, regex->words * sizeof *regex->fresh);
        regex->fresh[0] = 1;
        regex->start = find_state(regex, SIDE_END) * regex->stride;
    }
    return regex->start;
}

/* ---- Transitions ----------------------------------------------------------------------------------------------- */

/* Pushes a step that was not seen yet. */
static uint32_t regex_add_pending(struct regex *regex, uint32_t count, uint32_t step)
{
    uint64_t bit = UINT64_C(1) << step % 64;

    if (regex->seen[step / 64] & bit)
        return count;
    regex->seen[step / 64] |= bit;
    regex->pending[count] = step;
    return count + 1;
}

/* Computes the epsilon closure. Returns 1 if it contains STEP_MATCH; else the consumers are filled in. */
static int regex_expand(struct regex *regex, const uint64_t *steps, enum regex_side before, enum regex_side after)
{
    memset(regex->seen, 0, regex->words * sizeof *regex->seen);
    regex->consumer_count = 0;
    for (uint32_t word = 0; word < regex->words; word++)
        for (uint64_t left = steps[word]; left; left &= left - 1) {
            uint32_t count = regex_add_pending(regex, 0, word * 64 + (uint32_t)__builtin_ctzll(left));
            while (count > 0) {
                uint32_t at = regex->pending[--count];
                const struct regex_step *step = &regex->program.steps[at];
                switch (step->kind) {
                case STEP_MATCH: return 1;
                case STEP_SET: regex->consumers[regex->consumer_count++] = at; break;
                case STEP_JUMP: count = regex_add_pending(regex, count, at + (uint32_t)step->operand); break;
                case STEP_SPLIT:
                    count = regex_add_pending(regex, count, at + (uint32_t)step->operand);
                    count = regex_add_pending(regex, count, at + 1);
                    break;
                default:
                    if (regex_holds((enum regex_assertion)step->operand, before, after))
                        count = regex_add_pending(regex, count, at + 1);
                }
            }
        }
    return 0;
}

static enum regex_side regex_side_of(const struct regex *regex, uint32_t class)
{
    if (class == regex->classes.count)
        return SIDE_END;
    if (regex->program.word < 0)
        return SIDE_OTHER;
    return regex_classes_is_member(&regex->classes, class, (uint32_t)regex->program.word) ? SIDE_WORD : SIDE_OTHER;
}

/* Computes the transition of a state with a class of characters, or with the end of the text, and caches it. */
static uint32_t compute_transition(struct regex *regex, uint32_t row, uint32_t class)
{
    enum regex_side after = regex_side_of(regex, class);
    uint32_t *kept = &regex->next[row + class], state = row / regex->stride;
    int is_active = 0;

    if (regex_expand(regex, regex_steps_of(regex, state), (enum regex_side)regex->before[state], after))
        return *kept = NEXT_MATCH;
    if (after == SIDE_END)
        return *kept = NEXT_NEVER;
    memset(regex->fresh, 0, regex->words * sizeof *regex->fresh);
    for (uint32_t i = 0; i < regex->consumer_count; i++) {
        uint32_t at = regex->consumers[i];
        if (!regex_classes_is_member(&regex->classes, class, (uint32_t)regex->program.steps[at].operand))
            continue;
        regex->fresh[(at + 1) / 64] |= UINT64_C(1) << (at + 1) % 64;
        is_active = 1;
    }
    if (!is_active && regex->is_anchored)
        return *kept = NEXT_NEVER;
    regex->fresh[0] |= !regex->is_anchored; /* a match may begin here too */
    uint32_t count = regex->state_count, found = find_state(regex, after) * regex->stride;
    if (regex->state_count >= count)        /* else the cache was dropped, and this row with it */
        *kept = found;
    return found;
}

int regex_matches(struct regex *regex, const char *text, size_t length)
{
    const struct regex_classes *classes = &regex->classes;
    uint32_t row = start_row(regex), class, next;

    for (size_t at = 0; at < length;) {
        unsigned char byte = (unsigned char)text[at];
        if (byte < 128) {
            class = classes->ascii[byte];
            at++;
        } else {
            uint32_t code;
            at += regex_decode(text + at, length - at, &code);
            class = regex_classes_find(classes, code);
        }
        next = regex->next[row + class];
        if (next < STATES_FIRST) {
            if (next == NEXT_UNKNOWN)
                next = compute_transition(regex, row, class);
            if (next < STATES_FIRST)
                return next == NEXT_MATCH;
        }
        row = next;
    }
    next = regex->next[row + classes->count];
    return (next == NEXT_UNKNOWN ? compute_transition(regex, row, classes->count) : next) == NEXT_MATCH;
}

/* ---- Compiling ------------------------------------------------------------------------------------------------- */

static int regex_make_room(struct regex *regex)
{
    uint32_t step_count = regex->program.count;

    regex->words = (step_count + 63) / 64;
    regex->stride = regex->classes.count + 1;
    size_t one = regex->stride * sizeof *regex->next + regex->words * sizeof *regex->steps;
    size_t limit = CACHE_BYTES / one;
    limit = limit < STATES_LEAST ? STATES_LEAST : limit > STATES_MOST ? STATES_MOST : limit;
    regex->state_limit = (uint32_t)limit;
    regex->slot_count = 4;
    while (regex->slot_count < 2 * regex->state_limit)
        regex->slot_count *= 2;
    regex->steps = calloc(limit * regex->words, sizeof *regex->steps);
    regex->before = calloc(limit, 1);
    regex->next = calloc(limit * regex->stride, sizeof *regex->next);
    regex->slots = calloc(regex->slot_count, sizeof *regex->slots);
    regex->seen = calloc(regex->words, sizeof *regex->seen);
    regex->fresh = calloc(regex->words, sizeof *regex->fresh);
    regex->pending = calloc(step_count, sizeof *regex->pending);
    regex->consumers = calloc(step_count, sizeof *regex->consumers);
    regex->state_count = STATES_FIRST;
    return regex->steps && regex->before && regex->next && regex->slots && regex->seen && regex->fresh &&
                   regex->pending && regex->consumers
               ? 0
               : ERR_NO_MEMORY;
}

/* Whether the closure of the first step is empty everywhere but at the beginning of a text. */
static int is_anchored(struct regex *regex)
{
    static const enum regex_side sides[] = { SIDE_END, SIDE_OTHER, SIDE_WORD };

    memset(regex->fresh, 0, regex->words * sizeof *regex->fresh);
    regex->fresh[0] = 1;
    for (size_t before = 1; before < 3; before++)
        for (size_t after = 0; after < 3; after++)
            if (regex_expand(regex, regex->fresh, sides[before], sides[after]) || regex->consumer_count > 0)
                return 0;
    return 1;
}

struct regex *regex_compile(const char *pattern, size_t length, unsigned flags, struct error *err)
{
    struct regex *regex = calloc(1, sizeof *regex);
    struct regex_sets sets = { 0 };
    int code = regex ? regex_parse(&regex->program, &sets, pattern, length, flags, err) : ERR_NO_MEMORY;

    if (code == 0)
        code = regex_classes_make(&regex->classes, &sets);
    regex_sets_free(&sets);
    if (code == 0)
        code = regex_make_room(regex);
    if (code == 0) {
        regex->is_anchored = is_anchored(regex);
        return regex;
    }
    if (code == ERR_NO_MEMORY)
        error_no_memory(err);
    regex_free(regex);
    return NULL;
}

void regex_free(struct regex *regex)
{
    if (!regex)
        return;
    regex_classes_free(&regex->classes);
    free(regex->program.steps);
    free(regex->steps);
    free(regex->before);
    free(regex->next);
    free(regex->slots);
    free(regex->seen);
    free(regex->fresh);
    free(regex->pending);
    free(regex->consumers);
    free(regex);
}
