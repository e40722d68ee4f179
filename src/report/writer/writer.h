/* Writing a report: rows go in, checked columnar chunks go out, and the file opens after every one of them.
 *
 * One thread owns a writer. It appends rows and interns strings; whole batches are encoded by worker threads and
 * written in order. Order of writing keeps one promise: a chunk never refers to a string that is not in the file yet. A
 * full disk does not break the file: the writer keeps a reserve, counts what it could not keep, and goes on trying. */
#ifndef TACHO_REPORT_WRITER_WRITER_H
#define TACHO_REPORT_WRITER_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "report/schema/schema.h"

struct writer;

struct writer_options {
    int overwrite;        /* 0: an existing file is ERR_EXISTS */
    int workers;          /* encoder threads; 0: as many as there are cores, less one, one to four */
    int level;            /* zstd level; 0: the default (1) */
    size_t string_memory; /* bytes that strings may take, twice, before old ones are forgotten; 0: the default */
};

/* Creates the file; when it cannot be written to, none is left. */
int writer_open(const char *path, const struct writer_options *options, struct writer **out, struct error *err);

/* The id of a string, good for as long as the writer lives. Ids count from 1; 0 is the empty string. The same bytes
 * have the same id, unless they were not asked for during a long time full of others: see string_pool.h. */
int64_t writer_string(struct writer *writer, const char *bytes, size_t length);

/* Copies one row (a struct row_<TABLE>). Never blocks on the disk unless the encoders are far behind. */
void writer_append(struct writer *writer, enum table_id table, const void *row);

/* Room for up to *count rows in the table's batch, to be filled in place; *count becomes what there is room for (at
 * least one). Rows count once writer_commit() has been told how many were filled. The fast path of the collector. */
void *writer_reserve(struct writer *writer, enum table_id table, size_t *count);
void writer_commit(struct writer *writer, enum table_id table, size_t count);

/* Everything appended so far is written to the file when this returns. */
int writer_flush(struct writer *writer, struct error *err);

/* Rows of this table appended so far, and those that the disk had no room for. */
uint64_t writer_rows(const struct writer *writer, enum table_id table);
uint64_t writer_rows_lost(const struct writer *writer, enum table_id table);

/* On a full disk, rows of small tables are held back for the end. Writes them now, out of the reserve, as far
 * as it goes: what does not fit is lost, and writer_rows_lost() is final but for what is appended later,
 * which has some room left. */
void writer_give_up_held(struct writer *writer);

/* Bytes in the file so far. */
uint64_t writer_bytes(const struct writer *writer);

/* Writes what is left and the index, closes and frees. The file is valid whatever is returned. */
int writer_close(struct writer *writer, struct error *err);
/* The same behind work that ended with a code, of which err says more then: the first that went wrong counts. */
int writer_close_after(struct writer *writer, int code, struct error *err);

#endif
