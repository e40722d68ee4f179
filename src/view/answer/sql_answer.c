/* The request sql: a statement over the report's tables, with a limit on rows and time. */
#include <string.h>
#include <strings.h>

#include "answer_cache.h"
#include "answers.h"
#include "base/cancel.h"
#include "base/json_write.h"
#include "event_fields.h"
#include "query/query.h"
#include "report/schema/schema.h"

enum {
    MOST_ROWS = 10000,
    MOST_COLUMNS = 2000,
    MOST_BYTES = 64 << 20,
    LONGEST_STATEMENT = 1 << 20,
    LONGEST_CELL = 1 << 16,
    LIMIT_MS = 10000,
    FIRST_ROWS = 300000, /* rows of a table, for an answer within half a second */
    MET_ENOUGH = 1
};

enum column_kind { KIND_UNKNOWN, KIND_TIME, KIND_DURATION, KIND_INT, KIND_REAL, KIND_TEXT };
static const char *const sql_answer_kind_names[] = { "text", "time", "duration", "int", "real", "text" };

struct result {
    struct view *view;
    struct text columns, rows;
    unsigned char kinds[MOST_COLUMNS]; /* enum column_kind */
    unsigned char whole[MOST_COLUMNS]; /* the kind of whole numbers in the column */
    size_t column_count, row_count;
    int is_cut, has_result;
    struct query_part part;            /* the part that a first answer lacks */
};

/* ---- the kind of a column ---------------------------------------------------------------------------------------- */

static int is_time_name(const char *name, size_t length)
{
    for (size_t t = 0; t < TABLE_COUNT; t++)
        for (size_t c = 0; c < schema_tables[t].column_count; c++) {
            const struct schema_column *column = &schema_tables[t].columns[c];
            if (column->type == COLUMN_TIME && strlen(column->name) == length &&
                strncasecmp(column->name, name, length) == 0)
                return 1;
        }
    return 0;
}

/* "min(start)", "max(k.end)": the text of an expression, which is its name if it was given no other. */
static int is_least_or_most_time(const char *name)
{
    size_t length = strlen(name);

    if ((strncasecmp(name, "min(", 4) != 0 && strncasecmp(name, "max(", 4) != 0) || name[length - 1] != ')')
        return 0;
    const char *dot = strchr(name, '.'), *inner = dot ? dot + 1 : name + 4;
    return is_time_name(inner, (size_t)(name + length - 1 - inner));
}

/* "end - start", "sum(k.end-k.start)" */
static int is_difference(const char *name)
{
    const char *end = strcasestr(name, "end"), *minus = end ? strchr(end, '-') : NULL;

    return minus && strcasestr(minus, "start");
}

/* A time is moved to where the timeline counts from, so a name alone does not make one: "end - start AS start" is none,
 * and "start AS called" is. How long something took is only a matter of how it is written. */
static enum column_kind sql_answer_kind_of(const struct query_column *column)
{
    const char *name = column->name ? column->name : "";
    size_t length = strlen(name);

