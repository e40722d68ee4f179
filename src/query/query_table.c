/* A table of a report as SQLite sees it: the columns that the file names, and a cursor over decoded chunks. The
 * functions that SQLite calls for every row do nothing but index an array. */
#include "query_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS_AT_FIRST = 1 };

/* A decoded chunk: values[slot * capacity], a bit for each NULL likewise. */
struct query_table_block {
    uint64_t first_row;
    size_t rows;
    int arrived; /* 0: damaged */
    int64_t *values;
    uint64_t *nulls;
    uint8_t has_nulls[MOST_COLUMNS];
};

enum query_table_mode { MODE_END, MODE_STREAM, MODE_LOADED, MODE_CHAIN, MODE_STRING };

struct query_table_cursor {
    sqlite3_vtab_cursor base;
    struct query_plan plan;
    struct query_test tests[MOST_TESTS];
    size_t test_count;
    enum query_table_mode mode;
    uint64_t rowid;
    /* Where the current row's values are, for MODE_STREAM, MODE_LOADED and MODE_CHAIN. */
    size_t row, row_end;
    const int64_t *values[MOST_COLUMNS]; /* by slot of the plan */
    const uint64_t *nulls[MOST_COLUMNS];
    uint64_t first_row;                  /* row of the table at values[…][0] */
    const struct query_loaded *loaded;   /* for MODE_LOADED and MODE_CHAIN; owned by the table */
    uint32_t chain;                      /* the next row of the chain, + 1 */
    int64_t string_id;                   /* for MODE_STRING */
    /* The rest is for MODE_STREAM. */
    struct query_table_block blocks[MOST_BLOCKS];
    size_t block_count, block_at, window;
    size_t capacity;  /* rows of a block */
    size_t slots;     /* number of slots that blocks have room for */
    size_t next_chunk;
    uint64_t decoded; /* number of decoded rows */
};

/* ---- the table ------------------------------------------------------------------------------------------------- */

static void add_columns(sqlite3_str *sql, const struct report_table *table)
{
    static const char *const types[] = { "INTEGER", TIME_TYPE, "REAL", "TEXT", "INTEGER" };

    for (size_t i = 0; i < table->column_count; i++)
        sqlite3_str_appendf(sql, "%s\"%w\" %s", i ? ", " : "", table->columns[i].name, types[table->columns[i].type]);
}

static int table_disconnect(sqlite3_vtab *base)
{
    struct query_table *table = (struct query_table *)base;

    query_table_unload(table);
    free(table);
    return SQLITE_OK;
}

static int table_connect(sqlite3 *database, void *context, int argc, const char *const *argv, sqlite3_vtab **out,
                         char **message)
{
    struct query_tables *tables = context;
    const struct report_table *from = report_table(tables->report, argv[2]);
    struct query_table *table = calloc(1, sizeof *table);

    if (!from || !table || from->column_count > MOST_COLUMNS) {
        free(table);
        return from && table ? SQLITE_ERROR : SQLITE_NOMEM;
    }
    table->tables = tables;
    table->report_table = from;
    table->is_strings = strcmp(from->name, "StringIds") == 0;
    table->time_column = -1;
    for (size_t i = 0; i < from->column_count && table->time_column < 0; i++)
        if (from->columns[i].type == COLUMN_TIME)
            table->time_column = (int)i;
    sqlite3_str *sql = sqlite3_str_new(database);
    sqlite3_str_appendall(sql, "CREATE TABLE x(");
    add_columns(sql, from);
    sqlite3_str_appendall(sql, ")");
    char *text = sqlite3_str_finish(sql);
    int code = text ? sqlite3_declare_vtab(database, text) : SQLITE_NOMEM;
    sqlite3_free(text);
    if (code != SQLITE_OK) {
        table_disconnect(&table->base);
        return code;
    }
    *out = &table->base;
    return SQLITE_OK;
}

static int table_open(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
    struct query_table_cursor *cursor = calloc(1, sizeof *cursor);

    *out = cursor ? &cursor->base : NULL;
    return cursor ? SQLITE_OK : SQLITE_NOMEM;
}

