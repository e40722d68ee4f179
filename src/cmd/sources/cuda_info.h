/* CUDA in `tacho info`. */
#ifndef TACHO_CMD_SOURCES_CUDA_INFO_H
#define TACHO_CMD_SOURCES_CUDA_INFO_H

#include "base/text.h"
#include "report/reader/reader.h"

/* GPUs, contexts, the CUPTI that told of them, and whether its records fit together;
 * nothing where CUDA was not used. */
int cuda_info(struct text *out, struct report *report, struct error *err);

#endif
