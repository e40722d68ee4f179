/* Stacks that a report lacks. The collector writes stacks every few seconds, after the events that have them: those of
 * the last seconds before it was killed are missing, and those for which the disk had no space. */
#ifndef TACHO_ANALYZE_MODEL_STACKS_MISSING_STACKS_H
#define TACHO_ANALYZE_MODEL_STACKS_MISSING_STACKS_H

#include "base/text.h"
#include "report/reader/reader.h"

/* Events of one table whose stack is not in the report. */
struct missing_stacks {
    const char *table, *noun; /* of the events: "samples" */
    uint64_t events, without; /* those that should have a stack; those that have none */
    uint64_t at_end;          /* of these, those after the last event that has its stack */
    int64_t at_end_ns;        /* from that event to the last one */
};
enum { MISSING_STACKS_MAX = 4 };

/* Lists the tables that lack stacks, and returns their number in *count: 0 for a report that was closed in good order
 * on a disk with space. */
int missing_stacks_read(struct missing_stacks list[MISSING_STACKS_MAX], size_t *count, struct report *report,
                        struct error *err);

/* Adds "210 of 3,510 samples have no stack: those of the last 2.10 s", with a semicolon before the next table. */
void missing_stacks_describe(struct text *out, const struct missing_stacks *list, size_t count);

#endif
