/* Tables to text: one format is one struct of callbacks in a file of its own. To add one, add a file and a row. */
#ifndef TACHO_CMD_PRINT_PRINT_H
#define TACHO_CMD_PRINT_PRINT_H

#include "analyze/engine/table.h"
#include "base/error.h"
#include "base/text.h"

struct print_time_unit {
    const char *suffix;           /* "ns" */
    int64_t ns;                   /* in one of it */
    int decimals, short_decimals; /* that lose nothing; that people want to see */
};

enum { PRINT_MOST_WIDTHS = 64, PRINT_AUTO_WIDTH = -1 };

struct print_request {
    const struct print_time_unit *time; /* what UNIT_NS and UNIT_TIME are shown in */
    int to_terminal;                    /* names must not reach it as they are */
    size_t terminal_columns;            /* a table wider than this is fitted; 0: as wide as it is */
    const char *title, *name;           /* of the table: "OS Runtime Summary", "osrt_sum"; NULL: none */
    int null_is_null;                   /* json: an empty cell is null, not "" as in nsys */
    /* What stood behind the format's name; see enum print_argument. */
    int no_header, no_limit, plain_numbers, escape_tabs, guard_formulas;
    const char *document_title, *css;
    int widths[PRINT_MOST_WIDTHS]; /* 0: hidden; PRINT_AUTO_WIDTH */
    size_t width_count;            /* columns behind those adjust themselves */
};

/* What may stand behind the name of a format: column:nohdr:20:., hdoc:title=Kernels. */
enum print_argument {
    PRINT_NOHDR = 1,
    PRINT_NOLIMIT = 2,
    PRINT_NOFMT = 4,
    PRINT_WIDTHS = 8,
    PRINT_ESC = 16,
    PRINT_TITLE = 32,
    PRINT_CSS = 64,
    PRINT_GUARD = 128,
};

struct print_format {
    const char *name;
    const char *extension; /* of files */
    const char *usage;     /* "[:nohdr]" */
    const char *help;
    unsigned arguments;    /* enum print_argument that it takes */
    /* What stands around the tables of a report on a terminal; NULL: nothing. */
    void (*title)(struct text *out, const char *title, const char *name);
    void (*table)(struct text *out, const struct table *table, const struct print_request *request);
};

extern const struct print_format print_column, print_table, print_csv, print_tsv, print_json, print_hdoc, print_htable;
extern const struct print_format *const print_formats[]; /* NULL-terminated; the first is the default */
const struct print_format *print_format_find(const char *name);

/* A format with its arguments, "csv:nohdr". The request keeps pointers into text, which is cut up at its colons. */
int print_format_parse(char *text, const struct print_format **format, struct print_request *request,
                       struct error *err);

/* Columns of the terminal that a file descriptor is; 0: it is none, or does not say. */
size_t print_terminal_columns(int fd);

/* Any beginning of nsec, nanoseconds, usec, …; NULL if it is none. */
const struct print_time_unit *time_unit_find(const char *name);
extern const struct print_time_unit time_unit_ns;

/* "Total Time (ns)". */
void print_header(struct text *out, const struct table_column *column, const struct print_time_unit *time);

/* How numbers look in a format. */
struct print_number_style {
    int grouped;  /* 1,234,567 */
    int lossless; /* times in larger units with all their decimals */
};
/* A cell that is a number. A column with decimals below 0 shows its reals with as many digits as tell them apart. */
void print_number(struct text *out, const struct table_column *column, const struct table_cell *cell,
                  const struct print_time_unit *time, struct print_number_style style);

#endif
