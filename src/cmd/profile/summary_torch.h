/* Operators of PyTorch in the last lines of a capture. */
#ifndef TACHO_CMD_PROFILE_SUMMARY_TORCH_H
#define TACHO_CMD_PROFILE_SUMMARY_TORCH_H

#include "analyze/engine/table.h"
#include "report/reader/reader.h"

/* By their own time, on the CPU or that of their kernels: share, total, count, name, as the summary tables
 * begin and end; the largest first. NULL: there are none, or too many to count them while somebody waits. The
 * caller owns it: table_delete(). */
struct table *summary_operators(struct report *report, int by_gpu);

#endif
