/* The decoder; see decode.h. All arithmetic on values is modulo 2^64: a hostile base can produce nonsense, but no
 * undefined behaviour. */
#include "decode.h"

#include "base/error.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3") /* the loops over columns must become vector code */
#endif

static void parse_plane(struct format_cursor *directory, struct format_cursor *data, size_t length,
                        struct decode_plane *view)
{
    uint64_t stored = cursor_varint(directory);
    if (!stored) {
        *view = (struct decode_plane){ .constant = cursor_u8(directory) };
        return;
    }
    if (stored > length)
        directory->failed = 1;
    else
        *view = (struct decode_plane){ .bytes = cursor_take(data, stored), .stored = (uint32_t)stored };
}

static void parse_planes(struct format_cursor *directory, struct format_cursor *data, size_t rows,
                         struct decode_column *view)
{
    view->width = cursor_u8(directory);
    if (view->width < 1 || view->width > 8) {
        directory->failed = 1;
        return;
    }
    for (unsigned i = 0; i < view->width; i++)
        parse_plane(directory, data, rows, &view->planes[i]);
}

static void parse_dictionary(struct format_cursor *directory, struct format_cursor *data, size_t rows,
                             struct decode_column *view)
{
    uint64_t count = cursor_varint(directory);
    if (count < 1 || count > 256) {
        directory->failed = 1;
        return;
    }
    view->entry_count = (uint32_t)count;
    view->entries = directory->at;
    for (uint64_t i = 0; i < count; i++)
        cursor_varint(directory);
    view->entries_end = directory->at;
    view->width = 1;
    parse_plane(directory, data, rows, &view->planes[0]);
}

static void parse_bytes(struct format_cursor *directory, struct format_cursor *data, size_t rows,
                        struct decode_column *view)
{
    parse_planes(directory, data, rows, view);
    uint64_t size = cursor_varint(directory), stored = cursor_varint(directory);
    if (view->width > 4 || stored > size || size > BLOB_MAX_BYTES || !blob_plausible(stored, size)) {
        directory->failed = 1;
        return;
    }
    view->blob_size = size;
    view->blob_stored = stored;
    view->blob = cursor_take(data, stored);
}

static void parse_column(struct format_cursor *directory, struct format_cursor *data, size_t rows,
                         struct decode_column *view)
{
    uint8_t tag = cursor_u8(directory);
    *view = (struct decode_column){ .coding = tag & CODING_MASK, .null_mode = tag & (uint8_t)~CODING_MASK };
    if (tag == NULLS_ALL)
        return;
    if (view->null_mode == NULLS_BITMAP)
        parse_plane(directory, data, (rows + 7) / 8, &view->bitmap);
    else if (view->null_mode)
        directory->failed = 1;
    if (view->coding != CODING_DICTIONARY && view->coding != CODING_BYTES)
        view->start = cursor_svarint(directory);
    switch (view->coding) {
    case CODING_CONSTANT: break;
    case CODING_DELTA:
        view->base = cursor_svarint(directory);
        parse_planes(directory, data, rows, view);
        break;
    case CODING_OFFSET:
    case CODING_ZIGZAG:
    case CODING_RELATIVE: parse_planes(directory, data, rows, view); break;
    case CODING_DICTIONARY: parse_dictionary(directory, data, rows, view); break;
    case CODING_BYTES: parse_bytes(directory, data, rows, view); break;
    default: directory->failed = 1;
    }
}

int columns_parse(const uint8_t *payload, size_t size, size_t rows, struct decode_column *views, size_t count)
{
    struct format_cursor data = { payload, payload + size, 0 };
    uint64_t directory_size = cursor_varint(&data);
    const uint8_t *start = cursor_take(&data, directory_size);
    if (!start || !rows)
        return ERR_CORRUPT;
    struct format_cursor directory = { start, start + directory_size, 0 };
    for (size_t i = 0; i < count && !directory.failed && !data.failed; i++)
        parse_column(&directory, &data, rows, &views[i]);
    if (directory.failed || data.failed || directory.at != directory.end || data.at != data.end)
        return ERR_CORRUPT;
    return 0;
}

int unpack(const struct report_host *host, const uint8_t *bytes, size_t stored, uint8_t *raw, size_t raw_size)
{
    if (stored == raw_size) {
        if (stored)
            memcpy(raw, bytes, stored);
        return 0;
    }
    return host->decompress(host->context, bytes, stored, raw, raw_size) ? ERR_CORRUPT : 0;
}

/* The plane's bytes: in place if stored raw, else decompressed into scratch. NULL if that fails. */
static const uint8_t *plane_bytes(const struct report_host *host, const struct decode_plane *plane, size_t length,
                                  uint8_t *scratch)
{
    if (!plane->bytes)
        return memset(scratch, plane->constant, length);
    if (plane->stored == length)
        return plane->bytes;
    return unpack(host, plane->bytes, plane->stored, scratch, length) ? NULL : scratch;
}

/* Combines the planes into values, two planes at a time: wide columns are rare, and this keeps every loop simple
 * enough for the compiler to vectorise. */
