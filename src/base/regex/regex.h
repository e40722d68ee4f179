/* Regular expressions in bounded time and memory. Matching takes time proportional to the length of the text times the
 * size of the expression, and all memory is allocated when the expression is compiled. Back-references and look-around
 * are not supported: no engine can match them within such bounds.
 *
 * Extended expressions follow POSIX and the common subset of JavaScript and Perl: . [a-z] [^a-z] [[:alpha:]] \d \w \s
 * \D \W \S \b \B \< \> ^ $ (...) (?:...) | * + ? {m,n}, lazy quantifiers, \t \n \r \f \v. A backslash escapes inside
 * brackets too. Basic expressions follow POSIX with the GNU operators \+ \? \| and the same classes and assertions.
 *
 * Texts are UTF-8; a byte that is not part of a valid sequence counts as one character. \d, \w, \s, \b, bracket classes
 * and case folding are limited to ASCII. A dot matches every character, ^ and $ match only at the ends of the text. */
#ifndef TACHO_BASE_REGEX_REGEX_H
#define TACHO_BASE_REGEX_REGEX_H

#include <stddef.h>

#include "base/error.h"
#include "regex_limits.h"

struct regex;

/* Compiles an expression; the caller frees it. Returns NULL on error: ERR_NO_MEMORY, or ERR_BAD_ARGUMENT with the
 * reason, which reads well after a colon. */
struct regex *regex_compile(const char *pattern, size_t length, unsigned flags, struct error *err);
/* Returns 1 if the expression matches anywhere in the text, else 0. Updates the cache of the automaton, so only one
 * thread at a time may use a compiled expression. */
int regex_matches(struct regex *regex, const char *text, size_t length);
void regex_free(struct regex *regex);

#endif
