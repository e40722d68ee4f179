/* Decodes chunks on the host's workers: for a visitor, or into whole columns. A damaged chunk is left out and
 * counted once. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cancel.h"
#include "reader_state.h"
#include "unite.h"

/* ---- scratch --------------------------------------------------------------------------------------------------- */

struct reader_scratch *reader_scratch_take(struct report *report)
{
    pthread_mutex_lock(&report->lock);
    struct reader_scratch *scratch = report->scratches;
    if (scratch)
        report->scratches = scratch->next;
    pthread_mutex_unlock(&report->lock);
    if (!scratch && (scratch = malloc(sizeof *scratch))) {
        scratch->chunk = NULL;
        scratch->chunk_capacity = scratch->column_capacity = scratch->row_capacity = 0;
        scratch->values = NULL;
        scratch->nulls = NULL;
        scratch->choice_values = NULL;
        scratch->choice_bits = NULL;
    }
    return scratch;
}

void reader_scratch_give(struct report *report, struct reader_scratch *scratch)
{
    pthread_mutex_lock(&report->lock);
    scratch->next = report->scratches;
    report->scratches = scratch;
    pthread_mutex_unlock(&report->lock);
}

static void scan_free_columns(struct reader_scratch *scratch)
{
    for (size_t i = 0; i < scratch->column_capacity; i++) {
        free(scratch->values[i]);
        free(scratch->nulls[i]);
    }
    free(scratch->values);
    free(scratch->nulls);
    scratch->values = NULL;
    scratch->nulls = NULL;
    scratch->column_capacity = scratch->row_capacity = 0;
}

void reader_scratches_delete(struct report *report)
{
    while (report->scratches) {
        struct reader_scratch *scratch = report->scratches;
        report->scratches = scratch->next;
        scan_free_columns(scratch);
        free(scratch->choice_values);
        free(scratch->choice_bits);
        free(scratch->chunk);
        free(scratch);
    }
}

void report_release_memory(struct report *report)
{
    pthread_mutex_lock(&report->lock);
    reader_scratches_delete(report);
    pthread_mutex_unlock(&report->lock);
}

/* Makes room for `count` columns of `rows` rows; their old contents are lost. */
static int scratch_columns(struct reader_scratch *scratch, size_t count, size_t rows)
{
    if (count <= scratch->column_capacity && rows <= scratch->row_capacity)
        return 0;
    count = count > scratch->column_capacity ? count : scratch->column_capacity;
    rows = rows > scratch->row_capacity ? rows : scratch->row_capacity;
    scan_free_columns(scratch);
    scratch->values = calloc(count + 1, sizeof *scratch->values);
    scratch->nulls = calloc(count + 1, sizeof *scratch->nulls);
    if (!scratch->values || !scratch->nulls)
        return ERR_NO_MEMORY;
    scratch->column_capacity = count;
    for (size_t i = 0; i < count; i++) {
        scratch->values[i] = malloc(rows * sizeof **scratch->values);
        scratch->nulls[i] = malloc((rows + 63) / 64 * sizeof **scratch->nulls);
        if (!scratch->values[i] || !scratch->nulls[i])
            return ERR_NO_MEMORY;
    }
    scratch->row_capacity = rows;
    return 0;
}

/* ---- one chunk ------------------------------------------------------------------------------------------------- */

void reader_chunk_damaged(struct report *report, struct reader_chunk *chunk)
{
    if (atomic_exchange(&chunk->damaged, 1))
        return;
    report->damaged_chunks++;
    report->damaged_bytes += chunk->size;
}

int reader_chunk_read_at(struct report *report, uint64_t offset, uint32_t size, struct reader_scratch *scratch,
                         struct chunk_header *header)
{
    if (size > scratch->chunk_capacity) {
        free(scratch->chunk);
        scratch->chunk_capacity = 0;
        scratch->chunk = malloc(size);
        if (!scratch->chunk)
            return ERR_NO_MEMORY;
        scratch->chunk_capacity = size;
    }
    if (report->host.read_at(report->host.context, offset, scratch->chunk, size))
        return ERR_IO;
    if (!chunk_header_get(scratch->chunk, offset, header) || header->payload_size != size - CHUNK_HEADER_SIZE)
        return ERR_CORRUPT;
    uint64_t hash = hash_bytes(scratch->chunk + CHUNK_HEADER_SIZE, header->payload_size);
    return hash_matches(header->payload_hash, hash) ? 0 : ERR_CORRUPT;
}

