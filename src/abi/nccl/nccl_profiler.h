/* NCCL's profiler plugin interface, versions 1 to 6: NCCL 2.23 (v1), 2.24 (v2), 2.26 (v3), 2.27 (v4), 2.28 (v5), 2.29
 * and later (v6). NCCL takes the newest version that a plugin exports as ncclProfiler_v<N>.
 *
 * A descriptor has the same head in all versions; behind it lies a union by type of event, which differs. The structs
 * below are the members of these unions under the versions that have them first; nccl_layouts[] says where a version
 * has the fields that Tacho reads. */
#ifndef TACHO_ABI_NCCL_NCCL_PROFILER_H
#define TACHO_ABI_NCCL_NCCL_PROFILER_H

#include <stddef.h>
#include <stdint.h>

enum { NCCL_VERSIONS = 6 };

/* Types of events: bits of the activation mask, and the type in a descriptor. */
enum nccl_event_bit {
    NCCL_EVENT_GROUP = 1 << 0,
    NCCL_EVENT_COLL = 1 << 1,
    NCCL_EVENT_P2P = 1 << 2,
    NCCL_EVENT_PROXY_OP = 1 << 3,
    NCCL_EVENT_PROXY_STEP = 1 << 4,
    NCCL_EVENT_PROXY_CTRL = 1 << 5,
    NCCL_EVENT_KERNEL_CHANNEL = 1 << 6, /* v3 */
    NCCL_EVENT_NET_PLUGIN = 1 << 7,     /* v3 */
    NCCL_EVENT_GROUP_API = 1 << 8,      /* v5, and the three below */
    NCCL_EVENT_COLL_API = 1 << 9,
    NCCL_EVENT_P2P_API = 1 << 10,
    NCCL_EVENT_KERNEL_LAUNCH = 1 << 11,
    NCCL_EVENT_CE_COLL = 1 << 12, /* v6: a collective that copy engines execute; and the two below */
    NCCL_EVENT_CE_SYNC = 1 << 13,
    NCCL_EVENT_CE_BATCH = 1 << 14,
};

/* The head of a descriptor. The type is one byte up to v4, whose other bytes are undefined, and eight from v5 on. */
struct nccl_event_head {
    union {
        uint8_t byte;
        uint64_t word;
    } type;
    void *parent; /* what the plugin returned for the parent */
    int32_t rank;
};

struct nccl_coll_v1 {
    const char *name;
    uint64_t comm_hash, sequence;
    uint8_t function;
    const void *send;
    void *receive;
    size_t count;
    int32_t root;
    uint8_t datatype;
    uint32_t operation;
    size_t traffic_bytes;
    uint8_t channels, warps, algorithm, protocol;
    int32_t is_collnet, is_nvls;
};
struct nccl_coll_v2 {
    const char *name;
    uint64_t comm_hash, sequence;
    const char *function;
    const void *send;
    void *receive;
    size_t count;
    int32_t root;
    const char *datatype;
    size_t traffic_bytes;
    uint8_t channels, warps;
    const char *algorithm, *protocol;
};
struct nccl_coll_v3 {
    const char *name;
    uint64_t comm_hash, sequence;
    const char *function;
    const void *send;
    void *receive;
    size_t count;
    int32_t root;
    const char *datatype;
    uint8_t channels, warps;
    const char *algorithm, *protocol;
};
struct nccl_coll_v4 {
    uint64_t sequence;
    const char *function;
    const void *send;
    void *receive;
    size_t count;
    int32_t root;
    const char *datatype;
    uint8_t channels, warps;
    const char *algorithm, *protocol;
    void *parent_group; /* v5 */
};
struct nccl_p2p_v1 {
    const char *name;
    uint64_t comm_hash;
    uint8_t function;
    void *buffer;
    uint8_t datatype;
    size_t count;
    int32_t peer;
};
struct nccl_p2p_v2 {
    const char *name;
    uint64_t comm_hash;
    const char *function;
    void *buffer;
    const char *datatype;
    size_t count;
    int32_t peer;
};
struct nccl_p2p_v4 {
    const char *function;
    void *buffer;
    const char *datatype;
    size_t count;
    int32_t peer;
    uint8_t channels;
    void *parent_group; /* v5 */
};
struct nccl_proxy_op {
    int32_t pid;        /* of the process whose operation it is: `parent` is of that process */
    uint8_t channel;
    int32_t peer, steps, chunk_bytes, is_send;
};
struct nccl_proxy_step {
    int32_t step;
};
struct nccl_net_plugin {
    int64_t id;
    void *data;
};
struct nccl_ce_coll {
    uint64_t sequence;
    const char *function;
    const void *send;
    void *receive;
    size_t count;
    int32_t root;
    const char *datatype, *sync_strategy;
    uint8_t has_batch_sync;
    uint32_t batch_size, batches, ce_sequence;
    void *stream;
};

