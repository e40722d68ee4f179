/* Records of calls into UCX, and the numbers of the functions: the rows of ucx_calls.def in order. */
#ifndef TACHO_WIRE_WIRE_UCX_H
#define TACHO_WIRE_WIRE_UCX_H

#include "wire.h"

#define WIRE_UCX_FILE "libtacho-ucx.so" /* beside the agent */

enum wire_ucx_type {
    /* A call that has ended; the time is its start. a: enum ucx_function, flags: enum wire_ucx_flag; body: [ticks at
     * its end]; for a message also [endpoint or worker][buffer][bytes][tag] */
    WIRE_UCX_CALL = WIRE_FIRST_UCX,
    WIRE_UCX_WORKER, /* a worker was created, or its address asked for. a: 1 if its id is known; body: [worker][id] */
    WIRE_UCX_PEER,   /* an endpoint was created; body: [endpoint][id of the worker at its other end] */
};
WIRE_TYPES_END_AT(UCX, WIRE_UCX_PEER);

enum wire_ucx_flag {
    WIRE_UCX_HAS_BYTES = 1, /* else the datatype is the program's own, and the bytes are unknown */
    WIRE_UCX_HAS_TAG = 2,
};

enum ucx_function {
#define UCX(name, ...) UCX_FUNCTION_##name,
#include "ucx_calls.def"
#undef UCX
    UCX_FUNCTION_COUNT
};

enum ucx_kind {
    UCX_SUBMIT,
    UCX_ARRIVED,
    UCX_PROGRESS,
    UCX_POLL,
    UCX_OTHER,
    UCX_WORKER_CREATE,
    UCX_WORKER_ADDRESS,
    UCX_EP_CREATE,
    UCX_INTERNAL,
};

#endif
