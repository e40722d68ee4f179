/* Processes of the tree that could not attach. They are counted as losses, so that the report does not look
 * complete. */
#ifndef TACHO_COLLECT_PROCESS_UNATTACHED_H
#define TACHO_COLLECT_PROCESS_UNATTACHED_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/wire_marks.h"

struct collector;
struct process;

/* The mark of a process that could not attach. */
struct unattached_mark {
    pid_t pid; /* in its own pid namespace */
    enum wire_cause cause;
};

struct unattached {
    uint64_t counts[WIRE_CAUSE_COUNT];             /* processes that are not recorded */
    const struct process *first[WIRE_CAUSE_COUNT]; /* the first of them that is known; NULL: none */
    struct unattached_mark *marks;                 /* all marks that were found so far */
    size_t mark_count, mark_capacity;
    /* errno, if the shared memory of a process could not be created; 0: it always could. */
    int refusal;
};

/* Counts a process that is not recorded for this cause. process: NULL if only its mark is known. */
void unattached_count(struct collector *collector, enum wire_cause cause, const struct process *process);

/* Takes the mark of a process and returns its cause; UNKNOWN: it left none. */
enum wire_cause unattached_take(struct collector *collector, const struct process *process);

/* Counts the marks that belong to no known process. */
void unattached_count_rest(struct collector *collector);

/* Reads and removes the marks in the session's folder; "": there is no folder. */
void unattached_read(struct collector *collector, const char *folder);

/* At the end: a warning for each cause that occurred. */
void unattached_tell(struct collector *collector);
void unattached_free(struct collector *collector);

#endif
