/* Between the hooks that deal with processes. */
#ifndef TACHO_AGENT_OS_OS_PROCESS_H
#define TACHO_AGENT_OS_OS_PROCESS_H

#include <sys/types.h>

#include "agent/core/agent.h"
#include "wire/wire_marks.h"

/* Attached, and not a vfork child that borrows its parent's memory. */
int os_is_own_process(void);

/* The number of the calling process where it is attached: not agent.pid, if it is a vfork child. 0: it is not. */
pid_t os_attached_pid(void);

/* Tells of a child, in its parent's name. Only where the process is attached, or a vfork child of one.
 * since: the time before the call that has made it, which may have come and gone by now. */
void os_note_child(pid_t pid, enum wire_child what, uint64_t since, enum wire_cause cause, const char *path);

/* Of a process that has left, the word that it calls exec. No system call. A vfork child of such a process cannot be
 * told from it: the word is taken back when exec fails, and when the process waits for a child or exits. */
void os_set_silent_exec(enum wire_cause cause, const char *path);
void os_clear_silent_exec(void);

/* A vfork child runs in its parent's memory, as the thread that has called vfork(). One that has installed a seccomp
 * filter may be killed for any system call of ours, getpid() too: so it leaves word before that, which ends by itself
 * when the child does, or becomes another program. */
pid_t os_filtered_child(void); /* its number; 0: the caller is none */
static inline int os_is_filtered_child(void)
{
    return os_filtered_child() != 0;
}
static inline int os_is_filtered(void) /* so, or by a filter of its own: no system call of ours */
{
    return agent.filtered || os_is_filtered_child();
}
void os_note_filtered_child(pid_t pid);
void os_forget_filtered_child(void); /* it could not install the filter */

#endif