static int join_planes(const struct report_host *host, struct decode_scratch *scratch, const struct decode_column *view,
                       size_t rows, uint64_t *values)
{
    uint64_t high = 0; /* constant planes cost no pass of their own */
    const uint8_t *bytes[8];
    unsigned shifts[8], count = 0;
    for (unsigned i = 0; i < view->width; i++) {
        if (!view->planes[i].bytes) {
            high |= (uint64_t)view->planes[i].constant << 8 * i;
            continue;
        }
        bytes[count] = plane_bytes(host, &view->planes[i], rows, scratch->planes[i]);
        if (!bytes[count])
            return ERR_CORRUPT;
        shifts[count++] = 8 * i;
    }
    if (count == 0)
        for (size_t r = 0; r < rows; r++)
            values[r] = high;
    else if (count == 1)
        for (size_t r = 0; r < rows; r++)
            values[r] = high | (uint64_t)bytes[0][r] << shifts[0];
    else
        for (size_t r = 0; r < rows; r++)
            values[r] = high | (uint64_t)bytes[0][r] << shifts[0] | (uint64_t)bytes[1][r] << shifts[1];
    for (unsigned i = 2; i < count; i += 2) {
        if (i + 1 == count)
            for (size_t r = 0; r < rows; r++)
                values[r] |= (uint64_t)bytes[i][r] << shifts[i];
        else
            for (size_t r = 0; r < rows; r++)
                values[r] |= (uint64_t)bytes[i][r] << shifts[i] | (uint64_t)bytes[i + 1][r] << shifts[i + 1];
    }
    return 0;
}

static int decode_dictionary(const struct report_host *host, struct decode_scratch *scratch,
                             const struct decode_column *view, size_t rows, uint64_t *values)
{
    uint64_t entries[256] = { 0 };
    struct format_cursor cursor = { view->entries, view->entries_end, 0 };
    uint64_t before = 0;
    for (uint32_t i = 0; i < view->entry_count; i++)
        before = entries[i] = before + (uint64_t)cursor_svarint(&cursor);
    const uint8_t *indexes = plane_bytes(host, &view->planes[0], rows, scratch->planes[0]);
    if (!indexes)
        return ERR_CORRUPT;
    uint8_t largest = 0;
    for (size_t r = 0; r < rows; r++)
        largest = indexes[r] > largest ? indexes[r] : largest;
    if (largest >= view->entry_count)
        return ERR_CORRUPT;
    for (size_t r = 0; r < rows; r++)
        values[r] = entries[indexes[r]];
    return 0;
}

static int decode_values(const struct report_host *host, struct decode_scratch *scratch,
                         const struct decode_column *view, size_t rows, const int64_t *times, uint64_t *values)
{
    uint64_t start = (uint64_t)view->start, base = (uint64_t)view->base;
    if (view->coding == CODING_CONSTANT) {
        for (size_t r = 0; r < rows; r++)
            values[r] = start;
        return 0;
    }
    if (view->coding == CODING_DICTIONARY)
        return decode_dictionary(host, scratch, view, rows, values);
    if (view->coding == CODING_BYTES || (view->coding == CODING_RELATIVE && !times))
        return ERR_CORRUPT;
    if (join_planes(host, scratch, view, rows, values))
        return ERR_CORRUPT;
    switch (view->coding) {
    case CODING_OFFSET:
        for (size_t r = 0; r < rows; r++)
            values[r] += start;
        break;
    case CODING_RELATIVE:
        for (size_t r = 0; r < rows; r++)
            values[r] += start + (uint64_t)times[r];
        break;
    case CODING_DELTA:
        for (size_t r = 0; r < rows; r++)
            start = values[r] += start + base;
        break;
    case CODING_ZIGZAG:
        for (size_t r = 0; r < rows; r++)
            start = values[r] = start + (uint64_t)unzigzag(values[r]);
        break;
    }
    return 0;
}

static int decode_nulls(const struct report_host *host, struct decode_scratch *scratch,
                        const struct decode_column *view, size_t rows, int64_t *values, uint64_t *nulls)
{
    const uint8_t *bits = plane_bytes(host, &view->bitmap, (rows + 7) / 8, scratch->bitmap);
    if (!bits)
        return ERR_CORRUPT;
    size_t words = (rows + 63) / 64;
    memset(nulls, 0, words * 8);
    for (size_t i = 0; i < (rows + 7) / 8; i++)
        nulls[i / 8] |= (uint64_t)bits[i] << i % 8 * 8;
    if (rows % 64)
        nulls[words - 1] &= (UINT64_C(1) << rows % 64) - 1;
    for (size_t r = 0; r < rows; r++)
        values[r] &= (int64_t)(nulls[r / 64] >> r % 64 & 1) - 1;
    return 0;
}

int column_decode(const struct report_host *host, struct decode_scratch *scratch, const struct decode_column *view,
                  size_t rows, const int64_t *times, int64_t *values, uint64_t *nulls, int *has_nulls)
{
    *has_nulls = view->null_mode != 0;
    if (view->null_mode == NULLS_ALL) {
        memset(values, 0, rows * sizeof *values);
        memset(nulls, 0xff, rows / 64 * 8);
        if (rows % 64)
            nulls[rows / 64] = (UINT64_C(1) << rows % 64) - 1;
        return 0;
    }
    int code = decode_values(host, scratch, view, rows, times, (uint64_t *)values);
    if (code != 0)
        return code;
    return view->null_mode == NULLS_BITMAP ? decode_nulls(host, scratch, view, rows, values, nulls) : 0;
}

int strings_decode(const struct report_host *host, struct decode_scratch *scratch, const struct decode_column *view,
                   size_t rows, uint32_t *offsets, uint8_t *blob)
{
    uint64_t *lengths = (uint64_t *)scratch->times;
    if (view->coding != CODING_BYTES || view->null_mode || join_planes(host, scratch, view, rows, lengths))
        return ERR_CORRUPT;
    uint64_t total = 0;
    for (size_t r = 0; r < rows; r++) {
        offsets[r] = (uint32_t)total;
        total += lengths[r]; /* below 2^32 each, so the sum of 32768 cannot wrap */
        if (total > view->blob_size)
            return ERR_CORRUPT;
    }
    offsets[rows] = (uint32_t)total;
    if (total != view->blob_size)
        return ERR_CORRUPT;
    return unpack(host, view->blob, view->blob_stored, blob, view->blob_size);
}
