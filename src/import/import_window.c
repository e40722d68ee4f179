/* Reads a file a few megabytes at a time: plain, gzip or zstd, recognised by the first bytes. A compressed file
 * that ends early or is damaged yields the part that could be decompressed, as a truncated plain file does. */
#include "import_window.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/array.h"
#include "base/json_scan.h"
#include "base/sparse_file.h"

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define WINDOW_BYTES 256u /* so that a fuzzer meets its edges */
#else
#define WINDOW_BYTES (4u << 20)
#endif
#define WINDOW_LARGEST (64u << 20) /* a larger item counts as damage */
#define PACKED_BYTES (256u << 10)

struct import_unpacker {
    z_stream gzip;
    ZSTD_DStream *zstd; /* NULL: it is gzip */
    ZSTD_inBuffer input;
    int ended;          /* the file */
    unsigned char packed[PACKED_BYTES];
};

static struct import_unpacker *unpacker_new(const unsigned char *magic, size_t length)
{
    int is_gzip = length >= 2 && magic[0] == 0x1f && magic[1] == 0x8b;
    int is_zstd = length >= 4 && memcmp(magic, "\x28\xb5\x2f\xfd", 4) == 0;
    struct import_unpacker *unpacker = is_gzip || is_zstd ? calloc(1, sizeof *unpacker) : NULL;

    if (!unpacker)
        return NULL;
    if (is_zstd)
        unpacker->zstd = ZSTD_createDStream();
    if (is_zstd ? !unpacker->zstd : inflateInit2(&unpacker->gzip, 15 + 16) != Z_OK) {
        free(unpacker);
        return NULL;
    }
    return unpacker;
}

static void unpacker_delete(struct import_unpacker *unpacker)
{
    if (!unpacker)
        return;
    if (unpacker->zstd)
        ZSTD_freeDStream(unpacker->zstd);
    else
        inflateEnd(&unpacker->gzip);
    free(unpacker);
}

/* The number of bytes read; -1 with errno. */
static ssize_t import_window_read_some(int fd, void *buffer, size_t length)
{
    ssize_t got;

    do
        got = read(fd, buffer, length);
    while (got < 0 && errno == EINTR);
    return got;
}

/* One step of gzip; 1 while there may be more, 0 at the end, -1 for damage. Concatenated gzip files are one stream. */
static int unpack_gzip(struct import_unpacker *unpacker, struct import_window *window)
{
    z_stream *gzip = &unpacker->gzip;

    gzip->next_in = unpacker->packed + unpacker->input.pos;
    gzip->avail_in = (unsigned)(unpacker->input.size - unpacker->input.pos);
    gzip->next_out = (unsigned char *)window->bytes + window->length;
    gzip->avail_out = (unsigned)(window->capacity - window->length);
    int code = inflate(gzip, Z_NO_FLUSH);
    window->length = window->capacity - gzip->avail_out;
    unpacker->input.pos = unpacker->input.size - gzip->avail_in;
    if (code == Z_STREAM_END)
        code = inflateReset(gzip);
    return code == Z_OK || code == Z_BUF_ERROR ? 1 : -1;
}

static int unpack_zstd(struct import_unpacker *unpacker, struct import_window *window)
{
    ZSTD_outBuffer output = { window->bytes, window->capacity, window->length };
    size_t code = ZSTD_decompressStream(unpacker->zstd, &output, &unpacker->input);

    window->length = output.pos;
    return ZSTD_isError(code) ? -1 : 1;
}

static int fill_unpacked(struct import_window *window)
{
    struct import_unpacker *unpacker = window->unpacker;

    while (window->length < window->capacity && !window->whole) {
        if (unpacker->input.pos == unpacker->input.size && !unpacker->ended) {
            ssize_t got = import_window_read_some(window->fd, unpacker->packed, PACKED_BYTES);
            if (got < 0)
                return -1;
            unpacker->ended = got == 0;
            unpacker->input = (ZSTD_inBuffer){ unpacker->packed, (size_t)got, 0 };
        }
        size_t before = window->length, taken = unpacker->input.pos;
        int more = unpacker->zstd ? unpack_zstd(unpacker, window) : unpack_gzip(unpacker, window);
        window->damaged |= more < 0;
        if (more < 0 || (unpacker->ended && window->length == before && unpacker->input.pos == taken))
            window->whole = 1;
    }
    return 0;
}

static int fill_plain(struct import_window *window)
{
    while (window->length < window->capacity && !window->whole) {
        ssize_t got = import_window_read_some(window->fd, window->bytes + window->length,
                                              window->capacity - window->length);
        if (got < 0)
            return -1;
        window->whole = got == 0;
        window->length += (size_t)got;
    }
    return 0;
}

int import_window_more(struct import_window *window, struct error *err)
{
    if (window->at) {
        memmove(window->bytes, window->bytes + window->at, window->length - window->at);
        window->length -= window->at;
        window->at = 0;
    }
    if (window->length == window->capacity) {
        if (window->capacity >= WINDOW_LARGEST)
            return ERR_NO_SPACE;
        size_t room = window->capacity + SCAN_GUARD, doubled = window->capacity * 2 + SCAN_GUARD;
        if (array_reserve_up_to(&window->bytes, &room, doubled, doubled, 1) != 0)
            return error_short_memory(err, "for an item of the file");
        window->capacity *= 2;
    }
    if ((window->unpacker ? fill_unpacked(window) : fill_plain(window)) != 0)
        return error_set_errno(err, "cannot read the file");
    memset(window->bytes + window->length, 0, SCAN_GUARD);
    return 0;
}

int import_window_open(struct import_window *window, const char *path, struct error *err)
{
    unsigned char magic[4];

    *window = (struct import_window){ .fd = open(path, O_RDONLY | O_CLOEXEC), .capacity = WINDOW_BYTES };
    if (window->fd < 0)
        return error_set_errno(err, "cannot open '%s'", path);
    int code = sparse_file_check(window->fd, path, err);
    if (code != 0)
        return code;
    ssize_t got = pread(window->fd, magic, sizeof magic, 0);
    if (got < 0)
        return error_set_errno(err, "cannot read '%s'", path);
    window->unpacker = unpacker_new(magic, (size_t)got);
    window->bytes = calloc(1, window->capacity + SCAN_GUARD);
    return window->bytes ? 0 : error_no_memory(err);
}

void import_window_close(struct import_window *window)
{
    unpacker_delete(window->unpacker);
    free(window->bytes);
    if (window->fd >= 0)
        close(window->fd);
    *window = (struct import_window){ .fd = -1 };
}
