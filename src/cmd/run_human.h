/* Reports and rules for people: their tables one below the other, without those that are empty, and at the end one line
 * for each kind of thing that is not shown. */
#ifndef TACHO_CMD_RUN_HUMAN_H
#define TACHO_CMD_RUN_HUMAN_H

#include "command.h"
#include "open_report.h"
#include "output.h"
#include "run_by.h"
#include "selection.h"

enum { RUN_HUMAN_MOST_FINDINGS = 64, RUN_HUMAN_MOST_OPTIONS = 16, RUN_HUMAN_MOST_NAMES = 5 };

/* Reports or rules of the default list whose data one option records. */
struct run_human_unchecked {
    const char *option; /* NULL: none does */
    const char *names[RUN_HUMAN_MOST_NAMES];
    size_t count;       /* of all, also of those that have no room there */
};

/* The tables of one file. */
struct run_human {
    const struct command *command;
    const char *path, *noun;             /* noun: "report", "rule" */
    const char *nothing_label;           /* before the names of those without rows: "No rows in" */
    const struct analysis *const *known; /* only these are named there */
    const struct selection_part_settings *part;
    const struct output_delivery *delivery;
    struct run_by by;
    struct input input;           /* several files; {0}: the path alone */
    struct print_request request;
    int by_default;               /* no report was named */
    size_t tables_to_come, lines; /* in the default list: tables after this one; lines so far */
    struct text lacking, nothing; /* lists with commas: kinds of data that the file does not hold; reports
                                   * without rows */
    struct run_human_unchecked unchecked[RUN_HUMAN_MOST_OPTIONS];
    size_t unchecked_count;
    const struct analysis *found[RUN_HUMAN_MOST_FINDINGS]; /* rules that found something, the largest first */
    size_t found_count;
    int has_order;                                         /* advice_sum was run */
    struct text listings;                                  /* rules that list events: "NAME 12, …" */
};

/* Runs one report and adds its table to out, or remembers why there is none. */
int run_human_table(struct text *out, struct run_human *run, struct report *report, const struct selection_item *wanted,
                    const struct analysis_request *request, struct error *err);

/* The i-th of the tables to run. Those after advice_sum, which is the first of the default list, are in the order of
 * its findings. */
const struct selection_item *run_human_item(const struct run_human *run, const struct selection_list *wanted, size_t i);

/* Adds the lines below all tables. */
void run_human_end(struct text *out, const struct run_human *run);
void run_human_free(struct run_human *run);

#endif
