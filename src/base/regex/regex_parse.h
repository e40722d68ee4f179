/* The parser: compiles a regular expression to a program for a nondeterministic automaton. Each step of the program
 * consumes one character or none. */
#ifndef TACHO_BASE_REGEX_REGEX_PARSE_H
#define TACHO_BASE_REGEX_REGEX_PARSE_H

#include "base/error.h"
#include "regex_parts.h"
#include "regex_sets.h"

enum regex_step_kind {
    STEP_SET,    /* consumes a character of the set; operand: number of the set */
    STEP_ASSERT, /* continues if the assertion holds; operand: enum regex_assertion */
    STEP_SPLIT,  /* continues both at the next step and at this one plus operand */
    STEP_JUMP,   /* continues at this step plus operand */
    STEP_MATCH,
};

struct regex_step {
    uint8_t kind;
    int32_t operand;
};

struct regex_program {
    struct regex_step *steps; /* owned; the last one is STEP_MATCH */
    uint32_t count;
    int32_t word;             /* number of the set of word characters; -1: no assertion needs it */
};

/* Returns 0, ERR_BAD_ARGUMENT with the reason, or ERR_NO_MEMORY. The caller frees program->steps in any case. */
int regex_parse(struct regex_program *program, struct regex_sets *sets, const char *pattern, size_t length,
                unsigned flags, struct error *err);

/* Decodes the character at bytes (length > 0), or a stray byte. Returns the number of bytes consumed. */
size_t regex_decode(const char *bytes, size_t length, uint32_t *code);

#endif
