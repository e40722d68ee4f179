/* Says whether this process runs under a seccomp filter that was installed during the capture: see seccomp.c. */
#ifndef TACHO_AGENT_CORE_SECCOMP_H
#define TACHO_AGENT_CORE_SECCOMP_H

int seccomp_is_new(void);

#endif
