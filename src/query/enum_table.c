/* The tables ENUM_…: numbers and their names from enums.def. Where an imported file has other values (its table
 * TACHO_ENUM), these replace ours. The tables are small and built whole on first use. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "query_state.h"

struct enum_table_value {
    int64_t id;
    const char *name, *label; /* NULL: none */
};

struct enum_table {
    sqlite3_vtab base;
    struct enum_table_value *values; /* owned; by rising id */
    size_t count, room;
};

struct enum_cursor {
    sqlite3_vtab_cursor base;
    size_t at;
};

static int enum_table_compare_values(const void *a, const void *b)
{
    const struct enum_table_value *x = a, *y = b;

    return COMPARE(x->id, y->id);
}

static void enum_table_put_value(struct enum_table *table, struct enum_table_value value)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->values[i].id == value.id) {
            table->values[i] = value;
            return;
        }
    table->values[table->count++] = value;
}

static const char *enum_table_text_of(struct report *report, const struct report_columns *rows, size_t column,
                                      size_t row)
{
    const uint64_t *nulls = rows->nulls[column];

    return nulls && (nulls[row / 64] >> (row % 64) & 1) ? NULL : report_string(report, rows->values[column][row], NULL);
}

/* Adds the values of an imported file that differ from ours. */
static int add_own(struct enum_table *table, struct report *report, const char *name)
{
    const struct report_table *own = report_table(report, "TACHO_ENUM");
    struct report_columns rows;
    struct error err;

    if (!own || !own->rows)
        return SQLITE_OK;
    const int columns[] = { report_column(own, "enumName"), report_column(own, "id"), report_column(own, "name"),
                            report_column(own, "label") };
    if (report_read(report, own, columns, 4, &rows, &err) != 0)
        return SQLITE_NOMEM;
    int code = SQLITE_NOMEM;
    if (array_reserve(&table->values, &table->room, table->count + rows.rows, sizeof *table->values) != 0)
        goto free_rows;
    for (size_t r = 0; r < rows.rows; r++) {
        const char *of = enum_table_text_of(report, &rows, 0, r);
        if (of && strcmp(of, name) == 0)
            enum_table_put_value(table,
                                 (struct enum_table_value){ rows.values[1][r], enum_table_text_of(report, &rows, 2, r),
                                                            enum_table_text_of(report, &rows, 3, r) });
    }
    code = SQLITE_OK;
free_rows:
    report_columns_free(&rows);
    return code;
}

static int enum_disconnect(sqlite3_vtab *base)
{
    struct enum_table *table = (struct enum_table *)base;

    free(table->values);
    free(table);
    return SQLITE_OK;
}

static int enum_connect(sqlite3 *database, void *context, int argc, const char *const *argv, sqlite3_vtab **out,
                        char **message)
{
    const struct query_tables *tables = context;
    const struct schema_enum *list = schema_enum_find(argv[2]);
    struct enum_table *table = calloc(1, sizeof *table);

    if (!table || !list || array_reserve(&table->values, &table->room, list->count, sizeof *table->values) != 0) {
        free(table);
        return SQLITE_NOMEM;
    }
    for (size_t i = 0; i < list->count; i++)
        table->values[table->count++] = (struct enum_table_value){ list->values[i].id, list->values[i].name,
                                                                   list->values[i].label };
    int code;
    if ((code = add_own(table, tables->report, list->name)) != SQLITE_OK ||
        (code = sqlite3_declare_vtab(database, "CREATE TABLE x(id INTEGER, name TEXT, label TEXT)")) != SQLITE_OK) {
        enum_disconnect(&table->base);
        return code;
    }
    qsort(table->values, table->count, sizeof *table->values, enum_table_compare_values);
    *out = &table->base;
    return SQLITE_OK;
}

/* idxNum 1: the query asks for a single id. */
static int enum_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    info->estimatedCost = 100;
    for (int i = 0; i < info->nConstraint; i++)
        if (info->aConstraint[i].usable && info->aConstraint[i].iColumn == 0 &&
            info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_EQ) {
            info->aConstraintUsage[i].argvIndex = 1;
            info->idxNum = 1;
            info->estimatedCost = 5;
            info->estimatedRows = 1;
            break;
        }
    return SQLITE_OK;
}

static int enum_open(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
    struct enum_cursor *cursor = calloc(1, sizeof *cursor);

    *out = cursor ? &cursor->base : NULL;
    return cursor ? SQLITE_OK : SQLITE_NOMEM;
}

static int enum_close(sqlite3_vtab_cursor *base)
{
    free(base);
    return SQLITE_OK;
}

/* SQLite checks every row that it gets, so it is enough to start at the right place. */
static int enum_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int argc, sqlite3_value **argv)
{
    struct enum_cursor *cursor = (struct enum_cursor *)base;
    const struct enum_table *table = (const struct enum_table *)base->pVtab;

    cursor->at = 0;
    if (plan == 1 && sqlite3_value_type(argv[0]) == SQLITE_INTEGER)
        while (cursor->at < table->count && table->values[cursor->at].id < sqlite3_value_int64(argv[0]))
            cursor->at++;
    return SQLITE_OK;
}

static int enum_next(sqlite3_vtab_cursor *base)
{
    ((struct enum_cursor *)base)->at++;
    return SQLITE_OK;
}

static int enum_eof(sqlite3_vtab_cursor *base)
{
    return ((struct enum_cursor *)base)->at >= ((const struct enum_table *)base->pVtab)->count;
}

static int enum_column(sqlite3_vtab_cursor *base, sqlite3_context *result, int column)
{
    const struct enum_table_value *value = &((const struct enum_table *)base->pVtab)
                                                ->values[((struct enum_cursor *)base)->at];

    if (column == 0)
        sqlite3_result_int64(result, value->id);
    else
        sqlite3_result_text(result, column == 1 ? value->name : value->label, -1, SQLITE_STATIC);
    return SQLITE_OK;
}

static int enum_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
    *out = (sqlite3_int64)((struct enum_cursor *)base)->at + 1;
    return SQLITE_OK;
}

const sqlite3_module query_enum_module = {
    .xCreate = enum_connect,
    .xConnect = enum_connect,
    .xBestIndex = enum_best_index,
    .xDisconnect = enum_disconnect,
    .xDestroy = enum_disconnect,
    .xOpen = enum_open,
    .xClose = enum_close,
    .xFilter = enum_filter,
    .xNext = enum_next,
    .xEof = enum_eof,
    .xColumn = enum_column,
    .xRowid = enum_rowid,
};
