/* Reads numbers from untrusted bytes: past the end every number is 0, and the cursor remembers the failure. */
#ifndef TACHO_SYMBOLS_ELF_BYTE_CURSOR_H
#define TACHO_SYMBOLS_ELF_BYTE_CURSOR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct byte_cursor {
    const unsigned char *at, *end;
    int failed;
};

static inline size_t cursor_left(const struct byte_cursor *cursor)
{
    return (size_t)(cursor->end - cursor->at);
}

static inline void cursor_skip(struct byte_cursor *cursor, uint64_t bytes)
{
    if (bytes > cursor_left(cursor)) {
        cursor->failed = 1;
        cursor->at = cursor->end;
    } else {
        cursor->at += bytes;
    }
}

/* Reads a little-endian number of at most 8 bytes. */
static inline uint64_t cursor_number(struct byte_cursor *cursor, unsigned bytes)
{
    uint64_t value = 0;
    if (cursor_left(cursor) < bytes)
        cursor->failed = 1;
    else
        memcpy(&value, cursor->at, bytes);
    cursor_skip(cursor, bytes);
    return value;
}

static inline int64_t cursor_signed(struct byte_cursor *cursor, unsigned bytes)
{
    unsigned shift = 64 - 8 * bytes;
    return (int64_t)(cursor_number(cursor, bytes) << shift) >> shift;
}

static inline uint64_t cursor_uleb(struct byte_cursor *cursor)
{
    uint64_t value = 0;
    for (unsigned shift = 0; cursor->at < cursor->end; shift += 7) {
        unsigned char byte = *cursor->at++;
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    cursor->failed = 1;
    return 0;
}

static inline int64_t cursor_sleb(struct byte_cursor *cursor)
{
    uint64_t value = 0;
    for (unsigned shift = 0; cursor->at < cursor->end;) {
        unsigned char byte = *cursor->at++;
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (!(byte & 0x80)) {
            if (shift < 64 && (byte & 0x40))
                value |= UINT64_MAX << shift;
            return (int64_t)value;
        }
    }
    cursor->failed = 1;
    return 0;
}

#endif
