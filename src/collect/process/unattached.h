/* Processes of the tree that could not attach: counted as losses, so that the report does not look complete. */
#ifndef TACHO_COLLECT_PROCESS_UNATTACHED_H
#define TACHO_COLLECT_PROCESS_UNATTACHED_H

#include <stdint.h>
#include <sys/types.h>

#include "wire/wire_marks.h"

struct collector;
struct process;

/* A cause as an agent tells it; UNKNOWN, if it makes no sense. */
enum wire_cause unattached_cause(uint32_t word);

/* One is not recorded, for this reason. process: NULL, if all that is known of it is its mark. */
void unattached_count(struct collector *collector, enum wire_cause cause, const struct process *process);

/* The cause in the mark that it has left, which is then used up; UNKNOWN: it has left none. */
enum wire_cause unattached_take(struct collector *collector, const struct process *process);

/* Those whose mark nobody has taken: nothing else is known of them. */
void unattached_count_rest(struct collector *collector);

/* The cause as it stands in the report. */
const char *unattached_text(enum wire_cause cause);

/* Takes the marks that processes have left. */
void unattached_read(struct collector *collector);

/* At the end: a warning, if there were any. */
void unattached_tell(struct collector *collector);

#endif
