/* CUDA in `tacho info`. */
#ifndef TACHO_CMD_SOURCES_CUDA_INFO_H
#define TACHO_CMD_SOURCES_CUDA_INFO_H

#include "base/text.h"
#include "report/reader/reader.h"

/* Adds GPUs, contexts, the version of CUPTI, and whether its records are consistent; nothing if CUDA was not used. */
int cuda_info(struct text *out, struct report *report, struct error *err);

/* Adds a version as CUDA has it, 13000, as people have it: 13.0. */
void cuda_add_version(struct text *out, const char *value);

#endif
