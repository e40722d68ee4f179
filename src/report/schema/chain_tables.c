/* The tables of call chains and their users: see chain_tables.h. */
#include "chain_tables.h"

#include <string.h>

const char *const chain_tables[CHAIN_TABLES] = {
    [CHAINS_CUDA] = "CUDA_CALLCHAINS",           [CHAINS_OSRT] = "OSRT_CALLCHAINS",
    [CHAINS_SYSCALL] = "SYSCALL_CALLCHAINS",     [CHAINS_SAMPLING] = "SAMPLING_CALLCHAINS",
    [CHAINS_PYTHON] = "TACHO_PYTHON_CALLCHAINS", [CHAINS_OPENMP] = "TACHO_OPENMP_CALLCHAINS",
    [CHAINS_MPI] = "TACHO_MPI_CALLCHAINS",       [CHAINS_HEAP] = "TACHO_HEAP_CALLCHAINS",
};

const struct chain_user chain_users[CHAIN_USERS] = {
    { "CUPTI_ACTIVITY_KIND_RUNTIME", "callchainId", CHAINS_CUDA, 0 },
    { "OSRT_API", "callchainId", CHAINS_OSRT, 0 },
    { "OSRT_API", "lockCallchainId", CHAINS_OSRT, .is_name = 1 },
    { "SYSCALL", "callchainId", CHAINS_SYSCALL, 0 },
    { "COMPOSITE_EVENTS", "id", CHAINS_SAMPLING, 0 },
    { "CUPTI_ACTIVITY_KIND_RUNTIME", "pythonCallchainId", CHAINS_PYTHON, 0 },
    { "OSRT_API", "pythonCallchainId", CHAINS_PYTHON, 0 },
    { "COMPOSITE_EVENTS", "pythonCallchainId", CHAINS_PYTHON, 0 },
    { "TACHO_PYTHON_SAMPLE", "callchainId", CHAINS_PYTHON, 0 },
    { "OPENMP_EVENT_KIND_PARALLEL", "callchainId", CHAINS_OPENMP, .is_name = 1 },
    { "OPENMP_EVENT_KIND_SYNC_REGION_WAIT", "callchainId", CHAINS_OPENMP, .is_name = 1 },
    { "OPENMP_EVENT_KIND_SYNC_REGION", "callchainId", CHAINS_OPENMP, .is_name = 1 },
    { "OPENMP_EVENT_KIND_MASTER", "callchainId", CHAINS_OPENMP, .is_name = 1 },
    { "OPENMP_EVENT_KIND_REDUCTION", "callchainId", CHAINS_OPENMP, .is_name = 1 },
    { "OPENMP_EVENT_KIND_TASK_CREATE", "callchainId", CHAINS_OPENMP, .is_name = 1 },
    { "OPENMP_EVENT_KIND_CANCEL", "callchainId", CHAINS_OPENMP, .is_name = 1 },
    { "OPENMP_EVENT_KIND_MUTEX_WAIT", "callchainId", CHAINS_OPENMP, .is_name = 1 },
    { "OPENMP_EVENT_KIND_CRITICAL_SECTION", "callchainId", CHAINS_OPENMP, .is_name = 1 },
    { "OPENMP_EVENT_KIND_MUTEX_RELEASED", "callchainId", CHAINS_OPENMP, .is_name = 1 },
    { "OPENMP_EVENT_KIND_LOCK_INIT", "callchainId", CHAINS_OPENMP, .is_name = 1 },
    { "OPENMP_EVENT_KIND_LOCK_DESTROY", "callchainId", CHAINS_OPENMP, .is_name = 1 },
    { "OPENMP_EVENT_KIND_WORKSHARE", "callchainId", CHAINS_OPENMP, .is_name = 1 },
    { "OPENMP_EVENT_KIND_FLUSH", "callchainId", CHAINS_OPENMP, .is_name = 1 },
    { "MPI_P2P_EVENTS", "callchainId", CHAINS_MPI, .is_name = 1 },
    { "MPI_COLLECTIVES_EVENTS", "callchainId", CHAINS_MPI, .is_name = 1 },
    { "MPI_START_WAIT_EVENTS", "callchainId", CHAINS_MPI, .is_name = 1 },
    { "TACHO_HEAP_ALLOCATION", "callchainId", CHAINS_HEAP, 0 },
    { "TACHO_HEAP_ALLOCATION", "pythonCallchainId", CHAINS_PYTHON, 0 },
};

int chain_table_find(const char *name)
{
    for (int i = 0; i < CHAIN_TABLES; i++)
        if (strcmp(chain_tables[i], name) == 0)
            return i;
    return -1;
}
