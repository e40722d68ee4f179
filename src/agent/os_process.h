/* Between the hooks that deal with processes. */
#ifndef TACHO_AGENT_OS_PROCESS_H
#define TACHO_AGENT_OS_PROCESS_H

/* Attached, and not a vfork child that borrows its parent's memory. */
int os_is_own_process(void);

#endif
