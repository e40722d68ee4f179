/* Functions that the hooks for processes share. */
#ifndef TACHO_AGENT_OSRT_OSRT_PROCESS_H
#define TACHO_AGENT_OSRT_OSRT_PROCESS_H

#include <sys/types.h>

#include "wire/wire_marks.h"

/* Called once at the start: registers for the program's exit. */
void osrt_process_prepare(void);

/* Removes from the environment of this process what was only for its start; once. */
void osrt_exec_prepare(void);
void osrt_exec_child_ended(pid_t child); /* it may hold scratch memory of this thread, if it has called exec */

/* For a process that has left: stores that it calls exec, without a system call. A vfork child of such a process looks
 * the same, so the word is cleared when exec fails, and when the process waits for a child or exits. */
void osrt_set_silent_exec(enum wire_cause cause, const char *path);
void osrt_clear_silent_exec(void);

#endif
