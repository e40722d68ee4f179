/* The columns of gpu_idle_sum, the largest cause first. */
#ifndef TACHO_ANALYZE_REPORTS_GPU_IDLE_SUM_H
#define TACHO_ANALYZE_REPORTS_GPU_IDLE_SUM_H

enum { IDLE_SHARE, IDLE_TOTAL, IDLE_GAPS, IDLE_MAX, IDLE_GPU, IDLE_CAUSE, IDLE_WHERE, IDLE_COLUMNS };

#endif
