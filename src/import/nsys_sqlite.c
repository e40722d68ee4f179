/* The SQLite export of nsys (and our own) to a report: every table and column that the schema knows, by name.
 *
 * The schema decides, not this file: a table added to schema.def is imported from then on. What the schema does not know
 * is left out. Text goes into the report's string pool, and ids of StringIds become ids of that pool. */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../report/schema.h"
#include "../report/writer.h"
#include "import.h"

struct string_pair { int64_t theirs, ours; };

struct import {
    const char *path;
    sqlite3 *database;
    struct writer *writer;
    struct string_pair *strings; /* owned; sorted by theirs */
    size_t string_count, string_capacity;
};

static int recognise(const void *bytes, size_t length)
{
    return length >= 16 && memcmp(bytes, "SQLite format 3", 16) == 0;
}

static int fail(const struct import *import, struct error *err)
{
    return error_set(err, ERR_BAD_FORMAT, "cannot read '%s' as an nsys export: %s", import->path, sqlite3_errmsg(import->database));
}

static int compare_strings(const void *a, const void *b)
{
    const struct string_pair *x = a, *y = b;

    return (x->theirs > y->theirs) - (x->theirs < y->theirs);
}

static int has_table(const struct import *import, const char *name)
{
    sqlite3_stmt *statement;
    int found = 0;

    if (sqlite3_prepare_v2(import->database, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", -1,
                           &statement, NULL) == SQLITE_OK) {
        sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
        found = sqlite3_step(statement) == SQLITE_ROW;
    }
    sqlite3_finalize(statement);
    return found;
}

static int add_string(struct import *import, int64_t id, const char *bytes, size_t length)
{
    if (import->string_count == import->string_capacity) {
        size_t capacity = import->string_capacity ? import->string_capacity * 2 : 1024;
        struct string_pair *strings = realloc(import->strings, capacity * sizeof *strings);
        if (!strings)
            return ERR_NO_MEMORY;
        import->strings = strings;
        import->string_capacity = capacity;
    }
    import->strings[import->string_count++] = (struct string_pair){ id, writer_string(import->writer, bytes, length) };
    return 0;
}

static int read_strings(struct import *import, struct error *err)
{
    sqlite3_stmt *statement = NULL;
    int step = SQLITE_DONE;

    if (!has_table(import, "StringIds"))
        return 0;
    if (sqlite3_prepare_v2(import->database, "SELECT id, value FROM StringIds", -1, &statement, NULL) != SQLITE_OK)
        return fail(import, err);
    while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
        const char *bytes = sqlite3_column_blob(statement, 1);
        size_t length = (size_t)sqlite3_column_bytes(statement, 1);
        if (add_string(import, sqlite3_column_int64(statement, 0), bytes ? bytes : "", length) != 0)
            break;
    }
    sqlite3_finalize(statement);
    if (step == SQLITE_ROW)
        return error_set(err, ERR_NO_MEMORY, "not enough memory for the strings of '%s'", import->path);
    if (step != SQLITE_DONE)
        return fail(import, err);
    if (import->string_count)
        qsort(import->strings, import->string_count, sizeof *import->strings, compare_strings);
    return 0;
}

/* Our id for one of theirs; the empty string for one that points nowhere. */
static int64_t map_string(const struct import *import, int64_t theirs)
{
    const struct string_pair key = { theirs, 0 };
    const struct string_pair *found = NULL;

    if (import->string_count)
        found = bsearch(&key, import->strings, import->string_count, sizeof key, compare_strings);
    return found ? found->ours : 0;
}

/* Which columns the file's table has: column c of the query is column order[c] of the schema. */
struct query {
    sqlite3_stmt *statement;
    int order[64];
    int count;
};

static int find_columns(const struct import *import, const struct schema_table *table, struct query *query, struct error *err)
{
    sqlite3_stmt *statement;

    query->count = 0;
    if (sqlite3_prepare_v2(import->database, "SELECT name FROM pragma_table_info(?)", -1, &statement, NULL) != SQLITE_OK)
        return fail(import, err);
    sqlite3_bind_text(statement, 1, table->name, -1, SQLITE_STATIC);
    while (sqlite3_step(statement) == SQLITE_ROW)
        for (size_t c = 0; c < table->column_count; c++)
            if (strcmp(table->columns[c].name, (const char *)sqlite3_column_text(statement, 0)) == 0 && query->count < 64)
                query->order[query->count++] = (int)c;
    sqlite3_finalize(statement);
    return 0;
}

