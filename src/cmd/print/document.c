/* See document.h. */
#include "document.h"

#include <string.h>

#include "base/json_write.h"

static int is_json(const struct print_document *document)
{
    return document->format == &print_json;
}

static void add_key(struct text *out, const char *key, int is_first)
{
    text_add(out, is_first ? "{\n" : ",\n");
    json_add_text(out, key, strlen(key));
    text_add(out, ": ");
}

void print_document_file(struct text *out, struct print_document *document, const char *path)
{
    if (is_json(document) && document->by_file)
        add_key(out, path, !document->files);
    document->files++;
    document->tables = 0;
}

void print_document_table(struct text *out, struct print_document *document, const char *name)
{
    int is_first = !document->tables++;

    if (is_json(document) && document->by_table)
        add_key(out, name, is_first);
    else if (!is_json(document) && !document->is_quiet && (!is_first || document->files > 1))
        text_add_char(out, '\n');
}

void print_document_end_table(struct text *out, const struct print_document *document)
{
    if (is_json(document) && (document->by_file || document->by_table))
        text_cut(out, out->length - 1); /* a comma may follow */
}

void print_document_end_file(struct text *out, struct print_document *document)
{
    if (!is_json(document))
        return;
    if (document->by_table)
        text_add(out, document->tables ? "\n}" : "{}");
    else if (document->by_file && !document->tables)
        text_add(out, "null");
}

void print_document_end(struct text *out, const struct print_document *document)
{
    if (!is_json(document) || !document->files)
        return;
    if (document->by_file)
        text_add(out, "\n}\n");
    else if (document->by_table)
        text_add_char(out, '\n');
}
