/* Whether a process is one of several ranks, by a variable of its environment. The agent asks it between vfork and
 * exec, where job_place_read(), which knows more, does too much. */
#ifndef TACHO_ABI_JOBS_JOB_SIZE_H
#define TACHO_ABI_JOBS_JOB_SIZE_H

#include <string.h>

#include "base/array.h"

/* True if this variable, NAME=VALUE, is the number of ranks that a launcher of MPI jobs has set, and it is not 1. */
static inline int job_is_of_ranks(const char *variable)
{
    static const char names[][24] = {
        "OMPI_COMM_WORLD_SIZE=", "PMI_SIZE=",           "SLURM_STEP_NUM_TASKS=", "MV2_COMM_WORLD_SIZE=",
        "MVP_COMM_WORLD_SIZE=",  "JSM_NAMESPACE_SIZE=", "FLUX_JOB_SIZE="
    };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        size_t length = strlen(names[i]);
        if (strncmp(variable, names[i], length) == 0)
            return variable[length] && strcmp(variable + length, "1") != 0;
    }
    return 0;
}

#endif
