/* Results that a report has of its own rows, so that a set need not read these again.
 *
 * A result is bytes under a key, and holds for the rows chunks that the file had when it was made: if there are others
 * now, it is as if it were not there. */
#ifndef TACHO_REPORT_READER_PARTIAL_CHUNKS_H
#define TACHO_REPORT_READER_PARTIAL_CHUNKS_H

#include "reader.h"

/* A hash of which rows the report has: places, sizes and times of its chunks, without what is in them. */
uint64_t report_rows_hash(const struct report *report);

/* How many bytes the results of a file of this size may have: the writer keeps no more of all together, and the reader
 * takes none that is longer, so that the memory for the results of a set is bounded by the size of its files. */
uint64_t report_partials_limit(uint64_t file_bytes);

struct report_partial {
    const uint8_t *bytes;
    size_t length;
    void *memory; /* free() */
};

/* Whether a whole report has a result under this key; reads nothing. */
int report_has_partial(const struct report *report, uint64_t key);
/* ERR_NOT_FOUND, ERR_IO, ERR_CORRUPT or ERR_NO_MEMORY if it cannot be had. Any thread may call this. */
int report_read_partial(struct report *report, uint64_t key, struct report_partial *out);

#endif
