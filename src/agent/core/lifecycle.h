/* The agent's life in a process: see lifecycle.c. */
#ifndef TACHO_AGENT_CORE_LIFECYCLE_H
#define TACHO_AGENT_CORE_LIFECYCLE_H

#include "agent.h"

/* Finds the session and attaches, once. The constructor calls it, and hooks that run before. */
void agent_start(void);
void agent_after_fork_in_child(void);

/* After this the agent neither records nor makes a system call, here or in forked children. The result is an open note
 * for one of the two functions below. */
struct agent_note {
    struct agent_lane *lane;
    struct wire_record *record;               /* NULL: the note is lost */
};
struct agent_note agent_leave(enum wire_limit why);
void agent_has_left(struct agent_note note);  /* the limit is set: the agent stays off */
void agent_come_back(struct agent_note note); /* the limit was not set: the agent records again */

#endif
