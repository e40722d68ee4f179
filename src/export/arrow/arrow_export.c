/* Exports a report as Arrow IPC streams, one for each table, with nsys's names: `arrow` writes them one after another
 * into one file, `arrowdir` each to a file of its own, as nsys does.
 *
 * Every number is a 64-bit integer and every text a large_string. Ids of strings stay ids, and the table StringIds has
 * their texts. Metadata of a schema has the table's name and description, that of a column its description. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "arrow_message.h"
#include "base/utf8.h"
#include "export/export_rows.h"
#include "export/nsys_tables.h"
#include "export/outfile.h"

enum { BATCH_ROWS = 65536 };

struct arrow_export {
    struct report *report;
    const char *folder;     /* NULL: all tables go to one file */
    struct outfile *output; /* that file */
    const struct export_options *options;
    int64_t shift_ns;
    struct arrow_table table;
    struct arrow_column columns[EXPORT_COLUMNS_MAX];
    struct text out; /* messages that are not written yet */
};

/* ---- filling a batch ------------------------------------------------------------------------------------------- */

static int arrow_export_make_columns(struct arrow_export *export, struct error *err)
{
    for (size_t c = 0; c < EXPORT_COLUMNS_MAX; c++) {
        struct arrow_column *column = &export->columns[c];
        column->values = malloc(BATCH_ROWS * sizeof *column->values);
        column->valid = malloc(BATCH_ROWS / 8);
        if (!column->values || !column->valid)
            return error_no_memory(err);
    }
    export->table.columns = export->columns;
    return 0;
}

static void arrow_export_free_columns(struct arrow_export *export)
{
    for (size_t c = 0; c < EXPORT_COLUMNS_MAX; c++) {
        free(export->columns[c].values);
        free(export->columns[c].valid);
        text_free(&export->columns[c].bytes);
    }
}

static void set_column(struct arrow_export *export, size_t c, const char *name, const char *note, enum arrow_type type)
{
    export->columns[c].name = name;
    export->columns[c].note = note;
    export->columns[c].type = type;
}

static void clear_batch(struct arrow_table *table)
{
    table->rows = 0;
    for (size_t c = 0; c < table->column_count; c++) {
        table->columns[c].null_count = 0;
        text_clear(&table->columns[c].bytes);
    }
}

/* These three add the value of the next row. */

static void arrow_export_put_number(struct arrow_column *column, size_t row, int64_t value)
{
    column->values[row] = value;
    column->valid[row / 8] = (unsigned char)((row % 8 ? column->valid[row / 8] : 0) | 1u << row % 8);
}

static void put_null(struct arrow_column *column, size_t row)
{
    arrow_export_put_number(column, row, (int64_t)column->bytes.length);
    column->valid[row / 8] &= (unsigned char)~(1u << row % 8);
    column->null_count++;
}

/* A large_string must be UTF-8. */
static void arrow_export_put_text(struct arrow_column *column, size_t row, const char *bytes, size_t length)
{
    if (column->type == ARROW_BYTES)
        text_add_bytes(&column->bytes, bytes, length);
    else
        utf8_add(&column->bytes, bytes, length);
    arrow_export_put_number(column, row, (int64_t)column->bytes.length);
}

static void put_text_or_null(struct arrow_column *column, size_t row, const char *text)
{
    if (text)
        arrow_export_put_text(column, row, text, strlen(text));
    else
        put_null(column, row);
}

/* ---- streams --------------------------------------------------------------------------------------------------- */

/* A table that is being written: fill() adds its rows, whose columns are those of export->table. */
struct stream {
    struct arrow_export *export;
    int (*fill)(const struct stream *stream, struct outfile *output, struct error *err); /* NULL: no rows */
    const void *from;   /* the source that fill() reads */
    const int *columns; /* the columns that fill() reads from a table of the report */
};

static int write_batch(struct arrow_export *export, struct outfile *output, struct error *err)
{
    arrow_add_batch(&export->out, &export->table);
    clear_batch(&export->table);
    return outfile_put(output, &export->out, 1, err);
}

static int write_stream(void *context, struct outfile *output, struct error *err)
{
    const struct stream *stream = context;
    struct arrow_export *export = stream->export;
    int code;

    clear_batch(&export->table);
    arrow_add_schema(&export->out, &export->table);
    if (stream->fill && (code = stream->fill(stream, output, err)) != 0)
        return code;
    /* A table without rows has an empty batch: readers for JavaScript join a stream without one to the next. */
    if ((code = write_batch(export, output, err)) != 0)
        return code;
    arrow_add_end(&export->out);
    return outfile_put(output, &export->out, 0, err);
}

