/* Groups to the table that people know from nsys: its columns, its order. */
#include "summary.h"

#include <stdlib.h>
#include <string.h>

enum { SHARE, TOTAL, COUNT, MEAN, MEDIAN, LEAST, GREATEST, DEVIATION, FIGURES };

static int compare_text(const struct table_cell *a, const struct table_cell *b)
{
    size_t shorter = a->text.length < b->text.length ? a->text.length : b->text.length;
    int order = memcmp(a->text.bytes, b->text.bytes, shorter);

    return order ? order : (a->text.length > b->text.length) - (a->text.length < b->text.length);
}

/* By name, then by kind. */
static int compare_names(const struct table_cell *a, const struct table_cell *b, void *context)
{
    for (int i = *(const int *)context - 1; i >= 0; i--) {
        int order = compare_text(&a[FIGURES + i], &b[FIGURES + i]);
        if (order)
            return order;
    }
    return 0;
}

/* A group's place. Sorting these before there are rows is what makes a table of a million names bearable. */
struct place {
    __int128 total;
    const struct group *group;
};

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    return (x->total < y->total) - (x->total > y->total);
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

static struct table *new_table(const struct summary_shape *shape)
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

    if (shape->kind_name)
        columns[column_count++] = (struct table_column){ shape->kind_name, CELL_TEXT, UNIT_NONE, 0 };
    columns[column_count++] = (struct table_column){ shape->name_name, CELL_TEXT, UNIT_NONE, 0 };
    return table_new(columns, column_count);
}

static int fill_table(struct table *table, const struct summary_shape *shape, const struct place *places, size_t count, void *context)
{
    int texts = shape->kind_name ? 2 : 1;
    __int128 sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += places[i].total;
    for (size_t first = 0, i = 0; i < count; i++) {
        if (add_row(table, shape, places[i].group, sum, context) != 0)
            return ERR_NO_MEMORY;
        if (i + 1 < count && places[i + 1].total == places[i].total)
            continue;
        if (i > first)
            table_sort_part(table, first, i + 1 - first, compare_names, &texts);
        first = i + 1;
    }
    return 0;
}

int summary_table(const struct summary_shape *shape, const struct group *groups, size_t count, void *context,
                  struct table **out, struct error *err)
{
    struct table *table = new_table(shape);
    struct place *places = malloc((count + 1) * sizeof *places);
    int code = ERR_NO_MEMORY;

    if (table && places) {
        for (size_t i = 0; i < count; i++)
            places[i] = (struct place){ groups[i].figures.total, &groups[i] };
        qsort(places, count, sizeof *places, compare_places);
        code = fill_table(table, shape, places, count, context);
    }
    free(places);
    if (code == 0) {
        *out = table;
        return 0;
    }
    table_delete(table);
    return error_set(err, code, "not enough memory for the table");
}
