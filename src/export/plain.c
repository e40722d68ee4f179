/* The tables of a report as plain text: csv, json, jsonlines and text. Each format is a set of separators around the
 * same walk.
 *
 * Strings appear in place of their ids unless ids are requested. Bytes that are not UTF-8 become U+FFFD. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/formula.h"
#include "base/text.h"
#include "base/utf8.h"
#include "export_rows.h"
#include "json_check.h"
#include "outfile.h"

struct plain;

/* How a format writes each part. */
struct style {
    const char *name;
    int file_per_table;
    const char *before, *after;                             /* text before and after the tables */
    void (*begin_table)(struct plain *plain, size_t place); /* place: how many tables came before */
    void (*end_table)(struct plain *plain);
    void (*begin_row)(struct plain *plain, uint64_t place);
    void (*value)(struct plain *plain, size_t column);
    void (*end_row)(struct plain *plain);
};

struct plain {
    const struct style *style;
    struct report *report;
    const char *path;
    FILE *file;
    struct text line, guarded;
    struct text names[EXPORT_COLUMNS_MAX]; /* names of columns, as JSON has them before a value */
    const struct report_table *table;
    int columns[EXPORT_COLUMNS_MAX];
    enum column_type types[EXPORT_COLUMNS_MAX];
    size_t column_count;
    const struct export_window *window;
    const struct export_options *options;
    int64_t shift_ns;
};

/* ---- values ---------------------------------------------------------------------------------------------------- */

static int plain_is_null(const struct plain *plain, size_t column)
{
    return plain->window->null_masks[plain->window->at] >> column & 1;
}

static int64_t plain_bits_of(const struct plain *plain, size_t column)
{
    return plain->window->values[column][plain->window->at];
}

static void plain_add_real(struct text *line, int64_t bits)
{
    union {
        int64_t bits;
        double real;
    } value = { .bits = bits };

    if (isfinite(value.real))
        json_add_real(line, value.real);
    else
        text_addf(line, "%g", value.real);
}

/* Whether the text needs no escape in any of the formats, which is true of nearly every name. */
static int plain_is_plain(const char *bytes, size_t length)
{
    unsigned odd = 0;

    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)bytes[i];
        odd |= (unsigned)((c < ' ') | (c >= 0x7F) | (c == '"') | (c == ',') | (c == '\\'));
    }
    return !odd;
}

/* The value's text if it is one, else NULL and a number is added. */
static const char *text_or_number(struct plain *plain, size_t column, size_t *length)
{
    enum column_type type = plain->types[column];

    if (type == COLUMN_TEXT || (type == COLUMN_STRING && !plain->options->separate_strings))
        return report_string(plain->report, plain_bits_of(plain, column), length);
    if (type == COLUMN_REAL)
        plain_add_real(&plain->line, plain_bits_of(plain, column));
    else
        json_add_int(&plain->line, plain_bits_of(plain, column));
    return NULL;
}

/* ---- csv and text ---------------------------------------------------------------------------------------------- */

static void add_csv_text(struct text *line, const char *bytes, size_t length)
{
    int spaced = length && (bytes[0] == ' ' || bytes[length - 1] == ' ');

    if (!spaced && plain_is_plain(bytes, length)) {
        text_add_bytes(line, bytes, length);
        return;
    }
    if (!spaced && strcspn(bytes, ",\"\r\n") >= length) {
        utf8_add(line, bytes, length);
        return;
    }
    text_add_char(line, '"');
    for (size_t at = 0; at < length;) {
        const char *quote = memchr(bytes + at, '"', length - at);
        size_t part = quote ? (size_t)(quote - bytes) - at + 1 : length - at;
        utf8_add(line, bytes + at, part);
        if (quote)
            text_add_char(line, '"');
        at += part;
    }
    text_add_char(line, '"');
}

static void csv_begin_table(struct plain *plain, size_t place)
{
    for (size_t c = 0; c < plain->column_count; c++)
        text_addf(&plain->line, "%s%s", c ? "," : "", plain->table->columns[plain->columns[c]].name);
    text_add_char(&plain->line, '\n');
}

static void csv_value(struct plain *plain, size_t column)
{
    size_t length;

    if (column)
        text_add_char(&plain->line, ',');
    const char *text = plain_is_null(plain, column) ? NULL : text_or_number(plain, column, &length);
    if (!text)
        return;
    if (plain->options->guard_formulas && formula_begins(text, length)) {
        text_clear(&plain->guarded);
        text_add_char(&plain->guarded, FORMULA_GUARD);
        text_add_bytes(&plain->guarded, text, length);
        text = text_string(&plain->guarded);
        length = plain->guarded.length;
    }
    add_csv_text(&plain->line, text, length);
}

static void plain_end_line(struct plain *plain)
{
    text_add_char(&plain->line, '\n');
}

static void text_begin_table(struct plain *plain, size_t place)
{
    text_addf(&plain->line, "%s%s\n", place ? "\n" : "", plain->table->name);
    for (size_t c = 0; c < plain->column_count; c++)
        text_addf(&plain->line, "%s%s", c ? "\t" : "", plain->table->columns[plain->columns[c]].name);
    text_add_char(&plain->line, '\n');
}