    if (column->is_time || is_least_or_most_time(name))
        return KIND_TIME;
    if (strcasestr(name, "duration") || is_difference(name))
        return KIND_DURATION;
    return length > 3 && strcasecmp(name + length - 3, "_ns") == 0 ? KIND_DURATION : KIND_INT;
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

/* If there are several statements, answers the last one. */
static int sql_answer_take_columns(void *context, const struct query_column *columns, size_t count, struct error *err)
{
    struct result *result = context;

    if (count > MOST_COLUMNS)
        return error_set(err, ERR_BAD_ARGUMENT, "a statement has at most %d columns", MOST_COLUMNS);
    text_clear(&result->columns);
    text_clear(&result->rows);
    result->column_count = count;
    result->row_count = 0;
    result->is_cut = 0;
    result->has_result = 1;
    for (size_t i = 0; i < count; i++) {
        result->kinds[i] = KIND_UNKNOWN;
        result->whole[i] = (unsigned char)sql_answer_kind_of(&columns[i]);
        json_addf(&result->columns, "%s", columns[i].name ? columns[i].name : "");
    }
    return 0;
}

static void sql_answer_add_value(struct result *result, size_t column, const struct query_value *value)
{
    static const unsigned char kinds[] = {
        [QUERY_NULL] = KIND_UNKNOWN, [QUERY_INT] = KIND_INT, [QUERY_REAL] = KIND_REAL, [QUERY_TEXT] = KIND_TEXT
    };
    unsigned char *kind = &result->kinds[column];

    if (*kind == KIND_UNKNOWN)
        *kind = value->kind == QUERY_INT ? result->whole[column] : kinds[value->kind];
    if (value->kind == QUERY_NULL)
        text_add(&result->rows, "null");
    else if (value->kind == QUERY_REAL)
        json_add_real(&result->rows, value->real);
    else if (value->kind == QUERY_TEXT)
        json_add_text(&result->rows, value->bytes, value->length < LONGEST_CELL ? value->length : LONGEST_CELL);
    else if (*kind == KIND_TIME)
        event_fields_add_time(result->view, &result->rows, value->integer);
    else
        event_fields_add_int(&result->rows, value->integer);
}

static int sql_answer_take_row(void *context, const struct query_value *values, size_t count, struct error *err)
{
    struct result *result = context;

    if (result->row_count == MOST_ROWS || result->rows.length > MOST_BYTES) {
        result->is_cut = 1;
        return MET_ENOUGH;
    }
    text_add(&result->rows, result->row_count++ ? ",[" : "[");
    for (size_t i = 0; i < count; i++) {
        text_add(&result->rows, i ? "," : "");
        sql_answer_add_value(result, i, &values[i]);
    }
    text_add_char(&result->rows, ']');
    return 0;
}

static int sql_answer_take_end(void *context, struct error *err)
{
    return 0;
}

static void sql_answer_add_result(struct text *out, const struct result *result)
{
    json_addf(out, "{'columns':[");
    text_add_bytes(out, text_string(&result->columns), result->columns.length);
    json_addf(out, "],'kinds':[");
    for (size_t i = 0; i < result->column_count; i++)
        json_addf(out, "%s", sql_answer_kind_names[result->kinds[i]]);
    json_addf(out, "],'rows':[");
    text_add_bytes(out, text_string(&result->rows), result->rows.length);
    json_addf(out, "],'cut':%i", result->is_cut);
    json_addf(out, result->part.table ? "'part':{'table':%s,'rows':%ju,'of':%ju}}" : "'part':null}", result->part.table,
              result->part.rows, result->part.of);
}

static int run_statement(struct result *result, const struct arguments *arguments, struct error *err)
{
    const struct query_visitor visitor = { result, sql_answer_take_columns, sql_answer_take_row, sql_answer_take_end };
    struct answer_cache *cache = result->view->cache;
    struct text statement = { 0 };
    int64_t first = 0;
    int code = argument_int(arguments, "first", 0, 1, &first, err);

    if (code != 0)
        return code;
    if (!cache->query && (code = query_open(result->view->report, &cache->query, err)) != 0)
        return code;
    query_limit(cache->query, LIMIT_MS);
    query_first_rows(cache->query, first ? FIRST_ROWS : 0);
    text_add_bytes(&statement, arguments->body, arguments->body_length);
    code = text_failed(&statement) ? error_no_memory(err)
                                   : query_run(cache->query, text_string(&statement), &visitor, err);
    text_free(&statement);
    result->part = query_part(cache->query);
    return code == MET_ENOUGH ? 0 : code;
}

static int sql_answer_run(struct result *result, const struct arguments *arguments, struct error *err)
{
    int code = run_statement(result, arguments, err);

    if (code != 0 && cancel_is_raised(cancel_flag()))
        return error_set(err, ERR_CANCELLED, "the query was cancelled");
    if (code == ERR_DENIED || code == ERR_CANCELLED) /* forbidden, or past the time limit: the statement is to blame */
        return ERR_BAD_ARGUMENT;
    if (code != 0)
        return code;
    if (!result->has_result)
        return error_set(err, ERR_BAD_ARGUMENT,
                         "no query given; try SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL LIMIT 10");
    return 0;
}

int view_sql(struct view *view, const struct arguments *arguments, struct text *out, struct error *err)
{
    struct result result = { .view = view };
    int code;

    if (!arguments->body || !arguments->body_length)
        return error_set(err, ERR_BAD_ARGUMENT, "the query is missing: send it as the body of the request");
    if (arguments->body_length > LONGEST_STATEMENT)
        return error_set(err, ERR_BAD_ARGUMENT, "a statement has at most %d bytes", LONGEST_STATEMENT);
    if ((code = sql_answer_run(&result, arguments, err)) != 0)
        goto free_result;
    sql_answer_add_result(out, &result);
    if (text_failed(&result.rows) || text_failed(&result.columns))
        code = error_short_memory(err, "for the rows");
free_result:
    text_free(&result.columns);
    text_free(&result.rows);
    return code;
}
