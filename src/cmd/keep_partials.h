/* Writes the partial results of the default reports into the tail of a report that is to be read with others
 * (analyze/engine/stored_partials.h). */
#ifndef TACHO_CMD_KEEP_PARTIALS_H
#define TACHO_CMD_KEEP_PARTIALS_H

#include "report/reader/reader.h"

/* `report` is the file at `path`, open. Results that would take more than a quarter of the file are left out, and
 * those of very many events, so that the end of a capture does not take noticeably longer. */
int keep_partials(const char *path, struct report *report, struct error *err);

#endif
