/* The parts of what `tacho info` says. */
#ifndef TACHO_CMD_INFO_INFO_H
#define TACHO_CMD_INFO_INFO_H

#include "base/text.h"
#include "report/reader/reader.h"

/* All of it. */
int info_print(struct text *out, struct report *report, const char *path, int all, struct error *err);

/* A table: events, span, bytes and losses of each source. */
int info_add_sources(struct text *out, struct report *report, struct error *err);

/* The tree of processes with how each ended; at most limit lines. */
int info_add_processes(struct text *out, struct report *report, size_t limit, struct error *err);

/* How CPU samples and context switches were taken; nothing where there were none. */
int info_add_sampling(struct text *out, struct report *report, struct error *err);

/* GPUs, contexts, the CUPTI that told of them, and whether its records fit together;
 * nothing where CUDA was not used. */
int info_add_cuda(struct text *out, struct report *report, struct error *err);

#endif
