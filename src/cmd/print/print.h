/* Tables to text: a format is a struct of callbacks in a file of its own. To add one, add a file and a row. */
#ifndef TACHO_CMD_PRINT_PRINT_H
#define TACHO_CMD_PRINT_PRINT_H

#include "analyze/engine/table.h"
#include "base/error.h"
#include "base/text.h"

struct print_time_unit {
    const char *suffix;           /* "ns" */
    int64_t ns;                   /* ns in one unit */
    int decimals, short_decimals; /* decimals without loss; decimals for people */
};

enum { PRINT_MOST_WIDTHS = 64, PRINT_AUTO_WIDTH = -1 };

struct print_request {
    const struct print_time_unit *time; /* the unit for UNIT_NS and UNIT_TIME */
    int to_terminal;                    /* names must be escaped */
    size_t terminal_columns;            /* a wider table is fitted to this; 0: no limit */
    const char *title, *name;           /* the table's: "OS Runtime Summary", "osrt_sum"; NULL: none */
    int colour;                         /* human: the terminal has bold text */
    int null_is_null;                   /* json: an empty cell is null, not "" as in nsys */
    /* The arguments after the format's name; see enum print_argument. */
    int no_header, no_limit, plain_numbers, escape_tabs, guard_formulas;
    const char *document_title, *css;
    int widths[PRINT_MOST_WIDTHS]; /* 0: hidden; or PRINT_AUTO_WIDTH */
    size_t width_count;            /* further columns have automatic widths */
};

/* Arguments that may follow the name of a format: column:nohdr:20:., hdoc:title=Kernels. */
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
    const char *extension; /* file extension */
    const char *usage;     /* "[:nohdr]" */
    const char *help;
    unsigned arguments;    /* the enum print_argument that it accepts */
    int for_programs;      /* stdout has nothing but the tables */
    int has_auto_unit;     /* knows time_unit_auto, and has it by default; others have ns */
    int has_any_width;     /* is not fitted to a terminal */
    /* Adds a heading above the table on a terminal; NULL: none. */
    void (*title)(struct text *out, const char *title, const char *name, const struct print_request *request);
    void (*table)(struct text *out, const struct table *table, const struct print_request *request);
};

extern const struct print_format print_column, print_nsys, print_table, print_csv, print_tsv, print_json, print_hdoc,
    print_htable, print_human;
extern const struct print_format *const print_formats[]; /* NULL-terminated; the first is the default */
const struct print_format *print_format_find(const char *name);

/* Parses a format with its arguments, "csv:nohdr". The request keeps pointers into text, which is split at its
 * colons. */
int print_format_parse(char *text, const struct print_format **format, struct print_request *request,
                       struct error *err);

/* The columns of the terminal at a file descriptor; 0: not a terminal, or unknown. */
size_t print_terminal_columns(int fd);

/* The width of sentences on stdout: that of the terminal, DISPLAY_LINE at most and where there is none. */
size_t print_text_columns(void);

/* Finds a unit by any prefix of nsec, nanoseconds, usec, ..., auto; NULL if there is none. */
const struct print_time_unit *time_unit_find(const char *name);
extern const struct print_time_unit time_unit_ns, time_unit_auto; /* auto: each time has the unit that suits it */

/* Adds a column's header: "Total Time (ns)". */
void print_header(struct text *out, const struct table_column *column, const struct print_time_unit *time);

/* The style of numbers in a format. */
struct print_number_style {
    int grouped;  /* 1,234,567 */
    int lossless; /* times in larger units keep all their decimals */
};
/* Adds a cell that is a number. If the column's decimals are below 0, reals get as many digits as they need to
 * differ. */
void print_number(struct text *out, const struct table_column *column, const struct table_cell *cell,
                  const struct print_time_unit *time, struct print_number_style style);

#endif