#define NCCL_UNION 24 /* offset of the union in all versions */
_Static_assert(sizeof(struct nccl_event_head) == NCCL_UNION, "as NCCL has it");
_Static_assert(sizeof(struct nccl_coll_v1) == 96 && sizeof(struct nccl_p2p_v1) == 56, "as NCCL 2.23 has them");
_Static_assert(sizeof(struct nccl_coll_v2) == 104 && sizeof(struct nccl_p2p_v2) == 56, "as NCCL 2.24 has them");
_Static_assert(sizeof(struct nccl_coll_v3) == 96, "as NCCL 2.26 has it");
_Static_assert(sizeof(struct nccl_coll_v4) == 88 && sizeof(struct nccl_p2p_v4) == 48, "as NCCL 2.28 has them");
_Static_assert(sizeof(struct nccl_proxy_op) == 24 && sizeof(struct nccl_net_plugin) == 16, "as NCCL has them");
_Static_assert(sizeof(struct nccl_ce_coll) == 88, "as NCCL 2.29 has it");

/* Fields that Tacho reads of a collective or point-to-point event. */
enum nccl_field {
    NCCL_NAME,     /* of the communicator: text */
    NCCL_HASH,
    NCCL_SEQUENCE,
    NCCL_FUNCTION, /* text, or a number in v1; likewise the three below */
    NCCL_ALGORITHM,
    NCCL_PROTOCOL,
    NCCL_DATATYPE,
    NCCL_COUNT,
    NCCL_ROOT, /* or the peer */
    NCCL_CHANNELS,
    NCCL_WARPS,
    NCCL_PARENT_GROUP,
    NCCL_FIELDS
};

/* A field in a descriptor; bytes 0: the version has none. */
struct nccl_place {
    uint8_t offset, bytes;
};
struct nccl_layout {
    uint8_t type_bytes;
    struct nccl_place coll[NCCL_FIELDS], p2p[NCCL_FIELDS];
};
extern const struct nccl_layout nccl_layouts[NCCL_VERSIONS]; /* [version - 1] */
extern const struct nccl_place nccl_ce_coll_places[NCCL_FIELDS];

/* The value of a field of a descriptor, 0 if it has none. Texts are addresses. */
uint64_t nccl_field(const void *descriptor, struct nccl_place place);

/* The name that v1 has as a number in this field; NULL: unknown. */
const char *nccl_v1_name(enum nccl_field field, uint64_t number);

/* Bytes of an element of the datatype that NCCL calls by this name; 0: unknown. */
unsigned nccl_datatype_bytes(const char *name, size_t length);

/* ---- States and functions -------------------------------------------------------------------------------------- */

/* The name of a state of an event, NULL: unknown; and whether its argument has a value (v4: bytes, operations). */
#define NCCL_STATES 31
const char *nccl_state_name(uint32_t state);

/* The arguments of a state: a union of which Tacho reads the first word. Up to v3 operations have their bytes there,
 * from v4 on steps. */
union nccl_state_arguments {
    size_t bytes;
    int32_t appended;
    void *data;
};

/* What built-in network plugins say of an event of theirs, by the id in the descriptor. */
enum nccl_net_id { NCCL_NET_IB = 1 << 16 | 1, NCCL_NET_SOCKET = 2 << 16 | 1 };
struct nccl_net_ib {
    uint8_t type;
    _Alignas(8) int32_t device;
    uint64_t work_request;
    int32_t opcode, queue_pair;
    size_t bytes;
};
struct nccl_net_socket {
    uint8_t type;
    _Alignas(8) int32_t descriptor;
    int32_t operation;
    size_t bytes;
};
_Static_assert(offsetof(struct nccl_net_ib, bytes) == 32 && offsetof(struct nccl_net_socket, bytes) == 16,
               "a union of 8-byte alignment behind the type");

typedef int nccl_start_event(void *context, void **handle, void *descriptor);
typedef int nccl_stop_event(void *handle);
typedef int nccl_record_state(void *handle, int state, union nccl_state_arguments *arguments);
typedef int nccl_finalize(void *context);

/* The table that a plugin exports. The parameters of `init` depend on the version. */
struct nccl_profiler {
    const char *name;
    void (*init)(void);
    nccl_start_event *start;
    nccl_stop_event *stop;
    nccl_record_state *state;
    nccl_finalize *finalize;
};
_Static_assert(sizeof(struct nccl_profiler) == 48, "as NCCL has it");

typedef int nccl_init_v1(void **context, int *mask); /* to v3 */
typedef int nccl_init_v4(void **context, int *mask, const char *name, uint64_t hash, int nodes, int ranks, int rank,
                         void *log);
typedef int nccl_init_v5(void **context, uint64_t hash, int *mask, const char *name, int nodes, int ranks, int rank,
                         void *log);

#endif
