/* Opens the file that a user names, a report of Tacho or a file of another profiler, which is imported on the way; and
 * closes it. */
#ifndef TACHO_CMD_OPEN_REPORT_H
#define TACHO_CMD_OPEN_REPORT_H

#include "analyze/model/losses.h"
#include "base/error.h"
#include "base/text.h"
#include "report/reader/reader.h"

int open_report(const char *path, struct report **out, struct error *err);

/* Closes a report, and prints on stderr what its reader must know: parts were damaged or not imported, events were
 * lost, the end is missing. Call it after everything is read and printed, since damage is found only when a part is
 * read. */
void close_report(struct report *report, const char *path);

/* Adds "2 nvtx events (buffer-full) were lost and 1 process (static) was not recorded". */
void open_add_losses(struct text *out, const struct losses *losses);

#endif
