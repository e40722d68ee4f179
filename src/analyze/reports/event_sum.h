/* Summaries of events: the shared body of every report that groups the rows of some tables by a name.
 *
 * A source says in which table and columns the events are; a shape says how the groups are shown. */
#ifndef TACHO_ANALYZE_REPORTS_EVENT_SUM_H
#define TACHO_ANALYZE_REPORTS_EVENT_SUM_H

#include "analyze/engine/analysis.h"
#include "analyze/engine/summary_table.h"

enum { ANY_CLASS = -1 };

struct event_source {
    const char *table;
    int kind;                 /* the group's KEY_KIND */
    const char *name;         /* column of the name; NULL: all are one group */
    const char *name_or;      /* column used where the name is empty, or NULL */
    const char *number_or;    /* column of a number that names rows without a name, or NULL */
    int number_kind;          /* KEY_KIND of groups that number_or names; their KEY_NAME is the number */
    const char *process;      /* for work on a GPU, the column of the process; these rows have a device, a stream and a
                               * correlation id. NULL: rows with a globalTid */
    const char *value;        /* a column to sum instead of the duration, or NULL; rows
                               * where it is empty do not count */
    const char *class_column; /* a column such as eventClass: only rows with class_value there count; NULL: all rows */
    int64_t class_value;
    int named_only;           /* rows without a name do not count */
    int open_to_last;         /* a row without an end counts up to the last moment of the
                               * table; else it has no duration */
    int by_dimensions;        /* kernels with different grids or blocks are different groups */
};

/* The parts of a group's key. Dimensions are packed; see event_dimensions(). */
enum { KEY_KIND, KEY_NAME, KEY_GRID, KEY_BLOCK };

/* A number for each row of a table, from 0 on, that separates groups further. It becomes the upper part of KEY_KIND;
 * see event_kind() and event_extra(). */
struct event_extra {
    const char *table;
    const uint32_t *numbers; /* NO_KEY: none */
    size_t count;
};

struct event_summary {
    const struct event_source *sources;
    size_t source_count;
    const struct summary_shape *shape;
    void *context;                                     /* for the shape's label() */
    const struct event_extra *extra;                   /* NULL: none */
    void (*map)(void *context, struct group_key *key); /* see groups_finish(); NULL: none */
};

int event_summarize(struct report *report, const struct analysis_request *request, const struct event_summary *summary,
                    struct table **out, struct error *err);

/* For the row of a report: EVENT_SUM(&shape, { .table = …, .name = … }, …). The context of the shape's label() is the
 * report. */
#define EVENT_SUM(shape_of_table, ...)                                                                                 \
    .run_as = event_sum,                                                                                               \
    .as = &(const struct event_summary){ .sources = (const struct event_source[]){ __VA_ARGS__ },                      \
                                         .source_count = COUNT_OF(((const struct event_source[]){ __VA_ARGS__ })),     \
                                         .shape = shape_of_table },                                                    \
    .divides = shape_of_table
int event_sum(struct report *report, const struct analysis_request *request, const void *as, struct table **out,
              struct error *err);
/* Labels a group with its name. The context is the report. */
void event_label_name(void *report, const struct group *group, struct summary_text texts[SUMMARY_TEXTS]);

int event_kind(const struct group *group);
uint32_t event_extra(const struct group *group); /* NO_KEY: none */
void event_dimensions(int64_t packed, int64_t xyz[3]);

#endif
