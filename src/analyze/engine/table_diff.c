/* Matches the rows of several runs and puts the differences into a table. It never reads a report: tables come in,
 * a table goes out. */
#include "table_diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/intern.h"
#include "base/saturating.h"
#include "base/text.h"
#include "diff_columns.h"

enum { MOST_RUNS = 256 };

#define CONFIDENT 1.96 /* standard errors around an estimate that hold the truth with 95 % confidence */

struct table_diff_figure {
    double sum, least, greatest, samples;
    size_t count;
};

struct table_diff_matching {
    struct diff_columns columns;
    size_t runs, before_runs;
    struct intern names;
    struct table_diff_figure *figures; /* by name * runs + run */
    size_t figure_room, cell_room;
    double all_samples[2];             /* of each run, for add_error_of_share() */
    const struct table_cell **cells;   /* by name: a row that has it */
    const char *const *programs;       /* of the request */
    int has_program, has_negative;     /* a row is of a program; a figure is below 0 */
};

/* ---- rows ------------------------------------------------------------------------------------------------------ */

/* Whether a cell names the module of the run's program, or a thread that is called as the program is. */
static int table_diff_is_program(const struct table_diff_matching *matching, const struct table_column *column,
                                 const struct diff_key *key, size_t run)
{
    enum { LONGEST_THREAD = 15 }; /* the kernel keeps no more of a name */
    int is_thread = strcmp(column->name, "Thread") == 0;

    if (!matching->programs || (!is_thread && strcmp(column->name, "Module") != 0))
        return 0;
    size_t length = strnlen(matching->programs[run], is_thread ? LONGEST_THREAD : SIZE_MAX);
    return length == key->shown && memcmp(matching->programs[run], key->bytes, length) == 0;
}

static void table_diff_add_name(struct text *out, struct table_diff_matching *matching, const struct table_cell *row,
                                size_t run)
{
    const struct diff_columns *columns = &matching->columns;

    for (size_t i = 0; i < columns->key_count; i++) {
        const struct table_column *column = &columns->all[columns->keys[i]];
        const struct table_cell *cell = &row[columns->keys[i]];
        text_addf(out, "%d", (int)cell->kind);
        if (cell->kind == CELL_TEXT) {
            struct diff_key key = diff_key_of(column, cell);
            int is_of_program = table_diff_is_program(matching, column, &key, run);
            matching->has_program |= is_of_program;
            text_add_bytes(out, is_of_program ? matching->programs[0] : key.bytes,
                           is_of_program ? strlen(matching->programs[0]) : key.matched);
        } else if (cell->kind != CELL_NONE) {
            text_addf(out, "%lld", (long long)cell->integer);
        }
        text_add_char(out, 0);
    }
}

static int table_diff_make_room(struct table_diff_matching *matching, size_t names)
{
    if (array_reserve_zeroed(&matching->figures, &matching->figure_room, names * matching->runs,
                             sizeof *matching->figures) != 0 ||
        array_reserve(&matching->cells, &matching->cell_room, names, sizeof *matching->cells) != 0)
        return ERR_NO_MEMORY;
    return 0;
}

static double table_diff_value_of(const struct table_cell *cell)
{
    switch (cell->kind) {
    case CELL_INT: return (double)cell->integer;
    case CELL_REAL: return cell->real;
    default: return 0;
    }
}

static void table_diff_figure_add(struct table_diff_figure *figure, double value, double samples)
{
    figure->sum += value;
    figure->samples += samples;
    figure->least = figure->count && figure->least < value ? figure->least : value;
    figure->greatest = figure->count && figure->greatest > value ? figure->greatest : value;
    figure->count++;
}

/* `name` is scratch space. */
static int add_row_of_run(struct table_diff_matching *matching, const struct table_cell *row, size_t run,
                          struct text *name)
{
    const struct diff_columns *columns = &matching->columns;

