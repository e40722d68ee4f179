/* Records of PyTorch.
 *
 * The inputs of an operator are words of a WIRE_TORCH_BEGIN record: one item for each, a head word and the words that
 * belong to it. A list contains the items of its elements. Inputs that do not fit are dropped, and the item in their
 * place says so. */
#ifndef TACHO_WIRE_WIRE_TORCH_H
#define TACHO_WIRE_WIRE_TORCH_H

#include "wire.h"

/* A number identifies one run of an operator and comes from PyTorch. An asynchronous run ends in another thread. */
enum wire_torch_type {
    WIRE_TORCH_LOADED = WIRE_FIRST_TORCH, /* the agent observes operators from now on; body: text, the version */
    WIRE_TORCH_REFUSED, /* the agent cannot observe this PyTorch; body: text, a sentence that says why */
    /* a: scope, as PyTorch numbers them; b: words of the inputs; body: [number][sequence number][thread that ran
     * forward] [stack, if flags has WIRE_TORCH_HAS_STACK] [inputs, see below] text, the name. The flags above that
     * are of the step: see below. With a = WIRE_TORCH_MODULE_CALL it is a call of a module, which has only a
     * number and a name. */
    WIRE_TORCH_BEGIN,
    WIRE_TORCH_END, /* body: [number]; only if the begin was recorded */
    /* body: [number] text, Python frames as "file(line): function", separated by ; and innermost first */
    WIRE_TORCH_STACK,
    /* An allocation or a free. a: device type, b: device + 1, flags: 1 when the allocator was out of memory; body:
     * [address][bytes, negative for a free][bytes in use][bytes held]. The last two may be WIRE_TORCH_NOT_TOLD. */
    WIRE_TORCH_BYTES,
    /* An event of Python itself, written at its end. a: enum wire_python_event; body: [ticks at its start] text, the
     * fields of the event, separated by tabs. */
    WIRE_TORCH_PYTHON_EVENT,
};
WIRE_TYPES_END_AT(TORCH, WIRE_TORCH_PYTHON_EVENT);

/* Events of Python itself, with their names in the report. The fields of a collection are its generation and the
 * numbers of objects that it freed and could not free; those of all others are the function, its file, the line and the
 * reason. Numbered as in python/tacho/_python_events.py. */
#define WIRE_PYTHON_EVENTS(X)                                                                                          \
    X(COLLECTION, "gc")              /* of the garbage collector */                                                    \
    X(COMPILATION, "compile")        /* of a function, by torch.compile */                                             \
    X(RECOMPILATION, "recompile")    /* of a function that was compiled before */                                      \
    X(GRAPH_BREAK, "graph break")    /* a moment: what follows is compiled by itself */                                \
    X(BACKWARD, "compile backward")                                                                                    \
    X(AUTOTUNING, "autotune")                                                                                          \
    X(GRAPH_RECORDING, "record CUDA graph")

enum wire_python_event {
#define WIRE_PYTHON_EVENT_ID(id, name) WIRE_PYTHON_##id,
    WIRE_PYTHON_EVENTS(WIRE_PYTHON_EVENT_ID) WIRE_PYTHON_EVENT_COUNT
#undef WIRE_PYTHON_EVENT_ID
};

enum wire_torch_flag {
    WIRE_TORCH_SHAPES = 1,  /* shapes and types of the inputs, and the values of inputs that are not tensors */
    WIRE_TORCH_MEMORY = 2,  /* allocations and frees */
    WIRE_TORCH_STACKS = 4,  /* the Python stack of each operator */
    WIRE_TORCH_MODULES = 8, /* calls of nn.Module */
};

#define WIRE_TORCH_HEAD_WORDS 3       /* number, sequence number, thread of forward */
#define WIRE_TORCH_HAS_STACK 1        /* flags: one more word, the number of a WIRE_TORCH_STACK */
#define WIRE_TORCH_STEP_SHIFT 1       /* flags: the rest tells the step from the one before; 0: there is no step */
#define WIRE_TORCH_DETAILED 2         /* flags: a step with shapes, stacks and modules */
#define WIRE_TORCH_MODULE_CALL 256    /* in place of a scope: scopes fit in a byte */
/* This bit in the number of a module call keeps it apart from the numbers of operators. */
#define WIRE_TORCH_MODULE_NUMBER (UINT64_C(1) << 63)
#define WIRE_TORCH_NOT_TOLD UINT64_MAX /* in use, held: versions up to 1.9 do not report these */
#define WIRE_TORCH_INPUT_WORDS 512 /* upper limit for the inputs of one operator */
#define WIRE_TORCH_DIMENSIONS 64 /* upper limit for a tensor in PyTorch */

enum wire_torch_input {
    WIRE_TORCH_OTHER,       /* None, or a type that PyTorch's own profiler does not show either */
    WIRE_TORCH_TENSOR,      /* b: type, count: dimensions; [sizes][strides] */
    WIRE_TORCH_UNDEFINED,   /* an undefined tensor */
    WIRE_TORCH_INT,         /* [value] */
    WIRE_TORCH_DOUBLE,      /* [value] */
    WIRE_TORCH_BOOL,        /* [value] */
    WIRE_TORCH_COMPLEX,     /* a scalar whose value is not recorded */
    WIRE_TORCH_TENSOR_LIST, /* b: WIRE_TORCH_LEFT_OUT; else count items follow */
    WIRE_TORCH_SCALAR_LIST, /* count items follow */
    WIRE_TORCH_CUT,         /* further inputs did not fit */
};

/* PyTorch's profiler drops the shapes of longer tensor lists, its emit_nvtx does not. Such a list is marked LEFT_OUT
 * only where it does not fit. */
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