static int arrow_export_put_table(struct stream *stream, struct error *err)
{
    struct arrow_export *export = stream->export;
    struct text path = { 0 };

    if (!export->folder)
        return write_stream(stream, export->output, err);
    int code = export_table_path(&path, export->folder, export->table.name, "arrow", err);
    if (code != 0)
        goto free_path;
    code = outfile_write(text_string(&path), 0, write_stream, stream, err);
free_path:
    text_free(&path);
    return code;
}

/* ---- tables of the report -------------------------------------------------------------------------------------- */

static enum arrow_type arrow_export_type_of(const char *name, enum column_type type)
{
    if (type == COLUMN_REAL)
        return ARROW_DOUBLE;
    if (type == COLUMN_TEXT)
        return strcmp(name, "binaryData") == 0 ? ARROW_BYTES : ARROW_TEXT;
    return ARROW_INT64;
}

static void put_row(struct arrow_export *export, const struct report_table *table, const int *columns,
                    const struct export_window *window)
{
    size_t row = export->table.rows++;

    for (size_t c = 0; c < export->table.column_count; c++) {
        struct arrow_column *column = &export->columns[c];
        int64_t value = window->values[c][window->at];
        size_t length;
        if (window->null_masks[window->at] >> c & 1)
            put_null(column, row);
        else if (table->columns[columns[c]].type == COLUMN_TEXT) {
            const char *bytes = report_string(export->report, value, &length);
            arrow_export_put_text(column, row, bytes, length);
        } else
            arrow_export_put_number(column, row, value);
    }
}

static int fill_reported(const struct stream *stream, struct outfile *output, struct error *err)
{
    struct arrow_export *export = stream->export;
    const struct report_table *table = stream->from;
    struct export_rows *rows;
    int code;

    if ((code = export_rows_open(export->report, table, stream->columns, export->table.column_count, export->options,
                                 export->shift_ns, &rows, err)) != 0)
        return code;
    while ((code = export_rows_next(rows, err)) == 1) {
        put_row(export, table, stream->columns, export_window(rows));
        if (export->table.rows == BATCH_ROWS && (code = write_batch(export, output, err)) != 0)
            goto close_rows;
    }
close_rows:
    export_rows_close(rows);
    return code;
}

static int put_reported(struct arrow_export *export, const struct report_table *table, struct error *err)
{
    int id = schema_find(table->name), columns[EXPORT_COLUMNS_MAX];
    const struct schema_table *known = id < 0 ? NULL : &schema_tables[id];
    struct stream stream = { export, fill_reported, table, columns };

    export->table.name = table->name;
    export->table.note = known ? known->note : NULL;
    export->table.column_count = nsys_columns(export->report, table, columns, EXPORT_COLUMNS_MAX);
    for (size_t c = 0; c < export->table.column_count; c++) {
        const struct report_column *column = &table->columns[columns[c]];
        const struct schema_column *note = nsys_column(known, column->name);
        set_column(export, c, column->name, note ? note->note : NULL, arrow_export_type_of(column->name, column->type));
    }
    return arrow_export_put_table(&stream, err);
}

static int put_empty(struct arrow_export *export, const struct schema_table *known, struct error *err)
{
    struct stream stream = { .export = export };

    export->table.name = known->name;
    export->table.note = known->note;
    export->table.column_count = 0;
    for (size_t c = 0; c < known->column_count; c++)
        if (!known->columns[c].extra)
            set_column(export, export->table.column_count++, known->columns[c].name, known->columns[c].note,
                       arrow_export_type_of(known->columns[c].name, known->columns[c].type));
    return arrow_export_put_table(&stream, err);
}

/* META_DATA_EXPORT of an imported file describes that file; put_metadata() describes this one. */
static int arrow_export_has_rows(const struct arrow_export *export, const char *name)
{
    return report_rows(export->report, name) && export_wants_table(export->options, name) &&
           strcmp(name, "META_DATA_EXPORT") != 0;
}

/* StringIds first, as nsys has it. */
static int arrow_export_put_tables(struct arrow_export *export, struct error *err)
{
    static const char strings[] = "StringIds";
    int code;

    if (arrow_export_has_rows(export, strings) &&
        (code = put_reported(export, report_table(export->report, strings), err)) != 0)
        return code;
    for (size_t i = 0; i < report_table_count(export->report); i++) {
        const struct report_table *table = report_table_at(export->report, i);
        if (strcmp(table->name, strings) != 0 && arrow_export_has_rows(export, table->name) &&
            (code = put_reported(export, table, err)) != 0)
            return code;
    }
    for (size_t i = 0; i < TABLE_COUNT; i++)
        if (i != TABLE_META_DATA_EXPORT && !arrow_export_has_rows(export, schema_tables[i].name) &&
            nsys_wants_empty(export->options, (enum table_id)i) &&
            (code = put_empty(export, &schema_tables[i], err)) != 0)
            return code;
    return 0;
}

/* ---- enums and metadata ---------------------------------------------------------------------------------------- */