const uint8_t *reader_chunk_read(struct report *report, struct reader_chunk *chunk, struct reader_scratch *scratch,
                                 size_t *size)
{
    struct chunk_header header;
    if (reader_chunk_read_at(report, chunk->offset, chunk->size, scratch, &header) || header.kind != CHUNK_ROWS ||
        header.table != chunk->definition->id || header.rows != chunk->rows || header.first != chunk->first ||
        header.last != chunk->last) {
        reader_chunk_damaged(report, chunk);
        return NULL;
    }
    *size = header.payload_size;
    return scratch->chunk + CHUNK_HEADER_SIZE;
}

/* The index of a table column in chunks of this definition; -1 if they lack it. */
static int definition_column(const struct reader_definition *definition, int column)
{
    for (size_t i = 0; column >= 0 && i < definition->column_count; i++)
        if (definition->table_column[i] == column)
            return (int)i;
    return -1;
}

/* The destination of decoded columns; has_nulls[c] is set for each. */
struct target {
    const int *columns;
    size_t count;
    int64_t **values;
    uint64_t **nulls;
    int *has_nulls;
};

static void all_null(size_t rows, int64_t *values, uint64_t *nulls, int *has_nulls)
{
    static const struct decode_column nothing = { .null_mode = NULLS_ALL };
    column_decode(NULL, NULL, &nothing, rows, NULL, values, nulls, has_nulls);
}

/* The strings of StringIds are numbered from the chunk's first id. Both of its columns read as those numbers. */
static int decode_ids(const struct reader_chunk *chunk, const struct target *target)
{
    for (size_t c = 0; c < target->count; c++) {
        target->has_nulls[c] = 0;
        if (target->columns[c] < 0)
            all_null(chunk->rows, target->values[c], target->nulls[c], &target->has_nulls[c]);
        else
            for (size_t r = 0; r < chunk->rows; r++)
                target->values[c][r] = chunk->first + (int64_t)r;
    }
    return 0;
}

static int needs_times(const struct reader_scratch *scratch, const struct reader_definition *definition,
                       const struct target *target)
{
    for (size_t c = 0; c < target->count; c++) {
        int column = definition_column(definition, target->columns[c]);
        if (column >= 0 && scratch->views[column].coding == CODING_RELATIVE)
            return 1;
    }
    return 0;
}

static int file_chunk_decode(struct report *report, struct reader_chunk *chunk, struct reader_scratch *scratch,
                             const struct target *target)
{
    const struct reader_definition *definition = chunk->definition;
    size_t size;
    const uint8_t *payload = reader_chunk_read(report, chunk, scratch, &size);
    if (!payload)
        return ERR_CORRUPT;
    if (columns_parse(payload, size, chunk->rows, scratch->views, definition->column_count))
        goto damaged;
    if (!strcmp(definition->table->public.name, STRING_TABLE))
        return decode_ids(chunk, target);

    const int64_t *times = NULL;
    if (needs_times(scratch, definition, target)) {
        const struct decode_column *view = definition->time_column < 0 ? NULL
                                                                       : &scratch->views[definition->time_column];
        uint64_t nulls[CHUNK_MAX_ROWS / 64];
        int has_nulls;
        if (!view || view->null_mode || view->coding == CODING_RELATIVE ||
            column_decode(&report->host, &scratch->decode, view, chunk->rows, NULL, scratch->decode.times, nulls,
                          &has_nulls))
            goto damaged;
        times = scratch->decode.times;
    }
    for (size_t c = 0; c < target->count; c++) {
        int column = definition_column(definition, target->columns[c]);
        if (column < 0)
            all_null(chunk->rows, target->values[c], target->nulls[c], &target->has_nulls[c]);
        else if (times && column == definition->time_column) {
            memcpy(target->values[c], times, chunk->rows * sizeof *times);
            target->has_nulls[c] = 0;
        } else if (column_decode(&report->host, &scratch->decode, &scratch->views[column], chunk->rows, times,
                                 target->values[c], target->nulls[c], &target->has_nulls[c]))
            goto damaged;
    }
    return 0;

damaged:
    reader_chunk_damaged(report, chunk);
    return ERR_CORRUPT;
}

