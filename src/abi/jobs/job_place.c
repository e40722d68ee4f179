/* Where a process is in a parallel job: see job_place.h. */
#include "job_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { CHOICES = 2 };

/* The variables that a launcher sets. A variable and, where versions differ, another one that says the same. */
struct job_place_launcher {
    const char *name, *rank;
    /* A number that must be there too: the rank alone says nothing. Slurm gives batch scripts and interactive shells
     * the rank 0 of a job that they are not part of; their steps have no number, or one that needs 32 bits. */
    const char *needs;
    const char *local_rank[CHOICES], *local_size[CHOICES], *world_size[CHOICES];
    const char *host_ranks;
    struct {
        const char *name, *part; /* "NAME", or "NAME.PART" */
        int is_of_one_run;       /* a user's id, a port and an allocation serve many runs; so does one that restarts */
    } job[CHOICES];
};

/* The first launcher whose rank is set counts. One that starts others comes after them: Slurm starts mpirun, Kubernetes
 * starts torchrun. */
static const struct job_place_launcher launchers[] = {
    { .name = "torchrun",
      .rank = "RANK",
      .needs = "WORLD_SIZE",
      .local_rank = { "LOCAL_RANK" },
      .local_size = { "LOCAL_WORLD_SIZE" },
      .world_size = { "WORLD_SIZE" },
      .job = { { "TORCHELASTIC_RUN_ID", NULL, 0 }, { "MASTER_ADDR", "MASTER_PORT", 0 } } },
    { .name = "Open MPI",
      .rank = "OMPI_COMM_WORLD_RANK",
      .local_rank = { "OMPI_COMM_WORLD_LOCAL_RANK" },
      .local_size = { "OMPI_COMM_WORLD_LOCAL_SIZE" },
      .world_size = { "OMPI_COMM_WORLD_SIZE" },
      .job = { { "PMIX_NAMESPACE", NULL, 1 }, { "OMPI_MCA_ess_base_jobid", NULL, 1 } } },
    { .name = "MVAPICH",
      .rank = "MV2_COMM_WORLD_RANK",
      .local_rank = { "MV2_COMM_WORLD_LOCAL_RANK" },
      .local_size = { "MV2_COMM_WORLD_LOCAL_SIZE" },
      .world_size = { "MV2_COMM_WORLD_SIZE" } },
    { .name = "MVAPICH",
      .rank = "MVP_COMM_WORLD_RANK",
      .local_rank = { "MVP_COMM_WORLD_LOCAL_RANK" },
      .local_size = { "MVP_COMM_WORLD_LOCAL_SIZE" },
      .world_size = { "MVP_COMM_WORLD_SIZE" } },
    { .name = "jsrun",
      .rank = "JSM_NAMESPACE_RANK",
      .local_rank = { "JSM_NAMESPACE_LOCAL_RANK" },
      .local_size = { "JSM_NAMESPACE_LOCAL_SIZE" },
      .world_size = { "JSM_NAMESPACE_SIZE" },
      .job = { { "PMIX_NAMESPACE", NULL, 1 }, { "LSB_JOBID", NULL, 0 } } },
    { .name = "Flux",
      .rank = "FLUX_TASK_RANK",
      .local_rank = { "FLUX_TASK_LOCAL_ID" },
      .world_size = { "FLUX_JOB_SIZE" },
      .job = { { "FLUX_JOB_ID", NULL, 1 } } },
    { .name = "PALS",
      .rank = "PALS_RANKID",
      .local_rank = { "PALS_LOCAL_RANKID" },
      .local_size = { "PALS_LOCAL_SIZE" },
      .world_size = { "PMI_SIZE" },
      .job = { { "PALS_APID", NULL, 1 } } },
    { .name = "MPICH",
      .rank = "PMI_RANK",
      .local_rank = { "MPI_LOCALRANKID", "PMI_LOCAL_RANK" },
      .local_size = { "MPI_LOCALNRANKS", "PMI_LOCAL_SIZE" },
      .world_size = { "PMI_SIZE" } },
    { .name = "PMIx", .rank = "PMIX_RANK", .job = { { "PMIX_NAMESPACE", NULL, 1 } } },
    { .name = "Slurm",
      .rank = "SLURM_PROCID",
      .needs = "SLURM_STEP_ID",
      .local_rank = { "SLURM_LOCALID" },
      .world_size = { "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS" },
      .host_ranks = "SLURM_GTIDS",
      .job = { { "SLURM_JOB_ID", "SLURM_STEP_ID", 1 } } },
    { .name = "Kubernetes", .rank = "JOB_COMPLETION_INDEX" },
};

