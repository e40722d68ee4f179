/* Processes of the tree that could not attach: counted as losses, so that the report does not look complete. */
#ifndef TACHO_COLLECT_PROCESS_UNATTACHED_H
#define TACHO_COLLECT_PROCESS_UNATTACHED_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/wire_marks.h"

struct collector;
struct process;

/* What a process has left that could not attach. */
struct unattached_mark {
    pid_t pid; /* in its own namespace */
    enum wire_cause cause;
};

struct unattached {
    uint64_t counts[WIRE_CAUSE_COUNT];             /* processes that are not recorded… */
    const struct process *first[WIRE_CAUSE_COUNT]; /* …and the first of them that is known; NULL: none */
    struct unattached_mark *marks;                 /* those that were left so far */
    size_t mark_count, mark_capacity;
    int refusal; /* errno, when no shared memory could be made for a process; 0: there always was some */
};

/* One is not recorded, for this reason. process: NULL, if all that is known of it is its mark. */
void unattached_count(struct collector *collector, enum wire_cause cause, const struct process *process);

/* The cause in the mark that it has left, which is then used up; UNKNOWN: it has left none. */
enum wire_cause unattached_take(struct collector *collector, const struct process *process);

/* Those whose mark nobody has taken: nothing else is known of them. */
void unattached_count_rest(struct collector *collector);

/* Takes the marks that processes have left in this folder; "": there is none. */
void unattached_read(struct collector *collector, const char *folder);

/* At the end: a warning, if there were any. */
void unattached_tell(struct collector *collector);
void unattached_free(struct collector *collector);

#endif
