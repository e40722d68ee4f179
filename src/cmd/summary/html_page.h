/* The tables that the sections of the page show, and the elements that they are made of. */
#ifndef TACHO_CMD_SUMMARY_HTML_PAGE_H
#define TACHO_CMD_SUMMARY_HTML_PAGE_H

#include "analyze/advice/adviser.h"
#include "analyze/engine/table.h"
#include "analyze/summary/run_figures.h"
#include "analyze/summary/step_figures.h"
#include "base/text.h"
#include "capture_facts.h"
#include "report/reader/reader.h"

struct html_page {
    struct report *report;
    const char *path, *peaks;          /* from struct html_request */
    struct capture_facts facts;
    struct adviser adviser;            /* its causes are rows of advice_sum, see run_figures.h */
    struct table *causes;              /* advice_sum; NULL: no rule found anything, or there was nothing to check */
    int is_checked;                    /* the rules ran */
    struct step_figures figures;
    struct table *reports[RUN_TABLES]; /* NULL: it has no rows */
};

/* Whether the report has CUDA calls and work on GPUs, so that steps were replayed. */
static inline int html_has_replay(const struct html_page *page)
{
    return page->adviser.report && page->adviser.replay.graph.points;
}

/* ---- elements -------------------------------------------------------------------------------------------------- */

void html_add_string(struct text *out, const char *string);
/* A number for people, with its exact value in the attribute: <data value="12300">12.3 µs</data>. */
void html_add_number(struct text *out, const struct table_column *column, const struct table_cell *cell);
void html_add_time(struct text *out, int64_t ns);
void html_add_percent(struct text *out, double percent, int decimals);

/* The rows of a report: ten, with these columns as far as it has them and a row fills one. */
struct html_table {
    const char *title;
    const char *const *columns; /* NULL-terminated; a share in percent gets a bar */
    const char *only, *is;      /* rows with this text in this column; NULL: all */
};
enum { HTML_ROWS = 10 };
void html_add_table(struct text *out, const struct table *table, const struct html_table *shape);

/* A bar of parts that add up, and the same as a table. Parts of no time are left out. */
struct html_part {
    const char *name, *class; /* class: of html_style.c */
    double ns;
    int is_idle;              /* part of a step: a cause for which GPUs are idle */
};
void html_add_parts(struct text *out, const char *title, const struct html_part *parts, size_t count);

/* "tacho stats -r NAME FILE": the command that prints the data of a section. */
void html_add_command(struct text *out, const struct html_page *page, const char *words);

/* ---- sections: nothing is added where there is no data -------------------------------------------------------------
 */

void html_add_tiles(struct text *out, struct html_page *page);
void html_add_breakdown(struct text *out, struct html_page *page);
void html_add_advice(struct text *out, struct html_page *page);
void html_add_steps(struct text *out, struct html_page *page);
void html_add_tensor_cores(struct text *out, struct html_page *page);
void html_add_metrics(struct text *out, struct html_page *page);
void html_add_roofline(struct text *out, struct html_page *page);
void html_add_top(struct text *out, struct html_page *page);
void html_add_memory(struct text *out, struct html_page *page);
void html_add_system(struct text *out, struct html_page *page);

extern const char html_style[];

#endif
