/* What a regular expression becomes: steps to walk through. Each takes one character or none. */
#ifndef TACHO_BASE_REGEX_REGEX_PARSE_H
#define TACHO_BASE_REGEX_REGEX_PARSE_H

#include "base/error.h"
#include "regex_sets.h"

enum regex_step_kind {
    STEP_SET,    /* takes a character that is in the set; operand: its number */
    STEP_ASSERT, /* goes on where this holds; operand: enum regex_assertion */
    STEP_SPLIT,  /* goes on with the next step, and also operand steps from here */
    STEP_JUMP,   /* goes on operand steps from here */
    STEP_MATCH,
};

enum regex_assertion { ASSERT_BEGIN, ASSERT_END, ASSERT_BORDER, ASSERT_NO_BORDER, ASSERT_WORD_BEGIN, ASSERT_WORD_END };

struct regex_step {
    uint8_t kind;
    int32_t operand;
};

struct regex_program {
    struct regex_step *steps; /* owned; the last one is STEP_MATCH */
    uint32_t count;
    int32_t word;             /* the number of the set of word characters; -1: no assertion asks for it */
};

/* Adds the sets that the steps name. ERR_BAD_ARGUMENT with a reason, or ERR_NO_MEMORY. */
int regex_parse(struct regex_program *program, struct regex_sets *sets, const char *pattern, size_t length,
                unsigned flags, struct error *err);

/* The character at bytes, at least one of them; a stray byte if it is none. Returns how many it takes. */
size_t regex_decode(const char *bytes, size_t length, uint32_t *code);

#endif
