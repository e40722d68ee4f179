/* Makes a set of reports: its tables, and for each chunk of a part one that says where it is. */
#include "unite.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "reader_state.h"
#include "report/schema/schema.h"

/* The columns that every table of a set has. */
static const struct added_column {
    const char *name;
    enum column_type type;
    int what;
} added_columns[] = {
    { "rank", COLUMN_INT, PART_RANK },
    { "host", COLUMN_TEXT, PART_HOST },
};
enum { ADDED_COLUMNS = COUNT_OF(added_columns) };

struct reader_table *set_add_table(struct report *set, const char *name)
{
    struct reader_table *table = reader_table_find(set, name, strlen(name));

    if (table)
        return table;
    table = reader_table_add(set, name);
    if (table && strcmp(name, STRING_TABLE) == 0)
        set->string_table = table;
    return table;
}

int set_add_column(struct reader_table *table, const char *name, enum column_type type)
{
    size_t count = table->public.column_count;

    if (report_column(&table->public, name) >= 0 || count >= TABLE_MAX_COLUMNS)
        return 0;
    if (array_reserve(&table->columns, &table->column_capacity, count + 1, sizeof *table->columns) != 0)
        return ERR_NO_MEMORY;
    table->columns[count] = (struct report_column){ name, type };
    table->public.columns = table->columns;
    table->public.column_count = count + 1;
    table->has_time |= type == COLUMN_TIME;
    return 0;
}

/* Most parts have the columns of a table in the same order. */
static int is_column_at(const struct report_table *table, size_t at, const char *name)
{
    return at < table->column_count && strcmp(table->columns[at].name, name) == 0;
}

/* Names belong to the parts, which live as long as the set. */
static int add_columns_of(struct report *set, const struct report *part)
{
    for (size_t t = 0; t < part->table_count; t++) {
        const struct report_table *from = &part->tables[t]->public;
        struct reader_table *table = set_add_table(set, from->name);
        if (!table)
            return ERR_NO_MEMORY;
        for (size_t c = 0; c < from->column_count; c++)
            if (!is_column_at(&table->public, c, from->columns[c].name) &&
                set_add_column(table, from->columns[c].name, from->columns[c].type) != 0)
                return ERR_NO_MEMORY;
    }
    return 0;
}

static int add_own_columns(struct report *set)
{
    for (size_t t = 0; t < set->table_count; t++)
        for (size_t i = 0; i < ADDED_COLUMNS; i++)
            if (set->tables[t] != set->string_table &&
                set_add_column(set->tables[t], added_columns[i].name, added_columns[i].type) != 0)
                return ERR_NO_MEMORY;
    return 0;
}

/* A column that has another type in the part reads as NULL. */
static int part_column(const struct report_table *from, const struct report_column *column, size_t at)
{
    int found = is_column_at(from, at, column->name) ? (int)at : report_column(from, column->name);

    if (found >= 0)
        return from->columns[found].type == column->type ? found : PART_HAS_NOT;
    for (size_t i = 0; i < ADDED_COLUMNS; i++)
        if (strcmp(added_columns[i].name, column->name) == 0)
            return added_columns[i].what;
    return PART_HAS_NOT;
}

static struct reader_part_table *map_table(struct report *set, struct reader_part *part,
                                           const struct reader_table *table, const struct report_table *from)
{
    const struct report_table *to = &table->public;
    struct reader_part_table *map = arena_alloc(&set->arena, sizeof *map);
    int *columns = arena_alloc(&set->arena, (to->column_count + 1) * sizeof *columns);

    if (!map || !columns)
        return NULL;
    for (size_t c = 0; c < to->column_count; c++)
        columns[c] = part_column(from, &to->columns[c], c);
    *map = (struct reader_part_table){
        .part = part, .column_count = to->column_count, .meanings = table->meanings, .columns = columns
    };
    row_ranks_find(map, from);
    return map;
}

