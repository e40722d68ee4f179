/* libtacho-nccl.so: the profiler plugin that NCCL loads when NCCL_PROFILER_PLUGIN names it (tacho profile
 * --nccl-plugin). It exports the interface in all its versions, and hands events to the agent in one form.
 *
 * Handles and contexts are numbers of the agent, never addresses. A plugin must not fail: without an agent it asks for
 * no events and returns success. */
#include <stdatomic.h>
#include <unistd.h>

#include "abi/nccl/nccl_profiler.h"
#include "agent/nccl/nccl_agent.h"

#define EXPORT __attribute__((visibility("default")))

const struct agent_nccl_calls *tacho_agent_nccl_calls(void) __attribute__((weak));

static const struct agent_nccl_calls *agent_calls(void)
{
    static _Atomic(const struct agent_nccl_calls *) known;
    const struct agent_nccl_calls *calls = atomic_load_explicit(&known, memory_order_acquire);
    if (calls || !tacho_agent_nccl_calls)
        return calls;
    calls = tacho_agent_nccl_calls();
    if (!calls || calls->size != sizeof *calls)
        return NULL;
    atomic_store_explicit(&known, calls, memory_order_release);
    return calls;
}

/* ---- Communicators --------------------------------------------------------------------------------------------- */

/* Events of kernels' channels are left out at every level: they cost most, and CUPTI has the kernels. */
static const int masks[WIRE_NCCL_LEVELS] = {
    [WIRE_NCCL_COLL] = NCCL_EVENT_GROUP | NCCL_EVENT_COLL | NCCL_EVENT_P2P,
    [WIRE_NCCL_PROXY] = NCCL_EVENT_GROUP | NCCL_EVENT_COLL | NCCL_EVENT_P2P | NCCL_EVENT_PROXY_OP |
                        NCCL_EVENT_PROXY_STEP | NCCL_EVENT_PROXY_CTRL | NCCL_EVENT_NET_PLUGIN,
};

static int init(void **context, int *mask, const struct agent_nccl_comm *comm)
{
    const struct agent_nccl_calls *calls = agent_calls();
    enum wire_nccl_level level = calls ? calls->level() : WIRE_NCCL_OFF;
    uint32_t number = level ? calls->comm(comm) : 0;
    *context = (void *)(uintptr_t)(number + 1); /* NCCL takes NULL for none */
    *mask = comm->version < 3 ? masks[level] & ~NCCL_EVENT_NET_PLUGIN : masks[level];
    if (level && comm->version >= 6)
        *mask |= NCCL_EVENT_CE_COLL;
    return 0;
}

#define INIT_OLD(number)                                                                                               \
    static int init_v##number(void **context, int *mask)                                                               \
    {                                                                                                                  \
        return init(context, mask, &(struct agent_nccl_comm){ .version = number, .rank = -1 });                        \
    }
INIT_OLD(1)
INIT_OLD(2)
INIT_OLD(3)

static int init_v4(void **context, int *mask, const char *name, uint64_t hash, int nodes, int ranks, int rank,
                   void *log)
{
    (void)log;
    return init(context, mask, &(struct agent_nccl_comm){ 4, name, hash, nodes, ranks, rank });
}

#define INIT_NEW(number)                                                                                               \
    static int init_v##number(void **context, uint64_t hash, int *mask, const char *name, int nodes, int ranks,        \
                              int rank, void *log)                                                                     \
    {                                                                                                                  \
        (void)log;                                                                                                     \
        return init(context, mask, &(struct agent_nccl_comm){ number, name, hash, nodes, ranks, rank });               \
    }
INIT_NEW(5)
INIT_NEW(6)

static int nccl_plugin_finalize(void *context)
{
    (void)context; /* events may still be stopped after this */
    return 0;
}

/* ---- Events ---------------------------------------------------------------------------------------------------- */

static const char *nccl_plugin_text_of(uint32_t version, const void *descriptor, const struct nccl_place *places,
                                       enum nccl_field field)
{
    uint64_t value = nccl_field(descriptor, places[field]);
    if (places[field].bytes == sizeof(char *))
        return (const char *)(uintptr_t)value;
    return places[field].bytes && version == 1 ? nccl_v1_name(field, value) : NULL;
}

