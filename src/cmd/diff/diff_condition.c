/* See diff_condition.h. */
#include "diff_condition.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "analyze/reports/run_sum.h"
#include "base/human.h"
#include "base/saturating.h"
#include "cmd/print/display.h"

enum { NAME_COLUMNS = 60 };

/* ---- what is asked for ----------------------------------------------------------------------------------------- */

/* Sums over all rows mean something for these only. */
static int sums_up(const char *column)
{
    return strcasecmp(column, "total") == 0 || strcasecmp(column, "count") == 0;
}

/* Conditions on the run as a whole: rows of run_sum. Imports have no process time, so that "wall" is the recorded time
 * where one side is an import. */
static const struct run_condition {
    const char *word, *row, *otherwise;
} run_conditions[] = { { "wall", RUN_SUM_PROCESS, RUN_SUM_RECORDED },
                       { "recorded", RUN_SUM_RECORDED, NULL },
                       { "cpu", RUN_SUM_CPU, NULL },
                       { "gpu", RUN_SUM_GPU, NULL } };

static void take_row_of_run(struct diff_condition *condition)
{
    for (size_t i = 0; i < COUNT_OF(run_conditions); i++)
        if (strcasecmp(run_conditions[i].word, condition->is.name) == 0) {
            condition->row = run_conditions[i].row;
            condition->otherwise = run_conditions[i].otherwise;
        }
}

int diff_condition_parse(const char *text, struct diff_condition *out, struct error *err)
{
    *out = (struct diff_condition){ 0 };
    if (condition_parse(text, "'wall>+5%', 'total>+5%' or 'any avg>+20us'", &out->is, err) != 0)
        return err->code;
    take_row_of_run(out);
    out->any = out->is.any || !sums_up(out->is.name);
    return 0;
}

/* Whether this much of a change is beyond the bound. A new row has no base for a percentage. */
static int diff_condition_exceeds(double value, const struct table_diff_change *change,
                                  const struct diff_condition *condition)
{
    if (condition->is.percent && change->before == 0)
        return 0;
    if (condition->is.percent)
        value *= 100 / fabs(change->before);
    return condition->is.sign == '>' ? value > condition->is.bound : value < condition->is.bound;
}

/* Whether the whole interval is beyond the bound. */
static int is_beyond(const struct table_diff_change *change, const struct diff_condition *condition)
{
    return diff_condition_exceeds(condition->is.sign == '>' ? change->low : change->high, change, condition);
}

static int seems_beyond(const struct table_diff_change *change, const struct diff_condition *condition)
{
    return diff_condition_exceeds(change->change, change, condition);
}

static int is_row(const struct table_diff *diff, size_t row, const char *name)
{
    const struct table_cell *cell = table_row(diff->table, row) + table_column_count(diff->table) - 1;

    return strlen(name) == cell->text.length && memcmp(name, cell->text.bytes, cell->text.length) == 0;
}

static int has_row(const struct table_diff *diff, const char *name)
{
    for (size_t i = 0; i < table_row_count(diff->table); i++)
        if (is_row(diff, i, name))
            return 1;
    return 0;
}

/* Whether a condition is about this row. */
static int is_meant(const struct table_diff *diff, size_t row, const struct diff_condition *condition)
{
    if (!condition->row)
        return 1;
    return is_row(diff, row,
                  condition->otherwise && !has_row(diff, condition->row) ? condition->otherwise : condition->row);
}

static int diff_condition_has_row(const struct table_diff *diff, const struct diff_condition *condition)
{
    return has_row(diff, condition->row) || (condition->otherwise && has_row(diff, condition->otherwise));
}

/* The largest change that is_so() accepts, or NULL; *count is the number of accepted changes. */
static const struct table_diff_change *find_change(
    const struct table_diff *diff, const struct diff_condition *condition,
    int (*is_so)(const struct table_diff_change *change, const struct diff_condition *condition), size_t *count)
{
    const struct table_diff_change *most = NULL;

    *count = (size_t)(!condition->any && is_so(&diff->overall, condition));
    if (!condition->any)
        return *count ? &diff->overall : NULL;
    for (size_t i = 0; i < table_row_count(diff->table); i++) {
        if (!is_meant(diff, i, condition) || !is_so(&diff->rows[i], condition))
            continue;
        most = most ? most : &diff->rows[i]; /* the largest comes first */
        ++*count;
    }
    return most;
}

int diff_condition_check(const struct diff_condition *condition, const struct analysis *analysis,
                         const struct table_diff *diff, struct error *err)
{
    if (!condition->any && !diff->has_overall)
        return error_set(err, ERR_BAD_ARGUMENT, "--fail-if '%s' does not work for %s, because %s; use 'any %s'",
                         condition->is.text, analysis->name,
                         analysis->overlap ? analysis->overlap : "its figures cannot be added up", condition->is.text);
    if (condition->row && !diff_condition_has_row(diff, condition))
        return error_set(err, ERR_BAD_ARGUMENT, "--fail-if '%s': the reports of one side have no %s",
                         condition->is.text, condition->row);
    if (condition->is.is_time && !unit_is_ns((enum table_unit)diff->unit))
        return error_set(err, ERR_BAD_ARGUMENT, "--fail-if '%s' names a time, but %s of %s is not a time",
                         condition->is.text, diff->column, analysis->name);
    return 0;
}

/* ---- what came of it ------------------------------------------------------------------------------------------- */

