/* Holes of sparse files: ranges that were never written and read as zeros. They may be far longer than the disk. */
#ifndef TACHO_BASE_SPARSE_FILE_H
#define TACHO_BASE_SPARSE_FILE_H

#include "error.h"

/* Returns ERR_BAD_FORMAT if the file has a hole larger than any report or trace has: a download that was never
 * finished, or a file made to keep readers busy. Returns 0 where the file system does not report holes. Sets the
 * file's offset to 0. */
int sparse_file_check(int fd, const char *path, struct error *err);

#endif