static int add_chunks(struct reader_table *table, const struct reader_part_table *map, struct reader_table *from)
{
    const struct report_part *about = &map->part->public;

    if (array_reserve(&table->chunks, &table->chunk_capacity, table->chunk_count + from->chunk_count,
                      sizeof *table->chunks) != 0)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < from->chunk_count; i++) {
        struct reader_chunk *chunk = &from->chunks[i];
        int has_times = from->has_time && chunk->first <= chunk->last;
        int64_t kept = row_ranks_filter(map) ? reader_kept_rows(map, chunk) : chunk->rows;
        if (kept <= 0) /* -1: its damage is counted */
            continue;
        struct reader_chunk added = {
            .size = chunk->size,
            .rows = (uint32_t)kept,
            .first = has_times ? report_part_time(about, chunk->first) : INT64_MAX,
            .last = has_times ? report_part_time(about, chunk->last) : INT64_MIN,
            .first_row = table->public.rows,
            .part_table = map,
            .part_chunk = chunk,
        };
        table->chunks[table->chunk_count++] = added;
        table->public.rows += added.rows;
        table->public.packed_bytes += chunk->size;
        table->public.first_ns = added.first < table->public.first_ns ? added.first : table->public.first_ns;
        table->public.last_ns = added.last > table->public.last_ns ? added.last : table->public.last_ns;
    }
    return 0;
}

/* The set has its own strings; GPUs that an earlier part has described are described once. */
static int is_left_out(const struct report *set, const struct reader_part *part, const struct reader_table *table)
{
    return table == set->string_table ||
           (part->public.repeats_gpus && strcmp(table->public.name, "TARGET_INFO_GPU") == 0);
}

static int unite_add_rows(struct report *set)
{
    for (size_t p = 0; p < set->part_count; p++) {
        struct reader_part *part = &set->parts[p];
        for (size_t t = 0; t < part->report->table_count; t++) {
            struct reader_table *from = part->report->tables[t];
            if (!from->chunk_count)
                continue;
            struct reader_table *table = set_add_table(set, from->public.name); /* it is there */
            if (is_left_out(set, part, table))
                continue;
            const struct reader_part_table *map = map_table(set, part, table, &from->public);
            if (!map || add_chunks(table, map, from) != 0)
                return ERR_NO_MEMORY;
        }
    }
    return 0;
}

static int find_meanings(struct report *set)
{
    for (size_t t = 0; t < set->table_count; t++) {
        struct reader_table *table = set->tables[t];
        size_t count = table->public.column_count;
        table->meanings = arena_alloc_zero(&set->arena, (count + 1) * sizeof *table->meanings);
        if (!table->meanings)
            return ERR_NO_MEMORY;
        for (size_t c = 0; c < count; c++)
            table->meanings[c] = schema_meaning(table->public.name, table->columns[c].name);
    }
    return 0;
}

/* Every set has strings: the names of its parts and hosts. */
static int add_string_table(struct report *set)
{
    struct reader_table *table = set_add_table(set, STRING_TABLE);

    if (!table || set_add_column(table, "id", COLUMN_INT) != 0 || set_add_column(table, "value", COLUMN_TEXT) != 0)
        return ERR_NO_MEMORY;
    return 0;
}

static int unite_make_tables(struct report *set)
{
    int code;

    for (size_t p = 0; p < set->part_count; p++)
        if ((code = add_columns_of(set, set->parts[p].report)) != 0)
            return code;
    if ((code = add_string_table(set)) != 0 || (code = clock_offsets_add_columns(set)) != 0 ||
        (code = add_own_columns(set)) != 0)
        return code;
    if ((code = find_meanings(set)) != 0 || (code = unite_add_rows(set)) != 0)
        return code;
    return clock_offsets_add_rows(set);
}

static void *copy_list(struct report *set, const void *list, size_t count, size_t size)
{
    void *copy = arena_alloc(&set->arena, (count + 1) * size);

    if (copy && count)
        memcpy(copy, list, count * size);
    return copy;
}

static int copy_about(struct report *set, struct report_part *about)
{
    about->name = arena_copy(&set->arena, about->name, strlen(about->name));
    if (about->host)
        about->host = arena_copy(&set->arena, about->host, strlen(about->host));
    about->knots = copy_list(set, about->knots, about->knot_count, sizeof *about->knots);
    struct report_rank *ranks = copy_list(set, about->ranks, about->rank_count, sizeof *about->ranks);
    about->ranks = ranks;
    for (size_t i = 0; ranks && i < about->rank_count; i++)
        if (ranks[i].host && !(ranks[i].host = arena_copy(&set->arena, ranks[i].host, strlen(ranks[i].host))))
            return ERR_NO_MEMORY;
    int is_filtered = about->kept_ranks != NULL;
    if (is_filtered)
        about->kept_ranks = copy_list(set, about->kept_ranks, about->kept_rank_count, sizeof *about->kept_ranks);
    return about->name && about->knots && about->ranks && (!is_filtered || about->kept_ranks) ? 0 : ERR_NO_MEMORY;
}