static void free_blocks(struct query_table_cursor *cursor)
{
    for (size_t i = 0; i < MOST_BLOCKS; i++) {
        free(cursor->blocks[i].values);
        free(cursor->blocks[i].nulls);
        cursor->blocks[i].values = NULL;
        cursor->blocks[i].nulls = NULL;
    }
    cursor->slots = 0;
}

static int table_close(sqlite3_vtab_cursor *base)
{
    free_blocks((struct query_table_cursor *)base);
    free(base);
    return SQLITE_OK;
}

/* ---- streaming ------------------------------------------------------------------------------------------------- */

static struct query_table_block *block_of(struct query_table_cursor *cursor, uint64_t first_row)
{
    for (size_t i = 0; i < cursor->block_count; i++)
        if (cursor->blocks[i].first_row == first_row)
            return &cursor->blocks[i];
    return NULL;
}

/* Stores a decoded chunk. Each chunk has a block of its own, so workers share nothing. */
static int keep_block(void *context, int worker, const struct report_block *from)
{
    struct query_table_cursor *cursor = context;
    struct query_table_block *block = block_of(cursor, from->first_row);
    size_t words = (cursor->capacity + 63) / 64;

    if (!block || from->rows > cursor->capacity)
        return 0;
    for (size_t c = 0; c < cursor->plan.column_count; c++) {
        memcpy(block->values + c * cursor->capacity, from->values[c], from->rows * sizeof *block->values);
        block->has_nulls[c] = from->nulls[c] != NULL;
        if (from->nulls[c])
            memcpy(block->nulls + c * words, from->nulls[c], (from->rows + 63) / 64 * sizeof *block->nulls);
    }
    block->arrived = 1;
    return 0;
}

static int query_table_make_room(struct query_table_cursor *cursor)
{
    size_t slots = cursor->plan.column_count + 1, words = (cursor->capacity + 63) / 64;

    if (slots > cursor->slots)
        free_blocks(cursor);
    for (size_t i = 0; i < cursor->block_count; i++) {
        struct query_table_block *block = &cursor->blocks[i];
        if (block->values)
            continue;
        block->values = malloc(slots * cursor->capacity * sizeof *block->values);
        block->nulls = malloc(slots * words * sizeof *block->nulls);
        if (!block->values || !block->nulls)
            return SQLITE_NOMEM;
    }
    cursor->slots = slots > cursor->slots ? slots : cursor->slots;
    return SQLITE_OK;
}

/* Whether rows of the chunk may pass the tests on the time. */
static int chunk_may_pass(const struct query_table_cursor *cursor, const struct query_table *table,
                          const struct report_chunk *chunk)
{
    for (size_t i = 0; i < cursor->test_count; i++)
        if (cursor->tests[i].column == table->time_column && chunk->first_ns <= chunk->last_ns &&
            (chunk->last_ns < cursor->tests[i].low || chunk->first_ns > cursor->tests[i].high))
            return 0;
    return 1;
}

/* Decodes the next run of chunks that may hold matching rows. Runs grow while the query reads on: LIMIT 1 decodes
 * one chunk. */
static int fill_window(struct query_table_cursor *cursor)
{
    struct query_table *table = (struct query_table *)cursor->base.pVtab;
    const struct report_table *from = table->report_table;
    size_t chunks = report_chunk_count(from);
    uint64_t first_row = 0, rows = 0;
    struct error err;

    cursor->block_count = cursor->block_at = 0;
    if (cursor->decoded >= query_table_rows(table) && cursor->next_chunk < chunks) {
        query_table_cut(table, cursor->decoded);
        return SQLITE_OK;
    }
    for (; cursor->next_chunk < chunks && cursor->block_count < cursor->window; cursor->next_chunk++) {
        struct report_chunk chunk = report_chunk_at(from, cursor->next_chunk);
        if (!chunk_may_pass(cursor, table, &chunk)) {
            if (cursor->block_count)
                break;
            continue;
        }
        first_row = cursor->block_count ? first_row : chunk.first_row;
        rows = chunk.first_row + chunk.rows - first_row;
        struct query_table_block *block = &cursor->blocks[cursor->block_count++];
        block->first_row = chunk.first_row;
        block->rows = chunk.rows;
        block->arrived = 0;
        cursor->decoded += chunk.rows;
    }
    if (!cursor->block_count)
        return SQLITE_OK;
    cursor->window = cursor->window * 2 < MOST_BLOCKS ? cursor->window * 2 : MOST_BLOCKS;
    if (query_table_make_room(cursor) != SQLITE_OK)
        return SQLITE_NOMEM;
    int code = report_scan_rows(table->tables->report, from, cursor->plan.columns, cursor->plan.column_count, first_row,
                                rows, keep_block, cursor, &err);
    if (code != 0)
        return code == ERR_NO_MEMORY ? SQLITE_NOMEM : SQLITE_IOERR;
    return SQLITE_OK;
}

