/* Encodes messages. The numbers of fields and types are those of Arrow's Message.fbs and Schema.fbs. The body of a
 * batch is a copy of the columns, since the values of a report are little-endian 64-bit numbers as Arrow's are. */
#include "arrow_message.h"

#include <stdlib.h>

#include "flatbuffer.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "values are copied as they are");

enum { METADATA_VERSION_5 = 4 };
enum { HEADER_SCHEMA = 1, HEADER_RECORD_BATCH = 3 };
enum { TYPE_INT = 2, TYPE_FLOATING_POINT = 3, TYPE_LARGE_BINARY = 19, TYPE_LARGE_UTF8 = 20 };
enum { PRECISION_DOUBLE = 2 };

/* ---- the frame of a message ------------------------------------------------------------------------------------ */

/* Begins the metadata of a message; returns the slot of its header. */
static size_t begin_metadata(struct text *metadata, int header, size_t body_bytes)
{
    const struct flat_field fields[] = {
        { 0, METADATA_VERSION_5 }, { 1, header }, { 2, 0 }, { 3, (int64_t)body_bytes }
    };
    size_t message = flat_table(metadata, flat_begin(metadata), fields, COUNT_OF(fields));

    return flat_slot(message, 2);
}

/* Adds the mark, the length and the metadata, padded so that the body is aligned. */
static void add_framed(struct text *out, const struct text *metadata)
{
    size_t padding = (8 - metadata->length % 8) % 8;
    uint32_t length = (uint32_t)(metadata->length + padding);

    text_add_bytes(out, "\xFF\xFF\xFF\xFF", 4);
    text_add_bytes(out, &length, sizeof length);
    text_add_bytes(out, text_string(metadata), metadata->length);
    text_add_repeat(out, '\0', padding);
    out->failed |= metadata->failed;
}

void arrow_add_end(struct text *out)
{
    text_add_bytes(out, "\xFF\xFF\xFF\xFF\0\0\0\0", 8);
}

/* ---- schema ---------------------------------------------------------------------------------------------------- */

struct arrow_message_pair {
    const char *key, *value; /* a value that is NULL is left out */
};

static void arrow_message_add_pairs(struct text *metadata, size_t slot, const struct arrow_message_pair *pairs,
                                    size_t count)
{
    static const struct flat_field fields[] = { { 0, 0 }, { 1, 0 } };
    size_t present = 0;

    for (size_t i = 0; i < count; i++)
        present += pairs[i].value != NULL;
    size_t item = flat_references(metadata, slot, present);
    for (size_t i = 0; i < count; i++) {
        if (!pairs[i].value)
            continue;
        size_t pair = flat_table(metadata, item, fields, 2);
        flat_string(metadata, flat_slot(pair, 0), pairs[i].key);
        flat_string(metadata, flat_slot(pair, 1), pairs[i].value);
        item += FLAT_REFERENCE_BYTES;
    }
}

/* A type of Arrow's, with the fields that say more about it. */
static const struct type {
    int64_t number;
    struct flat_field fields[2];
    size_t field_count;
} arrow_message_types[] = {
    [ARROW_INT64] = { TYPE_INT, { { 0, 64 }, { 1, 1 } }, 2 }, /* bits, signed */
    [ARROW_DOUBLE] = { TYPE_FLOATING_POINT, { { 0, PRECISION_DOUBLE } }, 1 },
    [ARROW_TEXT] = { TYPE_LARGE_UTF8, { { 0 } }, 0 },
    [ARROW_BYTES] = { TYPE_LARGE_BINARY, { { 0 } }, 0 },
};

/* Every column may have NULLs: whether one has any is known only when all rows are written. */
static void arrow_message_add_field(struct text *metadata, size_t slot, const struct arrow_column *column)
{
    enum { NAME, NULLABLE, TYPE_NUMBER, TYPE, CHILDREN, METADATA };
    const struct type *type = &arrow_message_types[column->type];
    const struct flat_field fields[] = { { 0, 0 }, { 1, 1 }, { 2, type->number }, { 3, 0 }, { 5, 0 }, { 6, 0 } };
    const struct arrow_message_pair note = { "field_desc", column->note };
    size_t field = flat_table(metadata, slot, fields, COUNT_OF(fields));

    flat_string(metadata, flat_slot(field, NAME), column->name);
    flat_table(metadata, flat_slot(field, TYPE), type->fields, type->field_count);
    flat_references(metadata, flat_slot(field, CHILDREN), 0);
    arrow_message_add_pairs(metadata, flat_slot(field, METADATA), &note, 1);
}

