/* Between the hooks that deal with processes. */
#ifndef TACHO_AGENT_OS_OS_PROCESS_H
#define TACHO_AGENT_OS_OS_PROCESS_H

#include <sys/types.h>

#include "wire/wire_marks.h"

/* Once, at the start: learns of the program's exit. */
void os_process_prepare(void);

/* Takes out of this process's environment what was for its start alone; once. */
void os_exec_prepare(void);
void os_exec_child_ended(pid_t child); /* which may have become a program in memory of this thread's */

/* Of a process that has left, the word that it calls exec. No system call. A vfork child of such a process cannot be
 * told from it: the word is taken back when exec fails, and when the process waits for a child or exits. */
void os_set_silent_exec(enum wire_cause cause, const char *path);
void os_clear_silent_exec(void);

#endif
