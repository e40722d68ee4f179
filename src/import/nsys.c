/* Imports the SQLite export of nsys (and our own): every table and column that the schema knows, by name.
 *
 * The schema decides, not this file: a table added to schema.def is imported from then on. Data that is not imported
 * is noted in the report's table TACHO_IMPORT. No code in the file's schema (views, triggers) runs, and a damaged
 * table costs only its own rows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "import.h"
#include "nsys.h"
#include "report/schema/enums.h"

/* Old names of tables and columns, from older exports. */
static const struct alias {
    const char *table;
    enum table_id now;
    const char *column, *column_now; /* NULL: none of its columns was renamed */
} aliases[] = {
    { "EXPORT_META_DATA", TABLE_META_DATA_EXPORT, NULL, NULL },
    { "TARGET_INFO_CUDA_NULL_STREAM", TABLE_TARGET_INFO_CUDA_CONTEXT_INFO, "streamId", "nullStreamId" },
};

static int nsys_recognise(const void *bytes, size_t length)
{
    return length >= 16 && memcmp(bytes, "SQLite format 3", 16) == 0;
}

/* The message may quote the file, so it is cut to one short line. */
void nsys_words(char *out, size_t size, sqlite3 *database)
{
    const char *words = sqlite3_errmsg(database);
    size_t length = strcspn(words, "\r\n");

    snprintf(out, size, "%.*s", (int)(length < 160 ? length : 160), words);
}

static int nsys_fail(const struct nsys *import, struct error *err)
{
    char words[200];

    nsys_words(words, sizeof words, import->database);
    return error_set(err, ERR_BAD_FORMAT, "cannot read '%s' as an nsys export: %s", import->path, words);
}

/* ---- data that was not imported -------------------------------------------------------------------------------- */

void nsys_note_damage(struct nsys *import, const char *table, sqlite3 *database)
{
    if (!import->damaged)
        nsys_words(import->damage, sizeof import->damage, database);
    import->damaged = 1;
    import_note(import->writer, table, NULL, "damaged", -1);
}

/* ---- opening --------------------------------------------------------------------------------------------------- */

/* The path as SQLite's URIs want it; allocated. */
static char *make_uri(const char *path, const char *parameters)
{
    char *uri = malloc(5 + strlen(path) * 3 + strlen(parameters) + 1), *at = uri;

    if (!uri)
        return NULL;
    at = stpcpy(at, "file:");
    for (const char *c = path; *c; c++)
        if (strchr("?#%", *c))
            at += sprintf(at, "%%%02X", (unsigned char)*c);
        else
            *at++ = *c;
    strcpy(at, parameters);
    return uri;
}

int nsys_open(const struct nsys *import, sqlite3 **out)
{
    /* No connection is shared by threads, so SQLite's locks would guard nothing; they cost half of the time. */
    int code = sqlite3_open_v2(import->uri, out, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);

    if (code != SQLITE_OK)
        return code;
    sqlite3_db_config(*out, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL); /* the file may come from anyone */
    sqlite3_limit(*out, SQLITE_LIMIT_LENGTH, 1 << 28);
    sqlite3_busy_timeout(*out, 1000);
    if (import->damaged_schema) /* then a table whose description is damaged is left out, and the others can be read */
        sqlite3_exec(*out, "PRAGMA writable_schema = ON", NULL, NULL, NULL);
    return sqlite3_exec(*out, "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL);
}

/* A file that was left with its journal, in a folder that is not writable, is read without the journal. If its list
 * of tables is damaged, the tables that can be found are read. */
static int nsys_open_file(struct nsys *import, struct error *err)
{
    int code = SQLITE_ERROR;

    for (int attempt = 0; attempt < 3; attempt++) {
        free(import->uri);
        sqlite3_close(import->database);
        import->database = NULL;
        import->uri = make_uri(import->path, import->without_journal ? "?mode=ro&immutable=1" : "?mode=ro");
        if (!import->uri)
            return error_no_memory(err);
        code = nsys_open(import, &import->database) & 0xFF;
        if (code == SQLITE_CANTOPEN || code == SQLITE_READONLY)
            import->without_journal = 1;
        else if (code == SQLITE_CORRUPT || code == SQLITE_ERROR)
            import->damaged_schema = 1;
        else
            break;
    }
    return code == SQLITE_OK || (code == SQLITE_CORRUPT && import->damaged_schema) ? 0 : nsys_fail(import, err);
}

static void note_journal(struct nsys *import)
{
    static const char *const endings[] = { "-wal", "-journal" };
    char name[4096];
    struct stat status;

    for (int i = 0; i < 2; i++)
        if (snprintf(name, sizeof name, "%s%s", import->path, endings[i]) < (int)sizeof name &&
            stat(name, &status) == 0 && status.st_size > 0)
            import_note(import->writer, "", NULL, "journal-not-read", -1);
}

/* ---- tables ---------------------------------------------------------------------------------------------------- */

struct nsys_names {
    char **list; /* owned, and each of them */
    size_t count, capacity;
};

static void free_names(struct nsys_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->list[i]);
    free(names->list);
}

