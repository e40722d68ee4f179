/* The agent's life in a process: see lifecycle.c. */
#ifndef TACHO_AGENT_CORE_LIFECYCLE_H
#define TACHO_AGENT_CORE_LIFECYCLE_H

#include "agent.h"

void agent_start(void); /* constructor and first hook: find the session, attach; once */
void agent_after_fork_in_child(void);

/* No record and no system call of ours from here on; children stay off too. One of the two below gets the result, an
 * open note. */
struct agent_note {
    struct agent_lane *lane;
    struct wire_record *record;               /* NULL: it is lost */
};
struct agent_note agent_leave(enum wire_limit why);
void agent_has_left(struct agent_note note);  /* for good */
void agent_come_back(struct agent_note note); /* there was no need to leave */

#endif
