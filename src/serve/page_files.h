/* The files of the page, held in memory. A file that is not in this list does not exist for a client, whatever path
 * it requests. */
#ifndef TACHO_SERVE_PAGE_FILES_H
#define TACHO_SERVE_PAGE_FILES_H

#include <stddef.h>

#include "base/error.h"

struct page_file {
    char *name;       /* owned; without a folder */
    const char *type; /* Content-Type */
    char *bytes;      /* owned */
    size_t length;
    char *packed;     /* owned; by gzip, once somebody has asked for it */
    size_t packed_length;
    char tag[24];     /* ETag: changes with the content */
};

struct page_files {
    struct page_file *files; /* owned */
    size_t count, room;
};

/* Reads the files of a folder. Starts from {0}; a folder that is not there is an empty page. */
int page_files_read(struct page_files *page, const char *folder, struct error *err);
void page_files_free(struct page_files *page);

/* The file of this name, or NULL. */
struct page_file *page_files_find(const struct page_files *page, const char *name);

#endif
