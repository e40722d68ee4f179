/* Computes the least and the greatest key of each chunk, and reads the chunks whose range contains a key. */
#include "key_ranges.h"

#include <stdlib.h>

#include "base/array.h"

struct zone {
    int64_t least, greatest;
};

struct key_ranges_map {
    const struct key_ranges_kind *kind;
    struct zone *list; /* owned; by chunk; it stays where it is, and as it is */
};

void key_ranges_init(struct key_ranges *zones)
{
    *zones = (struct key_ranges){ 0 };
    pthread_mutex_init(&zones->lock, NULL);
}

void key_ranges_free(struct key_ranges *zones)
{
    for (size_t i = 0; i < zones->count; i++)
        free(zones->list[i].list);
    free(zones->list);
    pthread_mutex_destroy(&zones->lock);
}

static size_t find_columns(const struct key_ranges_kind *kind, const struct report_table *table,
                           int wanted[ZONE_MOST_COLUMNS])
{
    size_t count = 0;

    for (; count < ZONE_MOST_COLUMNS && kind->columns[count]; count++)
        wanted[count] = report_column(table, kind->columns[count]);
    return count;
}

static int64_t key_of(const struct key_ranges_kind *kind, struct report *report, const struct report_block *block,
                      size_t row)
{
    return kind->key ? kind->key(report, block, row) : block_value(block, 0, row, NO_ZONE_KEY);
}

/* ---- making a map ---------------------------------------------------------------------------------------------- */

struct making {
    struct report *report;
    const struct report_table *table;
    struct key_ranges_map *map;
};

/* The chunk that begins with this row. */
static size_t chunk_of(const struct report_table *table, uint64_t first_row)
{
    size_t low = 0, high = report_chunk_count(table);

    while (low + 1 < high) {
        size_t middle = low + (high - low) / 2;
        if (report_chunk_at(table, middle).first_row <= first_row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static int look_at_chunk(void *context, int worker, const struct report_block *block)
{
    const struct making *making = context;
    struct zone zone = { INT64_MAX, INT64_MIN };

    for (size_t row = 0; row < block->rows; row++) {
        int64_t key = key_of(making->map->kind, making->report, block, row);
        if (key == NO_ZONE_KEY)
            continue;
        zone.least = key < zone.least ? key : zone.least;
        zone.greatest = key > zone.greatest ? key : zone.greatest;
    }
    making->map->list[chunk_of(making->table, block->first_row)] = zone;
    return 0;
}

static int make_map(struct key_ranges *zones, struct report *report, const struct key_ranges_kind *kind,
                    const struct report_table *table, const struct zone **out, struct error *err)
{
    size_t chunks = report_chunk_count(table);
    int wanted[ZONE_MOST_COLUMNS], code;
    size_t count = find_columns(kind, table, wanted);
    struct key_ranges_map map = { kind, malloc((chunks + 1) * sizeof *map.list) };
    struct making making = { report, table, &map };

    if (!map.list || array_reserve(&zones->list, &zones->room, zones->count + 1, sizeof map) != 0) {
        code = error_set(err, ERR_NO_MEMORY, "not enough memory to find what belongs together");
        goto free_map;
    }
    for (size_t i = 0; i < chunks; i++)
        map.list[i] = (struct zone){ INT64_MAX, INT64_MIN }; /* a chunk that cannot be read has no keys */
    if ((code = report_scan(report, table, wanted, count, NULL, look_at_chunk, &making, err)) != 0)
        goto free_map;
    *out = map.list;
    zones->list[zones->count++] = map;
    return 0;

free_map:
    free(map.list);
    return code;
}

/* The ranges of all chunks, computed at the first request; a thread that asks meanwhile waits for them. */
static int get_map(struct key_ranges *zones, struct report *report, const struct key_ranges_kind *kind,
                   const struct report_table *table, const struct zone **out, struct error *err)
{
    int code = 0;

    *out = NULL;
    pthread_mutex_lock(&zones->lock);
    for (size_t i = 0; i < zones->count && !*out; i++)
        *out = zones->list[i].kind == kind ? zones->list[i].list : NULL;
    if (!*out)
        code = make_map(zones, report, kind, table, out, err);
    pthread_mutex_unlock(&zones->lock);
    return code;
}

/* ---- looking --------------------------------------------------------------------------------------------------- */

struct look {
    struct report *report;
    const struct key_ranges_kind *kind;
    const int64_t *keys;
    size_t key_count;
    key_ranges_visit *visit;
    void *context;
};

static int look_for_keys(void *context, int worker, const struct report_block *block)
{
    const struct look *look = context;
    int64_t least = look->keys[0], greatest = look->keys[look->key_count - 1];
    int code;

    for (size_t row = 0; row < block->rows; row++) {
        int64_t key = key_of(look->kind, look->report, block, row);
        if (key < least || key > greatest || key == NO_ZONE_KEY)
            continue;
        size_t at = array_first_not_before(look->keys, look->key_count, key);
        if (look->keys[at] == key && (code = look->visit(look->context, block, row)) != 0)
            return code;
    }
    return 0;
}

int key_ranges_find(struct key_ranges *zones, struct report *report, const struct key_ranges_kind *kind,
                    const int64_t *keys, size_t key_count, key_ranges_visit *visit, void *context, struct error *err)
{
    const struct report_table *table = report_table(report, kind->table);
    struct look look = { report, kind, keys, key_count, visit, context };
    const struct zone *map;
    int wanted[ZONE_MOST_COLUMNS], code;

    if (!table || !table->rows || !key_count)
        return 0;
    if ((code = get_map(zones, report, kind, table, &map, err)) != 0)
        return code;
    size_t column_count = find_columns(kind, table, wanted);
    for (size_t i = 0; i < report_chunk_count(table); i++) {
        size_t at = array_first_not_before(keys, key_count, map[i].least);
        if (at == key_count || keys[at] > map[i].greatest)
            continue;
        struct report_chunk chunk = report_chunk_at(table, i);
        if ((code = report_scan_rows(report, table, wanted, column_count, chunk.first_row, chunk.rows, look_for_keys,
                                     &look, err)) != 0)
            return code == ZONE_ENOUGH ? 0 : code;
    }
    return 0;
}

/* ---- one row --------------------------------------------------------------------------------------------------- */

struct single {
    uint64_t row;
    key_ranges_visit *visit;
    void *context;
};

static int visit_single(void *context, int worker, const struct report_block *block)
{
    const struct single *single = context;

    return single->row >= block->first_row && single->row - block->first_row < block->rows
               ? single->visit(single->context, block, (size_t)(single->row - block->first_row))
               : 0;
}

int key_ranges_row(struct report *report, const struct key_ranges_kind *kind, uint64_t table_row,
                   key_ranges_visit *visit, void *context, struct error *err)
{
    const struct report_table *table = report_table(report, kind->table);
    struct single single = { table_row, visit, context };
    int wanted[ZONE_MOST_COLUMNS];

    if (!table || table_row >= table->rows)
        return 0;
    size_t count = find_columns(kind, table, wanted);
    int code = report_scan_rows(report, table, wanted, count, table_row, 1, visit_single, &single, err);
    return code == ZONE_ENOUGH ? 0 : code;
}
