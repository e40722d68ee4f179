/* The string pool of a report. A chunk of strings is decoded when one of its strings is first needed; after a number
 * of such requests all chunks are decoded, in parallel. Decoded strings stay until the report is closed, and so do
 * pointers to them. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "reader_state.h"

#define MISSES_BEFORE_ALL 3

static int by_first_id(const void *a, const void *b)
{
    const struct reader_string_chunk *x = a, *y = b;
    return COMPARE(x->first, y->first);
}

int report_make_strings(struct report *report, struct error *err)
{
    const struct report_table *table = report_table(report, STRING_TABLE);
    const struct reader_table *state = (const struct reader_table *)table;
    if (!table || !state->chunk_count)
        return 0;
    report->string_chunks = calloc(state->chunk_count, sizeof *report->string_chunks);
    if (!report->string_chunks)
        return error_no_memory(err);
    report->string_chunk_count = state->chunk_count;
    for (size_t i = 0; i < state->chunk_count; i++) {
        struct reader_string_chunk *strings = &report->string_chunks[i];
        strings->chunk = &state->chunks[i];
        strings->first = state->chunks[i].first;
        strings->last = state->chunks[i].last;
    }
    qsort(report->string_chunks, report->string_chunk_count, sizeof *report->string_chunks, by_first_id);
    return 0;
}

/* Inserts a NUL after each string, so that most users need no length. */
static void strings_spread(struct reader_string_block *block, size_t rows, const uint8_t *packed)
{
    for (size_t r = rows; r-- > 0;) {
        uint32_t start = block->offsets[r],
                 end = r + 1 == rows ? block->offsets[rows] : block->offsets[r + 1] - (uint32_t)(r + 1);
        memcpy(block->bytes + start + r, packed + start, end - start);
        block->bytes[end + r] = 0;
        if (r + 1 == rows)
            block->offsets[rows] = end + (uint32_t)rows;
        block->offsets[r] = start + (uint32_t)r;
    }
}

static void delete_block(struct reader_string_block *block)
{
    if (!block)
        return;
    free(block->offsets);
    free(block->bytes);
    free(block);
}

static struct reader_string_block *decode_block(struct report *report, struct reader_string_chunk *strings,
                                                struct reader_scratch *scratch)
{
    size_t size, rows = strings->chunk->rows;
    const uint8_t *payload = reader_chunk_read(report, strings->chunk, scratch, &size);
    if (!payload)
        return NULL;
    const struct reader_definition *definition = strings->chunk->definition;
    if (definition->column_count < 2 || columns_parse(payload, size, rows, scratch->views, definition->column_count)) {
        reader_chunk_damaged(report, strings->chunk);
        return NULL;
    }
    const struct decode_column *view = &scratch->views[1];
    struct reader_string_block *block = calloc(1, sizeof *block);
    uint8_t *packed = malloc(view->blob_size + 1);
    if (!block || !packed || !(block->offsets = malloc((rows + 1) * sizeof *block->offsets)) ||
        !(block->bytes = malloc(view->blob_size + rows)))
        goto free_block;
    if (strings_decode(&report->host, &scratch->decode, view, rows, block->offsets, packed)) {
        reader_chunk_damaged(report, strings->chunk);
        goto free_block;
    }
    strings_spread(block, rows, packed);
    free(packed);
    return block;

free_block:
    free(packed);
    delete_block(block);
    return NULL;
}

/* The chunk's strings, decoded if necessary. Two threads may both decode them; one of them discards its result. */
struct reader_string_block *reader_string_block(struct report *report, struct reader_string_chunk *strings)
{
    struct reader_string_block *block = atomic_load_explicit(&strings->block, memory_order_acquire);
    if (block || atomic_load_explicit(&strings->chunk->damaged, memory_order_relaxed))
        return block;
    struct reader_scratch *scratch = reader_scratch_take(report);
    if (!scratch)
        return NULL;
    struct reader_string_block *fresh = decode_block(report, strings, scratch);
    reader_scratch_give(report, scratch);
    if (!fresh || atomic_compare_exchange_strong(&strings->block, &block, fresh))
        return fresh;
    delete_block(fresh);
    return block;
}