/* A NULL reads as 0 in a set, too. */
static void clear_nulls(int64_t *values, const uint64_t *nulls, size_t rows)
{
    for (size_t r = 0; r < rows; r++)
        if (nulls[r / 64] >> (r % 64) & 1)
            values[r] = 0;
}

/* One column of a chunk, into the scratch memory for what decides which rows are kept. */
static int decode_choice(struct report *report, struct reader_chunk *chunk, int column, struct reader_scratch *scratch,
                         int *has_nulls)
{
    if (!scratch->choice_values)
        scratch->choice_values = malloc(CHUNK_MAX_ROWS * sizeof *scratch->choice_values);
    if (!scratch->choice_bits)
        scratch->choice_bits = malloc(CHUNK_MAX_ROWS / 64 * sizeof *scratch->choice_bits);
    if (!scratch->choice_values || !scratch->choice_bits)
        return ERR_NO_MEMORY;
    struct target target = { &column, 1, &scratch->choice_values, &scratch->choice_bits, has_nulls };
    return file_chunk_decode(report, chunk, scratch, &target);
}

static void keep_rows(const struct reader_scratch *scratch, const struct target *target, size_t rows)
{
    for (size_t c = 0; c < target->count; c++)
        row_ranks_keep(scratch->choice_bits, rows, target->values[c], target->has_nulls[c] ? target->nulls[c] : NULL);
}

/* ---- a window -------------------------------------------------------------------------------------------------- */

/* Sets the bits of the rows that begin in the window; how many do. A row without a time has none to be outside with. */
static int64_t choose_window_rows(struct report *report, struct reader_chunk *whole, struct reader_scratch *scratch)
{
    const struct reader_definition *definition = whole->definition;
    const struct report_span *window = &definition->table->window;
    int64_t kept = 0;
    int has_nulls;

    if (decode_choice(report, whole, definition->table_column[definition->time_column], scratch, &has_nulls) != 0)
        return -1;
    for (size_t r = 0; r < whole->rows; r++) {
        uint64_t bit = UINT64_C(1) << (r % 64), *bits = &scratch->choice_bits[r / 64];
        int64_t time_ns = scratch->choice_values[r];
        int is_one = (has_nulls && (*bits & bit)) || (time_ns >= window->from_ns && time_ns <= window->to_ns);
        *bits = is_one ? *bits | bit : *bits & ~bit;
        kept += is_one;
    }
    return kept;
}

int64_t reader_window_rows(struct report *report, struct reader_chunk *whole)
{
    struct reader_scratch *scratch = reader_scratch_take(report);
    int64_t kept = scratch ? choose_window_rows(report, whole, scratch) : -1;

    if (scratch)
        reader_scratch_give(report, scratch);
    return kept;
}

static int window_chunk_decode(struct report *report, const struct reader_chunk *chunk, struct reader_scratch *scratch,
                               const struct target *target)
{
    struct reader_chunk *whole = chunk->part_chunk;
    int code = file_chunk_decode(report, whole, scratch, target);

    if (code != 0)
        return code;
    if (choose_window_rows(report, whole, scratch) != chunk->rows)
        return ERR_CORRUPT;
    keep_rows(scratch, target, whole->rows);
    return 0;
}

/* ---- parts of a set -------------------------------------------------------------------------------------------- */

/* The ranks of a chunk's rows, into the scratch memory. */
static int decode_ranks(const struct reader_part_table *map, struct reader_chunk *chunk, struct reader_scratch *scratch)
{
    int has_nulls, code = decode_choice(map->part->report, chunk, map->rank_column, scratch, &has_nulls);

    if (code != 0)
        return code;
    row_ranks_map(map, scratch->choice_values, scratch->choice_bits, has_nulls, chunk->rows);
    return 0;
}

int64_t reader_kept_rows(const struct reader_part_table *map, struct reader_chunk *chunk)
{
    struct reader_scratch *scratch = reader_scratch_take(map->part->report);
    int64_t kept = -1;

    if (!scratch)
        return -1;
    if (decode_ranks(map, chunk, scratch) == 0)
        kept = (int64_t)row_ranks_choose(map, scratch->choice_values, scratch->choice_bits, chunk->rows);
    reader_scratch_give(map->part->report, scratch);
    return kept;
}