/* A collective or point-to-point operation: the fields that its version has. */
static void read_operation(struct agent_nccl_start *start, const void *descriptor, const struct nccl_place *places)
{
    static const enum nccl_field texts[WIRE_NCCL_TEXTS] = { NCCL_FUNCTION, NCCL_ALGORITHM, NCCL_PROTOCOL, NCCL_DATATYPE,
                                                            NCCL_NAME };
    struct wire_nccl_event *event = &start->event;
    for (size_t i = 0; i < WIRE_NCCL_TEXTS; i++)
        start->texts[i] = nccl_plugin_text_of(start->version, descriptor, places, texts[i]);
    event->sequence = nccl_field(descriptor, places[NCCL_SEQUENCE]);
    event->count = nccl_field(descriptor, places[NCCL_COUNT]);
    event->peer = (int32_t)nccl_field(descriptor, places[NCCL_ROOT]);
    event->channels = (uint16_t)nccl_field(descriptor, places[NCCL_CHANNELS]);
    event->warps = (uint8_t)nccl_field(descriptor, places[NCCL_WARPS]);
    event->hash = nccl_field(descriptor, places[NCCL_HASH]);
    if (places[NCCL_PARENT_GROUP].bytes) /* the parent is a call there, which is not recorded */
        event->parent = nccl_field(descriptor, places[NCCL_PARENT_GROUP]);
}

static void read_coll(struct agent_nccl_start *start, const void *descriptor)
{
    read_operation(start, descriptor, nccl_layouts[start->version - 1].coll);
}

static void read_p2p(struct agent_nccl_start *start, const void *descriptor)
{
    read_operation(start, descriptor, nccl_layouts[start->version - 1].p2p);
}

static void read_ce_coll(struct agent_nccl_start *start, const void *descriptor)
{
    read_operation(start, descriptor, nccl_ce_coll_places);
    start->texts[1] = "CE";
    start->event.parent = 0;
}

/* Another process may work for this one (PXN): then the parent is a number of that process. */
static void read_proxy_op(struct agent_nccl_start *start, const void *descriptor)
{
    const struct nccl_proxy_op *op = (const void *)((const char *)descriptor + NCCL_UNION);
    struct wire_nccl_event *event = &start->event;
    event->channels = op->channel;
    event->peer = op->peer;
    event->is_send = op->is_send != 0;
    event->steps = op->steps;
    event->chunk_bytes = op->chunk_bytes;
    if (op->pid != getpid())
        event->parent = 0;
}

static void read_proxy_step(struct agent_nccl_start *start, const void *descriptor)
{
    start->event.peer = ((const struct nccl_proxy_step *)((const char *)descriptor + NCCL_UNION))->step;
}

/* Only what NCCL's own network plugins say is known; of others the event alone. */
static void read_net(struct agent_nccl_start *start, const void *descriptor)
{
    const struct nccl_net_plugin *net = (const void *)((const char *)descriptor + NCCL_UNION);
    start->event.sequence = (uint64_t)net->id;
    if (net->id == NCCL_NET_IB && net->data) {
        const struct nccl_net_ib *ib = net->data;
        start->texts[0] = "IB";
        start->event.count = ib->bytes;
        start->event.peer = ib->queue_pair;
    } else if (net->id == NCCL_NET_SOCKET && net->data) {
        const struct nccl_net_socket *socket = net->data;
        start->texts[0] = "socket";
        start->event.count = socket->bytes;
        start->event.peer = socket->descriptor;
    }
}

