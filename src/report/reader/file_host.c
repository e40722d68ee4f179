/* The default host of a reader: a file read with pread, zstd, a pool of threads. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/parallel.h"
#include "base/sparse_file.h"
#include "reader_state.h"

#define CONTEXTS 64

struct file_host {
    int fd;
    struct parallel *pool;
    _Atomic(ZSTD_DCtx *) contexts[CONTEXTS]; /* those that are not in use */
};

static int read_at(void *context, uint64_t offset, void *buffer, size_t length)
{
    struct file_host *host = context;
    for (size_t done = 0; done < length;) {
        ssize_t count = pread(host->fd, (char *)buffer + done, length - done, (off_t)(offset + done));
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return ERR_IO; /* 0: the file has been truncated */
        done += (size_t)count;
    }
    return 0;
}

static ZSTD_DCtx *take_context(struct file_host *host)
{
    for (size_t i = 0; i < CONTEXTS; i++) {
        if (!atomic_load_explicit(&host->contexts[i], memory_order_relaxed))
            continue;
        ZSTD_DCtx *zstd = atomic_exchange(&host->contexts[i], NULL);
        if (zstd)
            return zstd;
    }
    return ZSTD_createDCtx();
}

static void give_context(struct file_host *host, ZSTD_DCtx *zstd)
{
    for (size_t i = 0; i < CONTEXTS; i++) {
        ZSTD_DCtx *none = NULL;
        if (atomic_compare_exchange_strong(&host->contexts[i], &none, zstd))
            return;
    }
    ZSTD_freeDCtx(zstd);
}

static int decompress(void *context, const void *packed, size_t packed_length, void *raw, size_t raw_length)
{
    struct file_host *host = context;
    ZSTD_DCtx *zstd = take_context(host);
    if (!zstd)
        return ERR_NO_MEMORY;
    size_t length = ZSTD_decompressDCtx(zstd, raw, raw_length, packed, packed_length);
    give_context(host, zstd);
    return ZSTD_isError(length) || length != raw_length ? ERR_CORRUPT : 0;
}

static void host_parallel_for(void *context, size_t count, void (*body)(void *argument, int worker, size_t i),
                              void *argument)
{
    parallel_for(((struct file_host *)context)->pool, count, body, argument);
}

static int host_workers(void *context)
{
    return parallel_workers(((struct file_host *)context)->pool);
}

static void host_delete(void *context)
{
    struct file_host *host = context;
    parallel_delete(host->pool);
    for (size_t i = 0; i < CONTEXTS; i++)
        ZSTD_freeDCtx(host->contexts[i]);
    if (host->fd >= 0)
        close(host->fd);
    free(host);
}

int report_recognise(const char *path)
{
    static const char magic[] = FORMAT_MAGIC;
    char bytes[sizeof magic - 1];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return 0;
    ssize_t length = pread(fd, bytes, sizeof bytes, 0);
    close(fd);
    return length == (ssize_t)sizeof bytes && memcmp(bytes, magic, sizeof bytes) == 0;
}

int report_open(const char *path, struct report **out, struct error *err)
{
    struct file_host *host = calloc(1, sizeof *host);
    struct stat file;
    struct error cause = { 0 };
    int code;
    if (!host)
        return error_set(err, ERR_NO_MEMORY, "out of memory");
    host->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* opening a pipe without a writer must not block */
    if (host->fd < 0 || fstat(host->fd, &file) != 0) {
        code = error_set_errno(err, "cannot open %s", path);
        goto delete_host;
    }
    if (!S_ISREG(file.st_mode)) {
        code = error_set(err, ERR_BAD_FORMAT, "%s is not a file", path);
        goto delete_host;
    }
    if ((code = sparse_file_check(host->fd, path, err)) != 0)
        goto delete_host;
    if (!(host->pool = parallel_new(0))) {
        code = error_set(err, ERR_NO_MEMORY, "out of memory");
        goto delete_host;
    }
    struct report_host means = {
        .context = host,
        .size = (uint64_t)file.st_size,
        .read_at = read_at,
        .decompress = decompress,
        .parallel_for = host_parallel_for,
        .workers = host_workers,
    };
    if ((code = report_open_host(&means, out, &cause)) != 0) {
        error_set(err, code, "cannot read %s: %.300s", path, cause.text);
        goto delete_host;
    }
    (*out)->host_delete = host_delete;
    return 0;
delete_host:
    host_delete(host);
    return code;
}
