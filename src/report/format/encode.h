/* Encodes columns of numbers as the payload of a chunk. The encoder selects the coding of each column from its data;
 * see docs/format.md. One encoder per thread: it keeps scratch memory and a zstd context between chunks. */
#ifndef TACHO_REPORT_FORMAT_ENCODE_H
#define TACHO_REPORT_FORMAT_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"
#include "format.h"
#include "report/schema/schema.h"

struct encoder;

/* A whole chunk in memory, header included. The hash of the header needs the place in the file and is set last. */
struct encoded_chunk {
    struct chunk_header header;
    uint8_t *bytes; /* free() */
    size_t size;
};

struct encoder *encoder_new(int level);
void encoder_delete(struct encoder *encoder);

/* A batch of row structs of a table of the schema; rows is 1 … CHUNK_MAX_ROWS. All return 0 or ERR_NO_MEMORY. */
int encode_rows(struct encoder *encoder, enum table_id table, const void *rows, size_t count,
                struct encoded_chunk *out);

/* Strings that have the ids first_id, first_id + 1, … */
int encode_strings(struct encoder *encoder, int64_t first_id, const struct intern_string *strings, size_t count,
                   struct encoded_chunk *out);

/* Columns as they are, without NULLs: the index. */
int encode_index(struct encoder *encoder, const int64_t *const *columns, size_t count, struct encoded_chunk *out);

/* The tables of this build's schema. */
int encode_schema(struct encoder *encoder, struct encoded_chunk *out);

#endif
