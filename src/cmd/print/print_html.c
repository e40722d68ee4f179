/* HTML: a whole document (hdoc), or the table alone for a document of the user's (htable). Names are escaped, and what
 * a reader could not see in them is spelt out. */
#include "display.h"
#include "print.h"

static void add_escaped(struct text *out, const char *bytes, size_t length)
{
    struct text clean = { 0 };

    display_add(&clean, bytes, length, 0);
    for (size_t i = 0; i < clean.length; i++) {
        char c = clean.bytes[i];
        const char *entity = c == '&'    ? "&amp;"
                             : c == '<'  ? "&lt;"
                             : c == '>'  ? "&gt;"
                             : c == '"'  ? "&quot;"
                             : c == '\'' ? "&#39;"
                                         : NULL;
        if (entity)
            text_add(out, entity);
        else
            text_add_char(out, c);
    }
    text_free(&clean);
}

static void add_string(struct text *out, const char *string)
{
    struct text copy = { 0 };

    text_add(&copy, string);
    add_escaped(out, text_string(&copy), copy.length);
    text_free(&copy);
}

static void print_bare(struct text *out, const struct table *table, const struct print_request *request)
{
    const struct table_column *columns = table_columns(table);
    size_t count = table_column_count(table);
    struct text header = { 0 };

    text_add(out, "<table>\n<thead>\n<tr>");
    for (size_t i = 0; i < count; i++) {
        text_clear(&header);
        print_header(&header, &columns[i], request->time);
        text_add(out, "<th>");
        add_escaped(out, text_string(&header), header.length);
        text_add(out, "</th>");
    }
    text_add(out, "</tr>\n</thead>\n<tbody>\n");
    for (size_t r = 0; r < table_row_count(table); r++) {
        text_add(out, "<tr>");
        for (size_t i = 0; i < count; i++) {
            const struct table_cell *cell = &table_row(table, r)[i];
            text_add(out, columns[i].kind == CELL_TEXT ? "<td>" : "<td class=\"number\">");
            if (cell->kind == CELL_TEXT)
                add_escaped(out, cell->text.bytes, cell->text.length);
            else if (cell->kind != CELL_NONE)
                print_number(out, &columns[i], cell, request->time,
                             (struct print_number_style){ .grouped = 1, .lossless = 1 });
            text_add(out, "</td>");
        }
        text_add(out, "</tr>\n");
    }
    text_add(out, "</tbody>\n</table>\n");
    text_free(&header);
}

static void print_document(struct text *out, const struct table *table, const struct print_request *request)
{
    const char *title = request->document_title ? request->document_title : request->title ? request->title : "Tacho";

    text_add(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>");
    add_string(out, title);
    text_add(out, "</title>\n");
    if (request->css) {
        text_add(out, "<link rel=\"stylesheet\" href=\"");
        add_string(out, request->css);
        text_add(out, "\">\n");
    } else {
        text_add(out,
                 "<style>\nbody { font-family: sans-serif; }\ntable { border-collapse: collapse; }\n"
                 "th, td { border: 1px solid #bbb; padding: 0.2em 0.6em; text-align: left; overflow-wrap: anywhere; }\n"
                 "td.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }\n"
                 "tbody tr:nth-child(even) { background: #f4f4f4; }\n</style>\n");
    }
    text_add(out, "</head>\n<body>\n<h1>");
    add_string(out, title);
    text_add(out, "</h1>\n");
    print_bare(out, table, request);
    text_add(out, "</body>\n</html>\n");
}

const struct print_format print_hdoc = {
    .name = "hdoc",
    .extension = "html",
    .usage = "[:title=<title>][:css=<URL>]",
    .help = "HTML document",
    .arguments = PRINT_TITLE | PRINT_CSS,
    .for_programs = 1,
    .table = print_document,
};

const struct print_format print_htable = {
    .name = "htable",
    .extension = "html",
    .usage = "",
    .help = "HTML table, to include in a document",
    .for_programs = 1,
    .table = print_bare,
};
