/* Text as HTML shows it. Names come from programs and files of other people, so they may contain anything. */
#ifndef TACHO_CMD_PRINT_HTML_ESCAPE_H
#define TACHO_CMD_PRINT_HTML_ESCAPE_H

#include <stddef.h>

#include "base/text.h"

/* Adds bytes for an element or an attribute in quotes; characters that a reader could not see are spelt out, as by
 * display_add(). */
void html_escape(struct text *out, const char *bytes, size_t length);

#endif
