/* The primitives of protocol buffers: numbered fields as varints, eight bytes, or bytes with their length. */
#ifndef TACHO_EXPORT_PROTOBUF_H
#define TACHO_EXPORT_PROTOBUF_H

#include <stdint.h>
#include <string.h>

#include "base/number.h"

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

enum { PROTOBUF_TAG_MOST = 5, PROTOBUF_VARINT_MOST = VARINT_MOST + PROTOBUF_TAG_MOST };

static inline char *protobuf_put_number(char *at, uint64_t value)
{
    return at + put_varint(at, value);
}

static inline char *protobuf_put_length(char *at, unsigned field, size_t length)
{
    return protobuf_put_number(protobuf_put_number(at, field << 3 | WIRE_BYTES), length);
}

/* A field where there is room for it. An int64 that is below 0 has ten bytes, as the format wants it. */
static inline char *protobuf_put_varint(char *at, unsigned field, uint64_t value)
{
    return protobuf_put_number(protobuf_put_number(at, field << 3 | WIRE_VARINT), value);
}

/* The encoded size in bytes. */
static inline size_t protobuf_number_bytes(uint64_t value)
{
    return (size_t)(70 - __builtin_clzll(value | 1)) / 7;
}

static inline size_t protobuf_varint_bytes(unsigned field, uint64_t value)
{
    return protobuf_number_bytes(field << 3) + protobuf_number_bytes(value);
}

static inline void protobuf_varint(struct text *out, unsigned field, uint64_t value)
{
    char *at = text_room(out, PROTOBUF_VARINT_MOST);

    if (at)
        text_commit(out, protobuf_put_varint(at, field, value));
}

static inline char *protobuf_put_fixed64(char *at, unsigned field, uint64_t value)
{
    at = protobuf_put_number(at, field << 3 | WIRE_FIXED64);
    for (int i = 0; i < 8; i++)
        *at++ = (char)(value >> 8 * i);
    return at;
}

static inline void protobuf_fixed64(struct text *out, unsigned field, uint64_t value)
{
    char *at = text_room(out, PROTOBUF_TAG_MOST + sizeof value);

    if (at)
        text_commit(out, protobuf_put_fixed64(at, field, value));
}

static inline char *protobuf_put_double(char *at, unsigned field, double value)
{
    union {
        double real;
        uint64_t bits;
    } both = { .real = value };

    return protobuf_put_fixed64(at, field, both.bits);
}

static inline void protobuf_double(struct text *out, unsigned field, double value)
{
    char *at = text_room(out, PROTOBUF_TAG_MOST + sizeof value);

    if (at)
        text_commit(out, protobuf_put_double(at, field, value));
}

static inline void protobuf_bytes(struct text *out, unsigned field, const void *bytes, size_t length)
{
    char *at = text_room(out, PROTOBUF_TAG_MOST + VARINT_MOST + length);

    if (!at)
        return;
    at = protobuf_put_length(at, field, length);
    if (length)
        memcpy(at, bytes, length);
    text_commit(out, at + length);
}

/* A message inside another. */
static inline void protobuf_message(struct text *out, unsigned field, const struct text *message)
{
    protobuf_bytes(out, field, text_string(message), message->length);
}

/* A message inside another that is written in place: the fields between the two calls belong to it. begin() returns the
 * value that end() needs. */
static inline char *protobuf_put_begin(char *at, unsigned field)
{
    return protobuf_put_number(at, field << 3 | WIRE_BYTES) + 1; /* most lengths have one byte */
}

static inline size_t protobuf_begin(struct text *out, unsigned field)
{
    char *at = text_room(out, PROTOBUF_TAG_MOST + 1);

    if (at)
        text_commit(out, protobuf_put_begin(at, field));
    return out->length;
}

static inline void protobuf_end(struct text *out, size_t start)
{
    size_t length = out->length - start;

    if (length < 0x80 && !out->failed) {
        out->bytes[start - 1] = (char)length;
        return;
    }
    char number[VARINT_MOST], *end = protobuf_put_number(number, length);
    size_t more = (size_t)(end - number) - 1;
    char *at = text_room(out, more);

    if (!at)
        return;
    char *first = out->bytes + start;
    if (more)
        memmove(first + more, first, length);
    memcpy(first - 1, number, more + 1);
    text_commit(out, at + more);
}

#endif
