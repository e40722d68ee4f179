/* Tables for people: the name first, numbers with units, a bar beside the share, and nothing wider than the terminal.
 *
 * Where it is too narrow, names are shortened and columns dropped: first those that are the same in all rows, then by
 * their rank (column_roles.def), and last those that alone tell two rows apart. No row takes a second line, but for
 * sentences, which stand wrapped below their row. */
#include "print_human.h"

#include <stdlib.h>
#include <string.h>

#include "column_roles.h"
#include "display.h"
#include "human_cell.h"
#include "short_name.h"

enum {
    ASSUMED_COLUMNS = 120,
    INDENT = 2,
    GAP = 2,
    BAR = 8,
    ROWS_MEASURED = 1000,
    ROWS_COMPARED = 50,
    MOST_CUTS = 4,
};

/* How far texts shrink (the first one, and others) before columns of a rank are dropped. */
static const struct {
    size_t lead, text;
    int rank;
} stages[] = { { 32, 24, 3 }, { 24, 16, 1 }, { 20, 10, 0 } };

/* A column, or the bar beside one. */
struct slot {
    const struct table_column *meaning;
    struct column_view view;
    size_t column;               /* in the table */
    int is_bar, is_text, is_dropped;
    int is_equal;                /* in all rows */
    size_t natural, width;       /* in columns of the terminal */
    struct short_name_cut *cuts; /* owned; by row, for names that would look equal; NULL: all fit */
};

struct print_human_layout {
    const struct table *table;
    const struct print_request *request;
    struct slot *slots; /* owned; the lead is first */
    size_t count, available;
    double largest;     /* share, which has a whole bar */
};

/* ---- cells ----------------------------------------------------------------------------------------------------- */

/* The text of a cell: the base name of a file. */
static struct table_cell seen_cell(const struct print_human_layout *layout, const struct slot *slot, size_t row)
{
    struct table_cell cell = table_row(layout->table, row)[slot->column];

    if (cell.kind != CELL_TEXT || slot->view.role != ROLE_PATH)
        return cell;
    const char *slash = cell.text.length ? memrchr(cell.text.bytes, '/', cell.text.length) : NULL;
    if (slash && slash + 1 < cell.text.bytes + cell.text.length) {
        cell.text.length -= (size_t)(slash + 1 - cell.text.bytes);
        cell.text.bytes = slash + 1;
    }
    return cell;
}

/* Adds a cell in at most `widest` columns (0: whole) and returns those that it takes. */
static size_t print_human_add_cell(struct text *out, const struct print_human_layout *layout, const struct slot *slot,
                                   size_t row, size_t widest)
{
    struct table_cell cell = seen_cell(layout, slot, row);

    if (cell.kind == CELL_NONE)
        return 0;
    if (slot->is_bar) {
        human_bar_add(out, layout->largest > 0 ? cell.real / layout->largest : 0, BAR);
        return BAR;
    }
    if (cell.kind != CELL_TEXT) {
        int has_plus = slot->view.role == ROLE_SIGNED && (cell.kind == CELL_INT ? cell.integer > 0 : cell.real > 0);
        text_add(out, has_plus ? "+" : "");
        return (size_t)has_plus + human_cell_add(out, slot->meaning, &cell, layout->request->time);
    }
    const struct short_name_cut *cut = slot->cuts && row < ROWS_MEASURED ? &slot->cuts[row] : NULL;
    return cut && cut->is_cut ? short_name_add_cut(out, cell.text.bytes, cell.text.length, widest, cut)
                              : short_name_add(out, cell.text.bytes, cell.text.length, widest);
}

/* Whether another column has this heading, or (by_name) this name. */
static int is_taken(const struct print_human_layout *layout, const struct slot *slot, const char *heading, int by_name)
{
    const struct table_column *columns = table_columns(layout->table);

    for (size_t c = 0; c < table_column_count(layout->table); c++)
        if (c != slot->column && strcmp(by_name ? columns[c].name : column_view(&columns[c]).heading, heading) == 0)
            return 1;
    return 0;
}

