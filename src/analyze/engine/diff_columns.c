/* See diff_columns.h. Everything that a comparison knows about the columns of particular reports is in the tables of
 * this file. */
#include "diff_columns.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

/* The short names that users give to columns, and the names of these columns in the reports. The first column that a
 * report has is meant. Inclusive figures are not among them: a caller contains its callees, so their sum over the rows
 * grows with the depth of the stacks. */
static const struct nickname {
    const char *name;
    enum diff_combine combine;
    int is_percent;
    const char *columns[20]; /* NULL after the last */
} nicknames[] = {
    { "total",
      DIFF_SUM,
      0,
      { "Total Time", "Total Proj Time", "Total", "Total Dur", "Duration", "Projected Duration", "Self Time",
        "Busy Time", "Running", "Program", "GPU Self", "CPU Self", "Held Up", "Time", "CPU Time", "Wall Time" } },
    { "count",
      DIFF_SUM,
      0,
      { "Instances", "Num Calls", "Count", "Range Instances", "Kern Inst", "Self Samples", "Samples", "Calls",
        "Operations" } },
    { "avg", DIFF_MEAN, 0, { "Avg", "Proj Avg", "TAvg" } },
    { "med", DIFF_MEAN, 0, { "Med", "Proj Med", "TMed" } },
    { "min", DIFF_LEAST, 0, { "Min", "Proj Min", "TMin" } },
    { "max", DIFF_GREATEST, 0, { "Max", "Proj Max", "TMax" } },
    { "stddev", DIFF_MEAN, 0, { "StdDev", "Proj StdDev", "TStdDev" } },
    { "share", DIFF_SUM, 1, { "Time", "Self", "Share" } },
};

/* Figures that are estimates from samples, and the columns with the number of these. The first pair that a report has
 * is meant. */
static const struct {
    const char *figure, *samples;
} estimates[] = {
    { "Self Time", "Self Samples" },
    { "Self Samples", "Self Samples" },
    { "Self", "Self Samples" },
    { "Total Time", "Samples" },
    { "Total Samples", "Total Samples" },
    { "Total", "Total Samples" },
    { "Total", "Samples" },
    { "Samples", "Samples" },
    { "Share", "Samples" },
};

/* Reports, by the begin of their names, whose figure is another one than the first of the nicknames: the number of
 * samples of a GPU metric says nothing about the run. */
static const struct {
    const char *report, *figure;
} own_figures[] = {
    { "gpu_metrics_", "avg" },
};

/* Columns with ids and figures that differ in each run: rows of two runs cannot be matched by them. */
static const char *const own_names[] = {
    "PID",      "TID", "Pid",      "Tid",   "CorrID",  "CorrId",  "RangeId", "ParentId",    "RangeStack",
    "NameTree", "Ctx", "GreenCtx", "T-Pri", "Address", "Held By", "Finding", "Launched By", "Parent",
};

/* Columns of single reports that say what was found for a row, not which row it is. */
static const struct {
    const char *report, *column;
} outcomes[] = {
    { "collective_sum", "Last Rank" }, { "mpi_wait_sum", "Waiting" }, { "mpi_wait_sum", "Waits For" },
    { "straggler_sum", "Cause" },      { "straggler_sum", "Where" },  { "straggler_sum", "Device" },
};

static int is_own(const char *report, const char *name)
{
    for (size_t i = 0; i < COUNT_OF(own_names); i++)
        if (strcmp(own_names[i], name) == 0)
            return 1;
    for (size_t i = 0; i < COUNT_OF(outcomes); i++)
        if (strcmp(outcomes[i].report, report) == 0 && strcmp(outcomes[i].column, name) == 0)
            return 1;
    return 0;
}

static int diff_columns_is_key(const char *report, const struct table_column *column)
{
    return (column->kind == CELL_TEXT || column->unit == UNIT_ID) && !is_own(report, column->name);
}

static int is_figure(const struct table_column *column)
{
    return column->kind != CELL_TEXT && column->unit != UNIT_ID && column->unit != UNIT_TIME;
}

/* ---- the figure ------------------------------------------------------------------------------------------------ */

/* Whether each run that has rows has the figure in one of them. */
static int diff_columns_is_known(struct table *const *tables, size_t count, int column)
{
    for (size_t i = 0; i < count; i++) {
        size_t rows = tables[i] ? table_row_count(tables[i]) : 0, known = !rows;
        for (size_t row = 0; row < rows && !known; row++)
            known = table_row(tables[i], row)[column].kind != CELL_NONE;
        if (!known)
            return 0;
    }
    return 1;
}

static int find_figure(const struct diff_columns *columns, const char *name, int is_percent)
{
    for (size_t i = 0; i < columns->count; i++)
        if (is_figure(&columns->all[i]) && (columns->all[i].unit == UNIT_PERCENT) == is_percent &&
            strcasecmp(columns->all[i].name, name) == 0)
            return (int)i;
    return -1;
}

static int find_nickname(struct diff_columns *columns, struct table *const *tables, size_t count,
                         const struct nickname *nickname)
{
    for (size_t i = 0; nickname->columns[i]; i++) {
        columns->compared = find_figure(columns, nickname->columns[i], nickname->is_percent);
        if (columns->compared >= 0 && diff_columns_is_known(tables, count, columns->compared)) {
            columns->combine = nickname->combine;
            return 1;
        }
    }
    return 0;
}