static int nsys_add_name(struct nsys_names *names, const char *name)
{
    if (array_reserve(&names->list, &names->capacity, names->count + 1, sizeof *names->list) != 0)
        return ERR_NO_MEMORY;
    names->list[names->count] = strdup(name);
    return names->list[names->count] ? (names->count++, 0) : ERR_NO_MEMORY;
}

static int nsys_has_name(const struct nsys_names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->list[i], name) == 0)
            return 1;
    return 0;
}

/* The first column of every row of a query that may have one parameter. */
static int nsys_list_names(struct nsys *import, const char *sql, const char *parameter, struct nsys_names *names,
                           struct error *err)
{
    sqlite3_stmt *statement = NULL;
    int step, code = 0;

    if (sqlite3_prepare_v2(import->database, sql, -1, &statement, NULL) != SQLITE_OK)
        return nsys_fail(import, err);
    if (parameter)
        sqlite3_bind_text(statement, 1, parameter, -1, SQLITE_STATIC);
    while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(statement, 0);
        if (nsys_add_name(names, name ? name : "") != 0 && (code = error_no_memory(err)) != 0)
            goto finalize;
    }
    if (step != SQLITE_DONE)
        code = nsys_fail(import, err);
finalize:
    sqlite3_finalize(statement);
    return code;
}

/* The schema's table for a table of the file, or -1. */
static int find_table(const struct nsys_names *tables, const char *name, const struct alias **alias)
{
    *alias = NULL;
    for (size_t i = 0; i < COUNT_OF(aliases); i++)
        if (strcmp(aliases[i].table, name) == 0 && !nsys_has_name(tables, schema_tables[aliases[i].now].name)) {
            *alias = &aliases[i];
            return aliases[i].now;
        }
    return schema_find(name);
}

static int nsys_find_column(const struct schema_table *table, const struct alias *alias, const char *name)
{
    if (alias && alias->column && strcmp(alias->column, name) == 0)
        name = alias->column_now;
    for (size_t c = 0; c < table->column_count; c++)
        if (strcmp(table->columns[c].name, name) == 0)
            return (int)c;
    return -1;
}

/* Matches the columns of the file's table with those of the schema's. */
static int nsys_make_plan(struct nsys *import, const struct alias *alias, struct nsys_plan *plan, struct error *err)
{
    const struct schema_table *table = &schema_tables[plan->id];
    struct nsys_names columns = { 0 };
    sqlite3_str *sql;
    int code;

    if ((code = nsys_list_names(import, "SELECT name FROM pragma_table_info(?)", plan->table, &columns, err)) != 0)
        goto free_columns;
    sql = sqlite3_str_new(import->database);
    for (size_t i = 0; i < columns.count; i++) {
        int c = nsys_find_column(table, alias, columns.list[i]);
        plan->own_rowid |= sqlite3_stricmp(columns.list[i], "rowid") == 0;
        if (c < 0 || plan->count == 64) {
            import_note(import->writer, plan->table, columns.list[i], "unknown-column", -1);
            continue;
        }
        sqlite3_str_appendf(sql, "%s\"%w\"", plan->count ? ", " : "SELECT ", columns.list[i]);
        plan->types[plan->count] = table->columns[c].type;
        plan->text_count += table->columns[c].type == COLUMN_TEXT;
        plan->order[plan->count++] = c;
    }
    sqlite3_str_appendf(sql, " FROM \"%w\"", plan->table);
    if (!(plan->sql = sqlite3_str_finish(sql)))
        code = error_no_memory(err);
free_columns:
    free_names(&columns);
    return code;
}

static int import_table(struct nsys *import, const struct nsys_names *tables, const char *name, struct error *err)
{
    const struct alias *alias;
    int id = find_table(tables, name, &alias);
    struct nsys_plan plan = { .table = name, .id = (enum table_id)id };
    int code;

    if (id == TABLE_StringIds)
        return 0;
    if (id < 0) {
        import_note(import->writer, name, NULL, "unknown-table", -1);
        return 0;
    }
    code = nsys_make_plan(import, alias, &plan, err);
    if (code == ERR_BAD_FORMAT) {
        nsys_note_damage(import, name, import->database);
        return 0;
    }
    if (code != 0)
        return code;
    if (plan.count)
        code = nsys_read_rows(import, &plan, err);
    sqlite3_free(plan.sql);
    return code;
}

/* ---- enums ----------------------------------------------------------------------------------------------------- */

static int same_text(const char *ours, const char *theirs)
{
    return theirs && strcmp(ours, theirs) == 0;
}

