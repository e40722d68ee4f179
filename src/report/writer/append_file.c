/* Appending with a reserve; see append_file.h. fallocate takes space ahead of the end in steps. When a step fails
 * the disk is full, and the space taken before is the reserve. No fsync: a crash of the machine is left to the file
 * system. */
#include "append_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/newfile.h"

#define ALLOCATE_STEP ((uint64_t)4 << 20)

/* Devices and pipes are kept. */
static void unlink_regular(const char *path)
{
    struct stat status;
    if (!lstat(path, &status) && S_ISREG(status.st_mode))
        unlink(path);
}

int append_file_open(struct append_file *output, const char *path, int overwrite, struct error *err)
{
    int fd = newfile_open(path, O_RDWR, 0600, overwrite); /* the report contains command lines */
    if (fd < 0 && errno == EEXIST)
        return error_set(err, ERR_EXISTS,
                         "'%s' exists already: choose another name, or overwrite it with -f "
                         "true",
                         path);
    if (fd < 0)
        return error_set_errno(err, "cannot create %s", path);
    *output = (struct append_file){ .fd = fd, .limit = UINT64_MAX };
    struct rlimit limit;
    if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY)
        output->limit = limit.rlim_cur;
    return 0;
}

static int allocate_to(struct append_file *output, uint64_t end)
{
    while (fallocate(output->fd, FALLOC_FL_KEEP_SIZE, (off_t)output->allocated, (off_t)(end - output->allocated))) {
        if (errno == EINTR)
            continue;
        if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)
            return ERR_NO_SPACE;
        output->cannot_allocate = 1;
        return 0;
    }
    output->allocated = end;
    return 0;
}

static int ensure_room(struct append_file *output, uint64_t end)
{
    if (end > output->limit) {
        errno = EFBIG;
        return ERR_NO_SPACE;
    }
    if (output->cannot_allocate || end <= output->allocated)
        return 0;
    uint64_t generous = end > ALLOCATE_STEP ? end + ALLOCATE_STEP : 2 * end;
    return allocate_to(output, generous) ? allocate_to(output, end) : 0;
}

static int add_to_memory(struct append_file *output, const void *bytes, size_t size)
{
    text_add_bytes(output->memory, bytes, size);
    if (text_failed(output->memory)) {
        errno = ENOMEM;
        return ERR_NO_MEMORY;
    }
    atomic_fetch_add_explicit(&output->end, size, memory_order_relaxed);
    return 0;
}

int append_file_write(struct append_file *output, const void *bytes, size_t size, uint64_t keep)
{
    uint64_t start = atomic_load_explicit(&output->end, memory_order_relaxed);
    if (output->memory)
        return add_to_memory(output, bytes, size);
    if (ensure_room(output, start + size + keep))
        return ERR_NO_SPACE;
    for (size_t done = 0; done < size;) {
        ssize_t written = pwrite(output->fd, (const char *)bytes + done, size - done, (off_t)(start + done));
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            int cause = written ? errno : ENOSPC;
            if (ftruncate(output->fd, (off_t)start)) {
                /* The incomplete tail stays. Readers skip it, and the next write begins at the same offset. */
            }
            /* Truncation has released the space ahead. */
            output->allocated = output->allocated < start ? output->allocated : start;
            errno = cause;
            return cause == ENOSPC || cause == EDQUOT || cause == EFBIG ? ERR_NO_SPACE : ERR_IO;
        }
        done += (size_t)written;
    }
    atomic_store_explicit(&output->end, start + size, memory_order_release);
    return 0;
}

int append_file_close(struct append_file *output)
{
    uint64_t end = atomic_load(&output->end);
    if (output->allocated > end) {
        fallocate(output->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)end, (off_t)(output->allocated - end));
        if (ftruncate(output->fd, (off_t)end)) {
            /* Not a regular file, or a file system that keeps the blocks. The report is complete all the same. */
        }
    }
    int closed = close(output->fd);
    output->fd = -1;
    return closed == 0 ? 0 : ERR_IO;
}

void append_file_discard(struct append_file *output, const char *path)
{
    append_file_close(output);
    unlink_regular(path);
}
