/* The encoder; see encode.h. A sample of the values selects a coding, a full pass applies it, and each byte plane of
 * the residuals is stored as a constant, raw, or as a zstd frame. All arithmetic on values is modulo 2^64, so
 * nothing overflows. */
#include "encode.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/array.h"
#include "base/error.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3") /* the loops over columns must become vector code */
#endif

#define SMALLEST_FOR_ZSTD 64
#define SAMPLE_RUNS 16
#define SAMPLE_RUN 48
#define DICTIONARY_MAX 256
#define DICTIONARY_SLOTS 1024
#define TILE_ROWS 256

struct encode_buffer {
    uint8_t *bytes;
    size_t size, capacity;
    int failed;
};

struct encoder {
    ZSTD_CCtx *zstd;
    int level;
    struct encode_buffer directory, data;
    int64_t *columns[64]; /* gathered from rows, CHUNK_MAX_ROWS each, allocated when first needed */
    uint64_t nulls[CHUNK_MAX_ROWS / 64];
    uint64_t residuals[CHUNK_MAX_ROWS];
    uint8_t plane[CHUNK_MAX_ROWS];
    uint8_t bitmap[CHUNK_MAX_ROWS / 8];
    struct dictionary {
        uint64_t keys[DICTIONARY_SLOTS];
        uint16_t index_plus_1[DICTIONARY_SLOTS];
        uint64_t entries[DICTIONARY_MAX];
        size_t count;
        uint8_t rows[CHUNK_MAX_ROWS];
    } dictionary;
};

static uint8_t *buffer_room(struct encode_buffer *buffer, size_t extra)
{
    if (buffer->failed)
        return NULL;
    if (array_reserve(&buffer->bytes, &buffer->capacity, buffer->size + extra + 1, 1) != 0) {
        buffer->failed = 1;
        return NULL;
    }
    return buffer->bytes + buffer->size;
}

static void buffer_add(struct encode_buffer *buffer, const void *bytes, size_t length)
{
    uint8_t *at = buffer_room(buffer, length);
    if (at && length) {
        memcpy(at, bytes, length);
        buffer->size += length;
    }
}

static void buffer_u8(struct encode_buffer *buffer, uint8_t value)
{
    buffer_add(buffer, &value, 1);
}

static void buffer_varint(struct encode_buffer *buffer, uint64_t value)
{
    uint8_t *at = buffer_room(buffer, 10);
    if (at)
        buffer->size += put_varint(at, value);
}

static void buffer_svarint(struct encode_buffer *buffer, int64_t value)
{
    buffer_varint(buffer, zigzag(value));
}

struct encoder *encoder_new(int level)
{
    struct encoder *encoder = calloc(1, sizeof *encoder);
    if (!encoder)
        return NULL;
    encoder->level = level ? level : 1;
    encoder->zstd = ZSTD_createCCtx();
    if (!encoder->zstd) {
        free(encoder);
        return NULL;
    }
    return encoder;
}

void encoder_delete(struct encoder *encoder)
{
    if (!encoder)
        return;
    ZSTD_freeCCtx(encoder->zstd);
    for (size_t i = 0; i < 64; i++)
        free(encoder->columns[i]);
    free(encoder->directory.bytes);
    free(encoder->data.bytes);
    free(encoder);
}

/* Whether a sample of the bytes looks random: then zstd would only cost time. Counts equal pairs, of which random
 * bytes have one in 256. */
static int looks_random(const uint8_t *bytes, size_t length)
{
    enum { SAMPLE = 1024 };
    if (length < 2 * SAMPLE)
        return 0;
    uint16_t counts[256] = { 0 };
    size_t step = (length - SAMPLE / 4) / 3;
    for (size_t run = 0; run < 4; run++)
        for (size_t i = 0; i < SAMPLE / 4; i++)
            counts[bytes[run * step + i]]++;
    uint32_t pairs = 0;
    for (size_t i = 0; i < 256; i++)
        pairs += (uint32_t)counts[i] * counts[i];
    return pairs < SAMPLE + SAMPLE * SAMPLE / 256 * 5 / 4;
}

/* Appends bytes to the data, compressed if that saves a sixteenth and readers would accept it. Returns the stored
 * size, which equals length if raw. */
