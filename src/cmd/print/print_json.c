/* JSON: an array with an object for each row, named by the column headers. Always valid: names are made UTF-8 and
 * escaped, numbers that JSON has no word for are null. On a terminal everything but ASCII is escaped as well. */
#include <math.h>

#include "base/utf8.h"
#include "print.h"

static void print_json_add_escaped(struct text *out, uint32_t code)
{
    if (code > 0xffff) {
        text_addf(out, "\\u%04x\\u%04x", 0xd800 + ((code - 0x10000) >> 10), 0xdc00 + ((code - 0x10000) & 0x3ff));
        return;
    }
    text_addf(out, "\\u%04x", code);
}

static void print_json_add_string(struct text *out, const char *bytes, size_t length, int only_ascii)
{
    text_add_char(out, '"');
    for (size_t at = 0; at < length;) {
        uint32_t code;
        size_t used = utf8_decode(bytes + at, length - at, &code);
        if (!used)
            print_json_add_escaped(out, 0xfffd);
        else if (code == '"' || code == '\\')
            text_addf(out, "\\%c", (char)code);
        else if (code < 0x20 || code == 0x7f || (only_ascii && code > 0x7f))
            print_json_add_escaped(out, code);
        else
            text_add_bytes(out, bytes + at, used);
        at += used ? used : 1;
    }
    text_add_char(out, '"');
}

static void print_json_add_value(struct text *out, const struct table_column *column, const struct table_cell *cell,
                                 const struct print_request *request)
{
    if (cell->kind == CELL_TEXT)
        print_json_add_string(out, cell->text.bytes, cell->text.length, request->to_terminal);
    else if (cell->kind == CELL_NONE)
        text_add(out, request->null_is_null ? "null" : "\"\"");
    else if (cell->kind == CELL_REAL && !isfinite(cell->real))
        text_add(out, "null");
    else
        print_number(out, column, cell, request->time, (struct print_number_style){ .lossless = 1 });
}

static void print_json_rows(struct text *out, const struct table *table, const struct print_request *request)
{
    const struct table_column *columns = table_columns(table);
    struct text header = { 0 };

    text_add_char(out, '[');
    for (size_t r = 0; r < table_row_count(table); r++) {
        text_add(out, r ? ",\n  {" : "\n  {");
        for (size_t i = 0; i < table_column_count(table); i++) {
            text_clear(&header);
            print_header(&header, &columns[i], request->time);
            text_add(out, i ? ", " : "");
            print_json_add_string(out, text_string(&header), header.length, request->to_terminal);
            text_add(out, ": ");
            print_json_add_value(out, &columns[i], &table_row(table, r)[i], request);
        }
        text_add_char(out, '}');
    }
    text_add(out, table_row_count(table) ? "\n]\n" : "]\n");
    text_free(&header);
}

const struct print_format print_json = {
    .name = "json",
    .extension = "json",
    .usage = "",
    .help = "JSON array with an object for each row",
    .for_programs = 1,
    .table = print_json_rows,
};
