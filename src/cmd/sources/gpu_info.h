/* GPU metrics in `tacho info`. */
#ifndef TACHO_CMD_SOURCES_GPU_INFO_H
#define TACHO_CMD_SOURCES_GPU_INFO_H

#include "base/text.h"
#include "report/reader/reader.h"

/* Adds a line for each source of metrics on each GPU, and for each refusal. */
int gpu_info(struct text *out, struct report *report, struct error *err);

#endif
