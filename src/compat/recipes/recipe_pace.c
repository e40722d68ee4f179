/* The tables that nsys's paces have: one quantity each, a row an iteration and a column a rank. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/statistics.h"
#include "analyze/reports/lanes/pace.h"
#include "base/text.h"
#include "recipe_tables.h"

/* ---- lanes ------------------------------------------------------------------------------------------------------*/

/* The rows of a process of a rank follow each other, and are its iterations from 0 on. */
struct pace_lanes {
    const struct table *pace;
    size_t *first;     /* owned; by lane: its first row; one more after the last */
    size_t count, iterations;
    int ranks_suffice; /* to distinguish lanes */
};

static int lanes_find(struct pace_lanes *lanes, const struct table *pace)
{
    size_t rows = table_row_count(pace);

    *lanes = (struct pace_lanes){ .pace = pace,
                                  .first = malloc((rows + 1) * sizeof *lanes->first),
                                  .ranks_suffice = 1 };
    if (!lanes->first)
        return ERR_NO_MEMORY;
    for (size_t r = 0; r < rows; r++) {
        const struct table_cell *row = table_row(pace, r);
        if (row[PACE_ITERATION].integer == 0) {
            if (r && row[PACE_RANK].integer == table_row(pace, r - 1)[PACE_RANK].integer)
                lanes->ranks_suffice = 0;
            lanes->first[lanes->count++] = r;
        }
        size_t iteration = (size_t)row[PACE_ITERATION].integer;
        lanes->iterations = iteration + 1 > lanes->iterations ? iteration + 1 : lanes->iterations;
    }
    lanes->first[lanes->count] = rows;
    return 0;
}

/* The cell of a lane's iteration; NULL: it has none. */
static const struct table_cell *lanes_cell(const struct pace_lanes *lanes, size_t lane, size_t iteration, size_t column)
{
    size_t row = lanes->first[lane] + iteration;

    if (row >= lanes->first[lane + 1])
        return NULL;
    const struct table_cell *cell = &table_row(lanes->pace, row)[column];
    return cell->kind == CELL_INT ? cell : NULL;
}

/* ---- a column a rank --------------------------------------------------------------------------------------------*/

/* "3", or "3.4711" with the process where a rank has several; each ends with a NUL. */
static void recipe_pace_add_names(struct text *names, const struct pace_lanes *lanes)
{
    for (size_t lane = 0; lane < lanes->count; lane++) {
        const struct table_cell *row = table_row(lanes->pace, lanes->first[lane]);
        text_addf(names, "%" PRId64, row[PACE_RANK].integer);
        if (!lanes->ranks_suffice)
            text_addf(names, ".%" PRId64, row[PACE_PID].integer);
        text_add_char(names, 0);
    }
}

static struct table *new_matrix(const struct pace_lanes *lanes, const struct text *names)
{
    struct table_column *columns = calloc(lanes->count + 1, sizeof *columns);
    const char *name = text_string(names);

    if (!columns)
        return NULL;
    columns[0] = (struct table_column){ "Iterations", CELL_INT, UNIT_ID, 0 };
    for (size_t lane = 0; lane < lanes->count; lane++, name += strlen(name) + 1)
        columns[lane + 1] = (struct table_column){ name, CELL_INT, UNIT_NONE, 0 };
    struct table *table = table_new(columns, lanes->count + 1);
    free(columns);
    return table;
}

static int fill_matrix(struct table *table, const struct pace_lanes *lanes, size_t column)
{
    for (size_t i = 0; i < lanes->iterations; i++) {
        struct table_cell *row = table_add_row(table);
        if (!row)
            return ERR_NO_MEMORY;
        cell_set_int(&row[0], (int64_t)i);
        for (size_t lane = 0; lane < lanes->count; lane++) {
            const struct table_cell *cell = lanes_cell(lanes, lane, i, column);
            if (cell)
                row[lane + 1] = *cell;
        }
    }
    return 0;
}

struct table *recipe_pace_matrix(const struct table *pace, size_t column, struct text *names)
{
    struct pace_lanes lanes;
    struct table *table = NULL;

    if (lanes_find(&lanes, pace) != 0)
        return NULL;
    recipe_pace_add_names(names, &lanes);
    if (!text_failed(names))
        table = new_matrix(&lanes, names);
    if (table && fill_matrix(table, &lanes, column) != 0) {
        table_delete(table);
        table = NULL;
    }
    free(lanes.first);
    return table;
}

