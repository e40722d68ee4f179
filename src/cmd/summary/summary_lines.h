/* The summary: the last lines of `tacho profile`, which `tacho summary` prints again; the most important first. Both
 * read them from the report. */
#ifndef TACHO_CMD_SUMMARY_SUMMARY_LINES_H
#define TACHO_CMD_SUMMARY_SUMMARY_LINES_H

#include "source_summary.h"

enum { SUMMARY_LINES = 18 };

int summary_add(struct text *out, const struct summary_request *request, struct error *err);

#endif
