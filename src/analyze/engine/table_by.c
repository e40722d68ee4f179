/* Numbers the names of rows, sums the figure for each name and part, and copies the rows in the order of the names. */
#include "table_by.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/intern.h"
#include "base/text.h"
#include "diff_columns.h"

enum { LABEL, LEAST, MEDIAN, GREATEST, ADDED };

struct row_ref {
    size_t name, part, row;
};

/* The figure of a name in one part. */
struct table_by_figure {
    size_t name, part;
    double value;
    size_t rows;
};

struct spread {
    double least, median, greatest, sum;
    size_t first, count; /* of the figures */
    size_t place;        /* in the order of the names */
    int is_known;
};

struct table_by_joining {
    const struct table_by_part *parts;
    size_t part_count;
    const struct table_by_request *request;
    struct diff_columns columns;
    int has_spread;
    struct intern names;
    struct row_ref *rows; /* owned, as all below */
    size_t row_count, row_room;
    struct table_by_figure *figures;
    size_t figure_count, figure_room;
    struct spread *spreads; /* by name */
    double *values;         /* by part */
};

/* ---- names and figures ----------------------------------------------------------------------------------------- */

static int64_t table_by_number_name(struct table_by_joining *joining, const struct table_cell *row)
{
    struct text name = { 0 };

    for (size_t k = 0; k < joining->columns.key_count; k++) {
        const struct table_cell *cell = &row[joining->columns.keys[k]];
        if (cell->kind == CELL_TEXT)
            text_add_bytes(&name, cell->text.bytes, cell->text.length);
        else if (cell->kind == CELL_INT)
            text_addf(&name, "%lld", (long long)cell->integer);
        text_add_char(&name, 0);
    }
    int64_t id = text_failed(&name) ? -1 : intern_add(&joining->names, text_string(&name), name.length);
    text_free(&name);
    return id;
}

/* Rows of a part that have the same name become one figure. */
static void table_by_combine(struct table_by_figure *figure, double value, enum diff_combine how)
{
    figure->rows++;
    if (how == DIFF_SUM)
        figure->value += value;
    else if (how == DIFF_MEAN)
        figure->value += (value - figure->value) / (double)figure->rows;
    else if (how == DIFF_LEAST ? value < figure->value : value > figure->value)
        figure->value = value;
}

/* `last` is, by name, the last figure of it + 1. */
static int table_by_add_figure(struct table_by_joining *joining, size_t name, size_t part,
                               const struct table_cell *cell, size_t *last)
{
    double value = cell->kind == CELL_INT ? (double)cell->integer : cell->real;

    if (cell->kind != CELL_INT && cell->kind != CELL_REAL)
        return 0;
    if (last[name] && joining->figures[last[name] - 1].part == part) {
        table_by_combine(&joining->figures[last[name] - 1], value, joining->columns.combine);
        return 0;
    }
    if (ARRAY_PUSH(joining->figures, joining->figure_room, joining->figure_count,
                   (struct table_by_figure){ name, part, value, 1 }) != 0)
        return ERR_NO_MEMORY;
    last[name] = joining->figure_count;
    return 0;
}

static int table_by_number_rows(struct table_by_joining *joining)
{
    for (size_t p = 0; p < joining->part_count; p++) {
        const struct table *table = joining->parts[p].table;
        for (size_t r = 0; table && r < table_row_count(table); r++) {
            int64_t name = joining->has_spread ? table_by_number_name(joining, table_row(table, r)) : 0;
            if (name < 0 ||
                array_reserve(&joining->rows, &joining->row_room, joining->row_count + 1, sizeof *joining->rows) != 0)
                return ERR_NO_MEMORY;
            joining->rows[joining->row_count++] = (struct row_ref){ (size_t)name, p, r };
        }
    }
    return 0;
}

static int find_figures(struct table_by_joining *joining)
{
    size_t *last = calloc(joining->names.count + 1, sizeof *last);
    int code = last ? 0 : ERR_NO_MEMORY;

    for (size_t i = 0; i < joining->row_count && code >= 0; i++) {
        const struct row_ref *at = &joining->rows[i];
        const struct table_cell *row = table_row(joining->parts[at->part].table, at->row);
        code = table_by_add_figure(joining, at->name, at->part, &row[joining->columns.compared], last);
    }
    free(last);
    return code;
}

