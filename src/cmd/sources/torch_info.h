/* PyTorch in `tacho info`. */
#ifndef TACHO_CMD_SOURCES_TORCH_INFO_H
#define TACHO_CMD_SOURCES_TORCH_INFO_H

#include "base/text.h"
#include "report/reader/reader.h"

/* Adds the versions and settings of PyTorch, or of the profiler whose trace was imported; nothing if there are none. */
int torch_info(struct text *out, struct report *report, struct error *err);

#endif
