/* Columns for the terminal, laid out as nsys does: centred headers, a rule, numbers to the right with commas between
 * the thousands, names to the left, no wider than the widest of the first rows and never wider than a hundred columns;
 * sentences, which nsys does not have, are whole. The same in boxes is the format `table`.
 *
 * On a terminal that is too narrow names give way first; where that is not enough, a row takes several lines. */
#include <stdlib.h>
#include <string.h>

#include "column_roles.h"
#include "display.h"
#include "print.h"

enum { WIDEST_TEXT = 100, ROWS_MEASURED = 100, LEAST_TEXT = 20, INDENT = 4 };

/* The separators between the columns. */
struct frame {
    const char *before, *between, *after;
    const char *rule_before, *rule_between, *rule_after;
    int closed; /* rules above and below */
};

static const struct frame open_frame = { " ", "  ", "", " ", "  ", "", 0 };
static const struct frame box = { "| ", " | ", " |", "+-", "-+-", "-+", 1 };

struct print_column_layout {
    const struct table *table;
    const struct print_request *request;
    const struct frame *frame;
    size_t count;
    size_t *shown;  /* the columns, without those that are hidden */
    size_t *widths; /* by place in shown */
    char *breaks;   /* a new line starts with this one */
};

static int explicit_width(const struct print_request *request, size_t column)
{
    return column < request->width_count ? request->widths[column] : PRINT_AUTO_WIDTH;
}

/* A cell as it will be shown, a text cut at widest columns (0: whole). */
static size_t show_cell(struct text *out, const struct table_column *column, const struct table_cell *cell,
                        const struct print_request *request, size_t widest)
{
    size_t before = out->length;

    if (cell->kind == CELL_NONE)
        return 0;
    if (cell->kind == CELL_TEXT)
        return display_add(out, cell->text.bytes, cell->text.length, widest);
    print_number(out, column, cell, request->time,
                 (struct print_number_style){ .grouped = !request->plain_numbers, .lossless = request->plain_numbers });
    return out->length - before;
}

/* The header as it will be shown; in SQL it may be anything. */
static size_t show_header(struct text *out, const struct table_column *column, const struct print_request *request)
{
    struct text name = { 0 };

    print_header(&name, column, request->time);
    size_t width = display_add(out, text_string(&name), name.length, 0);
    text_free(&name);
    return width;
}

static size_t measure_column(const struct print_column_layout *layout, size_t column)
{
    const struct table_column *meaning = &table_columns(layout->table)[column];
    const struct print_request *request = layout->request;
    size_t rows = table_row_count(layout->table), widest = 0;
    struct text cell = { 0 };

    if (!request->no_header)
        widest = show_header(&cell, meaning, request);
    /* Names far down the table do not widen it: there may be millions. Numbers are never cut. */
    size_t measured = meaning->kind == CELL_TEXT && rows > ROWS_MEASURED ? ROWS_MEASURED : rows;
    int is_whole = request->no_limit || column_view(meaning).role == ROLE_SENTENCE;
    for (size_t r = 0; r < measured; r++) {
        text_clear(&cell);
        size_t width = show_cell(&cell, meaning, &table_row(layout->table, r)[column], request,
                                 is_whole ? 0 : WIDEST_TEXT);
        widest = width > widest ? width : widest;
    }
    text_free(&cell);
    return widest ? widest : 1;
}

static size_t line_width(const struct print_column_layout *layout, size_t from, size_t to)
{
    size_t width = strlen(layout->frame->before) + strlen(layout->frame->after) + (from ? INDENT : 0);

    for (size_t i = from; i < to; i++)
        width += layout->widths[i] + (i > from ? strlen(layout->frame->between) : 0);
    return width;
}

