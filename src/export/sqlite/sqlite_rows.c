/* A virtual table over the rows that are being exported, to be read once, from the first to the last. */
#include "sqlite_export.h"

#include <string.h>

#include "base/utf8.h"

struct sqlite_rows_source {
    sqlite3_vtab base;
    struct sqlite_export *export;
};

struct sqlite_rows_cursor {
    sqlite3_vtab_cursor base;
    struct sqlite_export *export;
    const struct export_window *window;
    int64_t row;
    int more;
};

static int connect(sqlite3 *database, void *context, int argc, const char *const *argv, sqlite3_vtab **out,
                   char **message)
{
    sqlite3_str *sql = sqlite3_str_new(database);

    sqlite3_str_appendall(sql, "CREATE TABLE x(");
    for (int c = 0; c < EXPORT_COLUMNS_MAX; c++)
        sqlite3_str_appendf(sql, "%sc%d", c ? ", " : "", c);
    sqlite3_str_appendall(sql, ")");
    char *text = sqlite3_str_finish(sql);
    int code = text ? sqlite3_declare_vtab(database, text) : SQLITE_NOMEM;
    sqlite3_free(text);
    struct sqlite_rows_source *source = code == SQLITE_OK ? sqlite3_malloc(sizeof *source) : NULL;
    if (!source)
        return code == SQLITE_OK ? SQLITE_NOMEM : code;
    *source = (struct sqlite_rows_source){ .export = context };
    *out = &source->base;
    return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *table)
{
    sqlite3_free(table);
    return SQLITE_OK;
}

static int best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
    info->estimatedCost = 1e6;
    return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *table, sqlite3_vtab_cursor **out)
{
    struct sqlite_rows_cursor *cursor = sqlite3_malloc(sizeof *cursor);

    if (!cursor)
        return SQLITE_NOMEM;
    *cursor = (struct sqlite_rows_cursor){ .export = ((struct sqlite_rows_source *)table)->export };
    *out = &cursor->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
    sqlite3_free(base);
    return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *base)
{
    struct sqlite_rows_cursor *cursor = (struct sqlite_rows_cursor *)base;
    struct sqlite_export *export = cursor->export;

    cursor->more = export_rows_next(export->rows, export->row_error);
    if (cursor->more < 0)
        return SQLITE_ERROR;
    cursor->row++;
    if (cursor->more) {
        cursor->window = export_window(export->rows);
        export->nulls_seen |= cursor->window->null_masks[cursor->window->at];
    }
    return SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int plan, const char *text, int argc, sqlite3_value **argv)
{
    return next(base);
}

static int at_end(sqlite3_vtab_cursor *base)
{
    return ((struct sqlite_rows_cursor *)base)->more <= 0;
}

/* Texts in a database are UTF-8: its readers may fail on anything else. */
static void give_text(sqlite3_context *context, const char *bytes, size_t length, int as_bytes)
{
    if (utf8_valid_length(bytes, length) == length) {
        sqlite3_result_text64(context, bytes, length, SQLITE_STATIC, SQLITE_UTF8);
        return;
    }
    if (as_bytes) {
        sqlite3_result_blob64(context, bytes, length, SQLITE_STATIC);
        return;
    }
    struct text clean = { 0 };
    utf8_add(&clean, bytes, length);
    if (text_failed(&clean))
        sqlite3_result_error_nomem(context);
    else
        sqlite3_result_text64(context, text_string(&clean), clean.length, SQLITE_TRANSIENT, SQLITE_UTF8);
    text_free(&clean);
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int number)
{
    const struct sqlite_rows_cursor *cursor = (const struct sqlite_rows_cursor *)base;
    struct sqlite_export *export = cursor->export;
    const struct export_window *window = cursor->window;
    size_t length;

    if (window->null_masks[window->at] >> number & 1)
        return SQLITE_OK;
    union {
        int64_t bits;
        double real;
    } value = { .bits = window->values[number][window->at] };
    switch (export->types[number]) {
    case COLUMN_REAL: sqlite3_result_double(context, value.real); break;
    case COLUMN_TEXT: {
        const char *bytes = report_string(export->report, value.bits, &length);
        give_text(context, bytes, length, export->as_bytes[number]);
        break;
    }
    case COLUMN_STRING:
        value.bits = sqlite_want_string(export, value.bits);
        if (value.bits < 0)
            sqlite3_result_error_nomem(context);
        else
            sqlite3_result_int64(context, value.bits);
        break;
    case COLUMN_INT:
    case COLUMN_TIME: sqlite3_result_int64(context, value.bits); break;
    }
    return SQLITE_OK;
}

static int row_id(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
    *out = ((struct sqlite_rows_cursor *)base)->row;
    return SQLITE_OK;
}

static const sqlite3_module module = {
    .iVersion = 0,
    .xCreate = connect,
    .xConnect = connect,
    .xBestIndex = best_index,
    .xDisconnect = disconnect,
    .xDestroy = disconnect,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = filter,
    .xNext = next,
    .xEof = at_end,
    .xColumn = column,
    .xRowid = row_id,
};

int sqlite_rows_register(struct sqlite_export *export)
{
    const char *sql = "CREATE VIRTUAL TABLE temp.tacho_rows USING tacho_rows";
    int code = sqlite3_create_module(export->database, "tacho_rows", &module, export);

    return code == SQLITE_OK ? sqlite3_exec(export->database, sql, NULL, NULL, NULL) : code;
}