/* Tabs and line ends inside a value would be taken for separators, so they become spaces. */
static void text_value(struct plain *plain, size_t column)
{
    size_t length;

    if (column)
        text_add_char(&plain->line, '\t');
    const char *text = plain_is_null(plain, column) ? NULL : text_or_number(plain, column, &length);
    size_t from = plain->line.length;
    if (text)
        utf8_add(&plain->line, text, length);
    for (size_t i = from; i < plain->line.length; i++)
        if (strchr("\t\n\r", plain->line.bytes[i]))
            plain->line.bytes[i] = ' ';
}

/* ---- json ------------------------------------------------------------------------------------------------------ */

static void json_member(struct plain *plain, size_t column)
{
    union {
        int64_t bits;
        double real;
    } value;
    size_t length = 0;

    text_add(&plain->line, text_string(&plain->names[column]));
    value.bits = plain_bits_of(plain, column);
    if (plain->types[column] == COLUMN_REAL && !isfinite(value.real)) {
        text_add(&plain->line, "null"); /* JSON has no word for it */
        return;
    }
    const char *text = text_or_number(plain, column, &length);
    if (text)
        json_add_text(&plain->line, text, length);
}

static void json_begin_table(struct plain *plain, size_t place)
{
    text_add(&plain->line, place ? ",\n" : "\n");
    json_add_text(&plain->line, plain->table->name, strlen(plain->table->name));
    text_add(&plain->line, ": [");
}

static void json_end_table(struct plain *plain)
{
    text_add(&plain->line, "\n]");
}

static void json_begin_row(struct plain *plain, uint64_t place)
{
    text_add(&plain->line, place ? ",\n{" : "\n{");
}

/* NULL is left out. */
static void json_value(struct plain *plain, size_t column)
{
    if (plain_is_null(plain, column))
        return;
    if (plain->line.length && plain->line.bytes[plain->line.length - 1] != '{')
        text_add_char(&plain->line, ',');
    json_member(plain, column);
}

static void json_end_row(struct plain *plain)
{
    text_add_char(&plain->line, '}');
}

static void jsonlines_begin_row(struct plain *plain, uint64_t place)
{
    text_add(&plain->line, "{\"table\":");
    json_add_text(&plain->line, plain->table->name, strlen(plain->table->name));
}

static void jsonlines_end_row(struct plain *plain)
{
    text_add(&plain->line, "}\n");
}

static const struct style csv_style = {
    .name = "csv",
    .file_per_table = 1,
    .begin_table = csv_begin_table,
    .value = csv_value,
    .end_row = plain_end_line,
};
static const struct style text_style = {
    .name = "text", .begin_table = text_begin_table, .value = text_value, .end_row = plain_end_line
};
static const struct style json_style = {
    .name = "json",
    .before = "{",
    .after = "\n}\n",
    .begin_table = json_begin_table,
    .end_table = json_end_table,
    .begin_row = json_begin_row,
    .value = json_value,
    .end_row = json_end_row,
};
static const struct style jsonlines_style = {
    .name = "jsonlines",
    .begin_row = jsonlines_begin_row,
    .value = json_value,
    .end_row = jsonlines_end_row,
};

/* ---- the walk -------------------------------------------------------------------------------------------------- */

static int put_line(struct plain *plain, size_t at_least, struct error *err)
{
    if (plain->line.length < at_least)
        return 0;
    if (text_failed(&plain->line))
        return error_no_memory(err);
    if (plain->line.length && fwrite(plain->line.bytes, 1, plain->line.length, plain->file) != plain->line.length)
        return outfile_cannot_write(err, plain->path);
    text_clear(&plain->line);
    return 0;
}

static int plain_put_rows(struct plain *plain, struct error *err)
{
    const struct style *style = plain->style;
    struct export_rows *rows;
    uint64_t place = 0;
    int code;

    if ((code = export_rows_open(plain->report, plain->table, plain->columns, plain->column_count, plain->options,
                                 plain->shift_ns, &rows, err)) != 0)
        return code;
    while ((code = export_rows_next(rows, err)) == 1) {
        plain->window = export_window(rows);
        if (style->begin_row)
            style->begin_row(plain, place);
        place++;
        for (size_t c = 0; c < plain->column_count; c++)
            style->value(plain, c);
        style->end_row(plain);
        if ((code = put_line(plain, 1 << 16, err)) != 0)
            goto close_rows;
    }
close_rows:
    export_rows_close(rows);
    return code;
}

/* With a table the path is that of a folder. */
static int open_output(struct plain *plain, const char *folder, const char *table, struct error *err)
{
    struct text path = { 0 };
    int code = 0;

    if (table)
        code = export_table_path(&path, folder, table, plain->style->name, err);
    else
        text_add(&path, folder);
    if (code != 0)
        goto free_path;
    plain->file = outfile_open(text_string(&path));
    if (!plain->file)
        code = outfile_cannot_write(err, text_string(&path));
free_path:
    text_free(&path);
    return code;
}

