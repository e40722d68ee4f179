/* The rows of the registry, each in the file of its report. */
#ifndef TACHO_ANALYZE_REPORTS_H
#define TACHO_ANALYZE_REPORTS_H

#include "analyze.h"

extern const struct analysis analysis_nvtx_sum, analysis_nvtx_pushpop_sum, analysis_nvtx_startend_sum; /* nvtx_sum.c */
extern const struct analysis analysis_nvtx_pushpop_trace;
extern const struct analysis analysis_osrt_sum;

#endif
