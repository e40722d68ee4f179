/* An MPI job as reports on it need it: calls of all ranks, messages, collectives, and waits. */
#ifndef TACHO_ANALYZE_MODEL_RANKS_MPI_JOB_H
#define TACHO_ANALYZE_MODEL_RANKS_MPI_JOB_H

#include "mpi_sites.h"
#include "mpi_waits.h"

struct mpi_job {
    struct report *report;
    struct mpi_calls calls;
    struct clock_errors errors;
    struct messages messages;
    struct collectives collectives;
    struct mpi_waits waits;
    struct mpi_sites sites;
};

/* mpi_job_close() is safe after an error. */
int mpi_job_open(struct mpi_job *job, struct report *report, struct error *err);
void mpi_job_close(struct mpi_job *job);

/* The rank of a thread that called MPI, or MPI_RANK_UNKNOWN. */
static inline int64_t mpi_job_rank(const struct mpi_job *job, int64_t thread)
{
    return mpi_rank_of(&job->calls.ranks, thread);
}

/* The line that a call was made from: a number of job->sites, or MPI_NO_SITE. */
static inline int64_t mpi_job_site(const struct mpi_job *job, const struct mpi_call *call)
{
    return mpi_site_of(&job->sites, call->chain);
}

#endif