void diff_add_figure(struct text *out, const struct table_diff *diff, double value, const struct print_time_unit *time)
{
    static const struct {
        const char *suffix;
        double bytes; /* in one of them */
    } units[] = {
        [UNIT_NONE] = { "", 0 },     [UNIT_BYTES] = { "B", 1 }, [UNIT_MEGABYTES] = { "MB", 1e6 },
        [UNIT_PERCENT] = { "%", 0 }, [UNIT_NAME] = { "", 0 },
    };
    enum table_unit unit = (enum table_unit)diff->unit;
    const char *suffix = unit_is_ns(unit) ? time->suffix : units[unit].suffix;
    const struct table_column *rows = table_columns(diff->table); /* the first column has figures of this kind */
    int decimals = rows->kind == CELL_REAL ? rows->decimals : value != floor(value);
    const struct table_column column = { "", CELL_REAL, unit, decimals };
    const struct table_cell cell = { .kind = CELL_REAL, .real = value };

    if (unit_is_ns(unit) && time == &time_unit_auto) {
        human_time(out, saturating_from_double(value));
    } else if (units[unit].bytes > 0 && time == &time_unit_auto) {
        text_add(out, value < 0 ? "-" : "");
        human_bytes(out, (uint64_t)saturating_from_double(fabs(value) * units[unit].bytes));
    } else {
        print_number(out, &column, &cell, time, (struct print_number_style){ .grouped = 1 });
        text_addf(out, "%s%s", *suffix ? " " : "", suffix);
    }
}

/* The names of a row: the texts of its key columns. */
static void add_row_name(struct text *out, const struct table_diff *diff, size_t row)
{
    const struct table_column *columns = table_columns(diff->table);
    const struct table_cell *cells = table_row(diff->table, row);
    const char *before = " of ";

    for (size_t i = 0; i < table_column_count(diff->table); i++) {
        if (columns[i].kind != CELL_TEXT || strcmp(columns[i].name, "Note") == 0 || !cells[i].text.length)
            continue;
        size_t indent = strspn(cells[i].text.bytes, " "); /* indentation of a tree */
        text_add(out, before);
        display_add(out, cells[i].text.bytes + indent, cells[i].text.length - indent, NAME_COLUMNS);
        before = ", ";
    }
}

static void add_signed_figure(struct text *out, const struct table_diff *diff, double value)
{
    text_add_char(out, value < 0 ? '-' : '+');
    diff_add_figure(out, diff, fabs(value), &time_unit_auto);
}

static void add_limit(struct text *out, const struct diff_condition *condition, const struct table_diff *diff)
{
    if (condition->is.percent)
        text_addf(out, "%+g %%", condition->is.bound);
    else
        add_signed_figure(out, diff, condition->is.bound);
}

/* " (+53.1 %, 95 % interval +42.0 … +61.5 %)", the interval in the unit of the limit. */
static void diff_condition_add_change(struct text *out, const struct diff_condition *condition,
                                      const struct table_diff *diff, const struct table_diff_change *change)
{
    double percent = change->before != 0 ? 100 / fabs(change->before) : 0;
    int has_interval = change->low < change->high;

    if (!percent && !has_interval)
        return;
    text_add(out, " (");
    if (percent)
        text_addf(out, "%+.1f %%%s", change->change * percent, has_interval ? ", " : "");
    if (has_interval)
        text_addf(out, "%.0f %% interval ", 100 * diff->confidence);
    if (has_interval && condition->is.percent) {
        text_addf(out, "%+.1f … %+.1f %%", change->low * percent, change->high * percent);
    } else if (has_interval) {
        add_signed_figure(out, diff, change->low);
        text_add(out, " … ");
        add_signed_figure(out, diff, change->high);
    }
    text_add_char(out, ')');
}

/* "FAILED osrt_sum: total 4.53 s → 6.94 s (+53.1 %), limit +5 %" */
static void diff_condition_add_verdict(struct text *out, const char *verdict, const struct analysis *analysis,
                                       const struct diff_condition *condition, const struct table_diff *diff,
                                       const struct table_diff_change *change)
{
    text_addf(out, "%s %s: %s", verdict, analysis->name, condition->is.name);
    if (condition->any && !condition->row)
        add_row_name(out, diff, (size_t)(change - diff->rows));
    text_add_char(out, ' ');
    diff_add_figure(out, diff, change->before, &time_unit_auto);
    text_add(out, " → ");
    diff_add_figure(out, diff, change->after, &time_unit_auto);
    diff_condition_add_change(out, condition, diff, change);
    text_add(out, ", limit ");
    add_limit(out, condition, diff);
}

int diff_condition_is_met(const struct diff_condition *condition, const struct analysis *analysis,
                          const struct table_diff *diff, struct text *line)
{
    size_t count;
    const struct table_diff_change *change = find_change(diff, condition, is_beyond, &count);
    int is_met = change != NULL;

    if (!is_met)
        change = find_change(diff, condition, seems_beyond, &count);
    if (!change)
        return 0;
    diff_condition_add_verdict(line, is_met ? "FAILED" : "PASSED", analysis, condition, diff, change);
    if (!is_met)
        text_add(line, ": may be noise");
    if (count > 1)
        text_addf(line, "; %zu more %s it", count - 1, count == 2 ? "row exceeds" : "rows exceed");
    text_add_char(line, '\n');
    return is_met;
}
