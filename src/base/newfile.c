/* See newfile.h. O_EXCL makes it safe: the kernel follows no link, and creates the file or fails. */
#include "newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define ATTEMPTS 8 /* another process may take the name again and again */

/* A device or pipe, which is opened as it is and never replaced. */
static int is_channel(const char *path, const struct stat *status)
{
    struct stat target;
    if (S_ISLNK(status->st_mode))
        return status->st_uid == 0 && stat(path, &target) == 0 && !S_ISREG(target.st_mode) && !S_ISDIR(target.st_mode);
    return !S_ISREG(status->st_mode) && !S_ISDIR(status->st_mode) &&
           (status->st_uid == 0 || status->st_uid == geteuid());
}

int newfile_open(const char *path, int access, mode_t mode, int overwrite)
{
    struct stat status;
    for (int i = 0; i < ATTEMPTS; i++) {
        int file = open(path, access | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (file >= 0 || errno != EEXIST || !overwrite)
            return file;
        if (lstat(path, &status) != 0)
            continue;
        if (is_channel(path, &status))
            return open(path, access | O_CLOEXEC);
        if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode)) {
            errno = S_ISDIR(status.st_mode) ? EISDIR : EPERM;
            return -1;
        }
        if (unlink(path) != 0 && errno != ENOENT)
            return -1;
    }
    errno = EBUSY;
    return -1;
}

int newfile_write(int file, const char *bytes, size_t length)
{
    for (size_t done = 0; done < length;) {
        ssize_t wrote = write(file, bytes + done, length - done);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote == 0)
            errno = EIO; /* a device may take nothing and give no cause: it would do so again */
        if (wrote <= 0)
            return -1;
        done += (size_t)wrote;
    }
    return 0;
}
