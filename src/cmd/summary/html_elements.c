/* Numbers, tables and bars of the page. */
#include <math.h>
#include <string.h>

#include "base/human.h"
#include "base/saturating.h"
#include "cmd/command.h"
#include "cmd/print/display.h"
#include "cmd/print/html_escape.h"
#include "cmd/print/human_cell.h"
#include "cmd/print/short_name.h"
#include "html_page.h"

enum { NAME_COLUMNS = 88 };

void html_add_string(struct text *out, const char *string)
{
    html_escape(out, string, strlen(string));
}

/* ---- numbers --------------------------------------------------------------------------------------------------- */

void html_add_number(struct text *out, const struct table_column *column, const struct table_cell *cell)
{
    text_add(out, "<data value=\"");
    print_number(out, column, cell, &time_unit_ns, (struct print_number_style){ .lossless = 1 });
    text_add(out, "\">");
    human_cell_add(out, column, cell, &time_unit_auto);
    text_add(out, "</data>");
}

void html_add_time(struct text *out, int64_t ns)
{
    text_addf(out, "<data value=\"%lld\">", (long long)ns);
    human_time(out, ns);
    text_add(out, "</data>");
}

void html_add_percent(struct text *out, double percent, int decimals)
{
    text_addf(out, "<data value=\"%.6g\">%.*f %%</data>", percent, decimals, percent);
}

/* ---- tables ---------------------------------------------------------------------------------------------------- */

/* A name in few columns; the whole of it where a mouse points. */
static void html_elements_add_name(struct text *out, const struct table_cell *cell)
{
    struct text name = { 0 };

    short_name_add(&name, cell->text.bytes, cell->text.length, NAME_COLUMNS);
    if (name.length == cell->text.length && memcmp(text_string(&name), cell->text.bytes, name.length) == 0) {
        html_escape(out, text_string(&name), name.length);
    } else {
        text_add(out, "<span title=\"");
        html_escape(out, cell->text.bytes, cell->text.length);
        text_add(out, "\">");
        html_escape(out, text_string(&name), name.length);
        text_add(out, "</span>");
    }
    text_free(&name);
}

static int html_elements_is_wanted(const struct table *table, size_t row, const struct html_table *shape)
{
    return !shape->only || strcmp(table_text_at(table, row, shape->only), shape->is) == 0;
}

/* Texts that are longer are broken into lines. */
enum { MOST_COLUMNS = 16, WORD_COLUMNS = 24 };

struct shown_column {
    const struct table_column *column;
    size_t at;
    const char *class; /* class of its cells */
};

/* Whether a row that is shown fills the column; and the class of its cells. */
static int html_elements_look_at(struct shown_column *shown, const struct table *table, const struct html_table *shape)
{
    int is_filled = 0;

    shown->class = shown->column->kind == CELL_TEXT ? "word" : "number";
    for (size_t row = 0, seen = 0; row < table_row_count(table) && seen < HTML_ROWS; row++) {
        const struct table_cell *cell = &table_row(table, row)[shown->at];
        if (!html_elements_is_wanted(table, row, shape))
            continue;
        seen++;
        is_filled |= cell->kind != CELL_NONE && (cell->kind != CELL_TEXT || cell->text.length);
        if (cell->kind == CELL_TEXT && (cell->text.length > WORD_COLUMNS || shown->column->unit == UNIT_NAME))
            shown->class = "name";
    }
    return is_filled;
}

/* The columns that the table has and a row fills; returns their number. */
static size_t html_elements_find_columns(struct shown_column out[MOST_COLUMNS], const struct table *table,
                                         const struct html_table *shape)
{
    size_t count = 0;

    for (const char *const *name = shape->columns; *name && count < MOST_COLUMNS; name++) {
        size_t at = table_find_column(table, *name);
        if (at == TABLE_NO_COLUMN)
            continue;
        out[count] = (struct shown_column){ .column = &table_columns(table)[at], .at = at };
        count += html_elements_look_at(&out[count], table, shape) != 0;
    }
    return count;
}

static void html_elements_add_heading(struct text *out, const struct shown_column *shown)
{
    int is_share = shown->column->unit == UNIT_PERCENT && strcmp(shown->column->name, "Time") == 0;

    text_addf(out, "<th scope=\"col\" class=\"%s\">", shown->class);
    html_add_string(out, is_share ? "Share" : shown->column->name);
    text_add(out, "</th>");
}

