/* Sorts the rows of a table by object; all but the last row of each object are replaced. */
#include "last_rows.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "report/schema/schema.h"

enum { KEY_COLUMNS = 2 };

/* A row and the object that it is about. */
struct keyed_row {
    int64_t values[KEY_COLUMNS];
    unsigned nulls; /* a bit for each value; as GROUP BY has it, NULL equals NULL */
    uint64_t row;
};

struct keyed_rows {
    pthread_mutex_t lock; /* blocks arrive from several threads */
    struct keyed_row *list;
    size_t count, room;
    size_t column_count;
};

/* Looks up the columns of a list as SQL has it: "globalPid, image". Returns their number. */
static size_t last_rows_find_columns(const struct report_table *table, const char *list, int columns[KEY_COLUMNS])
{
    char names[128], *rest = names;
    size_t count = 0;

    snprintf(names, sizeof names, "%s", list);
    for (char *name; count < KEY_COLUMNS && (name = strtok_r(rest, ", ", &rest));)
        columns[count++] = report_column(table, name);
    return count;
}

static int last_rows_take_block(void *context, int worker, const struct report_block *block)
{
    struct keyed_rows *rows = context;
    int code = 0;

    pthread_mutex_lock(&rows->lock);
    if (array_reserve(&rows->list, &rows->room, rows->count + block->rows, sizeof *rows->list) != 0) {
        code = ERR_NO_MEMORY;
        goto unlock;
    }
    for (size_t r = 0; r < block->rows; r++) {
        struct keyed_row *row = &rows->list[rows->count++];
        *row = (struct keyed_row){ .row = block->first_row + r };
        for (size_t c = 0; c < rows->column_count; c++) {
            unsigned is_null = (unsigned)block_is_null(block, c, r);
            row->nulls |= is_null << c;
            row->values[c] = is_null ? 0 : block->values[c][r];
        }
    }
unlock:
    pthread_mutex_unlock(&rows->lock);
    return code;
}

static int compare_objects(const struct keyed_row *a, const struct keyed_row *b)
{
    if (a->nulls != b->nulls)
        return a->nulls < b->nulls ? -1 : 1;
    for (size_t c = 0; c < KEY_COLUMNS; c++)
        if (a->values[c] != b->values[c])
            return a->values[c] < b->values[c] ? -1 : 1;
    return 0;
}

static int by_object(const void *a, const void *b)
{
    const struct keyed_row *x = a, *y = b;

    return compare_objects(x, y) ?: COMPARE(x->row, y->row);
}

static int keep_replaced(struct keyed_rows *rows, struct last_rows *out, struct error *err)
{
    if (!rows->count)
        return 0;
    if (!(out->replaced = malloc(rows->count * sizeof *out->replaced)))
        return error_no_memory(err);
    qsort(rows->list, rows->count, sizeof *rows->list, by_object);
    for (size_t i = 0; i + 1 < rows->count; i++)
        if (compare_objects(&rows->list[i], &rows->list[i + 1]) == 0)
            out->replaced[out->count++] = rows->list[i].row;
    qsort(out->replaced, out->count, sizeof *out->replaced, array_by_uint64);
    return 0;
}

int last_rows_find(struct report *report, const struct report_table *table, struct last_rows *out, struct error *err)
{
    const char *key = schema_last_row_key(table->name);
    struct keyed_rows rows = { .lock = PTHREAD_MUTEX_INITIALIZER };
    int columns[KEY_COLUMNS], code;

    *out = (struct last_rows){ 0 };
    if (!key)
        return 0;
    rows.column_count = last_rows_find_columns(table, key, columns);
    if ((code = report_scan(report, table, columns, rows.column_count, NULL, last_rows_take_block, &rows, err)) != 0)
        goto free_rows;
    code = keep_replaced(&rows, out, err);
free_rows:
    free(rows.list);
    return code;
}

void last_rows_free(struct last_rows *rows)
{
    free(rows->replaced);
}
