/* Reading reports: open a file that `tacho profile` wrote (or is writing), list its tables, read columns as arrays.
 *
 * For C and C++. <tacho/tacho.h> says how to link, docs/api.md has a whole example. Tables and columns are numbered
 * from 0 in the order of the file; docs/format.md describes a report. Several threads may use a handle at once, except
 * for tacho_report_open() and tacho_report_close().
 *
 *     struct tacho_report *report;
 *     if (tacho_report_open("report.tacho", &report))
 *         puts(tacho_report_error(report));
 *     int table = tacho_report_find_table(report, "NVTX_EVENTS");
 *     …
 *     tacho_report_close(report); */
#ifndef TACHO_REPORT_H
#define TACHO_REPORT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Increases when something is added. Nothing is ever removed or changed. */
#define TACHO_REPORT_API_VERSION 1

struct tacho_report;

/* The errors of the functions; all are negative. */
enum tacho_report_status {
    TACHO_REPORT_OK = 0,
    TACHO_REPORT_NO_MEMORY = -1,
    TACHO_REPORT_IO = -2,
    TACHO_REPORT_NOT_FOUND = -4,
    TACHO_REPORT_BAD_ARGUMENT = -6,
    TACHO_REPORT_BAD_FORMAT = -7,
    TACHO_REPORT_BAD_VERSION = -9,
    TACHO_REPORT_DENIED = -10
};

enum tacho_column_type {
    TACHO_COLUMN_INT = 0,   /* a signed number */
    TACHO_COLUMN_TIME = 1,  /* ns since the capture began */
    TACHO_COLUMN_REAL = 2,  /* a double */
    TACHO_COLUMN_TEXT = 3,  /* a string, as its id: see tacho_report_string() */
    TACHO_COLUMN_STRING = 4 /* the same, if the schema calls it a reference to StringIds */
};

/* Facts about the file. Set size to sizeof(struct tacho_report_info) before the call. */
struct tacho_report_info {
    size_t size;
    uint64_t file_bytes;
    int complete;            /* 1: its writer closed it properly */
    uint64_t damaged_chunks; /* chunks that are left out, as far as known by now */
    uint64_t damaged_bytes;
};

/* Opens a report. On failure *out (which may be NULL) is valid for tacho_report_error() and must be closed all the
 * same. */
int tacho_report_open(const char *path, struct tacho_report **out);

/* Closes the report and frees it, with all strings that it returned. NULL is allowed. */
void tacho_report_close(struct tacho_report *report);

/* Why tacho_report_open() failed, as a sentence; never NULL. */
const char *tacho_report_error(const struct tacho_report *report);

/* The version of this interface in the loaded library. */
int tacho_report_api_version(void);

/* Fills as much of info as its size covers. */
int tacho_report_get_info(const struct tacho_report *report, struct tacho_report_info *info);

/* The number of tables in the file. */
size_t tacho_report_table_count(const struct tacho_report *report);

/* The name of a table, or NULL if there is no table of this number. */
const char *tacho_report_table_name(const struct tacho_report *report, int table);

/* The number of the table with this name, or TACHO_REPORT_NOT_FOUND. */
int tacho_report_find_table(const struct tacho_report *report, const char *name);

/* The number of rows of a table. */
uint64_t tacho_report_row_count(const struct tacho_report *report, int table);

/* The number of columns of a table. */
size_t tacho_report_column_count(const struct tacho_report *report, int table);

/* The name of a column, or NULL if there is no column of this number. */
const char *tacho_report_column_name(const struct tacho_report *report, int table, int column);

/* The type of a column (enum tacho_column_type), or TACHO_REPORT_NOT_FOUND. */
int tacho_report_column_type(const struct tacho_report *report, int table, int column);

/* The number of the column with this name, or TACHO_REPORT_NOT_FOUND. */
int tacho_report_find_column(const struct tacho_report *report, int table, const char *name);

/* Copies `count` values of a column into values, from row `first` on. nulls (which may be NULL) gets 1 for each value
 * that is NULL and 0 for the others. NULL values and rows of damaged parts are 0. Of a REAL column, values are the bits
 * of the doubles. */
int tacho_report_read(struct tacho_report *report, int table, int column, uint64_t first, size_t count, int64_t *values,
                      unsigned char *nulls);

/* The same as doubles, for a REAL column; other columns are converted. */
int tacho_report_read_real(struct tacho_report *report, int table, int column, uint64_t first, size_t count,
                           double *values, unsigned char *nulls);

/* The string with this id, or "" if there is none. It ends with a NUL, which *length (length may be NULL) does not
 * count. It is valid until the report is closed. */
const char *tacho_report_string(struct tacho_report *report, int64_t id, size_t *length);

/* The id of a string, or TACHO_REPORT_NOT_FOUND. */
int64_t tacho_report_find_string(struct tacho_report *report, const char *bytes, size_t length);

#ifdef __cplusplus
}
#endif

#endif