static size_t add_packed(struct encoder *encoder, const uint8_t *bytes, size_t length)
{
    size_t bound = ZSTD_compressBound(length);
    if (length >= SMALLEST_FOR_ZSTD && !looks_random(bytes, length)) {
        uint8_t *at = buffer_room(&encoder->data, bound);
        if (!at)
            return length;
        size_t packed = ZSTD_compressCCtx(encoder->zstd, at, bound, bytes, length, encoder->level);
        if (!ZSTD_isError(packed) && packed < length - length / 16 && blob_plausible(packed, length)) {
            encoder->data.size += packed;
            return packed;
        }
    }
    buffer_add(&encoder->data, bytes, length);
    return length;
}

static void add_plane(struct encoder *encoder, const uint8_t *bytes, size_t length)
{
    if (!memcmp(bytes, bytes + 1, length - 1)) {
        buffer_varint(&encoder->directory, 0);
        buffer_u8(&encoder->directory, bytes[0]);
        return;
    }
    buffer_varint(&encoder->directory, add_packed(encoder, bytes, length));
}

/* Stores the residuals in as many byte planes as the largest one needs. */
static void add_planes(struct encoder *encoder, size_t count)
{
    const uint64_t *residuals = encoder->residuals;
    uint64_t any = 0;
    for (size_t i = 0; i < count; i++)
        any |= residuals[i];
    unsigned width = any ? (unsigned)(71 - __builtin_clzll(any)) / 8 : 1;
    buffer_u8(&encoder->directory, (uint8_t)width);
    for (unsigned plane = 0; plane < width; plane++) {
        for (size_t i = 0; i < count; i++)
            encoder->plane[i] = (uint8_t)(residuals[i] >> 8 * plane);
        add_plane(encoder, encoder->plane, count);
    }
}

static unsigned bit_length(uint64_t v)
{
    return v ? 64 - (unsigned)__builtin_clzll(v) : 0;
}

/* The residuals that a coding leaves over the sampled rows: their bits in sum, and the union of their bits. */
struct estimate {
    uint64_t bits, any;
};

static size_t encode_sample_row(size_t run, size_t count)
{
    return count <= SAMPLE_RUNS * SAMPLE_RUN ? run * SAMPLE_RUN : run * ((count - SAMPLE_RUN) / (SAMPLE_RUNS - 1));
}

#define FOR_SAMPLE(i, count)                                                                                          \
    for (size_t run_ = 0; run_ < SAMPLE_RUNS; run_++)                                                                 \
        for (size_t i = encode_sample_row(run_, count), end_ = i + SAMPLE_RUN; i < end_ && i < (count); i++)

static void estimate_add(struct estimate *estimate, uint64_t residual)
{
    estimate->bits += bit_length(residual);
    estimate->any |= residual;
}

/* Fills the estimates of OFFSET, DELTA, ZIGZAG and RELATIVE. */
static void estimate_codings(const int64_t *values, const int64_t *times, size_t count, struct estimate *estimates)
{
    int64_t min = values[0], min_delta = INT64_MAX, min_relative = INT64_MAX;
    FOR_SAMPLE(i, count) {
        min = values[i] < min ? values[i] : min;
        int64_t delta = i ? (int64_t)((uint64_t)values[i] - (uint64_t)values[i - 1]) : INT64_MAX;
        min_delta = delta < min_delta ? delta : min_delta;
        int64_t relative = times ? (int64_t)((uint64_t)values[i] - (uint64_t)times[i]) : 0;
        min_relative = relative < min_relative ? relative : min_relative;
    }
    FOR_SAMPLE(i, count) {
        uint64_t value = (uint64_t)values[i];
        uint64_t delta = i ? value - (uint64_t)values[i - 1] : (uint64_t)min_delta;
        estimate_add(&estimates[CODING_OFFSET], value - (uint64_t)min);
        estimate_add(&estimates[CODING_DELTA], delta - (uint64_t)min_delta);
        estimate_add(&estimates[CODING_ZIGZAG], zigzag((int64_t)delta));
        estimate_add(&estimates[CODING_RELATIVE],
                     times ? value - (uint64_t)times[i] - (uint64_t)min_relative : UINT64_MAX);
    }
}

/* Fills the dictionary and each row's entry; 0 if there are too many distinct values. */
static int build_dictionary(struct dictionary *dictionary, const int64_t *values, size_t count)
{
    memset(dictionary->index_plus_1, 0, sizeof dictionary->index_plus_1);
    dictionary->count = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t key = (uint64_t)values[i];
        size_t slot = hash_number(key) & (DICTIONARY_SLOTS - 1);
        while (dictionary->index_plus_1[slot] && dictionary->keys[slot] != key)
            slot = (slot + 1) & (DICTIONARY_SLOTS - 1);
        if (!dictionary->index_plus_1[slot]) {
            if (dictionary->count == DICTIONARY_MAX || dictionary->count > count / 4)
                return 0;
            dictionary->keys[slot] = key;
            dictionary->entries[dictionary->count++] = key;
            dictionary->index_plus_1[slot] = (uint16_t)dictionary->count;
        }
        dictionary->rows[i] = (uint8_t)(dictionary->index_plus_1[slot] - 1);
    }
    return 1;
}

