/* Writes a set of reports as one file. */
#ifndef TACHO_REPORT_WRITER_MERGE_REPORT_H
#define TACHO_REPORT_WRITER_MERGE_REPORT_H

#include "report/reader/unite.h"

/* Writes all rows of a set, with the times, ids, ranks and hosts that they have in it, in the order of its parts.
 * The file appears under its name when it is whole. */
int report_merge(struct report *set, const char *path, int overwrite, struct error *err);

#endif
