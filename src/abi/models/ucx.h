/* The parts of UCX's ABI (libucp, stable since 1.0) that the agent reads: how a datatype encodes a size, and the first
 * fields of the structs that calls get. */
#ifndef TACHO_ABI_MODELS_UCX_H
#define TACHO_ABI_MODELS_UCX_H

#include <stddef.h>
#include <stdint.h>

/* ucp_datatype_t: the low bits are its class. Those of a contiguous one are followed by the bytes of an element. */
enum { UCX_TYPE_CLASS_BITS = 3, UCX_TYPE_CONTIGUOUS = 0, UCX_TYPE_IOV = 2 };

struct ucx_iov { /* ucp_dt_iov_t */
    const void *buffer;
    size_t bytes;
};

struct ucx_request_param { /* the begin of ucp_request_param_t */
    uint32_t mask, flags;
    void *request, *callback;
    uint64_t datatype;
};
_Static_assert(offsetof(struct ucx_request_param, datatype) == 24, "as UCX has it");
#define UCX_PARAM_HAS_TYPE 8u /* a bit of mask; without it, count is in bytes */

struct ucx_endpoint_params { /* the begin of ucp_ep_params_t */
    uint64_t mask;
    const void *address;     /* of the remote worker */
};
#define UCX_ENDPOINT_HAS_ADDRESS 1u

#define UCX_OK 0

#endif