static void add_dictionary(struct encoder *encoder, size_t count)
{
    struct dictionary *dictionary = &encoder->dictionary;
    buffer_varint(&encoder->directory, dictionary->count);
    uint64_t before = 0;
    for (size_t i = 0; i < dictionary->count; i++) {
        buffer_svarint(&encoder->directory, (int64_t)(dictionary->entries[i] - before));
        before = dictionary->entries[i];
    }
    add_plane(encoder, dictionary->rows, count);
}

/* Subtracts the least residual from all of them and returns it: the base. */
static int64_t encode_take_base(uint64_t *residuals, size_t count)
{
    int64_t min = (int64_t)residuals[0];
    for (size_t i = 1; i < count; i++)
        min = (int64_t)residuals[i] < min ? (int64_t)residuals[i] : min;
    for (size_t i = 0; i < count; i++)
        residuals[i] -= (uint64_t)min;
    return min;
}

static void encode_add_offset(struct encoder *encoder, const int64_t *values, const int64_t *times, size_t count)
{
    for (size_t i = 0; i < count; i++)
        encoder->residuals[i] = (uint64_t)values[i] - (times ? (uint64_t)times[i] : 0);
    buffer_svarint(&encoder->directory, encode_take_base(encoder->residuals, count));
    add_planes(encoder, count);
}

static void add_delta(struct encoder *encoder, const int64_t *values, size_t count)
{
    uint64_t *residuals = encoder->residuals;
    /* Any value will do that cannot become the minimum by itself. */
    residuals[0] = (uint64_t)values[1] - (uint64_t)values[0];
    for (size_t i = 1; i < count; i++)
        residuals[i] = (uint64_t)values[i] - (uint64_t)values[i - 1];
    uint64_t first_step = residuals[0];
    int64_t base = encode_take_base(residuals, count);
    buffer_svarint(&encoder->directory, (int64_t)((uint64_t)values[0] - first_step));
    buffer_svarint(&encoder->directory, base);
    add_planes(encoder, count);
}

static void add_zigzag(struct encoder *encoder, const int64_t *values, size_t count)
{
    encoder->residuals[0] = 0;
    for (size_t i = 1; i < count; i++)
        encoder->residuals[i] = zigzag((int64_t)((uint64_t)values[i] - (uint64_t)values[i - 1]));
    buffer_svarint(&encoder->directory, values[0]);
    add_planes(encoder, count);
}

/* Chooses among the codings that need two rows or more and are not constant. */
static enum column_coding encode_choose(struct encoder *encoder, const int64_t *values, const int64_t *times,
                                        size_t count)
{
    /* Bits a row, in eighths, that a coding must save if it makes rows depend on each other: the price of the slower
     * decoding. */
    static const uint8_t handicap[CODING_COUNT] = { [CODING_RELATIVE] = 2, [CODING_DELTA] = 4, [CODING_ZIGZAG] = 4 };
    struct estimate estimates[CODING_COUNT] = { 0 };
    estimate_codings(values, times, count, estimates);
    size_t sampled = count < SAMPLE_RUNS * SAMPLE_RUN ? count : SAMPLE_RUNS * SAMPLE_RUN;
    enum column_coding best = CODING_OFFSET;
    for (enum column_coding coding = CODING_DELTA; coding <= CODING_RELATIVE; coding++)
        if (estimates[coding].bits + handicap[coding] * sampled / 8 <
            estimates[best].bits + handicap[best] * sampled / 8)
            best = coding;
    /* A dictionary takes one plane at best, so a coding with one plane is as good. */
    if (estimates[best].any > UINT8_MAX && build_dictionary(&encoder->dictionary, values, count))
        best = CODING_DICTIONARY;
    return best;
}

static int encode_is_constant(const int64_t *values, size_t count)
{
    return !memcmp(values, values + 1, (count - 1) * sizeof *values);
}

