/* Who made a call: ids of its call chains. */
#ifndef TACHO_COLLECT_CORE_CALL_CHAINS_H
#define TACHO_COLLECT_CORE_CALL_CHAINS_H

#include <stdint.h>

struct call_chains {
    int64_t native; /* in OSRT_CALLCHAINS or CUDA_CALLCHAINS; 0: none */
    int64_t python; /* in TACHO_PYTHON_CALLCHAINS; 0: none */
};

#endif
