/* CPU samples in `tacho info`. */
#ifndef TACHO_CMD_SOURCES_SAMPLES_INFO_H
#define TACHO_CMD_SOURCES_SAMPLES_INFO_H

#include "base/text.h"
#include "report/reader/reader.h"

/* Adds how CPU samples and context switches were taken; nothing if there were none. */
int samples_info(struct text *out, struct report *report, struct error *err);

#endif
