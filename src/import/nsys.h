/* The state of an import of nsys's SQLite export.
 *
 * nsys.c opens the file and matches its tables with the schema; nsys_strings.c reads StringIds; nsys_rows.c reads the
 * rows of a table, on several threads where that pays. */
#ifndef TACHO_IMPORT_NSYS_H
#define TACHO_IMPORT_NSYS_H

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "report/schema/schema.h"
#include "report/writer/writer.h"

/* Maps the file's string ids to ours. Ids are small numbers in all files of nsys; in other files they may be
 * anything. */
struct nsys_string_map {
    int64_t *dense; /* owned; by their id: ours + 1, or 0 if the file has no such string */
    size_t dense_count;
    struct nsys_string_pair {
        int64_t theirs, ours;
    } *others; /* owned; sorted by theirs */
    size_t other_count, other_capacity;
};

struct nsys {
    const char *path;
    char *uri; /* owned */
    uint64_t file_bytes;
    sqlite3 *database;
    struct writer *writer;
    struct nsys_string_map strings;
    int without_journal, damaged_schema; /* how the file had to be opened */
    uint64_t rows;                       /* imported rows */
    int damaged;                         /* some table could not be read to its end */
    char damage[256];                    /* SQLite's first message about it */
};

/* Opens the file once more, for another thread. A SQLite code; *out must be closed whatever it is. */
int nsys_open(const struct nsys *import, sqlite3 **out);

/* SQLite's last message, as part of a sentence of one line. */
void nsys_words(char *out, size_t size, sqlite3 *database);

/* Notes that a table could not be read to its end, with SQLite's message. */
void nsys_note_damage(struct nsys *import, const char *table, sqlite3 *database);

/* Reads StringIds into the writer's pool. 0 or ERR_NO_MEMORY. */
int nsys_read_strings(struct nsys *import, struct error *err);
/* Our id, or -1 for one that points nowhere. Any thread may ask. */
int64_t nsys_map_string(const struct nsys_string_map *map, int64_t theirs);
void nsys_strings_free(struct nsys_string_map *map);

/* Column c of the query is column order[c] of the schema's table. */
struct nsys_plan {
    enum table_id id;
    const char *table; /* its name in the file */
    char *sql;         /* owned, from sqlite3_malloc: the SELECT without a WHERE */
    int order[64];
    enum column_type types[64];
    int count, text_count;
    int own_rowid; /* a column is called rowid: rows cannot be selected by their rowid */
};

/* All rows of a table, in its order. 0 or ERR_NO_MEMORY; a damaged table is noted and its readable rows are kept. */
int nsys_read_rows(struct nsys *import, const struct nsys_plan *plan, struct error *err);

#endif
