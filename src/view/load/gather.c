/* Makes a block of raw events of each chunk of a table, in the order in which workers reach the chunks. gather_finish()
 * goes through the blocks in the order of the table, so the result does not depend on the number of workers. */
#include "gather.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* ---- blocks ---------------------------------------------------------------------------------------------------- */

void gather_block_free(struct gather_block *block)
{
    if (!block)
        return;
    free(block->start_ns);
    free(block->length_ns);
    free(block->name);
    free(block->key);
    free(block->table_row);
    free(block->tag);
    free(block->longer);
    free(block);
}

static struct gather_block *gather_block_new(struct gather_worker *worker, uint32_t capacity)
{
    struct gather_block *block = calloc(1, sizeof *block);

    if (!block ||
        array_reserve(&worker->blocks, &worker->block_capacity, worker->block_count + 1, sizeof *worker->blocks) != 0)
        goto failed;
    block->capacity = capacity;
    block->start_ns = malloc((capacity + 1) * sizeof *block->start_ns);
    block->length_ns = malloc((capacity + 1) * sizeof *block->length_ns);
    block->name = malloc((capacity + 1) * sizeof *block->name);
    block->key = malloc((capacity + 1) * sizeof *block->key);
    block->table_row = malloc((capacity + 1) * sizeof *block->table_row);
    block->tag = malloc(capacity + 1);
    if (!block->start_ns || !block->length_ns || !block->name || !block->key || !block->table_row || !block->tag)
        goto failed;
    worker->blocks[worker->block_count++] = block;
    return block;

failed:
    gather_block_free(block);
    return NULL;
}

static int add_long(struct gather_block *block, int64_t length_ns)
{
    if (array_reserve(&block->longer, &block->long_capacity, (size_t)block->long_count + 1, sizeof *block->longer) != 0)
        return ERR_NO_MEMORY;
    block->longer[block->long_count++] = (struct view_long){ block->count, length_ns };
    return 0;
}

int64_t gather_within(int64_t time_ns)
{
    return time_ns < -VIEW_FURTHEST ? -VIEW_FURTHEST : time_ns > VIEW_FURTHEST ? VIEW_FURTHEST : time_ns;
}

static int block_add(struct gather_worker *worker, struct gather_block *block, const struct view_taken *event,
                     uint32_t name)
{
    int64_t start = gather_within(event->start_ns), end = gather_within(event->end_ns),
            length = end > start ? end - start : 0;
    uint32_t at = block->count;

    if (worker->last == NO_KEY || memcmp(keys_get(&worker->keys, worker->last), event->key, sizeof event->key) != 0)
        worker->last = keys_add(&worker->keys, event->key);
    if (worker->last == NO_KEY || (length >= LENGTH_IS_LONG && add_long(block, length) != 0))
        return ERR_NO_MEMORY;
    block->start_ns[at] = start;
    block->length_ns[at] = length < LENGTH_IS_LONG ? (uint32_t)length : LENGTH_IS_LONG;
    block->name[at] = name;
    block->key[at] = worker->last;
    block->table_row[at] = event->table_row;
    block->tag[at] = (uint8_t)(block->source << EVENT_SOURCE_SHIFT | event->flags);
    block->count++;
    return 0;
}

/* ---- one row of a table ---------------------------------------------------------------------------------------- */

int gather_take(const struct gather *gather, const struct report_block *block, size_t row, struct view_taken *event)
{
    const struct view_source *source = gather->source;

    event->table_row = (uint32_t)(block->first_row + row);
    event->start_ns = block->values[TAKE_START][row];
    event->flags = 0;
    if (!source->end)
        event->end_ns = event->start_ns;
    else if (block_is_null(block, TAKE_END, row)) {
        event->end_ns = gather->view->end_ns;
        event->flags = EVENT_NO_END;
    } else
        event->end_ns = block->values[TAKE_END][row];
    event->name = block_is_null(block, TAKE_NAME, row) ? -1 : block->values[TAKE_NAME][row];
    event->key[KEY_TYPE] = source->type;
    for (int part = 0; part < KEY_PARTS - 1; part++)
        event->key[KEY_A + part] = gather->key_used[part] && !block_is_null(block, TAKE_KEY + (size_t)part, row)
                                       ? block->values[TAKE_KEY + part][row]
                                       : 0;
    if (source->label)
        event->key[KEY_E] = gather->label_name;
    return block->first_row + row < UINT32_MAX && !block_is_null(block, TAKE_START, row) &&
           (!source->take || source->take(gather->view, block, row, event));
}

static uint32_t gather_name_of(const struct gather *gather, const struct view_taken *event)
{
    if (gather->source->names)
        return view_name_map_find(&gather->names, event->name, gather->fixed_name);
    return event->name < 0 ? gather->fixed_name : view_pool_name(event->name);
}

