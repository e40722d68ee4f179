/* Joins allocations and frees: see heap_life.h. Programs that follow each other in a process (exec) count their blocks
 * from 1 again, so a free belongs to the last block of this number before it. */
#include "heap_life.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/row_cursor.h"
#include "base/array.h"

/* A block was freed. */
struct heap_free {
    int64_t process, number, time_ns, thread;
    int64_t thread_bytes; /* -1: not known */
};
/* A program ended. */
struct heap_exit {
    int64_t process, end_ns;
};
struct heap_life_parts {
    struct heap_free *frees; /* owned, as the other; by process, then by number, then by time */
    size_t free_count;
    struct heap_exit *exits; /* by process, then by time */
    size_t exit_count, exit_room;
};

/* ---- reading --------------------------------------------------------------------------------------------------- */

static int heap_life_by_block(const void *a, const void *b)
{
    const struct heap_block *x = a, *y = b;
    int64_t process_x = global_process(x->thread), process_y = global_process(y->thread);

    return COMPARE(process_x, process_y) ?: COMPARE(x->number, y->number) ?: COMPARE(x->start_ns, y->start_ns);
}

static int heap_life_by_free(const void *a, const void *b)
{
    const struct heap_free *x = a, *y = b;

    return COMPARE(x->process, y->process) ?: COMPARE(x->number, y->number) ?: COMPARE(x->time_ns, y->time_ns);
}

static int heap_life_by_exit(const void *a, const void *b)
{
    const struct heap_exit *x = a, *y = b;

    return COMPARE(x->process, y->process) ?: COMPARE(x->end_ns, y->end_ns);
}

enum { START, THREAD, NUMBER, BYTES, REPRESENTS, CHAIN, PYTHON, THREAD_BYTES };

static struct heap_block heap_life_block_at(const struct row_cursor *rows)
{
    return (struct heap_block){
        .start_ns = row_int(rows, START),
        .thread = row_int(rows, THREAD),
        .bytes = row_int(rows, BYTES),
        .freed_ns = HEAP_NEVER,
        .end_ns = HEAP_NEVER,
        .represents = row_real(rows, REPRESENTS),
        .chain = row_int_or(rows, CHAIN, 0),
        .python = row_int_or(rows, PYTHON, 0),
        .thread_bytes = row_int_or(rows, THREAD_BYTES, -1),
        .number = row_int(rows, NUMBER),
    };
}

static int heap_life_read_blocks(struct heap_life *heap, struct report *report, const struct filter *filter,
                                 struct error *err)
{
    static const char *const names[] = { "start",       "globalTid",         "blockId",     "bytes", "represents",
                                         "callchainId", "pythonCallchainId", "threadBytes", NULL };
    struct row_cursor rows;
    int code;

    if ((code = row_cursor_open(&rows, report, "TACHO_HEAP_ALLOCATION", names, err)) != 0)
        return code;
    if (rows.columns.rows >= UINT32_MAX) {
        code = error_set(err, ERR_UNSUPPORTED, "the report has too many allocations to sort");
        goto close_rows;
    }
    heap->list = malloc((rows.columns.rows + 1) * sizeof *heap->list);
    if (!heap->list) {
        code = error_short_memory(err, "for the allocations");
        goto close_rows;
    }
    while (row_cursor_next(&rows))
        if (filter_thread(filter, row_int(&rows, THREAD), row_int(&rows, START), row_int(&rows, START)))
            heap->list[heap->count++] = heap_life_block_at(&rows);
    qsort(heap->list, heap->count, sizeof *heap->list, heap_life_by_block);
close_rows:
    row_cursor_close(&rows);
    return code;
}

static int heap_life_read_frees(struct heap_life_parts *parts, struct report *report, struct error *err)
{
    enum { FREED_BYTES = NUMBER + 1 };
    static const char *const names[] = { "start", "globalTid", "blockId", "threadBytes", NULL };
    struct row_cursor rows;
    int code;

    if ((code = row_cursor_open(&rows, report, "TACHO_HEAP_FREE", names, err)) != 0)
        return code;
    parts->frees = malloc((rows.columns.rows + 1) * sizeof *parts->frees);
    if (!parts->frees) {
        code = error_short_memory(err, "for the frees");
        goto close_rows;
    }
    while (row_cursor_next(&rows))
        parts->frees[parts->free_count++] = (struct heap_free){
            .process = global_process(row_int(&rows, THREAD)),
            .number = row_int(&rows, NUMBER),
            .time_ns = row_int(&rows, START),
            .thread = row_int(&rows, THREAD),
            .thread_bytes = row_int_or(&rows, FREED_BYTES, -1),
        };
    qsort(parts->frees, parts->free_count, sizeof *parts->frees, heap_life_by_free);
close_rows:
    row_cursor_close(&rows);
    return code;
}

static int heap_life_read_exits(struct heap_life_parts *parts, struct report *report, struct error *err)
{
    static const char *const names[] = { "globalPid", "end", NULL };
    struct row_cursor rows;
    int code;

    if ((code = row_cursor_open(&rows, report, "TACHO_PROCESS", names, err)) != 0)
        return code;
    while (row_cursor_next(&rows)) {
        struct heap_exit end = { global_process(row_int(&rows, 0)), row_int_or(&rows, 1, HEAP_NEVER) };
        if (end.end_ns != HEAP_NEVER && ARRAY_PUSH(parts->exits, parts->exit_room, parts->exit_count, end) != 0) {
            code = error_no_memory(err);
            goto close_rows;
        }
    }
    if (parts->exit_count)
        qsort(parts->exits, parts->exit_count, sizeof *parts->exits, heap_life_by_exit);
close_rows:
    row_cursor_close(&rows);
    return code;
}

