/* Processes of the tree that could not attach: counted as losses, so that the report does not look complete. */
#ifndef TACHO_COLLECT_MARKS_H
#define TACHO_COLLECT_MARKS_H

#include "../wire/marks.h"

struct collector;

/* One that could not, for a reason that we have seen ourselves. */
void marks_count(struct collector *collector, enum wire_mark_cause cause);

/* Takes the marks that processes have left. */
void marks_read(struct collector *collector);

/* At the end: a warning, if there were any. */
void marks_tell(struct collector *collector);

#endif
