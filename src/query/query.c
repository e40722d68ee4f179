/* The SQLite side of a query: an empty database in memory whose tables are all virtual, an authorizer that permits
 * reading only, and the loop over statements and rows. */
#include "query.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/nearest.h"
#include "query_state.h"
#include "report/schema/schema.h"

struct query {
    struct query_tables tables;
    sqlite3 *database;
    int64_t limit_ms; /* CPU time of a run; 0: no limit */
    struct clock_limit limit;
};

/* ---- opening --------------------------------------------------------------------------------------------------- */

/* A name that SQLite cannot use (a duplicate, sqlite_…) can only come from a file that is not ours, and is left out. */
static void create_table(struct query *query, const char *name, const char *module)
{
    char *sql = sqlite3_mprintf("CREATE VIRTUAL TABLE \"%w\" USING %s", name, module);

    if (sql)
        sqlite3_exec(query->database, sql, NULL, NULL, NULL);
    sqlite3_free(sql);
}

/* A report has a row of a process when it begins and another when it ends, and the last row counts. A view in front
 * of such a table shows that row alone, as an export does; main.TACHO_PROCESS has all rows. */
static void create_view(struct query *query, const char *name)
{
    const char *key = schema_last_row_key(name);
    char *sql = key ? sqlite3_mprintf("CREATE TEMP VIEW %s AS SELECT * FROM main.%s WHERE rowid IN (SELECT max(rowid) "
                                      "FROM main.%s GROUP BY %s)",
                                      name, name, name, key)
                    : NULL;

    if (sql)
        sqlite3_exec(query->database, sql, NULL, NULL, NULL);
    sqlite3_free(sql);
}

static int query_is_among(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(name, names[i]) == 0)
            return 1;
    return 0;
}
#define IS_AMONG(name, names) query_is_among(name, names, COUNT_OF(names))

static int authorize(void *context, int action, const char *first, const char *second, const char *database,
                     const char *trigger)
{
    const struct query *query = context;
    /* The second function calls an address that it is given. The slow one compares each member of one object with
     * each of another, and nothing can interrupt a function, so statements with a time limit may not call it. */
    static const char *const functions[] = { "load_extension", "fts3_tokenizer" }, *const slow_functions[] = {
        "json_patch"
    };
    static const char *const pragmas[] = { "table_info", "table_xinfo", "table_list", "database_list",
                                           "compile_options" };

    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE: return SQLITE_OK;
    case SQLITE_FUNCTION:
        return IS_AMONG(second, functions) || (query->limit_ms && IS_AMONG(second, slow_functions)) ? SQLITE_DENY
                                                                                                    : SQLITE_OK;
    case SQLITE_PRAGMA: return IS_AMONG(first, pragmas) ? SQLITE_OK : SQLITE_DENY;
    default: return SQLITE_DENY;
    }
}

static int query_make_tables(struct query *query)
{
    if (sqlite3_create_module_v2(query->database, "tacho_table", &query_table_module, &query->tables, NULL) !=
            SQLITE_OK ||
        sqlite3_create_module_v2(query->database, "tacho_enum", &query_enum_module, &query->tables, NULL) != SQLITE_OK)
        return ERR_NO_MEMORY;
    sqlite3_exec(query->database, "BEGIN", NULL, NULL, NULL);
    for (size_t i = 0; i < report_table_count(query->tables.report); i++) {
        const struct report_table *table = report_table_at(query->tables.report, i);
        if (!table->rows)
            continue;
        create_table(query, table->name, "tacho_table");
        create_view(query, table->name);
    }
    for (size_t i = 0; i < ENUM_COUNT; i++)
        create_table(query, schema_enums[i].name, "tacho_enum");
    sqlite3_exec(query->database, "COMMIT", NULL, NULL, NULL);
    return 0;
}

