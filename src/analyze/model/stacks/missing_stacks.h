/* Stacks that an unfinished report lacks. The collector writes stacks every few seconds, after the events that have
 * them: those of the last seconds before it was killed are missing. */
#ifndef TACHO_ANALYZE_MODEL_STACKS_MISSING_STACKS_H
#define TACHO_ANALYZE_MODEL_STACKS_MISSING_STACKS_H

#include "base/text.h"
#include "report/reader/reader.h"

/* Fills a text with "210 of 3,510 samples have no stack: those of the last 2.10 s", with a semicolon before the next
 * kind of event. Nothing is missing in a report that was closed in good order. */
int missing_stacks_describe(struct text *out, struct report *report, struct error *err);

#endif
