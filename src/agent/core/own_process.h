/* Which process is calling: the attached one, or a vfork child in its memory. And on which of its stacks. */
#ifndef TACHO_AGENT_CORE_OWN_PROCESS_H
#define TACHO_AGENT_CORE_OWN_PROCESS_H

#include <sys/types.h>

#include "agent.h"
#include "wire/wire_marks.h"

/* True if the process is attached and is not a vfork child that borrows its parent's memory. */
int agent_is_own_process(void);

/* The pid of the calling process if it is attached, else 0. In a vfork child it differs from agent.pid. */
pid_t agent_attached_pid(void);

/* Records news of a child, in the name of its parent. Only for a process that is attached, or its vfork child. since: a
 * time before the call that created the child, which may have ended by now. */
void agent_note_child(pid_t pid, enum wire_child what, uint64_t since, enum wire_cause cause, const char *path);

/* A vfork child runs in its parent's memory, as the thread that called vfork(). A child that has installed a seccomp
 * filter may be killed for any system call of the agent, even getpid(). So the agent registers the child before that;
 * the entry becomes free by itself when the child ends or calls exec. */
pid_t agent_filtered_child(void); /* its pid; 0: the caller is no such child */
static inline int agent_is_filtered_child(void)
{
    return agent_filtered_child() != 0;
}
/* True if the caller is such a child or the process has a filter itself: the agent must not make system calls. */
static inline int agent_is_filtered(void)
{
    return agent.filtered || agent_is_filtered_child();
}
void agent_note_filtered_child(pid_t pid);
void agent_forget_filtered_child(void); /* the child could not install its filter */

/* True if this frame is on the stack that the caller runs on. A signal handler may run on an alternate stack, whose
 * address says nothing about frames on the thread's stack. Makes a system call. */
int agent_is_on_this_stack(uintptr_t frame);

/* True if the call with this frame, which has not ended, was left by a jump or an exception; `now` is the frame of a
 * call that begins. The stack grows down: a frame at this address or below it is dead, unless this is a signal handler
 * on another stack. (A coroutine whose stack lies above that of a call which it interrupts makes that call look left:
 * the agent does not know the stacks that a program makes.) */
static inline int agent_frame_was_left(uintptr_t frame, uintptr_t now)
{
    return frame <= now && agent_is_on_this_stack(frame);
}

/* True if a call with this frame is made inside of another: `outer` is the frame of the thread's outermost call that
 * has not ended, 0 if there is none. */
static inline int agent_is_nested(uintptr_t outer, uintptr_t frame)
{
    return outer && !agent_frame_was_left(outer, frame);
}

#endif
