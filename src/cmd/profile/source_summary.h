/* What a source has in the last lines of a capture, and what it builds its lines with. */
#ifndef TACHO_CMD_PROFILE_SOURCE_SUMMARY_H
#define TACHO_CMD_PROFILE_SOURCE_SUMMARY_H

#include "analyze/engine/table.h"
#include "base/text.h"
#include "cmd/cmd_source.h"
#include "collect/collect.h"
#include "report/reader/reader.h"

struct summary_request {
    const struct collect_result *result;
    struct report *report;      /* NULL if it cannot be opened: its tables are then left out */
    const char *report_path;
    const char *program;        /* as it was called */
    uint32_t expected;          /* cmd_source_bit()s: sources whose events are named even if there are none */
    int output_hidden;
    const char *const *exports; /* what was written beside the report; export_count of them */
    size_t export_count;
    int colours;
};

/* What the sources found in the report, by place in cmd_sources. */
struct summary {
    const struct summary_request *request;
    struct table *tables[CMD_SOURCE_COUNT]; /* of source_summary.analysis; NULL: there is nothing in it */
    void *findings[CMD_SOURCE_COUNT];       /* of source_summary.find */
    int has_gpu_work;                       /* a source found some */
    size_t lines_left;                      /* for all that stands between the notes and the line of events */
};

/* What a source recorded that is not in collect_result.counts. */
struct summary_count {
    const char *name; /* in the line of events; NULL: only what was lost counts */
    uint64_t count, lost;
    int is_analyzed;  /* `tacho stats` has something to say even if this is all that was recorded */
    const char *work; /* that Tacho did for it beside the program, and the CPU time it took; NULL: none to tell */
    int64_t work_ns;
};

struct source_summary {
    /* A report of `tacho stats` whose first rows are shown, and a line more about it. Without that line, the first
     * names in the table are its line where there is no room for rows. */
    const char *analysis, *heading;
    void (*add_line)(struct text *out, const struct table *table);

    /* A table of samples, and the report that has their functions. Only the first source that has samples is shown,
     * and only where none has a finding. */
    const char *samples, *functions, *functions_heading;

    /* Looks for what deserves the first lines, after the tables of all sources were read: a finding, or NULL. The first
     * source with a finding leads: it arranges all lines that are left. Others have one line each. */
    void *(*find)(struct summary *summary);
    void (*free)(void *finding);
    void (*lead)(struct text *out, struct summary *summary, const void *finding);
    void (*add_brief)(struct text *out, const void *finding);
    const char *next, *next_also; /* with a finding: the command to type next, and what else there is */

    /* What the report cannot vouch for, a line each; finding: its own. */
    void (*add_notes)(struct text *out, const struct collect_result *result, const void *finding);

    /* Behind the number of its events. */
    void (*add_event_note)(struct text *out, const struct collect_result *result);
    struct summary_count (*count)(const struct collect_result *result);
};

/* ---- for sources ----------------------------------------------------------------------------------------------- */

/* Columns of the tables; the name stands last. */
enum { SUMMARY_SHARE, SUMMARY_TOTAL, SUMMARY_COUNT };

/* The codes that make text bold on a terminal; "" elsewhere. */
const char *summary_bold(const struct summary_request *request);
const char *summary_plain(const struct summary_request *request);

/* Takes so many lines of what is left, if there are as many. */
int summary_take_lines(struct summary *summary, size_t lines);

/* A heading and the first rows of a table. */
void summary_add_top(struct text *out, const struct summary *summary, const struct table *table, const char *heading,
                     size_t rows);
/* The first names of a table in one line. */
void summary_add_names(struct text *out, const struct table *table, const char *heading);

/* Takes a line for each source with a finding that does not lead; then adds those lines. */
uint32_t summary_take_briefs(struct summary *summary);
void summary_add_briefs(struct text *out, const struct summary *summary, uint32_t taken);

/* The same for each source with a table. Where that line is not the table itself, the table has the lines that are
 * left. */
uint32_t summary_take_tables(struct summary *summary);
void summary_add_tables(struct text *out, struct summary *summary, uint32_t taken);
/* The line of each table, as long as there are lines. */
void summary_add_table_lines(struct text *out, struct summary *summary);

/* The table of a source is not shown. */
void summary_drop_table(struct summary *summary, const struct cmd_source *source);

#endif
