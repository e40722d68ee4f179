/* Finds the chunks of a file: from its index if it has a valid one, else by stepping from header to header. After
 * damage the scan searches for the next valid header and counts the bytes in between. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "reader_state.h"

#define WINDOW 65536

static int add_found(struct report *report, uint64_t offset, const struct chunk_header *header)
{
    return ARRAY_PUSH(report->found, report->found_capacity, report->found_count,
                      (struct reader_found_chunk){
                          .offset = offset,
                          .size = header->payload_size + CHUNK_HEADER_SIZE,
                          .header = *header,
                      });
}

/* ---- the index ------------------------------------------------------------------------------------------------- */

/* Checks the rows of an index chunk: chunks in order, disjoint, and before the index. */
static int add_index_rows(struct report *report, const int64_t *const *columns, size_t rows, uint64_t *end,
                          uint64_t limit)
{
    for (size_t i = 0; i < rows; i++) {
        int64_t offset = columns[INDEX_OFFSET][i], size = columns[INDEX_SIZE][i];
        int64_t kind = columns[INDEX_KIND][i], table = columns[INDEX_TABLE][i], count = columns[INDEX_ROWS][i];
        if (offset < (int64_t)*end || size < CHUNK_HEADER_SIZE ||
            size > CHUNK_HEADER_SIZE + (int64_t)CHUNK_MAX_PAYLOAD || (uint64_t)size > limit ||
            (uint64_t)offset > limit - (uint64_t)size)
            return ERR_CORRUPT;
        if (kind < 0 || kind > UINT8_MAX || table < 0 || table > UINT16_MAX || count < 0 || count > CHUNK_MAX_ROWS)
            return ERR_CORRUPT;
        struct chunk_header header = {
            .kind = (uint8_t)kind,
            .table = (uint16_t)table,
            .rows = (uint32_t)count,
            .payload_size = (uint32_t)(size - CHUNK_HEADER_SIZE),
            .first = columns[INDEX_FIRST][i],
            .last = columns[INDEX_LAST][i],
        };
        if (add_found(report, (uint64_t)offset, &header))
            return ERR_NO_MEMORY;
        *end = (uint64_t)(offset + size);
    }
    return 0;
}

static int decode_index(struct report *report, struct reader_scratch *scratch, const struct chunk_header *header,
                        uint64_t *end, uint64_t limit)
{
    struct decode_column *views = scratch->views;
    if (columns_parse(scratch->chunk + CHUNK_HEADER_SIZE, header->payload_size, header->rows, views,
                      INDEX_COLUMN_COUNT))
        return ERR_CORRUPT;
    int64_t *values = malloc((size_t)header->rows * INDEX_COLUMN_COUNT * sizeof *values);
    if (!values)
        return ERR_NO_MEMORY;
    int code;
    const int64_t *columns[INDEX_COLUMN_COUNT];
    for (size_t i = 0; i < INDEX_COLUMN_COUNT; i++) {
        int64_t *column = values + i * header->rows;
        uint64_t nulls[CHUNK_MAX_ROWS / 64];
        int has_nulls;
        columns[i] = column;
        if ((code = column_decode(&report->host, &scratch->decode, &views[i], header->rows, NULL, column, nulls,
                                  &has_nulls)) != 0)
            goto free_values;
        if (has_nulls) {
            code = ERR_CORRUPT;
            goto free_values;
        }
    }
    code = add_index_rows(report, columns, header->rows, end, limit);
free_values:
    free(values);
    return code;
}

