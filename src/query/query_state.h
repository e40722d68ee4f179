/* The two kinds of virtual tables, and the state that they share. No other folder includes this. */
#ifndef TACHO_QUERY_QUERY_STATE_H
#define TACHO_QUERY_QUERY_STATE_H

#include <sqlite3.h>

#include "query.h"
#include "report/schema/enums.h"

/* The declared type of columns of times. SQLite takes any words, and INT among them for a whole number. */
#define TIME_TYPE "TIME INTEGER"

/* The state of a query that all its virtual tables read. */
struct query_tables {
    struct report *report;
    uint64_t run;       /* counts query_run(); columns stay in memory for one run */
    uint64_t most_rows; /* limit per table in a run; 0: all */
    struct query_part part;
};

extern const sqlite3_module query_table_module; /* a table of the report; client data: struct query_tables */
extern const sqlite3_module query_enum_module;  /* ENUM_…; client data: struct query_tables */

/* Replaces functions of SQLite in which one call can take minutes with faster ones. */
int query_add_functions(sqlite3 *database);

#endif
