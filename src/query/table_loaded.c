/* Whole columns of a table in memory, for a table that a query reads repeatedly. */
#include <stdlib.h>
#include <string.h>

#include "query_table.h"

void query_table_unload(struct query_table *table)
{
    while (table->loaded) {
        struct query_loaded *loaded = table->loaded;
        table->loaded = loaded->older;
        report_columns_free(&loaded->columns);
        free(loaded->heads);
        free(loaded->next);
        free(loaded);
    }
}

static int serves(const struct query_loaded *loaded, const struct query_plan *plan, int hashed)
{
    for (size_t i = 0; i < plan->column_count; i++)
        if (loaded->slot[plan->columns[i]] < 0)
            return 0;
    return hashed < 0 || loaded->hashed == hashed;
}

uint64_t query_table_rows(const struct query_table *table)
{
    const struct report_table *from = table->report_table;
    uint64_t most = table->is_strings ? 0 : table->tables->most_rows, rows = 0;

    if (!most || from->rows <= most)
        return from->rows;
    for (size_t i = 0; i < report_chunk_count(from) && rows < most; i++)
        rows += report_chunk_at(from, i).rows;
    return rows;
}

void query_table_cut(struct query_table *table, uint64_t rows)
{
    struct query_part *part = &table->tables->part;

    if (table->report_table->rows - rows > part->of - part->rows)
        *part = (struct query_part){ table->report_table->name, rows, table->report_table->rows };
}

struct part_reading {
    struct report_columns *out;
    uint64_t arrived;
};

static int table_loaded_take_block(void *context, int worker, const struct report_block *block)
{
    struct part_reading *reading = context;
    size_t first = (size_t)block->first_row;

    for (size_t c = 0; c < reading->out->column_count; c++) {
        memcpy(reading->out->values[c] + first, block->values[c], block->rows * sizeof **block->values);
        for (size_t row = 0; block->nulls[c] && row < block->rows; row++)
            if (block_is_null(block, c, row)) /* two chunks may share a word */
                __atomic_fetch_or(&reading->out->nulls[c][(first + row) / 64], UINT64_C(1) << (first + row) % 64,
                                  __ATOMIC_RELAXED);
    }
    __atomic_fetch_add(&reading->arrived, block->rows, __ATOMIC_RELAXED);
    return 0;
}

/* Reads the first rows, of whole chunks, as report_read() reads all. Fewer rows than requested mean damage. */
static int table_loaded_read_part(struct query_table *table, const int *columns, size_t count, uint64_t rows,
                                  struct report_columns *out)
{
    struct part_reading reading = { out, 0 };
    struct error err;

    *out = (struct report_columns){ (size_t)rows, count, calloc(count + 1, sizeof *out->values),
                                    calloc(count + 1, sizeof *out->nulls) };
    int code = ERR_NO_MEMORY;
    if (!out->values || !out->nulls)
        goto free_columns;
    for (size_t c = 0; c < count; c++) {
        out->values[c] = calloc((size_t)rows + 1, sizeof **out->values);
        out->nulls[c] = calloc((size_t)rows / 64 + 1, sizeof **out->nulls);
        if (!out->values[c] || !out->nulls[c])
            goto free_columns;
    }
    code = report_scan_rows(table->tables->report, table->report_table, columns, count, 0, rows,
                            table_loaded_take_block, &reading, &err);
    if (code != 0)
        goto free_columns;
    if (reading.arrived == rows)
        query_table_cut(table, rows);
    else
        out->rows = 0;
    return 0;
free_columns:
    report_columns_free(out);
    return code;
}

/* Decodes the plan's columns and the time in one scan, so that rows of damaged chunks are missing in all of them. */
static int read_columns(struct query_table *table, const struct query_plan *plan)
{
    struct query_loaded *loaded = calloc(1, sizeof *loaded);
    int columns[MOST_COLUMNS];
    size_t count = 0;
    uint64_t rows = query_table_rows(table);
    struct error err;

    if (!loaded)
        return SQLITE_NOMEM;
    loaded->hashed = -1;
    for (int i = 0; i < MOST_COLUMNS; i++) {
        int wanted = plan->slot[i] >= 0 || i == table->time_column;
        loaded->slot[i] = wanted ? (int)count : -1;
        if (wanted)
            columns[count++] = i;
    }
    int code = rows < table->report_table->rows
                   ? table_loaded_read_part(table, columns, count, rows, &loaded->columns)
                   : report_read(table->tables->report, table->report_table, columns, count, &loaded->columns, &err);
    if (code != 0) {
        free(loaded);
        return code == ERR_NO_MEMORY ? SQLITE_NOMEM : SQLITE_IOERR;
    }
    loaded->older = table->loaded;
    table->loaded = loaded;
    return SQLITE_OK;
}

static void check_times(const struct query_table *table, struct query_loaded *loaded)
{
    int slot = table->time_column < 0 ? -1 : loaded->slot[table->time_column];

    if (slot < 0 || loaded->columns.nulls[slot])
        return;
    const int64_t *times = loaded->columns.values[slot];
    loaded->times_rise = 1;
    for (size_t r = 1; r < loaded->columns.rows && loaded->times_rise; r++)
        loaded->times_rise = times[r - 1] <= times[r];
}

static size_t table_loaded_hash_of(const struct query_loaded *loaded, int64_t value)
{
    uint64_t mixed = (uint64_t)value * UINT64_C(0x9e3779b97f4a7c15);

    return (size_t)(mixed >> 32 ^ mixed) & loaded->mask;
}

static int make_hash(struct query_loaded *loaded, int column)
{
    size_t rows = loaded->columns.rows, buckets = 16;

    if (rows >= UINT32_MAX)
        return SQLITE_NOMEM;
    while (buckets < rows)
        buckets *= 2;
    loaded->heads = calloc(buckets, sizeof *loaded->heads);
    loaded->next = malloc((rows + 1) * sizeof *loaded->next);
    if (!loaded->heads || !loaded->next)
        return SQLITE_NOMEM;
    loaded->mask = buckets - 1;
    const int64_t *values = loaded->columns.values[loaded->slot[column]];
    for (size_t r = rows; r > 0; r--) {
        uint32_t *head = &loaded->heads[table_loaded_hash_of(loaded, values[r - 1])];
        loaded->next[r - 1] = *head;
        *head = (uint32_t)r;
    }
    loaded->hashed = column;
    return SQLITE_OK;
}

int query_table_load(struct query_table *table, const struct query_plan *plan, int hashed,
                     const struct query_loaded **out)
{
    struct query_loaded *loaded = table->loaded;

    while (loaded && !serves(loaded, plan, hashed))
        loaded = loaded->older;
    if (!loaded) {
        int code = read_columns(table, plan);
        if (code != SQLITE_OK)
            return code;
        loaded = table->loaded;
        check_times(table, loaded);
        if (hashed >= 0 && (code = make_hash(loaded, hashed)) != SQLITE_OK)
            return code;
    }
    *out = loaded;
    return loaded->columns.rows == query_table_rows(table) ? SQLITE_OK : SQLITE_DONE;
}

uint32_t query_loaded_first(const struct query_loaded *loaded, int64_t value)
{
    return loaded->heads[table_loaded_hash_of(loaded, value)];
}
