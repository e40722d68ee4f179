/* The file that a writer appends to. It holds space in reserve, so that a report on a full disk can still be closed,
 * and it never leaves half a write behind. */
#ifndef TACHO_REPORT_WRITER_APPEND_FILE_H
#define TACHO_REPORT_WRITER_APPEND_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

#define OUTPUT_RESERVE ((uint64_t)1 << 20)

struct append_file {
    int fd;
    _Atomic uint64_t end; /* bytes written; the file is never longer, except after an incomplete write */
    uint64_t allocated;   /* blocks up to here are already allocated */
    uint64_t limit;       /* RLIMIT_FSIZE: the writer stays below it, so it never gets SIGXFSZ */
    int cannot_allocate;  /* the file system has no fallocate, so there is no reserve */
    struct text *memory;  /* takes the bytes in place of the file; NULL: the file does */
};

int append_file_open(struct append_file *output, const char *path, int overwrite, struct error *err);

/* Appends all bytes or none, and leaves `keep` bytes of space for later writes; else ERR_NO_SPACE or ERR_IO with
 * errno set. */
int append_file_write(struct append_file *output, const void *bytes, size_t size, uint64_t keep);

/* Releases unused space and closes the file. */
int append_file_close(struct append_file *output);

/* Closes and removes a file without useful content. */
void append_file_discard(struct append_file *output, const char *path);

#endif