int query_open(struct report *report, struct query **out, struct error *err)
{
    struct query *query = calloc(1, sizeof *query);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX;

    if (!query)
        return error_no_memory(err);
    query->tables.report = report;
    if (sqlite3_open_v2(":memory:", &query->database, flags, NULL) != SQLITE_OK ||
        query_add_functions(query->database) != 0 || query_make_tables(query) != 0) {
        query_close(query);
        return error_no_memory(err);
    }
    sqlite3_db_config(query->database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_limit(query->database, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_set_authorizer(query->database, authorize, query);
    *out = query;
    return 0;
}

void query_close(struct query *query)
{
    if (!query)
        return;
    sqlite3_close(query->database);
    free(query);
}

/* ---- asking ---------------------------------------------------------------------------------------------------- */

/* Suggests the table that was meant, among those with rows. */
static int no_such_table(const struct query *query, const char *name, struct error *err)
{
    size_t count = report_table_count(query->tables.report), with_rows = 0;
    const char **names = calloc(count + 1, sizeof *names);

    for (size_t i = 0; names && i < count; i++)
        if (report_table_at(query->tables.report, i)->rows)
            names[with_rows++] = report_table_at(query->tables.report, i)->name;
    const char *nearest = names ? nearest_name(name, names) : NULL;
    if (nearest)
        error_set(err, ERR_NOT_FOUND, "no such table: %s; did you mean %s?", name, nearest);
    else
        error_set(err, ERR_NOT_FOUND, "no such table: %s; .tables lists the tables", name);
    free(names);
    return err->code;
}

/* SQLite's message, with advice for the most common ones. */
static int query_explain(const struct query *query, struct error *err)
{
    static const char no_table[] = "no such table: ";
    const char *words = sqlite3_errmsg(query->database);
    int code = sqlite3_extended_errcode(query->database);

    if ((code & 0xff) == SQLITE_AUTH)
        return error_set(err, ERR_DENIED, "a report is read-only: use SELECT");
    if ((code & 0xff) == SQLITE_INTERRUPT && !query->limit_ms)
        return error_set(err, ERR_CANCELLED, "interrupted");
    if ((code & 0xff) == SQLITE_INTERRUPT)
        return error_set(
            err, ERR_CANCELLED,
            "the query was cancelled after %.3g seconds of CPU time; select fewer columns or a shorter time",
            (double)query->limit_ms / 1000);
    if ((code & 0xff) == SQLITE_NOMEM)
        return error_no_memory(err);
    if (strncmp(words, no_table, sizeof no_table - 1) == 0 && schema_find(words + sizeof no_table - 1) >= 0)
        return error_set(err, ERR_NOT_FOUND, "the report has no rows in %s", words + sizeof no_table - 1);
    if (strncmp(words, no_table, sizeof no_table - 1) == 0)
        return no_such_table(query, words + sizeof no_table - 1, err);
    return error_set(err, ERR_BAD_ARGUMENT, "%s", words);
}

static void query_take_value(sqlite3_stmt *statement, int column, struct query_value *out)
{
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
        *out = (struct query_value){ .kind = QUERY_INT, .integer = sqlite3_column_int64(statement, column) };
        return;
    case SQLITE_FLOAT:
        *out = (struct query_value){ .kind = QUERY_REAL, .real = sqlite3_column_double(statement, column) };
        return;
    case SQLITE_NULL: *out = (struct query_value){ .kind = QUERY_NULL }; return;
    default:
        out->kind = QUERY_TEXT;
        out->bytes = sqlite3_column_blob(statement, column);
        out->length = (size_t)sqlite3_column_bytes(statement, column);
        out->bytes = out->bytes ? out->bytes : "";
    }
}

static int visit_rows(struct query *query, sqlite3_stmt *statement, const struct query_visitor *visitor,
                      struct error *err)
{
    int count = sqlite3_column_count(statement), step, code;
    struct query_column *columns = calloc((size_t)count + 1, sizeof *columns);
    struct query_value *values = calloc((size_t)count + 1, sizeof *values);

    if ((!columns || !values) && (code = error_no_memory(err)) != 0)
        goto done;
    for (int i = 0; i < count; i++) {
        const char *type = sqlite3_column_decltype(statement, i); /* the column's type; NULL: an expression */
        columns[i] = (struct query_column){ sqlite3_column_name(statement, i), type && strcmp(type, TIME_TYPE) == 0 };
    }
    if ((code = visitor->columns(visitor->context, columns, (size_t)count, err)) != 0)
        goto done;
    while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
        for (int i = 0; i < count; i++)
            query_take_value(statement, i, &values[i]);
        if ((code = visitor->row(visitor->context, values, (size_t)count, err)) != 0)
            goto done;
    }
    code = step == SQLITE_DONE ? visitor->end(visitor->context, err) : query_explain(query, err);
done:
    free(columns);
    free(values);
    return code;
}

static int query_is_over(void *context)
{
    struct query *query = context;

    return clock_limit_is_over(&query->limit) || cancel_is_raised(cancel_flag());
}