static void enter_block(struct query_table_cursor *cursor, const struct query_table_block *block)
{
    size_t words = (cursor->capacity + 63) / 64;

    for (size_t c = 0; c < cursor->plan.column_count; c++) {
        cursor->values[c] = block->values + c * cursor->capacity;
        cursor->nulls[c] = block->has_nulls[c] ? block->nulls + c * words : NULL;
    }
    cursor->first_row = block->first_row;
    cursor->row = 0;
    cursor->row_end = block->rows;
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

static inline int query_table_is_null(const struct query_table_cursor *cursor, size_t slot, size_t row)
{
    return cursor->nulls[slot] && (cursor->nulls[slot][row / 64] >> (row % 64) & 1);
}

static inline int query_table_passes(const struct query_table_cursor *cursor, size_t row)
{
    for (size_t i = 0; i < cursor->test_count; i++) {
        const struct query_test *test = &cursor->tests[i];
        int64_t value = cursor->values[test->slot][row];
        if (value < test->low || value > test->high || query_table_is_null(cursor, (size_t)test->slot, row))
            return 0;
    }
    return 1;
}

/* The next row, from `row` on, that passes the tests; row_end if none does. */
static inline void skip_rows(struct query_table_cursor *cursor)
{
    if (cursor->test_count)
        while (cursor->row < cursor->row_end && !query_table_passes(cursor, cursor->row))
            cursor->row++;
}

/* At the end of the current block: moves to the next row of a later one. */
static int query_table_next_block(struct query_table_cursor *cursor)
{
    for (;;) {
        if (cursor->block_at == cursor->block_count) {
            int code = fill_window(cursor);
            if (code != SQLITE_OK)
                return code;
            if (!cursor->block_count) {
                cursor->mode = MODE_END;
                return SQLITE_OK;
            }
        }
        const struct query_table_block *block = &cursor->blocks[cursor->block_at++];
        if (!block->arrived)
            continue;
        enter_block(cursor, block);
        skip_rows(cursor);
        if (cursor->row < cursor->row_end)
            return SQLITE_OK;
    }
}

static void next_of_chain(struct query_table_cursor *cursor)
{
    while (cursor->chain) {
        cursor->row = cursor->chain - 1;
        cursor->chain = cursor->loaded->next[cursor->row];
        if (query_table_passes(cursor, cursor->row))
            return;
    }
    cursor->mode = MODE_END;
}

static int table_next(sqlite3_vtab_cursor *base)
{
    struct query_table_cursor *cursor = (struct query_table_cursor *)base;

    switch (cursor->mode) {
    case MODE_STREAM:
        cursor->row++;
        skip_rows(cursor);
        return cursor->row < cursor->row_end ? SQLITE_OK : query_table_next_block(cursor);
    case MODE_LOADED:
        cursor->row++;
        skip_rows(cursor);
        if (cursor->row >= cursor->row_end)
            cursor->mode = MODE_END;
        return SQLITE_OK;
    case MODE_CHAIN: next_of_chain(cursor); return SQLITE_OK;
    case MODE_STRING:
    case MODE_END: cursor->mode = MODE_END;
    }
    return SQLITE_OK;
}

static int table_eof(sqlite3_vtab_cursor *base)
{
    return ((const struct query_table_cursor *)base)->mode == MODE_END;
}

static void result_string(sqlite3_context *result, struct report *report, int64_t id)
{
    size_t length;
    const char *bytes = report_string(report, id, &length);

    sqlite3_result_text64(result, bytes, length, SQLITE_STATIC, SQLITE_UTF8);
}

static int table_column(sqlite3_vtab_cursor *base, sqlite3_context *result, int column)
{
    const struct query_table_cursor *cursor = (const struct query_table_cursor *)base;
    const struct query_table *table = (const struct query_table *)base->pVtab;
    int slot = cursor->plan.slot[column];
    union {
        int64_t bits;
        double real;
    } value;

    if (cursor->mode == MODE_STRING) {
        if (table->report_table->columns[column].type == COLUMN_TEXT)
            result_string(result, table->tables->report, cursor->string_id);
        else
            sqlite3_result_int64(result, cursor->string_id);
        return SQLITE_OK;
    }
    if (slot < 0 || query_table_is_null(cursor, (size_t)slot, cursor->row))
        return SQLITE_OK; /* NULL */
    value.bits = cursor->values[slot][cursor->row];
    switch (table->report_table->columns[column].type) {
    case COLUMN_INT:
    case COLUMN_TIME:
    case COLUMN_STRING: sqlite3_result_int64(result, value.bits); break;
    case COLUMN_REAL: sqlite3_result_double(result, value.real); break;
    case COLUMN_TEXT: result_string(result, table->tables->report, value.bits); break;
    }
    return SQLITE_OK;
}

static int table_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
    const struct query_table_cursor *cursor = (const struct query_table_cursor *)base;

    *out = cursor->mode == MODE_STRING ? cursor->string_id : (sqlite3_int64)(cursor->first_row + cursor->row + 1);
    return SQLITE_OK;
}

