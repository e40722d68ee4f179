/* stat, lstat and fstat for libtacho.so: glibc exports them only since 2.33, and libtacho.so must load on 2.28. On
 * 64-bit systems the kernel fills the same struct. They are hidden, so no program gets these instead of its own. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int stat(const char *path, struct stat *status)
{
    return (int)syscall(SYS_newfstatat, AT_FDCWD, path, status, 0);
}

int lstat(const char *path, struct stat *status)
{
    return (int)syscall(SYS_newfstatat, AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}

int fstat(int fd, struct stat *status)
{
    return (int)syscall(SYS_fstat, fd, status);
}
