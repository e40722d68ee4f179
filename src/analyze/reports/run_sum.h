/* How long a run took, for run_sum, the summary and comparisons. Reports of Tacho have all figures, imports only the
 * time that they cover. */
#ifndef TACHO_ANALYZE_REPORTS_RUN_SUM_H
#define TACHO_ANALYZE_REPORTS_RUN_SUM_H

#include "analyze/engine/analysis.h"

/* The names of its rows. */
#define RUN_SUM_WALL "Wall time"
#define RUN_SUM_CPU "CPU time"
#define RUN_SUM_GPU "GPU busy time"

struct run_times {
    int64_t wall_ns;     /* from the start of the program to its end, or to that of the capture */
    int64_t captured_ns; /* how long recording was on */
    int64_t cpu_ns;      /* sum over all processes; -1: not known */
    size_t program_row;  /* the last row of TACHO_PROCESS about the program; SIZE_MAX: there is none */
    const char *program; /* its file, a string of the report; "": not known */
};

int run_times_read(struct run_times *times, struct report *report, struct error *err);

#endif
