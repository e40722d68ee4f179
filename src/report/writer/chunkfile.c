/* See chunkfile.h. */
#include "chunkfile.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/array.h"

int chunkfile_open(struct chunkfile *file, const char *path, int overwrite, struct error *err)
{
    *file = (struct chunkfile){ 0 };
    int code;
    if ((code = append_file_open(&file->output, path, overwrite, err)) != 0)
        return code;
    uint8_t header[FILE_HEADER_SIZE] = FORMAT_MAGIC;
    put_u32(header + 8, FORMAT_VERSION);
    if ((code = append_file_write(&file->output, header, sizeof header, OUTPUT_RESERVE)) != 0) {
        error_set_errno(err, "cannot write %s", path);
        append_file_discard(&file->output, path);
    }
    return code;
}

static int chunkfile_remember(struct chunkfile *file, uint64_t offset, const struct chunk_header *header)
{
    return ARRAY_PUSH(file->chunks, file->capacity, file->count, (struct chunkfile_entry){ offset, *header });
}

int chunkfile_put(struct chunkfile *file, const struct encoded_chunk *encoded, uint64_t keep)
{
    uint64_t offset = atomic_load_explicit(&file->output.end, memory_order_relaxed);
    if (chunkfile_remember(file, offset, &encoded->header)) {
        file->failed_errno = ENOMEM;
        return file->failed = ERR_NO_MEMORY;
    }
    chunk_header_put(encoded->bytes, &encoded->header, offset);
    file->failed = append_file_write(&file->output, encoded->bytes, encoded->size, keep);
    file->failed_errno = errno;
    if (file->failed)
        file->count--;
    return file->failed;
}

uint64_t chunkfile_index_room(const struct chunkfile *file)
{
    return 16384 + 32 * (uint64_t)file->count;
}

static int put_index_part(struct chunkfile *file, struct encoder *encoder, size_t first, size_t count)
{
    int64_t *columns[INDEX_COLUMN_COUNT];
    int64_t *values = malloc(count * INDEX_COLUMN_COUNT * sizeof *values);
    if (!values)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < INDEX_COLUMN_COUNT; i++)
        columns[i] = values + i * count;
    for (size_t i = 0; i < count; i++) {
        const struct chunkfile_entry *chunk = &file->chunks[first + i];
        columns[INDEX_OFFSET][i] = (int64_t)chunk->offset;
        columns[INDEX_SIZE][i] = (int64_t)chunk->header.payload_size + CHUNK_HEADER_SIZE;
        columns[INDEX_KIND][i] = chunk->header.kind;
        columns[INDEX_TABLE][i] = chunk->header.table;
        columns[INDEX_ROWS][i] = chunk->header.rows;
        columns[INDEX_FIRST][i] = chunk->header.first;
        columns[INDEX_LAST][i] = chunk->header.last;
    }
    struct encoded_chunk encoded = { 0 };
    int code = encode_index(encoder, (const int64_t *const *)columns, count, &encoded);
    if (code != 0)
        goto done;
    code = chunkfile_put(file, &encoded, 0);
done:
    free(encoded.bytes);
    free(values);
    return code;
}

int chunkfile_finish(struct chunkfile *file, struct encoder *encoder)
{
    uint64_t start = atomic_load(&file->output.end);
    size_t count = file->count, parts = 0;
    for (size_t first = 0; first < count; first += CHUNK_MAX_ROWS, parts++) {
        size_t rows = count - first < CHUNK_MAX_ROWS ? count - first : CHUNK_MAX_ROWS;
        int code = put_index_part(file, encoder, first, rows);
        if (code != 0)
            return code;
    }
    uint8_t bytes[CHUNK_HEADER_SIZE];
    struct encoded_chunk end = {
        .header = { .kind = CHUNK_END,
                    .rows = file->recovered != 0,
                    .first = (int64_t)start,
                    .last = (int64_t)parts,
                    .payload_hash = hash_bytes("", 0) },
        .bytes = bytes,
        .size = sizeof bytes,
    };
    return chunkfile_put(file, &end, 0);
}

int chunkfile_close(struct chunkfile *file)
{
    free(file->chunks);
    int code = append_file_close(&file->output);
    *file = (struct chunkfile){ .output = { .fd = -1 } };
    return code;
}

void chunkfile_discard(struct chunkfile *file, const char *path)
{
    free(file->chunks);
    append_file_discard(&file->output, path);
    *file = (struct chunkfile){ .output = { .fd = -1 } };
}
