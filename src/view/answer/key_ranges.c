/* Computes the least and the greatest key of each chunk, and reads the chunks whose range contains a key. */
#include "key_ranges.h"

#include <stdlib.h>

#include "base/array.h"

struct key_range {
    int64_t least, greatest;
};

struct key_ranges_map {
    const struct key_ranges_kind *kind;
    struct key_range *list; /* owned; by chunk; never moved or changed, so that readers need no lock */
};

void key_ranges_init(struct key_ranges *ranges)
{
    *ranges = (struct key_ranges){ 0 };
    pthread_mutex_init(&ranges->lock, NULL);
}

void key_ranges_free(struct key_ranges *ranges)
{
    for (size_t i = 0; i < ranges->count; i++)
        free(ranges->list[i].list);
    free(ranges->list);
    pthread_mutex_destroy(&ranges->lock);
}

static size_t key_ranges_find_columns(const struct key_ranges_kind *kind, const struct report_table *table,
                                      int wanted[KEY_RANGES_MOST_COLUMNS])
{
    size_t count = 0;

    for (; count < KEY_RANGES_MOST_COLUMNS && kind->columns[count]; count++)
        wanted[count] = report_column(table, kind->columns[count]);
    return count;
}

static int64_t key_ranges_of(const struct key_ranges_kind *kind, struct report *report,
                             const struct report_block *block, size_t row)
{
    return kind->key ? kind->key(report, block, row) : block_value(block, 0, row, KEY_RANGES_NO_KEY);
}

/* ---- making a map ---------------------------------------------------------------------------------------------- */

struct key_ranges_making {
    struct report *report;
    const struct report_table *table;
    struct key_ranges_map *map;
};

/* The chunk that begins with this row. */
static size_t chunk_of(const struct report_table *table, uint64_t first_row)
{
    return BISECT(1, report_chunk_count(table), i, report_chunk_at(table, i).first_row <= first_row) - 1;
}

static int look_at_chunk(void *context, int worker, const struct report_block *block)
{
    const struct key_ranges_making *making = context;
    struct key_range range = { INT64_MAX, INT64_MIN };

    for (size_t row = 0; row < block->rows; row++) {
        int64_t key = key_ranges_of(making->map->kind, making->report, block, row);
        if (key == KEY_RANGES_NO_KEY)
            continue;
        range.least = key < range.least ? key : range.least;
        range.greatest = key > range.greatest ? key : range.greatest;
    }
    making->map->list[chunk_of(making->table, block->first_row)] = range;
    return 0;
}

static int key_ranges_make_map(struct key_ranges *ranges, struct report *report, const struct key_ranges_kind *kind,
                               const struct report_table *table, const struct key_range **out, struct error *err)
{
    size_t chunks = report_chunk_count(table);
    int wanted[KEY_RANGES_MOST_COLUMNS], code;
    size_t count = key_ranges_find_columns(kind, table, wanted);
    struct key_ranges_map map = { kind, malloc((chunks + 1) * sizeof *map.list) };
    struct key_ranges_making making = { report, table, &map };

    if ((!map.list || array_reserve(&ranges->list, &ranges->room, ranges->count + 1, sizeof map) != 0) &&
        (code = error_short_memory(err, "to find what belongs together")) != 0)
        goto free_map;
    for (size_t i = 0; i < chunks; i++)
        map.list[i] = (struct key_range){ INT64_MAX, INT64_MIN }; /* a chunk that cannot be read has no keys */
    if ((code = report_scan(report, table, wanted, count, NULL, look_at_chunk, &making, err)) != 0)
        goto free_map;
    *out = map.list;
    ranges->list[ranges->count++] = map;
    return 0;

free_map:
    free(map.list);
    return code;
}

/* The ranges of all chunks, computed at the first request; a thread that asks meanwhile waits for them. */
static int get_map(struct key_ranges *ranges, struct report *report, const struct key_ranges_kind *kind,
                   const struct report_table *table, const struct key_range **out, struct error *err)
{
    int code = 0;

    *out = NULL;
    pthread_mutex_lock(&ranges->lock);
    for (size_t i = 0; i < ranges->count && !*out; i++)
        *out = ranges->list[i].kind == kind ? ranges->list[i].list : NULL;
    if (!*out)
        code = key_ranges_make_map(ranges, report, kind, table, out, err);
    pthread_mutex_unlock(&ranges->lock);
    return code;
}

/* ---- looking --------------------------------------------------------------------------------------------------- */

struct lookup {
    struct report *report;
    const struct key_ranges_kind *kind;
    const int64_t *keys;
    size_t key_count;
    key_ranges_visit *visit;
    void *context;
};

static int look_for_keys(void *context, int worker, const struct report_block *block)
{
    const struct lookup *lookup = context;
    int64_t least = lookup->keys[0], greatest = lookup->keys[lookup->key_count - 1];
    int code;

    for (size_t row = 0; row < block->rows; row++) {
        int64_t key = key_ranges_of(lookup->kind, lookup->report, block, row);
        if (key < least || key > greatest || key == KEY_RANGES_NO_KEY)
            continue;
        size_t at = array_first_not_before(lookup->keys, lookup->key_count, key);
        if (lookup->keys[at] == key && (code = lookup->visit(lookup->context, block, row)) != 0)
            return code;
    }
    return 0;
}

int key_ranges_find(struct key_ranges *ranges, struct report *report, const struct key_ranges_kind *kind,
                    const int64_t *keys, size_t key_count, key_ranges_visit *visit, void *context, struct error *err)
{
    const struct report_table *table = report_table(report, kind->table);
    struct lookup lookup = { report, kind, keys, key_count, visit, context };
    const struct key_range *map;
    int wanted[KEY_RANGES_MOST_COLUMNS], code;

    if (!table || !table->rows || !key_count)
        return 0;
    if ((code = get_map(ranges, report, kind, table, &map, err)) != 0)
        return code;
    size_t column_count = key_ranges_find_columns(kind, table, wanted);
    for (size_t i = 0; i < report_chunk_count(table); i++) {
        size_t at = array_first_not_before(keys, key_count, map[i].least);
        if (at == key_count || keys[at] > map[i].greatest)
            continue;
        struct report_chunk chunk = report_chunk_at(table, i);
        if ((code = report_scan_rows(report, table, wanted, column_count, chunk.first_row, chunk.rows, look_for_keys,
                                     &lookup, err)) != 0)
            return code == KEY_RANGES_ENOUGH ? 0 : code;
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
    int wanted[KEY_RANGES_MOST_COLUMNS];

    if (!table || table_row >= table->rows)
        return 0;
    size_t count = key_ranges_find_columns(kind, table, wanted);
    int code = report_scan_rows(report, table, wanted, count, table_row, 1, visit_single, &single, err);
    return code == KEY_RANGES_ENOUGH ? 0 : code;
}