static void add_bitmap(struct encoder *encoder, const uint64_t *nulls, size_t count)
{
    for (size_t i = 0; i < (count + 7) / 8; i++)
        encoder->bitmap[i] = (uint8_t)(nulls[i / 8] >> i % 8 * 8);
    add_plane(encoder, encoder->bitmap, (count + 7) / 8);
}

/* Encodes one column: its entry in the directory and its bytes in the data. Values of NULL rows hold a filler. */
static void encode_add_column(struct encoder *encoder, const int64_t *values, const uint64_t *nulls,
                              const int64_t *times, size_t count)
{
    int constant = encode_is_constant(values, count);
    enum column_coding coding = constant ? CODING_CONSTANT : encode_choose(encoder, values, times, count);
    buffer_u8(&encoder->directory, (uint8_t)(coding | (nulls ? NULLS_BITMAP : 0)));
    if (nulls)
        add_bitmap(encoder, nulls, count);
    switch (coding) {
    case CODING_CONSTANT: buffer_svarint(&encoder->directory, values[0]); break;
    case CODING_DELTA: add_delta(encoder, values, count); break;
    case CODING_ZIGZAG: add_zigzag(encoder, values, count); break;
    case CODING_DICTIONARY: add_dictionary(encoder, count); break;
    default: encode_add_offset(encoder, values, coding == CODING_RELATIVE ? times : NULL, count);
    }
}

static void encode_begin(struct encoder *encoder)
{
    encoder->directory.size = encoder->data.size = 0;
    encoder->directory.failed = encoder->data.failed = 0;
}

/* Assembles the chunk: room for the header, the size of the directory, the directory, the data. */
static int encode_finish(struct encoder *encoder, struct chunk_header header, struct encoded_chunk *out)
{
    if (encoder->directory.failed || encoder->data.failed)
        return ERR_NO_MEMORY;
    uint8_t prefix[10];
    size_t prefix_size = put_varint(prefix, encoder->directory.size);
    size_t payload_size = prefix_size + encoder->directory.size + encoder->data.size;
    uint8_t *bytes = malloc(CHUNK_HEADER_SIZE + payload_size);
    if (!bytes)
        return ERR_NO_MEMORY;
    uint8_t *at = bytes + CHUNK_HEADER_SIZE;
    memcpy(at, prefix, prefix_size);
    if (encoder->directory.size)
        memcpy(at + prefix_size, encoder->directory.bytes, encoder->directory.size);
    if (encoder->data.size)
        memcpy(at + prefix_size + encoder->directory.size, encoder->data.bytes, encoder->data.size);
    header.payload_size = (uint32_t)payload_size;
    header.payload_hash = hash_bytes(at, payload_size);
    *out = (struct encoded_chunk){ .header = header, .bytes = bytes, .size = CHUNK_HEADER_SIZE + payload_size };
    return 0;
}

