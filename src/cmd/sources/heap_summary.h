/* The heap in the summary of a capture. */
#ifndef TACHO_CMD_SOURCES_HEAP_SUMMARY_H
#define TACHO_CMD_SOURCES_HEAP_SUMMARY_H

#include "cmd/summary/source_summary.h"

extern const struct source_summary heap_summary;

#endif
