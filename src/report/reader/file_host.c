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
#include "unite.h"

#define CONTEXTS 64

/* Idle decompression contexts, shared by all files: a thousand open files need no more than one does. */
static _Atomic(ZSTD_DCtx *) contexts[CONTEXTS];

struct file_host {
    int fd;                /* -1: opened for each read */
    char *path;            /* then: its file, */
    dev_t device;          /* which must stay this one */
    ino_t inode;
    struct parallel *pool; /* NULL: the caller's thread does all */
};

static int read_descriptor(int fd, uint64_t offset, void *buffer, size_t length)
{
    for (size_t done = 0; done < length;) {
        ssize_t count = pread(fd, (char *)buffer + done, length - done, (off_t)(offset + done));
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return ERR_IO; /* 0: the file has been truncated */
        done += (size_t)count;
    }
    return 0;
}

static int file_host_read_at(void *context, uint64_t offset, void *buffer, size_t length)
{
    const struct file_host *host = context;
    struct stat file;

    if (host->fd >= 0)
        return read_descriptor(host->fd, offset, buffer, length);
    int fd = open(host->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), code = ERR_IO;
    if (fd < 0)
        return ERR_IO;
    if (fstat(fd, &file) == 0 && file.st_dev == host->device && file.st_ino == host->inode)
        code = read_descriptor(fd, offset, buffer, length);
    close(fd);
    return code;
}

static ZSTD_DCtx *take_context(void)
{
    for (size_t i = 0; i < CONTEXTS; i++) {
        if (!atomic_load_explicit(&contexts[i], memory_order_relaxed))
            continue;
        ZSTD_DCtx *zstd = atomic_exchange(&contexts[i], NULL);
        if (zstd)
            return zstd;
    }
    return ZSTD_createDCtx();
}

static void give_context(ZSTD_DCtx *zstd)
{
    for (size_t i = 0; i < CONTEXTS; i++) {
        ZSTD_DCtx *none = NULL;
        if (atomic_compare_exchange_strong(&contexts[i], &none, zstd))
            return;
    }
    ZSTD_freeDCtx(zstd);
}

static int file_host_decompress(void *context, const void *packed, size_t packed_length, void *raw, size_t raw_length)
{
    ZSTD_DCtx *zstd = take_context();
    if (!zstd)
        return ERR_NO_MEMORY;
    size_t length = ZSTD_decompressDCtx(zstd, raw, raw_length, packed, packed_length);
    give_context(zstd);
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
    if (host->fd >= 0)
        close(host->fd);
    free(host->path);
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

static int file_host_open_file(struct file_host *host, const char *path, struct stat *file, struct error *err)
{
    host->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* opening a pipe without a writer must not block */
    if (host->fd < 0 || fstat(host->fd, file) != 0)
        return error_set_errno(err, "cannot open %s", path);
    if (!S_ISREG(file->st_mode))
        return error_set(err, ERR_BAD_FORMAT, "%s is not a file", path);
    return sparse_file_check(host->fd, path, err);
}

/* Leaves the file for now. */
static int let_go(struct file_host *host, const char *path, const struct stat *file)
{
    host->path = strdup(path);
    if (!host->path)
        return ERR_NO_MEMORY;
    host->device = file->st_dev;
    host->inode = file->st_ino;
    close(host->fd);
    host->fd = -1;
    return 0;
}

static int open_with(struct file_host *host, const char *path, int keeps_descriptor, struct report **out,
                     struct error *err)
{
    struct stat file;
    struct error cause = { 0 };
    int code;

    if ((code = file_host_open_file(host, path, &file, err)) != 0)
        return code;
    struct report_host means = {
        .context = host,
        .size = (uint64_t)file.st_size,
        .read_at = file_host_read_at,
        .decompress = file_host_decompress,
        .parallel_for = host_parallel_for,
        .workers = host_workers,
    };
    if ((code = report_open_host(&means, out, &cause)) != 0)
        return error_set(err, code, "cannot read %s: %.300s", path, cause.text);
    if (!keeps_descriptor && (code = let_go(host, path, &file)) != 0) {
        report_close(*out);
        return error_set(err, code, "out of memory");
    }
    (*out)->host_delete = host_delete;
    return 0;
}

int report_open(const char *path, struct report **out, struct error *err)
{
    int code = report_open_part(path, 1, out, err);

    if (code != 0)
        return code;
    if ((code = report_use_threads(*out, err)) != 0)
        report_close(*out);
    return code;
}

int report_open_part(const char *path, int keeps_descriptor, struct report **out, struct error *err)
{
    struct file_host *host = calloc(1, sizeof *host);

    if (!host)
        return error_no_memory(err);
    host->fd = -1;
    int code = open_with(host, path, keeps_descriptor, out, err);
    if (code != 0)
        host_delete(host);
    return code;
}

int report_use_threads(struct report *report, struct error *err)
{
    struct file_host *host = report->host.context;

    return !host->pool && !(host->pool = parallel_new(0)) ? error_no_memory(err) : 0;
}
