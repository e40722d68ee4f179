/* make_corpus FOLDER: writes the small reports from which fuzzing starts, one per thing that a file can contain. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/writer/chunkfile.h"
#include "report/writer/writer.h"

static uint64_t state = 42;

static int64_t noise(unsigned bits)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (int64_t)(state >> (64 - bits));
}

static void add_event(struct writer *writer, int64_t i)
{
    struct row_NVTX_EVENTS row = { 0 };
    ROW_SET(&row, NVTX_EVENTS, start, i * 700 + noise(9));
    if (i % 5)
        ROW_SET(&row, NVTX_EVENTS, end, row.start + noise(12));
    ROW_SET(&row, NVTX_EVENTS, eventType, 59);
    ROW_SET(&row, NVTX_EVENTS, globalTid, INT64_C(0x1000000000000) * (i / 40 % 3) + 77);
    ROW_SET(&row, NVTX_EVENTS, textId, i % 4);
    ROW_SET(&row, NVTX_EVENTS, uint64Value, noise(64));
    if (i % 2)
        ROW_SET(&row, NVTX_EVENTS, doubleValue, (double)i / 3);
    writer_append(writer, TABLE_NVTX_EVENTS, &row);
}

static void nothing(struct writer *writer)
{
    (void)writer;
}

static void events(struct writer *writer)
{
    writer_string(writer, "range", 5);
    for (int64_t i = 0; i < 300; i++)
        add_event(writer, i);
}

static void many_flushes(struct writer *writer)
{
    for (int64_t i = 0; i < 12; i++) {
        char name[32];
        writer_string(writer, name, (size_t)snprintf(name, sizeof name, "name %d", (int)i));
        add_event(writer, i);
        writer_flush(writer, NULL);
    }
}

static void strings(struct writer *writer)
{
    char text[400];
    for (int i = 0; i < 120; i++)
        writer_string(writer, text, (size_t)snprintf(text, sizeof text, "at::native::kernel<%*d>", 1 + i % 90, i * 31));
}

static void calls(struct writer *writer)
{
    for (int64_t i = 0; i < 200; i++) {
        struct row_OSRT_API row = { 0 };
        ROW_SET(&row, OSRT_API, start, i * 1000);
        ROW_SET(&row, OSRT_API, end, i * 1000 + noise(20));
        ROW_SET(&row, OSRT_API, globalTid, i % 2 ? INT64_MIN : INT64_MAX);
        ROW_SET(&row, OSRT_API, returnValue, i % 9 ? 1 : -1);
        writer_append(writer, TABLE_OSRT_API, &row);
    }
}

static const struct {
    const char *name;
    void (*fill)(struct writer *writer);
} seeds[] = { { "empty", nothing },
              { "events", events },
              { "many_flushes", many_flushes },
              { "strings", strings },
              { "calls", calls } };

static int put_and_free(struct chunkfile *file, struct encoded_chunk *chunk)
{
    int status = chunkfile_put(file, chunk, 0);
    free(chunk->bytes);
    return status;
}

/* A report with two tables in its schema instead of all: a fuzzer gets further with few bytes. */
static int make_tiny(const char *path)
{
    uint8_t schema[160] = { 0 };
    uint8_t text[] = "\x00\x09StringIds\x02\x02id\x00\x05value\x03?\x0bTACHO_RANGE\x03\x05start\x01\x03"
                     "end\x01\x05"
                     "cause\x03";
    *(uint8_t *)memchr(text, '?', sizeof text) = TABLE_TACHO_RANGE;
    size_t size = sizeof text - 1;
    uint8_t *payload = schema + CHUNK_HEADER_SIZE;
    payload[0] = 2;
    payload[1] = payload[2] = (uint8_t)size;
    memcpy(payload + 3, text, size);
    struct encoded_chunk chunk = { .header = { .kind = CHUNK_SCHEMA,
                                         .rows = 2,
                                         .payload_size = (uint32_t)size + 3,
                                         .payload_hash = hash_bytes(payload, size + 3),
                                         .first = 1, },
                             .bytes = schema,
                             .size = CHUNK_HEADER_SIZE + size + 3, };
    struct chunkfile file;
    struct encoder *encoder = encoder_new(0);
    if (!encoder || chunkfile_open(&file, path, 1, NULL) || chunkfile_put(&file, &chunk, 0))
        return -1;
    const struct intern_string words[] = { { "", 0 }, { "a", 1 }, { "range", 5 } };
    struct row_TACHO_RANGE rows[12];
    for (int64_t i = 0; i < 12; i++)
        rows[i] = (struct row_TACHO_RANGE){
            .present = i == 5 ? 1 : 3,
            .start = i * 100 + noise(5),
            .end = i * 100 + 50 + noise(4),
        };
    if (encode_strings(encoder, 0, words, 3, &chunk) || put_and_free(&file, &chunk) ||
        encode_rows(encoder, TABLE_TACHO_RANGE, rows, 12, &chunk) || put_and_free(&file, &chunk))
        return -1;
    int status = chunkfile_finish(&file, encoder);
    encoder_delete(encoder);
    return chunkfile_close(&file) | status;
}

int main(int argc, char **argv)
{
    char path[4096];
    for (size_t i = 0; argc == 2 && i < COUNT_OF(seeds); i++) {
        struct writer *writer;
        struct error err;
        snprintf(path, sizeof path, "%s/%s", argv[1], seeds[i].name);
        if (writer_open(path, &(struct writer_options){ .overwrite = 1, .workers = 1 }, &writer, &err)) {
            fprintf(stderr, "make_corpus: %s\n", err.text);
            return 1;
        }
        seeds[i].fill(writer);
        if (writer_close(writer, &err))
            return 1;
    }
    return argc != 2 || snprintf(path, sizeof path, "%s/tiny", argv[1]) < 0 || make_tiny(path);
}
