/* Environment variables that launchers set and libraries read: which of them a report stores. */
#ifndef TACHO_ABI_JOBS_JOB_VARIABLES_H
#define TACHO_ABI_JOBS_JOB_VARIABLES_H

#include <stddef.h>

/* True if a report stores this variable. */
int job_variable_is_kept(const char *name, size_t length);

#endif
