/* Environment variables that launchers set and libraries read: which of them a report keeps, and which tell a rank. */
#ifndef TACHO_ABI_JOB_VARIABLES_H
#define TACHO_ABI_JOB_VARIABLES_H

#include <stddef.h>

/* Whether a variable is one of the few that are stored. */
int job_variable_is_kept(const char *name, size_t length);

/* Which variables a launcher sets; the first whose rank is there wins, so the more special ones come first. Ended by a
 * source that is NULL. */
struct job_launcher {
    const char *source, *rank, *local_rank, *world_size;
};
extern const struct job_launcher job_launchers[];

#endif
