/* The file system (VFS) of SQLite inside a page: the files of the page's memory, read-only. A database is either in
 * memory or a file that is imported, so no file is ever locked, written or synchronised. */
#include <fcntl.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct file {
    sqlite3_file base;
    int fd;
};

static int file_close(sqlite3_file *base)
{
    close(((struct file *)base)->fd);
    return SQLITE_OK;
}

static int file_read(sqlite3_file *base, void *buffer, int length, sqlite3_int64 offset)
{
    ssize_t got = pread(((struct file *)base)->fd, buffer, (size_t)length, offset);
    if (got == length)
        return SQLITE_OK;
    if (got < 0)
        return SQLITE_IOERR_READ;
    memset((char *)buffer + got, 0, (size_t)(length - got)); /* SQLite counts on zeros behind the end */
    return SQLITE_IOERR_SHORT_READ;
}

static int file_size(sqlite3_file *base, sqlite3_int64 *size)
{
    struct stat status;
    if (fstat(((struct file *)base)->fd, &status))
        return SQLITE_IOERR_FSTAT;
    *size = status.st_size;
    return SQLITE_OK;
}

static int file_write(sqlite3_file *base, const void *buffer, int length, sqlite3_int64 offset)
{
    return SQLITE_READONLY;
}

static int file_truncate(sqlite3_file *base, sqlite3_int64 size)
{
    return SQLITE_READONLY;
}

static int file_nothing(sqlite3_file *base, int what)
{
    return SQLITE_OK;
}

static int file_not_reserved(sqlite3_file *base, int *reserved)
{
    *reserved = 0;
    return SQLITE_OK;
}

static int file_control(sqlite3_file *base, int operation, void *argument)
{
    return SQLITE_NOTFOUND;
}

static int file_sector_size(sqlite3_file *base)
{
    return 4096;
}

static int file_characteristics(sqlite3_file *base)
{
    return SQLITE_IOCAP_IMMUTABLE;
}

static const sqlite3_io_methods methods = {
    .iVersion = 1,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_nothing,
    .xFileSize = file_size,
    .xLock = file_nothing,
    .xUnlock = file_nothing,
    .xCheckReservedLock = file_not_reserved,
    .xFileControl = file_control,
    .xSectorSize = file_sector_size,
    .xDeviceCharacteristics = file_characteristics,
};

static int files_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *base, int flags, int *flags_out)
{
    struct file *file = (struct file *)base;
    *file = (struct file){ .fd = name && (flags & SQLITE_OPEN_MAIN_DB) ? open(name, O_RDONLY) : -1 };
    if (file->fd < 0)
        return SQLITE_CANTOPEN;
    file->base.pMethods = &methods;
    if (flags_out)
        *flags_out = SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB;
    return SQLITE_OK;
}

static int files_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
    return SQLITE_OK;
}

/* Only journals are asked for, and there is none beside a file that was dropped. */
static int files_access(sqlite3_vfs *vfs, const char *name, int flags, int *result)
{
    *result = 0;
    return SQLITE_OK;
}

static int files_full_name(sqlite3_vfs *vfs, const char *name, int size, char *out)
{
    if (strlen(name) >= (size_t)size)
        return SQLITE_CANTOPEN;
    strcpy(out, name);
    return SQLITE_OK;
}

static int files_randomness(sqlite3_vfs *vfs, int length, char *out)
{
    return getentropy(out, (size_t)length < 256 ? (size_t)length : 256) ? 0 : length;
}

static int files_sleep(sqlite3_vfs *vfs, int microseconds)
{
    return 0;
}

static int files_time(sqlite3_vfs *vfs, double *days)
{
    *days = (double)time(NULL) / 86400.0 + 2440587.5; /* as a Julian day */
    return SQLITE_OK;
}

static sqlite3_vfs sqlite_files = {
    .iVersion = 1,
    .szOsFile = sizeof(struct file),
    .mxPathname = 1024,
    .zName = "page",
    .xOpen = files_open,
    .xDelete = files_delete,
    .xAccess = files_access,
    .xFullPathname = files_full_name,
    .xRandomness = files_randomness,
    .xSleep = files_sleep,
    .xCurrentTime = files_time,
};

/* SQLite calls these when it starts and ends. */
int sqlite3_os_init(void)
{
    return sqlite3_vfs_register(&sqlite_files, 1);
}

int sqlite3_os_end(void)
{
    return SQLITE_OK;
}
