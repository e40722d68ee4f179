/* Starting the program so that it cannot tell: same folder, streams, signals, limits, process group and session. */
#ifndef TACHO_COLLECT_LAUNCH_H
#define TACHO_COLLECT_LAUNCH_H

#include <sys/types.h>

struct collector;
struct program;

/* Forks and executes. Its pid; or -errno of fork() or execve(), then nothing is left running. */
pid_t launch_program(struct collector *collector, const struct program *program, char *const *environment);

#endif
