/* tacho ncu takes ncu's command line. Its options are one table (ncu_command.c); each function below has a file. */
#ifndef TACHO_COMPAT_NCU_NCU_COMMAND_H
#define TACHO_COMPAT_NCU_NCU_COMMAND_H

#include "cmd/command.h"

struct ncu_settings {
    int list_sets, list_sections, list_metrics, list_chips, query_metrics;
    const char *query_mode;                         /* base, suffix, all */
    const char *query_collection;                   /* profiling, pmsampling */
    const char *chips;                              /* comma-separated; NULL: that of the first GPU */
    struct option_list sets, sections, metrics;
    const char *import;                             /* report to print */
    int is_run;                                     /* the report is that of the program that was run */
    int csv;
    const char *page, *print_units, *print_summary; /* NULL: the default */

    /* For a program that is run. NULL: the default, or no filter. */
    const char *kernel_name, *kernel_name_base, *kernel_id;
    const char *launch_skip, *launch_count, *skip_before, *filter_mode, *devices;
    const char *replay_mode, *cache_control, *clock_control, *target_processes, *max_time;
    int nvtx, from_start;
    struct option_list nvtx_include, nvtx_exclude;
    const char *range_filter;
    const char *export, *log_file;
    int overwrite, quiet;
};

/* Runs a program, counts its kernels, and prints the page. Returns the exit status: the program's. */
int ncu_run_program(const struct command *self, const struct ncu_settings *settings, const char *const *program,
                    size_t count);

/* Adds the filters as lines for the agent (launch_filter.h), each ended by a line feed. */
int ncu_add_filters(struct text *lines, const struct ncu_settings *settings, struct error *err);

/* Adds the counters of the report that --import names. */
int ncu_import(struct text *out, const struct ncu_settings *settings, struct error *err);
/* The values of --page, --print-units and --print-summary; the default comes first. */
extern const char *const ncu_pages[], *const ncu_units[], *const ncu_summaries[];

/* Each adds what it lists, as ncu prints it. */
void ncu_list_sets(struct text *out, const struct ncu_settings *settings);
void ncu_list_sections(struct text *out, const struct ncu_settings *settings);
int ncu_list_chips(struct text *out, struct error *err);

/* The metrics of the sets, sections and names that were asked for: of the table, or with --chips as each chip has them,
 * with those that it lacks and the number of passes. */
int ncu_list_metrics(struct text *out, const struct ncu_settings *settings, struct error *err);

/* "name=a,b" of a list, an option of tacho-gpu; the caller frees it. */
char *ncu_list_option(const char *name, const struct option_list *list);

/* The metrics of chips, by CUPTI. */
int ncu_query_metrics(struct text *out, const struct ncu_settings *settings, struct error *err);

/* Whether a section is collected: by its name, by a set, or by default. */
int ncu_has_section(const struct ncu_settings *settings, const char *name, unsigned sets);

/* Adds the rules of --nvtx-include, --nvtx-exclude and --range-filter (agent/nvtx/nvtx_launch.c), a line each. */
int ncu_add_ranges(struct text *lines, const struct ncu_settings *settings, struct error *err);

#endif
