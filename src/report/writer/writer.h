/* Writing a report: rows go in, checksummed columnar chunks go out, and the file is valid after each of them.
 *
 * One thread owns a writer. It appends rows and interns strings; worker threads encode whole batches, which are
 * written in order. The order keeps one promise: a chunk never refers to a string that is not in the file yet. A
 * full disk does not break the file: the writer keeps a reserve, counts the rows that it had to drop, and goes on
 * trying. */
#ifndef TACHO_REPORT_WRITER_WRITER_H
#define TACHO_REPORT_WRITER_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "report/schema/schema.h"

struct writer;

struct writer_options {
    int overwrite; /* 0: an existing file is ERR_EXISTS */
    int workers;   /* encoder threads; 0: the number of cores less one, at least one, at most four */
    int level;     /* zstd level; 0: the default (1) */
    /* Bytes for each of two generations of strings before old ones are dropped; 0: the default. */
    size_t string_memory;
};

/* Creates the file. If it cannot be written, none is left. */
int writer_open(const char *path, const struct writer_options *options, struct writer **out, struct error *err);

/* The id of a string, valid as long as the writer lives. Ids count from 1; 0 is the empty string. The same bytes have
 * the same id, unless they were not used for a long time while many others were: see string_pool.h. */
int64_t writer_string(struct writer *writer, const char *bytes, size_t length);

/* Copies one row (a struct row_<TABLE>). Never blocks on the disk unless the encoders are far behind. */
void writer_append(struct writer *writer, enum table_id table, const void *row);

/* Reserves up to *count rows in the table's batch, to be filled in place; *count becomes the number that fits (at
 * least one). The rows are valid once writer_commit() gets the number of filled ones. This is the fast path of the
 * collector. */
void *writer_reserve(struct writer *writer, enum table_id table, size_t *count);
void writer_commit(struct writer *writer, enum table_id table, size_t count);

/* Writes everything appended so far to the file. */
int writer_flush(struct writer *writer, struct error *err);

/* Rows of this table appended so far, and those dropped because the disk was full. */
uint64_t writer_rows(const struct writer *writer, enum table_id table);
uint64_t writer_rows_lost(const struct writer *writer, enum table_id table);

/* On a full disk, rows of small tables are held back until the end. This writes them now, out of the reserve, as far
 * as it lasts; the others are lost. writer_rows_lost() is then final, except for rows appended later, for which some
 * space is left. */
void writer_give_up_held(struct writer *writer);

/* Bytes in the file so far. */
uint64_t writer_bytes(const struct writer *writer);

/* Writes the remaining rows and the index, closes the file and frees the writer. The file is valid whatever the
 * result. */
int writer_close(struct writer *writer, struct error *err);
/* The same after work that ended with `code`, which err describes. The first failure is returned. */
int writer_close_after(struct writer *writer, int code, struct error *err);

#endif
