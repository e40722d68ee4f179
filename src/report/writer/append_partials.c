/* Writes results, a new index and a new end after the old end; see append_partials.h. */
#include "append_partials.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chunkfile.h"
#include "report/reader/partial_chunks.h"
#include "report/reader/reader_state.h"

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

static int append_partials_put_all(struct chunkfile *file, const struct report *report,
                                   const struct kept_partial *partials, size_t count)
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

/* All of it is made before the first byte is written. */
static int make_tail(struct text *tail, const struct report *report, const struct kept_partial *partials, size_t count,
                     struct error *err)
{
    struct chunkfile file = { .output = { .fd = -1, .end = report->host.size, .memory = tail } };

    file.recovered = report->recovered;
    int code = append_partials_put_all(&file, report, partials, count);
    return code != 0 ? error_set(err, code, "cannot make the results of the report: %s", error_name(code)) : 0;
}

/* Within the limits of the process. What cannot be written leaves the file as it was. */
static int write_tail(int fd, uint64_t size, const struct text *tail, struct error *err)
{
    struct append_file output = { .fd = fd, .limit = UINT64_MAX, .end = size, .allocated = size };
    struct rlimit limit;

    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        output.limit = limit.rlim_cur;
    int code = append_file_write(&output, text_string(tail), tail->length, 0);
    int closed = append_file_close(&output);
    code = code != 0 ? code : closed; /* what a file system loses of the tail when it is closed, readers pass over */
    return code != 0 ? error_set(err, code, "cannot write results into the report: %s", error_name(code)) : 0;
}

static int check_file(int fd, const char *path, const struct report *report, const struct kept_partial *partials,
                      size_t count, struct error *err)
{
    struct stat file;

    for (size_t i = 0; i < count; i++)
        if (partials[i].length > BLOB_MAX_BYTES)
            return error_set(err, ERR_UNSUPPORTED, "a result is too large for a report");
    if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode) || (uint64_t)file.st_size != report->host.size ||
        !report->has_index || !report->complete)
        return error_set(err, ERR_BAD_FORMAT, "'%s' is not the whole report that was opened", path);
    return 0;
}

int report_append_partials(const char *path, struct report *report, const struct kept_partial *partials, size_t count,
                           struct error *err)
{
    struct text tail = { 0 };
    int code, fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);

    if (fd < 0)
        return error_set_errno(err, "cannot open %s", path);
    if ((code = check_file(fd, path, report, partials, count, err)) != 0 ||
        (code = make_tail(&tail, report, partials, count, err)) != 0)
        close(fd);
    else
        code = write_tail(fd, report->host.size, &tail, err);
    text_free(&tail);
    return code;
}
