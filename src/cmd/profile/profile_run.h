/* Runs a program as `tacho profile` does, for commands that print something of the report at the end. */
#ifndef TACHO_CMD_PROFILE_PROFILE_RUN_H
#define TACHO_CMD_PROFILE_PROFILE_RUN_H

#include "cmd/command.h"
#include "collect/collect.h"

/* Gets the complete report before tacho ends as the program did, which may be by a signal. */
struct profile_follower {
    void (*take_report)(void *context, const struct collect_result *result, const char *path);
    void *context;
};

/* argv is a command line of `tacho profile`; self gives messages their name. Returns the exit status. */
int profile_run(const struct command *self, int argc, char **argv, const struct profile_follower *then);

#endif