static void keep_enum_value(struct nsys *import, const char *table, int64_t id, const char *name, const char *label)
{
    struct row_TACHO_ENUM row = { 0 };

    ROW_SET(&row, TACHO_ENUM, enumName, writer_string(import->writer, table, strlen(table)));
    ROW_SET(&row, TACHO_ENUM, id, id);
    if (name)
        ROW_SET(&row, TACHO_ENUM, name, writer_string(import->writer, name, strlen(name)));
    if (label)
        ROW_SET(&row, TACHO_ENUM, label, writer_string(import->writer, label, strlen(label)));
    writer_append(import->writer, TABLE_TACHO_ENUM, &row);
}

/* Values that enums.def has too are not stored in the report. */
static void import_enum(struct nsys *import, const char *table)
{
    const struct schema_enum *known = schema_enum_find(table);
    sqlite3_stmt *statement = NULL;
    char *sql = sqlite3_mprintf("SELECT id, name, label FROM \"%w\"", table);
    int step = SQLITE_ERROR;
    uint64_t seen = 0;

    if (sql && sqlite3_prepare_v2(import->database, sql, -1, &statement, NULL) == SQLITE_OK)
        while (seen++ <= import->file_bytes && (step = sqlite3_step(statement)) == SQLITE_ROW) {
            int64_t id = sqlite3_column_int64(statement, 0);
            const char *name = (const char *)sqlite3_column_text(statement, 1);
            const char *label = (const char *)sqlite3_column_text(statement, 2);
            const struct schema_enum_value *value = known ? schema_enum_value(known, id) : NULL;
            if (!value || !same_text(value->name, name) || !same_text(value->label, label))
                keep_enum_value(import, table, id, name, label);
        }
    if (step != SQLITE_DONE)
        import_note(import->writer, table, NULL, "damaged", -1);
    sqlite3_finalize(statement);
    sqlite3_free(sql);
}

/* ---- all of it ------------------------------------------------------------------------------------------------- */

static int import_tables(struct nsys *import, const struct nsys_names *tables, struct error *err)
{
    size_t known = 0;
    int code;

    for (size_t i = 0; i < tables->count; i++)
        known += schema_find(tables->list[i]) >= 0;
    if (known == 0)
        return error_set(err, ERR_BAD_FORMAT,
                         "cannot read '%s' as an nsys export: it is an SQLite file without any "
                         "table of nsys",
                         import->path);
    if (nsys_has_name(tables, "StringIds") && (code = nsys_read_strings(import, err)) != 0)
        return code;
    for (size_t i = 0; i < tables->count; i++)
        if (strncmp(tables->list[i], "ENUM_", 5) == 0)
            import_enum(import, tables->list[i]);
        else if ((code = import_table(import, tables, tables->list[i], err)) != 0)
            return code;
    if (import->rows == 0 && import->damaged)
        return error_set(err, ERR_CORRUPT,
                         "cannot read '%s': it is damaged, and none of its tables can be read: "
                         "%s",
                         import->path, import->damage);
    return 0;
}

static int import_all(struct nsys *import, struct error *err)
{
    struct nsys_names tables = { 0 };
    /* Reads tables only: a view or a virtual table would run code from the file. */
    int code = nsys_list_names(import,
                               "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND name NOT LIKE "
                               "'sqlite\\_%' ESCAPE '\\'",
                               NULL, &tables, err);

    if (tables.count && (code == ERR_BAD_FORMAT || import->damaged_schema)) {
        nsys_note_damage(import, "sqlite_master", import->database);
        code = 0;
    }
    if (code != 0)
        goto free_tables;
    code = import_tables(import, &tables, err);
free_tables:
    free_names(&tables);
    return code;
}

static int nsys_write_report(struct nsys *import, const char *out_path, int overwrite, struct error *err)
{
    struct writer_options options = { .overwrite = overwrite };
    int code;

    if ((code = writer_open(out_path, &options, &import->writer, err)) != 0)
        return code;
    if (import->without_journal)
        note_journal(import);
    code = import_all(import, err);
    if ((code = writer_close_after(import->writer, code, err)) != 0)
        unlink(out_path); /* half an import would pass for a whole one */
    return code;
}

static int nsys_import_file(const char *path, const char *out_path, int overwrite, struct error *err)
{
    struct nsys import = { .path = path };
    struct stat status;
    int code;

    import.file_bytes = stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
    if ((code = nsys_open_file(&import, err)) != 0)
        goto close_file;
    code = nsys_write_report(&import, out_path, overwrite, err);
close_file:
    nsys_strings_free(&import.strings);
    sqlite3_close(import.database);
    free(import.uri);
    return code;
}

const struct importer import_nsys_sqlite = {
    .name = "nsys-sqlite",
    .help = "the SQLite export of Nsight Systems",
    .extension = "sqlite",
    .recognise = nsys_recognise,
    .import = nsys_import_file,
};
