/* HTML: a whole document (hdoc), or the table alone for a document of the user's (htable). Names are escaped, and
 * invisible characters in them are spelt out. */
#include <string.h>

#include "html_escape.h"
#include "print.h"

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
        html_escape(out, text_string(&header), header.length);
        text_add(out, "</th>");
    }
    text_add(out, "</tr>\n</thead>\n<tbody>\n");
    for (size_t r = 0; r < table_row_count(table); r++) {
        text_add(out, "<tr>");
        for (size_t i = 0; i < count; i++) {
            const struct table_cell *cell = &table_row(table, r)[i];
            text_add(out, columns[i].kind == CELL_TEXT ? "<td>" : "<td class=\"number\">");
            if (cell->kind == CELL_TEXT)
                html_escape(out, cell->text.bytes, cell->text.length);
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
    html_escape(out, title, strlen(title));
    text_add(out, "</title>\n");
    if (request->css) {
        text_add(out, "<link rel=\"stylesheet\" href=\"");
        html_escape(out, request->css, strlen(request->css));
        text_add(out, "\">\n");
    } else {
        text_add(out,
                 "<style>\nbody { font-family: sans-serif; }\ntable { border-collapse: collapse; }\n"
                 "th, td { border: 1px solid #bbb; padding: 0.2em 0.6em; text-align: left; overflow-wrap: anywhere; }\n"
                 "td.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }\n"
                 "tbody tr:nth-child(even) { background: #f4f4f4; }\n</style>\n");
    }
    text_add(out, "</head>\n<body>\n<h1>");
    html_escape(out, title, strlen(title));
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
