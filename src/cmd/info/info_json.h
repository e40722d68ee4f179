/* `tacho info -f json`. */
#ifndef TACHO_CMD_INFO_INFO_JSON_H
#define TACHO_CMD_INFO_INFO_JSON_H

#include "base/text.h"
#include "report/reader/reader.h"

/* Adds one object about the report. Its keys are documented, and stay. */
int info_add_json(struct text *out, struct report *report, const char *path, struct error *err);

#endif