static void load_one(void *argument, int worker, size_t i)
{
    (void)worker;
    struct report *report = argument;
    reader_string_block(report, &report->string_chunks[i]);
}

struct reader_string_chunk *reader_string_chunk(struct report *report, int64_t id)
{
    size_t after = BISECT(0, report->string_chunk_count, i, report->string_chunks[i].first <= id);

    return after && id <= report->string_chunks[after - 1].last ? &report->string_chunks[after - 1] : NULL;
}

static void count_miss(struct report *report)
{
    pthread_mutex_lock(&report->lock);
    int all = ++report->string_misses == MISSES_BEFORE_ALL;
    pthread_mutex_unlock(&report->lock);
    if (all)
        report->host.parallel_for(report->host.context, report->string_chunk_count, load_one, report);
}

const char *report_string(struct report *report, int64_t id, size_t *length)
{
    size_t unused;
    length = length ? length : &unused;
    if (report->parts)
        return set_string(report, id, length);
    *length = 0;
    struct reader_string_chunk *strings = reader_string_chunk(report, id);
    if (!strings)
        return "";
    if (!atomic_load_explicit(&strings->block, memory_order_relaxed))
        count_miss(report);
    const struct reader_string_block *block = reader_string_block(report, strings);
    if (!block)
        return "";
    size_t row = (size_t)(id - strings->first);
    *length = block->offsets[row + 1] - block->offsets[row] - 1;
    return block->bytes + block->offsets[row];
}

/* Called with the lock held. */
static void strings_make_index(struct report *report)
{
    size_t total = 0, added = 0;
    for (size_t i = 0; i < report->string_chunk_count; i++)
        total += report->string_chunks[i].chunk->rows;
    report->string_index_ids = malloc((total + 1) * sizeof *report->string_index_ids);
    for (size_t i = 0; report->string_index_ids && i < report->string_chunk_count; i++) {
        const struct reader_string_chunk *strings = &report->string_chunks[i];
        const struct reader_string_block *block = atomic_load(&strings->block);
        for (size_t r = 0; block && r < strings->chunk->rows; r++) {
            size_t length = block->offsets[r + 1] - block->offsets[r] - 1;
            int64_t entry = intern_add_borrowed(&report->string_index, block->bytes + block->offsets[r], length);
            if (entry == (int64_t)added)
                report->string_index_ids[added++] = strings->first + (int64_t)r;
            else
                report->strings_repeat = 1;
        }
    }
    report->string_index_made = 1;
}

int64_t report_find_string(struct report *report, const char *bytes, size_t length)
{
    if (!length)
        return 0;
    if (report->parts)
        return set_find_string(report, bytes, length);
    pthread_mutex_lock(&report->lock);
    int made = report->string_index_made;
    pthread_mutex_unlock(&report->lock);
    if (!made)
        report->host.parallel_for(report->host.context, report->string_chunk_count, load_one, report);
    pthread_mutex_lock(&report->lock);
    if (!report->string_index_made)
        strings_make_index(report);
    int64_t entry = report->string_index_ids ? intern_find(&report->string_index, bytes, length) : -1;
    int64_t id = entry < 0 ? -1 : report->string_index_ids[entry];
    pthread_mutex_unlock(&report->lock);
    return id;
}

int report_strings_repeat(struct report *report)
{
    pthread_mutex_lock(&report->lock);
    int repeat = report->strings_repeat;
    pthread_mutex_unlock(&report->lock);
    return repeat;
}

int report_strings_differ(struct report *report)
{
    if (report->parts)
        return 0;
    report_find_string(report, "?", 1); /* makes the index */
    pthread_mutex_lock(&report->lock);
    int differ = report->string_index_ids && !report->strings_repeat;
    pthread_mutex_unlock(&report->lock);
    return differ;
}

void reader_forget_strings(struct report *report)
{
    for (size_t i = 0; i < report->string_chunk_count; i++)
        delete_block(atomic_exchange(&report->string_chunks[i].block, NULL));
    intern_free(&report->string_index); /* it borrowed them */
    intern_init(&report->string_index);
    free(report->string_index_ids);
    report->string_index_ids = NULL;
    report->string_index_made = 0;
}

void report_free_strings(struct report *report)
{
    reader_forget_strings(report);
    free(report->string_chunks);
}
