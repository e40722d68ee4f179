/* Groups to the table that people know from nsys: its columns, its order. */
#include "summary.h"

#include <string.h>

enum { SHARE, TOTAL, COUNT, MEAN, MEDIAN, LEAST, GREATEST, DEVIATION, FIGURES };

static int compare_text(const struct table_cell *a, const struct table_cell *b)
{
    size_t shorter = a->text.length < b->text.length ? a->text.length : b->text.length;
    int order = memcmp(a->text.bytes, b->text.bytes, shorter);

    return order ? order : (a->text.length > b->text.length) - (a->text.length < b->text.length);
}

static int compare_rows(const struct table_cell *a, const struct table_cell *b, void *context)
{
    int texts = *(const int *)context;

    if (a[TOTAL].integer != b[TOTAL].integer)
        return a[TOTAL].integer < b[TOTAL].integer ? 1 : -1;
    for (int i = texts - 1; i >= 0; i--) {
        int order = compare_text(&a[FIGURES + i], &b[FIGURES + i]);
        if (order)
            return order;
    }
    return 0;
}

static int add_row(struct table *table, const struct summary_shape *shape, const struct group *group, __int128 sum,
                   void *context)
{
    const struct statistics *figures = &group->figures;
    struct summary_label label = {0};
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    if (sum)
        cell_set_real(&row[SHARE], 100.0 * (double)figures->total / (double)sum);
    cell_set_int(&row[TOTAL], (int64_t)figures->total);
    cell_set_int(&row[COUNT], (int64_t)figures->count);
    cell_set_real(&row[MEAN], statistics_mean(figures));
    cell_set_real(&row[MEDIAN], group->median);
    cell_set_int(&row[LEAST], figures->min);
    cell_set_int(&row[GREATEST], figures->max);
    cell_set_real(&row[DEVIATION], statistics_deviation(figures));
    shape->label(context, group, &label);
    struct table_cell *text = &row[FIGURES];
    if (shape->kind_name && cell_set_text(table, text++, label.kind, strlen(label.kind)) != 0)
        return ERR_NO_MEMORY;
    return cell_set_text(table, text, label.name, label.name_length);
}

int summary_table(const struct summary_shape *shape, const struct group *groups, size_t count, void *context,
                  struct table **out, struct error *err)
{
    struct table_column columns[FIGURES + 2] = {
        { "Time", CELL_REAL, UNIT_PERCENT, 1 },
        { "Total Time", CELL_INT, UNIT_NS, 0 },
        { shape->count_name, CELL_INT, UNIT_NONE, 0 },
        { "Avg", CELL_REAL, UNIT_NS, 1 },
        { "Med", CELL_REAL, UNIT_NS, 1 },
        { "Min", CELL_INT, UNIT_NS, 0 },
        { "Max", CELL_INT, UNIT_NS, 0 },
        { "StdDev", CELL_REAL, UNIT_NS, 1 },
    };
    size_t column_count = FIGURES;
    __int128 sum = 0;

    if (shape->kind_name)
        columns[column_count++] = (struct table_column){ shape->kind_name, CELL_TEXT, UNIT_NONE, 0 };
    columns[column_count++] = (struct table_column){ shape->name_name, CELL_TEXT, UNIT_NONE, 0 };
    struct table *table = table_new(columns, column_count);
    if (!table)
        goto no_memory;
    for (size_t i = 0; i < count; i++)
        sum += groups[i].figures.total;
    for (size_t i = 0; i < count; i++)
        if (add_row(table, shape, &groups[i], sum, context) != 0)
            goto no_memory;
    int texts = shape->kind_name ? 2 : 1;
    table_sort(table, compare_rows, &texts);
    *out = table;
    return 0;

no_memory:
    table_delete(table);
    return error_set(err, ERR_NO_MEMORY, "not enough memory for the table");
}
