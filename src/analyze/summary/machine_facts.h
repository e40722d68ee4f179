/* The machine of a capture: what the table SystemInfo says of it (DLProf notes it there), else what the capture itself
 * recorded. */
#ifndef TACHO_ANALYZE_SUMMARY_MACHINE_FACTS_H
#define TACHO_ANALYZE_SUMMARY_MACHINE_FACTS_H

#include "base/text.h"
#include "report/reader/reader.h"

/* Adds a text: gpuCount, driverVersion, cudaVersion, cudnnVersion, framework, nsysVersion, cpuModel; nothing if it is
 * not known. */
void machine_fact_add(struct text *out, struct report *report, const char *what);
void machine_gpu_names(struct text *out, struct report *report);
/* The number of GPUs in the machine, 1 at least. */
int64_t machine_gpu_count(struct report *report);

#endif
