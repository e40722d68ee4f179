/* `tacho profile` as one rank of a parallel job: which ranks are recorded, and which of them records what concerns its
 * whole host. */
#ifndef TACHO_CMD_PROFILE_PROFILE_RANKS_H
#define TACHO_CMD_PROFILE_PROFILE_RANKS_H

#include "profile_settings.h"

/* Parses --ranks into a struct profile_settings. */
int profile_ranks_take(void *settings, const char *value, struct error *err);

/* Finds out which rank we are. *is_recorded: 0 if --ranks leaves it out. */
int profile_ranks_find(struct profile_settings *settings, int *is_recorded, struct error *err);

/* Becomes the program, as if tacho had not been there. Returns the exit status of a failure, and err. */
int profile_ranks_run_bare(const struct profile_settings *settings, struct error *err);

/* Leaves the data that concern the whole host to one rank of it, and says so in the report. */
void profile_ranks_share_host(struct profile_settings *settings);

#endif
