/* Texts that a spreadsheet would evaluate: "=cmd()" in a cell of a csv file is a formula, whoever wrote it. */
#ifndef TACHO_BASE_FORMULA_H
#define TACHO_BASE_FORMULA_H

#include <stddef.h>
#include <string.h>

/* Goes before a text that begins like a formula, so that a spreadsheet shows the text as it is. */
#define FORMULA_GUARD '\''

static inline int formula_begins(const char *bytes, size_t length)
{
    return length && memchr("=+-@\t\r", bytes[0], 6);
}

#endif
