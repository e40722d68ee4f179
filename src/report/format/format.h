/* The bytes of a report file: sizes, limits, the chunk header and variable-length numbers. docs/format.md describes
 * the same in words; change both together. */
#ifndef TACHO_REPORT_FORMAT_FORMAT_H
#define TACHO_REPORT_FORMAT_FORMAT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/hash.h"
#include "base/number.h"

#define FORMAT_MAGIC "TACHO\r\n\x1a"
#define FORMAT_VERSION 1
#define FILE_HEADER_SIZE 16

#define CHUNK_MAGIC UINT32_C(0x4b484354)    /* "TCHK" */
#define CHUNK_HEADER_SIZE 48
#define CHUNK_MAX_ROWS 32768
#define CHUNK_MAX_PAYLOAD ((uint32_t)160 << 20)
#define TABLE_MAX_COLUMNS 256
#define STRING_MAX_BYTES ((size_t)32 << 20) /* longer ones are truncated */
#define BLOB_MAX_BYTES ((size_t)64 << 20)   /* limit of all strings of one chunk */
#define STRING_TABLE "StringIds"

enum chunk_kind {
    CHUNK_SCHEMA = 1,  /* payload: table definitions */
    CHUNK_ROWS = 2,    /* payload: columns of one table */
    CHUNK_INDEX = 3,   /* payload: columns of the index, see INDEX_ */
    CHUNK_END = 4,     /* no payload; first: offset of the first index chunk; last: number of index chunks */
    CHUNK_PARTIAL = 5, /* payload: a result of all rows; first: what result it is; last: a hash of which rows */
};

/* Columns of an index chunk. */
enum { INDEX_OFFSET, INDEX_SIZE, INDEX_KIND, INDEX_TABLE, INDEX_ROWS, INDEX_FIRST, INDEX_LAST, INDEX_COLUMN_COUNT };

enum column_coding {
    CODING_CONSTANT,   /* one value */
    CODING_OFFSET,     /* base + u */
    CODING_DELTA,      /* value before + base + u */
    CODING_ZIGZAG,     /* value before + unzigzag(u) */
    CODING_RELATIVE,   /* the table's first TIME column + base + u */
    CODING_DICTIONARY, /* entry u of a list */
    CODING_BYTES,      /* the strings themselves: lengths, then bytes */
    CODING_COUNT
};
#define CODING_MASK 0x07
#define NULLS_BITMAP 0x10
#define NULLS_ALL 0x20

struct chunk_header {
    uint8_t kind;
    uint16_t table;      /* the file's own number of the table */
    uint32_t rows;
    uint32_t payload_size;
    int64_t first, last; /* span of times, or of ids in StringIds; first > last: none */
    uint64_t payload_hash;
};

static inline void put_u16(uint8_t *at, uint16_t v)
{
    at[0] = (uint8_t)v;
    at[1] = (uint8_t)(v >> 8);
}
static inline void put_u32(uint8_t *at, uint32_t v)
{
    put_u16(at, (uint16_t)v);
    put_u16(at + 2, (uint16_t)(v >> 16));
}
static inline void put_u64(uint8_t *at, uint64_t v)
{
    put_u32(at, (uint32_t)v);
    put_u32(at + 4, (uint32_t)(v >> 32));
}
static inline uint16_t get_u16(const uint8_t *at)
{
    return (uint16_t)(at[0] | at[1] << 8);
}
static inline uint32_t get_u32(const uint8_t *at)
{
    return get_u16(at) | (uint32_t)get_u16(at + 2) << 16;
}
static inline uint64_t get_u64(const uint8_t *at)
{
    return get_u32(at) | (uint64_t)get_u32(at + 4) << 32;
}

/* A cursor over untrusted bytes: once a read does not fit, `failed` is set and all further reads give 0. */
struct format_cursor {
    const uint8_t *at, *end;
    int failed;
};

static inline const uint8_t *cursor_take(struct format_cursor *cursor, size_t length)
{
    if (cursor->failed || length > (size_t)(cursor->end - cursor->at)) {
        cursor->failed = 1;
        return NULL;
    }
    const uint8_t *taken = cursor->at;
    cursor->at += length;
    return taken;
}
static inline uint8_t cursor_u8(struct format_cursor *cursor)
{
    const uint8_t *at = cursor_take(cursor, 1);
    return at ? *at : 0;
}
static inline uint64_t cursor_varint(struct format_cursor *cursor)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t byte = cursor_u8(cursor);
        if (shift == 63 && byte > 1)
            break;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    cursor->failed = 1;
    return 0;
}
static inline int64_t cursor_svarint(struct format_cursor *cursor)
{
    return unzigzag(cursor_varint(cursor));
}

/* The largest ratio that zstd may expand by, which bounds the cost of a small hostile file. A writer stores data raw
 * that compresses better. */
static inline int blob_plausible(size_t packed, size_t raw)
{
    return raw <= BLOB_MAX_BYTES && raw <= 65536 + packed * 1024;
}

/* The hash of the header is seeded with its place in the file, so that a report stored as text inside a report is
 * never taken for chunks of the outer one. */
static inline void chunk_header_put(uint8_t *at, const struct chunk_header *header, uint64_t offset)
{
    put_u32(at, CHUNK_MAGIC);
    at[4] = header->kind;
    at[5] = 0;
    put_u16(at + 6, header->table);
    put_u32(at + 8, header->rows);
    put_u32(at + 12, header->payload_size);
    put_u64(at + 16, (uint64_t)header->first);
    put_u64(at + 24, (uint64_t)header->last);
    put_u64(at + 32, header->payload_hash);
    put_u64(at + 40, hash_bytes_seeded(at, 40, offset));
}

/* Fuzzing skips hashes: a fuzzer cannot guess them and would never get past. */
static inline int hash_matches(uint64_t stored, uint64_t computed)
{
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    (void)stored, (void)computed;
    return 1;
#else
    return stored == computed;
#endif
}

/* Returns 0 if these bytes are not a header at that offset, or not one that this version may use. */
static inline int chunk_header_get(const uint8_t *at, uint64_t offset, struct chunk_header *header)
{
    if (get_u32(at) != CHUNK_MAGIC || !hash_matches(get_u64(at + 40), hash_bytes_seeded(at, 40, offset)))
        return 0;
    *header = (struct chunk_header){
        .kind = at[4],
        .table = get_u16(at + 6),
        .rows = get_u32(at + 8),
        .payload_size = get_u32(at + 12),
        .first = (int64_t)get_u64(at + 16),
        .last = (int64_t)get_u64(at + 24),
        .payload_hash = get_u64(at + 32),
    };
    return header->rows <= CHUNK_MAX_ROWS && header->payload_size <= CHUNK_MAX_PAYLOAD;
}

#endif
