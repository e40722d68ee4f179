/* Is this process behind a filter for system calls that was set within the capture? See jail.c. */
#ifndef TACHO_AGENT_JAIL_H
#define TACHO_AGENT_JAIL_H

int jail_is_new(void);

#endif
