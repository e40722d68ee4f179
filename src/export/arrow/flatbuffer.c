/* Writes tables, vectors and strings of FlatBuffers. A text that ran out of memory keeps its failure, so nothing here
 * fails: the code that writes the text to a file checks text_failed(). */
#include "flatbuffer.h"

#include <string.h>

static void flatbuffer_add_number(struct text *out, uint64_t value, size_t bytes)
{
    unsigned char encoded[8];

    for (size_t i = 0; i < bytes; i++)
        encoded[i] = (unsigned char)(value >> 8 * i);
    text_add_bytes(out, encoded, bytes);
}

/* Pads so that the position `ahead` bytes after the end is a multiple of align. */
static void flatbuffer_pad(struct text *out, size_t ahead, size_t align)
{
    text_add_repeat(out, '\0', (align - (out->length + ahead) % align) % align);
}

/* Makes the slot refer to the end of the buffer. */
static void refer_to_end(struct text *out, size_t slot)
{
    size_t distance = out->length - slot;

    for (size_t i = 0; !text_failed(out) && i < FLAT_REFERENCE_BYTES; i++)
        out->bytes[slot + i] = (char)(distance >> 8 * i);
}

size_t flat_begin(struct text *out)
{
    flatbuffer_add_number(out, 0, FLAT_REFERENCE_BYTES);
    return 0;
}

/* The vtable, a list of the places of all fields, stands before the table, whose first number leads back to it. */
size_t flat_table(struct text *out, size_t slot, const struct flat_field *fields, size_t count)
{
    size_t entries = count ? fields[count - 1].number + 1 : 0, vtable_bytes = 4 + 2 * entries, at = 0;

    flatbuffer_pad(out, vtable_bytes, 8);
    flatbuffer_add_number(out, vtable_bytes, 2);
    flatbuffer_add_number(out, flat_slot(0, count), 2);
    for (unsigned number = 0; number < entries; number++) {
        int is_there = fields[at].number == number;
        flatbuffer_add_number(out, is_there ? flat_slot(0, at) : 0, 2);
        at += (size_t)is_there;
    }
    size_t table = out->length;
    refer_to_end(out, slot);
    flatbuffer_add_number(out, vtable_bytes, 4);
    flatbuffer_add_number(out, 0, 4);
    for (size_t i = 0; i < count; i++)
        flatbuffer_add_number(out, (uint64_t)fields[i].value, 8);
    return table;
}

size_t flat_references(struct text *out, size_t slot, size_t count)
{
    flatbuffer_pad(out, 0, 4);
    refer_to_end(out, slot);
    flatbuffer_add_number(out, count, 4);
    size_t first = out->length;
    text_add_repeat(out, '\0', FLAT_REFERENCE_BYTES * count);
    return first;
}

void flat_structs(struct text *out, size_t slot, const int64_t *values, size_t count, size_t per_struct)
{
    flatbuffer_pad(out, 4, 8);
    refer_to_end(out, slot);
    flatbuffer_add_number(out, count, 4);
    for (size_t i = 0; i < count * per_struct; i++)
        flatbuffer_add_number(out, (uint64_t)values[i], 8);
}

void flat_string(struct text *out, size_t slot, const char *string)
{
    flatbuffer_pad(out, 0, 4);
    refer_to_end(out, slot);
    flatbuffer_add_number(out, strlen(string), 4);
    text_add_bytes(out, string, strlen(string) + 1);
}
