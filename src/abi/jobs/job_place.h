/* The place of a process in a parallel job, from the environment variables that launchers set: its rank, its rank on
 * the host, and the name of the job. One table of launchers; no other file knows one by its variables. */
#ifndef TACHO_ABI_JOBS_JOB_PLACE_H
#define TACHO_ABI_JOBS_JOB_PLACE_H

#include <stdint.h>

struct job_place {
    const char *launcher;                       /* NULL: in no job; then the rest says nothing */
    int64_t rank;
    int64_t local_rank, local_size, world_size; /* -1: unknown */
    /* The ranks on this host, "0,4,8", as the launcher wrote them; NULL: unknown. Lives as long as the environment. */
    const char *host_ranks;
    char job[128];     /* the same text in all ranks of a job, and in no other job that runs beside it; "": unknown */
    int is_of_one_run; /* job is the name of one run: no later one has it */
};

/* Returns the value of a variable, or NULL. */
typedef const char *(*job_lookup)(const void *context, const char *name);
struct job_place job_place_read(job_lookup lookup, const void *context);

/* That of this process. */
struct job_place job_place_own(void);

#endif
