/* Writes results and a new index over the old one; see append_partials.h. */
#include "append_partials.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chunkfile.h"
#include "report/reader/partial_chunks.h"
#include "report/reader/reader_state.h"

/* The end of a file, to be put back. */
struct tail {
    uint64_t offset;
    size_t size;
    uint8_t *bytes;
};

/* Where the rows and their definitions end: results and the index follow. */
static uint64_t end_of_rows(const struct report *report)
{
    uint64_t end = FILE_HEADER_SIZE;

    for (size_t i = 0; i < report->found_count; i++)
        if (report->found[i].header.kind != CHUNK_PARTIAL)
            end = report->found[i].offset + report->found[i].size;
    return end;
}

static int read_tail(struct tail *tail, int fd, uint64_t size, struct error *err)
{
    tail->size = (size_t)(size - tail->offset);
    tail->bytes = malloc(tail->size + 1);
    if (!tail->bytes)
        return error_set(err, ERR_NO_MEMORY, "out of memory");
    errno = EIO;
    return pread(fd, tail->bytes, tail->size, (off_t)tail->offset) == (ssize_t)tail->size
               ? 0
               : error_set_errno(err, "cannot read the end of the report");
}

static void restore_tail(const struct tail *tail, int fd)
{
    if (pwrite(fd, tail->bytes, tail->size, (off_t)tail->offset) != (ssize_t)tail->size ||
        ftruncate(fd, (off_t)(tail->offset + tail->size)) != 0) {
        /* The rows are there all the same, and are found without an index. */
    }
}

/* The chunks that stay, for the new index. */
static int take_chunks(struct chunkfile *file, const struct report *report)
{
    file->chunks = calloc(report->found_count + 1, sizeof *file->chunks);
    if (!file->chunks)
        return ERR_NO_MEMORY;
    file->capacity = report->found_count + 1;
    for (size_t i = 0; i < report->found_count; i++)
        if (report->found[i].header.kind != CHUNK_PARTIAL)
            file->chunks[file->count++] = (struct chunkfile_entry){ report->found[i].offset, report->found[i].header };
    return 0;
}

static int put_partial(struct chunkfile *file, struct encoder *encoder, const struct kept_partial *partial,
                       uint64_t rows_hash)
{
    const struct chunk_header header = { .first = (int64_t)partial->key, .last = (int64_t)rows_hash };
    struct encoded_chunk chunk = { 0 };
    int code = encode_partial(encoder, header, partial->bytes, partial->length, &chunk);

    if (code != 0)
        return code;
    code = chunkfile_put(file, &chunk, 0);
    free(chunk.bytes);
    return code;
}

static int put_all(struct chunkfile *file, const struct report *report, const struct kept_partial *partials,
                   size_t count)
{
    struct encoder *encoder = encoder_new(0);
    uint64_t rows_hash = report_rows_hash(report);
    int code = ERR_NO_MEMORY;

    if (!encoder)
        return code;
    if ((code = take_chunks(file, report)) != 0)
        goto delete_encoder;
    for (size_t i = 0; i < count; i++)
        if ((code = put_partial(file, encoder, &partials[i], rows_hash)) != 0)
            goto delete_encoder;
    code = chunkfile_finish(file, encoder);
delete_encoder:
    encoder_delete(encoder);
    free(file->chunks);
    return code;
}

/* Writes behind the rows, within the limits of the process. */
static int rewrite(int fd, const struct report *report, const struct tail *tail, const struct kept_partial *partials,
                   size_t count, struct error *err)
{
    struct chunkfile file = {
        .output = { .fd = fd, .limit = UINT64_MAX, .end = tail->offset, .allocated = tail->offset + tail->size }
    };
    struct rlimit limit;

    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        file.output.limit = limit.rlim_cur;
    file.recovered = report->recovered;
    int code = put_all(&file, report, partials, count);
    if (code != 0) {
        restore_tail(tail, fd);
        return error_set(err, code, "cannot write results into the report: %s", error_name(code));
    }
    if (ftruncate(fd, (off_t)file.output.end) != 0) { /* frees what was allocated ahead */
        restore_tail(tail, fd);
        return error_set_errno(err, "cannot write results into the report");
    }
    return 0;
}

int report_append_partials(const char *path, struct report *report, const struct kept_partial *partials, size_t count,
                           struct error *err)
{
    struct tail tail = { .offset = end_of_rows(report) };
    struct stat file;
    int code, fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);

    if (fd < 0)
        return error_set_errno(err, "cannot open %s", path);
    for (size_t i = 0; i < count; i++)
        if (partials[i].length > BLOB_MAX_BYTES) {
            code = error_set(err, ERR_UNSUPPORTED, "a result is too large for a report");
            goto close_file;
        }
    if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode) || (uint64_t)file.st_size != report->host.size ||
        !report->has_index || !report->complete) {
        code = error_set(err, ERR_BAD_FORMAT, "'%s' is not the whole report that was opened", path);
        goto close_file;
    }
    if ((code = read_tail(&tail, fd, report->host.size, err)) != 0)
        goto free_tail;
    code = rewrite(fd, report, &tail, partials, count, err);
free_tail:
    free(tail.bytes);
close_file:
    close(fd);
    return code;
}
