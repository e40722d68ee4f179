/* Starting the program so that it cannot tell: same folder, streams, signals, limits, process group and session. */
#ifndef TACHO_COLLECT_CAPTURE_LAUNCH_H
#define TACHO_COLLECT_CAPTURE_LAUNCH_H

#include <sys/types.h>

struct collector;
struct program;

/* The process that will become the program: it exists, has a pid, and waits. */
struct launch {
    pid_t pid;
    int go, tell; /* our ends of two pipes: one lets it go, the other says why it could not */
};

/* 0, or -errno. Then one of the two below must follow. */
int launch_prepare(struct launch *launch, struct collector *collector, const struct program *program,
                   char *const *environment);

/* Lets it become the program: 0, or -errno of execve(), then nothing is left running. */
int launch_go(struct launch *launch);

/* Ends it without running anything. */
void launch_cancel(struct launch *launch);

#endif
