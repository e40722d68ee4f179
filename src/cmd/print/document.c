/* See document.h. */
#include "document.h"

#include <string.h>

#include "base/json_write.h"

static int document_is_json(const struct print_document *document)
{
    return document->format == &print_json;
}

static void document_add_key(struct text *out, const char *key, int is_first)
{
    text_add(out, is_first ? "{\n" : ",\n");
    json_add_text(out, key, strlen(key));
    text_add(out, ": ");
}

/* Adds the key of the next member, unless the object has it. */
static int document_add_member(struct text *out, struct intern *members, const char *key)
{
    size_t count = members->count;

    if (intern_add(members, key, strlen(key)) < 0)
        out->failed = 1;
    else if (members->count == count)
        return 0;
    document_add_key(out, key, !count);
    return 1;
}

int print_document_file(struct text *out, struct print_document *document, const char *path)
{
    if (document_is_json(document) && document->by_file && !document_add_member(out, &document->members, path))
        return 0;
    document->files++;
    document->tables = 0;
    intern_free(&document->members_of_file);
    return 1;
}

int print_document_table(struct text *out, struct print_document *document, const char *name)
{
    if (document_is_json(document) && document->by_table && !document_add_member(out, &document->members_of_file, name))
        return 0;
    int is_first = !document->tables++;
    if (!document_is_json(document) && !document->is_quiet && (!is_first || document->files > 1))
        text_add_char(out, '\n');
    return 1;
}

void print_document_end_table(struct text *out, const struct print_document *document)
{
    if (document_is_json(document) && (document->by_file || document->by_table))
        text_cut(out, out->length - 1); /* a comma may follow */
}

void print_document_end_file(struct text *out, struct print_document *document)
{
    if (!document_is_json(document))
        return;
    if (document->by_table)
        text_add(out, document->tables ? "\n}" : "{}");
    else if (document->by_file && !document->tables)
        text_add(out, "null");
}

void print_document_end(struct text *out, struct print_document *document)
{
    int has_content = document_is_json(document) && document->files;

    if (has_content && document->by_file)
        text_add(out, "\n}\n");
    else if (has_content && document->by_table)
        text_add_char(out, '\n');
    intern_free(&document->members);
    intern_free(&document->members_of_file);
}