    text_clear(name);
    table_diff_add_name(name, matching, row, run);
    if (text_failed(name))
        return ERR_NO_MEMORY;
    int64_t id = intern_add(&matching->names, text_string(name), name->length);
    if (id < 0 || table_diff_make_room(matching, (size_t)id + 1) != 0)
        return ERR_NO_MEMORY;
    double value = table_diff_value_of(&row[columns->compared]);
    table_diff_figure_add(&matching->figures[(size_t)id * matching->runs + run], value,
                          columns->samples < 0 ? 0 : table_diff_value_of(&row[columns->samples]));
    matching->has_negative |= value < 0;
    matching->cells[id] = row;
    return 0;
}

/* A run without data for this report has no table. */
static int table_diff_add_run(struct table_diff_matching *matching, const struct table *table, size_t run)
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

static double table_diff_figure_of(const struct table_diff_matching *matching, const struct table_diff_figure *figure)
{
    switch (matching->columns.combine) {
    case DIFF_SUM: return figure->sum;
    case DIFF_LEAST: return figure->least;
    case DIFF_GREATEST: return figure->greatest;
    case DIFF_MEAN: break;
    }
    return figure->count ? figure->sum / (double)figure->count : 0;
}

/* ---- changes --------------------------------------------------------------------------------------------------- */

