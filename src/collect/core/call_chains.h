/* Who made a call: ids of its call chains. */
#ifndef TACHO_COLLECT_CORE_CALL_CHAINS_H
#define TACHO_COLLECT_CORE_CALL_CHAINS_H

#include <stdint.h>

struct call_chains {
    int64_t native;      /* in the table of call chains of the source; 0: none */
    int64_t interpreted; /* the frames of an interpreter, in the table of its source; 0: none */
};

#endif
