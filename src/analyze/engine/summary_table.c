/* Makes the table that users know from nsys, with its columns and its order, out of groups. */
#include "summary_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { SHARE, TOTAL, COUNT, MEAN, MEDIAN, LEAST, GREATEST, DEVIATION, FIGURES };

/* The cells of a row that hold texts. */
struct summary_table_texts {
    int first, count;
};

/* By name, the last text, then by the texts before it. */
static int summary_table_compare_names(const struct table_cell *a, const struct table_cell *b, void *context)
{
    const struct summary_table_texts *texts = context;

    for (int i = texts->first + texts->count - 1; i >= texts->first; i--) {
        int order = cell_compare_text(&a[i], &b[i]);
        if (order)
            return order;
    }
    return 0;
}

/* A group's place in the table. Sorting these before there are rows keeps a table of a million names fast. */
struct summary_table_place {
    __int128 total;
    const struct group *group;
};

static int compare_places(const void *a, const void *b)
{
    const struct summary_table_place *x = a, *y = b;

    return COMPARE(y->total, x->total);
}

static struct summary_table_texts summary_table_texts_of(const struct summary_shape *shape)
{
    struct summary_table_texts texts = { .first = shape->of_sizes ? FIGURES - 1 : FIGURES };

    while (texts.count < SUMMARY_TEXTS && shape->text_names[texts.count])
        texts.count++;
    return texts;
}

static void set_whole(struct table_cell *cell, int64_t value, int of_sizes)
{
    if (of_sizes)
        cell_set_real(cell, (double)value / 1e6);
    else
        cell_set_int(cell, value);
}

static int summary_table_add_row(struct table *table, const struct summary_shape *shape, const struct group *group,
                                 __int128 sum, void *context)
{
    const struct statistics *figures = &group->figures;
    struct summary_text labels[SUMMARY_TEXTS] = { 0 };
    struct summary_table_texts texts = summary_table_texts_of(shape);
    struct table_cell *row = table_add_row(table);
    double unit = shape->of_sizes ? 1e6 : 1;
    int skipped = shape->of_sizes; /* the share */

    if (!row)
        return ERR_NO_MEMORY;
    if (sum && !shape->of_sizes)
        cell_set_real(&row[SHARE], 100.0 * (double)figures->total / (double)sum);
    set_whole(&row[TOTAL - skipped], (int64_t)figures->total, shape->of_sizes);
    cell_set_int(&row[COUNT - skipped], (int64_t)figures->count);
    cell_set_real(&row[MEAN - skipped], statistics_mean(figures) / unit);
    cell_set_real(&row[MEDIAN - skipped], group->median / unit);
    set_whole(&row[LEAST - skipped], figures->min, shape->of_sizes);
    set_whole(&row[GREATEST - skipped], figures->max, shape->of_sizes);
    cell_set_real(&row[DEVIATION - skipped], statistics_deviation(figures) / unit);
    shape->label(context, group, labels);
    for (int i = 0; i < texts.count; i++)
        if (cell_set_text(table, &row[texts.first + i], labels[i].bytes, labels[i].length) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

static const struct table_column time_columns[FIGURES] = {
    [SHARE] = { "Time", CELL_REAL, UNIT_PERCENT, 1 }, [TOTAL] = { "Total Time", CELL_INT, UNIT_NS, 0 },
    [COUNT] = { NULL, CELL_INT, UNIT_NONE, 0 },       [MEAN] = { "Avg", CELL_REAL, UNIT_NS, 1 },
    [MEDIAN] = { "Med", CELL_REAL, UNIT_NS, 1 },      [LEAST] = { "Min", CELL_INT, UNIT_NS, 0 },
    [GREATEST] = { "Max", CELL_INT, UNIT_NS, 0 },     [DEVIATION] = { "StdDev", CELL_REAL, UNIT_NS, 1 },
};
static const struct table_column size_columns[FIGURES] = {
    [TOTAL] = { "Total", CELL_REAL, UNIT_MEGABYTES, 3 },      [COUNT] = { NULL, CELL_INT, UNIT_NONE, 0 },
    [MEAN] = { "Avg", CELL_REAL, UNIT_MEGABYTES, 3 },         [MEDIAN] = { "Med", CELL_REAL, UNIT_MEGABYTES, 3 },
    [LEAST] = { "Min", CELL_REAL, UNIT_MEGABYTES, 3 },        [GREATEST] = { "Max", CELL_REAL, UNIT_MEGABYTES, 3 },
    [DEVIATION] = { "StdDev", CELL_REAL, UNIT_MEGABYTES, 3 },
};

static struct table *summary_table_new_table(const struct summary_shape *shape)
{
    struct table_column columns[FIGURES + SUMMARY_TEXTS];
    struct summary_table_texts texts = summary_table_texts_of(shape);

    memcpy(columns, shape->of_sizes ? size_columns : time_columns, sizeof time_columns);
    columns[COUNT].name = shape->count_name;
    for (int i = 0; i < texts.count; i++)
        columns[FIGURES + i] = (struct table_column){ shape->text_names[i], CELL_TEXT,
                                                      i == texts.count - 1 ? UNIT_NAME : UNIT_NONE, 0 };
    return table_new(columns + FIGURES - texts.first, (size_t)(texts.first + texts.count));
}

static int summary_table_fill_table(struct table *table, const struct summary_shape *shape,
                                    const struct summary_table_place *places, size_t count, void *context)
{
    struct summary_table_texts texts = summary_table_texts_of(shape);
    __int128 sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += places[i].total;
    for (size_t first = 0, i = 0; i < count; i++) {
        if (summary_table_add_row(table, shape, places[i].group, sum, context) != 0)
            return ERR_NO_MEMORY;
        if (i + 1 < count && places[i + 1].total == places[i].total)
            continue;
        if (i > first)
            table_sort_part(table, first, i + 1 - first, summary_table_compare_names, &texts);
        first = i + 1;
    }
    return 0;
}

int summary_table(const struct summary_shape *shape, const struct group *groups, size_t count, void *context,
                  struct table **out, struct error *err)
{
    struct table *table = summary_table_new_table(shape);
    struct summary_table_place *places = malloc((count + 1) * sizeof *places);
    int code = ERR_NO_MEMORY;

    if (!table || !places)
        goto free_places;
    for (size_t i = 0; i < count; i++)
        places[i] = (struct summary_table_place){ groups[i].figures.total, &groups[i] };
    qsort(places, count, sizeof *places, compare_places);
    code = summary_table_fill_table(table, shape, places, count, context);
free_places:
    free(places);
    return table_hand_over(table, code, out, err);
}
