/* Results of all rows, written into the tail of a closed report (report/reader/partial_chunks.h). */
#ifndef TACHO_REPORT_WRITER_APPEND_PARTIALS_H
#define TACHO_REPORT_WRITER_APPEND_PARTIALS_H

#include "report/reader/reader.h"

struct kept_partial {
    uint64_t key;
    const void *bytes;
    size_t length;
};

/* Replaces the results that the file has. They take the place of the index, which follows them again: a report whose
 * writer is killed just then has all rows, but no index. After any other failure the file is as it was. `report` is
 * the same file, open. */
int report_append_partials(const char *path, struct report *report, const struct kept_partial *partials, size_t count,
                           struct error *err);

#endif
