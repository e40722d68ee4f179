/* Decodes the payload of a chunk into columns. Trusts no byte: a payload that is not exactly what the format allows
 * is rejected as a whole. Knows nothing of files; the report's host provides zstd. */
#ifndef TACHO_REPORT_FORMAT_DECODE_H
#define TACHO_REPORT_FORMAT_DECODE_H

#include <stddef.h>
#include <stdint.h>

#include "format.h"
#include "report_host.h"

/* The location of one byte plane in the payload. */
struct decode_plane {
    const uint8_t *bytes; /* NULL: constant */
    uint32_t stored;
    uint8_t constant;
};

/* One column of a chunk, parsed and checked but not decoded. */
struct decode_column {
    uint8_t coding, null_mode;
    uint8_t width;
    int64_t start, base;
    struct decode_plane planes[8];
    struct decode_plane bitmap;
    const uint8_t *entries, *entries_end; /* DICTIONARY: varints, checked */
    uint32_t entry_count;
    size_t blob_size, blob_stored;        /* BYTES */
    const uint8_t *blob;
};

/* Scratch memory for decoding; one per thread that decodes at the same time. */
struct decode_scratch {
    uint8_t planes[8][CHUNK_MAX_ROWS];
    uint8_t bitmap[CHUNK_MAX_ROWS / 8];
    int64_t times[CHUNK_MAX_ROWS]; /* for RELATIVE columns, when the caller does not want the times themselves */
};

/* Parses all count columns. 0 or ERR_CORRUPT. Views point into payload. */
int columns_parse(const uint8_t *payload, size_t size, size_t rows, struct decode_column *views, size_t count);

/* Decodes a column into values; NULL rows are 0. times are the chunk's decoded first TIME column, needed for RELATIVE
 * ones. Where the column has NULLs, fills nulls ((rows + 63) / 64 words, bits after the last row 0) and sets
 * *has_nulls. */
int column_decode(const struct report_host *host, struct decode_scratch *scratch, const struct decode_column *view,
                  size_t rows, const int64_t *times, int64_t *values, uint64_t *nulls, int *has_nulls);

/* The strings of a BYTES column: offsets gets rows + 1 numbers, blob gets blob_size bytes. */
int strings_decode(const struct report_host *host, struct decode_scratch *scratch, const struct decode_column *view,
                   size_t rows, uint32_t *offsets, uint8_t *blob);

/* Unpacks bytes: copies them if stored equals raw_size, else decompresses them with zstd. 0 or ERR_CORRUPT. */
int unpack(const struct report_host *host, const uint8_t *bytes, size_t stored, uint8_t *raw, size_t raw_size);

#endif
