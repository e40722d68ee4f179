/* Names as a terminal may see them: UTF-8 with known widths, and nothing in it that a terminal would obey.
 *
 * Names come from the programs that are profiled, and from files of strangers. */
#ifndef TACHO_CMD_PRINT_DISPLAY_H
#define TACHO_CMD_PRINT_DISPLAY_H

#include <stddef.h>

#include "base/text.h"

/* Adds the bytes with all that is not printable spelt out: \n, \x1b for control characters and bytes that are no UTF-8,
 * \u{202e} for characters that turn the direction of the text or hide in it. Returns the columns that it takes. Stops
 * with "…" when it would take more than max_columns (0: no limit). */
size_t display_add(struct text *out, const char *bytes, size_t length, size_t max_columns);

/* The text as a shell takes it for one word, as it is where it can be, else in quotes; nothing in
 * it that a terminal obeys. */
void display_add_quoted(struct text *out, const char *word);

/* Words of a sentence, broken to lines of DISPLAY_LINE columns that start at indent, and a line feed; the cursor is at
 * column. */
enum { DISPLAY_LINE = 100 };
void display_add_wrapped(struct text *out, const char *sentence, size_t column, size_t indent);

#endif
