/* Equivalence classes of characters: characters that are members of the same sets behave alike in the expression, so
 * the automaton needs one transition for each class instead of one for each code point. */
#ifndef TACHO_BASE_REGEX_REGEX_CLASSES_H
#define TACHO_BASE_REGEX_REGEX_CLASSES_H

#include "regex_sets.h"

struct regex_classes { /* all pointers are owned */
    uint32_t count;
    /* The code points from span_starts[i] up to the next start belong to class span_classes[i]. */
    uint32_t *span_starts;
    uint16_t *span_classes;
    uint32_t span_count;
    uint16_t ascii[128];
    uint64_t *members; /* a bitmap of set_words words for each class: the sets that contain it */
    uint32_t set_words;
};

/* 0 or ERR_NO_MEMORY. */
int regex_classes_make(struct regex_classes *classes, const struct regex_sets *sets);
void regex_classes_free(struct regex_classes *classes);

uint32_t regex_classes_find(const struct regex_classes *classes, uint32_t code);
static inline int regex_classes_is_member(const struct regex_classes *classes, uint32_t class, uint32_t set)
{
    return classes->members[(size_t)class * classes->set_words + set / 64] >> set % 64 & 1;
}

#endif
