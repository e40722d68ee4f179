/* SQL over a report. SQLite sees the report's columns as tables, under the names that they have in its export.
 * Nothing is copied or exported, and nothing can be written: only SELECT is accepted. */
#ifndef TACHO_QUERY_QUERY_H
#define TACHO_QUERY_QUERY_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "report/reader/reader.h"

struct query;

/* The report must stay open until query_close(). */
int query_open(struct report *report, struct query **out, struct error *err);
void query_close(struct query *query);

struct query_value {
    enum { QUERY_NULL, QUERY_INT, QUERY_REAL, QUERY_TEXT } kind;
    int64_t integer;
    double real;
    const char *bytes; /* bytes of a text or a blob */
    size_t length;
};

struct query_column {
    const char *name;
    int is_time; /* it is a column of times of a table, whatever its name is here; 0 for expressions */
};

struct query_visitor {
    void *context;
    /* Called before the rows of each statement that has columns. Names are valid until its last row. */
    int (*columns)(void *context, const struct query_column *columns, size_t count, struct error *err);
    int (*row)(void *context, const struct query_value *values, size_t count, struct error *err);
    int (*end)(void *context, struct error *err);
};

/* Sets a limit on the CPU time of query_run(), which then returns ERR_CANCELLED with a message. Values are limited to a
 * few megabytes then, because nothing checks the clock while SQLite builds one. 0, the default: no limit. */
void query_limit(struct query *query, int64_t milliseconds);

/* Lets query_run() read no more than about that many rows of a table (whole chunks), for a quick, approximate answer.
 * Texts are always read whole. 0, the default: all rows. */
void query_first_rows(struct query *query, uint64_t rows);

/* The table of which the last query_run() left out most rows for that; NULL if the answer is exact. */
struct query_part {
    const char *table;
    uint64_t rows, of; /* rows that were read, and all rows */
};
struct query_part query_part(const struct query *query);

/* Ends the query_run() that is under way with ERR_CANCELLED. May be called from a signal handler. */
void query_interrupt(struct query *query);

/* Runs all statements of sql. A callback that returns non-zero ends the run with that code. */
int query_run(struct query *query, const char *sql, const struct query_visitor *visitor, struct error *err);

/* Whether the sql typed so far is a whole statement: it ends with a semicolon outside any text. */
int query_is_complete(const char *sql);

/* The CREATE TABLE of one table, or of all of them (name NULL); ERR_NOT_FOUND if there is none of that name. */
int query_schema(const struct query *query, const char *name, struct text *out, struct error *err);

/* The names of the tables, one a line; without those of enums. */
void query_tables(const struct query *query, struct text *out);

#endif
