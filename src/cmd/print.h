/* Tables to text: one format is one struct of callbacks in a file of its own. To add one, add a file and a row. */
#ifndef TACHO_CMD_PRINT_H
#define TACHO_CMD_PRINT_H

#include "../analyze/table.h"
#include "../base/text.h"

struct time_unit {
    const char *suffix;      /* "ns" */
    int64_t ns;              /* in one of it */
    int decimals, short_decimals; /* that lose nothing; that people want to see */
};

struct print_request {
    const struct time_unit *time; /* what UNIT_NS is shown in */
    int to_terminal;              /* names must not reach it as they are */
};

struct print_format {
    const char *name;
    const char *extension; /* of files */
    const char *help;
    /* What stands around the tables of a report on a terminal; NULL: nothing. */
    void (*title)(struct text *out, const char *title, const char *name);
    void (*table)(struct text *out, const struct table *table, const struct print_request *request);
};

extern const struct print_format print_column, print_csv;
extern const struct print_format *const print_formats[]; /* NULL-terminated; the first is the default */
const struct print_format *print_format_find(const char *name);

/* Any beginning of nsec, nanoseconds, usec, …; NULL if it is none. */
const struct time_unit *time_unit_find(const char *name);
extern const struct time_unit time_unit_ns;

/* "Total Time (ns)". */
void print_header(struct text *out, const struct table_column *column, const struct time_unit *time);

/* How numbers look in a format. */
struct number_style {
    int grouped;   /* 1,234,567 */
    int lossless;  /* times in larger units with all their decimals */
};
/* A cell that is a number. */
void print_number(struct text *out, const struct table_column *column, const struct table_cell *cell,
                  const struct time_unit *time, struct number_style style);

/* Half away from zero, on the exact value: 0.25 is 0.3 with one decimal. */
void print_fixed(struct text *out, double value, int decimals, int grouped);
void print_integer(struct text *out, int64_t value, int grouped);

#endif
