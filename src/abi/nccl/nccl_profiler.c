/* Where each version of NCCL's profiler interface has the fields that Tacho reads, and the names behind its numbers. */
#include "nccl_profiler.h"

#include <string.h>

#include "base/array.h"

#define AT(type, member)                                                                                               \
    {                                                                                                                  \
        .offset = NCCL_UNION + offsetof(struct type, member), .bytes = sizeof(((struct type *)0)->member)              \
    }

#define COLL(type)                                                                                                     \
    [NCCL_SEQUENCE] = AT(type, sequence), [NCCL_FUNCTION] = AT(type, function),                                        \
    [NCCL_DATATYPE] = AT(type, datatype), [NCCL_COUNT] = AT(type, count), [NCCL_ROOT] = AT(type, root)
#define PLANNED(type)                                                                                                  \
    [NCCL_ALGORITHM] = AT(type, algorithm), [NCCL_PROTOCOL] = AT(type, protocol),                                      \
    [NCCL_CHANNELS] = AT(type, channels), [NCCL_WARPS] = AT(type, warps)
#define P2P(type)                                                                                                      \
    [NCCL_FUNCTION] = AT(type, function), [NCCL_DATATYPE] = AT(type, datatype), [NCCL_COUNT] = AT(type, count),        \
    [NCCL_ROOT] = AT(type, peer)
#define NAMED(type) [NCCL_NAME] = AT(type, name), [NCCL_HASH] = AT(type, comm_hash)
#define GROUPED(type) [NCCL_PARENT_GROUP] = AT(type, parent_group)
#define CHANNELS(type) [NCCL_CHANNELS] = AT(type, channels)

const struct nccl_layout nccl_layouts[NCCL_VERSIONS] = {
    { 1, { NAMED(nccl_coll_v1), COLL(nccl_coll_v1), PLANNED(nccl_coll_v1) }, { NAMED(nccl_p2p_v1), P2P(nccl_p2p_v1) } },
    { 1, { NAMED(nccl_coll_v2), COLL(nccl_coll_v2), PLANNED(nccl_coll_v2) }, { NAMED(nccl_p2p_v2), P2P(nccl_p2p_v2) } },
    { 1, { NAMED(nccl_coll_v3), COLL(nccl_coll_v3), PLANNED(nccl_coll_v3) }, { NAMED(nccl_p2p_v2), P2P(nccl_p2p_v2) } },
    { 1, { COLL(nccl_coll_v4), PLANNED(nccl_coll_v4) }, { P2P(nccl_p2p_v4), CHANNELS(nccl_p2p_v4) } },
    { 8,
      { COLL(nccl_coll_v4), PLANNED(nccl_coll_v4), GROUPED(nccl_coll_v4) },
      { P2P(nccl_p2p_v4), CHANNELS(nccl_p2p_v4), GROUPED(nccl_p2p_v4) } },
    { 8,
      { COLL(nccl_coll_v4), PLANNED(nccl_coll_v4), GROUPED(nccl_coll_v4) },
      { P2P(nccl_p2p_v4), CHANNELS(nccl_p2p_v4), GROUPED(nccl_p2p_v4) } },
};

/* Copy engines have no algorithm; their way to synchronise stands where the protocol does. */
const struct nccl_place nccl_ce_coll_places[NCCL_FIELDS] = { COLL(nccl_ce_coll), [NCCL_PROTOCOL] = AT(nccl_ce_coll,
                                                                                                      sync_strategy) };

uint64_t nccl_field(const void *descriptor, struct nccl_place place)
{
    uint64_t value = 0; /* the bytes of a little-endian number */
    memcpy(&value, (const char *)descriptor + place.offset, place.bytes);
    return value;
}

/* ---- Names ----------------------------------------------------------------------------------------------------- */

static const char *const nccl_profiler_functions[] = { "Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                                       "AllReduce", "SendRecv", "Send",      "Recv" };
static const char *const algorithms[] = {
    "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"
};
static const char *const protocols[] = { "LL", "LL128", "SIMPLE" };

static const struct {
    const char *name;
    unsigned bytes;
} datatypes[] = {
    { "ncclInt8", 1 },    { "ncclUint8", 1 },    { "ncclInt32", 4 },      { "ncclUint32", 4 },
    { "ncclInt64", 8 },   { "ncclUint64", 8 },   { "ncclFloat16", 2 },    { "ncclFloat32", 4 },
    { "ncclFloat64", 8 }, { "ncclBfloat16", 2 }, { "ncclFloat8e4m3", 1 }, { "ncclFloat8e5m2", 1 },
};

const char *nccl_v1_name(enum nccl_field field, uint64_t number)
{
    switch (field) {
    case NCCL_FUNCTION: return number < COUNT_OF(nccl_profiler_functions) ? nccl_profiler_functions[number] : NULL;
    case NCCL_ALGORITHM: return number < COUNT_OF(algorithms) ? algorithms[number] : NULL;
    case NCCL_PROTOCOL: return number < COUNT_OF(protocols) ? protocols[number] : NULL;
    case NCCL_DATATYPE: return number < COUNT_OF(datatypes) ? datatypes[number].name : NULL;
    default: return NULL;
    }
}

unsigned nccl_datatype_bytes(const char *name, size_t length)
{
    for (size_t i = 0; i < COUNT_OF(datatypes); i++)
        if (strlen(datatypes[i].name) == length && memcmp(datatypes[i].name, name, length) == 0)
            return datatypes[i].bytes;
    return 0;
}

const char *nccl_state_name(uint32_t state)
{
    static const char *const names[NCCL_STATES] = {
        [0] = "send posted",
        [1] = "send remote FIFO wait",
        [2] = "send transmitted",
        [3] = "send done",
        [4] = "receive posted",
        [5] = "received",
        [6] = "receive transmitted",
        [7] = "receive done",
        [8] = "send GPU wait",
        [9] = "send wait",
        [10] = "receive wait",
        [11] = "receive flush wait",
        [12] = "receive GPU wait",
        [13] = "idle",
        [14] = "active",
        [15] = "sleep",
        [16] = "wakeup",
        [17] = "append",
        [18] = "append end",
        [19] = "in progress",
        [20] = "send peer wait",
        [21] = "update",
    };
    return state < NCCL_STATES ? names[state] : NULL;
}
