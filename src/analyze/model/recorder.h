/* Which profiler recorded a report: Tacho, or the one whose file was imported. */
#ifndef TACHO_ANALYZE_MODEL_RECORDER_H
#define TACHO_ANALYZE_MODEL_RECORDER_H

#include "base/text.h"
#include "report/reader/reader.h"

#define RECORDER_TACHO "Tacho"

/* Sets *recorder to a name such as RECORDER_TACHO or "Nsight Systems", or to "another profiler". NULL: not known, since
 * a report of ours that lost rows may have lost those that would say so. */
int recorder_read(const char **recorder, struct report *report, struct error *err);

/* Adds the data that an import could not read ("2 damaged tables, 1 column with missing names"), and returns whether
 * there is any. Unknown tables and columns are no loss to any report of ours, so they are not reported. */
int import_losses_add(struct text *out, struct report *report);

#endif
