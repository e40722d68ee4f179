/* Launches the program so that it sees no difference: the same directory, streams, signals, limits, process group and
 * session as without Tacho. */
#ifndef TACHO_COLLECT_CAPTURE_LAUNCH_H
#define TACHO_COLLECT_CAPTURE_LAUNCH_H

#include <sys/types.h>

struct collector;
struct program_file;

/* The process that becomes the program: it exists, has a pid, and waits. */
struct launch {
    pid_t pid;
    int go, tell; /* our ends of two pipes: `go` lets it continue, `tell` returns the error of execve() */
};

/* 0, or -errno. One of the two functions below must follow. */
int launch_prepare(struct launch *launch, struct collector *collector, const struct program_file *program,
                   char *const *environment);

/* Lets the process become the program: 0, or -errno of execve(); then no process is left. */
int launch_go(struct launch *launch);

/* Ends the process before it runs anything. */
void launch_cancel(struct launch *launch);

#endif
