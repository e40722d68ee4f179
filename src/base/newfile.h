/* Creates files under names that others may have taken first: in /tmp, or in any folder that is not ours alone. And
 * writes to files and pipes. */
#ifndef TACHO_BASE_NEWFILE_H
#define TACHO_BASE_NEWFILE_H

#include <sys/types.h>

/* Creates a file for writing, with open()'s access and mode. Returns a descriptor, or -1 and errno; EEXIST if the name
 * is taken.
 *
 * With `overwrite` the name goes to the new file. Whoever has the old file open, or has another name or link to it,
 * keeps it unchanged. Nothing is written through a symbolic link, except root's links to a device or pipe
 * (/dev/stdout). Devices and pipes themselves are opened if they belong to us or to root. */
int newfile_open(const char *path, int access, mode_t mode, int overwrite);

/* Writes all of the bytes, whatever signals come. Returns 0; -1 and errno, EIO where nothing more is taken. Signal
 * handlers may call it. */
int newfile_write(int file, const char *bytes, size_t length);

#endif
