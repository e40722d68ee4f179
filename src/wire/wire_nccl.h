/* Records of NCCL's profiler plugin interface: what libtacho-nccl.so is told by NCCL. */
#ifndef TACHO_WIRE_WIRE_NCCL_H
#define TACHO_WIRE_WIRE_NCCL_H

#include "wire.h"

#define WIRE_NCCL_FILE "libtacho-nccl.so" /* the plugin; it lies beside the agent */

/* How much is recorded: --nccl-plugin. */
enum wire_nccl_level { WIRE_NCCL_OFF, WIRE_NCCL_COLL, WIRE_NCCL_PROXY, WIRE_NCCL_LEVELS };

/* The kind of an event, and its name in the report. */
#define WIRE_NCCL_KINDS(X)                                                                                             \
    X(GROUP, "group")           /* the operations of one launch */                                                     \
    X(COLLECTIVE, "collective")                                                                                        \
    X(P2P, "p2p")                                                                                                      \
    X(CE_COLL, "ce collective") /* executed by copy engines, without a kernel */                                       \
    X(PROXY_OP, "proxy op")                                                                                            \
    X(PROXY_STEP, "proxy step")                                                                                        \
    X(PROXY_CTRL, "proxy control")                                                                                     \
    X(NET, "network")           /* an event of the network plugin */

enum wire_nccl_kind {
#define WIRE_NCCL_KIND_ID(name, text) WIRE_NCCL_##name,
    WIRE_NCCL_KINDS(WIRE_NCCL_KIND_ID) WIRE_NCCL_KIND_COUNT
#undef WIRE_NCCL_KIND_ID
};

enum wire_nccl_type {
    /* A communicator of this process. a: version of the interface; body: [number, from 1][hash][nodes << 32 | ranks]
     * [rank] text, its name. Ranks 0: unknown (before v4, where events have hash and name instead). */
    WIRE_NCCL_COMM = WIRE_FIRST_NCCL,
    /* An event begins. a: enum wire_nccl_kind; b: version of the interface; body: struct wire_nccl_event, then text:
     * function, algorithm, protocol, datatype and name of the communicator, each ended by a tab */
    WIRE_NCCL_START,
    WIRE_NCCL_STOP,  /* body: [id of the event] */
    WIRE_NCCL_STATE, /* a: state of the interface; body: [id of the event][value of its argument] */
};
WIRE_TYPES_END_AT(NCCL, WIRE_NCCL_STATE);

struct wire_nccl_event {
    uint64_t id, parent;      /* unique in the process; parent 0: none */
    uint32_t comm;            /* number of the communicator; 0: unknown */
    int32_t rank;
    uint64_t sequence, count; /* count: elements; of a network event: bytes */
    int32_t peer;             /* or the root; of a step: its number; of a network event: queue pair or descriptor */
    uint16_t channels;        /* of a proxy operation: the channel */
    uint8_t warps, is_send;
    uint64_t hash;            /* of the communicator, before v4 */
    int32_t steps, chunk_bytes;
};
#define WIRE_NCCL_EVENT_WORDS (sizeof(struct wire_nccl_event) / 8)
_Static_assert(sizeof(struct wire_nccl_event) % 8 == 0, "the text begins on a word");
#define WIRE_NCCL_TEXTS 5
#define WIRE_NCCL_TEXT_BYTES 256u /* of all of them */

struct wire_nccl_shared {
    _Alignas(64) uint32_t level; /* enum wire_nccl_level */
};
WIRE_SHARED(NCCL, struct wire_nccl_shared, wire_nccl)

#endif
