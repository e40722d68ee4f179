/* Which part of a report is exported, and how. */
#ifndef TACHO_EXPORT_EXPORT_OPTIONS_H
#define TACHO_EXPORT_EXPORT_OPTIONS_H

#include "base/error.h"
#include "base/text.h"
#include "report/reader/reader.h"

struct filter;

/* {0} with lazy set exports the whole report, unchanged. */
struct writer;

struct export_options {
    int lazy;                   /* tables without rows are left out */
    int append;                 /* adds to an existing file */
    int separate_strings;       /* plain formats: write ids of strings as they are, and the table StringIds */
    int guard_formulas;         /* csv: a text that a spreadsheet would evaluate gets a ' before it */
    int normalize;              /* times count from 1970, UTC */
    int gzip;                   /* compresses the file, where readers of the format accept that */
    const char *metric;         /* stacks: the metric of their numbers, by torch's name; NULL: self_cpu_time_total */
    const char *metadata;       /* chrome: a JSON object whose members the trace gets; NULL: none */
    int python_samples;         /* flame graphs: of samples of Python code; else of native samples, if there are any */
    int heap_samples;           /* flame graphs: of blocks of the heap that were alive at its peak, by bytes */
    int waiting_samples;        /* flame graphs: include samples of threads that did not run */
    int64_t shift_ns;           /* is added to every time */
    struct regex **patterns;    /* owned; a table is exported if one of them matches its name; none: all tables are */
    size_t pattern_count, pattern_room;
    struct report_span *ranges; /* owned; events that overlap one are exported; none: all are */
    size_t range_count, range_room;
    uint64_t max_bytes;         /* size limit of the file; 0: no limit */
    const char *page_folder;    /* html: the folder of the page's files */
    const char *name;           /* html: the name of the report on the page; NULL: report.tacho */
    const struct text *bookmarks; /* html: the file of bookmarks that goes into the page; NULL: none */
    struct text *note; /* gets a sentence on the part that was left out to stay below max_bytes; may be NULL */
    void (*more)(struct writer *writer, void *context); /* tacho: adds rows after those of the report; NULL: none */
    void *more_context;
    const struct filter *filter; /* an open filter; events that it rejects are left out. NULL: none are */
};

/* A pattern of --tables: a basic regular expression, upper and lower case alike. */
int export_add_pattern(struct export_options *options, const char *pattern, struct error *err);
/* A range of --times: [START]/[END], each a number with the unit ns (the default), us, ms or s. */
int export_add_range(struct export_options *options, const char *range, struct error *err);
/* A time with its unit, ns: "12", "-1.5ms", "3s". */
int export_parse_time(const char *text, int64_t *out, struct error *err);
void export_options_free(struct export_options *options);

int export_wants_table(const struct export_options *options, const char *name);
/* The path of a table's file in a folder. Names of tables come from the report, and may be anything: only letters,
 * digits and _ go into the path. */
int export_table_path(struct text *out, const char *folder, const char *table, const char *ending, struct error *err);
/* Whether an event from start to end overlaps one of the ranges; times are the report's own. */
int export_wants_time(const struct export_options *options, int64_t start_ns, int64_t end_ns);
/* The number to add to the report's times: shift_ns, and with normalize the begin of the capture in UTC. */
int export_shift(const struct export_options *options, struct report *report, int64_t *out, struct error *err);

#endif