void query_limit(struct query *query, int64_t milliseconds)
{
    /* A single step may build or search a value: the longest take milliseconds, and LIKE with a long pattern a good
     * part of a second. */
    enum {
        STEPS_BETWEEN_LOOKS = 20,
        LONGEST_VALUE = 4 << 20,
        LONGEST_PATTERN = 100,
        NO_LIMIT = 1 << 30,
        USUAL_PATTERN = 50000
    };

    query->limit_ms = milliseconds;
    sqlite3_limit(query->database, SQLITE_LIMIT_LENGTH, milliseconds ? LONGEST_VALUE : NO_LIMIT);
    sqlite3_limit(query->database, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, milliseconds ? LONGEST_PATTERN : USUAL_PATTERN);
    sqlite3_progress_handler(query->database, STEPS_BETWEEN_LOOKS, milliseconds ? query_is_over : NULL, query);
}

void query_first_rows(struct query *query, uint64_t rows)
{
    query->tables.most_rows = rows;
}

struct query_part query_part(const struct query *query)
{
    return query->tables.part;
}

void query_interrupt(struct query *query)
{
    sqlite3_interrupt(query->database);
}

int query_run(struct query *query, const char *sql, const struct query_visitor *visitor, struct error *err)
{
    int code;

    query->limit = clock_limit_begin(query->limit_ms * 1000000);
    query->tables.part = (struct query_part){ 0 };
    while (*sql) {
        sqlite3_stmt *statement;
        query->tables.run++;
        if (sqlite3_prepare_v2(query->database, sql, -1, &statement, &sql) != SQLITE_OK)
            return query_explain(query, err);
        if (!statement)
            continue; /* a comment or a stray semicolon */
        if (!sqlite3_stmt_readonly(statement) || sqlite3_column_count(statement) == 0)
            code = error_set(err, ERR_DENIED, "a report is read-only: use SELECT");
        else
            code = visit_rows(query, statement, visitor, err);
        sqlite3_finalize(statement);
        if (code != 0)
            return code;
    }
    return 0;
}

int query_is_complete(const char *sql)
{
    return sqlite3_complete(sql);
}

/* ---- the schema ------------------------------------------------------------------------------------------------ */

static const struct schema_column *query_note_of(const struct schema_table *table, const char *name)
{
    for (size_t i = 0; table && i < table->column_count; i++)
        if (strcmp(table->columns[i].name, name) == 0)
            return &table->columns[i];
    return NULL;
}

static void query_add_schema(struct text *out, const struct report_table *table)
{
    static const char *const types[] = { "INTEGER", "INTEGER", "REAL", "TEXT", "INTEGER" };
    int id = schema_find(table->name);
    const struct schema_table *known = id < 0 ? NULL : &schema_tables[id];

    text_addf(out, "CREATE TABLE %s (", table->name);
    text_addf(out, known ? " -- %s\n" : "\n", known ? known->note : NULL);
    for (size_t i = 0; i < table->column_count; i++) {
        const struct schema_column *column = query_note_of(known, table->columns[i].name);
        text_addf(out, "    %s %s%s", table->columns[i].name, types[table->columns[i].type],
                  i + 1 < table->column_count ? "," : "");
        text_addf(out, column ? " -- %s\n" : "\n", column ? column->note : NULL);
    }
    text_add(out, ");\n");
}

static void add_enum_schema(struct text *out, const struct schema_enum *list)
{
    text_addf(out, "CREATE TABLE %s ( -- %s\n    id INTEGER,\n    name TEXT,\n    label TEXT\n);\n", list->name,
              list->note);
}

int query_schema(const struct query *query, const char *name, struct text *out, struct error *err)
{
    int found = !name;

    for (size_t i = 0; i < report_table_count(query->tables.report); i++) {
        const struct report_table *table = report_table_at(query->tables.report, i);
        if (table->rows && (!name || strcasecmp(name, table->name) == 0)) {
            query_add_schema(out, table);
            found = 1;
        }
    }
    for (size_t i = 0; i < ENUM_COUNT; i++)
        if (!name || strcasecmp(name, schema_enums[i].name) == 0) {
            add_enum_schema(out, &schema_enums[i]);
            found = 1;
        }
    return found ? 0 : no_such_table(query, name, err);
}

void query_tables(const struct query *query, struct text *out)
{
    for (size_t i = 0; i < report_table_count(query->tables.report); i++) {
        const struct report_table *table = report_table_at(query->tables.report, i);
        if (table->rows)
            text_addf(out, "%s\n", table->name);
    }
}