struct environment {
    job_lookup lookup;
    const void *context;
};

static const char *job_place_value_of(const struct environment *environment, const char *name)
{
    const char *value = name ? environment->lookup(environment->context, name) : NULL;

    return value && *value ? value : NULL;
}

/* -1: not set, or no number that a rank can be. */
static int64_t job_place_number_of(const struct environment *environment, const char *name)
{
    const char *text = job_place_value_of(environment, name);
    int64_t number = text ? 0 : -1;

    for (; text && *text; text++) {
        if (*text < '0' || *text > '9' || number > INT32_MAX / 10)
            return -1;
        number = number * 10 + (*text - '0');
    }
    return number;
}

static int64_t first_number(const struct environment *environment, const char *const names[CHOICES])
{
    int64_t number = -1;

    for (int i = 0; i < CHOICES && number < 0; i++)
        number = job_place_number_of(environment, names[i]);
    return number;
}

/* torchrun says "none" if it was given no id. */
static void read_job(const struct environment *environment, const struct job_place_launcher *launcher,
                     struct job_place *place)
{
    for (int i = 0; i < CHOICES && !place->job[0]; i++) {
        const char *name = job_place_value_of(environment, launcher->job[i].name);
        const char *part = job_place_value_of(environment, launcher->job[i].part);
        if (!name || strcmp(name, "none") == 0 || (launcher->job[i].part && !part))
            continue;
        snprintf(place->job, sizeof place->job, "%s%s%s", name, part ? "." : "", part ? part : "");
        place->is_of_one_run = launcher->job[i].is_of_one_run;
    }
}

static int64_t count_of(const char *list)
{
    int64_t count = list ? 1 : -1;

    for (; list && *list; list++)
        count += *list == ',';
    return count;
}

static struct job_place job_place_read_place(const struct environment *environment,
                                             const struct job_place_launcher *launcher)
{
    struct job_place place = { .rank = job_place_number_of(environment, launcher->rank) };

    if (place.rank < 0 || (launcher->needs && job_place_number_of(environment, launcher->needs) < 0))
        return place;
    place.world_size = first_number(environment, launcher->world_size);
    if (place.world_size >= 0 && place.rank >= place.world_size) /* of two launchers */
        return place;
    place.launcher = launcher->name;
    place.local_rank = first_number(environment, launcher->local_rank);
    place.local_size = first_number(environment, launcher->local_size);
    place.host_ranks = job_place_value_of(environment, launcher->host_ranks);
    if (place.local_size < 0)
        place.local_size = count_of(place.host_ranks);
    read_job(environment, launcher, &place);
    return place;
}

/* What a launcher does not say, another one may: with srun --mpi=pmix, PMIx has the rank and Slurm the rank on the
 * host. It must speak of the same job. */
static void job_place_complete(struct job_place *place, const struct job_place *other)
{
    int is_same_world = place->world_size < 0 || other->world_size < 0 || place->world_size == other->world_size;

    if (!other->launcher || other->rank != place->rank || !is_same_world)
        return;
    if (place->world_size < 0)
        place->world_size = other->world_size;
    if (place->local_rank < 0)
        place->local_rank = other->local_rank;
    if (place->local_size < 0)
        place->local_size = other->local_size;
    if (!place->host_ranks)
        place->host_ranks = other->host_ranks;
    if (!place->job[0]) {
        memcpy(place->job, other->job, sizeof place->job);
        place->is_of_one_run = other->is_of_one_run;
    }
}

struct job_place job_place_read(job_lookup lookup, const void *context)
{
    const struct environment environment = { lookup, context };
    struct job_place place = { 0 };

    for (size_t i = 0; i < COUNT_OF(launchers); i++) {
        struct job_place other = job_place_read_place(&environment, &launchers[i]);
        if (!place.launcher)
            place = other;
        else
            job_place_complete(&place, &other);
    }
    if (!place.launcher)
        place.rank = place.local_rank = place.local_size = place.world_size = -1;
    return place;
}

static const char *own_variable(const void *context, const char *name)
{
    return getenv(name);
}

struct job_place job_place_own(void)
{
    return job_place_read(own_variable, NULL);
}
