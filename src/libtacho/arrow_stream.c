/* The Arrow C data interface, <tacho/arrow.h>: a schema and one batch, handed over as a stream.
 *
 * Consumers release what they get in any thread and at any time, also while a Python exception is pending or after the
 * interpreter has ended. So nothing here may call back into Python. A struct and its release() belong together: a
 * consumer may copy the struct, and each child has memory of its own, because a consumer may take single children. */
#pragma GCC visibility push(default)
#include <tacho/arrow.h>
#pragma GCC visibility pop

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- The structs of the specification -------------------------------------------------------------------------- */

struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct ArrowSchema **children, *dictionary;
    void (*release)(struct ArrowSchema *schema);
    void *private_data;
};

struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray *array);
    void *private_data;
};

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *stream, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *stream, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *stream);
    void (*release)(struct ArrowArrayStream *stream);
    void *private_data;
};

enum { NULLABLE = 2, ALIGNMENT = 64, BUFFERS_MAX = 3 };

/* ---- Schemas --------------------------------------------------------------------------------------------------- */

static void release_schema(struct ArrowSchema *schema)
{
    for (int64_t i = 0; i < schema->n_children; i++)
        if (schema->children[i]->release)
            schema->children[i]->release(schema->children[i]);
    if (schema->dictionary && schema->dictionary->release)
        schema->dictionary->release(schema->dictionary);
    free(schema->private_data);
    schema->release = NULL;
}

/* The memory of a schema: `count` children or a dictionary, pointers to them, and the name. */
static int schema_init(struct ArrowSchema *schema, const char *format, const char *name, size_t count)
{
    size_t name_bytes = strlen(name) + 1;
    char *memory = calloc(1, count * (sizeof(struct ArrowSchema) + sizeof(struct ArrowSchema *)) + name_bytes);
    if (!memory)
        return ENOMEM;
    struct ArrowSchema *inner = (struct ArrowSchema *)memory, **pointers = (struct ArrowSchema **)(inner + count);
    char *own_name = (char *)(pointers + count);
    for (size_t i = 0; i < count; i++)
        pointers[i] = &inner[i];
    *schema = (struct ArrowSchema){
        .format = format,
        .name = memcpy(own_name, name, name_bytes),
        .children = pointers,
        .release = release_schema,
        .private_data = memory,
    };
    return 0;
}

static int column_schema(struct ArrowSchema *schema, const char *name, int type)
{
    static const char *const formats[] = {
        [TACHO_ARROW_INT64] = "l", [TACHO_ARROW_DOUBLE] = "g", [TACHO_ARROW_TEXT] = "i"
    };
    int is_text = type == TACHO_ARROW_TEXT, code = schema_init(schema, formats[type], name, (size_t)is_text);
    if (code != 0)
        return code;
    schema->flags = NULLABLE;
    if (!is_text)
        return 0;
    schema->dictionary = schema->children[0];
    return schema_init(schema->dictionary, "U", "", 0);
}

/* ---- Arrays ---------------------------------------------------------------------------------------------------- */

static void release_array(struct ArrowArray *array)
{
    for (int64_t i = 0; i < array->n_children; i++)
        if (array->children[i]->release)
            array->children[i]->release(array->children[i]);
    if (array->dictionary && array->dictionary->release)
        array->dictionary->release(array->dictionary);
    for (int64_t i = 0; i < array->n_buffers; i++)
        free((void *)array->buffers[i]);
    free(array->private_data);
    array->release = NULL;
}

/* The memory of an array: its list of buffers, `count` children or a dictionary, and pointers to them. */
static int array_init(struct ArrowArray *array, uint64_t length, int64_t buffers, size_t count)
{
    const size_t list_bytes = BUFFERS_MAX * sizeof(void *);
    char *memory = calloc(1, list_bytes + count * (sizeof(struct ArrowArray) + sizeof(struct ArrowArray *)));
    if (!memory)
        return ENOMEM;
    struct ArrowArray *inner = (struct ArrowArray *)(memory + list_bytes),
                      **pointers = (struct ArrowArray **)(inner + count);
    for (size_t i = 0; i < count; i++)
        pointers[i] = &inner[i];
    *array = (struct ArrowArray){
        .length = (int64_t)length,
        .n_buffers = buffers,
        .buffers = (const void **)memory,
        .children = pointers,
        .release = release_array,
        .private_data = memory,
    };
    return 0;
}

/* Buffers end at a multiple of the alignment, and are never empty. */
static void *arrow_stream_buffer_new(size_t bytes)
{
    size_t room = (bytes / ALIGNMENT + 1) * ALIGNMENT;
    void *buffer = aligned_alloc(ALIGNMENT, room);
    if (buffer)
        memset((char *)buffer + bytes, 0, room - bytes);
    return buffer;
}

static int set_buffer(struct ArrowArray *array, int which, const void *bytes, size_t count)
{
    void *buffer = arrow_stream_buffer_new(count);
    if (buffer && count)
        memcpy(buffer, bytes, count);
    array->buffers[which] = buffer;
    return buffer ? 0 : ENOMEM;
}

