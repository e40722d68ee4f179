/* Comma- and tab-separated values, one header line, as nsys and spreadsheets have them. Commas are quoted where needed;
 * in tsv nothing is quoted, so that tabs and line ends in names become spaces, or \t and \n when asked. With guard a
 * name that a spreadsheet would take for a formula has a ' before it. */
#include <string.h>

#include "base/formula.h"
#include "base/utf8.h"
#include "display.h"
#include "print.h"

typedef void add_field_function(struct text *out, const char *bytes, size_t length,
                                const struct print_request *request);

static void print_csv_add_quoted(struct text *out, const char *bytes, size_t length,
                                 const struct print_request *request)
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

static void add_tabless(struct text *out, const char *bytes, size_t length, const struct print_request *request)
{
    for (size_t i = 0; i < length; i++) {
        const char *escape = bytes[i] == '\t' ? "\\t" : bytes[i] == '\n' ? "\\n" : bytes[i] == '\r' ? "\\r" : NULL;
        if (!escape)
            text_add_char(out, bytes[i]);
        else if (request->escape_tabs)
            text_add(out, escape);
        else
            text_add_char(out, ' ');
    }
}

static void print_csv_add_text(struct text *out, const char *bytes, size_t length, const struct print_request *request,
                               add_field_function *add_field)
{
    struct text clean = { 0 };
    int guarded = request->guard_formulas && formula_begins(bytes, length);

    if (!request->to_terminal && !guarded && utf8_valid_length(bytes, length) == length) {
        add_field(out, bytes, length, request);
        return;
    }
    if (guarded)
        text_add_char(&clean, FORMULA_GUARD);
    if (request->to_terminal)
        display_add(&clean, bytes, length, 0);
    else
        utf8_add(&clean, bytes, length);
    add_field(out, text_string(&clean), clean.length, request);
    text_free(&clean);
}

static void print_separated(struct text *out, const struct table *table, const struct print_request *request,
                            char separator, add_field_function *add_field)
{
    const struct table_column *columns = table_columns(table);
    size_t count = table_column_count(table);
    struct text header = { 0 };

    for (size_t i = 0; i < count && !request->no_header; i++) {
        text_clear(&header);
        print_header(&header, &columns[i], request->time);
        if (i)
            text_add_char(out, separator);
        print_csv_add_text(out, text_string(&header), header.length, request, add_field);
    }
    if (!request->no_header)
        text_add_char(out, '\n');
    text_free(&header);
    for (size_t r = 0; r < table_row_count(table); r++) {
        const struct table_cell *row = table_row(table, r);
        for (size_t i = 0; i < count; i++) {
            if (i)
                text_add_char(out, separator);
            if (row[i].kind == CELL_TEXT)
                print_csv_add_text(out, row[i].text.bytes, row[i].text.length, request, add_field);
            else if (row[i].kind != CELL_NONE)
                print_number(out, &columns[i], &row[i], request->time, (struct print_number_style){ .lossless = 1 });
        }
        text_add_char(out, '\n');
    }
}

static void print_commas(struct text *out, const struct table *table, const struct print_request *request)
{
    print_separated(out, table, request, ',', print_csv_add_quoted);
}

static void print_tabs(struct text *out, const struct table *table, const struct print_request *request)
{
    print_separated(out, table, request, '\t', add_tabless);
}

const struct print_format print_csv = {
    .name = "csv",
    .extension = "csv",
    .usage = "[:nohdr][:guard]",
    .help = "comma-separated values; guard: prefix names that start like a formula with '",
    .arguments = PRINT_NOHDR | PRINT_GUARD,
    .for_programs = 1,
    .table = print_commas,
};

const struct print_format print_tsv = {
    .name = "tsv",
    .extension = "tsv",
    .usage = "[:nohdr][:esc][:guard]",
    .help = "tab-separated values; esc: write a tab in a name as \\t, not as a space; guard: as csv",
    .arguments = PRINT_NOHDR | PRINT_ESC | PRINT_GUARD,
    .for_programs = 1,
    .table = print_tabs,
};
