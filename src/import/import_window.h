/* A file, plain or compressed (gzip, zstd), read through a window of bounded size, one item after another. */
#ifndef TACHO_IMPORT_IMPORT_WINDOW_H
#define TACHO_IMPORT_IMPORT_WINDOW_H

#include <stddef.h>

#include "base/error.h"

struct import_unpacker; /* zlib's or zstd's state */

struct import_window {
    int fd;
    struct import_unpacker *unpacker; /* owned; NULL: the file is plain */
    char *bytes;                      /* owned; capacity bytes, followed by SCAN_GUARD zeros */
    size_t capacity, length;
    size_t at;                        /* where the next item begins */
    int whole;                        /* nothing follows */
    int damaged;                      /* it ended because decompression failed */
};

int import_window_open(struct import_window *window, const char *path, struct error *err);
void import_window_close(struct import_window *window);
/* Drops the bytes before `at` and reads on. 0; ERR_NO_SPACE if one item is larger than any window; or another code. */
int import_window_more(struct import_window *window, struct error *err);

#endif
