/* Opens the models of an MPI job, one after the other. */
#include "mpi_job.h"

int mpi_job_open(struct mpi_job *job, struct report *report, struct error *err)
{
    int code;

    *job = (struct mpi_job){ .report = report };
    if ((code = mpi_calls_read(&job->calls, report, err)) != 0)
        return code;
    if ((code = clock_errors_read(&job->errors, report, err)) != 0)
        return code;
    if ((code = messages_read(&job->messages, report, &job->calls, &job->errors, err)) != 0)
        return code;
    if ((code = mpi_waits_add_messages(&job->waits, &job->calls, &job->messages, &job->errors)) != 0)
        return code;
    if ((code = mpi_waits_add_probes(&job->waits, report, &job->calls, &job->messages, &job->errors, err)) != 0)
        return code;
    if ((code = collectives_read(&job->collectives, report, NULL, err)) != 0)
        return code;
    if ((code = mpi_waits_add_collectives(&job->waits, &job->calls, &job->collectives, &job->errors)) != 0)
        return code;
    if ((code = mpi_waits_add_setup(&job->waits, &job->calls, &job->errors)) != 0)
        return code;
    mpi_waits_settle(&job->waits);
    return mpi_sites_read(&job->sites, report, err);
}

void mpi_job_close(struct mpi_job *job)
{
    mpi_sites_free(&job->sites);
    mpi_waits_free(&job->waits);
    collectives_free(&job->collectives);
    messages_free(&job->messages);
    clock_errors_free(&job->errors);
    mpi_calls_free(&job->calls);
}