/* How rows with the same name are combined, by the nickname of the column. */
static enum diff_combine combine_of(const char *column)
{
    for (size_t i = 0; i < COUNT_OF(nicknames); i++)
        for (size_t j = 0; nicknames[i].columns[j]; j++)
            if (strcasecmp(nicknames[i].columns[j], column) == 0)
                return nicknames[i].combine;
    return DIFF_MEAN;
}

/* The column of this name; a share only if nothing else is called so. Without a name, the first time, else the first
 * figure. */
static int diff_columns_find_column(const struct diff_columns *columns, const char *wanted)
{
    int found = -1;

    if (wanted) {
        found = find_figure(columns, wanted, 0);
        return found >= 0 ? found : find_figure(columns, wanted, 1);
    }
    for (size_t i = 0; i < columns->count; i++) {
        if (is_figure(&columns->all[i]) && columns->all[i].unit == UNIT_NS)
            return (int)i;
        if (is_figure(&columns->all[i]) && found < 0)
            found = (int)i;
    }
    return found;
}

static int diff_columns_complain(const struct diff_columns *columns, const char *report, const char *wanted,
                                 struct error *err)
{
    struct text names = { 0 };

    for (size_t i = 0; i < columns->count; i++)
        if (is_figure(&columns->all[i]))
            text_addf(&names, "%s%s", names.length ? ", " : "", columns->all[i].name);
    if (wanted)
        error_set(err, ERR_BAD_ARGUMENT, "%s has no column '%s' to compare; it has %s", report, wanted,
                  names.length ? text_string(&names) : "no figures");
    else
        error_set(err, ERR_BAD_ARGUMENT, "%s has no figures to compare", report);
    text_free(&names);
    return err->code;
}

static int samples_column(const struct diff_columns *columns)
{
    const char *figure = columns->all[columns->compared].name;
    int found = -1;

    for (size_t i = 0; i < COUNT_OF(estimates) && found < 0; i++)
        if (strcasecmp(estimates[i].figure, figure) == 0)
            found = find_figure(columns, estimates[i].samples, 0);
    return found;
}

static int choose_figure(struct diff_columns *columns, struct table *const *tables, size_t count, const char *report,
                         const char *wanted, struct error *err)
{
    for (size_t i = 0; i < COUNT_OF(own_figures); i++)
        if (!wanted && text_begins_with(report, own_figures[i].report))
            wanted = own_figures[i].figure;
    for (size_t i = 0; i < COUNT_OF(nicknames); i++)
        if ((!wanted || strcasecmp(nicknames[i].name, wanted) == 0) &&
            find_nickname(columns, tables, count, &nicknames[i]))
            return 0;
    if ((columns->compared = diff_columns_find_column(columns, wanted)) < 0)
        return diff_columns_complain(columns, report, wanted, err);
    columns->combine = combine_of(columns->all[columns->compared].name);
    return 0;
}

int diff_columns_choose(struct diff_columns *out, struct table *const *tables, size_t count, const char *report,
                        const char *wanted, struct error *err)
{
    const struct table *any = NULL;
    int code;

    for (size_t i = 0; i < count && !any; i++)
        any = tables[i];
    if (!any)
        return error_set(err, ERR_NO_DATA, "no run has data for %s", report);
    *out = (struct diff_columns){ .all = table_columns(any), .count = table_column_count(any) };
    for (size_t i = 0; i < out->count && out->key_count < DIFF_MOST_KEYS; i++)
        if (diff_columns_is_key(report, &out->all[i]))
            out->keys[out->key_count++] = (int)i;
    if ((code = choose_figure(out, tables, count, report, wanted, err)) != 0)
        return code;
    out->samples = samples_column(out);
    return 0;
}

/* ---- names ----------------------------------------------------------------------------------------------------- */

/* Where the name of a file begins. Each package of Python has an __init__.py, so its folder stays. */
static size_t base_name(const char *bytes, size_t length)
{
    static const char package[] = "/__init__.py";
    size_t end = length, start = length;

    if (length >= sizeof package - 1 && memcmp(bytes + length - (sizeof package - 1), package, sizeof package - 1) == 0)
        end = length - (sizeof package - 1);
    for (start = end; start > 0 && bytes[start - 1] != '/';)
        start--;
    return start;
}

/* "libfoo.so.1.2": the length of "libfoo.so". */
static size_t without_version(const char *bytes, size_t length)
{
    size_t end = length;

    while (end > 0 && (isdigit((unsigned char)bytes[end - 1]) || bytes[end - 1] == '.'))
        end--;
    return end < length && end >= 3 && memcmp(bytes + end - 3, ".so", 3) == 0 ? end : length;
}

/* "work (main.c:12)": the length of "work (main.c". */
static size_t without_line(const char *bytes, size_t length)
{
    size_t end = length && bytes[length - 1] == ')' ? length - 1 : length, digits = 0;

    for (; end > 0 && isdigit((unsigned char)bytes[end - 1]); end--)
        digits++;
    return digits && end > 0 && bytes[end - 1] == ':' ? end - 1 : length;
}

struct diff_key diff_key_of(const struct table_column *column, const struct table_cell *cell)
{
    struct diff_key key = { cell->text.bytes, cell->text.length, cell->text.length };

    if (strcmp(column->name, "Module") == 0) {
        size_t start = base_name(key.bytes, key.shown);
        key.bytes += start;
        key.shown -= start;
        key.matched = without_version(key.bytes, key.shown);
    } else if (strcmp(column->name, "Where") == 0) {
        key.matched = without_line(key.bytes, key.shown);
    }
    return key;
}
