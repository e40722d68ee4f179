/* The sources' lines of the summary: how many lines are left, which source gets them, and how a table is printed in
 * them. */
#include "source_summary.h"

#include <string.h>

#include "base/human.h"
#include "base/number.h"
#include "cmd/print/display.h"

const char *summary_bold(const struct summary_request *request)
{
    return request->colours ? "\033[1m" : "";
}

const char *summary_plain(const struct summary_request *request)
{
    return request->colours ? "\033[0m" : "";
}

void summary_add_share(struct text *out, double part, double whole)
{
    double share = whole > 0 ? 100 * part / whole : 0;

    number_add_fixed(out, share < 0 ? 0 : share > 100 ? 100 : share, 1, 0);
    text_add(out, " %");
}

int summary_is_import(const struct table_cell *place)
{
    static const char machinery[] = "importlib._bootstrap";

    return place->kind == CELL_TEXT && place->text.length &&
           memmem(place->text.bytes, place->text.length, machinery, sizeof machinery - 1) != NULL;
}

void summary_add_place(struct text *out, const struct table_cell *place, size_t columns)
{
    if (summary_is_import(place))
        text_add(out, SUMMARY_IMPORTS);
    else
        display_add(out, place->text.bytes, place->text.length, columns);
}

/* The cell's text at the right end of so many columns; the cell is empty afterwards. */
static void source_summary_add_right(struct text *out, struct text *cell, size_t columns)
{
    struct text clean = { 0 };
    size_t taken = display_add(&clean, text_string(cell), cell->length, 0);

    text_add_repeat(out, ' ', taken < columns ? columns - taken : 0);
    text_add(out, text_string(&clean));
    text_free(&clean);
    text_clear(cell);
}

/* The first rows whose share is not 0.0 % when it is rounded. */
static size_t count_worth(const struct table *table)
{
    size_t count = 0;

    while (count < table_row_count(table) && table_row(table, count)[SUMMARY_SHARE].kind == CELL_REAL &&
           table_row(table, count)[SUMMARY_SHARE].real >= SUMMARY_LEAST_SHARE)
        count++;
    return count;
}

/* The room for a name after the figures of a row. */
static size_t name_columns(const struct summary_request *request)
{
    enum { FIGURES = 41, MOST = 60, LEAST = 20 };
    size_t room = request->columns > FIGURES + LEAST ? request->columns - FIGURES : LEAST;

    return request->columns && room < MOST ? room : MOST;
}

void summary_add_top(struct text *out, const struct summary *summary, const struct table *table, const char *heading,
                     size_t rows)
{
    const struct summary_request *request = summary->request;
    size_t name = table_column_count(table) - 1, count = table_row_count(table), worth = count_worth(table);

    rows = rows < worth ? rows : worth;
    if (!rows)
        return;
    text_addf(out, "  %s%s%s", summary_bold(request), heading, summary_plain(request));
    if (count > rows)
        text_addf(out, " (%zu of %zu)", rows, count);
    text_add_char(out, '\n');
    for (size_t i = 0; i < rows; i++) {
        const struct table_cell *row = table_row(table, i);
        struct text cell = { 0 };
        summary_add_share(&cell, row[SUMMARY_SHARE].kind == CELL_REAL ? row[SUMMARY_SHARE].real : 0, 100);
        source_summary_add_right(out, &cell, 11);
        human_time(&cell, row[SUMMARY_TOTAL].integer);
        source_summary_add_right(out, &cell, 12);
        human_count(&cell, (uint64_t)row[SUMMARY_COUNT].integer);
        source_summary_add_right(out, &cell, 14);
        text_add(out, " ×  ");
        display_add(out, row[name].text.bytes, row[name].text.length, name_columns(request));
        text_add_char(out, '\n');
        text_free(&cell);
    }
}

void summary_add_names(struct text *out, const struct table *table, const char *heading)
{
    enum { NAMED = 3 };
    size_t name = table_column_count(table) - 1, count = table_row_count(table);

    text_addf(out, "  %s:", heading);
    for (size_t i = 0; i < NAMED && i < count; i++) {
        const struct table_cell *row = table_row(table, i);
        text_add(out, i ? ", " : " ");
        display_add(out, row[name].text.bytes, row[name].text.length, 30);
        text_add_char(out, ' ');
        human_time(out, row[SUMMARY_TOTAL].integer);
    }
    text_add(out, count > NAMED ? ", …\n" : "\n");
}

int summary_take_lines(struct summary *summary, size_t lines)
{
    if (summary->lines_left < lines)
        return 0;
    summary->lines_left -= lines;
    return 1;
}

uint32_t summary_take_briefs(struct summary *summary)
{
    uint32_t taken = 0;
    int has_leader = 0;

    for (size_t i = 0; i < CMD_SOURCE_COUNT; i++) {
        if (!summary->findings[i])
            continue;
        if (has_leader && cmd_sources[i]->summary->add_brief && summary_take_lines(summary, 1))
            taken |= 1u << i;
        has_leader = 1;
    }
    return taken;
}

void summary_add_briefs(struct text *out, const struct summary *summary, uint32_t taken)
{
    for (size_t i = 0; i < CMD_SOURCE_COUNT; i++)
        if (taken >> i & 1)
            cmd_sources[i]->summary->add_brief(out, summary->findings[i]);
}

/* The one line of a table. */
static void add_table_line(struct text *out, const struct summary *summary, size_t place)
{
    const struct source_summary *source = cmd_sources[place]->summary;

    if (source->add_line)
        source->add_line(out, summary->tables[place]);
    else
        summary_add_names(out, summary->tables[place], source->heading);
}

void summary_add_table_lines(struct text *out, struct summary *summary)
{
    for (size_t i = 0; i < CMD_SOURCE_COUNT; i++)
        if (summary->tables[i] && summary_take_lines(summary, 1))
            add_table_line(out, summary, i);
}

uint32_t summary_take_tables(struct summary *summary)
{
    uint32_t taken = 0;

    for (size_t i = 0; i < CMD_SOURCE_COUNT; i++)
        if (summary->tables[i] && summary_take_lines(summary, 1))
            taken |= 1u << i;
    return taken;
}

void summary_add_tables(struct text *out, struct summary *summary, uint32_t taken)
{
    for (size_t i = 0; i < CMD_SOURCE_COUNT; i++) {
        const struct source_summary *source = cmd_sources[i]->summary;
        if (summary->tables[i] && source->add_line && summary->lines_left > 1) {
            summary_add_top(out, summary, summary->tables[i], source->heading, summary->lines_left - 1);
            summary->lines_left = 0;
        }
        if (taken >> i & 1)
            add_table_line(out, summary, i);
    }
}

void summary_drop_table(struct summary *summary, const struct cmd_source *source)
{
    struct table **table = &summary->tables[cmd_source_index(source)];

    table_delete(*table);
    *table = NULL;
}