static int encode_make_columns(struct encoder *encoder, uint64_t wanted)
{
    for (; wanted; wanted &= wanted - 1) {
        int64_t **column = &encoder->columns[__builtin_ctzll(wanted)];
        if (!*column && !(*column = malloc(CHUNK_MAX_ROWS * sizeof **column)))
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* Copies the columns out of the rows, a tile at a time, so that rows are read from memory once. A column that is
 * NULL all over a tile is left out there; fill_nulls() handles it. Reports which columns any row has, and which all
 * rows have. */
static int encode_gather(struct encoder *encoder, const uint64_t *rows, size_t columns, size_t count, uint64_t *any,
                         uint64_t *all)
{
    size_t stride = columns + 1;
    uint64_t known = columns < 64 ? (UINT64_C(1) << columns) - 1 : UINT64_MAX;
    *any = 0;
    *all = known;
    for (size_t first = 0; first < count; first += TILE_ROWS) {
        size_t end = first + TILE_ROWS < count ? first + TILE_ROWS : count;
        uint64_t here = 0;
        for (size_t i = first; i < end; i++) {
            here |= rows[i * stride];
            *all &= rows[i * stride];
        }
        here &= known;
        if ((here & ~*any) && encode_make_columns(encoder, here))
            return ERR_NO_MEMORY;
        *any |= here;
        for (uint64_t left = here; left; left &= left - 1) {
            int column = __builtin_ctzll(left);
            int64_t *values = encoder->columns[column];
            for (size_t i = first; i < end; i++)
                values[i] = (int64_t)rows[i * stride + 1 + (size_t)column];
        }
    }
    return 0;
}

/* Sets the NULL bits of a column. Its NULL rows get the value before them (the first ones: the first value), which
 * costs least in every coding and never widens the span of times. */
static void fill_nulls(struct encoder *encoder, const uint64_t *rows, size_t stride, size_t count, int column)
{
    int64_t *values = encoder->columns[column];
    memset(encoder->nulls, 0, (count + 63) / 64 * 8);
    size_t first = 0;
    while (!(rows[first * stride] >> column & 1))
        first++;
    int64_t before = values[first];
    for (size_t i = 0; i < count; i++) {
        uint64_t null = ~(rows[i * stride] >> column) & 1;
        encoder->nulls[i / 64] |= null << i % 64;
        before = values[i] = null ? before : values[i];
    }
}

static void widen_span(struct chunk_header *header, const int64_t *values, size_t count)
{
    int64_t min = header->first, max = header->last;
    for (size_t i = 0; i < count; i++) {
        min = values[i] < min ? values[i] : min;
        max = values[i] > max ? values[i] : max;
    }
    header->first = min;
    header->last = max;
}

int encode_rows(struct encoder *encoder, enum table_id table, const void *rows, size_t count, struct encoded_chunk *out)
{
    const struct schema_table *schema = &schema_tables[table];
    size_t stride = schema->column_count + 1;
    const uint64_t *words = rows;
    uint64_t any, all;
    if (encode_gather(encoder, words, schema->column_count, count, &any, &all))
        return ERR_NO_MEMORY;

    encode_begin(encoder);
    struct chunk_header header = {
        .kind = CHUNK_ROWS, .table = (uint16_t)table, .rows = (uint32_t)count, .first = INT64_MAX, .last = INT64_MIN
    };
    const int64_t *times = NULL; /* the first TIME column, if it has no NULLs */
    int times_seen = 0;
    for (size_t i = 0; i < schema->column_count; i++) {
        uint64_t bit = UINT64_C(1) << i;
        int is_first_time = schema->columns[i].type == COLUMN_TIME && !times_seen;
        times_seen |= is_first_time;
        if (!(any & bit)) {
            buffer_u8(&encoder->directory, NULLS_ALL);
            continue;
        }
        if (!(all & bit))
            fill_nulls(encoder, words, stride, count, (int)i);
        encode_add_column(encoder, encoder->columns[i], all & bit ? NULL : encoder->nulls, times, count);
        if (schema->columns[i].type == COLUMN_TIME)
            widen_span(&header, encoder->columns[i], count);
        if (is_first_time && all & bit)
            times = encoder->columns[i];
    }
    return encode_finish(encoder, header, out);
}

/* Copies a column and gives its NULL rows the value before them. Returns whether any row has a value. */
static int encode_copy_column(int64_t *to, const int64_t *values, const uint64_t *nulls, size_t count)
{
    int64_t before = 0;
    size_t first = 0;

    memcpy(to, values, count * sizeof *to);
    while (nulls && first < count && nulls[first / 64] >> first % 64 & 1)
        first++;
    if (first == count)
        return 0;
    before = to[first];
    for (size_t i = 0; nulls && i < count; i++)
        before = to[i] = nulls[i / 64] >> i % 64 & 1 ? before : to[i];
    return 1;
}

int encode_block(struct encoder *encoder, const struct encode_block *block, struct encoded_chunk *out)
{
    struct chunk_header header = {
        .kind = CHUNK_ROWS, .table = block->table, .rows = (uint32_t)block->rows, .first = INT64_MAX, .last = INT64_MIN
    };
    const int64_t *times = NULL; /* as in encode_rows() */
    int times_seen = 0;

    if (encode_make_columns(encoder, 3))
        return ERR_NO_MEMORY;
    encode_begin(encoder);
    for (size_t i = 0; i < block->column_count; i++) {
        int is_time = block->types[i] == COLUMN_TIME, is_first_time = is_time && !times_seen;
        int64_t *values = encoder->columns[is_first_time ? 0 : 1]; /* times are needed by the columns after them */
        times_seen |= is_first_time;
        if (!encode_copy_column(values, block->values[i], block->nulls[i], block->rows)) {
            buffer_u8(&encoder->directory, NULLS_ALL);
            continue;
        }
        encode_add_column(encoder, values, block->nulls[i], times, block->rows);
        if (is_time)
            widen_span(&header, values, block->rows);
        if (is_first_time && !block->nulls[i])
            times = values;
    }
    return encode_finish(encoder, header, out);
}

static void add_strings(struct encoder *encoder, const struct intern_string *strings, size_t count)
{
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        encoder->residuals[i] = strings[i].length;
        total += strings[i].length;
    }
    buffer_u8(&encoder->directory, CODING_BYTES);
    add_planes(encoder, count);
    buffer_varint(&encoder->directory, total);
    uint8_t *blob = malloc(total + 1);
    if (!blob) {
        encoder->data.failed = 1;
        return;
    }
    uint8_t *at = blob;
    for (size_t i = 0; i < count; i++) {
        memcpy(at, strings[i].bytes, strings[i].length);
        at += strings[i].length;
    }
    buffer_varint(&encoder->directory, add_packed(encoder, blob, total));
    free(blob);
}

int encode_strings(struct encoder *encoder, int64_t first_id, const struct intern_string *strings, size_t count,
                   struct encoded_chunk *out)
{
    int64_t *ids = encoder->columns[0] ? encoder->columns[0] : malloc(CHUNK_MAX_ROWS * sizeof *ids);
    if (!ids)
        return ERR_NO_MEMORY;
    encoder->columns[0] = ids;
    for (size_t i = 0; i < count; i++)
        ids[i] = first_id + (int64_t)i;
    encode_begin(encoder);
    encode_add_column(encoder, ids, NULL, NULL, count);
    add_strings(encoder, strings, count);
    struct chunk_header header = {
        .kind = CHUNK_ROWS,
        .table = TABLE_StringIds,
        .rows = (uint32_t)count,
        .first = first_id,
        .last = first_id + (int64_t)count - 1,
    };
    return encode_finish(encoder, header, out);
}

int encode_index(struct encoder *encoder, const int64_t *const *columns, size_t count, struct encoded_chunk *out)
{
    encode_begin(encoder);
    for (size_t i = 0; i < INDEX_COLUMN_COUNT; i++)
        encode_add_column(encoder, columns[i], NULL, NULL, count);
    struct chunk_header header = { .kind = CHUNK_INDEX, .rows = (uint32_t)count, .first = 1 };
    return encode_finish(encoder, header, out);
}

int encode_partial(struct encoder *encoder, struct chunk_header header, const void *bytes, size_t length,
                   struct encoded_chunk *out)
{
    encode_begin(encoder);
    buffer_varint(&encoder->directory, length);
    buffer_varint(&encoder->directory, add_packed(encoder, bytes, length));
    header.kind = CHUNK_PARTIAL;
    return encode_finish(encoder, header, out);
}

static void encode_add_name(struct encode_buffer *buffer, const char *name)
{
    size_t length = strlen(name);
    buffer_varint(buffer, length);
    buffer_add(buffer, name, length);
}

static void add_table_name(struct encode_buffer *plain, size_t id, const char *name, size_t column_count)
{
    buffer_varint(plain, id);
    encode_add_name(plain, name);
    buffer_varint(plain, column_count);
}

static int finish_tables(struct encoder *encoder, struct encode_buffer *plain, size_t count, struct encoded_chunk *out)
{
    encode_begin(encoder);
    if (plain->failed)
        encoder->data.failed = 1;
    else {
        buffer_varint(&encoder->directory, plain->size);
        buffer_varint(&encoder->directory, add_packed(encoder, plain->bytes, plain->size));
    }
    free(plain->bytes);
    struct chunk_header header = { .kind = CHUNK_SCHEMA, .rows = (uint32_t)count, .first = 1 };
    return encode_finish(encoder, header, out);
}

int encode_tables(struct encoder *encoder, const struct encode_table *tables, size_t count, struct encoded_chunk *out)
{
    struct encode_buffer plain = { 0 };
    for (size_t t = 0; t < count; t++) {
        add_table_name(&plain, tables[t].id, tables[t].name, tables[t].column_count);
        for (size_t i = 0; i < tables[t].column_count; i++) {
            encode_add_name(&plain, tables[t].columns[i]);
            buffer_u8(&plain, (uint8_t)tables[t].types[i]);
        }
    }
    return finish_tables(encoder, &plain, count, out);
}

int encode_schema(struct encoder *encoder, struct encoded_chunk *out)
{
    struct encode_buffer plain = { 0 };
    for (size_t table = 0; table < TABLE_COUNT; table++) {
        const struct schema_table *schema = &schema_tables[table];
        add_table_name(&plain, table, schema->name, schema->column_count);
        for (size_t i = 0; i < schema->column_count; i++) {
            encode_add_name(&plain, schema->columns[i].name);
            buffer_u8(&plain, (uint8_t)schema->columns[i].type);
        }
    }
    return finish_tables(encoder, &plain, TABLE_COUNT, out);
}