static int gather_visit(void *context, int number, const struct report_block *rows)
{
    struct gather *gather = context;
    struct gather_worker *worker = &gather->workers[number];
    struct gather_block *block = gather_block_new(worker, (uint32_t)rows->rows);
    struct view_taken event = { 0 };

    if (!block)
        return ERR_NO_MEMORY;
    block->source = gather->source_number;
    block->worker = (size_t)number;
    block->first_row = rows->first_row;
    for (size_t row = 0; row < rows->rows; row++)
        if (gather_take(gather, rows, row, &event) &&
            block_add(worker, block, &event, gather_name_of(gather, &event)) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

/* ---- sources --------------------------------------------------------------------------------------------------- */

int gather_open(struct gather *gather, struct view *view, const struct view_family *family, struct error *err)
{
    *gather = (struct gather){ .view = view, .family = family, .worker_count = (size_t)report_workers(view->report) };
    gather->workers = calloc(gather->worker_count + 1, sizeof *gather->workers);
    if (!gather->workers)
        return error_no_memory(err);
    for (size_t i = 0; i < gather->worker_count; i++) {
        gather->workers[i].keys.width = KEY_PARTS;
        gather->workers[i].last = NO_KEY;
    }
    return 0;
}

void gather_close(struct gather *gather)
{
    for (size_t i = 0; gather->workers && i < gather->worker_count; i++) {
        struct gather_worker *worker = &gather->workers[i];
        for (size_t b = 0; b < worker->block_count; b++)
            gather_block_free(worker->blocks[b]);
        free(worker->blocks);
        keys_free(&worker->keys);
    }
    free(gather->workers);
    free(gather->names.list);
    *gather = (struct gather){ 0 };
}

void gather_begin(struct gather *gather, uint32_t number, const struct report_table *table, int columns[TAKE_COLUMNS])
{
    const struct view_source *source = &gather->family->sources[number];

    gather->source = source;
    gather->source_number = number;
    gather->fixed_name = source->fixed ? view_own_name(gather->view, source->fixed) : (uint32_t)VIEW_NAME_NONE;
    gather->label_name = source->label ? view_own_name(gather->view, source->label) : (uint32_t)VIEW_NAME_NONE;
    columns[TAKE_START] = report_column(table, source->start);
    columns[TAKE_END] = source->end ? report_column(table, source->end) : -1;
    columns[TAKE_NAME] = source->name ? report_column(table, source->name) : -1;
    for (int part = 0; part < KEY_PARTS - 1; part++) {
        columns[TAKE_KEY + part] = source->key[part] ? report_column(table, source->key[part]) : -1;
        gather->key_used[part] = columns[TAKE_KEY + part] >= 0;
    }
    for (int extra = 0; extra < TAKE_EXTRAS; extra++)
        columns[TAKE_EXTRA + extra] = source->extra[extra] ? report_column(table, source->extra[extra]) : -1;
}

int gather_scan(struct gather *gather, uint32_t number, struct error *err)
{
    const struct view_source *source = &gather->family->sources[number];
    const struct report_table *table = report_table(gather->view->report, source->table);
    int columns[TAKE_COLUMNS], code;

    if (!table || !table->rows)
        return 0;
    gather_begin(gather, number, table, columns);
    gather->names.count = 0;
    if (source->names && (code = source->names(gather->view, &gather->names, err)) != 0)
        return code;
    code = report_scan(gather->view->report, table, columns, TAKE_COLUMNS, NULL, gather_visit, gather, err);
    return code == ERR_NO_MEMORY ? error_set(err, code, "not enough memory for the events of %s", source->table) : code;
}

enum { MADE_BLOCK = 16384, PART_SHIFT = 24 }; /* parts have fewer blocks than that many bits count */

static int gather_add_made(struct gather_worker *worker, size_t number, uint32_t source, uint64_t first_row,
                           const struct view_taken *event)
{
    struct gather_block *block = worker->block_count ? worker->blocks[worker->block_count - 1] : NULL;

    if (!block || block->count == block->capacity || block->source != source ||
        block->first_row >> PART_SHIFT != first_row >> PART_SHIFT) {
        int goes_on = block && block->source == source && block->first_row >> PART_SHIFT == first_row >> PART_SHIFT;
        first_row = goes_on ? block->first_row + 1 : first_row;
        block = gather_block_new(worker, MADE_BLOCK);
        if (!block)
            return ERR_NO_MEMORY;
        block->source = source;
        block->worker = number;
        block->first_row = first_row;
    }
    return block_add(worker, block, event, (uint32_t)event->name);
}

int gather_add(struct gather *gather, uint32_t source, const struct view_taken *event)
{
    return gather_add_made(&gather->workers[0], 0, source, 0, event);
}

int gather_add_as(struct gather *gather, int worker, size_t part, uint32_t source, const struct view_taken *event)
{
    return gather_add_made(&gather->workers[worker], (size_t)worker, source, (uint64_t)part << PART_SHIFT, event);
}
