/* The figures of a summary: which reports it is made of, and what is worked out from them. `tacho summary`, its page of
 * HTML and the request summary of the timeline all read them here, so that they say the same. Nothing here prints. */
#ifndef TACHO_ANALYZE_SUMMARY_RUN_FIGURES_H
#define TACHO_ANALYZE_SUMMARY_RUN_FIGURES_H

#include "analyze/advice/adviser.h"
#include "analyze/engine/table.h"

/* Reports of `tacho stats`. */
enum run_table {
    RUN_TABLE_RUN,
    RUN_TABLE_BUSY,
    RUN_TABLE_IDLE,
    RUN_TABLE_STEPS,
    RUN_TABLE_STEP_PARTS,
    RUN_TABLE_STEP_FLOPS,
    RUN_TABLE_TENSOR_CORES,
    RUN_TABLE_METRICS,
    RUN_TABLE_ROOFLINE,
    RUN_TABLE_OPERATORS,
    RUN_TABLE_KERNELS,
    RUN_TABLE_PYTHON,
    RUN_TABLE_FUNCTIONS,
    RUN_TABLE_OS_CALLS,
    RUN_TABLE_WAITS,
    RUN_TABLE_WALL, /* of programs without work on GPUs */
    RUN_TABLE_MEMORY,
    RUN_TABLE_COPIES,
    RUN_TABLES
};
const struct analysis *run_table_analysis(enum run_table which);
/* Whether the report lacks the data of a table, or the table says nothing of such a program; known at once. */
int run_table_is_missing(enum run_table which, struct report *report);

/* NULL where the capture has nothing for the report. peaks: of the GPU, as for gpu_peaks_read(); may be NULL; a list
 * that is wrong is an error. */
int run_table_read(struct table **out, struct report *report, enum run_table which, const char *peaks,
                   struct error *err);

/* The same of RUN_TABLE_IDLE or RUN_TABLE_STEP_PARTS with the replay of an adviser, instead of one more: of millions of
 * events that takes seconds and a gigabyte. */
int run_table_read_replayed(struct table **out, struct adviser *adviser, enum run_table which, struct error *err);

/* Runs all rules. The adviser's causes are the first rows of advice_sum, after that about a late rank; *causes is NULL
 * if no rule found anything.
 * ERR_NO_DATA: there was nothing to check. After an error there is nothing to free. */
int run_advice_read(struct adviser *adviser, struct table **causes, struct report *report, struct error *err);

/* The sentence about the rank that all others of the job wait for; "": there is none. */
const char *run_late_rank(const struct table *causes);
/* The same without the other causes, appended to out. */
int run_late_rank_read(struct text *out, struct report *report, struct error *err);

/* The time of a row of run_sum (analyze/reports/run_sum.h), or -1. */
double run_time_of(const struct table *run, const char *name);

/* The bytes that were allocated at the peak of the first device of torch_memory_peak, and its name; 0: not known. */
double run_memory_peak(const struct table *memory, const char **device);

/* ---- cells by the names of their columns ----------------------------------------------------------------------- */

/* The cell in a row and column; NULL if there is no such column, or it is empty. */
const struct table_cell *table_cell_at(const struct table *table, size_t row, const char *column);
/* Its number, or 0; its text, or "". */
double table_number_at(const struct table *table, size_t row, const char *column);
const char *table_text_at(const struct table *table, size_t row, const char *column);

#endif
