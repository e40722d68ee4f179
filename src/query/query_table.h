/* A table of a report as a virtual table: its plan, its cursor, and its columns in memory. No other folder includes
 * this.
 *
 * A table that is read once is streamed: a few chunks at a time are decoded, on all cores, and only the columns in
 * use. A table that is read again in the same query (the inner side of a join) is decoded whole, and a hash over the
 * column that is compared for equality leads to its rows. */
#ifndef TACHO_QUERY_QUERY_TABLE_H
#define TACHO_QUERY_QUERY_TABLE_H

#include "query_state.h"

enum { MOST_COLUMNS = 256, MOST_TESTS = 16, MOST_BLOCKS = 16 };

/* Whole columns in memory, and a hash over one of them. There is one for each way in which a query accesses the
 * table. Cursors of the query point into it, so it stays unchanged until the query ends. */
struct query_loaded {
    struct query_loaded *older;
    struct report_columns columns;
    int slot[MOST_COLUMNS]; /* by column of the table: its place in columns, or -1 */
    int times_rise;         /* the first time column never falls */
    int hashed;             /* the column that the hash is over, or -1 */
    uint32_t *heads, *next; /* by hash, by row: row + 1, or 0 at the end; rows of a chain rise */
    size_t mask;
};

struct query_table {
    sqlite3_vtab base;
    struct query_tables *tables;
    const struct report_table *report_table;
    int time_column;             /* the first TIME column, or -1 */
    int is_strings;              /* StringIds: found by id at once */
    uint64_t run;                /* the run that the following belongs to */
    size_t filters;              /* how often it has been read in this run */
    struct query_loaded *loaded; /* owned; a list */
};

/* The rows of the table that this run may read: all, or those of the chunks up to query_tables.most_rows. */
uint64_t query_table_rows(const struct query_table *table);
/* Notes that a run has read no more than these rows of the table. */
void query_table_cut(struct query_table *table, uint64_t rows);

/* The plan, parsed from the text that xBestIndex made. */
struct query_plan {
    const char *text;
    int columns[MOST_COLUMNS];
    size_t column_count;
    int slot[MOST_COLUMNS];
    struct {
        int column;
        char op;
    } wants[MOST_TESTS]; /* '=' '<' '>' 'l' (<=) 'g' (>=), by place in argv */
    size_t want_count;
};

/* A row matches if the value is not NULL and between low and high. */
struct query_test {
    int column;
    int slot;
    int64_t low, high;
};

int query_table_best_index(sqlite3_vtab *base, sqlite3_index_info *info);
void query_plan_parse(struct query_plan *plan, const char *text);

/* Loads the plan's columns, with a hash over `hashed` (-1: none). Returns SQLITE_OK, an error, or SQLITE_DONE when
 * damage forbids it. The table owns the result. */
int query_table_load(struct query_table *table, const struct query_plan *plan, int hashed,
                     const struct query_loaded **out);
void query_table_unload(struct query_table *table);
/* The first row of the chain of this value: row + 1, or 0. */
uint32_t query_loaded_first(const struct query_loaded *loaded, int64_t value);

#endif
