/* Environment variables that launchers set and libraries read: which of them a report stores, and which have a rank. */
#ifndef TACHO_ABI_JOB_VARIABLES_H
#define TACHO_ABI_JOB_VARIABLES_H

#include <stddef.h>

/* True if a report stores this variable. */
int job_variable_is_kept(const char *name, size_t length);

/* The variables that a launcher sets. The first launcher whose rank is set wins, so the more specific ones come first.
 * The last row has a source of NULL. */
struct job_launcher {
    const char *source, *rank, *local_rank, *world_size;
};
extern const struct job_launcher job_launchers[];

#endif
