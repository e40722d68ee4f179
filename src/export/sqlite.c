/* A report as a SQLite file, table by table, with the names that nsys uses, so that queries written for its exports run on
 * ours.
 *
 * Everything comes from the report's own tables; the schema adds notes and NOT NULL where it knows the column. Tables
 * without rows are left out, as nsys does. */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "../base/utf8.h"
#include "../report/schema.h"
#include "export.h"

struct export {
    struct report *report;
    sqlite3 *database;
    const char *path;
    sqlite3_stmt *insert_string;
    uint64_t *string_seen; /* a bit for each id that is in StringIds already */
    size_t string_words;
};

static int fail(const struct export *export, struct error *err)
{
    int code = sqlite3_errcode(export->database);

    return error_set(err, code == SQLITE_FULL ? ERR_NO_SPACE : code == SQLITE_NOMEM ? ERR_NO_MEMORY : ERR_IO,
                     "cannot write '%s': %s", export->path, sqlite3_errmsg(export->database));
}

static int execute(const struct export *export, const char *sql, struct error *err)
{
    return sqlite3_exec(export->database, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : fail(export, err);
}

static const char *sql_type(enum column_type type)
{
    return type == COLUMN_REAL ? "REAL" : type == COLUMN_TEXT ? "TEXT" : "INTEGER";
}

static const struct schema_column *schema_column_of(const struct schema_table *table, const char *name)
{
    for (size_t i = 0; table && i < table->column_count; i++)
        if (strcmp(table->columns[i].name, name) == 0)
            return &table->columns[i];
    return NULL;
}

/* NOT NULL is promised only where it is so: an import or an old file may lack a column that has it now. */
static int create_table(const struct export *export, const struct report_table *table, const struct report_columns *rows,
                        struct error *err)
{
    int id = schema_find(table->name);
    const struct schema_table *known = id < 0 ? NULL : &schema_tables[id];
    sqlite3_str *sql = sqlite3_str_new(export->database);

    sqlite3_str_appendf(sql, "CREATE TABLE \"%w\" (\n", table->name);
    if (known)
        sqlite3_str_appendf(sql, "    -- %s\n\n", known->note);
    for (size_t c = 0; c < table->column_count; c++) {
        const struct schema_column *column = schema_column_of(known, table->columns[c].name);
        sqlite3_str_appendf(sql, "    \"%w\" %s%s%s", table->columns[c].name, sql_type(table->columns[c].type),
                            column && column->not_null && !rows->nulls[c] ? " NOT NULL" : "", c + 1 < table->column_count ? "," : "");
        sqlite3_str_appendf(sql, column ? " -- %s\n" : "\n", column ? column->note : NULL);
    }
    sqlite3_str_appendall(sql, ")");
    char *text = sqlite3_str_finish(sql);
    int code = text ? execute(export, text, err) : error_set(err, ERR_NO_MEMORY, "out of memory");
    sqlite3_free(text);
    return code;
}

static int prepare_insert(const struct export *export, const struct report_table *table, sqlite3_stmt **out, struct error *err)
{
    sqlite3_str *sql = sqlite3_str_new(export->database);

    sqlite3_str_appendf(sql, "INSERT INTO \"%w\" VALUES (", table->name);
    for (size_t c = 0; c < table->column_count; c++)
        sqlite3_str_appendall(sql, c ? ", ?" : "?");
    sqlite3_str_appendall(sql, ")");
    char *text = sqlite3_str_finish(sql);
    int result = text ? sqlite3_prepare_v2(export->database, text, -1, out, NULL) : SQLITE_NOMEM;
    sqlite3_free(text);
    return result == SQLITE_OK ? 0 : fail(export, err);
}

/* Texts in a database are UTF-8: who reads it may fail on anything else. */
static int bind_text(sqlite3_stmt *insert, int at, const char *bytes, size_t length)
{
    if (utf8_valid_length(bytes, length) == length)
        return sqlite3_bind_text64(insert, at, bytes, length, SQLITE_STATIC, SQLITE_UTF8);
    struct text clean = {0};
    utf8_add(&clean, bytes, length);
    int result = text_failed(&clean) ? SQLITE_NOMEM : sqlite3_bind_text64(insert, at, text_string(&clean), clean.length, SQLITE_TRANSIENT, SQLITE_UTF8);
    text_free(&clean);
    return result;
}

/* Makes sure that StringIds has this id. */
static int want_string(struct export *export, int64_t id)
{
    enum { LARGEST_ID = 1 << 28 }; /* of a damaged file: an id beyond points nowhere */
    size_t length;

    if (id < 0 || id > LARGEST_ID)
        return 0;
    if ((size_t)id / 64 >= export->string_words) {
        size_t words = ((size_t)id / 64 + 1) * 2;
        uint64_t *seen = realloc(export->string_seen, words * sizeof *seen);
        if (!seen)
            return ERR_NO_MEMORY;
        memset(seen + export->string_words, 0, (words - export->string_words) * sizeof *seen);
        export->string_seen = seen;
        export->string_words = words;
    }
    if (export->string_seen[id / 64] >> (id % 64) & 1)
        return 0;
    export->string_seen[id / 64] |= UINT64_C(1) << (id % 64);
    const char *bytes = report_string(export->report, id, &length);
    sqlite3_bind_int64(export->insert_string, 1, id);
    bind_text(export->insert_string, 2, bytes, length);
    int result = sqlite3_step(export->insert_string);
    sqlite3_reset(export->insert_string);
    return result == SQLITE_DONE ? 0 : ERR_IO;
}

static int bind_value(struct export *export, sqlite3_stmt *insert, const struct report_columns *rows, size_t row, size_t column,
                      enum column_type type)
{
    union { int64_t bits; double real; } value = { .bits = rows->values[column][row] };
    int at = (int)column + 1;
    size_t length;

    if (rows->nulls[column] && (rows->nulls[column][row / 64] >> (row % 64) & 1))
        return sqlite3_bind_null(insert, at) == SQLITE_OK ? 0 : ERR_IO;
    switch (type) {
    case COLUMN_REAL:
        return sqlite3_bind_double(insert, at, value.real) == SQLITE_OK ? 0 : ERR_IO;
    case COLUMN_TEXT: {
        const char *bytes = report_string(export->report, value.bits, &length);
        return bind_text(insert, at, bytes, length) == SQLITE_OK ? 0 : ERR_IO;
    }
    case COLUMN_STRING:
        if (want_string(export, value.bits) != 0)
            return ERR_IO;
        break;
    case COLUMN_INT:
    case COLUMN_TIME:
        break;
    }
    return sqlite3_bind_int64(insert, at, value.bits) == SQLITE_OK ? 0 : ERR_IO;
}

static int insert_rows(struct export *export, const struct report_table *table, const struct report_columns *rows, struct error *err)
{
    sqlite3_stmt *insert = NULL;
    int code = prepare_insert(export, table, &insert, err);

    for (size_t row = 0; row < rows->rows && code == 0; row++) {
        for (size_t c = 0; c < table->column_count && code == 0; c++)
            code = bind_value(export, insert, rows, row, c, table->columns[c].type);
        if (code != 0 || sqlite3_step(insert) != SQLITE_DONE)
            code = fail(export, err);
        sqlite3_reset(insert);
    }
    sqlite3_finalize(insert);
    return code;
}

static int add_table(struct export *export, const struct report_table *table, struct error *err)
{
    struct report_columns rows;
    int columns[64];

    if (table->rows == 0 || table->column_count > 64 || strcmp(table->name, "StringIds") == 0)
        return 0;
    for (size_t c = 0; c < table->column_count; c++)
        columns[c] = (int)c;
    int code = report_read(export->report, table, columns, table->column_count, &rows, err);
    if (code != 0)
        return code;
    code = create_table(export, table, &rows, err);
    if (code == 0)
        code = insert_rows(export, table, &rows, err);
    report_columns_free(&rows);
    return code;
}

static int add_all(struct export *export, struct error *err)
{
    /* The file is made anew and renamed when whole, so a journal would guard nothing. */
    int code = execute(export, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; BEGIN;"
                               "CREATE TABLE StringIds (\n    -- Consolidation of repetitive string values.\n\n"
                               "    id INTEGER NOT NULL PRIMARY KEY, -- ID reference value.\n"
                               "    value TEXT NOT NULL -- String value.\n)", err);

    if (code == 0 && sqlite3_prepare_v2(export->database, "INSERT INTO StringIds VALUES (?, ?)", -1, &export->insert_string,
                                        NULL) != SQLITE_OK)
        code = fail(export, err);
    for (size_t i = 0; i < report_table_count(export->report) && code == 0; i++)
        code = add_table(export, report_table_at(export->report, i), err);
    return code == 0 ? execute(export, "COMMIT", err) : code;
}

static int export_to_sqlite(struct report *report, const char *path, struct error *err)
{
    struct export export = { .report = report, .path = path };
    int code;

    if (sqlite3_open_v2(path, &export.database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) != SQLITE_OK)
        code = fail(&export, err);
    else
        code = add_all(&export, err);
    sqlite3_finalize(export.insert_string);
    if (sqlite3_close(export.database) != SQLITE_OK && code == 0)
        code = error_set(err, ERR_IO, "cannot finish '%s'", path);
    free(export.string_seen);
    return code;
}

const struct exporter export_sqlite = {
    .name = "sqlite", .help = "SQLite, with the tables and names of nsys's export", .extension = "sqlite",
    .export_report = export_to_sqlite,
};