/* Work is done by the first part's threads. */
static int unite_take_parts(struct report *set, struct report *const *parts, const struct report_part *abouts)
{
    set->host = parts[0]->host;
    set->host.size = 0;
    set->has_index = set->complete = 1;
    for (size_t p = 0; p < set->part_count; p++) {
        struct report_health health = report_health(parts[p]);
        set->parts[p] = (struct reader_part){ .report = parts[p], .public = abouts[p], .number = p };
        set->host.size += health.file_bytes;
        set->has_index &= health.has_index;
        set->complete &= health.complete;
        set->recovered |= health.recovered;
        set->cut_bytes += health.cut_bytes;
        if (copy_about(set, &set->parts[p].public) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int unite(struct report *lender, struct report *const *parts, const struct report_part *abouts, size_t count,
                 struct report **out, struct error *err)
{
    struct report *set;
    int code;

    if (!count || count > REPORT_MOST_PARTS)
        return error_set(err, ERR_UNSUPPORTED, "a set has 1 to %d reports, not %zu", REPORT_MOST_PARTS, count);
    set = calloc(1, sizeof *set);
    if (!set)
        return error_no_memory(err);
    pthread_mutex_init(&set->lock, NULL);
    pthread_mutex_init(&set->set_lock, NULL);
    set->parts = calloc(count, sizeof *set->parts);
    if (!set->parts) {
        report_close(set);
        return error_no_memory(err);
    }
    set->part_count = count;
    set->lender = lender;
    if ((code = unite_take_parts(set, parts, abouts)) != 0 || (code = unite_make_tables(set)) != 0) {
        set->part_count = 0; /* they stay the caller's */
        report_close(set);
        return error_set(err, code, "%s", error_name(code));
    }
    *out = set;
    return 0;
}

int report_unite(struct report *const *parts, const struct report_part *abouts, size_t count, struct report **out,
                 struct error *err)
{
    return unite(NULL, parts, abouts, count, out, err);
}

/* Whether the GPUs of a part are described by one before it. */
static int repeats_gpus(const struct report_part *abouts, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (abouts[i].first_device == abouts[index].first_device)
            return abouts[index].repeats_gpus;
    return 0;
}

int report_choose(struct report *set, const struct report_choice *choices, size_t count, struct report **out,
                  struct error *err)
{
    struct report **parts = calloc(count + 1, sizeof *parts);
    struct report_part *abouts = calloc(count + 1, sizeof *abouts);
    int code;

    if ((!parts || !abouts) && (code = error_no_memory(err)) != 0)
        goto free_lists;
    for (size_t i = 0; i < count; i++) {
        const struct reader_part *part = &set->parts[choices[i].part];
        parts[i] = part->report;
        abouts[i] = part->public;
        abouts[i].repeats_gpus = repeats_gpus(abouts, i);
        if (choices[i].kept_ranks) {
            abouts[i].kept_ranks = choices[i].kept_ranks;
            abouts[i].kept_rank_count = choices[i].kept_rank_count;
        }
    }
    if ((code = unite(set, parts, abouts, count, out, err)) != 0)
        goto free_lists;
    uint64_t size = (*out)->host.size;
    (*out)->host = set->host; /* the threads of the set */
    (*out)->host.size = size;
    for (size_t i = 0; i < count; i++)
        (*out)->parts[i].number = set->parts[choices[i].part].number;
free_lists:
    free(parts);
    free(abouts);
    return code;
}

size_t report_part_count(const struct report *report)
{
    return report->part_count;
}

const struct report_part *report_part_at(const struct report *report, size_t index)
{
    return index < report->part_count ? &report->parts[index].public : NULL;
}

struct report *report_part_report(const struct report *report, size_t index)
{
    return index < report->part_count ? report->parts[index].report : NULL;
}
