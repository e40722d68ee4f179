/* Exporters: formats that a report becomes, one file and one row each. */
#ifndef TACHO_EXPORT_EXPORT_H
#define TACHO_EXPORT_EXPORT_H

#include "base/error.h"
#include "base/text.h"
#include "report/reader/reader.h"

struct filter;

/* Which part of a report is exported, and how. {0} with lazy set exports all of it, unchanged. */
struct export_options {
    int lazy;                    /* tables without rows are left out */
    int append;                  /* adds to a file that is there */
    int separate_strings;        /* plain formats: ids of strings as they are, and the table StringIds */
    int guard_formulas;          /* csv: a text that a spreadsheet would evaluate gets a ' before it */
    int normalize;               /* times count from 1970, UTC */
    int gzip;                    /* packs the file, where the format is one that readers take packed */
    const char *metric;          /* stacks: what their numbers are, as torch calls it; NULL: self_cpu_time_total */
    const char *metadata;        /* chrome: a JSON object whose members the trace gets; NULL: none */
    int python_samples;          /* flame graphs: of samples of Python code; else of the others, where there are some */
    int waiting_samples;         /* flame graphs: samples of threads that did not run count too */
    int64_t shift_ns;            /* is added to every time */
    struct regex **patterns;     /* owned; tables of which one matches are exported; none: all are */
    size_t pattern_count, pattern_room;
    struct report_span *ranges;  /* owned; events that overlap one are exported; none: all are */
    size_t range_count, range_room;
    uint64_t max_bytes;          /* of the file; 0: as large as it gets */
    const char *page_folder;     /* html: where the page's files are */
    const char *name;            /* html: what the page calls the report; NULL: report.tacho */
    struct text *note;           /* gets a sentence on what was left out to stay below max_bytes; may be NULL */
    const struct filter *filter; /* of the analyses, open; events that do not count are left out. NULL: all do */
};

/* A pattern of --tables: a basic regular expression, upper and lower case alike. */
int export_add_pattern(struct export_options *options, const char *pattern, struct error *err);
/* A range of --times: [START]/[END], each a number with ns (or nothing), us, ms or s behind it. */
int export_add_range(struct export_options *options, const char *range, struct error *err);
/* A time with its unit, ns: "12", "-1.5ms", "3s". */
int export_parse_time(const char *text, int64_t *out, struct error *err);
void export_options_free(struct export_options *options);

int export_wants_table(const struct export_options *options, const char *name);
/* Whether something from start to end overlaps one of the ranges; times are the report's own. */
int export_wants_time(const struct export_options *options, int64_t start_ns, int64_t end_ns);
/* What must be added to the report's times: shift_ns, and with normalize the capture's begin in UTC. */
int export_shift(const struct export_options *options, struct report *report, int64_t *out, struct error *err);

struct exporter {
    const char *name;      /* "sqlite" */
    const char *help;
    const char *extension; /* of the file; with folder set: what is added to the name of the folder */
    int folder;            /* it makes a folder of files, or one file if it is told to */
    int gzips;             /* knows export_options.gzip */
    int limits;            /* knows export_options.max_bytes */
    int appends;           /* knows export_options.append: path is then a copy of the file that is there */
    /* Writes the report to a file (or folder) that must not exist. What it leaves on failure is removed. */
    int (*export_report)(struct report *report, const char *path, const struct export_options *options,
                         struct error *err);
};

extern const struct exporter *const exporters[]; /* NULL-terminated */
const struct exporter *exporter_find(const char *name);

/* Exports to path. An existing file is ERR_EXISTS unless overwrite or options->append is set, and is kept if the
 * export fails. options may be NULL. */
int export_file(const struct exporter *exporter, struct report *report, const char *path, int overwrite,
                const struct export_options *options, struct error *err);

extern const struct exporter export_sqlite, export_csv, export_json, export_jsonlines, export_text, export_chrome,
    export_perfetto, export_stacks, export_folded, export_speedscope, export_pprof, export_svg, export_tacho,
    export_html;

#endif