/* ---- joining --------------------------------------------------------------------------------------------------- */

static int heap_life_is_before(const struct heap_free *gone, const struct heap_block *block)
{
    int64_t process = global_process(block->thread);

    return gone->process < process ||
           (gone->process == process &&
            (gone->number < block->number || (gone->number == block->number && gone->time_ns < block->start_ns)));
}

static void heap_life_end_block(struct heap_block *block, const struct heap_free *gone)
{
    block->freed_ns = gone->time_ns;
    block->end_ns = gone->time_ns;
    block->is_temporary = gone->thread == block->thread && gone->thread_bytes >= 0 &&
                          gone->thread_bytes == block->thread_bytes + block->bytes;
}

static int heap_life_is_free_of(const struct heap_free *gone, const struct heap_life *heap, size_t block)
{
    const struct heap_block *own = &heap->list[block], *next = own + 1;
    int64_t process = global_process(own->thread);
    int has_next = block + 1 < heap->count && global_process(next->thread) == process && next->number == own->number;

    return gone->process == process && gone->number == own->number && (!has_next || gone->time_ns < next->start_ns);
}

/* Both lists are in the same order. */
static void heap_life_join(struct heap_life *heap, const struct heap_life_parts *parts)
{
    size_t at = 0;

    for (size_t i = 0; i < heap->count; i++) {
        while (at < parts->free_count && heap_life_is_before(&parts->frees[at], &heap->list[i]))
            at++;
        if (at < parts->free_count && heap_life_is_free_of(&parts->frees[at], heap, i))
            heap_life_end_block(&heap->list[i], &parts->frees[at]);
    }
}

/* Blocks that the program did not free end with it. */
static void heap_life_end_with_process(struct heap_life *heap, const struct heap_life_parts *parts)
{
    size_t at = 0;
    int64_t last = -1;

    for (size_t i = 0; i < heap->count; i++) {
        struct heap_block *block = &heap->list[i];
        int64_t process = global_process(block->thread);
        for (; process != last && at < parts->exit_count && parts->exits[at].process < process;)
            at++;
        last = process;
        for (size_t j = at; block->end_ns == HEAP_NEVER && j < parts->exit_count && parts->exits[j].process == process;
             j++)
            if (parts->exits[j].end_ns >= block->start_ns)
                block->end_ns = parts->exits[j].end_ns;
    }
}

/* ---- the peak -------------------------------------------------------------------------------------------------- */

/* At one time blocks end first: the next ones may have their memory. */
static int heap_life_by_time(const void *a, const void *b)
{
    const struct heap_change *x = a, *y = b;

    return COMPARE(x->time_ns, y->time_ns) ?: COMPARE(y->is_end, x->is_end);
}

static int heap_life_list_changes(struct heap_life *heap, struct error *err)
{
    heap->changes = malloc((2 * heap->count + 1) * sizeof *heap->changes);
    if (!heap->changes)
        return error_short_memory(err, "for the allocations");
    for (uint32_t i = 0; i < heap->count; i++) {
        heap->changes[heap->change_count++] = (struct heap_change){ heap->list[i].start_ns, i, 0 };
        if (heap->list[i].end_ns != HEAP_NEVER)
            heap->changes[heap->change_count++] = (struct heap_change){ heap->list[i].end_ns, i, 1 };
    }
    qsort(heap->changes, heap->change_count, sizeof *heap->changes, heap_life_by_time);
    return 0;
}

static void heap_life_find_peak(struct heap_life *heap)
{
    double bytes = 0;

    for (size_t i = 0; i < heap->change_count; i++) {
        const struct heap_change *change = &heap->changes[i];
        bytes += heap_block_weight(&heap->list[change->block]) * (change->is_end ? -1 : 1);
        if (bytes > heap->peak_bytes) {
            heap->peak_bytes = bytes;
            heap->peak_ns = change->time_ns;
        }
    }
    for (size_t i = 0; i < heap->count; i++)
        if (heap_block_is_at(&heap->list[i], heap->peak_ns)) {
            heap->peak_blocks += heap->list[i].represents;
            heap->peak_recorded++;
        }
}

int heap_life_read(struct heap_life *heap, struct report *report, const struct filter *filter, struct error *err)
{
    struct heap_life_parts parts = { 0 };
    int code;

    if ((code = heap_life_read_blocks(heap, report, filter, err)) != 0 ||
        (code = heap_life_read_frees(&parts, report, err)) != 0 ||
        (code = heap_life_read_exits(&parts, report, err)) != 0)
        goto free_parts;
    heap_life_join(heap, &parts);
    heap_life_end_with_process(heap, &parts);
    if ((code = heap_life_list_changes(heap, err)) != 0)
        goto free_parts;
    heap_life_find_peak(heap);
free_parts:
    free(parts.frees);
    free(parts.exits);
    return code;
}

void heap_life_free(struct heap_life *heap)
{
    free(heap->list);
    free(heap->changes);
    *heap = (struct heap_life){ 0 };
}

int heap_life_rate(int64_t *rate_bytes, struct report *report, struct error *err)
{
    static const char *const names[] = { "name", "value", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, "META_DATA_CAPTURE", names, err);

    *rate_bytes = 0;
    if (code != 0)
        return code;
    while (row_cursor_next(&rows))
        if (strcmp(row_string(&rows, report, 0), "HEAP_RATE_BYTES") == 0)
            *rate_bytes = strtoll(row_string(&rows, report, 1), NULL, 10);
    row_cursor_close(&rows);
    return 0;
}
