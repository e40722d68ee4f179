/* tacho ncu takes ncu's command line. Its options are one table (ncu_command.c); what they ask for is done in a file
 * each. */
#ifndef TACHO_CMD_NCU_NCU_COMMAND_H
#define TACHO_CMD_NCU_NCU_COMMAND_H

#include "cmd/command.h"

struct ncu_settings {
    int list_sets, list_sections, list_metrics, list_chips, query_metrics;
    const char *query_mode;                         /* base, suffix, all */
    const char *query_collection;                   /* profiling, pmsampling */
    const char *chips;                              /* comma-separated; NULL: that of the first GPU */
    struct option_list sets, sections, metrics;
    const char *import;                             /* report to print */
    int csv;
    const char *page, *print_units, *print_summary; /* NULL: the default */
};

/* Adds the counters of the report that --import names. */
int ncu_import(struct text *out, const struct ncu_settings *settings, struct error *err);
/* The values of --page, --print-units and --print-summary; the default comes first. */
const char *const *ncu_page_names(void);
const char *const *ncu_unit_names(void);
const char *const *ncu_summary_names(void);

/* Each adds what it lists, as ncu prints it. */
void ncu_list_sets(struct text *out, const struct ncu_settings *settings);
void ncu_list_sections(struct text *out, const struct ncu_settings *settings);
int ncu_list_chips(struct text *out, struct error *err);

/* The metrics of the sets, sections and names that were asked for: of the table, or with --chips as each chip has them,
 * with those that it lacks and the number of passes. */
int ncu_list_metrics(struct text *out, const struct ncu_settings *settings, struct error *err);

/* The metrics of chips, by CUPTI. */
int ncu_query_metrics(struct text *out, const struct ncu_settings *settings, struct error *err);

/* Whether a section is collected: by its name, by a set, or by default. */
int ncu_has_section(const struct ncu_settings *settings, const char *name, unsigned sets);

#endif
