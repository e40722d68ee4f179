/* Several tables as one text that a program can read: JSON becomes one object, and tables of other formats have an
 * empty line between them. An object has no member twice: a repeated one is left out. */
#ifndef TACHO_CMD_PRINT_DOCUMENT_H
#define TACHO_CMD_PRINT_DOCUMENT_H

#include "base/intern.h"
#include "print.h"

struct print_document {
    const struct print_format *format;
    int by_file, by_table;                  /* JSON: an object with a member for each file, or for each table */
    int is_quiet;                           /* no empty lines */
    size_t files, tables;                   /* files that were begun; tables of the last one */
    struct intern members, members_of_file; /* JSON: names in the object, and in that of the last file */
};

/* Each adds the text before or after its part. A table is added between print_document_table() and
 * print_document_end_table(). The first two return 0, and add nothing, if the document has the file or table already:
 * it is then not begun. print_document_end() also frees the document. */
int print_document_file(struct text *out, struct print_document *document, const char *path);
int print_document_table(struct text *out, struct print_document *document, const char *name);
void print_document_end_table(struct text *out, const struct print_document *document);
void print_document_end_file(struct text *out, struct print_document *document);
void print_document_end(struct text *out, struct print_document *document);

#endif
