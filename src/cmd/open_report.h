/* Opening what a user names: a report of ours, or a file of another profiler, which is imported
 * on the way; and closing it. */
#ifndef TACHO_CMD_OPEN_REPORT_H
#define TACHO_CMD_OPEN_REPORT_H

#include "analyze/model/losses.h"
#include "base/error.h"
#include "base/text.h"
#include "report/reader/reader.h"

int open_report(const char *path, struct report **out, struct error *err);

/* Closes it, and says on stderr what its reader must know: parts were damaged or not imported, events were
 * lost, its end is missing. Call it when all is read and printed: damage shows when a part is read. */
void close_report(struct report *report, const char *path);

/* "2 nvtx events (buffer-full) were lost and 1 process (static) was not recorded" */
void open_add_losses(struct text *out, const struct losses *losses);

#endif
