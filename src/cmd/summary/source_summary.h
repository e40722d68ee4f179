/* A source's part of the summary, and the functions that build its lines. */
#ifndef TACHO_CMD_SUMMARY_SOURCE_SUMMARY_H
#define TACHO_CMD_SUMMARY_SOURCE_SUMMARY_H

#include "analyze/advice/adviser.h"
#include "base/text.h"
#include "capture_facts.h"
#include "cmd/cmd_source.h"

/* The report, and facts that it cannot contain. */
struct summary_request {
    struct report *report;
    const char *report_path;
    uint64_t report_bytes;
    int report_error;           /* an ERR_ code if the report could not be written whole */
    char *const *warnings;      /* the capture's; a full disk may have kept some of them out of the report */
    size_t warning_count;
    int64_t finish_ns;          /* from the end of the program to the finished report; -1: that was not seen */
    const char *const *exports; /* paths of the exports beside the report */
    size_t export_count;
    const char *peaks;          /* peaks of the GPU, as for gpu_peaks_read(); NULL: the known ones */
    int colours;
    size_t columns;             /* width of the terminal, to which lines are wrapped; 0: they are not */
};

/* The findings of the sources, by index in cmd_sources. */
struct summary {
    const struct summary_request *request;
    struct capture_facts facts;
    struct adviser adviser;                 /* its causes are rows of advice_sum, see run_figures.h */
    struct table *causes;                   /* advice_sum; NULL: no rule found anything */
    struct table *wall;                     /* wall_sum, without an answer; NULL: not known */
    struct report *shown;                   /* what tables and findings are of: the report, or the adviser's window */
    const char *slowed_by;                  /* why times are not worth advice; NULL: they are */
    struct table *tables[CMD_SOURCE_COUNT]; /* tables of source_summary.analysis; NULL: it has no rows */
    void *findings[CMD_SOURCE_COUNT];       /* results of source_summary.find */
    int has_gpu_work;                       /* a source found some */
    size_t lines_left;                      /* for all lines between the notes and the line of events */
};

struct source_summary {
    /* A report of `tacho stats` whose first rows are shown, and one more line about it. Without add_line, and where
     * there is no room for rows, the line lists the first names of the table. */
    const char *analysis, *heading;
    void (*add_line)(struct text *out, const struct table *table);

    /* A table of samples, and the report with their functions. Only the first source that has samples is shown, and
     * only if no source has a finding. */
    const char *samples, *functions, *functions_heading;

    /* Searches for a fact that deserves the first lines, after the tables of all sources were read: a finding, or
     * NULL. The first source with a finding leads: it arranges all lines that are left. The others get one line
     * each. */
    void *(*find)(struct summary *summary);
    void (*free)(void *finding);
    void (*lead)(struct text *out, struct summary *summary, const void *finding);
    void (*add_brief)(struct text *out, const void *finding);
    const char *next, *next_also; /* with a finding: the command to type next, and what else there is */

    /* Adds warnings about limits of the data, or facts that are always shown, a line each. */
    void (*add_notes)(struct text *out, const struct summary *summary);

    /* Adds a note after the number of events of its first table. */
    void (*add_event_note)(struct text *out, const struct capture_facts *facts);
};

/* ---- Functions for sources ------------------------------------------------------------------------------------- */

/* Columns of the tables; the name comes last. */
enum { SUMMARY_SHARE, SUMMARY_TOTAL, SUMMARY_COUNT };

/* The functions of Python that import modules, in one name. */
#define SUMMARY_IMPORTS "Python imports"

/* Percent: less is 0.0 % when it is rounded, and not worth a line. */
#define SUMMARY_LEAST_SHARE 0.05

/* The codes for bold and plain text on a terminal; "" elsewhere. */
const char *summary_bold(const struct summary_request *request);
const char *summary_plain(const struct summary_request *request);

/* Adds a part of a whole: "12.3 %". The times of a report may be any numbers, a share is from 0 to 100. */
void summary_add_share(struct text *out, double part, double whole);

/* Whether a function of Python is one of the import machinery, and its name, or the name for all of these. */
int summary_is_import(const struct table_cell *place);
void summary_add_place(struct text *out, const struct table_cell *place, size_t columns);

/* Takes this many of the lines that are left. Returns 0 if there are fewer. */
int summary_take_lines(struct summary *summary, size_t lines);

/* Adds a heading and the first rows of a table. */
void summary_add_top(struct text *out, const struct summary *summary, const struct table *table, const char *heading,
                     size_t rows);
/* Adds the first names of a table in one line. */
void summary_add_names(struct text *out, const struct table *table, const char *heading);

/* Takes a line for each source that has a finding and does not lead; summary_add_briefs() adds those lines. */
uint32_t summary_take_briefs(struct summary *summary);
void summary_add_briefs(struct text *out, const struct summary *summary, uint32_t taken);

/* The same for each source with a table. A table that is more than that line gets the lines that are left. */
uint32_t summary_take_tables(struct summary *summary);
void summary_add_tables(struct text *out, struct summary *summary, uint32_t taken);
/* Adds the line of each table, as long as lines are left. */
void summary_add_table_lines(struct text *out, struct summary *summary);

/* Hides the table of a source. */
void summary_drop_table(struct summary *summary, const struct cmd_source *source);

#endif
