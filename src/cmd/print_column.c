/* Columns for the terminal, laid out as nsys does: centred headers, a rule, numbers to the right with commas between the
 * thousands, names to the left, no wider than the widest of the first rows and never wider than a hundred columns. */
#include <stdlib.h>
#include <string.h>

#include "display.h"
#include "print.h"

enum { WIDEST_TEXT = 100, ROWS_MEASURED = 100 };

/* A cell as it will be shown, a text cut at widest columns. */
static size_t show_cell(struct text *out, const struct table_column *column, const struct table_cell *cell,
                        const struct print_request *request, size_t widest)
{
    size_t before = out->length;

    if (cell->kind == CELL_NONE)
        return 0;
    if (cell->kind == CELL_TEXT)
        return display_add(out, cell->text.bytes, cell->text.length, widest);
    print_number(out, column, cell, request->time, (struct number_style){ .grouped = 1 });
    return out->length - before;
}

static void measure(const struct table *table, const struct print_request *request, size_t *widths)
{
    const struct table_column *columns = table_columns(table);
    size_t rows = table_row_count(table);
    struct text cell = {0};

    for (size_t i = 0; i < table_column_count(table); i++) {
        text_clear(&cell);
        print_header(&cell, &columns[i], request->time);
        widths[i] = cell.length;
        /* Names far down the table do not widen it: there may be millions. Numbers are never cut. */
        size_t measured = columns[i].kind == CELL_TEXT && rows > ROWS_MEASURED ? ROWS_MEASURED : rows;
        for (size_t r = 0; r < measured; r++) {
            text_clear(&cell);
            size_t width = show_cell(&cell, &columns[i], &table_row(table, r)[i], request, WIDEST_TEXT);
            widths[i] = width > widths[i] ? width : widths[i];
        }
    }
    text_free(&cell);
}

static void add_header(struct text *out, const struct table *table, const struct print_request *request, const size_t *widths)
{
    struct text name = {0};

    for (size_t i = 0; i < table_column_count(table); i++) {
        text_clear(&name);
        print_header(&name, &table_columns(table)[i], request->time);
        size_t padding = widths[i] - name.length;
        text_add_repeat(out, ' ', (i ? 2 : 1) + padding / 2);
        text_add(out, text_string(&name));
        text_add_repeat(out, ' ', padding - padding / 2);
    }
    text_add_char(out, '\n');
    for (size_t i = 0; i < table_column_count(table); i++) {
        text_add_repeat(out, ' ', i ? 2 : 1);
        text_add_repeat(out, '-', widths[i]);
    }
    text_add_char(out, '\n');
    text_free(&name);
}

static void print_table(struct text *out, const struct table *table, const struct print_request *request)
{
    const struct table_column *columns = table_columns(table);
    size_t count = table_column_count(table);
    size_t *widths = calloc(count + 1, sizeof *widths);
    struct text cell = {0};

    if (!widths) {
        out->failed = 1;
        return;
    }
    measure(table, request, widths);
    add_header(out, table, request, widths);
    for (size_t r = 0; r < table_row_count(table); r++) {
        for (size_t i = 0; i < count; i++) {
            text_clear(&cell);
            size_t width = show_cell(&cell, &columns[i], &table_row(table, r)[i], request, widths[i]);
            size_t padding = widths[i] - width;
            text_add_repeat(out, ' ', (i ? 2 : 1) + (columns[i].kind == CELL_TEXT ? 0 : padding));
            text_add_bytes(out, text_string(&cell), cell.length);
            text_add_repeat(out, ' ', columns[i].kind == CELL_TEXT ? padding : 0);
        }
        text_add_char(out, '\n');
    }
    text_free(&cell);
    free(widths);
}

static void print_title(struct text *out, const char *title, const char *name)
{
    text_addf(out, "\n ** %s (%s):\n\n", title, name);
}

const struct print_format print_column = {
    .name = "column", .extension = "txt", .help = "aligned columns for people", .title = print_title, .table = print_table,
};