/* The first buffer: a bit for each row, 1 if it is not NULL. Without NULLs there is none. */
static int set_validity(struct ArrowArray *array, const unsigned char *nulls)
{
    size_t rows = (size_t)array->length;
    for (size_t i = 0; nulls && i < rows; i++)
        array->null_count += nulls[i] != 0;
    if (!array->null_count)
        return 0;
    unsigned char *bits = arrow_stream_buffer_new((rows + 7) / 8);
    if (!bits)
        return ENOMEM;
    memset(bits, 0, (rows + 7) / 8);
    for (size_t i = 0; i < rows; i++)
        bits[i / 8] |= (unsigned char)(!nulls[i] << i % 8);
    array->buffers[0] = bits;
    return 0;
}

static int texts_array(struct ArrowArray *array, const struct tacho_arrow_column *column)
{
    size_t count = column->text_count;
    int code = array_init(array, count, 3, 0);
    if (code != 0 || (code = set_buffer(array, 1, column->text_offsets, (count + 1) * sizeof(int64_t))) != 0)
        return code;
    return set_buffer(array, 2, column->texts, (size_t)column->text_offsets[count]);
}

static int column_array(struct ArrowArray *array, const struct tacho_arrow_column *column, uint64_t rows)
{
    int is_text = column->type == TACHO_ARROW_TEXT, code = array_init(array, rows, 2, (size_t)is_text);
    if (code != 0 || (code = set_validity(array, column->nulls)) != 0 ||
        (code = set_buffer(array, 1, column->values, rows * (is_text ? sizeof(int32_t) : sizeof(int64_t)))) != 0)
        return code;
    if (!is_text)
        return 0;
    array->dictionary = array->children[0];
    return texts_array(array->dictionary, column);
}

/* A child counts before it is made, so that release() frees the parts of one that failed. */
static int batch_array(struct ArrowArray *batch, const struct tacho_arrow_column *columns, size_t count, uint64_t rows)
{
    int code = array_init(batch, rows, 1, count);
    if (code != 0)
        return code;
    for (size_t i = 0; i < count; i++) {
        batch->n_children++;
        if ((code = column_array(batch->children[i], &columns[i], rows)) != 0)
            return code;
    }
    return 0;
}

static int batch_schema(struct ArrowSchema *schema, const struct tacho_arrow_column *columns, size_t count)
{
    int code = schema_init(schema, "+s", "", count);
    if (code != 0)
        return code;
    for (size_t i = 0; i < count; i++) {
        schema->n_children++;
        if ((code = column_schema(schema->children[i], columns[i].name, columns[i].type)) != 0)
            return code;
    }
    return 0;
}

/* ---- The stream ------------------------------------------------------------------------------------------------ */

struct contents {
    struct ArrowArray batch;             /* released: a consumer has got it */
    size_t column_count;
    struct tacho_arrow_column columns[]; /* names and types; the names lie behind */
};

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    const struct contents *contents = stream->private_data;
    int code = batch_schema(out, contents->columns, contents->column_count);
    if (code != 0 && out->release)
        out->release(out);
    return code;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct contents *contents = stream->private_data;
    *out = contents->batch;
    contents->batch = (struct ArrowArray){ 0 };
    return 0;
}

/* Memory is the only thing that can be short. */
static const char *get_last_error(struct ArrowArrayStream *stream)
{
    return "not enough memory";
}

static void release_stream(struct ArrowArrayStream *stream)
{
    struct contents *contents = stream->private_data;
    if (contents->batch.release)
        contents->batch.release(&contents->batch);
    free(contents);
    stream->release = NULL;
}

static struct contents *contents_new(const struct tacho_arrow_column *columns, size_t count, uint64_t rows)
{
    size_t name_bytes = 0;
    for (size_t i = 0; i < count; i++)
        name_bytes += strlen(columns[i].name) + 1;
    struct contents *contents = calloc(1, sizeof *contents + count * sizeof *columns + name_bytes);
    if (!contents)
        return NULL;
    contents->column_count = count;
    char *name = (char *)(contents->columns + count);
    for (size_t i = 0; i < count; i++) {
        contents->columns[i] = (struct tacho_arrow_column){ .name = name, .type = columns[i].type };
        name = stpcpy(name, columns[i].name) + 1;
    }
    if (batch_array(&contents->batch, columns, count, rows) == 0)
        return contents;
    if (contents->batch.release)
        contents->batch.release(&contents->batch);
    free(contents);
    return NULL;
}

struct ArrowArrayStream *tacho_arrow_stream_new(const struct tacho_arrow_column *columns, size_t column_count,
                                                uint64_t rows)
{
    struct ArrowArrayStream *stream = malloc(sizeof *stream);
    struct contents *contents = stream ? contents_new(columns, column_count, rows) : NULL;
    if (!contents) {
        free(stream);
        return NULL;
    }
    *stream = (struct ArrowArrayStream){ get_schema, get_next, get_last_error, release_stream, contents };
    return stream;
}

void tacho_arrow_stream_delete(struct ArrowArrayStream *stream)
{
    if (stream && stream->release)
        stream->release(stream);
    free(stream);
}

/* ---- Python ---------------------------------------------------------------------------------------------------- */

static void *(*capsule_pointer)(void *capsule, const char *name);

static void end_capsule(void *capsule)
{
    tacho_arrow_stream_delete(capsule_pointer(capsule, "arrow_array_stream"));
}

tacho_arrow_destructor tacho_arrow_capsule_destructor(void *(*get_pointer)(void *capsule, const char *name))
{
    capsule_pointer = get_pointer;
    return end_capsule;
}
