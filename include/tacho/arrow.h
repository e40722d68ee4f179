/* Columns in memory as a stream of the Arrow C data interface, which pyarrow, DuckDB, Polars and others read.
 *
 * For C and C++. <tacho/tacho.h> says how to link. The functions depend on no Arrow library: struct ArrowArrayStream is
 * the one of Arrow's specification (https://arrow.apache.org/docs/format/CStreamInterface.html). The stream owns copies
 * of all columns, so it may outlive them and be released in any thread.
 *
 *     int64_t values[] = { 1, 2, 3 };
 *     struct tacho_arrow_column column = { .name = "n", .type = TACHO_ARROW_INT64, .values = values };
 *     struct ArrowArrayStream *stream = tacho_arrow_stream_new(&column, 1, 3);
 *     …
 *     tacho_arrow_stream_delete(stream); */
#ifndef TACHO_ARROW_H
#define TACHO_ARROW_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ArrowArrayStream;

enum tacho_arrow_type {
    TACHO_ARROW_INT64 = 0,
    TACHO_ARROW_DOUBLE = 1,
    TACHO_ARROW_TEXT = 2 /* a dictionary: each different text once, and an index for each row */
};

struct tacho_arrow_column {
    const char *name;
    int type;                    /* enum tacho_arrow_type */
    const void *values;          /* one for each row: int64_t, double, or for texts the int32_t index */
    const unsigned char *nulls;  /* 1 for each row that is NULL, else 0; NULL: no row is */
    const char *texts;           /* of TACHO_ARROW_TEXT: all of them as UTF-8, one after the other */
    const int64_t *text_offsets; /* where each begins, and the end of the last one: text_count + 1 numbers */
    size_t text_count;
};

/* A stream of one batch with these columns and rows. NULL if memory is short. */
struct ArrowArrayStream *tacho_arrow_stream_new(const struct tacho_arrow_column *columns, size_t column_count,
                                                uint64_t rows);

/* Frees the stream, and its data unless a consumer has moved the stream out. NULL is allowed. */
void tacho_arrow_stream_delete(struct ArrowArrayStream *stream);

/* For Python: the destructor of a PyCapsule called "arrow_array_stream" that holds such a stream. get_pointer is
 * PyCapsule_GetPointer: this library does not link Python. */
typedef void (*tacho_arrow_destructor)(void *capsule);
tacho_arrow_destructor tacho_arrow_capsule_destructor(void *(*get_pointer)(void *capsule, const char *name));

#ifdef __cplusplus
}
#endif
#endif
