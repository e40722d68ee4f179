/* Exports a report as a SQLite file, table by table, with the names that nsys uses, so that queries and scripts written
 * for its exports run on ours.
 *
 * The data comes from the report's own tables; the schema adds types, keys and notes, enums.def the ENUM_ tables.
 * One INSERT … SELECT from a virtual table over the decoded columns (sqlite_rows.c) inserts the rows of a table,
 * which costs half of what binding each value does. */
#include "sqlite_export.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "export/nsys_tables.h"
#include "report/schema/schema.h"

static int sqlite_export_fail(const struct sqlite_export *export, struct error *err)
{
    int code = sqlite3_errcode(export->database);

    return error_set(err,
                     code == SQLITE_FULL    ? ERR_NO_SPACE
                     : code == SQLITE_NOMEM ? ERR_NO_MEMORY
                                            : ERR_IO,
                     "cannot write '%s': %s", export->path, sqlite3_errmsg(export->database));
}

static int sqlite_export_execute(const struct sqlite_export *export, const char *sql, struct error *err)
{
    return sqlite3_exec(export->database, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : sqlite_export_fail(export, err);
}

/* Runs a text of sqlite3_mprintf or sqlite3_str_finish, and frees it. */
static int execute_text(const struct sqlite_export *export, char *sql, struct error *err)
{
    int code = sql ? sqlite_export_execute(export, sql, err) : error_no_memory(err);

    sqlite3_free(sql);
    return code;
}

static int sqlite_export_has_table(void *context, const char *name)
{
    const struct sqlite_export *export = context;

    return sqlite3_table_column_metadata(export->database, "main", name, NULL, NULL, NULL, NULL, NULL, NULL) ==
           SQLITE_OK;
}

/* ---- the words of a table -------------------------------------------------------------------------------------- */

/* One table as it will be in the file. */
struct sqlite_export_shape {
    const char *name;
    const struct schema_table *known; /* NULL: the schema has no such table */
    const struct report_table *table; /* NULL: no rows */
    int columns[EXPORT_COLUMNS_MAX];  /* columns of the report's table */
    const struct schema_column *notes[EXPORT_COLUMNS_MAX];
    size_t count;
    size_t keys[EXPORT_COLUMNS_MAX], key_count;
    uint64_t not_null; /* a bit for each column that is NOT NULL */
};

static const char *sql_type(enum column_type type)
{
    return type == COLUMN_REAL ? "REAL" : type == COLUMN_TEXT ? "TEXT" : "INTEGER";
}

static char *table_sql(const struct sqlite_export *export, const struct sqlite_export_shape *shape)
{
    sqlite3_str *sql = sqlite3_str_new(export->database);

    sqlite3_str_appendf(sql, "CREATE TABLE \"%w\" (\n", shape->name);
    if (shape->known)
        sqlite3_str_appendf(sql, "    -- %s\n\n", shape->known->note);
    for (size_t c = 0; c < shape->count; c++) {
        const struct schema_column *note = shape->notes[c];
        const char *name = shape->table ? shape->table->columns[shape->columns[c]].name : note->name;
        enum column_type type = shape->table ? shape->table->columns[shape->columns[c]].type : note->type;
        sqlite3_str_appendf(sql, "    \"%w\" %s%s%s%s", name, sql_type(type),
                            shape->not_null >> c & 1 ? " NOT NULL" : "",
                            shape->key_count == 1 && shape->keys[0] == c ? " PRIMARY KEY" : "",
                            c + 1 < shape->count || shape->key_count > 1 ? "," : "");
        sqlite3_str_appendf(sql, note ? " -- %s\n" : "\n", note ? note->note : NULL);
    }
    for (size_t k = 0; shape->key_count > 1 && k < shape->key_count; k++)
        sqlite3_str_appendf(sql, "%s\"%w\"%s", k ? ", " : "\n    PRIMARY KEY (", shape->notes[shape->keys[k]]->name,
                            k + 1 < shape->key_count ? "" : ")\n");
    sqlite3_str_appendall(sql, ")");
    return sqlite3_str_finish(sql);
}

/* A table that the report has no rows of. */
static void shape_empty(struct sqlite_export_shape *shape, const struct schema_table *known)
{
    *shape = (struct sqlite_export_shape){ .name = known->name, .known = known };
    for (size_t c = 0; c < known->column_count; c++) {
        if (known->columns[c].extra)
            continue;
        shape->not_null |= (uint64_t)(known->columns[c].not_null != 0) << shape->count;
        if (known->columns[c].key)
            shape->keys[shape->key_count++] = shape->count;
        shape->notes[shape->count++] = &known->columns[c];
    }
}

/* ---- properties of the rows ------------------------------------------------------------------------------------ */

struct sqlite_export_key {
    int64_t first, second;
};

static int compare_keys(const void *a, const void *b)
{
    const struct sqlite_export_key *x = a, *y = b;

    return COMPARE(x->first, y->first) ?: COMPARE(x->second, y->second);
}

/* Whether the columns are a key. Only in a damaged or a foreign file they are not, and its rows must not get lost. */
static int sqlite_export_is_key(const struct sqlite_export *export, const struct sqlite_export_shape *shape)
{
    struct report_columns rows;
    struct error err;
    int columns[2], unique = 0, sorted = 1;

    if (shape->key_count > 2)
        return 0;
    for (size_t k = 0; k < shape->key_count; k++)
        columns[k] = shape->columns[shape->keys[k]];
    if (report_read(export->report, shape->table, columns, shape->key_count, &rows, &err) != 0)
        return 0;
    struct sqlite_export_key *keys = malloc((rows.rows + 1) * sizeof *keys);
    for (size_t r = 0; keys && r < rows.rows; r++) {
        keys[r] = (struct sqlite_export_key){ rows.values[0][r], shape->key_count > 1 ? rows.values[1][r] : 0 };
        sorted = sorted && (r == 0 || compare_keys(&keys[r - 1], &keys[r]) < 0);
    }
    unique = keys && !rows.nulls[0] && (shape->key_count < 2 || !rows.nulls[1]);
    if (unique && !sorted)
        qsort(keys, rows.rows, sizeof *keys, compare_keys);
    for (size_t r = 1; unique && !sorted && r < rows.rows; r++)
        unique = compare_keys(&keys[r - 1], &keys[r]) != 0;
    free(keys);
    report_columns_free(&rows);
    return unique;
}

static void shape_table(const struct sqlite_export *export, const struct report_table *table,
                        struct sqlite_export_shape *shape)
{
    int id = schema_find(table->name);

    *shape = (struct sqlite_export_shape){ .name = table->name,
                                           .known = id < 0 ? NULL : &schema_tables[id],
                                           .table = table };
    shape->count = nsys_columns(export->report, table, shape->columns, EXPORT_COLUMNS_MAX);
    for (size_t c = 0; c < shape->count; c++) {
        shape->notes[c] = nsys_column(shape->known, table->columns[shape->columns[c]].name);
        if (shape->notes[c] && shape->notes[c]->key)
            shape->keys[shape->key_count++] = c;
    }
    if (shape->key_count && !sqlite_export_is_key(export, shape))
        shape->key_count = 0;
}

/* ---- keys, when appending -------------------------------------------------------------------------------------- */

/* Every capture counts its call chains and samples from the start. Other keys mean the same thing in every file. */
static int sqlite_export_is_counted(const struct schema_column *column)
{
    return column->key && strncmp(column->note, "Key", 3) == 0;
}

static int find_next_keys(struct sqlite_export *export, struct error *err)
{
    for (size_t i = 0; i < TABLE_COUNT; i++) {
        const struct schema_table *known = &schema_tables[i];
        const struct report_table *table = report_table(export->report, known->name);
        sqlite3_stmt *query = NULL;
        if (!sqlite_export_is_counted(&known->columns[0]) || !table || !table->rows ||
            !export_wants_table(export->options, known->name) || !sqlite_export_has_table(export, known->name))
            continue;
        char *sql = sqlite3_mprintf("SELECT max(\"%w\") + 1 FROM main.\"%w\"", known->columns[0].name, known->name);
        int code = sql ? sqlite3_prepare_v2(export->database, sql, -1, &query, NULL) : SQLITE_NOMEM;
        if (code == SQLITE_OK && sqlite3_step(query) == SQLITE_ROW)
            export->next_key[i] = sqlite3_column_int64(query, 0);
        sqlite3_free(sql);
        if (code != SQLITE_OK || sqlite3_finalize(query) != SQLITE_OK)
            return sqlite_export_fail(export, err);
    }
    return 0;
}

/* The number to add to the values of a column. */
static int64_t key_shift(const struct sqlite_export *export, const struct sqlite_export_shape *shape, size_t c)
{
    static const char refers[] = "REFERENCES ";
    const struct schema_column *note = shape->notes[c];
    char name[128] = "";

    if (note && sqlite_export_is_counted(note))
        snprintf(name, sizeof name, "%s", shape->name);
    else if (note && strncmp(note->note, refers, sizeof refers - 1) == 0)
        snprintf(name, sizeof name, "%.*s", (int)strcspn(note->note + sizeof refers - 1, "("),
                 note->note + sizeof refers - 1);
    int id = name[0] ? schema_find(name) : -1;
    return id < 0 ? 0 : export->next_key[id];
}

/* ---- tables ---------------------------------------------------------------------------------------------------- */

/* A reference of 0 or NULL is none, and stays. */
static char *insert_sql(const struct sqlite_export *export, const struct sqlite_export_shape *shape, int there)
{
    sqlite3_str *sql = sqlite3_str_new(export->database);

    sqlite3_str_appendf(sql, "INSERT INTO main.\"%w\" (", shape->name);
    for (size_t c = 0; c < shape->count; c++)
        sqlite3_str_appendf(sql, "%s\"%w\"", c ? ", " : "", shape->table->columns[shape->columns[c]].name);
    sqlite3_str_appendall(sql, ") SELECT ");
    for (size_t c = 0; c < shape->count; c++) {
        long long shift = key_shift(export, shape, c);
        sqlite3_str_appendf(sql, "%sc%d", c ? ", " : "", (int)c);
        if (shift)
            sqlite3_str_appendf(sql, shape->notes[c]->key ? " + %lld" : " + %lld * (c%d > 0)", shift, (int)c);
    }
    sqlite3_str_appendall(sql, " FROM temp.tacho_rows");
    if (there && shape->key_count && !key_shift(export, shape, shape->keys[0]))
        sqlite3_str_appendall(sql, " WHERE true ON CONFLICT DO NOTHING"); /* the file has this row */
    return sqlite3_str_finish(sql);
}

static int insert_rows(struct sqlite_export *export, const struct sqlite_export_shape *shape, int there,
                       uint64_t *nulls, struct error *err)
{
    struct error row_error = { 0 };
    int code;

    if ((code = export_rows_open(export->report, shape->table, shape->columns, shape->count, export->options,
                                 export->shift_ns, &export->rows, err)) != 0)
        return code;
    for (size_t c = 0; c < shape->count; c++) {
        export->types[c] = shape->table->columns[shape->columns[c]].type;
        export->as_bytes[c] = strcmp(shape->table->columns[shape->columns[c]].name, "binaryData") == 0;
    }
    export->row_error = &row_error;
    export->nulls_seen = 0;
    code = execute_text(export, insert_sql(export, shape, there), err);
    *nulls = export->nulls_seen;
    export_rows_close(export->rows);
    export->rows = NULL;
    if (row_error.code != 0)
        *err = row_error;
    return row_error.code != 0 ? row_error.code : code;
}

/* NOT NULL is declared only where it holds, which is known only when all rows are in. The table's definition is then
 * changed, which SQLite allows for constraints (its pages stay the same). */
static int promise_not_null(const struct sqlite_export *export, struct sqlite_export_shape *shape, uint64_t nulls,
                            struct error *err)
{
    for (size_t c = 0; c < shape->count; c++)
        if (shape->notes[c] && shape->notes[c]->not_null && !(nulls >> c & 1))
            shape->not_null |= UINT64_C(1) << c;
    char *text = table_sql(export, shape);
    char *sql = text ? sqlite3_mprintf("UPDATE main.sqlite_schema SET sql = %Q WHERE type = 'table' AND name = %Q",
                                       text, shape->name)
                     : NULL;
    sqlite3_free(text);
    return execute_text(export, sql, err);
}

static int sqlite_export_add_table(struct sqlite_export *export, const struct report_table *table, struct error *err)
{
    struct sqlite_export_shape shape;
    uint64_t nulls;
    int there = sqlite_export_has_table(export, table->name), code;

    shape_table(export, table, &shape);
    if (!there && (code = execute_text(export, table_sql(export, &shape), err)) != 0)
        return code;
    if ((code = insert_rows(export, &shape, there, &nulls, err)) != 0)
        return code;
    return there ? 0 : promise_not_null(export, &shape, nulls, err);
}

/* All tables of the schema that are not there yet. */
static int add_empty_tables(struct sqlite_export *export, struct error *err)
{
    struct sqlite_export_shape shape;
    int code;

    for (size_t i = 0; i < TABLE_COUNT; i++) {
        if (sqlite_export_has_table(export, schema_tables[i].name) ||
            !nsys_wants_empty(export->options, (enum table_id)i))
            continue;
        shape_empty(&shape, &schema_tables[i]);
        if ((code = execute_text(export, table_sql(export, &shape), err)) != 0)
            return code;
    }
    return 0;
}

/* ---- enums and metadata ---------------------------------------------------------------------------------------- */

static int create_enum(const struct sqlite_export *export, const char *name, const char *note, struct error *err)
{
    return execute_text(export,
                        sqlite3_mprintf("CREATE TABLE IF NOT EXISTS main.\"%w\" (\n    -- %s\n\n"
                                        "    id INTEGER NOT NULL PRIMARY KEY, -- Number.\n    name TEXT, -- Symbol.\n"
                                        "    label TEXT -- For people.\n)",
                                        name, note),
                        err);
}

static int put_enum_value(const struct sqlite_export *export, const char *list, int64_t id, const char *name,
                          const char *label, struct error *err)
{
    return execute_text(export,
                        sqlite3_mprintf("INSERT OR REPLACE INTO main.\"%w\" VALUES (%lld, %Q, %Q)", list, (long long)id,
                                        name, label),
                        err);
}

static int sqlite_export_put_enum(void *context, const struct schema_enum *list, struct error *err)
{
    const struct sqlite_export *export = context;
    int code;

    if ((code = create_enum(export, list->name, list->note, err)) != 0)
        return code;
    for (size_t i = 0; i < list->count; i++)
        if ((code = put_enum_value(export, list->name, list->values[i].id, list->values[i].name, list->values[i].label,
                                   err)) != 0)
            return code;
    return 0;
}

static int add_metadata(const struct sqlite_export *export, struct error *err)
{
    int code;

    if (!export_wants_table(export->options, "META_DATA_EXPORT"))
        return 0;
    if ((code = sqlite_export_execute(export,
                                      "CREATE TABLE IF NOT EXISTS main.META_DATA_EXPORT (\n    -- " NSYS_METADATA_NOTE
                                      "\n\n"
                                      "    name TEXT NOT NULL, -- What.\n    value TEXT -- Value.\n);"
                                      "DELETE FROM main.META_DATA_EXPORT",
                                      err)) != 0)
        return code;
    for (const struct nsys_metadata *row = nsys_metadata; row->name; row++)
        if ((code = execute_text(export,
                                 sqlite3_mprintf("INSERT INTO main.META_DATA_EXPORT VALUES (%Q, %Q)", row->name,
                                                 row->value),
                                 err)) != 0)
            return code;
    return 0;
}

/* ---- all of it ------------------------------------------------------------------------------------------------- */

/* Large pages are faster, but each table has at least one. */
static const char *page_size(const struct report *report)
{
    uint64_t rows = 0;

    for (size_t i = 0; i < report_table_count(report); i++)
        rows += report_table_at(report, i)->rows;
    return rows < 300000 ? "PRAGMA page_size = 4096" : "PRAGMA page_size = 65536";
}

static int sqlite_export_begin(struct sqlite_export *export, struct error *err)
{
    int code;

    if ((code = sqlite_export_execute(export, page_size(export->report), err)) != 0)
        return code;
    /* The file is new and renamed when complete, so a journal would guard nothing. The cache is small because a full
     * page is never needed again. */
    code = sqlite_export_execute(export,
                                 "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
                                 "PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY; BEGIN;"
                                 "PRAGMA writable_schema = ON;"
                                 "CREATE TABLE IF NOT EXISTS main.StringIds (\n    -- Every string once.\n\n"
                                 "    id INTEGER NOT NULL PRIMARY KEY, -- What other tables refer to.\n"
                                 "    value TEXT NOT NULL -- The bytes.\n)",
                                 err);
    if (code != 0)
        return code;
    return sqlite_rows_register(export) == SQLITE_OK && sqlite_strings_begin(export) == SQLITE_OK
               ? 0
               : sqlite_export_fail(export, err);
}

static int sqlite_export_add_tables(struct sqlite_export *export, struct error *err)
{
    int code;

    for (size_t i = 0; i < report_table_count(export->report); i++) {
        const struct report_table *table = report_table_at(export->report, i);
        if (!table->rows || strcmp(table->name, "StringIds") == 0 || strcmp(table->name, "META_DATA_EXPORT") == 0 ||
            !export_wants_table(export->options, table->name))
            continue;
        if ((code = sqlite_export_add_table(export, table, err)) != 0)
            return code;
    }
    return 0;
}

static int finish_strings(struct sqlite_export *export, struct error *err)
{
    if (sqlite_strings_finish(export) != SQLITE_OK)
        return sqlite_export_fail(export, err);
    if (export->options->append || export_wants_table(export->options, "StringIds"))
        return 0;
    return sqlite_export_execute(export, "DROP TABLE main.StringIds", err);
}

static int sqlite_export_add_all(struct sqlite_export *export, struct error *err)
{
    const struct nsys_enum_sink enums = { sqlite_export_has_table, sqlite_export_put_enum, export };
    int code;

    if ((code = export_shift(export->options, export->report, &export->shift_ns, err)) != 0)
        return code;
    if ((code = sqlite_export_begin(export, err)) != 0)
        return code;
    if (export->options->append && (code = find_next_keys(export, err)) != 0)
        return code;
    if ((code = sqlite_export_add_tables(export, err)) != 0)
        return code;
    if ((code = finish_strings(export, err)) != 0)
        return code;
    if ((code = add_empty_tables(export, err)) != 0)
        return code;
    if ((code = nsys_enums(export->report, export->options, &enums, err)) != 0)
        return code;
    if ((code = add_metadata(export, err)) != 0)
        return code;
    return sqlite_export_execute(export, "PRAGMA writable_schema = OFF; COMMIT", err);
}

static int export_to_sqlite(struct report *report, const char *path, const struct export_options *options,
                            struct error *err)
{
    struct sqlite_export export = { .report = report, .path = path, .options = options };
    /* One thread uses the connection, so SQLite's locks would guard nothing; they cost a third of the time. */
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    int code = sqlite3_open_v2(path, &export.database, flags, NULL) == SQLITE_OK ? sqlite_export_add_all(&export, err)
                                                                                 : sqlite_export_fail(&export, err);

    sqlite_strings_free(&export);
    int closed = sqlite3_close(export.database);
    if (code != 0)
        return code;
    return closed == SQLITE_OK ? 0 : error_set(err, ERR_IO, "cannot finish '%s'", path);
}

const struct exporter export_sqlite = {
    .name = "sqlite",
    .help = "SQLite, with the tables and names of nsys's export",
    .extension = "sqlite",
    .appends = 1,
    .needs_file = 1,
    .export_report = export_to_sqlite,
};
