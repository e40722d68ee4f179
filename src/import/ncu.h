/* The state of an import of ncu's CSV.
 *
 * ncu_record.c splits the file into records and skips lines outside the table; ncu_columns.c reads headers and units;
 * ncu_rows.c makes rows of a record; ncu.c goes through the file and notes the losses. */
#ifndef TACHO_IMPORT_NCU_H
#define TACHO_IMPORT_NCU_H

#include "base/intern.h"
#include "base/json_scan.h"
#include "base/text.h"
#include "import_window.h"
#include "report/writer/writer.h"

/* ---- a record -------------------------------------------------------------------------------------------------- */

/* Fields of one record, unquoted; valid until the next is read. */
struct ncu_record {
    struct text bytes;  /* bytes of all fields */
    struct ncu_field {
        size_t first, length;
    } *fields;          /* owned */
    size_t count, room;
    size_t lines;       /* lines that the record takes in the file */
    size_t second_line; /* its place in the window, if there are several */
    int is_cut;         /* the file ends inside of it */
};

/* Reads the next record and the end of its line. 1; 0 at the end of the file; or an error. Lines of ncu ("==PROF== …")
 * and empty ones are skipped. */
int ncu_record_read(struct ncu_record *record, struct import_window *window, struct error *err);
void ncu_record_free(struct ncu_record *record);
/* A field without the blanks around it; empty if the record has fewer. */
struct json_slice ncu_field(const struct ncu_record *record, size_t index);

/* ---- columns --------------------------------------------------------------------------------------------------- */

enum ncu_column {
    NCU_ID,
    NCU_PROCESS,
    NCU_PROCESS_NAME,
    NCU_HOST,
    NCU_KERNEL,
    NCU_CONTEXT,
    NCU_STREAM,
    NCU_BLOCK,
    NCU_GRID,
    NCU_DEVICE,
    NCU_CAPABILITY,
    NCU_INVOCATIONS,
    NCU_SECTION,
    NCU_METRIC,
    NCU_UNIT,
    NCU_VALUE,
    NCU_MINIMUM,
    NCU_MAXIMUM,
    NCU_COLUMNS
};
#define NCU_NO_COLUMN SIZE_MAX

/* A column of the raw page with a metric, or of any page with NVTX ranges. */
struct ncu_metric {
    size_t column;
    int64_t id;    /* in TACHO_METRICS; -1: the column has ranges */
    double factor; /* from the unit in which the column is printed to the base unit */
};

/* The header that the following records belong to. */
struct ncu_header {
    size_t at[NCU_COLUMNS];     /* NCU_NO_COLUMN: the table lacks it */
    size_t count;               /* number of columns; 0: no header was read yet */
    int is_raw;                 /* a column per metric; else a row per metric */
    int wants_units;            /* the next record may be the row of units */
    struct ncu_metric *metrics; /* owned */
    size_t metric_count, metric_room;
    struct ncu_record names;    /* names of the columns */
};

/* ---- the import ------------------------------------------------------------------------------------------------ */

struct ncu {
    const char *path;
    struct import_window window;
    struct writer *writer;
    struct ncu_record record;
    struct ncu_header header;
    struct intern metrics;     /* name, unit and section of each metric of TACHO_METRICS, by its id */
    struct intern devices;     /* GPUs that have a row in TARGET_INFO_GPU */
    struct text key, last_key; /* kernel of this row of the details page, and of the row before */
    struct text scratch, unit;
    int64_t kernels, values;
    uint64_t damaged, unknown_columns;
    int truncated;
};

/* Whether a record is a header, and takes it as the one to read by. 0, or ERR_NO_MEMORY. */
int ncu_is_header(const struct ncu_record *record);
int ncu_take_header(struct ncu *import);
/* Takes the row of units of the raw page if the record is one; else all values are in base units. Returns whether it
 * is. */
int ncu_take_units(struct ncu *import);

/* The number of a metric in TACHO_METRICS; the first time it is written there. The factor turns values into the base
 * unit. -1 when memory is short. */
int64_t ncu_metric(struct ncu *import, struct json_slice name, struct json_slice unit, struct json_slice section,
                   double *factor);

/* Writes the rows of a record below the header. */
void ncu_add_record(struct ncu *import);

/* A number as ncu prints it, with or without separators of thousands; values of instances in parentheses may follow it.
 * Returns whether it is one, and how many bytes it takes. */
size_t ncu_number(struct json_slice text, double *out);

#endif