/* ---- starting -------------------------------------------------------------------------------------------------- */

/* A number as an interval of integers; 0 if nothing can be said (a text may still be equal to SQLite). */
static int whole_interval(sqlite3_value *value, char op, int64_t *low, int64_t *high)
{
    int64_t floor_of, ceiling_of;

    *low = INT64_MIN;
    *high = INT64_MAX;
    if (sqlite3_value_type(value) == SQLITE_INTEGER) {
        floor_of = ceiling_of = sqlite3_value_int64(value);
    } else if (sqlite3_value_type(value) == SQLITE_FLOAT && fabs(sqlite3_value_double(value)) < 9e15) {
        floor_of = (int64_t)floor(sqlite3_value_double(value));
        ceiling_of = (int64_t)ceil(sqlite3_value_double(value));
    } else {
        return 0;
    }
    if (op == '=' || op == '>' || op == 'g')
        *low = floor_of;
    if (op == '=' || op == '<' || op == 'l')
        *high = ceiling_of;
    return 1;
}

/* The id of a text; 0 if nothing can be said. "" has no id of its own: ids that do not exist read as "" too. */
static int text_interval(struct report *report, sqlite3_value *value, int64_t *low, int64_t *high)
{
    if (sqlite3_value_type(value) != SQLITE_TEXT || sqlite3_value_bytes(value) == 0)
        return 0;
    *low = *high = report_find_string(report, (const char *)sqlite3_value_text(value),
                                      (size_t)sqlite3_value_bytes(value));
    if (*low < 0)
        *low = 1, *high = 0; /* no row can have it */
    else if (report_strings_repeat(report))
        return 0;
    return 1;
}

/* 0 if no row can pass. */
static int make_tests(struct query_table_cursor *cursor, sqlite3_value **argv)
{
    const struct query_table *table = (const struct query_table *)cursor->base.pVtab;

    cursor->test_count = 0;
    for (size_t i = 0; i < cursor->plan.want_count; i++) {
        int column = cursor->plan.wants[i].column, known;
        struct query_test test = { .column = column, .slot = cursor->plan.slot[column] };
        if (sqlite3_value_type(argv[i]) == SQLITE_NULL)
            return 0;
        if (table->report_table->columns[column].type == COLUMN_TEXT)
            known = text_interval(table->tables->report, argv[i], &test.low, &test.high);
        else
            known = whole_interval(argv[i], cursor->plan.wants[i].op, &test.low, &test.high);
        if (known && test.low > test.high)
            return 0;
        if (known)
            cursor->tests[cursor->test_count++] = test;
    }
    return 1;
}

/* The column compared for equality that is expected to match the fewest rows: the first one. -1: none. */
static const struct query_test *equality(const struct query_table_cursor *cursor)
{
    for (size_t i = 0; i < cursor->test_count; i++)
        if (cursor->tests[i].low == cursor->tests[i].high)
            return &cursor->tests[i];
    return NULL;
}