/* Takes from the widest name until the table fits or all names are short. */
static void shorten_names(struct print_column_layout *layout, size_t available)
{
    for (size_t width = line_width(layout, 0, layout->count); width > available;) {
        size_t widest = layout->count;
        for (size_t i = 0; i < layout->count; i++)
            if (table_columns(layout->table)[layout->shown[i]].kind == CELL_TEXT && layout->widths[i] > LEAST_TEXT &&
                explicit_width(layout->request, layout->shown[i]) == PRINT_AUTO_WIDTH &&
                (widest == layout->count || layout->widths[i] > layout->widths[widest]))
                widest = i;
        if (widest == layout->count)
            return;
        layout->widths[widest]--;
        width--;
    }
}

/* A row takes several lines anyway: names may have theirs. */
static void lengthen_names(struct print_column_layout *layout, size_t available)
{
    size_t most = available > LEAST_TEXT + 2 * INDENT ? available - 2 * INDENT : LEAST_TEXT;

    for (size_t i = 0; i < layout->count; i++)
        if (table_columns(layout->table)[layout->shown[i]].kind == CELL_TEXT &&
            explicit_width(layout->request, layout->shown[i]) == PRINT_AUTO_WIDTH) {
            size_t width = measure_column(layout, layout->shown[i]);
            layout->widths[i] = width < most ? width : most;
        }
}

static void print_column_fit(struct print_column_layout *layout)
{
    size_t available = layout->request->terminal_columns;

    if (!available || layout->request->no_limit || line_width(layout, 0, layout->count) <= available)
        return;
    shorten_names(layout, available);
    if (line_width(layout, 0, layout->count) > available)
        lengthen_names(layout, available);
    for (size_t i = 1, start = 0; i < layout->count; i++)
        if (line_width(layout, start, i + 1) > available) {
            layout->breaks[i] = 1;
            start = i;
        }
}

static int print_column_make_layout(struct print_column_layout *layout)
{
    size_t columns = table_column_count(layout->table);

    layout->shown = calloc(columns + 1, sizeof *layout->shown);
    layout->widths = calloc(columns + 1, sizeof *layout->widths);
    layout->breaks = calloc(columns + 1, 1);
    if (!layout->shown || !layout->widths || !layout->breaks)
        return 0;
    for (size_t i = 0; i < columns; i++) {
        int width = explicit_width(layout->request, i);
        if (width == 0)
            continue;
        layout->shown[layout->count] = i;
        layout->widths[layout->count++] = width == PRINT_AUTO_WIDTH ? measure_column(layout, i) : (size_t)width;
    }
    print_column_fit(layout);
    return 1;
}

static void print_column_free_layout(struct print_column_layout *layout)
{
    free(layout->shown);
    free(layout->widths);
    free(layout->breaks);
}

/* Adds the separator before the i-th shown column: a gap, or the end of a line and the start of the next. */
static void print_column_add_gap(struct text *out, const struct print_column_layout *layout, size_t i,
                                 const char *before, const char *between, const char *after)
{
    if (layout->breaks[i]) {
        text_add(out, after);
        text_add_char(out, '\n');
        text_add_repeat(out, ' ', INDENT);
    }
    text_add(out, i == 0 || layout->breaks[i] ? before : between);
}

static void print_column_add_rule(struct text *out, const struct print_column_layout *layout)
{
    const struct frame *frame = layout->frame;

    for (size_t i = 0; i < layout->count; i++) {
        print_column_add_gap(out, layout, i, frame->rule_before, frame->rule_between, frame->rule_after);
        text_add_repeat(out, '-', layout->widths[i]);
    }
    text_add(out, frame->rule_after);
    text_add_char(out, '\n');
}

/* Text in width columns; longer text is cut. */
static void print_column_add_padded(struct text *out, const struct text *cell, size_t taken, size_t width, size_t left)
{
    struct text cut = { 0 };

    if (taken > width) {
        display_add(&cut, text_string(cell), cell->length, width);
        text_add_bytes(out, text_string(&cut), cut.length);
        text_free(&cut);
        return;
    }
    text_add_repeat(out, ' ', left);
    text_add_bytes(out, text_string(cell), cell->length);
    text_add_repeat(out, ' ', width - taken - left);
}

