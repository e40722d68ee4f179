/* Looks up results in the index, and reads them: see partial_chunks.h. */
#include "partial_chunks.h"

#include <stdlib.h>

#include "reader_state.h"

uint64_t report_rows_hash(const struct report *report)
{
    uint64_t hash = 0;

    for (size_t i = 0; i < report->found_count; i++) {
        const struct reader_found_chunk *found = &report->found[i];
        uint64_t about[] = { found->offset,
                             found->size,
                             found->header.table,
                             found->header.rows,
                             (uint64_t)found->header.first,
                             (uint64_t)found->header.last };
        if (found->header.kind == CHUNK_ROWS)
            hash = hash_bytes_seeded(about, sizeof about, hash);
    }
    return hash;
}

uint64_t report_partials_limit(uint64_t file_bytes)
{
    const uint64_t of_small_files = (uint64_t)64 << 10;

    return file_bytes / 4 > of_small_files ? file_bytes / 4 : of_small_files;
}

/* A window or a damaged or recovered report lacks rows, so its partial results are not used. */
static const struct reader_found_chunk *partial_chunks_find(const struct report *report, uint64_t key)
{
    if (!report->has_index || !report->complete || report->recovered || report->damaged_chunks || report->parts ||
        report->is_window)
        return NULL;
    for (size_t i = report->found_count; i-- > 0;) {
        const struct reader_found_chunk *found = &report->found[i];
        if (found->header.kind == CHUNK_PARTIAL && (uint64_t)found->header.first == key)
            return (uint64_t)found->header.last == report_rows_hash(report) ? found : NULL;
    }
    return NULL;
}

int report_has_partial(const struct report *report, uint64_t key)
{
    return partial_chunks_find(report, key) != NULL;
}

/* Reads a chunk into memory of its size: 0, ERR_IO or ERR_CORRUPT. */
static int partial_chunks_read_chunk(struct report *report, const struct reader_found_chunk *found, uint8_t *bytes)
{
    const uint8_t *payload = bytes + CHUNK_HEADER_SIZE;
    struct chunk_header header;

    if (report->host.read_at(report->host.context, found->offset, bytes, found->size))
        return ERR_IO;
    if (!chunk_header_get(bytes, found->offset, &header) || header.kind != CHUNK_PARTIAL ||
        header.payload_size != found->size - CHUNK_HEADER_SIZE || header.first != found->header.first ||
        header.last != found->header.last ||
        !hash_matches(header.payload_hash, hash_bytes(payload, header.payload_size)))
        return ERR_CORRUPT;
    return 0;
}

static int unpack_partial(struct report *report, struct format_cursor packed, struct report_partial *out)
{
    struct format_cursor sizes = { 0 };
    uint64_t sizes_length = cursor_varint(&packed);
    int code;

    sizes.at = cursor_take(&packed, sizes_length);
    if (!sizes.at)
        return ERR_CORRUPT;
    sizes.end = sizes.at + sizes_length;
    uint64_t length = cursor_varint(&sizes), stored = cursor_varint(&sizes);
    if (sizes.failed || stored != (uint64_t)(packed.end - packed.at) || stored > length ||
        !blob_plausible(stored, length) || length > report_partials_limit(report->host.size))
        return ERR_CORRUPT;
    out->memory = malloc(length + 1);
    if (!out->memory)
        return ERR_NO_MEMORY;
    if ((code = unpack(&report->host, packed.at, stored, out->memory, length)) != 0) {
        free(out->memory);
        out->memory = NULL;
        return code;
    }
    out->bytes = out->memory;
    out->length = length;
    return 0;
}

int report_read_partial(struct report *report, uint64_t key, struct report_partial *out)
{
    const struct reader_found_chunk *found = partial_chunks_find(report, key);
    int code;

    *out = (struct report_partial){ 0 };
    if (!found)
        return ERR_NOT_FOUND;
    uint8_t *bytes = malloc(found->size);
    if (!bytes)
        return ERR_NO_MEMORY;
    if ((code = partial_chunks_read_chunk(report, found, bytes)) != 0)
        goto free_bytes;
    code = unpack_partial(report, (struct format_cursor){ bytes + CHUNK_HEADER_SIZE, bytes + found->size, 0 }, out);
free_bytes:
    free(bytes);
    return code;
}