static void fill_column(const struct reader_part_table *map, int what, const struct reader_scratch *scratch,
                        const struct target *target, size_t c, size_t rows)
{
    if (what != PART_RANK || !map->part->public.rank_count) {
        part_fill_column(map->part, what, target->values[c], &target->has_nulls[c], rows);
        return;
    }
    if (map->rank_source == ROW_RANK_NOWHERE)
        return;
    memcpy(target->values[c], scratch->choice_values, rows * sizeof *scratch->choice_values);
    memcpy(target->nulls[c], scratch->choice_bits, (rows + 63) / 64 * sizeof *scratch->choice_bits);
}

static void map_columns(const struct reader_part_table *map, const int *columns, const struct reader_chunk *from,
                        const struct reader_scratch *scratch, const struct target *target)
{
    for (size_t c = 0; c < target->count; c++) {
        if (columns[c] >= 0) {
            part_map_column(map, target->columns[c], from->definition->table->columns[columns[c]].type,
                            target->values[c], from->rows);
            if (target->has_nulls[c])
                clear_nulls(target->values[c], target->nulls[c], from->rows);
        } else if (columns[c] != PART_HAS_NOT)
            fill_column(map, columns[c], scratch, target, c, from->rows);
    }
}

/* The part's chunk has changed if the rows that stay are no longer as many. */
static int leave_rows_out(const struct reader_chunk *chunk, struct reader_scratch *scratch, const struct target *target)
{
    size_t rows = chunk->part_chunk->rows;

    if (row_ranks_choose(chunk->part_table, scratch->choice_values, scratch->choice_bits, rows) != chunk->rows)
        return ERR_CORRUPT;
    keep_rows(scratch, target, rows);
    return 0;
}

/* A chunk of a part: the part's values, mapped. The target has room for all rows of the part's chunk. */
static int part_chunk_decode(const struct reader_chunk *chunk, struct reader_scratch *scratch,
                             const struct target *target)
{
    const struct reader_part_table *map = chunk->part_table;
    struct reader_part *part = map->part;
    int columns[TABLE_MAX_COLUMNS], needs_ranks = row_ranks_filter(map), code;

    for (size_t c = 0; c < target->count; c++) {
        int is_known = target->columns[c] >= 0 && (size_t)target->columns[c] < map->column_count;
        columns[c] = is_known ? map->columns[target->columns[c]] : PART_HAS_NOT;
        needs_ranks |= columns[c] == PART_RANK && part->public.rank_count && map->rank_source != ROW_RANK_NOWHERE;
    }
    if (needs_ranks && (code = decode_ranks(map, chunk->part_chunk, scratch)) != 0)
        return code;
    struct target own = { columns, target->count, target->values, target->nulls, target->has_nulls };
    if ((code = file_chunk_decode(part->report, chunk->part_chunk, scratch, &own)) != 0)
        return code;
    map_columns(map, columns, chunk->part_chunk, scratch, target);
    return row_ranks_filter(map) ? leave_rows_out(chunk, scratch, target) : 0;
}

/* What decoding a chunk takes: more than it has in the end, if rows of it are left out. */
static size_t rows_to_decode(const struct reader_chunk *chunk)
{
    return chunk->part_chunk ? chunk->part_chunk->rows : chunk->rows;
}

static int decode_offsets(const struct report *set, const struct reader_chunk *chunk, const struct target *target)
{
    const struct report_table *table = &set->offset_table->public;

    for (size_t c = 0; c < target->count; c++) {
        all_null(chunk->rows, target->values[c], target->nulls[c], &target->has_nulls[c]);
        if (target->columns[c] >= 0 && (size_t)target->columns[c] < table->column_count)
            clock_offsets_decode(set, chunk, table->columns[target->columns[c]].name, target->values[c],
                                 target->nulls[c], &target->has_nulls[c]);
    }
    return 0;
}

static int chunk_decode(struct report *report, struct reader_chunk *chunk, struct reader_scratch *scratch,
                        const struct target *target)
{
    if (!report->parts)
        return chunk->part_chunk ? window_chunk_decode(report, chunk, scratch, target)
                                 : file_chunk_decode(report, chunk, scratch, target);
    if (chunk->is_of_offsets)
        return decode_offsets(report, chunk, target);
    return chunk->part_table ? part_chunk_decode(chunk, scratch, target) : decode_ids(chunk, target);
}

