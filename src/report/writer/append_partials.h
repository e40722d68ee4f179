/* Results of all rows, written into the tail of a closed report (report/reader/partial_chunks.h). */
#ifndef TACHO_REPORT_WRITER_APPEND_PARTIALS_H
#define TACHO_REPORT_WRITER_APPEND_PARTIALS_H

#include "report/reader/reader.h"

struct kept_partial {
    uint64_t key;
    const void *bytes;
    size_t length;
};

/* They replace the results that the file has. They, a new index and a new end are written after the end that the file
 * has, which stays with its index: at every moment the file is a complete report, whose readers pass over a tail that
 * is cut (find_chunks.c). After a failure the file is as it was. `report` is the same file, open. */
int report_append_partials(const char *path, struct report *report, const struct kept_partial *partials, size_t count,
                           struct error *err);

#endif
