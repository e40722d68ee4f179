/* The parts that the two engines have in common: base/regex, and abi/counters/name_pattern.c, which the agent has. None
 * of them allocates. */
#ifndef TACHO_BASE_REGEX_REGEX_PARTS_H
#define TACHO_BASE_REGEX_REGEX_PARTS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct regex_range {
    uint32_t first, last;
};

static const struct regex_named_set {
    const char *name;
    char escape; /* \d is [[:digit:]] */
    uint8_t count;
    struct regex_range ranges[4];
} regex_named_sets[] = {
    { "alnum", 0, 3, { { '0', '9' }, { 'A', 'Z' }, { 'a', 'z' } } },
    { "alpha", 0, 2, { { 'A', 'Z' }, { 'a', 'z' } } },
    { "blank", 0, 2, { { '\t', '\t' }, { ' ', ' ' } } },
    { "cntrl", 0, 2, { { 0, 0x1f }, { 0x7f, 0x7f } } },
    { "digit", 'd', 1, { { '0', '9' } } },
    { "graph", 0, 1, { { '!', '~' } } },
    { "lower", 0, 1, { { 'a', 'z' } } },
    { "print", 0, 1, { { ' ', '~' } } },
    { "punct", 0, 4, { { '!', '/' }, { ':', '@' }, { '[', '`' }, { '{', '~' } } },
    { "space", 's', 2, { { '\t', '\r' }, { ' ', ' ' } } },
    { "upper", 0, 1, { { 'A', 'Z' } } },
    { "word", 'w', 4, { { '0', '9' }, { 'A', 'Z' }, { '_', '_' }, { 'a', 'z' } } },
    { "xdigit", 0, 3, { { '0', '9' }, { 'A', 'F' }, { 'a', 'f' } } },
};
enum { REGEX_NAMED_SETS = sizeof regex_named_sets / sizeof *regex_named_sets };

/* [:digit:] and \d; NULL if the name or letter is unknown. */
static inline const struct regex_named_set *regex_sets_find_name(const char *name, size_t length)
{
    for (size_t i = 0; i < REGEX_NAMED_SETS; i++)
        if (strlen(regex_named_sets[i].name) == length && memcmp(regex_named_sets[i].name, name, length) == 0)
            return &regex_named_sets[i];
    return NULL;
}

static inline const struct regex_named_set *regex_sets_find_escape(char letter)
{
    for (size_t i = 0; i < REGEX_NAMED_SETS; i++)
        if (letter && regex_named_sets[i].escape == letter)
            return &regex_named_sets[i];
    return NULL;
}

enum regex_assertion { ASSERT_BEGIN, ASSERT_END, ASSERT_BORDER, ASSERT_NO_BORDER, ASSERT_WORD_BEGIN, ASSERT_WORD_END };

/* What lies before or behind a position in the text: its end, a word character, or another one. */
enum regex_side { SIDE_END, SIDE_OTHER, SIDE_WORD };

static inline int regex_holds(enum regex_assertion assertion, enum regex_side before, enum regex_side after)
{
    switch (assertion) {
    case ASSERT_BEGIN: return before == SIDE_END;
    case ASSERT_END: return after == SIDE_END;
    case ASSERT_BORDER: return (before == SIDE_WORD) != (after == SIDE_WORD);
    case ASSERT_NO_BORDER: return (before == SIDE_WORD) == (after == SIDE_WORD);
    case ASSERT_WORD_BEGIN: return before != SIDE_WORD && after == SIDE_WORD;
    default: return before == SIDE_WORD && after != SIDE_WORD;
    }
}

#endif
