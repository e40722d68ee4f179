/* The strings of a set: those of its parts, each once, numbered in the order of the parts and so the same in every run.
 * They are united when the first of them is needed. A part's own copies are freed as soon as they are in the pool: of
 * a thousand ranks they would take a thousand times the room. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "reader_state.h"

#define PARTS_AT_ONCE 64

struct set_strings_batch {
    struct reader_part *parts;
};

static void decode_part(void *argument, int worker, size_t i)
{
    struct report *part = ((struct set_strings_batch *)argument)->parts[i].report;

    (void)worker;
    for (size_t c = 0; c < part->string_chunk_count; c++)
        reader_string_block(part, &part->string_chunks[c]);
}

/* The part keeps no memory for decoding: it decodes for its set alone from now on, with the set's. */
static void forget_decoded(struct report *part)
{
    pthread_mutex_lock(&part->lock);
    reader_forget_strings(part);
    reader_scratches_delete(part);
    pthread_mutex_unlock(&part->lock);
}

static int set_strings_add_chunk(struct intern *pool, const struct reader_string_chunk *strings, uint32_t **out)
{
    const struct reader_string_block *block = atomic_load(&strings->block);
    size_t rows = strings->chunk->rows;
    uint32_t *ids = array_alloc(rows + 1, sizeof *ids);

    *out = ids;
    if (!ids)
        return ERR_NO_MEMORY;
    for (size_t r = 0; r < rows; r++) {
        int64_t id = 0; /* of a damaged chunk */
        if (block)
            id = intern_add(pool, block->bytes + block->offsets[r], block->offsets[r + 1] - block->offsets[r] - 1);
        if (id < 0 || id > UINT32_MAX)
            return ERR_NO_MEMORY;
        ids[r] = (uint32_t)id;
    }
    return 0;
}

static int set_strings_add_part(struct report *set, struct reader_part *part)
{
    struct report *report = part->report;
    const struct {
        const char *text;
        int64_t *id;
    } own[] = { { part->public.host, &part->host_id },
                { part->public.name, &part->name_id },
                { part->public.clock, &part->clock_id } };

    for (size_t i = 0; i < COUNT_OF(own); i++)
        if (own[i].text && (*own[i].id = intern_add(&set->set_strings, own[i].text, strlen(own[i].text))) < 0)
            return ERR_NO_MEMORY;
    part->string_ids = calloc(report->string_chunk_count + 1, sizeof *part->string_ids);
    if (!part->string_ids)
        return ERR_NO_MEMORY;
    for (size_t c = 0; c < report->string_chunk_count; c++)
        if (set_strings_add_chunk(&set->set_strings, &report->string_chunks[c], &part->string_ids[c]) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

/* The table StringIds has one row a string; its chunks are made up. */
static int set_strings_make_rows(struct report *set)
{
    struct reader_table *table = set->string_table;
    size_t total = set->set_strings.count, count = (total + CHUNK_MAX_ROWS - 1) / CHUNK_MAX_ROWS;

    if (!table)
        return 0;
    if (array_reserve(&table->chunks, &table->chunk_capacity, count, sizeof *table->chunks) != 0)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        size_t first = i * CHUNK_MAX_ROWS, rows = total - first < CHUNK_MAX_ROWS ? total - first : CHUNK_MAX_ROWS;
        table->chunks[i] = (struct reader_chunk){
            .rows = (uint32_t)rows,
            .first = (int64_t)first,
            .last = (int64_t)(first + rows - 1),
            .first_row = first,
        };
    }
    table->chunk_count = count;
    table->public.rows = total;
    return 0;
}

static int set_strings_add_batch(struct report *set, struct reader_part *parts, size_t count)
{
    int code;

    for (size_t i = 0; i < count; i++) {
        code = set_strings_add_part(set, &parts[i]);
        forget_decoded(parts[i].report);
        if (code != 0)
            return code;
    }
    return 0;
}

static int unite_strings(struct report *set)
{
    int code;

    if (intern_add(&set->set_strings, "", 0) != 0) /* id 0 is "" in every pool */
        return ERR_NO_MEMORY;
    for (size_t first = 0; first < set->part_count; first += PARTS_AT_ONCE) {
        size_t left = set->part_count - first, count = left < PARTS_AT_ONCE ? left : PARTS_AT_ONCE;
        struct set_strings_batch batch = { set->parts + first };
        set->host.parallel_for(set->host.context, count, decode_part, &batch);
        if ((code = set_strings_add_batch(set, batch.parts, count)) != 0)
            return code;
    }
    return set_strings_make_rows(set);
}

int set_strings_make(struct report *set, struct error *err)
{
    int code;

    if (atomic_load_explicit(&set->string_state, memory_order_acquire) == SET_STRINGS_MADE)
        return 0;
    pthread_mutex_lock(&set->set_lock);
    if (set->string_state == SET_STRINGS_NOT_MADE) {
        code = unite_strings(set);
        set->string_state = code != 0 ? code : SET_STRINGS_MADE;
    }
    code = set->string_state < 0 ? set->string_state : 0;
    pthread_mutex_unlock(&set->set_lock);
    return code != 0 ? error_set(err, code, "%s", error_name(code)) : 0;
}

int set_strings_needed(struct report *set, const struct report_table *table, const int *columns, size_t count,
                       struct error *err)
{
    for (size_t c = 0; c < count; c++)
        if (columns[c] >= 0 && (size_t)columns[c] < table->column_count &&
            (table->columns[columns[c]].type == COLUMN_TEXT || table->columns[columns[c]].type == COLUMN_STRING))
            return set_strings_make(set, err);
    return 0;
}

const char *set_string(struct report *set, int64_t id, size_t *length)
{
    *length = 0;
    if (set_strings_make(set, NULL) != 0 || id < 0 || (uint64_t)id >= set->set_strings.count)
        return "";
    *length = set->set_strings.strings[id].length;
    return set->set_strings.strings[id].bytes;
}

int64_t set_find_string(struct report *set, const char *bytes, size_t length)
{
    return set_strings_make(set, NULL) == 0 ? intern_find(&set->set_strings, bytes, length) : -1;
}

void set_strings_free(struct report *set)
{
    for (size_t p = 0; p < set->part_count; p++) {
        struct reader_part *part = &set->parts[p];
        for (size_t c = 0; part->string_ids && c < part->report->string_chunk_count; c++)
            free(part->string_ids[c]);
        free(part->string_ids);
    }
    intern_free(&set->set_strings);
}
