/* The summary: the last lines of a capture, at most fifteen, the most important first. */
#ifndef TACHO_CMD_PROFILE_SUMMARY_H
#define TACHO_CMD_PROFILE_SUMMARY_H

#include "source_summary.h"

enum { SUMMARY_LINES = 15 };

void summary_add(struct text *out, const struct summary_request *request);

#endif
