/* Reports as DLProf writes them. csv: a title, a header, the rows; texts are quoted, but not words such as yes and
 * fprop. json: an object with a member for each title. */
#include "dlprof_write.h"

#include <string.h>

#include "base/json_write.h"
#include "cmd/print/print.h"

/* ---- csv ------------------------------------------------------------------------------------------------------- */

static int dlprof_write_is_bare(const struct table_column *column)
{
    static const char *const names[] = { "Direction", "TC Eligible", "Using TC", "Uses TC", "Data Type", "Data Types" };

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(column->name, names[i]) == 0)
            return 1;
    return 0;
}

static void dlprof_write_add_quoted(struct text *out, const char *bytes, size_t length)
{
    text_add_char(out, '"');
    for (size_t i = 0; i < length; i++) {
        text_add(out, bytes[i] == '"' ? "\"" : "");
        text_add_char(out, bytes[i]);
    }
    text_add_char(out, '"');
}

static void dlprof_write_add_cell(struct text *out, const struct table_column *column, const struct table_cell *cell,
                                  int quoted)
{
    if (cell->kind == CELL_TEXT && quoted)
        dlprof_write_add_quoted(out, cell->text.bytes, cell->text.length);
    else if (cell->kind == CELL_TEXT)
        text_add_bytes(out, cell->text.bytes, cell->text.length);
    else if (cell->kind != CELL_NONE)
        print_number(out, column, cell, &time_unit_ns, (struct print_number_style){ .lossless = 1 });
}

/* The summary has no quotes. */
static void add_csv_part(struct text *out, const struct dlprof_part *part, int quoted)
{
    const struct table_column *columns = table_columns(part->table);
    size_t count = table_column_count(part->table);

    text_addf(out, "%s\n", part->title);
    for (size_t i = 0; i < count && part->has_header; i++) {
        print_header(out, &columns[i], &time_unit_ns);
        text_add_char(out, i + 1 < count ? ',' : '\n');
    }
    for (size_t row = 0; row < table_row_count(part->table); row++)
        for (size_t i = 0; i < count; i++) {
            dlprof_write_add_cell(out, &columns[i], &table_row(part->table, row)[i],
                                  quoted && !dlprof_write_is_bare(&columns[i]));
            text_add_char(out, i + 1 < count ? ',' : '\n');
        }
}

static void add_csv(struct text *out, const struct dlprof_tables *tables)
{
    for (size_t i = 0; i < tables->count; i++) {
        text_add(out, i ? "\n" : "");
        add_csv_part(out, &tables->parts[i], tables->count == 1);
    }
}

/* ---- json ------------------------------------------------------------------------------------------------------ */

void dlprof_add_json(struct text *out, const struct table *table)
{
    const struct print_request request = { .time = &time_unit_ns, .null_is_null = 1 };

    print_format_find("json")->table(out, table, &request);
}

/* A list of names and values is an object. */
static void dlprof_write_add_pairs(struct text *out, const struct table *table)
{
    const struct table_column *columns = table_columns(table);

    text_add_char(out, '{');
    for (size_t row = 0; row < table_row_count(table); row++) {
        const struct table_cell *cells = table_row(table, row);
        text_add(out, row ? ",\n  " : "\n  ");
        json_add_text(out, cells[0].text.bytes, cells[0].text.length);
        text_add(out, ": ");
        if (cells[1].kind == CELL_TEXT)
            json_add_text(out, cells[1].text.bytes, cells[1].text.length);
        else
            dlprof_write_add_cell(out, &columns[1], &cells[1], 0);
    }
    text_add(out, "\n}\n");
}

static void dlprof_write_add_json(struct text *out, const struct dlprof_tables *tables)
{
    text_add(out, "{\n");
    for (size_t i = 0; i < tables->count; i++) {
        const struct dlprof_part *part = &tables->parts[i];
        text_add(out, i ? ",\n" : "");
        json_add_text(out, part->title, strlen(part->title));
        text_add(out, ": ");
        if (part->has_header)
            dlprof_add_json(out, part->table);
        else
            dlprof_write_add_pairs(out, part->table);
    }
    text_add(out, "}\n");
}

const struct dlprof_format dlprof_formats[] = { { "csv", add_csv }, { "json", dlprof_write_add_json }, { 0 } };