static void print_column_add_header(struct text *out, const struct print_column_layout *layout)
{
    struct text name = { 0 };

    for (size_t i = 0; i < layout->count; i++) {
        text_clear(&name);
        size_t width = layout->widths[i],
               taken = show_header(&name, &table_columns(layout->table)[layout->shown[i]], layout->request);
        print_column_add_gap(out, layout, i, layout->frame->before, layout->frame->between, layout->frame->after);
        print_column_add_padded(out, &name, taken, width, taken < width ? (width - taken) / 2 : 0);
    }
    text_add(out, layout->frame->after);
    text_add_char(out, '\n');
    text_free(&name);
}

static void print_column_add_row(struct text *out, const struct print_column_layout *layout, size_t row,
                                 struct text *cell)
{
    for (size_t i = 0; i < layout->count; i++) {
        const struct table_column *column = &table_columns(layout->table)[layout->shown[i]];
        size_t width = layout->widths[i];
        text_clear(cell);
        size_t taken = show_cell(cell, column, &table_row(layout->table, row)[layout->shown[i]], layout->request,
                                 width);
        print_column_add_gap(out, layout, i, layout->frame->before, layout->frame->between, layout->frame->after);
        print_column_add_padded(out, cell, taken, width,
                                column->kind != CELL_TEXT && taken < width ? width - taken : 0);
    }
    text_add(out, layout->frame->after);
    text_add_char(out, '\n');
}

static void print_framed(struct text *out, const struct table *table, const struct print_request *request,
                         const struct frame *frame)
{
    struct print_column_layout layout = { .table = table, .request = request, .frame = frame };
    struct text cell = { 0 };

    if (!print_column_make_layout(&layout)) {
        out->failed = 1;
        print_column_free_layout(&layout);
        return;
    }
    if (frame->closed)
        print_column_add_rule(out, &layout);
    if (!request->no_header) {
        print_column_add_header(out, &layout);
        print_column_add_rule(out, &layout);
    }
    for (size_t r = 0; r < table_row_count(table); r++)
        print_column_add_row(out, &layout, r, &cell);
    if (frame->closed)
        print_column_add_rule(out, &layout);
    text_free(&cell);
    print_column_free_layout(&layout);
}

static void print_open(struct text *out, const struct table *table, const struct print_request *request)
{
    print_framed(out, table, request, &open_frame);
}

static void print_boxed(struct text *out, const struct table *table, const struct print_request *request)
{
    print_framed(out, table, request, &box);
}

static void print_title(struct text *out, const char *title, const char *name, const struct print_request *request)
{
    text_addf(out, "\n ** %s (%s):\n\n", title, name);
}

const struct print_format print_column = {
    .name = "column",
    .extension = "txt",
    .usage = "[:nohdr][:nolimit][:nofmt][:<width>…]",
    .help = "aligned columns; a width is a number, . (automatic), or 0 (hide the column)",
    .arguments = PRINT_NOHDR | PRINT_NOLIMIT | PRINT_NOFMT | PRINT_WIDTHS,
    .title = print_title,
    .table = print_open,
};

/* nsys does not fit its tables to a terminal. */
const struct print_format print_nsys = {
    .name = "nsys",
    .extension = "txt",
    .usage = "[:nohdr][:nolimit][:nofmt][:<width>…]",
    .help = "the layout of nsys, byte for byte: as column, but as wide as the tables are, also on a terminal",
    .arguments = PRINT_NOHDR | PRINT_NOLIMIT | PRINT_NOFMT | PRINT_WIDTHS,
    .has_any_width = 1,
    .title = print_title,
    .table = print_open,
};

const struct print_format print_table = {
    .name = "table",
    .extension = "txt",
    .usage = "[:nohdr][:nolimit][:nofmt][:<width>…]",
    .help = "as column, with a box around each cell",
    .arguments = PRINT_NOHDR | PRINT_NOLIMIT | PRINT_NOFMT | PRINT_WIDTHS,
    .title = print_title,
    .table = print_boxed,
};
