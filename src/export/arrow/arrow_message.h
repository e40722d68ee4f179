/* The messages of an Arrow IPC stream: a schema, record batches, and the mark at the end.
 *
 * The format is that of Apache Arrow's "IPC streaming format", metadata version 5: each message has a mark, the length
 * of its metadata (a FlatBuffer), the metadata, and a body with the buffers of the columns. */
#ifndef TACHO_EXPORT_ARROW_ARROW_MESSAGE_H
#define TACHO_EXPORT_ARROW_ARROW_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

enum arrow_type { ARROW_INT64, ARROW_DOUBLE, ARROW_TEXT, ARROW_BYTES };

/* A column, and its values in the current batch. */
struct arrow_column {
    const char *name;
    const char *note;     /* "field_desc" of the column's metadata; NULL: none */
    enum arrow_type type;
    int64_t *values;      /* numbers, reals as their bits; for texts and bytes, where each ends in `bytes` */
    struct text bytes;    /* all texts of the batch */
    unsigned char *valid; /* a bit for each row; 0: NULL */
    size_t null_count;
};

struct arrow_table {
    const char *name;
    const char *note; /* "table_desc" of the schema's metadata; NULL: none */
    struct arrow_column *columns;
    size_t column_count;
    size_t rows;      /* rows of the current batch */
};

void arrow_add_schema(struct text *out, const struct arrow_table *table);
void arrow_add_batch(struct text *out, const struct arrow_table *table);
void arrow_add_end(struct text *out);

#endif
