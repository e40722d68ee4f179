/* The lines of the summary that say where the wall time of a program without GPU work went. */
#ifndef TACHO_CMD_SUMMARY_SUMMARY_WALL_H
#define TACHO_CMD_SUMMARY_SUMMARY_WALL_H

#include "source_summary.h"

/* Reads wall_sum, unless that would take long; NULL: the report does not say, or has work of GPUs. The caller deletes
 * the table. */
struct table *summary_read_wall(struct report *report);

/* Adds its first rows, and how long the program had no CPU. */
void summary_add_wall(struct text *out, const struct summary *summary);

/* Adds the changes that are known for what the program does there: causes that have a place. */
void summary_add_changes(struct text *out, const struct summary *summary);

/* Whether these lines say what a cause says: a change, imports, input and output that the chain waits for, and that
 * there were too few CPUs. */
int summary_wall_has_cause(const struct summary *summary, size_t row);

#endif
