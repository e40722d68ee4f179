/* Matches the rows of several runs and puts the differences into a table. It never reads a report: tables come in,
 * a table goes out. */
#include "table_diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/intern.h"
#include "base/saturating.h"
#include "base/text.h"

enum { MOST_KEYS = 16, MOST_RUNS = 256 };

enum combine { COMBINE_SUM, COMBINE_LEAST, COMBINE_GREATEST, COMBINE_MEAN };

/* The short names that users give to columns, and the names of these columns in the reports. The first column that a
 * report has is meant. */
static const struct nickname {
    const char *name;
    enum combine combine;
    const char *columns[6];
} nicknames[] = {
    { "total", COMBINE_SUM, { "Total Time", "Total Proj Time", "Total", "Total Dur", "Duration" } },
    { "count", COMBINE_SUM, { "Instances", "Num Calls", "Count", "Range Instances", "Kern Inst" } },
    { "avg", COMBINE_MEAN, { "Avg", "Proj Avg", "TAvg" } },
    { "med", COMBINE_MEAN, { "Med", "Proj Med", "TMed" } },
    { "min", COMBINE_LEAST, { "Min", "Proj Min", "TMin" } },
    { "max", COMBINE_GREATEST, { "Max", "Proj Max", "TMax" } },
    { "stddev", COMBINE_MEAN, { "StdDev", "Proj StdDev", "TStdDev" } },
    { "share", COMBINE_SUM, { "Time" } },
};

/* Columns with ids that differ in each run: rows of two runs cannot be matched by them. */
static const char *const own_names[] = {
    "PID", "TID", "Pid", "Tid", "CorrID", "CorrId", "RangeId", "ParentId", "RangeStack", "Ctx", "GreenCtx", "T-Pri",
};

struct figure {
    double sum, least, greatest;
    size_t count;
};

struct matching {
    const struct table_column *columns;
    size_t column_count;
    int keys[MOST_KEYS];
    size_t key_count;
    int column; /* the one that is compared */
    enum combine combine;
    size_t runs, before_runs;
    struct intern names;
    struct figure *figures;          /* by name * runs + run */
    size_t figure_room, cell_room;
    const struct table_cell **cells; /* by name: a row that has it */
};

/* ---- columns --------------------------------------------------------------------------------------------------- */

static int is_own(const char *name)
{
    for (size_t i = 0; i < sizeof own_names / sizeof own_names[0]; i++)
        if (strcmp(own_names[i], name) == 0)
            return 1;
    return 0;
}

static int is_key(const struct table_column *column)
{
    return (column->kind == CELL_TEXT || column->unit == UNIT_ID) && !is_own(column->name);
}

static int is_figure(const struct table_column *column)
{
    return column->kind != CELL_TEXT && column->unit != UNIT_ID;
}

static int find_column(const struct matching *matching, const char *name)
{
    for (size_t i = 0; i < matching->column_count; i++)
        if (is_figure(&matching->columns[i]) && strcasecmp(matching->columns[i].name, name) == 0)
            return (int)i;
    return -1;
}

static int find_nickname(struct matching *matching, const struct nickname *nickname)
{
    for (size_t i = 0; nickname->columns[i]; i++) {
        matching->column = find_column(matching, nickname->columns[i]);
        if (matching->column >= 0) {
            matching->combine = nickname->combine;
            return 1;
        }
    }
    return 0;
}

/* How rows with the same name are combined, by the nickname of the column. */
static enum combine combine_of(const char *column)
{
    for (size_t i = 0; i < sizeof nicknames / sizeof nicknames[0]; i++)
        for (size_t j = 0; nicknames[i].columns[j]; j++)
            if (strcasecmp(nicknames[i].columns[j], column) == 0)
                return nicknames[i].combine;
    return COMBINE_MEAN;
}

