/* The character sets of a regular expression, collected by the parser. Sets have numbers; equal sets share one. */
#ifndef TACHO_BASE_REGEX_REGEX_SETS_H
#define TACHO_BASE_REGEX_REGEX_SETS_H

#include <stddef.h>
#include <stdint.h>

#include "regex_parts.h"

/* Code points for bytes that are not part of valid UTF-8: each is a character of its own. */
#define REGEX_STRAY_BYTE(byte) (UINT32_C(0x110000) | (byte))
#define REGEX_LAST_CODE REGEX_STRAY_BYTE(0xff)

struct regex_set {
    size_t start, count;        /* its ranges, sorted and disjoint */
};

struct regex_sets {             /* {0} is empty */
    struct regex_range *ranges; /* owned */
    size_t range_count, range_room;
    struct regex_set *list;     /* owned */
    size_t count, room;
    size_t open;                /* index of the first range of the set under construction */
    int failed;                 /* out of memory: the contents are incomplete */
};

void regex_sets_begin(struct regex_sets *sets);
void regex_sets_add(struct regex_sets *sets, uint32_t first, uint32_t last);
void regex_sets_add_named(struct regex_sets *sets, const struct regex_named_set *named, int is_negated);
/* Completes the set and returns its number. */
int32_t regex_sets_end(struct regex_sets *sets, int is_negated, int ignores_case);
void regex_sets_free(struct regex_sets *sets);

#endif
