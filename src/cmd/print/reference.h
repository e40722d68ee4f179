/* Lists that explain names: --help-reports, --help-rules, --help-formats. */
#ifndef TACHO_CMD_PRINT_REFERENCE_H
#define TACHO_CMD_PRINT_REFERENCE_H

#include "base/text.h"

/* Adds "NAME[:OPTION]… -- TITLE" (title may be NULL) and below it the text, if there is one. The first line is broken
 * before an option if a terminal is too narrow; elsewhere it is whole, for programs that look for a name. */
void print_reference(struct text *out, const char *name, const char *usage, const char *title, const char *text);

#endif
