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

/* Decodes the plan's columns and the time in one scan, so that rows of damaged chunks are missing in all of them. */
static int read_columns(struct query_table *table, const struct query_plan *plan)
{
    struct query_loaded *loaded = calloc(1, sizeof *loaded);
    int columns[MOST_COLUMNS];
    size_t count = 0;
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
    int code = report_read(table->tables->report, table->report_table, columns, count, &loaded->columns, &err);
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

static size_t hash_of(const struct query_loaded *loaded, int64_t value)
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
        uint32_t *head = &loaded->heads[hash_of(loaded, values[r - 1])];
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
    return loaded->columns.rows == table->report_table->rows ? SQLITE_OK : SQLITE_DONE;
}

uint32_t query_loaded_first(const struct query_loaded *loaded, int64_t value)
{
    return loaded->heads[hash_of(loaded, value)];
}
