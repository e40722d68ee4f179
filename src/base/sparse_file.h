/* Holes of sparse files: stretches that were never written, read as zeros, and may be far longer than the disk. */
#ifndef TACHO_BASE_SPARSE_FILE_H
#define TACHO_BASE_SPARSE_FILE_H

#include "error.h"

/* ERR_BAD_FORMAT, with a sentence, if the file has a hole that no report and no trace has: a download that was
 * never finished, or a file made to keep readers busy. The file's offset is 0 afterwards. 0 where the file
 * system knows of no holes. */
int sparse_file_check(int fd, const char *path, struct error *err);

#endif