static int fill_enum(const struct stream *stream, struct outfile *output, struct error *err)
{
    enum { ID, NAME, LABEL };
    struct arrow_export *export = stream->export;
    const struct schema_enum *list = stream->from;
    int code;

    for (size_t i = 0; i < list->count; i++) {
        size_t row = export->table.rows++;
        arrow_export_put_number(&export->columns[ID], row, list->values[i].id);
        put_text_or_null(&export->columns[NAME], row, list->values[i].name);
        put_text_or_null(&export->columns[LABEL], row, list->values[i].label);
        if (export->table.rows == BATCH_ROWS && (code = write_batch(export, output, err)) != 0)
            return code;
    }
    return 0;
}

static int arrow_export_put_enum(void *context, const struct schema_enum *list, struct error *err)
{
    struct arrow_export *export = context;
    struct stream stream = { export, fill_enum, list, NULL };

    export->table.name = list->name;
    export->table.note = list->note;
    export->table.column_count = 3;
    set_column(export, 0, "id", "Number.", ARROW_INT64);
    set_column(export, 1, "name", "Symbol.", ARROW_TEXT);
    set_column(export, 2, "label", "For people.", ARROW_TEXT);
    return arrow_export_put_table(&stream, err);
}

static int arrow_export_has_table(void *context, const char *name)
{
    const struct arrow_export *export = context;
    int id = schema_find(name);

    return arrow_export_has_rows(export, name) || (id >= 0 && nsys_wants_empty(export->options, (enum table_id)id));
}

static int fill_metadata(const struct stream *stream, struct outfile *output, struct error *err)
{
    struct arrow_export *export = stream->export;

    for (const struct nsys_metadata *at = nsys_metadata; at->name; at++) {
        size_t row = export->table.rows++;
        put_text_or_null(&export->columns[0], row, at->name);
        put_text_or_null(&export->columns[1], row, at->value);
    }
    return 0;
}

static int put_metadata(struct arrow_export *export, struct error *err)
{
    struct stream stream = { .export = export, .fill = fill_metadata };

    if (!export_wants_table(export->options, "META_DATA_EXPORT"))
        return 0;
    export->table.name = "META_DATA_EXPORT";
    export->table.note = NSYS_METADATA_NOTE;
    export->table.column_count = 2;
    set_column(export, 0, "name", "What.", ARROW_TEXT);
    set_column(export, 1, "value", "Value.", ARROW_TEXT);
    return arrow_export_put_table(&stream, err);
}

/* ---- all of it ------------------------------------------------------------------------------------------------- */

static int arrow_export_put_all(void *context, struct outfile *output, struct error *err)
{
    struct arrow_export *export = context;
    const struct nsys_enum_sink enums = { arrow_export_has_table, arrow_export_put_enum, export };
    int code;

    export->output = output;
    if ((code = arrow_export_put_tables(export, err)) != 0)
        return code;
    if ((code = nsys_enums(export->report, export->options, &enums, err)) != 0)
        return code;
    return put_metadata(export, err);
}

static int arrow_export_put_folder(struct arrow_export *export, struct error *err)
{
    if (mkdir(export->folder, 0777) != 0)
        return error_set_errno(err, "cannot create the directory '%s'", export->folder);
    return arrow_export_put_all(export, NULL, err);
}

static int export_to(struct report *report, const char *path, int is_folder, const struct export_options *options,
                     struct error *err)
{
    struct arrow_export *export = calloc(1, sizeof *export);
    int code;

    if (!export)
        return error_no_memory(err);
    export->report = report;
    export->folder = is_folder ? path : NULL;
    export->options = options;
    if ((code = arrow_export_make_columns(export, err)) != 0)
        goto free_export;
    if ((code = export_shift(options, report, &export->shift_ns, err)) != 0)
        goto free_export;
    code = is_folder ? arrow_export_put_folder(export, err) : outfile_write(path, 0, arrow_export_put_all, export, err);
free_export:
    arrow_export_free_columns(export);
    text_free(&export->out);
    free(export);
    return code;
}

static int export_to_file(struct report *report, const char *path, const struct export_options *options,
                          struct error *err)
{
    return export_to(report, path, 0, options, err);
}

static int export_to_folder(struct report *report, const char *path, const struct export_options *options,
                            struct error *err)
{
    return export_to(report, path, 1, options, err);
}

const struct exporter export_arrow = {
    .name = "arrow",
    .help = "Arrow IPC streams in one file, one for each table, with the tables and names of nsys's export",
    .extension = "arrows",
    .export_report = export_to_file,
};
const struct exporter export_arrowdir = {
    .name = "arrowdir",
    .help = "directory with an Arrow IPC stream for each table",
    .extension = "arwdir",
    .folder = "arrow",
    .needs_file = 1,
    .export_report = export_to_folder,
};
