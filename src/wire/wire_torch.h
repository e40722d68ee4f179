/* Records of PyTorch.
 *
 * The inputs of an operator are words of a WIRE_TORCH_BEGIN record: one item for each, a head word and what belongs to
 * it. Lists hold items of their own. What has no room is left out, and the item in its place says so. */
#ifndef TACHO_WIRE_WIRE_TORCH_H
#define TACHO_WIRE_WIRE_TORCH_H

#include "wire.h"

/* A number is torch's own of one run of an operator; it ends in another thread where it is asynchronous. */
enum wire_torch_type {
    WIRE_TORCH_LOADED = WIRE_FIRST_TORCH, /* its operators are observed from now on; a: 1 if memory is, too; body: text,
                                             its version */
    WIRE_TORCH_REFUSED,                   /* and this is why not; body: text, a sentence */
    /* a: scope as torch numbers them, b: words of the inputs; body: [number][sequence number] [thread that ran forward]
     * [stack, if flags has WIRE_TORCH_HAS_STACK] [inputs, see below] text, its name. a: WIRE_TORCH_MODULE_CALL:
     * a call of a module, which has a number alone */
    WIRE_TORCH_BEGIN,
    WIRE_TORCH_END,   /* body: [number]; only if the begin was recorded */
    WIRE_TORCH_STACK, /* body: [number] text, Python frames as "file(line): function" with ;
                       * between, the innermost first */
    /* memory was taken or given back; a: device type, b: device + 1, flags: 1 when there was none left; body:
     * [address][bytes, below 0: given back][bytes in use][bytes held]; these may be WIRE_TORCH_NOT_TOLD */
    WIRE_TORCH_BYTES,
};
WIRE_TYPES_END_AT(TORCH, WIRE_TORCH_BYTES);

enum wire_torch_flag {
    WIRE_TORCH_SHAPES = 1,  /* shapes and types of an operator's inputs, and the values of
                             * those that are no tensors */
    WIRE_TORCH_MEMORY = 2,  /* what its allocators take and give back */
    WIRE_TORCH_STACKS = 4,  /* the Python frames that an operator is called from */
    WIRE_TORCH_MODULES = 8, /* calls of nn.Module */
};

#define WIRE_TORCH_HEAD_WORDS 3       /* number, sequence number, thread of forward */
#define WIRE_TORCH_HAS_STACK 1        /* flags: one more word, the number of a WIRE_TORCH_STACK */
#define WIRE_TORCH_MODULE_CALL 256    /* in the place of a scope, which is a byte */
/* in the numbers of their calls, so that no operator has one of them */
#define WIRE_TORCH_MODULE_NUMBER (UINT64_C(1) << 63)
#define WIRE_TORCH_NOT_TOLD UINT64_MAX /* bytes in use and held, which versions up to 1.9 do not tell */
#define WIRE_TORCH_INPUT_WORDS 512    /* the most that the inputs of one operator take */
#define WIRE_TORCH_DIMENSIONS 64      /* the most that a tensor of torch has */

enum wire_torch_input {
    WIRE_TORCH_OTHER,       /* none, or of a type that torch tells nothing of either */
    WIRE_TORCH_TENSOR,      /* b: type, count: dimensions; [sizes][strides] */
    WIRE_TORCH_UNDEFINED,   /* a tensor that is none */
    WIRE_TORCH_INT,         /* [value] */
    WIRE_TORCH_DOUBLE,      /* [value] */
    WIRE_TORCH_BOOL,        /* [value] */
    WIRE_TORCH_COMPLEX,     /* a scalar whose value is not told */
    WIRE_TORCH_TENSOR_LIST, /* b: WIRE_TORCH_LEFT_OUT; else count items follow */
    WIRE_TORCH_SCALAR_LIST, /* count items follow */
    WIRE_TORCH_CUT,         /* and more inputs, which had no room */
};

/* Of longer lists of tensors torch tells no shapes. Those of emit_nvtx are told, where there is room for them. */
enum { WIRE_TORCH_LIST_MAX = 30, WIRE_TORCH_LEFT_OUT = 1 };

static inline uint64_t wire_torch_item(enum wire_torch_input kind, uint32_t type, uint32_t count)
{
    return (uint64_t)kind | (uint64_t)(type & 0xffff) << 16 | (uint64_t)count << 32;
}

struct wire_torch_shared {
    _Alignas(64) uint32_t flags; /* enum wire_torch_flag */
};
WIRE_SHARED(TORCH, struct wire_torch_shared, wire_torch)

#endif
