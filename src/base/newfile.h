/* Files that are made under a name that others may have got to first: in /tmp, or any folder that is not ours alone. */
#ifndef TACHO_BASE_NEWFILE_H
#define TACHO_BASE_NEWFILE_H

#include <sys/types.h>

/* A new file for writing, with open()'s access and mode: a descriptor, or -1 and errno. A name that is taken is EEXIST;
 * with `overwrite` it is given to the new file, and whoever has the old one open, or another name or link to it, keeps
 * it unchanged. Nothing is written through a symbolic link, but for root's to a device or pipe (/dev/stdout). Devices
 * and pipes themselves are opened if they are ours or root's. */
int newfile_open(const char *path, int access, mode_t mode, int overwrite);

#endif
