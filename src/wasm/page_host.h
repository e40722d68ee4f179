/* A report in the page's memory. */
#ifndef TACHO_WASM_PAGE_HOST_H
#define TACHO_WASM_PAGE_HOST_H

#include "base/error.h"
#include "report/reader/reader.h"

struct page_host_file {
    int fd;
    struct report *report; /* NULL: nothing is open */
};

int page_host_open(struct page_host_file *file, const char *path, struct error *err);
void page_host_close(struct page_host_file *file);

#endif
