/* The table of sources in `tacho info`. */
#ifndef TACHO_CMD_INFO_INFO_SOURCES_H
#define TACHO_CMD_INFO_INFO_SOURCES_H

#include "base/text.h"
#include "report/reader/reader.h"

/* Adds events, span, bytes and losses of each source. */
int info_add_sources(struct text *out, struct report *report, struct error *err);

#endif