/* Writes the last lines. After an error the file stays open, and export_plain() closes it. */
static int close_output(struct plain *plain, struct error *err)
{
    FILE *file = plain->file;
    int code;

    if ((code = put_line(plain, 0, err)) != 0)
        return code;
    plain->file = NULL;
    return fclose(file) == 0 ? 0 : outfile_cannot_write(err, plain->path);
}

static int plain_put_table(struct plain *plain, size_t place, struct error *err)
{
    int code;

    plain->column_count = 0;
    for (size_t c = 0; c < plain->table->column_count && c < EXPORT_COLUMNS_MAX; c++) {
        const struct report_column *column = &plain->table->columns[c];
        plain->types[c] = column->type;
        plain->columns[plain->column_count++] = (int)c;
        text_clear(&plain->names[c]);
        json_add_text(&plain->names[c], column->name, strlen(column->name));
        text_add_char(&plain->names[c], ':');
    }
    if (plain->style->begin_table)
        plain->style->begin_table(plain, place);
    if ((code = plain_put_rows(plain, err)) != 0)
        return code;
    if (plain->style->end_table)
        plain->style->end_table(plain);
    return 0;
}

/* Writes the selected tables one after another; with a folder, each to its own file. */
static int plain_put_tables(struct plain *plain, const char *folder, struct error *err)
{
    size_t place = 0;
    int code;

    for (size_t i = 0; i < report_table_count(plain->report); i++) {
        plain->table = report_table_at(plain->report, i);
        if (plain->table->rows == 0 || !export_wants_table(plain->options, plain->table->name) ||
            (strcmp(plain->table->name, "StringIds") == 0 && !plain->options->separate_strings))
            continue;
        if (folder && (code = open_output(plain, folder, plain->table->name, err)) != 0)
            return code;
        if ((code = plain_put_table(plain, place++, err)) != 0)
            return code;
        if (folder && (code = close_output(plain, err)) != 0)
            return code;
    }
    return 0;
}

static int plain_put_folder(struct plain *plain, struct error *err)
{
    if (mkdir(plain->path, 0777) != 0)
        return error_set_errno(err, "cannot create the directory '%s'", plain->path);
    return plain_put_tables(plain, plain->path, err);
}

static int plain_put_file(struct plain *plain, struct error *err)
{
    int code;

    if ((code = open_output(plain, plain->path, NULL, err)) != 0)
        return code;
    if (plain->style->before)
        text_add(&plain->line, plain->style->before);
    if ((code = plain_put_tables(plain, NULL, err)) != 0)
        return code;
    if (plain->style->after)
        text_add(&plain->line, plain->style->after);
    return close_output(plain, err);
}

static size_t count_tables(const struct report *report, const struct export_options *options)
{
    size_t count = 0;

    for (size_t i = 0; i < report_table_count(report); i++) {
        const struct report_table *table = report_table_at(report, i);
        count += table->rows && export_wants_table(options, table->name) && strcmp(table->name, "StringIds") != 0;
    }
    return count;
}

static int export_plain(const struct style *style, struct report *report, const char *path,
                        const struct export_options *options, struct error *err)
{
    struct plain plain = { .style = style, .report = report, .path = path, .options = options };
    int is_folder = style->file_per_table && !(options->pattern_count && count_tables(report, options) == 1);
    int code;

    if (is_folder && outfile_is_stdout(path))
        return error_set(err, ERR_BAD_ARGUMENT,
                         "%s writes a file for each table: select one table with --tables to write it to stdout",
                         style->name);
    if ((code = export_shift(options, report, &plain.shift_ns, err)) != 0)
        return code;
    code = is_folder ? plain_put_folder(&plain, err) : plain_put_file(&plain, err);
    if (plain.file)
        fclose(plain.file);
    text_free(&plain.line);
    text_free(&plain.guarded);
    for (size_t c = 0; c < EXPORT_COLUMNS_MAX; c++)
        text_free(&plain.names[c]);
    return code;
}

#define EXPORT(format)                                                                                               \
    static int export_to_##format(struct report *report, const char *path, const struct export_options *options,     \
                                  struct error *err)                                                                 \
    {                                                                                                                \
        return export_plain(&format##_style, report, path, options, err);                                            \
    }
EXPORT(csv)
EXPORT(json)
EXPORT(jsonlines)
EXPORT(text)

const struct exporter export_csv = {
    .name = "csv",
    .help = "directory with a CSV file for each table",
    .extension = "csv",
    .folder = "csv",
    .export_report = export_to_csv,
};
const struct exporter export_json = {
    .name = "json",
    .help = "JSON object with a list of rows for each table",
    .extension = "json",
    .export_report = export_to_json,
};
const struct exporter export_jsonlines = {
    .name = "jsonlines",
    .help = "JSON object for each row, one per line, with the name of its table",
    .extension = "jsonl",
    .export_report = export_to_jsonlines,
};
const struct exporter export_text = {
    .name = "text",
    .help = "tables as text, columns separated by tabs",
    .extension = "txt",
    .export_report = export_to_text,
};