static void html_elements_add_cell(struct text *out, const struct shown_column *shown, const struct table_cell *cell)
{
    const struct table_column *column = shown->column;
    double share = cell->kind == CELL_REAL && column->unit == UNIT_PERCENT ? fmin(fmax(cell->real, 0), 100) : 0;

    if (share > 0)
        text_addf(out, "<td class=\"share\" style=\"--share:%.1f%%\">", share);
    else
        text_addf(out, "<td class=\"%s\">", shown->class);
    if (cell->kind == CELL_TEXT)
        html_elements_add_name(out, cell);
    else if (cell->kind != CELL_NONE)
        html_add_number(out, column, cell);
    text_add(out, "</td>");
}

void html_add_table(struct text *out, const struct table *table, const struct html_table *shape)
{
    struct shown_column columns[MOST_COLUMNS];
    size_t count = html_elements_find_columns(columns, table, shape), all = 0;

    if (!count)
        return;
    text_add(out, "<table><caption>");
    html_add_string(out, shape->title);
    text_add(out, "</caption><thead><tr>");
    for (size_t i = 0; i < count; i++)
        html_elements_add_heading(out, &columns[i]);
    text_add(out, "</tr></thead><tbody>\n");
    for (size_t row = 0; row < table_row_count(table); row++) {
        if (!html_elements_is_wanted(table, row, shape) || ++all > HTML_ROWS)
            continue;
        text_add(out, "<tr>");
        for (size_t i = 0; i < count; i++)
            html_elements_add_cell(out, &columns[i], &table_row(table, row)[columns[i].at]);
        text_add(out, "</tr>\n");
    }
    text_add(out, "</tbody></table>\n");
    if (all > HTML_ROWS) {
        text_add(out, "<p class=\"more\">… ");
        human_count(out, all - HTML_ROWS);
        text_add(out, " more</p>\n");
    }
}

/* ---- bars ------------------------------------------------------------------------------------------------------ */

void html_add_parts(struct text *out, const char *title, const struct html_part *parts, size_t count)
{
    enum { WIDTH = 1000, HEIGHT = 36 };
    static const char idle[] = "Idle: ";
    double whole = 0, at = 0;

    for (size_t i = 0; i < count; i++)
        whole += fmax(parts[i].ns, 0);
    if (whole <= 0)
        return;
    text_addf(out, "<svg class=\"bar\" viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" role=\"img\">\n<title>",
              WIDTH, HEIGHT);
    html_add_string(out, title);
    text_add(out, "</title>\n");
    for (size_t i = 0; i < count; i++) {
        double width = WIDTH * fmax(parts[i].ns, 0) / whole;
        if (width > 0)
            text_addf(out,
                      "<rect class=\"%s\" x=\"%.2f\" y=\"0\" width=\"%.2f\" height=\"%d\"><title>%s%s %.1f "
                      "%%</title></rect>\n",
                      parts[i].class, at, width, HEIGHT, parts[i].is_idle ? idle : "", parts[i].name,
                      100 * fmax(parts[i].ns, 0) / whole);
        at += width;
    }
    text_add(out, "</svg>\n<table class=\"legend\"><tbody>\n");
    for (size_t i = 0; i < count; i++) {
        if (parts[i].ns <= 0)
            continue;
        text_addf(out, "<tr><th scope=\"row\"><span class=\"key %s\"></span>%s%s</th><td>", parts[i].class,
                  parts[i].is_idle ? idle : "", parts[i].name);
        html_add_time(out, saturating_from_double(parts[i].ns + 0.5));
        text_add(out, "</td><td>");
        html_add_percent(out, 100 * parts[i].ns / whole, 1);
        text_add(out, "</td></tr>\n");
    }
    text_add(out, "</tbody></table>\n");
}

void html_add_command(struct text *out, const struct html_page *page, const char *words)
{
    struct text file = { 0 };

    display_add_file(&file, page->path);
    text_add(out, "<p class=\"command\"><code>tacho ");
    html_add_string(out, words);
    text_add_char(out, ' ');
    html_escape(out, text_string(&file), file.length);
    text_add(out, "</code></p>\n");
    text_free(&file);
}
