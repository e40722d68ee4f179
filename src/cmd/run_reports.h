/* Runs reports or rules on one file after another: the common part of `stats`, `analyze` and `profile --stats=true`. */
#ifndef TACHO_CMD_RUN_REPORTS_H
#define TACHO_CMD_RUN_REPORTS_H

#include "analyze/engine/analysis.h"
#include "cmd/print/print.h"
#include "command.h"
#include "foreign_rep.h"
#include "output.h"
#include "run_share.h"
#include "selection.h"

/* The settings of these commands, filled by their options. */
struct run_reports_settings {
    struct option_list names;
    const char *peaks; /* peaks of the GPU, for the reports that take them; NULL: the known ones */
    struct output_settings deliver;
    struct selection_part_settings part;
    struct foreign_rep_settings input;
    int each; /* several files one by one */
    struct run_share_settings share;
};

/* The reports or rules that exist, and those that run when no name is given. */
struct run_reports_registry {
    const struct analysis *const *known;
    const struct analysis *(*find)(const char *name);
    const char *noun;          /* "report", "rule" */
    const char *nothing_label; /* before the names of those without rows: "No rows in" */
    /* for_people: those with data, the most important first; adds missing kinds of data to lacking. */
    int (*add_defaults)(struct selection_list *list, struct report *report, int for_people, struct text *lacking,
                        struct error *err);
};

extern const struct run_reports_registry stats_registry; /* the reports of `tacho stats` */

/* The names of all reports or rules, for completion, after `first` where that is not NULL; NULL-terminated. Returns
 * names. */
enum { SHOW_MOST_NAMES = WANTED_MOST + 2 };
const char *const *run_reports_names(const char *names[SHOW_MOST_NAMES], const struct analysis *const *known,
                                     const char *first);

/* Prints the text of --help-reports and --help-rules: for "" the list with titles, for a name or "ALL" the help of one
 * or all; nothing if names is NULL. With `formats`, the formats come before it. Returns the exit status. */
int run_reports_help(const struct command *self, const struct run_reports_registry *registry, const char *names,
                     int formats);

/* Runs the selected reports on each of the files and delivers their tables. Returns the exit status; errors are printed
 * to stderr. */
int run_reports_files(const struct command *self, const struct run_reports_settings *settings,
                      const struct run_reports_registry *registry, const char *const *files, size_t file_count);

/* Prints the default reports of an open file to stdout, as `tacho stats` does without options. */
int run_reports_defaults(struct report *report, const char *path, struct error *err);

#endif