static int start_stream(struct query_table_cursor *cursor)
{
    const struct report_table *from = ((const struct query_table *)cursor->base.pVtab)->report_table;

    cursor->mode = MODE_STREAM;
    cursor->next_chunk = cursor->block_count = cursor->block_at = 0;
    cursor->decoded = 0;
    cursor->window = BLOCKS_AT_FIRST;
    if (!cursor->capacity)
        for (size_t i = 0; i < report_chunk_count(from); i++) {
            size_t rows = report_chunk_at(from, i).rows;
            cursor->capacity = rows > cursor->capacity ? rows : cursor->capacity;
        }
    return query_table_next_block(cursor);
}

/* If the times rise, rows outside of the tests on the time are skipped. */
static void query_table_narrow(struct query_table_cursor *cursor, const struct query_table *table)
{
    const struct query_loaded *loaded = cursor->loaded;

    cursor->row = 0;
    cursor->row_end = loaded->columns.rows;
    for (size_t i = 0; i < cursor->test_count && loaded->times_rise; i++) {
        const struct query_test *test = &cursor->tests[i];
        const int64_t *times = loaded->columns.values[loaded->slot[table->time_column]];
        if (test->column != table->time_column)
            continue;
        cursor->row = BISECT(cursor->row, cursor->row_end, row, times[row] < test->low);
        cursor->row_end = BISECT(cursor->row, cursor->row_end, row, times[row] <= test->high);
    }
}

static int start_loaded(struct query_table_cursor *cursor)
{
    struct query_table *table = (struct query_table *)cursor->base.pVtab;
    const struct query_test *equal = equality(cursor);
    int code = query_table_load(table, &cursor->plan, equal ? equal->column : -1, &cursor->loaded);

    if (code == SQLITE_DONE)
        return start_stream(cursor);
    if (code != SQLITE_OK)
        return code;
    for (size_t c = 0; c < cursor->plan.column_count; c++) {
        int slot = cursor->loaded->slot[cursor->plan.columns[c]];
        cursor->values[c] = cursor->loaded->columns.values[slot];
        cursor->nulls[c] = cursor->loaded->columns.nulls[slot];
    }
    cursor->first_row = 0;
    if (equal) {
        cursor->mode = MODE_CHAIN;
        cursor->chain = query_loaded_first(cursor->loaded, equal->low);
        next_of_chain(cursor);
        return SQLITE_OK;
    }
    cursor->mode = MODE_LOADED;
    query_table_narrow(cursor, table);
    skip_rows(cursor);
    if (cursor->row >= cursor->row_end)
        cursor->mode = MODE_END;
    return SQLITE_OK;
}

/* StringIds: the pool knows its strings by id and the ids by string. The empty string is id 0. */
static int start_string(struct query_table_cursor *cursor, int64_t id)
{
    const struct query_table *table = (const struct query_table *)cursor->base.pVtab;
    size_t length;

    cursor->string_id = id;
    report_string(table->tables->report, id, &length);
    cursor->mode = length || id == 0 ? MODE_STRING : MODE_END;
    return SQLITE_OK;
}

static int table_filter(sqlite3_vtab_cursor *base, int number, const char *text, int argc, sqlite3_value **argv)
{
    struct query_table_cursor *cursor = (struct query_table_cursor *)base;
    struct query_table *table = (struct query_table *)base->pVtab;

    if (cursor->plan.text != text)
        query_plan_parse(&cursor->plan, text);
    if (table->run != table->tables->run) {
        query_table_unload(table);
        table->filters = 0;
        table->run = table->tables->run;
    }
    cursor->mode = MODE_END;
    if (!make_tests(cursor, argv))
        return SQLITE_OK;
    if (table->is_strings && equality(cursor))
        return start_string(cursor, equality(cursor)->low);
    return table->filters++ ? start_loaded(cursor) : start_stream(cursor);
}

const sqlite3_module query_table_module = {
    .xCreate = table_connect,
    .xConnect = table_connect,
    .xBestIndex = query_table_best_index,
    .xDisconnect = table_disconnect,
    .xDestroy = table_disconnect,
    .xOpen = table_open,
    .xClose = table_close,
    .xFilter = table_filter,
    .xNext = table_next,
    .xEof = table_eof,
    .xColumn = table_column,
    .xRowid = table_rowid,
};
