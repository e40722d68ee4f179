/* Recovery of a damaged or unfinished report. */
#ifndef TACHO_REPORT_WRITER_RECOVER_H
#define TACHO_REPORT_WRITER_RECOVER_H

#include "report/reader/reader.h"

/* Writes the readable part of a damaged or unfinished report as a whole one; ERR_BAD_FORMAT if not one row is
 * readable. `health` (which may be NULL) is that of the old report, all of it checked. */
int report_recover(const char *path, const char *out_path, int overwrite, struct report_health *health,
                   struct error *err);

#endif
