/* The tables of call chains and their users: see chain_tables.h. */
#include "chain_tables.h"

#include <string.h>

const char *const chain_tables[CHAIN_TABLES] = {
    [CHAINS_CUDA] = "CUDA_CALLCHAINS",           [CHAINS_OSRT] = "OSRT_CALLCHAINS",
    [CHAINS_SYSCALL] = "SYSCALL_CALLCHAINS",     [CHAINS_SAMPLING] = "SAMPLING_CALLCHAINS",
    [CHAINS_PYTHON] = "TACHO_PYTHON_CALLCHAINS",
};

const struct chain_user chain_users[CHAIN_USERS] = {
    { "CUPTI_ACTIVITY_KIND_RUNTIME", "callchainId", CHAINS_CUDA },
    { "OSRT_API", "callchainId", CHAINS_OSRT },
    { "SYSCALL", "callchainId", CHAINS_SYSCALL },
    { "COMPOSITE_EVENTS", "id", CHAINS_SAMPLING },
    { "CUPTI_ACTIVITY_KIND_RUNTIME", "pythonCallchainId", CHAINS_PYTHON },
    { "OSRT_API", "pythonCallchainId", CHAINS_PYTHON },
    { "COMPOSITE_EVENTS", "pythonCallchainId", CHAINS_PYTHON },
    { "TACHO_PYTHON_SAMPLE", "callchainId", CHAINS_PYTHON },
};

int chain_table_find(const char *name)
{
    for (int i = 0; i < CHAIN_TABLES; i++)
        if (strcmp(chain_tables[i], name) == 0)
            return i;
    return -1;
}