/* Headings differ: "Total" and "Total Time", "Running (%)" and "Running". */
static void add_own_heading(struct text *out, const struct print_human_layout *layout, const struct slot *slot)
{
    const char *name = slot->meaning->name;
    int is_same = is_taken(layout, slot, slot->view.heading, 0);

    text_add(out, is_same ? name : slot->view.heading);
    if (is_same && slot->meaning->unit == UNIT_PERCENT && is_taken(layout, slot, name, 1))
        text_add(out, " (%)");
}

/* The heading, with the unit of times if they all have the same. */
static size_t print_human_add_heading(struct text *out, const struct print_human_layout *layout,
                                      const struct slot *slot)
{
    const struct print_time_unit *time = layout->request->time;
    struct text heading = { 0 };

    if (!slot->is_bar)
        add_own_heading(&heading, layout, slot);
    if (!slot->is_bar && unit_is_ns(slot->meaning->unit) && time != &time_unit_auto)
        text_addf(&heading, " (%s)", time->suffix);
    size_t taken = display_add(out, text_string(&heading), heading.length, 0);
    text_free(&heading);
    return taken;
}

/* ---- layout ---------------------------------------------------------------------------------------------------- */

static int has_content(const struct table *table, size_t column)
{
    for (size_t r = 0; r < table_row_count(table); r++) {
        const struct table_cell *cell = &table_row(table, r)[column];
        if (cell->kind != CELL_NONE && (cell->kind != CELL_TEXT || cell->text.length))
            return 1;
    }
    return table_row_count(table) == 0;
}

static int is_same_cell(const struct table_cell *a, const struct table_cell *b)
{
    if (a->kind != b->kind)
        return 0;
    return a->kind == CELL_TEXT  ? cell_compare_text(a, b) == 0
           : a->kind == CELL_INT ? a->integer == b->integer
                                 : a->kind == CELL_NONE || !(a->real < b->real || a->real > b->real);
}

static int is_equal_in_all_rows(const struct table *table, size_t column)
{
    size_t rows = table_row_count(table);

    for (size_t r = 1; r < rows; r++)
        if (!is_same_cell(&table_row(table, 0)[column], &table_row(table, r)[column]))
            return 0;
    return rows > 1;
}

static void print_human_measure(struct print_human_layout *layout, struct slot *slot)
{
    size_t rows = table_row_count(layout->table);
    struct text cell = { 0 };

    if (!layout->request->no_header)
        slot->natural = print_human_add_heading(&cell, layout, slot);
    for (size_t r = 0; r < rows && (!slot->is_text || r < ROWS_MEASURED); r++) {
        text_clear(&cell);
        size_t taken = print_human_add_cell(&cell, layout, slot, r, 0);
        slot->natural = taken > slot->natural ? taken : slot->natural;
    }
    text_free(&cell);
}

static void add_slot(struct print_human_layout *layout, size_t column, int is_bar)
{
    const struct table_column *meaning = &table_columns(layout->table)[column];
    struct slot *slot = &layout->slots[layout->count];

    *slot = (struct slot){ .meaning = meaning,
                           .view = column_view(meaning),
                           .column = column,
                           .is_bar = is_bar,
                           .is_text = meaning->kind == CELL_TEXT };
    if (slot->view.role == ROLE_SENTENCE || !has_content(layout->table, column))
        return;
    if (is_bar)
        slot->view.rank = RANK_OF_BAR;
    slot->is_equal = is_equal_in_all_rows(layout->table, column);
    print_human_measure(layout, slot);
    layout->count++;
}

/* The bar stands beside the first share, if there are rows to compare. */
static int wants_bar(struct print_human_layout *layout, size_t column)
{
    size_t rows = table_row_count(layout->table);

    if (layout->largest > 0 || rows < 2 || column_view(&table_columns(layout->table)[column]).role != ROLE_SHARE)
        return 0;
    for (size_t r = 0; r < rows; r++) {
        const struct table_cell *cell = &table_row(layout->table, r)[column];
        if (cell->kind == CELL_REAL && cell->real > layout->largest)
            layout->largest = cell->real;
    }
    return layout->largest > 0;
}