/* ---- spreads --------------------------------------------------------------------------------------------------- */

static int compare_figures(const void *a, const void *b)
{
    const struct table_by_figure *x = a, *y = b;

    return COMPARE(x->name, y->name) ?: COMPARE(x->part, y->part);
}

static void find_spread(struct table_by_joining *joining, struct spread *spread)
{
    size_t count = 0, absent = joining->part_count - spread->count;

    for (size_t i = 0; i < spread->count; i++)
        spread->sum += joining->values[count++] = joining->figures[spread->first + i].value;
    for (size_t i = 0; joining->columns.combine == DIFF_SUM && i < absent; i++)
        joining->values[count++] = 0;
    if (!count)
        return;
    qsort(joining->values, count, sizeof *joining->values, array_by_double);
    spread->least = joining->values[0];
    spread->median = (joining->values[(count - 1) / 2] + joining->values[count / 2]) / 2;
    spread->greatest = joining->values[count - 1];
    spread->is_known = 1;
}

static int by_sum(const void *a, const void *b)
{
    const struct spread *x = *(const struct spread *const *)a, *y = *(const struct spread *const *)b;

    return COMPARE(y->sum, x->sum) ?: COMPARE(x, y); /* as they came */
}

/* The name with the greatest sum first; names whose figures cannot be summed stay as they came. */
static int order_names(struct table_by_joining *joining)
{
    size_t count = joining->names.count;
    struct spread **order = array_alloc(count + 1, sizeof *order);

    if (!order)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        order[i] = &joining->spreads[i];
    if (count && joining->columns.combine == DIFF_SUM)
        qsort(order, count, sizeof *order, by_sum);
    for (size_t i = 0; i < count; i++)
        order[i]->place = i;
    free(order);
    return 0;
}

static int find_spreads(struct table_by_joining *joining)
{
    joining->spreads = calloc(joining->names.count + 1, sizeof *joining->spreads);
    joining->values = array_alloc(joining->part_count + 1, sizeof *joining->values);
    if (!joining->spreads || !joining->values)
        return ERR_NO_MEMORY;
    if (joining->figure_count)
        qsort(joining->figures, joining->figure_count, sizeof *joining->figures, compare_figures);
    for (size_t i = 0; i < joining->figure_count; i++) {
        struct spread *spread = &joining->spreads[joining->figures[i].name];
        if (!spread->count++)
            spread->first = i;
    }
    for (size_t i = 0; i < joining->names.count; i++)
        find_spread(joining, &joining->spreads[i]);
    return order_names(joining);
}

