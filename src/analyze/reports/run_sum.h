/* How long a run took, for run_sum, the summary and comparisons. Reports of Tacho have all figures, imports only the
 * recorded time. */
#ifndef TACHO_ANALYZE_REPORTS_RUN_SUM_H
#define TACHO_ANALYZE_REPORTS_RUN_SUM_H

#include "analyze/engine/analysis.h"

/* The names of its rows. */
#define RUN_SUM_PROCESS "Process time"
#define RUN_SUM_RECORDED "Recorded time"
#define RUN_SUM_CPU "CPU time"
#define RUN_SUM_GPU "GPU busy time"

struct run_times {
    int64_t process_ns;  /* from the start of the program to its end; -1: not known, or it still runs */
    int64_t capture_ns;  /* from the start of the capture to its end */
    int64_t recorded_ns; /* how long recording was on */
    int is_part;         /* in spans that the user chose, of which there are range_count (analyze/model/recorded.h) */
    size_t range_count;
    int64_t cpu_ns;      /* sum over all processes, of their whole life; -1: not known */
    size_t program_row;  /* the last row of TACHO_PROCESS about the program; SIZE_MAX: there is none */
    const char *program; /* its file, a string of the report; "": not known */
};

int run_times_read(struct run_times *times, struct report *report, struct error *err);

#endif