static double table_diff_median_of(const double *sorted, size_t count)
{
    return !count ? 0 : count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

/* From one value a run; those of the runs before come first. */
static double change_of(double *values, size_t before, size_t after, struct table_diff_change *out)
{
    double confidence = table_diff_shift(values, before, values + before, after, &out->change, &out->low, &out->high);

    out->before = table_diff_median_of(values, before);
    out->after = table_diff_median_of(values + before, after);
    return confidence;
}

static int compares_share(const struct table_diff_matching *matching)
{
    return matching->columns.all[matching->columns.compared].unit == UNIT_PERCENT;
}

/* One run a side, of a figure that was estimated from samples. With several runs, their noise has that error in it. */
static int has_sampling_error(const struct table_diff_matching *matching)
{
    return matching->columns.samples >= 0 && matching->runs == 2;
}

/* The number of samples varies by its square root. */
static void add_sampling_error(const struct table_diff_figure figures[2], struct table_diff_change *out)
{
    double samples = figures[0].samples + figures[1].samples;
    double error = samples > 0 ? CONFIDENT * sqrt(samples) * (figures[0].sum + figures[1].sum) / samples : 0;

    out->low -= error;
    out->high += error;
}

/* All samples of a run, of which its rows have shares. */
static double samples_of_run(const struct table_diff_matching *matching, size_t run)
{
    const struct table_diff_figure *most = NULL;

    for (size_t id = 0; id < matching->names.count; id++) {
        const struct table_diff_figure *figure = &matching->figures[id * matching->runs + run];
        most = most && most->samples >= figure->samples ? most : figure;
    }
    return most && most->sum > 0 ? 100 * most->samples / most->sum : 0;
}

/* The same for a share of the samples. Agresti and Caffo's interval, which is right for few samples too: both sides
 * count one sample more, and one more of the others. */
static void add_error_of_share(const struct table_diff_matching *matching, const struct table_diff_figure figures[2],
                               struct table_diff_change *out)
{
    double change = 0, variance = 0;

    for (size_t run = 0; run < 2; run++) {
        double all = matching->all_samples[run] + 2, share = fmin((figures[run].samples + 1) / all, 1);
        change += run ? share : -share;
        variance += share * (1 - share) / all;
    }
    double error = CONFIDENT * sqrt(variance);
    out->low = fmin(out->low, 100 * (change - error));
    out->high = fmax(out->high, 100 * (change + error));
}

/* A figure that is never negative cannot lose more than it was, however far runs or samples scatter. */
static void bound_loss(const struct table_diff_matching *matching, struct table_diff_change *out)
{
    if (!matching->has_negative)
        out->low = fmax(out->low, -out->before);
}

/* A sum that a run lacks is 0; any other figure that it lacks is not known, and the run does not count. */
static void name_change(const struct table_diff_matching *matching, size_t id, struct table_diff_change *out)
{
    double before[MOST_RUNS], after[MOST_RUNS], values[2 * MOST_RUNS];
    size_t counts[2] = { 0 };

    *out = (struct table_diff_change){ 0 };
    for (size_t run = 0; run < matching->runs; run++) {
        const struct table_diff_figure *figure = &matching->figures[id * matching->runs + run];
        int is_after = run >= matching->before_runs;
        if (figure->count)
            *(is_after ? &out->in_after : &out->in_before) = 1;
        if (figure->count || matching->columns.combine == DIFF_SUM)
            (is_after ? after : before)[counts[is_after]++] = table_diff_figure_of(matching, figure);
    }
    memcpy(values, before, counts[0] * sizeof *values);
    memcpy(values + counts[0], after, counts[1] * sizeof *values);
    change_of(values, counts[0], counts[1], out);
    if (!counts[0] || !counts[1]) /* new or gone: all of it is change */
        out->change = out->low = out->high = out->after - out->before;
    if (has_sampling_error(matching) && compares_share(matching))
        add_error_of_share(matching, &matching->figures[id * matching->runs], out);
    else if (has_sampling_error(matching))
        add_sampling_error(&matching->figures[id * matching->runs], out);
    bound_loss(matching, out);
}

/* Beyond what adding up rounds off. */
static int is_shift(const struct table_diff_change *change)
{
    double rounded_off = 1e-9 * (fabs(change->before) + fabs(change->after));

    return fabs(change->change - (change->after - change->before)) > rounded_off;
}

static void overall_change(const struct table_diff_matching *matching, int rows_overlap, struct table_diff *out)
{
    const struct diff_columns *columns = &matching->columns;
    double values[2 * MOST_RUNS] = { 0 };

    for (size_t id = 0; id < matching->names.count; id++)
        for (size_t run = 0; run < matching->runs; run++)
            values[run] += matching->figures[id * matching->runs + run].sum;
    out->overall.in_before = out->overall.in_after = 1;
    out->confidence = change_of(values, matching->before_runs, matching->runs - matching->before_runs, &out->overall);
    bound_loss(matching, &out->overall);
    if (has_sampling_error(matching))
        out->confidence = 0.95;
    out->has_overall = columns->combine == DIFF_SUM && !compares_share(matching) && !rows_overlap;
    out->is_shift = out->has_overall && is_shift(&out->overall);
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

enum { BEFORE, AFTER, CHANGE, PERCENT, LOW, HIGH, NOTE, FIGURES };

struct table_diff_ordered {
    struct table_diff_change change;
    size_t id;
};

static int by_effect(const void *a, const void *b)
{
    const struct table_diff_ordered *x = a, *y = b;
    double p = fabs(x->change.change), q = fabs(y->change.change);

    return COMPARE(q, p) ?: COMPARE(x->id, y->id);
}

static struct table *table_diff_new_table(const struct table_diff_matching *matching)
{
    const struct diff_columns *from = &matching->columns;
    const struct table_column *compared = &from->all[from->compared];
    int several = matching->runs > 2, whole = compared->kind == CELL_INT && !several;
    int decimals = compared->kind == CELL_REAL ? compared->decimals : 1;
    enum table_cell_kind kind = whole ? CELL_INT : CELL_REAL;
    struct table_column columns[DIFF_MOST_KEYS + FIGURES];
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
    for (size_t i = 0; i < from->key_count; i++)
        columns[count++] = from->all[from->keys[i]];
    return table_new(columns, count);
}

static void table_diff_set_figure(struct table_cell *cell, const struct table_column *column, double value)
{
    if (column->kind == CELL_INT)
        cell_set_int(cell, saturating_from_double(value));
    else
        cell_set_real(cell, value);
}

static int add_keys(struct table *table, const struct table_diff_matching *matching, size_t id, struct table_cell *cell)
{
    const struct diff_columns *columns = &matching->columns;

    for (size_t i = 0; i < columns->key_count; i++) {
        const struct table_cell *from = &matching->cells[id][columns->keys[i]];
        if (from->kind != CELL_TEXT) {
            cell[i] = *from;
            continue;
        }
        struct diff_key key = diff_key_of(&columns->all[columns->keys[i]], from);
        if (cell_set_text(table, &cell[i], key.bytes, key.shown) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int table_diff_add_row(struct table *table, const struct table_diff_matching *matching,
                              const struct table_diff_ordered *from)
{
    const struct table_diff_change *change = &from->change;
    const struct table_column *columns = table_columns(table);
    struct table_cell *cell = table_add_row(table);
    const char *note = !change->in_before ? "new" : !change->in_after ? "gone" : "";

    if (!cell)
        return ERR_NO_MEMORY;
    if (change->in_before)
        table_diff_set_figure(&cell[BEFORE], &columns[BEFORE], change->before);
    if (change->in_after)
        table_diff_set_figure(&cell[AFTER], &columns[AFTER], change->after);
    table_diff_set_figure(&cell[CHANGE], &columns[CHANGE], change->change);
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
    if (cell_set_text(table, cell, note, strlen(note)) != 0)
        return ERR_NO_MEMORY;
    return add_keys(table, matching, from->id, cell + 1);
}

static int is_unchanged(const struct table_diff_change *change)
{
    return change->low <= 0 && change->high >= 0;
}

/* Whether a change gets a row. */
static int table_diff_is_listed(const struct table_diff_change *change, const struct table_diff_request *request)
{
    if (request->is_overview)
        return change->in_before && change->in_after;
    return request->with_unchanged || !is_unchanged(change);
}

static int table_diff_make_table(const struct table_diff_matching *matching, const struct table_diff_request *request,
                                 struct table_diff *out)
{
    size_t names = matching->names.count, count = 0;
    struct table_diff_ordered *order = calloc(names + 1, sizeof *order);
    int code = 0;

    out->table = table_diff_new_table(matching);
    out->rows = calloc(names + 1, sizeof *out->rows);
    if (!order || !out->table || !out->rows) {
        code = ERR_NO_MEMORY;
        goto free_order;
    }
    for (size_t id = 0; id < names; id++) {
        order[count].id = id;
        name_change(matching, id, &order[count].change);
        count += (size_t)table_diff_is_listed(&order[count].change, request);
    }
    out->unchanged = request->is_overview ? 0 : names - count;
    if (!request->is_overview)
        qsort(order, count, sizeof *order, by_effect);
    for (size_t i = 0; i < count; i++) {
        out->rows[i] = order[i].change;
        out->is_shift |= is_shift(&order[i].change);
        if ((code = table_diff_add_row(out->table, matching, &order[i])) != 0)
            goto free_order;
    }
free_order:
    free(order);
    return code;
}

static int compare_runs(struct table_diff_matching *matching, struct table *const *tables,
                        const struct table_diff_request *request, struct table_diff *out)
{
    const struct diff_columns *columns = &matching->columns;
    int code;

    for (size_t i = 0; i < matching->runs; i++)
        if ((code = table_diff_add_run(matching, tables[i], i)) != 0)
            return code;
    for (size_t run = 0; run < 2 && has_sampling_error(matching) && compares_share(matching); run++)
        matching->all_samples[run] = samples_of_run(matching, run);
    overall_change(matching, request->rows_overlap, out);
    if ((code = table_diff_make_table(matching, request, out)) != 0)
        return code;
    out->column = columns->all[columns->compared].name;
    out->unit = columns->all[columns->compared].unit;
    out->is_estimate = columns->samples >= 0;
    out->has_program = matching->has_program;
    return 0;
}

int table_diff_make(struct table *const *tables, size_t before, size_t after, const struct table_diff_request *request,
                    struct table_diff *out, struct error *err)
{
    struct table_diff_matching matching = { .runs = before + after,
                                            .before_runs = before,
                                            .programs = request->programs };
    int code;

    *out = (struct table_diff){ 0 };
    if (before > MOST_RUNS || after > MOST_RUNS)
        return error_set(err, ERR_BAD_ARGUMENT, "more than %d runs on a side", MOST_RUNS);
    if ((code = diff_columns_choose(&matching.columns, tables, matching.runs, request->report, request->column, err)) !=
        0)
        return code;
    code = compare_runs(&matching, tables, request, out);
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
