/* The call chains of one call, as ids. */
#ifndef TACHO_COLLECT_CORE_CALL_CHAINS_H
#define TACHO_COLLECT_CORE_CALL_CHAINS_H

#include <stdint.h>

struct call_chains {
    int64_t native; /* in the source's own table of call chains; 0: none */
    int64_t lock;   /* like native, of one frame: the variable that the lock is in which the call waited; 0: none */
    int64_t interpreted; /* the interpreter's frames, in the table of the interpreter's source; 0: none */
};

#endif