/* ---- visiting -------------------------------------------------------------------------------------------------- */

struct scan {
    struct report *report;
    struct reader_table *table;
    size_t first_chunk;
    const int *columns;
    size_t column_count;
    const struct report_span *span;
    int (*visit)(void *context, int worker, const struct report_block *block);
    void *context;
    const _Atomic int *stop; /* of the calling thread */
    _Atomic int code;        /* the first that is not 0 */
};

static void scan_one(void *argument, int worker, size_t i)
{
    struct scan *scan = argument;
    struct reader_chunk *chunk = &scan->table->chunks[scan->first_chunk + i];
    if (cancel_is_raised(scan->stop))
        scan->code = ERR_CANCELLED;
    if (atomic_load_explicit(&scan->code, memory_order_relaxed))
        return;
    if (scan->span && scan->table->has_time && chunk->first <= chunk->last &&
        (chunk->last < scan->span->from_ns || chunk->first > scan->span->to_ns))
        return;
    struct reader_scratch *scratch = reader_scratch_take(scan->report);
    int has_nulls[TABLE_MAX_COLUMNS];
    if (!scratch || scratch_columns(scratch, scan->column_count, rows_to_decode(chunk))) {
        scan->code = ERR_NO_MEMORY;
        if (scratch)
            reader_scratch_give(scan->report, scratch);
        return;
    }
    struct target target = { scan->columns, scan->column_count, scratch->values, scratch->nulls, has_nulls };
    if (!chunk_decode(scan->report, chunk, scratch, &target)) {
        const uint64_t *nulls[TABLE_MAX_COLUMNS];
        for (size_t c = 0; c < scan->column_count; c++)
            nulls[c] = has_nulls[c] ? scratch->nulls[c] : NULL;
        struct report_block block = {
            .first_row = chunk->first_row,
            .rows = chunk->rows,
            .values = (const int64_t *const *)scratch->values,
            .nulls = nulls,
            .first_ns = chunk->first,
            .last_ns = chunk->last,
        };
        int code = scan->visit(scan->context, worker, &block), none = 0;
        if (code != 0)
            atomic_compare_exchange_strong(&scan->code, &none, code);
    }
    reader_scratch_give(scan->report, scratch);
}

static int run_scan(struct scan *scan, size_t chunk_count, struct error *err)
{
    if (scan->column_count > TABLE_MAX_COLUMNS)
        return error_set(err, ERR_BAD_ARGUMENT, "more than %d columns requested", TABLE_MAX_COLUMNS);
    int code = scan->report->parts
                   ? set_strings_needed(scan->report, &scan->table->public, scan->columns, scan->column_count, err)
                   : 0;
    if (code != 0)
        return code;
    scan->table->is_read = 1;
    scan->stop = cancel_flag();
    scan->report->host.parallel_for(scan->report->host.context, chunk_count, scan_one, scan);
    code = scan->code;
    return code < 0 ? error_set(err, code, "%s", error_name(code)) : code;
}

int report_scan(struct report *report, const struct report_table *table, const int *columns, size_t column_count,
                const struct report_span *span,
                int (*visit)(void *context, int worker, const struct report_block *block), void *context,
                struct error *err)
{
    struct reader_table *state = (struct reader_table *)table; /* `public` is its first member */
    struct scan scan = { .report = report,
                         .table = state,
                         .columns = columns,
                         .column_count = column_count,
                         .span = span,
                         .visit = visit,
                         .context = context };
    return run_scan(&scan, state->chunk_count, err);
}

/* The first chunk that ends after this row. */
static size_t chunk_of_row(const struct reader_table *table, uint64_t row)
{
    return BISECT(0, table->chunk_count, i, table->chunks[i].first_row + table->chunks[i].rows <= row);
}

int report_scan_rows(struct report *report, const struct report_table *table, const int *columns, size_t column_count,
                     uint64_t first_row, uint64_t row_count,
                     int (*visit)(void *context, int worker, const struct report_block *block), void *context,
                     struct error *err)
{
    struct reader_table *state = (struct reader_table *)table;
    if (first_row >= table->rows || !row_count)
        return 0;
    uint64_t last_row = row_count > table->rows - first_row ? table->rows - 1 : first_row + row_count - 1;
    size_t first = chunk_of_row(state, first_row), end = chunk_of_row(state, last_row) + 1;
    struct scan scan = { .report = report,
                         .table = state,
                         .first_chunk = first,
                         .columns = columns,
                         .column_count = column_count,
                         .visit = visit,
                         .context = context };
    return run_scan(&scan, end - first, err);
}