/* Reads the index. ERR_CORRUPT if there is no valid one: then the file is scanned. */
static int read_index(struct report *report, struct reader_scratch *scratch)
{
    uint64_t size = report->host.size;
    if (size < FILE_HEADER_SIZE + CHUNK_HEADER_SIZE)
        return ERR_CORRUPT;
    uint64_t end_offset = size - CHUNK_HEADER_SIZE;
    struct chunk_header end, header;
    int code;
    if ((code = reader_chunk_read_at(report, end_offset, CHUNK_HEADER_SIZE, scratch, &end)) != 0)
        return code;
    if (end.kind != CHUNK_END || end.first < FILE_HEADER_SIZE || (uint64_t)end.first > end_offset || end.last < 0)
        return ERR_CORRUPT;
    uint64_t at = (uint64_t)end.first, before = FILE_HEADER_SIZE;
    for (int64_t part = 0; part < end.last; part++) {
        uint8_t bytes[CHUNK_HEADER_SIZE];
        if (end_offset - at < CHUNK_HEADER_SIZE ||
            report->host.read_at(report->host.context, at, bytes, sizeof bytes) ||
            !chunk_header_get(bytes, at, &header) || header.kind != CHUNK_INDEX ||
            header.payload_size > end_offset - at - CHUNK_HEADER_SIZE)
            return ERR_CORRUPT;
        if ((code = reader_chunk_read_at(report, at, header.payload_size + CHUNK_HEADER_SIZE, scratch, &header)) != 0)
            return code;
        if ((code = decode_index(report, scratch, &header, &before, (uint64_t)end.first)) != 0)
            return code;
        at += header.payload_size + CHUNK_HEADER_SIZE;
    }
    report->recovered = end.rows != 0;
    return at == end_offset ? 0 : ERR_CORRUPT;
}

/* ---- scanning -------------------------------------------------------------------------------------------------- */

/* A window on the file that moves forward. */
struct find_chunks_window {
    struct report *report;
    uint8_t bytes[WINDOW];
    uint64_t start;
    size_t length;
};

/* Returns `length` bytes at `offset`, or NULL if the file ends before them or cannot be read. */
static const uint8_t *window_at(struct find_chunks_window *window, uint64_t offset, size_t length)
{
    uint64_t size = window->report->host.size;
    if (offset > size || size - offset < length)
        return NULL;
    if (offset < window->start || offset - window->start > window->length ||
        window->length - (offset - window->start) < length) {
        size_t want = size - offset < WINDOW ? (size_t)(size - offset) : WINDOW;
        window->length = 0;
        if (window->report->host.read_at(window->report->host.context, offset, window->bytes, want))
            return NULL;
        window->start = offset;
        window->length = want;
    }
    return window->bytes + (offset - window->start);
}

/* The next offset at which a chunk begins that lies completely in the file; the file's size if there is none. */
static uint64_t find_chunks_next_chunk(struct find_chunks_window *window, uint64_t offset, struct chunk_header *header)
{
    uint64_t size = window->report->host.size;
    static const uint8_t magic[4] = { 'T', 'C', 'H', 'K' };
    while (offset < size && size - offset >= CHUNK_HEADER_SIZE) {
        const uint8_t *at = window_at(window, offset, CHUNK_HEADER_SIZE);
        if (!at)
            return size;
        size_t length = window->length - (size_t)(offset - window->start);
        const uint8_t *hit = memmem(at, length, magic, sizeof magic);
        if (!hit) {
            offset += length - (sizeof magic - 1);
            continue;
        }
        offset += (uint64_t)(hit - at);
        const uint8_t *bytes = window_at(window, offset, CHUNK_HEADER_SIZE);
        if (!bytes)
            return size;
        if (chunk_header_get(bytes, offset, header) && header->payload_size <= size - offset - CHUNK_HEADER_SIZE)
            return offset;
        offset++;
    }
    return size;
}

/* A tail that was not written completely, by a writer that stopped or still runs, is not damage. */
static int is_unfinished_tail(struct find_chunks_window *window, uint64_t offset)
{
    uint64_t left = window->report->host.size - offset;
    if (left < CHUNK_HEADER_SIZE)
        return 1;
    struct chunk_header header;
    const uint8_t *bytes = window_at(window, offset, CHUNK_HEADER_SIZE);
    return bytes && chunk_header_get(bytes, offset, &header) && header.payload_size > left - CHUNK_HEADER_SIZE;
}

