/* The sets of characters that a regular expression names, gathered while it is read: numbered, and each kept once. */
#ifndef TACHO_BASE_REGEX_REGEX_SETS_H
#define TACHO_BASE_REGEX_REGEX_SETS_H

#include <stddef.h>
#include <stdint.h>

/* Bytes that belong to no character are characters of their own. */
#define REGEX_STRAY_BYTE(byte) (UINT32_C(0x110000) | (byte))
#define REGEX_LAST_CODE REGEX_STRAY_BYTE(0xff)

struct regex_range {
    uint32_t first, last;
};

struct regex_set {
    size_t start, count;        /* of its ranges, which are in order and apart */
};

struct regex_sets {             /* {0} is none */
    struct regex_range *ranges; /* owned */
    size_t range_count, range_room;
    struct regex_set *list;     /* owned */
    size_t count, room;
    size_t open;                /* where the ranges of the set that is being made begin */
    int failed;                 /* memory is short: numbers and ranges mean nothing any more */
};

/* [:digit:] and \d; NULL if there is none of that name or letter. */
const struct regex_named_set *regex_sets_find_name(const char *name, size_t length);
const struct regex_named_set *regex_sets_find_escape(char letter);

void regex_sets_begin(struct regex_sets *sets);
void regex_sets_add(struct regex_sets *sets, uint32_t first, uint32_t last);
void regex_sets_add_named(struct regex_sets *sets, const struct regex_named_set *named, int is_negated);
/* The number of the set that is complete now. One that was there before keeps its number. */
int32_t regex_sets_end(struct regex_sets *sets, int is_negated, int ignores_case);
void regex_sets_free(struct regex_sets *sets);

#endif