static int prepare(const struct import *import, const struct schema_table *table, struct query *query, struct error *err)
{
    sqlite3_str *sql = sqlite3_str_new(import->database);

    for (int i = 0; i < query->count; i++)
        sqlite3_str_appendf(sql, "%s\"%w\"", i ? ", " : "SELECT ", table->columns[query->order[i]].name);
    sqlite3_str_appendf(sql, " FROM \"%w\"", table->name);
    char *text = sqlite3_str_finish(sql);
    int result = text ? sqlite3_prepare_v2(import->database, text, -1, &query->statement, NULL) : SQLITE_NOMEM;
    sqlite3_free(text);
    return result == SQLITE_OK ? 0 : fail(import, err);
}

/* One value in the eight bytes that it has in a row. */
static int64_t value_of(const struct import *import, sqlite3_stmt *statement, int column, enum column_type type)
{
    union { double real; int64_t bits; } real;
    const char *bytes;

    switch (type) {
    case COLUMN_REAL:
        real.real = sqlite3_column_double(statement, column);
        return real.bits;
    case COLUMN_TEXT:
        bytes = sqlite3_column_blob(statement, column);
        return writer_string(import->writer, bytes ? bytes : "", (size_t)sqlite3_column_bytes(statement, column));
    case COLUMN_STRING:
        return map_string(import, sqlite3_column_int64(statement, column));
    case COLUMN_INT:
    case COLUMN_TIME:
        break;
    }
    return sqlite3_column_int64(statement, column);
}

static int import_table(struct import *import, enum table_id id, struct error *err)
{
    const struct schema_table *table = &schema_tables[id];
    struct query query = {0};
    uint64_t row[65]; /* present bits, then the columns: see schema.h */
    int step;

    if (find_columns(import, table, &query, err) != 0)
        return err->code;
    if (query.count == 0)
        return 0;
    if (prepare(import, table, &query, err) != 0)
        return err->code;
    while ((step = sqlite3_step(query.statement)) == SQLITE_ROW) {
        memset(row, 0, sizeof row);
        for (int i = 0; i < query.count; i++) {
            int column = query.order[i];
            if (sqlite3_column_type(query.statement, i) == SQLITE_NULL)
                continue;
            row[1 + column] = (uint64_t)value_of(import, query.statement, i, table->columns[column].type);
            row[0] |= UINT64_C(1) << column;
        }
        writer_append(import->writer, id, row);
    }
    sqlite3_finalize(query.statement);
    return step == SQLITE_DONE ? 0 : fail(import, err);
}

static int import_all(struct import *import, struct error *err)
{
    int code = read_strings(import, err);

    for (int id = 0; id < TABLE_COUNT && code == 0; id++)
        if (id != TABLE_StringIds && has_table(import, schema_tables[id].name))
            code = import_table(import, (enum table_id)id, err);
    return code;
}

static int import_file(const char *path, const char *out_path, int overwrite, struct error *err)
{
    struct import import = { .path = path };
    struct writer_options options = { .overwrite = overwrite };

    if (sqlite3_open_v2(path, &import.database, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK) {
        fail(&import, err);
        sqlite3_close(import.database);
        return err->code;
    }
    sqlite3_db_config(import.database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL); /* the file may come from anyone */
    int code = writer_open(out_path, &options, &import.writer, err);
    if (code == 0) {
        struct error close_error = {0};
        code = import_all(&import, err);
        int closed = writer_close(import.writer, &close_error);
        if (code == 0 && closed != 0) {
            *err = close_error;
            code = closed;
        }
        if (code != 0)
            unlink(out_path); /* half an import would pass for a whole one */
    }
    free(import.strings);
    sqlite3_close(import.database);
    return code;
}

const struct importer import_nsys_sqlite = {
    .name = "nsys-sqlite", .help = "the SQLite export of Nsight Systems", .extension = "sqlite",
    .recognise = recognise, .import = import_file,
};