static size_t total_width(const struct print_human_layout *layout)
{
    size_t width = INDENT, shown = 0;

    for (size_t i = 0; i < layout->count; i++)
        if (!layout->slots[i].is_dropped)
            width += layout->slots[i].width + (shown++ ? GAP : 0);
    return width;
}

/* Gives each text at most these widths, and each number what it needs. */
static void print_human_set_widths(struct print_human_layout *layout, size_t lead, size_t text)
{
    for (size_t i = 0; i < layout->count; i++) {
        struct slot *slot = &layout->slots[i];
        size_t most = !slot->is_text ? SIZE_MAX : i == 0 ? lead : text;
        slot->width = slot->natural < most ? slot->natural : most;
    }
}

/* Whether a column says which thread, place or moment a row is about. */
static int is_identity(const struct slot *slot)
{
    return slot->is_text || slot->meaning->unit == UNIT_ID || slot->meaning->unit == UNIT_TIME;
}

/* Whether two rows differ in this column and in no other one of those that say what they are about. */
static int differ_here_alone(const struct print_human_layout *layout, const struct slot *here, size_t row, size_t other)
{
    const struct table_cell *a = table_row(layout->table, row), *b = table_row(layout->table, other);

    if (is_same_cell(&a[here->column], &b[here->column]))
        return 0;
    for (size_t i = 0; i < layout->count; i++) {
        const struct slot *slot = &layout->slots[i];
        if (slot != here && !slot->is_dropped && is_identity(slot) && !is_same_cell(&a[slot->column], &b[slot->column]))
            return 0;
    }
    return 1;
}

static int tells_rows_apart(const struct print_human_layout *layout, const struct slot *slot)
{
    size_t rows = table_row_count(layout->table);

    if (!is_identity(slot) || slot->is_equal)
        return 0;
    for (size_t r = 1; r < rows && r < ROWS_COMPARED; r++)
        for (size_t q = 0; q < r; q++)
            if (differ_here_alone(layout, slot, r, q))
                return 1;
    return 0;
}

/* The rank of a column in this table. */
static int rank_here(const struct print_human_layout *layout, const struct slot *slot)
{
    if (slot->view.rank == 0 || tells_rows_apart(layout, slot))
        return 0;
    return slot->is_equal ? RANK_OF_EQUAL : slot->view.rank;
}

/* Drops columns of a rank of at least `least`, the highest and rightmost first, until the rest fits. */
static void drop_columns(struct print_human_layout *layout, int least)
{
    while (total_width(layout) > layout->available) {
        struct slot *worst = NULL;
        int highest = least;
        for (size_t i = 1; i < layout->count; i++) {
            struct slot *slot = &layout->slots[i];
            int rank = slot->is_dropped ? -1 : rank_here(layout, slot);
            if (rank >= highest) {
                worst = slot;
                highest = rank;
            }
        }
        if (!worst)
            return;
        worst->is_dropped = 1;
    }
}

/* The text that lacks the fewest columns; NULL if all are whole. */
static struct slot *nearly_whole(const struct print_human_layout *layout)
{
    struct slot *found = NULL;

    for (size_t i = 0; i < layout->count; i++) {
        struct slot *slot = &layout->slots[i];
        size_t lacks = slot->natural - slot->width;
        if (slot->is_text && !slot->is_dropped && lacks && (!found || lacks < found->natural - found->width))
            found = slot;
    }
    return found;
}

static void print_human_fit(struct print_human_layout *layout)
{
    size_t comfort = layout->available * 2 / 5; /* width of the first text on a wide terminal */
    struct slot *slot;

    for (size_t i = 0; i < COUNT_OF(stages); i++) {
        print_human_set_widths(layout, i == 0 && comfort > stages[i].lead ? comfort : stages[i].lead, stages[i].text);
        drop_columns(layout, stages[i].rank);
        if (total_width(layout) <= layout->available)
            break;
    }
    if (total_width(layout) > layout->available)
        layout->slots[0].width = layout->available > INDENT ? layout->available - INDENT : 1;
    while (total_width(layout) < layout->available && (slot = nearly_whole(layout))) {
        size_t left = layout->available - total_width(layout), lacks = slot->natural - slot->width;
        slot->width += lacks < left ? lacks : left;
    }
}

