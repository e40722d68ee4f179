/* Tables in memory: cells in one growing block, texts in an arena, both freed at once with the table. A trace says the
 * same few names a million times, so texts that were seen lately are shared.
 *
 * It knows nothing of reports and nothing of printing. */
#include "table.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/hash.h"

enum { RECENT_TEXTS = 1024 }; /* a power of two */

struct recent_text {
    const char *bytes;        /* in the arena */
    size_t length;
};

struct table {
    struct table_column *columns;
    size_t column_count;
    struct table_cell *cells;                /* rows one after another */
    size_t rows, cell_room;
    size_t total;                            /* rows, with those that nobody wanted; 0: these are all */
    const char *note;                        /* of texts; NULL: none */
    struct arena texts;
    struct recent_text recent[RECENT_TEXTS]; /* by hash */
};

struct table *table_new(const struct table_column *columns, size_t column_count)
{
    struct table *table = calloc(1, sizeof *table);

    if (!table)
        return NULL;
    struct table_column *copy = calloc(column_count ? column_count : 1, sizeof *copy);
    if (!copy) {
        free(table);
        return NULL;
    }
    memcpy(copy, columns, column_count * sizeof *copy);
    table->columns = copy;
    table->column_count = column_count;
    return table;
}

void table_delete(struct table *table)
{
    if (!table)
        return;
    arena_free(&table->texts);
    free(table->columns);
    free(table->cells);
    free(table);
}

int table_set_note(struct table *table, const char *note)
{
    return (table->note = arena_copy(&table->texts, note, strlen(note))) ? 0 : ERR_NO_MEMORY;
}

const char *table_note(const struct table *table)
{
    return table->note ? table->note : "";
}

size_t table_row_count(const struct table *table)
{
    return table->rows;
}

size_t table_total(const struct table *table)
{
    return table->total > table->rows ? table->total : table->rows;
}

void table_set_total(struct table *table, size_t total)
{
    table->total = total;
}

size_t table_column_count(const struct table *table)
{
    return table->column_count;
}

const struct table_column *table_columns(const struct table *table)
{
    return table->columns;
}

size_t table_find_column(const struct table *table, const char *name)
{
    for (size_t i = 0; i < table_column_count(table); i++)
        if (strcmp(table_columns(table)[i].name, name) == 0)
            return i;
    return TABLE_NO_COLUMN;
}

const struct table_cell *table_row(const struct table *table, size_t row)
{
    return table->cells + row * table->column_count;
}

struct table_cell *table_add_row(struct table *table)
{
    size_t row_bytes = table->column_count * sizeof(struct table_cell);

    if (array_reserve(&table->cells, &table->cell_room, (table->rows + 1) * table->column_count,
                      sizeof *table->cells) != 0)
        return NULL;
    struct table_cell *row = table->cells + table->rows++ * table->column_count;
    memset(row, 0, row_bytes);
    return row;
}

void table_set_kind(struct table *table, size_t column, enum table_cell_kind kind)
{
    table->columns[column].kind = kind;
}

void cell_set_int(struct table_cell *cell, int64_t value)
{
    cell->kind = CELL_INT;
    cell->integer = value;
}

void cell_set_real(struct table_cell *cell, double value)
{
    cell->kind = CELL_REAL;
    cell->real = value;
}

int cell_set_text(struct table *table, struct table_cell *cell, const char *bytes, size_t length)
{
    struct recent_text *recent = &table->recent[hash_bytes(bytes, length) & (RECENT_TEXTS - 1)];

    if (!recent->bytes || recent->length != length || (length && memcmp(recent->bytes, bytes, length) != 0)) {
        char *copy = arena_copy(&table->texts, bytes, length);
        if (!copy)
            return ERR_NO_MEMORY;
        *recent = (struct recent_text){ copy, length };
    }
    cell->kind = CELL_TEXT;
    cell->text.bytes = recent->bytes;
    cell->text.length = length;
    return 0;
}

int cell_compare_text(const struct table_cell *a, const struct table_cell *b)
{
    size_t a_length = a->kind == CELL_TEXT ? a->text.length : 0, b_length = b->kind == CELL_TEXT ? b->text.length : 0;
    size_t shorter = a_length < b_length ? a_length : b_length;
    int order = shorter ? memcmp(a->text.bytes, b->text.bytes, shorter) : 0;

    return order ?: COMPARE(a_length, b_length);
}

struct table_sorting {
    const struct table *table;
    int (*compare)(const struct table_cell *a, const struct table_cell *b, void *context);
    void *context;
};

static int table_compare_rows(const void *a, const void *b, void *argument)
{
    const struct table_sorting *sorting = argument;
    size_t row_a = *(const size_t *)a, row_b = *(const size_t *)b;
    int order = sorting->compare(table_row(sorting->table, row_a), table_row(sorting->table, row_b), sorting->context);

    return order ?: COMPARE(row_a, row_b); /* the row number makes it stable */
}

void table_sort(struct table *table,
                int (*compare)(const struct table_cell *a, const struct table_cell *b, void *context), void *context)
{
    table_sort_part(table, 0, table->rows, compare, context);
}

void table_sort_part(struct table *table, size_t first, size_t count,
                     int (*compare)(const struct table_cell *a, const struct table_cell *b, void *context),
                     void *context)
{
    size_t row_bytes = table->column_count * sizeof(struct table_cell);

    if (count < 2)
        return;
    size_t *order = malloc(count * sizeof *order);
    struct table_cell *sorted = malloc(count * row_bytes);
    if (order && sorted) {
        for (size_t i = 0; i < count; i++)
            order[i] = first + i;
        qsort_r(order, count, sizeof *order, table_compare_rows, &(struct table_sorting){ table, compare, context });
        for (size_t i = 0; i < count; i++)
            memcpy(sorted + i * table->column_count, table_row(table, order[i]), row_bytes);
        memcpy(table->cells + first * table->column_count, sorted, count * row_bytes);
    }
    free(sorted);
    free(order);
}

static int table_compare_cells(const struct table_cell *a, const struct table_cell *b)
{
    if (a->kind == CELL_TEXT || b->kind == CELL_TEXT)
        return cell_compare_text(a, b);
    if (a->kind == CELL_NONE || b->kind == CELL_NONE)
        return COMPARE(a->kind != CELL_NONE, b->kind != CELL_NONE);
    return a->kind == CELL_REAL ? COMPARE(a->real, b->real) : COMPARE(a->integer, b->integer);
}

static int table_compare_columns(const struct table_cell *a, const struct table_cell *b, void *context)
{
    const struct table_order *by = context;
    int order = 0;

    for (size_t i = 0; i < by->count && !order; i++) {
        int column = by->columns[i];
        order = column < 0 ? table_compare_cells(&b[~column], &a[~column])
                           : table_compare_cells(&a[column], &b[column]);
    }
    return order;
}

void table_sort_by(struct table *table, struct table_order order)
{
    table_sort(table, table_compare_columns, &order);
}

void table_limit(struct table *table, size_t rows)
{
    table->rows = rows < table->rows ? rows : table->rows;
    table->total = rows < table->total ? rows : table->total;
}

void table_number_rows(struct table *table)
{
    for (size_t row = 0; row < table->rows; row++)
        cell_set_int(&table->cells[row * table->column_count], (int64_t)row + 1);
}

int table_hand_over(struct table *table, int code, struct table **out, struct error *err)
{
    if (code != 0) {
        table_delete(table);
        return code == ERR_NO_MEMORY && err->code != code ? error_short_memory(err, "for the table") : code;
    }
    *out = table;
    return 0;
}
