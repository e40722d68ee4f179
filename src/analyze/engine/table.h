/* The table that every analysis returns and every front end (terminal, files, page, Python) shows.
 *
 * A column has a kind and a unit, but no width or colour. Cells are typed. The table owns all its memory in one arena
 * and is immutable once an analysis has returned it. */
#ifndef TACHO_ANALYZE_ENGINE_TABLE_H
#define TACHO_ANALYZE_ENGINE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"

enum table_cell_kind { CELL_NONE, CELL_INT, CELL_REAL, CELL_TEXT };

enum table_unit {
    UNIT_NONE,
    UNIT_NS,        /* a duration, printed in the asked-for time unit; names carry it: "Total Time (ns)" */
    UNIT_TIME,      /* a moment, ns since the capture's start; printed as durations are */
    UNIT_PERCENT,   /* names carry it: "Time (%)" */
    UNIT_BYTES,
    UNIT_MEGABYTES, /* 10^6 bytes, three decimals */
    UNIT_ID,        /* a number that is a name (pid, level): never grouped by thousands */
    UNIT_NAME,      /* texts that are names of events; one column of a table at most */
};

static inline int unit_is_ns(enum table_unit unit)
{
    return unit == UNIT_NS || unit == UNIT_TIME;
}

struct table_column {
    const char *name; /* without its unit; static */
    enum table_cell_kind kind;
    enum table_unit unit;
    int decimals;     /* for CELL_REAL */
};

struct table_cell {
    enum table_cell_kind kind; /* CELL_NONE: empty */
    union {
        int64_t integer;
        double real;
        struct {
            const char *bytes;
            size_t length;
        } text; /* may hold any byte, also NUL */
    };
};

struct table;

struct table *table_new(const struct table_column *columns, size_t column_count);
void table_delete(struct table *table);

size_t table_row_count(const struct table *table);
/* A sentence about what the rows are made of, for people; "": there is none. */
int table_set_note(struct table *table, const char *note);
const char *table_note(const struct table *table);
/* Rows that there would be if all had been wanted (analysis_request.first_rows). */
size_t table_total(const struct table *table);
size_t table_column_count(const struct table *table);
const struct table_column *table_columns(const struct table *table);
/* TABLE_NO_COLUMN if no column has this name. */
#define TABLE_NO_COLUMN SIZE_MAX
size_t table_find_column(const struct table *table, const char *name);
const struct table_cell *table_row(const struct table *table, size_t row);

/* Adds a row of empty cells and returns it to be filled; NULL when memory is short. Valid until
 * the next table_add_row(). */
struct table_cell *table_add_row(struct table *table);
/* Sets the kind of a column, for columns whose kind is known only from their cells. */
void table_set_kind(struct table *table, size_t column, enum table_cell_kind kind);
void cell_set_int(struct table_cell *cell, int64_t value);
void cell_set_real(struct table_cell *cell, double value);
/* Copies the bytes into the table's arena. */
int cell_set_text(struct table *table, struct table_cell *cell, const char *bytes, size_t length);

/* Two texts, byte by byte; an empty cell comes first. */
int cell_compare_text(const struct table_cell *a, const struct table_cell *b);

/* Stable sort; compare gets two rows. */
void table_sort(struct table *table,
                int (*compare)(const struct table_cell *a, const struct table_cell *b, void *context), void *context);

/* The same for count rows from first on. */
void table_sort_part(struct table *table, size_t first, size_t count,
                     int (*compare)(const struct table_cell *a, const struct table_cell *b, void *context),
                     void *context);

/* The order by columns: each decides where those before it are the same. Empty cells come first, and last where
 * DOWN(column) puts the largest value first. */
struct table_order {
    const int *columns;
    size_t count;
};
#define DOWN(column) (~(column))
#define BY(...)                                                                                                        \
    ((struct table_order){ (const int[]){ __VA_ARGS__ }, COUNT_OF(((const int[]){ __VA_ARGS__ })) })

/* table_sort_by(table, BY(DOWN(TIME), NAME)) */
void table_sort_by(struct table *table, struct table_order order);

/* Leaves only the first rows. */
void table_limit(struct table *table, size_t rows);
/* The table has only the first rows of this many. */
void table_set_total(struct table *table, size_t total);

/* Puts 1, 2, 3, … into the first column. */
void table_number_rows(struct table *table);

/* How an analysis ends: with code 0 the table goes to the caller, else it is deleted and the code is returned. A
 * function that only fills tables may return ERR_NO_MEMORY and leave err alone; the message is then set here. That
 * relies on analysis_run(), which clears err->code first. */
int table_hand_over(struct table *table, int code, struct table **out, struct error *err);

#endif