/* ---- figures ----------------------------------------------------------------------------------------------------*/

enum { COUNT, TOTAL, MEAN, MEDIAN, LEAST, GREATEST, DEVIATION, FIGURES };
static const struct table_column figure_columns[FIGURES + 1] = {
    { NULL, CELL_NONE, UNIT_NONE, 0 }, { "Count", CELL_INT, UNIT_NONE, 0 }, { "Total", CELL_INT, UNIT_NS, 0 },
    { "Avg", CELL_REAL, UNIT_NS, 1 },  { "Med", CELL_REAL, UNIT_NS, 1 },    { "Min", CELL_INT, UNIT_NS, 0 },
    { "Max", CELL_INT, UNIT_NS, 0 },   { "StdDev", CELL_REAL, UNIT_NS, 1 },
};

static struct table *new_figures(const struct table_column *key)
{
    struct table_column columns[FIGURES + 1];

    memcpy(columns, figure_columns, sizeof columns);
    columns[0] = *key;
    return table_new(columns, FIGURES + 1);
}

/* Values and scratch have room for the values of the table. */
static struct table_cell *recipe_pace_add_figures(struct table *table, const int64_t *values, size_t count,
                                                  int64_t *scratch)
{
    struct table_cell *row = table_add_row(table);
    struct statistics figures = { 0 };

    if (!row)
        return NULL;
    for (size_t i = 0; i < count; i++)
        statistics_add(&figures, values[i]);
    cell_set_int(&row[1 + COUNT], (int64_t)count);
    if (!count)
        return row;
    cell_set_int(&row[1 + TOTAL], (int64_t)figures.total);
    cell_set_real(&row[1 + MEAN], statistics_mean(&figures));
    cell_set_real(&row[1 + MEDIAN], statistics_median_of(values, count, scratch));
    cell_set_int(&row[1 + LEAST], figures.min);
    cell_set_int(&row[1 + GREATEST], figures.max);
    cell_set_real(&row[1 + DEVIATION], statistics_deviation(&figures));
    return row;
}

struct table *recipe_pace_stats(const struct table *pace, size_t column)
{
    static const struct table_column key = { "Iterations", CELL_INT, UNIT_ID, 0 };
    struct pace_lanes lanes = { 0 };
    struct table *table = new_figures(&key);
    int failed = lanes_find(&lanes, pace) != 0 || !table;
    int64_t *values = malloc((2 * lanes.count + 2) * sizeof *values);

    for (size_t i = 0; i < lanes.iterations && !failed && values; i++) {
        size_t count = 0;
        for (size_t lane = 0; lane < lanes.count; lane++) {
            const struct table_cell *cell = lanes_cell(&lanes, lane, i, column);
            if (cell)
                values[count++] = cell->integer;
        }
        struct table_cell *row = recipe_pace_add_figures(table, values, count, values + lanes.count + 1);
        failed = !row;
        if (row)
            cell_set_int(&row[0], (int64_t)i);
    }
    if (failed || !values) {
        table_delete(table);
        table = NULL;
    }
    free(values);
    free(lanes.first);
    return table;
}

struct table *recipe_pace_sum(const struct table *pace)
{
    static const struct table_column key = { "Quantity", CELL_TEXT, UNIT_NAME, 0 };
    static const int quantities[] = { PACE_DURATION, PACE_DELTA };
    size_t rows = table_row_count(pace);
    struct table *table = new_figures(&key);
    int64_t *values = malloc((2 * rows + 2) * sizeof *values);
    int failed = !values || !table;

    for (size_t q = 0; q < COUNT_OF(quantities) && !failed; q++) {
        size_t count = 0;
        for (size_t r = 0; r < rows; r++)
            if (table_row(pace, r)[quantities[q]].kind == CELL_INT)
                values[count++] = table_row(pace, r)[quantities[q]].integer;
        struct table_cell *row = recipe_pace_add_figures(table, values, count, values + rows + 1);
        failed = !row || cell_set_string(table, &row[0], table_columns(pace)[quantities[q]].name) != 0;
    }
    if (failed) {
        table_delete(table);
        table = NULL;
    }
    free(values);
    return table;
}