/* Behind the end of a complete file there may be results of its rows with another index and another end
 * (report/writer/append_partials.h). If their writer was stopped, or still runs, no row is missing. */
static void find_chunks_take_ending(struct report *report, const struct chunk_header *header)
{
    if (header->kind == CHUNK_END) {
        report->complete = 1;
        report->recovered = header->rows != 0;
    } else if (header->kind != CHUNK_PARTIAL && header->kind != CHUNK_INDEX) {
        report->complete = report->recovered = 0;
    }
}

static int scan_file(struct report *report)
{
    struct find_chunks_window *window = malloc(sizeof *window);
    if (!window)
        return ERR_NO_MEMORY;
    window->report = report;
    window->start = 0;
    window->length = 0;
    uint64_t offset = FILE_HEADER_SIZE, size = report->host.size;
    int code = 0;
    while (offset < size) {
        struct chunk_header header;
        uint64_t next = find_chunks_next_chunk(window, offset, &header);
        if (next == size && (report->complete || is_unfinished_tail(window, offset))) {
            report->cut_bytes = next - offset;
        } else if (next != offset) {
            report->damaged_chunks++;
            report->damaged_bytes += next - offset;
        }
        if (next >= size)
            break;
        if ((code = add_found(report, next, &header)) != 0)
            goto free_window;
        offset = next + header.payload_size + CHUNK_HEADER_SIZE;
        find_chunks_take_ending(report, &header);
    }
free_window:
    free(window);
    return code;
}

/* A file is scanned only after a crash or damage. So every payload is checked now, and the tables count only good
 * rows. */
static void verify_one(void *argument, int worker, size_t i)
{
    (void)worker;
    struct report *report = argument;
    struct reader_found_chunk *found = &report->found[i];
    struct reader_scratch *scratch = reader_scratch_take(report);
    struct chunk_header header;
    if (!scratch || reader_chunk_read_at(report, found->offset, found->size, scratch, &header)) {
        report->damaged_chunks++;
        report->damaged_bytes += found->size;
        found->header.kind = 0;
    }
    if (scratch)
        reader_scratch_give(report, scratch);
}

static int try_index(struct report *report)
{
    struct reader_scratch *scratch = reader_scratch_take(report);
    if (!scratch)
        return ERR_NO_MEMORY;
    int code = read_index(report, scratch);
    reader_scratch_give(report, scratch);
    return code;
}

static int find_chunks(struct report *report)
{
    int code = try_index(report), is_damaged = code == ERR_CORRUPT || code == ERR_IO;
    if (code != 0 && !is_damaged)
        return code;
    if (!is_damaged) {
        report->has_index = report->complete = 1;
        return 0;
    }
    report->found_count = 0;
    report->recovered = 0;
    if ((code = scan_file(report)) != 0)
        return code;
    report->host.parallel_for(report->host.context, report->found_count, verify_one, report);
    return 0;
}

static int check_file_header(struct report *report, struct error *err)
{
    uint8_t header[FILE_HEADER_SIZE];
    int code;
    if (report->host.size < sizeof header)
        return error_set(err, ERR_BAD_FORMAT, "it is too short to be a report");
    if ((code = report->host.read_at(report->host.context, 0, header, sizeof header)) != 0)
        return error_set(err, code, "the file cannot be read");
    if (memcmp(header, FORMAT_MAGIC, 8))
        return error_set(err, ERR_BAD_FORMAT, "it is not a Tacho report");
    if (get_u32(header + 8) != FORMAT_VERSION)
        return error_set(err, ERR_VERSION,
                         "it has format %u, and this version reads format %d; use a newer "
                         "tacho",
                         get_u32(header + 8), FORMAT_VERSION);
    return 0;
}

int report_find_chunks(struct report *report, struct error *err)
{
    int code;
    if ((code = check_file_header(report, err)) != 0)
        return code;
    return (code = find_chunks(report)) != 0 ? error_set(err, code, "%s", error_name(code)) : 0;
}
