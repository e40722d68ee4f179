/* Paces: when each rank came to a kernel or a range for the n-th time, and how long it took. */
#ifndef TACHO_ANALYZE_REPORTS_LANES_PACE_H
#define TACHO_ANALYZE_REPORTS_LANES_PACE_H

/* The columns of the table. */
enum {
    PACE_RANK,
    PACE_PID,
    PACE_ITERATION,
    PACE_START,
    PACE_END,
    PACE_DURATION,
    PACE_DURATION_ACCUM,
    PACE_DELTA,
    PACE_DELTA_ACCUM,
    PACE_NAME,
    PACE_COLUMNS
};

#endif
