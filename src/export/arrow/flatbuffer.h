/* The primitives of FlatBuffers, as far as messages of Arrow need them.
 *
 * A buffer is written from front to back: an object first, with empty slots for its children, then each child, which
 * fills its parent's slot. References are unsigned and relative to the slot, so a child must come after its parent.
 * Every field of a table has a slot of eight bytes, which keeps all of them aligned and costs a few bytes per
 * message. */
#ifndef TACHO_EXPORT_ARROW_FLATBUFFER_H
#define TACHO_EXPORT_ARROW_FLATBUFFER_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* A field of a table: its number in the format's schema, and its value; 0 for a reference, which the child fills. */
struct flat_field {
    unsigned number;
    int64_t value;
};

/* Begins a buffer with the slot of its root, and returns that slot. The text must be empty. */
size_t flat_begin(struct text *out);

/* These add an object and make the slot refer to it. */

/* Numbers of fields ascend. Returns the table for flat_slot(). */
size_t flat_table(struct text *out, size_t slot, const struct flat_field *fields, size_t count);
/* A vector of references; returns its first slot, and the others follow at steps of FLAT_REFERENCE_BYTES. */
enum { FLAT_REFERENCE_BYTES = 4 };
size_t flat_references(struct text *out, size_t slot, size_t count);
/* A vector of structs, each of that many 64-bit integers. */
void flat_structs(struct text *out, size_t slot, const int64_t *values, size_t count, size_t per_struct);
void flat_string(struct text *out, size_t slot, const char *string);

/* The slot of the index-th field of the list that a table was made of. */
static inline size_t flat_slot(size_t table, size_t index)
{
    return table + 8 + 8 * index;
}

#endif
