/* Who is calling: the process that is attached, or a vfork child in its memory; and on which of its stacks. */
#ifndef TACHO_AGENT_CORE_OWN_PROCESS_H
#define TACHO_AGENT_CORE_OWN_PROCESS_H

#include <sys/types.h>

#include "agent.h"
#include "wire/wire_marks.h"

/* Attached, and not a vfork child that borrows its parent's memory. */
int agent_is_own_process(void);

/* The number of the calling process where it is attached: not agent.pid, if it is a vfork child. 0: it is not. */
pid_t agent_attached_pid(void);

/* Tells of a child, in its parent's name. Only where the process is attached, or a vfork child of one.
 * since: the time before the call that has made it, which may have come and gone by now. */
void agent_note_child(pid_t pid, enum wire_child what, uint64_t since, enum wire_cause cause, const char *path);

/* A vfork child runs in its parent's memory, as the thread that has called vfork(). One that has installed a seccomp
 * filter may be killed for any system call of ours, getpid() too: so it leaves word before that, which ends by itself
 * when the child does, or becomes another program. */
pid_t agent_filtered_child(void); /* its number; 0: the caller is none */
static inline int agent_is_filtered_child(void)
{
    return agent_filtered_child() != 0;
}
static inline int agent_is_filtered(void) /* so, or by a filter of its own: no system call of ours */
{
    return agent.filtered || agent_is_filtered_child();
}
void agent_note_filtered_child(pid_t pid);
void agent_forget_filtered_child(void); /* it could not install the filter */

/* A handler may run on a stack of its own: where that lies says nothing of the frames on the thread's. A system call.
 */
int agent_is_on_this_stack(uintptr_t frame);

#endif
