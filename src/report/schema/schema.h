/* The schema for C code: table ids, column ids and row structs, all generated from schema.def.
 *
 * A producer fills a row struct and passes it to writer_append(). It has one bit per column that says "not NULL", then
 * eight bytes per column in schema order. Readers must not use it: a file names its own tables and columns, and may
 * come from an older or newer Tacho. */
#ifndef TACHO_REPORT_SCHEMA_SCHEMA_H
#define TACHO_REPORT_SCHEMA_SCHEMA_H

#include <stdint.h>

#include "columns.h"

enum table_id {
#define TABLE(name, note) TABLE_##name,
#define COLUMN(table, name, type, null, note)
#define TABLE_END(name)
#include "schema.def"
#undef TABLE
#undef COLUMN
#undef TABLE_END
    TABLE_COUNT
};

/* Column ids, as <TABLE>_<column>, in schema order. */
#define TABLE(name, note) enum {
#define COLUMN(table, name, type, null, note) table##_##name,
#define TABLE_END(name) name##_COLUMN_COUNT };
#include "schema.def"
#undef TABLE
#undef COLUMN
#undef TABLE_END

#define COLUMN_CTYPE_INT int64_t
#define COLUMN_CTYPE_TIME int64_t
#define COLUMN_CTYPE_REAL double
#define COLUMN_CTYPE_TEXT int64_t
#define COLUMN_CTYPE_STRING int64_t

/* Row structs, as struct row_<TABLE>. */
#define TABLE(name, note) struct row_##name { uint64_t present;
#define COLUMN(table, name, type, null, note) COLUMN_CTYPE_##type name;
#define TABLE_END(table) };                                                                                          \
    _Static_assert(sizeof(struct row_##table) == 8 * (table##_COLUMN_COUNT + 1), "a row is eight bytes a column");    \
    _Static_assert(table##_COLUMN_COUNT <= 64, "one present bit a column");
#include "schema.def"
#undef TABLE
#undef COLUMN
#undef TABLE_END

/* Sets a field of a row and its present bit: ROW_SET(row, NVTX_EVENTS, start, t). */
#define ROW_SET(row, table, column, v) ((row)->column = (v), (row)->present |= UINT64_C(1) << table##_##column)

extern const struct schema_table schema_tables[TABLE_COUNT];

/* The table's id, or -1. The name must match exactly. */
int schema_find(const char *name);

/* Some tables have a row when an object begins and another when it ends; then the last row is valid. Returns the
 * columns, as a SQL list, that identify the object. NULL for all other tables. */
const char *schema_last_row_key(const char *name);

/* Whether rows of the table describe others, though they have a time: a part of a capture has all of them. */
int schema_is_kept_whole(const char *name);

/* What the numbers of a column stand for, as far as it matters beyond their own report. */
enum column_meaning {
    MEANING_VALUE,     /* the same in every report; or an id that is joined together with a process */
    MEANING_GLOBAL_ID, /* a packed id, whose upper 16 bits are the system */
    MEANING_KEY,       /* an id of this report alone */
    MEANING_DEVICE,    /* number of a GPU */
    MEANING_GPU_TYPE,  /* a packed id whose last byte is the number of a GPU */
    MEANING_TIME,      /* a time of the report in a column that is not of type TIME */
};
/* From the notes of schema.def; MEANING_VALUE for a column that this version does not know. */
enum column_meaning schema_meaning(const char *table, const char *column);

#endif