size_t report_chunk_count(const struct report_table *table)
{
    return ((const struct reader_table *)table)->chunk_count;
}

struct report_chunk report_chunk_at(const struct report_table *table, size_t index)
{
    const struct reader_table *state = (const struct reader_table *)table;
    const struct reader_chunk *chunk = &state->chunks[index];
    return (struct report_chunk){
        .first_row = chunk->first_row,
        .rows = chunk->rows,
        .first_ns = state->has_time ? chunk->first : INT64_MAX,
        .last_ns = state->has_time ? chunk->last : INT64_MIN,
    };
}

int report_workers(const struct report *report)
{
    return report->host.workers(report->host.context);
}

void report_parallel_for(const struct report *report, size_t count, void (*body)(void *argument, int worker, size_t i),
                         void *argument)
{
    report->host.parallel_for(report->host.context, count, body, argument);
}

/* ---- whole columns --------------------------------------------------------------------------------------------- */

struct read {
    struct report *report;
    const struct reader_table *table;
    const int *columns;
    struct report_columns *out;
    _Atomic(uint64_t *) *nulls;
    uint8_t *failed; /* by chunk */
    const _Atomic int *stop;
    _Atomic int code;
};

/* Copies the NULL bits of a chunk to the position of its rows. Adjacent chunks may share a word, so it sets bits with
 * atomic operations. */
static int or_bits(_Atomic(uint64_t *) *where, size_t total_rows, uint64_t first_row, const uint64_t *bits, size_t rows)
{
    uint64_t *words = atomic_load(where);
    if (!words) {
        uint64_t *fresh = calloc((total_rows + 63) / 64 + 1, sizeof *fresh);
        if (!fresh)
            return ERR_NO_MEMORY;
        if (atomic_compare_exchange_strong(where, &words, fresh))
            words = fresh;
        else
            free(fresh);
    }
    unsigned shift = first_row % 64;
    for (size_t i = 0; i < (rows + 63) / 64; i++) {
        uint64_t *at = words + first_row / 64 + i;
        __atomic_fetch_or(at, bits[i] << shift, __ATOMIC_RELAXED);
        if (shift && bits[i] >> (64 - shift))
            __atomic_fetch_or(at + 1, bits[i] >> (64 - shift), __ATOMIC_RELAXED);
    }
    return 0;
}

static void read_one(void *argument, int worker, size_t i)
{
    (void)worker;
    struct read *read = argument;
    struct reader_chunk *chunk = &read->table->chunks[i];
    size_t count = read->out->column_count;
    if (cancel_is_raised(read->stop)) {
        read->code = ERR_CANCELLED;
        read->failed[i] = 1; /* its rows are missing */
        return;
    }
    struct reader_scratch *scratch = reader_scratch_take(read->report);
    int64_t *values[TABLE_MAX_COLUMNS];
    int has_nulls[TABLE_MAX_COLUMNS];
    int is_whole = rows_to_decode(chunk) == chunk->rows;
    if (!scratch || scratch_columns(scratch, count, rows_to_decode(chunk))) {
        read->code = ERR_NO_MEMORY;
        goto give_scratch;
    }
    for (size_t c = 0; c < count; c++)
        values[c] = is_whole ? read->out->values[c] + chunk->first_row : scratch->values[c];
    struct target target = { read->columns, count, values, scratch->nulls, has_nulls };
    read->failed[i] = chunk_decode(read->report, chunk, scratch, &target) != 0;
    for (size_t c = 0; c < count && !read->failed[i] && !is_whole; c++)
        memcpy(read->out->values[c] + chunk->first_row, scratch->values[c], chunk->rows * sizeof **values);
    for (size_t c = 0; c < count && !read->failed[i]; c++)
        if (has_nulls[c] && or_bits(&read->nulls[c], read->out->rows, chunk->first_row, scratch->nulls[c], chunk->rows))
            read->code = ERR_NO_MEMORY;
give_scratch:
    if (scratch)
        reader_scratch_give(read->report, scratch);
}

