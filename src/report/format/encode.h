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

/* A whole chunk in memory with its header. The hash of the header depends on the offset in the file and is set last. */
struct encoded_chunk {
    struct chunk_header header;
    uint8_t *bytes; /* free() */
    size_t size;
};

struct encoder *encoder_new(int level);
void encoder_delete(struct encoder *encoder);

/* Encodes a batch of row structs of a schema table; count is 1 to CHUNK_MAX_ROWS. All functions return 0 or
 * ERR_NO_MEMORY. */
int encode_rows(struct encoder *encoder, enum table_id table, const void *rows, size_t count,
                struct encoded_chunk *out);

/* The same for columns that were decoded (reader.h): values and nulls by column, nulls NULL where no row is. */
struct encode_block {
    uint16_t table;
    const enum column_type *types;
    const int64_t *const *values;
    const uint64_t *const *nulls;
    size_t column_count, rows;
};
int encode_block(struct encoder *encoder, const struct encode_block *block, struct encoded_chunk *out);

/* Encodes strings with the ids first_id, first_id + 1, ... */
int encode_strings(struct encoder *encoder, int64_t first_id, const struct intern_string *strings, size_t count,
                   struct encoded_chunk *out);

/* Encodes columns without NULLs: the index. */
int encode_index(struct encoder *encoder, const int64_t *const *columns, size_t count, struct encoded_chunk *out);

/* Packs a result; its header has first and last. */
int encode_partial(struct encoder *encoder, struct chunk_header header, const void *bytes, size_t length,
                   struct encoded_chunk *out);

/* Encodes the tables of this build's schema; or others, by their numbers in the file. The strings are TABLE_StringIds
 * in every file that this build writes. */
int encode_schema(struct encoder *encoder, struct encoded_chunk *out);
struct encode_table {
    uint16_t id;
    const char *name;
    const char *const *columns;
    const enum column_type *types;
    size_t column_count;
};
int encode_tables(struct encoder *encoder, const struct encode_table *tables, size_t count, struct encoded_chunk *out);

#endif
