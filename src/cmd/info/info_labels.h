/* Labels for people, for the names in a report's tables of names and values. */
#ifndef TACHO_CMD_INFO_INFO_LABELS_H
#define TACHO_CMD_INFO_INFO_LABELS_H

#include "cmd/cmd_source.h"

/* The row of a name, of `info` itself or of a source; NULL: there is none. A row without a label is not shown. */
const struct cmd_source_label *info_label_find(const char *name);

/* Adds a value as the row says. */
void info_label_add(struct text *out, const struct cmd_source_label *label, const char *value);

#endif
