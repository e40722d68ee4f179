/* `tacho annotate --instructions`. */
#ifndef TACHO_CMD_ANNOTATE_ANNOTATE_INSTRUCTIONS_H
#define TACHO_CMD_ANNOTATE_ANNOTATE_INSTRUCTIONS_H

#include "base/error.h"
#include "base/text.h"
#include "report/reader/reader.h"

/* Appends them in a format of --format. */
int annotate_instructions(struct text *out, struct report *report, const char *function, const char *format,
                          struct error *err);

#endif