static int table_by_compare_rows(const void *a, const void *b, void *context)
{
    const struct row_ref *x = a, *y = b;
    const struct spread *spreads = context;
    size_t place_x = spreads[x->name].place, place_y = spreads[y->name].place;

    return COMPARE(place_x, place_y) ?: COMPARE(x->part, y->part) ?: COMPARE(x->row, y->row);
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

static struct table *table_by_new_table(const struct table_by_joining *joining)
{
    const struct table_by_request *request = joining->request;
    size_t added = joining->has_spread ? ADDED : LABEL + 1, count = joining->columns.count + added;
    struct table_column *columns = calloc(count, sizeof *columns);
    struct table *table;

    if (!columns)
        return NULL;
    columns[LABEL] = (struct table_column){ request->label, request->has_texts ? CELL_TEXT : CELL_INT,
                                            request->has_texts ? UNIT_NONE : UNIT_ID, 0 };
    for (size_t i = LEAST; i < added; i++) {
        columns[i] = joining->columns.all[joining->columns.compared];
        columns[i].name = request->spread[i - LEAST];
        if (i == MEDIAN && columns[i].kind == CELL_INT) {
            columns[i].kind = CELL_REAL;
            columns[i].decimals = 1;
        }
    }
    memcpy(columns + added, joining->columns.all, joining->columns.count * sizeof *columns);
    table = table_new(columns, count);
    free(columns);
    return table;
}

static void table_by_set_figure(struct table_cell *cell, const struct table_column *column, double value)
{
    if (column->kind == CELL_INT)
        cell_set_int(cell, (int64_t)value);
    else
        cell_set_real(cell, value);
}

static int table_by_copy_row(struct table *table, const struct table_by_joining *joining, const struct row_ref *ref)
{
    const struct table_by_part *part = &joining->parts[ref->part];
    const struct table_cell *from = table_row(part->table, ref->row);
    const struct table_column *columns = table_columns(table);
    struct table_cell *row = table_add_row(table);
    size_t added = joining->has_spread ? ADDED : LABEL + 1;

    if (!row)
        return ERR_NO_MEMORY;
    if (joining->request->has_texts && part->text)
        cell_set_text(table, &row[LABEL], part->text, strlen(part->text));
    else if (!joining->request->has_texts && part->number >= 0)
        cell_set_int(&row[LABEL], part->number);
    if (joining->has_spread && joining->spreads[ref->name].is_known) {
        const struct spread *spread = &joining->spreads[ref->name];
        table_by_set_figure(&row[LEAST], &columns[LEAST], spread->least);
        table_by_set_figure(&row[MEDIAN], &columns[MEDIAN], spread->median);
        table_by_set_figure(&row[GREATEST], &columns[GREATEST], spread->greatest);
    }
    for (size_t c = 0; c < joining->columns.count; c++) {
        row[added + c] = from[c];
        if (from[c].kind == CELL_TEXT &&
            cell_set_text(table, &row[added + c], from[c].text.bytes, from[c].text.length) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* Keeps the first names, or the first rows of each part in a list of events, which has no names. */
static int table_by_is_wanted(const struct table_by_joining *joining, const struct row_ref *ref)
{
    int64_t rows = joining->request->rows;

    return rows < 0 || (joining->has_spread ? (int64_t)joining->spreads[ref->name].place : (int64_t)ref->row) < rows;
}

static int table_by_fill_table(struct table *table, struct table_by_joining *joining)
{
    int code;

    if (joining->has_spread && joining->row_count)
        qsort_r(joining->rows, joining->row_count, sizeof *joining->rows, table_by_compare_rows, joining->spreads);
    for (size_t i = 0; i < joining->row_count; i++)
        if (table_by_is_wanted(joining, &joining->rows[i]) &&
            (code = table_by_copy_row(table, joining, &joining->rows[i])) != 0)
            return code;
    return 0;
}

/* A list of events has their times. */
static int is_list(const struct diff_columns *columns)
{
    for (size_t i = 0; i < columns->count; i++)
        if (columns->all[i].unit == UNIT_TIME)
            return 1;
    return 0;
}

static int table_by_choose_columns(struct table_by_joining *joining, struct error *err)
{
    struct table **tables = calloc(joining->part_count + 1, sizeof *tables);
    struct error cause = { 0 };

    if (!tables)
        return error_no_memory(err);
    for (size_t i = 0; i < joining->part_count; i++)
        tables[i] = joining->parts[i].table;
    int code = diff_columns_choose(&joining->columns, tables, joining->part_count, joining->request->report, NULL,
                                   &cause);
    free(tables);
    if (code == ERR_NO_DATA)
        return error_set(err, code, "%s", cause.text);
    joining->has_spread = code != ERR_BAD_ARGUMENT && !is_list(&joining->columns); /* that: it has no figures */
    return 0;
}

static int table_by_join(struct table_by_joining *joining, struct table **out)
{
    int code;

    if ((code = table_by_number_rows(joining)) != 0)
        return code;
    if (joining->has_spread && ((code = find_figures(joining)) != 0 || (code = find_spreads(joining)) != 0))
        return code;
    *out = table_by_new_table(joining);
    return *out ? table_by_fill_table(*out, joining) : ERR_NO_MEMORY;
}

int table_by_make(const struct table_by_part *parts, size_t count, const struct table_by_request *request,
                  struct table **out, struct error *err)
{
    struct table_by_joining joining = { .parts = parts, .part_count = count, .request = request };
    int code = table_by_choose_columns(&joining, err);

    *out = NULL;
    if (code != 0)
        return code;
    if ((code = table_by_join(&joining, out)) != 0) {
        table_delete(*out);
        *out = NULL;
        error_set(err, code, "out of memory");
    }
    intern_free(&joining.names);
    free(joining.rows);
    free(joining.figures);
    free(joining.spreads);
    free(joining.values);
    return code;
}
