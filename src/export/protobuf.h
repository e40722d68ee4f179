/* The primitives of protocol buffers: numbered fields as varints, eight bytes, or bytes with their length. */
#ifndef TACHO_EXPORT_PROTOBUF_H
#define TACHO_EXPORT_PROTOBUF_H

#include <stdint.h>
#include <string.h>

#include "base/text.h"

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };

static inline void protobuf_number(struct text *out, uint64_t value)
{
    char bytes[10];
    size_t length = 0;

    for (; value >= 0x80; value >>= 7)
        bytes[length++] = (char)(value | 0x80);
    bytes[length++] = (char)value;
    text_add_bytes(out, bytes, length);
}

/* An int64 that is below 0 has ten bytes, as the format wants it. */
static inline void protobuf_varint(struct text *out, unsigned field, uint64_t value)
{
    protobuf_number(out, field << 3 | WIRE_VARINT);
    protobuf_number(out, value);
}

static inline void protobuf_fixed64(struct text *out, unsigned field, uint64_t value)
{
    unsigned char bytes[8];

    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(value >> 8 * i);
    protobuf_number(out, field << 3 | WIRE_FIXED64);
    text_add_bytes(out, bytes, sizeof bytes);
}

static inline void protobuf_double(struct text *out, unsigned field, double value)
{
    union {
        double real;
        uint64_t bits;
    } both = { .real = value };

    protobuf_fixed64(out, field, both.bits);
}

static inline void protobuf_bytes(struct text *out, unsigned field, const void *bytes, size_t length)
{
    protobuf_number(out, field << 3 | WIRE_BYTES);
    protobuf_number(out, length);
    text_add_bytes(out, bytes, length);
}

/* A message inside another. */
static inline void protobuf_message(struct text *out, unsigned field, const struct text *message)
{
    protobuf_bytes(out, field, text_string(message), message->length);
}

#endif