static int is_same_text(const struct table_cell *a, const struct table_cell *b)
{
    return a->kind != CELL_TEXT || b->kind != CELL_TEXT ||
           (a->text.length == b->text.length &&
            (a->text.length == 0 || memcmp(a->text.bytes, b->text.bytes, a->text.length) == 0));
}

/* Cuts those rows where they differ that look equal and are not. Returns whether there are any. */
static int print_human_tell_apart(const struct print_human_layout *layout, struct slot *slot, const struct text *shown,
                                  size_t rows)
{
    int found = 0;

    for (size_t r = 0; r < rows; r++)
        for (size_t q = 0; q < r; q++) {
            struct table_cell a = seen_cell(layout, slot, r), b = seen_cell(layout, slot, q);
            struct short_name_cut cut;
            if (is_same_text(&a, &b) || strcmp(text_string(&shown[r]), text_string(&shown[q])) != 0 ||
                !short_name_differ(&a, &b, &cut))
                continue;
            slot->cuts[r] = slot->cuts[q] = cut;
            found = 1;
            break;
        }
    return found;
}

/* Chooses how the names of a column that is too narrow for them are cut. Returns 0 if memory is short. */
static int choose_cuts(const struct print_human_layout *layout, struct slot *slot)
{
    size_t rows = table_row_count(layout->table);
    struct text *shown;

    if (!slot->is_text || slot->is_dropped || slot->width >= slot->natural || !rows)
        return 1;
    rows = rows < ROWS_MEASURED ? rows : ROWS_MEASURED;
    slot->cuts = calloc(rows, sizeof *slot->cuts);
    shown = calloc(rows, sizeof *shown);
    int found = slot->cuts && shown;
    for (int i = 0; i < MOST_CUTS && found; i++) { /* two of three names may differ further on */
        for (size_t r = 0; r < rows; r++) {
            text_clear(&shown[r]);
            print_human_add_cell(&shown[r], layout, slot, r, slot->width);
        }
        found = print_human_tell_apart(layout, slot, shown, rows);
    }
    for (size_t r = 0; shown && r < rows; r++)
        text_free(&shown[r]);
    int worked = slot->cuts && shown;
    free(shown);
    return worked;
}

static void print_human_free_layout(struct print_human_layout *layout)
{
    for (size_t i = 0; i < layout->count; i++)
        free(layout->slots[i].cuts);
    free(layout->slots);
}

/* Returns 0 if memory is short. */
static int print_human_make_layout(struct print_human_layout *layout)
{
    size_t columns = table_column_count(layout->table), lead = column_lead(layout->table);

    layout->slots = calloc(2 * columns + 1, sizeof *layout->slots);
    if (!layout->slots)
        return 0;
    if (columns)
        add_slot(layout, lead, 0);
    for (size_t c = 0; c < columns; c++) {
        if (c == lead)
            continue;
        add_slot(layout, c, 0);
        if (wants_bar(layout, c))
            add_slot(layout, c, 1);
    }
    if (layout->count)
        print_human_fit(layout);
    for (size_t i = 0; i < layout->count; i++)
        if (!choose_cuts(layout, &layout->slots[i]))
            return 0;
    return 1;
}

/* ---- lines ----------------------------------------------------------------------------------------------------- */

static void add_colour(struct text *out, const struct print_request *request, const char *code)
{
    if (request->colour)
        text_addf(out, "\033[%sm", code);
}

static void print_human_end_line(struct text *out)
{
    while (out->length && out->bytes[out->length - 1] == ' ')
        text_cut(out, out->length - 1);
    text_add_char(out, '\n');
}

/* One line: the header (row SIZE_MAX) or a row. */
static void print_human_add_line(struct text *out, const struct print_human_layout *layout, size_t row,
                                 struct text *cell)
{
    size_t shown = 0;