void arrow_add_schema(struct text *out, const struct arrow_table *table)
{
    enum { FIELDS, METADATA };
    static const struct flat_field fields[] = { { 1, 0 }, { 2, 0 } };
    const struct arrow_message_pair pairs[] = { { "table_name", table->name }, { "table_desc", table->note } };
    struct text metadata = { 0 };
    size_t schema = flat_table(&metadata, begin_metadata(&metadata, HEADER_SCHEMA, 0), fields, 2);
    size_t slots = flat_references(&metadata, flat_slot(schema, FIELDS), table->column_count);

    for (size_t c = 0; c < table->column_count; c++)
        arrow_message_add_field(&metadata, slots + c * FLAT_REFERENCE_BYTES, &table->columns[c]);
    arrow_message_add_pairs(&metadata, flat_slot(schema, METADATA), pairs, 2);
    add_framed(out, &metadata);
    text_free(&metadata);
}

/* ---- record batches -------------------------------------------------------------------------------------------- */

/* Part of a batch's body. */
struct arrow_message_buffer {
    const void *bytes;
    size_t length;
    int is_offsets;                         /* Arrow's ends of texts begin with a 0 */
};

enum { BUFFERS_MOST = 3, BODY_ALIGN = 64 }; /* Arrow recommends 64, for vector instructions on mapped files */

static int arrow_message_is_text(const struct arrow_column *column)
{
    return column->type == ARROW_TEXT || column->type == ARROW_BYTES;
}

/* The buffers of a column: validity, which is empty where there are no NULLs; ends of texts; values. */
static size_t find_buffers(const struct arrow_column *column, size_t rows,
                           struct arrow_message_buffer buffers[BUFFERS_MOST])
{
    size_t count = 0, value_bytes = rows * sizeof *column->values;

    buffers[count++] = (struct arrow_message_buffer){ column->valid, column->null_count ? (rows + 7) / 8 : 0, 0 };
    if (arrow_message_is_text(column)) {
        buffers[count++] = (struct arrow_message_buffer){ column->values, value_bytes + sizeof *column->values, 1 };
        buffers[count++] = (struct arrow_message_buffer){ text_string(&column->bytes), column->bytes.length, 0 };
    } else
        buffers[count++] = (struct arrow_message_buffer){ column->values, value_bytes, 0 };
    return count;
}

static size_t padding_of(size_t length)
{
    return (BODY_ALIGN - length % BODY_ALIGN) % BODY_ALIGN;
}

static void arrow_message_add_body(struct text *out, const struct arrow_table *table)
{
    static const int64_t zero;
    struct arrow_message_buffer buffers[BUFFERS_MOST];

    for (size_t c = 0; c < table->column_count; c++) {
        size_t count = find_buffers(&table->columns[c], table->rows, buffers);
        for (size_t b = 0; b < count; b++) {
            size_t first = buffers[b].is_offsets ? sizeof zero : 0;
            text_add_bytes(out, &zero, first);
            text_add_bytes(out, buffers[b].bytes, buffers[b].length - first);
            text_add_repeat(out, '\0', padding_of(buffers[b].length));
        }
        out->failed |= table->columns[c].bytes.failed;
    }
}

/* Fills the places of all buffers in the body, offset and length; returns the body's length. */
static size_t place_buffers(const struct arrow_table *table, int64_t *places, size_t *place_count)
{
    struct arrow_message_buffer buffers[BUFFERS_MOST];
    size_t body_bytes = 0;

    *place_count = 0;
    for (size_t c = 0; c < table->column_count; c++) {
        size_t count = find_buffers(&table->columns[c], table->rows, buffers);
        for (size_t b = 0; b < count; b++, ++*place_count) {
            places[2 * *place_count] = (int64_t)body_bytes;
            places[2 * *place_count + 1] = (int64_t)buffers[b].length;
            body_bytes += buffers[b].length + padding_of(buffers[b].length);
        }
    }
    return body_bytes;
}

void arrow_add_batch(struct text *out, const struct arrow_table *table)
{
    enum { NODES = 1, BUFFERS };
    const struct flat_field fields[] = { { 0, (int64_t)table->rows }, { 1, 0 }, { 2, 0 } };
    int64_t *nodes = calloc(table->column_count + 1, 2 * sizeof *nodes);
    int64_t *places = calloc(table->column_count + 1, BUFFERS_MOST * 2 * sizeof *places);
    struct text metadata = { 0 };
    size_t place_count;

    if (!nodes || !places) {
        out->failed = 1;
        goto free_lists;
    }
    for (size_t c = 0; c < table->column_count; c++) {
        nodes[2 * c] = (int64_t)table->rows;
        nodes[2 * c + 1] = (int64_t)table->columns[c].null_count;
    }
    size_t body_bytes = place_buffers(table, places, &place_count);
    size_t batch = flat_table(&metadata, begin_metadata(&metadata, HEADER_RECORD_BATCH, body_bytes), fields, 3);
    flat_structs(&metadata, flat_slot(batch, NODES), nodes, table->column_count, 2);
    flat_structs(&metadata, flat_slot(batch, BUFFERS), places, place_count, 2);
    add_framed(out, &metadata);
    arrow_message_add_body(out, table);
    text_free(&metadata);
free_lists:
    free(nodes);
    free(places);
}