static int choose_column(struct matching *matching, const char *wanted, struct error *err)
{
    for (size_t i = 0; i < sizeof nicknames / sizeof nicknames[0]; i++)
        if ((!wanted || strcasecmp(nicknames[i].name, wanted) == 0) && find_nickname(matching, &nicknames[i]))
            return 0;
    matching->column = wanted ? find_column(matching, wanted) : -1;
    for (size_t i = 0; !wanted && i < matching->column_count && matching->column < 0; i++)
        if (is_figure(&matching->columns[i]))
            matching->column = (int)i;
    if (matching->column < 0)
        return error_set(err, ERR_BAD_ARGUMENT,
                         wanted ? "the report has no column '%s' to compare" : "the report has nothing to compare",
                         wanted);
    matching->combine = combine_of(matching->columns[matching->column].name);
    return 0;
}

static int choose_columns(struct matching *matching, const struct table_diff_side *before,
                          const struct table_diff_side *after, const char *wanted, struct error *err)
{
    const struct table *any = NULL;

    for (size_t i = 0; i < before->count + after->count && !any; i++)
        any = i < before->count ? before->tables[i] : after->tables[i - before->count];
    if (!any)
        return error_set(err, ERR_NO_DATA, "no run has data for this report");
    matching->columns = table_columns(any);
    matching->column_count = table_column_count(any);
    for (size_t i = 0; i < matching->column_count && matching->key_count < MOST_KEYS; i++)
        if (is_key(&matching->columns[i]))
            matching->keys[matching->key_count++] = (int)i;
    return choose_column(matching, wanted, err);
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

static void add_name(struct text *out, const struct matching *matching, const struct table_cell *row)
{
    for (size_t i = 0; i < matching->key_count; i++) {
        const struct table_cell *cell = &row[matching->keys[i]];
        text_addf(out, "%d", (int)cell->kind);
        if (cell->kind == CELL_TEXT)
            text_add_bytes(out, cell->text.bytes, cell->text.length);
        else if (cell->kind != CELL_NONE)
            text_addf(out, "%lld", (long long)cell->integer);
        text_add_char(out, 0);
    }
}

static int make_room(struct matching *matching, size_t names)
{
    if (array_reserve_zeroed(&matching->figures, &matching->figure_room, names * matching->runs,
                             sizeof *matching->figures) != 0 ||
        array_reserve(&matching->cells, &matching->cell_room, names, sizeof *matching->cells) != 0)
        return ERR_NO_MEMORY;
    return 0;
}

static double value_of(const struct table_cell *cell)
{
    switch (cell->kind) {
    case CELL_INT: return (double)cell->integer;
    case CELL_REAL: return cell->real;
    default: return 0;
    }
}

static void figure_add(struct figure *figure, double value)
{
    figure->sum += value;
    figure->least = figure->count && figure->least < value ? figure->least : value;
    figure->greatest = figure->count && figure->greatest > value ? figure->greatest : value;
    figure->count++;
}

/* `name` is scratch space. */
static int add_row_of_run(struct matching *matching, const struct table_cell *row, size_t run, struct text *name)
{
    text_clear(name);
    add_name(name, matching, row);
    if (text_failed(name))
        return ERR_NO_MEMORY;
    int64_t id = intern_add(&matching->names, text_string(name), name->length);
    if (id < 0 || make_room(matching, (size_t)id + 1) != 0)
        return ERR_NO_MEMORY;
    figure_add(&matching->figures[(size_t)id * matching->runs + run], value_of(&row[matching->column]));
    matching->cells[id] = row;
    return 0;
}

/* A run without data for this report has no table. */
static int add_run(struct matching *matching, const struct table *table, size_t run)
{
    struct text name = { 0 };
    int code = 0;

    if (!table)
        return 0;
    for (size_t row = 0; row < table_row_count(table); row++)
        if ((code = add_row_of_run(matching, table_row(table, row), run, &name)) != 0)
            goto free_name;
free_name:
    text_free(&name);
    return code;
}

static double figure_of(const struct matching *matching, const struct figure *figure)
{
    switch (matching->combine) {
    case COMBINE_SUM: return figure->sum;
    case COMBINE_LEAST: return figure->least;
    case COMBINE_GREATEST: return figure->greatest;
    case COMBINE_MEAN: break;
    }
    return figure->count ? figure->sum / (double)figure->count : 0;
}

/* ---- changes --------------------------------------------------------------------------------------------------- */

static double median_of(const double *sorted, size_t count)
{
    return !count ? 0 : count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

/* From one value a run; those of the runs before come first. */
static double change_of(double *values, size_t before, size_t after, struct table_diff_change *out)
{
    double confidence = table_diff_shift(values, before, values + before, after, &out->change, &out->low, &out->high);

    out->before = median_of(values, before);
    out->after = median_of(values + before, after);
    return confidence;
}

/* A sum that a run lacks is 0; any other figure that it lacks is not known, and the run does not count. */
static void name_change(const struct matching *matching, size_t id, struct table_diff_change *out)
{
    double before[MOST_RUNS], after[MOST_RUNS], values[2 * MOST_RUNS];
    size_t counts[2] = { 0 };

    *out = (struct table_diff_change){ 0 };
    for (size_t run = 0; run < matching->runs; run++) {
        const struct figure *figure = &matching->figures[id * matching->runs + run];
        int is_after = run >= matching->before_runs;
        if (figure->count)
            *(is_after ? &out->in_after : &out->in_before) = 1;
        if (figure->count || matching->combine == COMBINE_SUM)
            (is_after ? after : before)[counts[is_after]++] = figure_of(matching, figure);
    }
    memcpy(values, before, counts[0] * sizeof *values);
    memcpy(values + counts[0], after, counts[1] * sizeof *values);
    change_of(values, counts[0], counts[1], out);
    if (!counts[0] || !counts[1]) /* new or gone: all of it is change */
        out->change = out->low = out->high = out->after - out->before;
}

static void overall_change(const struct matching *matching, struct table_diff *out)
{
    double values[2 * MOST_RUNS] = { 0 };

    for (size_t id = 0; id < matching->names.count; id++)
        for (size_t run = 0; run < matching->runs; run++)
            values[run] += matching->figures[id * matching->runs + run].sum;
    out->overall.in_before = out->overall.in_after = 1;
    out->confidence = change_of(values, matching->before_runs, matching->runs - matching->before_runs, &out->overall);
    out->has_overall = matching->combine == COMBINE_SUM;
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

enum { BEFORE, AFTER, CHANGE, PERCENT, LOW, HIGH, NOTE, FIGURES };

struct ordered {
    struct table_diff_change change;
    size_t id;
};

static int by_effect(const void *a, const void *b)
{
    const struct ordered *x = a, *y = b;
    double p = fabs(x->change.change), q = fabs(y->change.change);

    return p != q ? (p < q) - (p > q) : (x->id > y->id) - (x->id < y->id);
}

static struct table *new_table(const struct matching *matching)
{
    const struct table_column *compared = &matching->columns[matching->column];
    int several = matching->runs > 2, whole = compared->kind == CELL_INT && !several;
    int decimals = compared->kind == CELL_REAL ? compared->decimals : 1;
    enum table_cell_kind kind = whole ? CELL_INT : CELL_REAL;
    struct table_column columns[MOST_KEYS + FIGURES];
    size_t count = 0;

    const struct table_column figures[] = {
        { "Before", kind, compared->unit, decimals }, { "After", kind, compared->unit, decimals },
        { "Change", kind, compared->unit, decimals }, { "Relative", CELL_REAL, UNIT_PERCENT, 1 },
        { "Low", CELL_REAL, UNIT_PERCENT, 1 },        { "High", CELL_REAL, UNIT_PERCENT, 1 },
        { "Note", CELL_TEXT, UNIT_NONE, 0 },
    };
    for (size_t i = 0; i < FIGURES; i++)
        if (several || (i != LOW && i != HIGH))
            columns[count++] = figures[i];
    for (size_t i = 0; i < matching->key_count; i++)
        columns[count++] = matching->columns[matching->keys[i]];
    return table_new(columns, count);
}

static void set_figure(struct table_cell *cell, const struct table_column *column, double value)
{
    if (column->kind == CELL_INT)
        cell_set_int(cell, saturating_from_double(value));
    else
        cell_set_real(cell, value);
}

static int add_row(struct table *table, const struct matching *matching, const struct ordered *from)
{
    const struct table_diff_change *change = &from->change;
    const struct table_column *columns = table_columns(table);
    struct table_cell *cell = table_add_row(table);
    const char *note = !change->in_before ? "new" : !change->in_after ? "gone" : "";

    if (!cell)
        return ERR_NO_MEMORY;
    if (change->in_before)
        set_figure(&cell[BEFORE], &columns[BEFORE], change->before);
    if (change->in_after)
        set_figure(&cell[AFTER], &columns[AFTER], change->after);
    set_figure(&cell[CHANGE], &columns[CHANGE], change->change);
    int known = change->in_before && change->before != 0;
    if (known)
        cell_set_real(&cell[PERCENT], 100 * change->change / fabs(change->before));
    cell += PERCENT + 1;
    if (matching->runs > 2) {
        if (known && change->in_after) {
            cell_set_real(&cell[0], 100 * change->low / fabs(change->before));
            cell_set_real(&cell[1], 100 * change->high / fabs(change->before));
        }
        cell += 2;
    }
    if (cell_set_text(table, cell++, note, strlen(note)) != 0)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < matching->key_count; i++) {
        const struct table_cell *key = &matching->cells[from->id][matching->keys[i]];
        if (key->kind != CELL_TEXT)
            cell[i] = *key;
        else if (cell_set_text(table, &cell[i], key->text.bytes, key->text.length) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int make_table(const struct matching *matching, struct table_diff *out)
{
    size_t names = matching->names.count;
    struct ordered *order = calloc(names + 1, sizeof *order);
    int code = 0;

    out->table = new_table(matching);
    out->rows = calloc(names + 1, sizeof *out->rows);
    if (!order || !out->table || !out->rows) {
        code = ERR_NO_MEMORY;
        goto free_order;
    }
    for (size_t id = 0; id < names; id++) {
        order[id].id = id;
        name_change(matching, id, &order[id].change);
    }
    qsort(order, names, sizeof *order, by_effect);
    for (size_t i = 0; i < names; i++) {
        out->rows[i] = order[i].change;
        if ((code = add_row(out->table, matching, &order[i])) != 0)
            goto free_order;
    }
free_order:
    free(order);
    return code;
}

static int compare_runs(struct matching *matching, const struct table_diff_side *before,
                        const struct table_diff_side *after, struct table_diff *out)
{
    int code;

    for (size_t i = 0; i < before->count; i++)
        if ((code = add_run(matching, before->tables[i], i)) != 0)
            return code;
    for (size_t i = 0; i < after->count; i++)
        if ((code = add_run(matching, after->tables[i], before->count + i)) != 0)
            return code;
    overall_change(matching, out);
    if ((code = make_table(matching, out)) != 0)
        return code;
    out->column = matching->columns[matching->column].name;
    out->unit = matching->columns[matching->column].unit;
    return 0;
}

int table_diff_make(const struct table_diff_side *before, const struct table_diff_side *after, const char *column,
                    struct table_diff *out, struct error *err)
{
    struct matching matching = { .runs = before->count + after->count, .before_runs = before->count };
    int code;

    *out = (struct table_diff){ 0 };
    if (before->count > MOST_RUNS || after->count > MOST_RUNS)
        return error_set(err, ERR_BAD_ARGUMENT, "more than %d runs a side", MOST_RUNS);
    if ((code = choose_columns(&matching, before, after, column, err)) != 0)
        return code;
    code = compare_runs(&matching, before, after, out);
    intern_free(&matching.names);
    free(matching.figures);
    free(matching.cells);
    if (code != 0) {
        table_diff_free(out);
        return error_set(err, code, "%s", error_name(code));
    }
    return 0;
}

void table_diff_free(struct table_diff *diff)
{
    table_delete(diff->table);
    free(diff->rows);
    *diff = (struct table_diff){ 0 };
}
