/* Text that is safe for a terminal: UTF-8 with known widths and without control sequences.
 *
 * Names come from the profiled programs and from files of other people, so they may contain anything. */
#ifndef TACHO_CMD_PRINT_DISPLAY_H
#define TACHO_CMD_PRINT_DISPLAY_H

#include <stddef.h>

#include "base/text.h"

/* Adds bytes with everything that is not printable spelt out: \n, \x1b for control characters and bytes that are not
 * UTF-8, \u{202e} for characters that change the direction of the text or are invisible. Returns the number of
 * columns. Ends with an ellipsis if the text would take more than max_columns (0: no limit). */
size_t display_add(struct text *out, const char *bytes, size_t length, size_t max_columns);

/* The same, with the ellipsis in the middle. */
size_t display_add_middle(struct text *out, const char *bytes, size_t length, size_t max_columns);

/* The same, with so many columns before the ellipsis. */
size_t display_add_elided(struct text *out, const char *bytes, size_t length, size_t max_columns, size_t before);

/* Whether the bytes, so shown, fit into so many columns. */
int display_fits(const char *bytes, size_t length, size_t columns);

/* Adds a text as one word for a shell: as it is if possible, else in quotes; without anything that a terminal would
 * interpret. */
void display_add_quoted(struct text *out, const char *word);

/* The same for a file as an argument of a command: ./-x.tacho, which is no option. */
void display_add_file(struct text *out, const char *path);

/* The number of columns that the bytes, so shown, take. */
size_t display_columns(const char *bytes, size_t length);

/* Adds a sentence wrapped to lines of `width` columns (DISPLAY_LINE where nothing else is known) that start at indent,
 * and a line feed. column: the position of the cursor. */
enum { DISPLAY_LINE = 100 };
void display_add_wrapped(struct text *out, const char *sentence, size_t column, size_t indent, size_t width);

#endif
