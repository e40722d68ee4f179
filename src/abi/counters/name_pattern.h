/* Names and expressions of ncu's filters: an exact name, or regex:EXPRESSION, which is searched for in the name. For
 * the command, which checks them, and for the agent, which may not allocate: a pattern has all its memory inside.
 * base/regex, with its automaton, needs up to a megabyte for each expression. The command cannot compile for the agent,
 * because --gpu-counters-filter and the file `counters` have the expression as it was written; and it uses this engine
 * where it filters a report, so that a filter means the same for a program and for its report.
 *
 * Expressions have . [a-z] [^a-z] [[:alpha:]] \d \w \s \D \W \S \b \B \< \> ^ $ (...) (?:...) | * + ? {m,n}, lazy
 * quantifiers, and \t \n \r \f \v. Characters are bytes. Matching takes time proportional to the length of the name
 * times the size of the expression. Back-references and look-around are not supported. */
#ifndef TACHO_ABI_COUNTERS_NAME_PATTERN_H
#define TACHO_ABI_COUNTERS_NAME_PATTERN_H

#include <stddef.h>
#include <stdint.h>

enum { NAME_PATTERN_STEPS = 512, NAME_PATTERN_SETS = 32 };

struct name_step {
    uint8_t kind, operand; /* operand: the byte, the number of the set, or the assertion */
    int16_t to;            /* of jumps, relative */
};

struct name_pattern {
    const char *exact; /* the name, unless it is an expression */
    size_t exact_length;
    size_t count, set_count;
    struct name_step steps[NAME_PATTERN_STEPS];
    uint64_t sets[NAME_PATTERN_SETS][4];
    /* Scratch memory of a match: so only one thread at a time may use a pattern. */
    uint64_t seen[NAME_PATTERN_STEPS / 64], entered[NAME_PATTERN_STEPS / 64];
    uint16_t pending[NAME_PATTERN_STEPS];
};

/* Reads NAME or regex:EXPRESSION, which must stay where it is. Returns NULL, or what is wrong, to be read after a
 * colon. */
const char *name_pattern_read(struct name_pattern *pattern, const char *text, size_t length);
/* The same for an expression without the prefix. */
const char *name_pattern_compile(struct name_pattern *pattern, const char *expression, size_t length);

int name_pattern_matches(struct name_pattern *pattern, const char *name, size_t length);

#endif