/* The types that are recorded. NCCL also announces parents that nobody asked for: those get no handle. */
static const struct {
    uint64_t type;
    enum wire_nccl_kind kind;
    void (*read)(struct agent_nccl_start *start, const void *descriptor);
} nccl_plugin_types[] = {
    { NCCL_EVENT_GROUP, WIRE_NCCL_GROUP, NULL },
    { NCCL_EVENT_COLL, WIRE_NCCL_COLLECTIVE, read_coll },
    { NCCL_EVENT_P2P, WIRE_NCCL_P2P, read_p2p },
    { NCCL_EVENT_CE_COLL, WIRE_NCCL_CE_COLL, read_ce_coll },
    { NCCL_EVENT_PROXY_OP, WIRE_NCCL_PROXY_OP, read_proxy_op },
    { NCCL_EVENT_PROXY_STEP, WIRE_NCCL_PROXY_STEP, read_proxy_step },
    { NCCL_EVENT_PROXY_CTRL, WIRE_NCCL_PROXY_CTRL, NULL },
    { NCCL_EVENT_NET_PLUGIN, WIRE_NCCL_NET, read_net },
};

static uint64_t start_event(uint32_t version, void *context, const void *descriptor)
{
    const struct agent_nccl_calls *calls = agent_calls();
    const struct nccl_event_head *head = descriptor;
    uint64_t type = nccl_layouts[version - 1].type_bytes == 1 ? head->type.byte : head->type.word;
    for (size_t i = 0; calls && i < COUNT_OF(nccl_plugin_types); i++) {
        if (nccl_plugin_types[i].type != type || (type == NCCL_EVENT_CE_COLL && version < 6))
            continue;
        struct agent_nccl_start start = {
            .version = version,
            .kind = nccl_plugin_types[i].kind,
            .event = { .parent = (uintptr_t)head->parent, .rank = head->rank, .peer = -1 },
        };
        start.event.comm = context ? (uint32_t)(uintptr_t)context - 1 : 0;
        if (nccl_plugin_types[i].read)
            nccl_plugin_types[i].read(&start, descriptor);
        return calls->start(&start);
    }
    return 0;
}

#define START(number)                                                                                                  \
    static int start_v##number(void *context, void **handle, void *descriptor)                                         \
    {                                                                                                                  \
        *handle = (void *)(uintptr_t)start_event(number, context, descriptor);                                         \
        return 0;                                                                                                      \
    }
START(1)
START(2)
START(3)
START(4)
START(5)
START(6)

static int stop_event(void *handle)
{
    const struct agent_nccl_calls *calls = handle ? agent_calls() : NULL;
    if (calls)
        calls->stop((uintptr_t)handle);
    return 0;
}

/* The states whose argument has a number; that of others is an address, or undefined. */
static uint64_t nccl_plugin_value_of(int state, const union nccl_state_arguments *arguments, int is_old)
{
    int is_ctrl = state >= 13 && state <= 18, is_step = (state >= 8 && state <= 12) || state == 20;
    int is_old_op = is_old && state >= 0 && state <= 7;
    if (!arguments)
        return 0;
    return is_ctrl ? (uint64_t)arguments->appended : (is_step && !is_old) || is_old_op ? arguments->bytes : 0;
}

static int record_state(void *handle, int state, const union nccl_state_arguments *arguments, int is_old)
{
    const struct agent_nccl_calls *calls = handle ? agent_calls() : NULL;
    if (calls && state >= 0)
        calls->state((uintptr_t)handle, (uint32_t)state, nccl_plugin_value_of(state, arguments, is_old));
    return 0;
}

static int state_old(void *handle, int state, union nccl_state_arguments *arguments)
{
    return record_state(handle, state, arguments, 1);
}

static int state_new(void *handle, int state, union nccl_state_arguments *arguments)
{
    return record_state(handle, state, arguments, 0);
}

/* ---- The tables ------------------------------------------------------------------------------------------------ */

#define TABLE(number, states)                                                                                          \
    extern const struct nccl_profiler ncclProfiler_v##number;                                                          \
    EXPORT const struct nccl_profiler ncclProfiler_v##number = {                                                       \
        "Tacho", (void (*)(void))init_v##number, start_v##number, stop_event, states, nccl_plugin_finalize,            \
    };
TABLE(1, state_old)
TABLE(2, state_old)
TABLE(3, state_old)
TABLE(4, state_new)
TABLE(5, state_new)
TABLE(6, state_new)