    text_add_repeat(out, ' ', INDENT);
    for (size_t i = 0; i < layout->count; i++) {
        const struct slot *slot = &layout->slots[i];
        if (slot->is_dropped)
            continue;
        text_clear(cell);
        size_t taken = row == SIZE_MAX ? print_human_add_heading(cell, layout, slot)
                                       : print_human_add_cell(cell, layout, slot, row, slot->width);
        size_t padding = taken < slot->width ? slot->width - taken : 0;
        text_add_repeat(out, ' ', (shown++ ? GAP : 0) + (slot->is_text || slot->is_bar ? 0 : padding));
        if (taken > slot->width)
            display_add(out, text_string(cell), cell->length, slot->width);
        else
            text_add_bytes(out, text_string(cell), cell->length);
        text_add_repeat(out, ' ', slot->is_text || slot->is_bar ? padding : 0);
    }
    print_human_end_line(out);
}

static void add_sentences(struct text *out, const struct print_human_layout *layout, size_t row)
{
    for (size_t c = 0; c < table_column_count(layout->table); c++) {
        const struct table_cell *cell = &table_row(layout->table, row)[c];
        struct text words = { 0 }, clean = { 0 };
        if (column_view(&table_columns(layout->table)[c]).role != ROLE_SENTENCE || cell->kind != CELL_TEXT ||
            !cell->text.length)
            continue;
        short_name_drop_versions(&words, cell->text.bytes, cell->text.length);
        display_add(&clean, text_string(&words), words.length, 0);
        text_add_repeat(out, ' ', 2 * INDENT);
        display_add_wrapped(out, text_string(&clean), 2 * INDENT, 2 * INDENT, layout->available);
        text_free(&words);
        text_free(&clean);
    }
}

static void print_human_table_rows(struct text *out, const struct table *table, const struct print_request *request)
{
    struct print_human_layout layout = { .table = table,
                                         .request = request,
                                         .available = print_human_columns(request) };
    struct text cell = { 0 };

    if (!print_human_make_layout(&layout)) {
        out->failed = 1;
        print_human_free_layout(&layout);
        return;
    }
    if (!request->no_header) {
        add_colour(out, request, "2");
        print_human_add_line(out, &layout, SIZE_MAX, &cell);
        add_colour(out, request, "0");
    }
    for (size_t r = 0; r < table_row_count(table); r++) {
        print_human_add_line(out, &layout, r, &cell);
        add_sentences(out, &layout, r);
    }
    text_free(&cell);
    print_human_free_layout(&layout);
}

/* ---- for commands ---------------------------------------------------------------------------------------------- */

size_t print_human_columns(const struct print_request *request)
{
    return request->terminal_columns ? request->terminal_columns : ASSUMED_COLUMNS;
}

static int is_negligible(const struct table *table, size_t row)
{
    int shares = 0;

    for (size_t c = 0; c < table_column_count(table); c++) {
        const struct table_cell *cell = &table_row(table, row)[c];
        if (column_view(&table_columns(table)[c]).role != ROLE_SHARE || cell->kind != CELL_REAL)
            continue;
        if (!(cell->real < 0.05))
            return 0;
        shares++;
    }
    return shares > 0;
}

size_t print_human_rows(const struct table *table)
{
    size_t rows = table_row_count(table), kept = rows;

    while (kept > 0 && is_negligible(table, kept - 1))
        kept--;
    return kept ? kept : rows;
}

/* In bold, if the terminal has it. */
static void print_title(struct text *out, const char *title, const char *name, const struct print_request *request)
{
    struct text heading = { 0 };

    text_addf(&heading, "%s (%s)", title, name);
    add_colour(out, request, "1");
    display_add(out, text_string(&heading), heading.length, print_human_columns(request));
    add_colour(out, request, "0");
    text_add_char(out, '\n');
    text_free(&heading);
}

const struct print_format print_human = {
    .name = "human",
    .extension = "txt",
    .usage = "[:nohdr]",
    .help = "for people: names first, units that suit each number, as wide as the terminal (else COLUMNS, or 120); the "
            "default on a terminal, and of analyze everywhere",
    .arguments = PRINT_NOHDR,
    .has_auto_unit = 1,
    .title = print_title,
    .table = print_human_table_rows,
};
