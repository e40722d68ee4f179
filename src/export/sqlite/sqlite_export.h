/* The state of the SQLite exporter: sqlite_export.c writes tables, sqlite_rows.c hands their rows to SQLite,
 * sqlite_strings.c writes the table StringIds. */
#ifndef TACHO_EXPORT_SQLITE_SQLITE_EXPORT_H
#define TACHO_EXPORT_SQLITE_SQLITE_EXPORT_H

#include <sqlite3.h>

#include "export/export_rows.h"
#include "report/schema/schema.h"

struct sqlite_export {
    struct report *report;
    sqlite3 *database;
    const char *path;
    const struct export_options *options;
    int64_t shift_ns;
    /* The table whose rows the virtual table has at the moment. */
    struct export_rows *rows;
    enum column_type types[EXPORT_COLUMNS_MAX];
    int as_bytes[EXPORT_COLUMNS_MAX]; /* text in any encoding */
    uint64_t nulls_seen;              /* a bit for each column that was NULL in some row */
    struct error *row_error;          /* filled when the rows cannot be read */
    /* Strings that rows refer to. */
    uint64_t *string_seen; /* a bit for each id of the report's pool; owned */
    size_t string_words;
    int64_t *string_ids;   /* when appending: by our id, the file's id + 1, or 0 if it has not been looked up yet;
                            * owned */
    size_t string_id_room;
    int64_t next_string_id;
    sqlite3_stmt *find_string, *insert_string;
    /* When appending: the key after the last one of each table of the file; our keys, and references to them, are
     * shifted by it. */
    int64_t next_key[TABLE_COUNT];
};

/* The virtual table temp.tacho_rows with the columns c0, c1, …: the rows of export->rows. A SQLite code. */
int sqlite_rows_register(struct sqlite_export *export);

/* StringIds: reading a row of the virtual table marks the strings that it refers to; those are written at the end. If
 * the file had strings before, ours get new ids. SQLite codes. */
int sqlite_strings_begin(struct sqlite_export *export);
int64_t sqlite_want_string(struct sqlite_export *export, int64_t id);
int sqlite_strings_finish(struct sqlite_export *export);
void sqlite_strings_free(struct sqlite_export *export);

#endif
