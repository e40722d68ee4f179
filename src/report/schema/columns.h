/* How the schema describes a table and its columns. Readers need no more: ids and row structs are for writers. */
#ifndef TACHO_REPORT_SCHEMA_COLUMNS_H
#define TACHO_REPORT_SCHEMA_COLUMNS_H

#include <stddef.h>

enum column_type {
    COLUMN_INT, /* signed 64-bit */
    /* ns since the start of the capture, may be negative. The first TIME column of a table is the time of the row. */
    COLUMN_TIME,
    COLUMN_REAL,   /* double */
    COLUMN_TEXT,   /* text or bytes: stored as an id of the report's string pool, shown as text */
    COLUMN_STRING, /* an id of the string pool that stays an id in SQL and exports (REFERENCES StringIds) */
};

struct schema_column {
    const char *name;
    enum column_type type;
    int not_null;
    int key;          /* part of the primary key */
    int extra;        /* a column of Tacho in a table of nsys */
    const char *note; /* the comment after "--" in SQL's DDL */
};

struct schema_table {
    const char *name;
    const char *note;
    const struct schema_column *columns;
    size_t column_count;
};

#endif
