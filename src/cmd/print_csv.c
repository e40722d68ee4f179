/* Comma-separated values, one header line, quoted only where needed, as nsys and spreadsheets have them. */
#include <string.h>

#include "../base/utf8.h"
#include "display.h"
#include "print.h"

static void add_field(struct text *out, const char *bytes, size_t length)
{
    int quoted = 0;

    for (size_t i = 0; i < length && !quoted; i++)
        quoted = bytes[i] == ',' || bytes[i] == '"' || bytes[i] == '\n' || bytes[i] == '\r';
    if (!quoted) {
        text_add_bytes(out, bytes, length);
        return;
    }
    text_add_char(out, '"');
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] == '"')
            text_add_char(out, '"');
        text_add_char(out, bytes[i]);
    }
    text_add_char(out, '"');
}

static void add_text(struct text *out, const struct table_cell *cell, int to_terminal)
{
    struct text clean = {0};

    if (!to_terminal && utf8_valid_length(cell->text.bytes, cell->text.length) == cell->text.length) {
        add_field(out, cell->text.bytes, cell->text.length);
        return;
    }
    if (to_terminal)
        display_add(&clean, cell->text.bytes, cell->text.length, 0);
    else
        utf8_add(&clean, cell->text.bytes, cell->text.length);
    add_field(out, text_string(&clean), clean.length);
    text_free(&clean);
}

static void print_table(struct text *out, const struct table *table, const struct print_request *request)
{
    const struct table_column *columns = table_columns(table);
    size_t count = table_column_count(table);
    struct text header = {0};

    for (size_t i = 0; i < count; i++) {
        text_clear(&header);
        print_header(&header, &columns[i], request->time);
        if (i)
            text_add_char(out, ',');
        add_field(out, text_string(&header), header.length);
    }
    text_add_char(out, '\n');
    text_free(&header);
    for (size_t r = 0; r < table_row_count(table); r++) {
        const struct table_cell *row = table_row(table, r);
        for (size_t i = 0; i < count; i++) {
            if (i)
                text_add_char(out, ',');
            if (row[i].kind == CELL_TEXT)
                add_text(out, &row[i], request->to_terminal);
            else if (row[i].kind != CELL_NONE)
                print_number(out, &columns[i], &row[i], request->time, (struct number_style){ .lossless = 1 });
        }
        text_add_char(out, '\n');
    }
}

const struct print_format print_csv = {
    .name = "csv", .extension = "csv", .help = "comma-separated values", .table = print_table,
};
