/* What the files of the SQLite exporter share. */
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
    /* The table that the virtual table shows at the moment. */
    struct export_rows *rows;
    enum column_type types[EXPORT_COLUMNS_MAX];
    int as_bytes[EXPORT_COLUMNS_MAX]; /* text that need not be UTF-8 */
    uint64_t nulls_seen;              /* a bit for each column that was NULL in some row */
    struct error *row_error;          /* filled when the rows cannot be read */
    /* Strings that rows refer to. */
    uint64_t *string_seen; /* a bit for each id of the report's pool; owned */
    size_t string_words;
    int64_t *string_ids;   /* when appending: the file's id for each of ours, 0 for one
                            * that is not known yet; owned */
    size_t string_id_room;
    int64_t next_string_id;
    sqlite3_stmt *find_string, *insert_string;
    /* When appending: the key after the last one that a table of the file has; ours, and what
     * refers to them, count on. */
    int64_t next_key[TABLE_COUNT];
};

/* The virtual table temp.tacho_rows with the columns c0, c1, …: the rows of export->rows. A SQLite code. */
int sqlite_rows_register(struct sqlite_export *export);

/* StringIds: rows of the virtual table note which ids they need; those are written at the end. When the file had
 * strings before, ids are given anew. SQLite codes. */
int sqlite_strings_begin(struct sqlite_export *export);
int64_t sqlite_want_string(struct sqlite_export *export, int64_t id);
int sqlite_strings_finish(struct sqlite_export *export);
void sqlite_strings_free(struct sqlite_export *export);

#endif
