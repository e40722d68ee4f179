/* The host of a reader inside a page: a file in the page's memory, unpacked by the page, one thread. */
#include "page_host.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* The page's decoder of zstd. 0, or not 0 for bytes that are damaged or do not fill raw. */
__attribute__((import_module("env"), import_name("page_decompress"))) int page_decompress(const void *packed,
                                                                                          size_t packed_length,
                                                                                          void *raw, size_t raw_length);

static int page_host_read_at(void *context, uint64_t offset, void *buffer, size_t length)
{
    const struct page_host_file *file = context;
    return pread(file->fd, buffer, length, (off_t)offset) == (ssize_t)length ? 0 : ERR_IO;
}

static int page_host_decompress(void *context, const void *packed, size_t packed_length, void *raw, size_t raw_length)
{
    return page_decompress(packed, packed_length, raw, raw_length) ? ERR_CORRUPT : 0;
}

static void run_all(void *context, size_t count, void (*body)(void *argument, int worker, size_t i), void *argument)
{
    for (size_t i = 0; i < count; i++)
        body(argument, 0, i);
}

static int one_worker(void *context)
{
    return 1;
}

int page_host_open(struct page_host_file *file, const char *path, struct error *err)
{
    struct report_host means = {
        .context = file,
        .read_at = page_host_read_at,
        .decompress = page_host_decompress,
        .parallel_for = run_all,
        .workers = one_worker,
    };
    struct stat status;
    int code;

    *file = (struct page_host_file){ .fd = open(path, O_RDONLY) };
    if (file->fd < 0)
        return error_set_errno(err, "cannot open the report");
    if (fstat(file->fd, &status) != 0) {
        code = error_set_errno(err, "cannot open the report");
        goto close_file;
    }
    means.size = (uint64_t)status.st_size;
    if ((code = report_open_host(&means, &file->report, err)) != 0)
        goto close_file;
    return 0;

close_file:
    close(file->fd);
    return code;
}

void page_host_close(struct page_host_file *file)
{
    if (!file->report)
        return;
    report_close(file->report);
    close(file->fd);
    *file = (struct page_host_file){ 0 };
}