/* Closes the gaps that damaged chunks left. */
static void compact(struct read *read)
{
    struct report_columns *out = read->out;
    size_t kept = 0;
    for (size_t i = 0; i < read->table->chunk_count; i++) {
        const struct reader_chunk *chunk = &read->table->chunks[i];
        if (read->failed[i])
            continue;
        for (size_t c = 0; c < out->column_count && kept != chunk->first_row; c++) {
            memmove(out->values[c] + kept, out->values[c] + chunk->first_row, chunk->rows * sizeof **out->values);
            for (size_t r = 0; out->nulls[c] && r < chunk->rows; r++) {
                size_t from = chunk->first_row + r, to = kept + r;
                uint64_t bit = out->nulls[c][from / 64] >> from % 64 & 1;
                out->nulls[c][to / 64] = (out->nulls[c][to / 64] & ~(UINT64_C(1) << to % 64)) | bit << to % 64;
            }
        }
        kept += chunk->rows;
    }
    out->rows = kept;
}

int report_read(struct report *report, const struct report_table *table, const int *columns, size_t column_count,
                struct report_columns *out, struct error *err)
{
    struct reader_table *state = (struct reader_table *)table;
    state->is_read = 1;
    *out = (struct report_columns){ 0 };
    if (column_count > TABLE_MAX_COLUMNS)
        return error_set(err, ERR_BAD_ARGUMENT, "more than %d columns requested", TABLE_MAX_COLUMNS);
    int code = report->parts ? set_strings_needed(report, table, columns, column_count, err) : 0;
    if (code != 0)
        return code;
    *out = (struct report_columns){ .rows = table->rows, .column_count = column_count };
    struct read read = { .report = report, .table = state, .columns = columns, .out = out, .stop = cancel_flag() };
    read.failed = calloc(state->chunk_count + 1, 1);
    read.nulls = calloc(column_count + 1, sizeof *read.nulls);
    out->values = calloc(column_count + 1, sizeof *out->values);
    out->nulls = calloc(column_count + 1, sizeof *out->nulls);
    code = ERR_NO_MEMORY;
    if (!read.failed || !read.nulls || !out->values || !out->nulls)
        goto done;
    for (size_t c = 0; c < column_count; c++)
        if (!(out->values[c] = array_alloc((size_t)table->rows + 1, sizeof *out->values[c])))
            goto done;
    report->host.parallel_for(report->host.context, state->chunk_count, read_one, &read);
    for (size_t c = 0; c < column_count; c++)
        out->nulls[c] = read.nulls[c];
    code = read.code;
    compact(&read);
done:
    free(read.failed);
    free(read.nulls);
    if (code != 0) {
        report_columns_free(out);
        error_set(err, code, "%s", error_name(code));
    }
    return code;
}

void report_columns_free(struct report_columns *columns)
{
    for (size_t c = 0; c < columns->column_count; c++) {
        if (columns->values)
            free(columns->values[c]);
        if (columns->nulls)
            free(columns->nulls[c]);
    }
    free(columns->values);
    free(columns->nulls);
    *columns = (struct report_columns){ 0 };
}

/* ---- checking -------------------------------------------------------------------------------------------------- */

struct scan_check {
    struct report *report;
    struct reader_table *table;
};

static void check_one(void *argument, int worker, size_t i)
{
    struct report *report = ((struct scan_check *)argument)->report;
    struct reader_chunk *chunk = &((struct scan_check *)argument)->table->chunks[i];
    struct reader_scratch *scratch = reader_scratch_take(report);
    size_t size;
    (void)worker;
    if (!scratch)
        return;
    reader_chunk_read(report, chunk, scratch, &size);
    reader_scratch_give(report, scratch);
}

/* Loops inside of this one run alone, so that parts are what is done in parallel. */
static void check_part(void *argument, int worker, size_t i)
{
    struct report *part = ((struct report *)argument)->parts[i].report;
    (void)worker;
    report_check(part);
    report_release_memory(part);
}

void report_check(struct report *report)
{
    if (report->parts)
        report->host.parallel_for(report->host.context, report->part_count, check_part, report);
    if (!report->has_index || report->parts) /* then opening has checked it */
        return;
    for (size_t i = 0; i < report->table_count; i++) {
        struct scan_check check = { report, report->tables[i] };
        report->host.parallel_for(report->host.context, check.table->chunk_count, check_one, &check);
    }
}
