/* The first rows of a table in order of time. Each worker keeps the first ones of what it has seen in a heap with the
 * last of them on top; in a table that is nearly in order already, nearly every row is turned down by one comparison.
 */
#include "first_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { WORD_BITS = 64 };

struct moment {
    int64_t time;
    uint64_t row;
};

struct heap {
    struct moment *list; /* owned */
    size_t count, room;
    uint64_t total;
};

struct first_rows_finding {
    const struct first_rows_wish *wish;
    struct heap *heaps; /* by worker */
};

static inline int is_later(const struct moment *a, const struct moment *b)
{
    return a->time != b->time ? a->time > b->time : a->row > b->row;
}

static int by_moment(const void *a, const void *b)
{
    return is_later(a, b) - is_later(b, a);
}

static int first_rows_by_row(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

/* ---- finding them ---------------------------------------------------------------------------------------------- */

static void first_rows_swap(struct moment *list, size_t a, size_t b)
{
    struct moment kept = list[a];

    list[a] = list[b];
    list[b] = kept;
}

static void sink(struct heap *heap)
{
    for (size_t at = 0, child; (child = 2 * at + 1) < heap->count; at = child) {
        child += child + 1 < heap->count && is_later(&heap->list[child + 1], &heap->list[child]);
        if (!is_later(&heap->list[child], &heap->list[at]))
            return;
        first_rows_swap(heap->list, at, child);
    }
}

static int first_rows_add(struct heap *heap, struct moment moment, size_t most)
{
    if (heap->count == most) {
        heap->list[0] = moment;
        sink(heap);
        return 0;
    }
    if (array_reserve(&heap->list, &heap->room, heap->count + 1, sizeof *heap->list) != 0)
        return ERR_NO_MEMORY;
    size_t at = heap->count++;
    for (heap->list[at] = moment; at && is_later(&heap->list[at], &heap->list[(at - 1) / 2]); at = (at - 1) / 2)
        first_rows_swap(heap->list, at, (at - 1) / 2);
    return 0;
}

static int first_rows_look(void *context, int worker, const struct report_block *block)
{
    const struct first_rows_finding *finding = context;
    const struct first_rows_wish *wish = finding->wish;
    struct heap *heap = &finding->heaps[worker];
    uint64_t total = 0;

    for (size_t row = 0; row < block->rows; row++) {
        if (wish->passes && !wish->passes(wish->context, block, row))
            continue;
        const struct moment moment = { block->values[0][row], block->first_row + row };
        total++;
        if (!wish->most || (heap->count == wish->most && !is_later(&heap->list[0], &moment)))
            continue;
        if (first_rows_add(heap, moment, wish->most) != 0)
            return ERR_NO_MEMORY;
    }
    heap->total += total;
    return 0;
}

/* The first ones of what all workers have seen. */
static int first_rows_merge(struct first_rows *first, const struct heap *heaps, size_t count, size_t most)
{
    struct moment *all = NULL;
    size_t found = 0;

    for (size_t i = 0; i < count; i++) {
        found += heaps[i].count;
        first->total += heaps[i].total;
    }
    all = malloc((found + 1) * sizeof *all);
    first->count = found < most ? found : most;
    first->rows = malloc((first->count + 1) * sizeof *first->rows);
    if (!all || !first->rows) {
        free(all);
        first_rows_free(first);
        return ERR_NO_MEMORY;
    }
    found = 0;
    for (size_t i = 0; i < count; found += heaps[i++].count)
        if (heaps[i].count)
            memcpy(all + found, heaps[i].list, heaps[i].count * sizeof *all);
    qsort(all, found, sizeof *all, by_moment);
    for (size_t i = 0; i < first->count; i++)
        first->rows[i] = all[i].row;
    qsort(first->rows, first->count, sizeof *first->rows, first_rows_by_row);
    free(all);
    return 0;
}

int first_rows_find(struct first_rows *first, struct report *report, const struct report_table *table,
                    const struct first_rows_wish *wish, struct error *err)
{
    size_t workers = (size_t)report_workers(report);
    struct first_rows_finding finding = { wish, calloc(workers, sizeof *finding.heaps) };
    int code;

    *first = (struct first_rows){ 0 };
    if (!finding.heaps)
        return error_no_memory(err);
    if ((code = report_scan(report, table, wish->columns, wish->column_count, NULL, first_rows_look, &finding, err)) !=
        0)
        goto free_heaps;
    code = first_rows_merge(first, finding.heaps, workers, wish->most);
free_heaps:
    for (size_t i = 0; i < workers; i++)
        free(finding.heaps[i].list);
    free(finding.heaps);
    return code == ERR_NO_MEMORY ? error_no_memory(err) : code;
}

void first_rows_free(struct first_rows *first)
{
    free(first->rows);
    *first = (struct first_rows){ 0 };
}

/* ---- reading them ---------------------------------------------------------------------------------------------- */

struct first_rows_reading {
    const struct first_rows *first;
    struct report_columns *out;
    uint64_t arrived;
};

/* Two blocks may share a word of a bitmap. */
static int first_rows_take(void *context, int worker, const struct report_block *block)
{
    struct first_rows_reading *reading = context;
    const struct first_rows *first = reading->first;
    size_t i = array_first_not_below(first->rows, first->count, block->first_row), begin = i;

    for (; i < first->count && first->rows[i] - block->first_row < block->rows; i++) {
        size_t row = (size_t)(first->rows[i] - block->first_row);
        for (size_t c = 0; c < reading->out->column_count; c++) {
            reading->out->values[c][i] = block->values[c][row];
            if (block_is_null(block, c, row))
                __atomic_fetch_or(&reading->out->nulls[c][i / WORD_BITS], UINT64_C(1) << i % WORD_BITS,
                                  __ATOMIC_RELAXED);
        }
    }
    __atomic_fetch_add(&reading->arrived, i - begin, __ATOMIC_RELAXED);
    return 0;
}

static int first_rows_make_room(struct report_columns *out, size_t rows, size_t column_count)
{
    *out = (struct report_columns){ rows, column_count, calloc(column_count + 1, sizeof *out->values),
                                    calloc(column_count + 1, sizeof *out->nulls) };
    if (!out->values || !out->nulls)
        return ERR_NO_MEMORY;
    for (size_t c = 0; c < column_count; c++) {
        out->values[c] = calloc(rows + 1, sizeof **out->values);
        out->nulls[c] = calloc(rows / WORD_BITS + 1, sizeof **out->nulls);
        if (!out->values[c] || !out->nulls[c])
            return ERR_NO_MEMORY;
    }
    return 0;
}

int first_rows_read(const struct first_rows *first, struct report *report, const struct report_table *table,
                    const int *columns, size_t column_count, struct report_columns *out, struct error *err)
{
    enum { NEAR_ROWS = 1 << 16 }; /* rows that are so near to each other share chunks, or the next ones */
    struct first_rows_reading reading = { first, out, 0 };
    int code = first_rows_make_room(out, first->count, column_count);

    if (code != 0) {
        error_set(err, code, "out of memory");
        goto free_columns;
    }
    for (size_t i = 0, end; i < first->count; i = end) {
        for (end = i + 1; end < first->count && first->rows[end] - first->rows[end - 1] < NEAR_ROWS;)
            end++;
        code = report_scan_rows(report, table, columns, column_count, first->rows[i],
                                first->rows[end - 1] - first->rows[i] + 1, first_rows_take, &reading, err);
        if (code != 0)
            goto free_columns;
    }
    if (reading.arrived == first->count)
        return 0;
    code = error_set(err, ERR_CORRUPT, "columns of the first rows are damaged");
free_columns:
    report_columns_free(out);
    return code;
}
