/* The file that a writer appends to (report/writer/append_file.h), in the page's memory: it has no disk that could be
 * full, so there is no room to reserve. */
#include "report/writer/append_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

int append_file_open(struct append_file *output, const char *path, int overwrite, struct error *err)
{
    int fd = open(path, O_RDWR | O_CREAT | (overwrite ? O_TRUNC : O_EXCL), 0666);
    if (fd < 0 && errno == EEXIST)
        return error_set(err, ERR_EXISTS,
                         "'%s' exists already: choose another name, or overwrite it with -f "
                         "true",
                         path);
    if (fd < 0)
        return error_set_errno(err, "cannot create %s", path);
    *output = (struct append_file){ .fd = fd, .limit = UINT64_MAX, .cannot_allocate = 1 };
    return 0;
}

int append_file_write(struct append_file *output, const void *bytes, size_t size, uint64_t keep)
{
    uint64_t start = atomic_load_explicit(&output->end, memory_order_relaxed);
    for (size_t done = 0; done < size;) {
        ssize_t written = pwrite(output->fd, (const char *)bytes + done, size - done, (off_t)(start + done));
        if (written <= 0)
            return ERR_IO;
        done += (size_t)written;
    }
    atomic_store_explicit(&output->end, start + size, memory_order_release);
    return 0;
}

int append_file_close(struct append_file *output)
{
    int status = close(output->fd);
    output->fd = -1;
    return status ? ERR_IO : 0;
}

void append_file_discard(struct append_file *output, const char *path)
{
    append_file_close(output);
    unlink(path);
}
