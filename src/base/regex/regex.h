/* Regular expressions with limits that hold: whether a text matches takes time that grows with its length and with the
 * size of the expression, never faster, and memory that is set aside when the expression is compiled. There are no
 * back-references and no look-around, which no engine can do in such bounds.
 *
 * Extended expressions are those of POSIX with what JavaScript and Perl have in common: . [a-z] [^a-z] [[:alpha:]]
 * \d \w \s \D \W \S \b \B \< \> ^ $ (...) (?:...) | * + ? {m,n}, lazy forms, and \t \n \r \f \v. Inside of [] a
 * backslash quotes too. Basic expressions are those of POSIX with GNU's \+ \? \|, and \d \w \s \b as above.
 *
 * Texts are UTF-8; a byte that belongs to no character counts as one. \d, \w, \s, \b, the classes in [] and upper and
 * lower case know ASCII alone. A dot matches every character, ^ and $ are the ends of the text. */
#ifndef TACHO_BASE_REGEX_REGEX_H
#define TACHO_BASE_REGEX_REGEX_H

#include <stddef.h>

#include "base/error.h"
#include "regex_limits.h"

struct regex;

/* The caller frees it. Else NULL, and err says why: ERR_BAD_ARGUMENT with a reason to go behind a colon, or
 * ERR_NO_MEMORY. */
struct regex *regex_compile(const char *pattern, size_t length, unsigned flags, struct error *err);
/* Whether it matches anywhere in the text. Remembers what it has learned about the expression: one thread at a time. */
int regex_matches(struct regex *regex, const char *text, size_t length);
void regex_free(struct regex *regex);

#endif
