/* Calls into UCX, recorded by the stubs of libtacho-ucx.so.
 *
 * libucp calls its own functions through the loader, so that stubs see these calls too: those from libucp itself are
 * not recorded. A program's callback that runs inside ucp_worker_progress() may call UCX again, and such calls are
 * events. The agent asks UCX for nothing but the id in a worker's address, which is a look into memory. */
#include <link.h>

#include "abi/models/ucx.h"
#include "agent/core/object_extent.h"
#include "agent/core/source.h"
#include "wire/wire_ucx.h"

#define IOV_MAX_COUNT 65536u /* more pieces of a message are not counted: its bytes are unknown */

enum ucx_agent_how { NO_TYPE, BYTES, TYPE, PARAM, BYTES_4, BYTES_8 };

static const struct ucx_agent_shape {
    uint8_t kind;                             /* enum ucx_kind */
    uint8_t buffer, count, type, tag, header; /* places of arguments; 0: none */
    uint8_t how;                              /* enum ucx_agent_how */
} shapes[] = {
#define UCX(name, words, kind, buffer, count, how, type, tag, header)                                           \
    { UCX_##kind, buffer, count, type, tag, header, how },
#include "wire/ucx_calls.def"
#undef UCX
};

/* What ucx_agent_begin() leaves for ucx_agent_end(), in word_call.own. */
enum ucx_agent_own { OWN_START, OWN_FLAGS, OWN_HANDLE, OWN_BUFFER, OWN_BYTES, OWN_TAG, OWN_ID };
_Static_assert(OWN_ID < WORD_CALL_OWN, "they fit");

/* ---- libucp itself --------------------------------------------------------------------------------------------- */

/* A process may have several (word_call.library); calls of further ones count as the program's. */
#define LIBRARIES 4u
static struct {
    _Atomic uintptr_t first, bytes; /* its addresses; 0 bytes: not known yet */
} libraries[LIBRARIES];

struct ucx_agent_search {
    uintptr_t address;
    uint64_t first, bytes;
};

static int ucx_agent_look_at(struct dl_phdr_info *info, size_t size, void *context)
{
    struct ucx_agent_search *search = context;
    if (!object_contains(info, search->address))
        return 0;
    object_extent(info, &search->first, &search->bytes);
    return 1;
}

static __attribute__((noinline)) void ucx_agent_find_library(const struct word_call *call)
{
    const struct word_object *object = agent_word_object(WIRE_SOURCE_UCX);
    struct ucx_agent_search search = { .address = object ? (uintptr_t)object->real(call->function, call->library) : 0 };
    if (!search.address || !dl_iterate_phdr(ucx_agent_look_at, &search))
        return;
    atomic_store_explicit(&libraries[call->library].first, (uintptr_t)search.first, memory_order_relaxed);
    atomic_store_explicit(&libraries[call->library].bytes, (uintptr_t)search.bytes, memory_order_release);
}

static int is_own_call(const struct word_call *call)
{
    if (unlikely(call->library >= LIBRARIES))
        return 0;
    uintptr_t bytes = atomic_load_explicit(&libraries[call->library].bytes, memory_order_acquire);
    if (unlikely(!bytes)) {
        ucx_agent_find_library(call);
        bytes = atomic_load_explicit(&libraries[call->library].bytes, memory_order_acquire);
    }
    uintptr_t first = atomic_load_explicit(&libraries[call->library].first, memory_order_relaxed);
    return (uintptr_t)call->caller - first < bytes;
}

/* The id that an address has of its worker; 0: unknown. */
static uint64_t worker_id(const struct word_call *call, const void *address)
{
    const struct word_object *object = agent_word_object(WIRE_SOURCE_UCX);
    uint64_t (*id_of)(const void *) = (uint64_t (*)(const void *))(
        object ? object->real(UCX_FUNCTION_ucp_address_get_uuid, call->library) : NULL);
    return id_of && address ? id_of(address) : 0;
}

/* ---- The size of a message ------------------------------------------------------------------------------------- */

/* -1: unknown. */
static int64_t typed_bytes(uint64_t datatype, const void *buffer, uint64_t count)
{
    uint32_t class = datatype & ((1u << UCX_TYPE_CLASS_BITS) - 1);
    if (class == UCX_TYPE_CONTIGUOUS)
        return (int64_t)((datatype >> UCX_TYPE_CLASS_BITS) * count);
    if (class != UCX_TYPE_IOV || count > IOV_MAX_COUNT || (count && !buffer))
        return -1; /* the program's own functions pack it */
    int64_t bytes = 0;
    for (uint64_t i = 0; i < count; i++)
        bytes += (int64_t)((const struct ucx_iov *)buffer)[i].bytes;
    return bytes;
}

static int64_t message_bytes(const struct word_call *call, const struct ucx_agent_shape *shape)
{
    uint64_t count = shape->count ? word_call_word(call, shape->count) : 0;
    const void *buffer = (const void *)word_call_word(call, shape->buffer);
    switch ((enum ucx_agent_how)shape->how) {
    case BYTES: return (int64_t)count;
    case BYTES_4: return 4;
    case BYTES_8: return 8;
    case TYPE: return typed_bytes(word_call_word(call, shape->type), buffer, count);
    case PARAM: {
        const struct ucx_request_param *param = (const void *)word_call_word(call, shape->type);
        int has_type = param && (param->mask & UCX_PARAM_HAS_TYPE);
        return has_type ? typed_bytes(param->datatype, buffer, count) : (int64_t)count;
    }
    default: return -1;
    }
}

static void look_at_message(struct word_call *call, const struct ucx_agent_shape *shape)
{
    int64_t bytes = shape->kind == UCX_ARRIVED ? -1 : message_bytes(call, shape);
    if (bytes >= 0 && shape->header)
        bytes += (int64_t)word_call_word(call, shape->header);
    call->own[OWN_FLAGS] = (bytes >= 0 ? WIRE_UCX_HAS_BYTES : 0) | (shape->tag ? WIRE_UCX_HAS_TAG : 0);
    call->own[OWN_HANDLE] = call->registers[0];
    call->own[OWN_BUFFER] = shape->buffer ? word_call_word(call, shape->buffer) : 0;
    call->own[OWN_BYTES] = (uint64_t)bytes;
    call->own[OWN_TAG] = shape->tag ? word_call_word(call, shape->tag) : 0;
}

/* ---- A call ---------------------------------------------------------------------------------------------------- */

static int is_message(const struct ucx_agent_shape *shape)
{
    return shape->kind == UCX_SUBMIT || shape->kind == UCX_ARRIVED;
}

static int ucx_agent_begin(struct word_call *call)
{
    const struct ucx_agent_shape *shape = &shapes[call->function];
    if (shape->kind == UCX_INTERNAL || !agent_enter(WIRE_BIT(UCX)) || is_own_call(call))
        return 0;
    if (is_message(shape))
        look_at_message(call, shape);
    if (shape->kind == UCX_EP_CREATE) {
        const struct ucx_endpoint_params *params = (const void *)call->registers[1];
        int has_address = params && (params->mask & UCX_ENDPOINT_HAS_ADDRESS);
        call->own[OWN_ID] = has_address ? worker_id(call, params->address) : 0;
    }
    call->own[OWN_START] = agent_ticks();
    return 1;
}

static void emit_pair(struct agent_thread *thread, uint32_t type, uint16_t a, uint64_t handle, uint64_t id)
{
    struct agent_lane *lane;
    enum wire_fate fate; /* not an event */
    struct wire_record *record = emit_reserve(thread, &lane, type, WIRE_HEAD_WORDS + 2, &fate);
    if (!record)
        return;
    record->a = a;
    record->ticks = agent_ticks();
    record->body[0] = handle;
    record->body[1] = id;
    emit_commit(lane, record);
}

/* The worker or the endpoint that the call has made, or the address that it has returned. */
static void ucx_agent_look_at_object(struct agent_thread *thread, const struct word_call *call,
                                     const struct ucx_agent_shape *shape)
{
    if ((int32_t)call->result != UCX_OK)
        return;
    if (shape->kind == UCX_WORKER_CREATE)
        emit_pair(thread, WIRE_UCX_WORKER, 0, *(const uint64_t *)call->registers[2], 0);
    else if (shape->kind == UCX_WORKER_ADDRESS)
        emit_pair(thread, WIRE_UCX_WORKER, 1, call->registers[0], worker_id(call, *(void *const *)call->registers[1]));
    else if (shape->kind == UCX_EP_CREATE && call->own[OWN_ID])
        emit_pair(thread, WIRE_UCX_PEER, 0, *(const uint64_t *)call->registers[2], call->own[OWN_ID]);
}

static void ucx_agent_emit_call(struct agent_thread *thread, const struct word_call *call, int has_message,
                                uint64_t end)
{
    struct agent_lane *lane;
    uint32_t words = WIRE_HEAD_WORDS + (has_message ? 5 : 1);
    struct wire_record *record = emit_begin(thread, &lane, WIRE_SOURCE_UCX, WIRE_UCX_CALL, words);
    if (!record)
        return;
    record->a = (uint16_t)call->function;
    record->flags = (uint8_t)(has_message ? call->own[OWN_FLAGS] : 0);
    record->ticks = call->own[OWN_START];
    record->body[0] = end;
    if (has_message)
        memcpy(record->body + 1, call->own + OWN_HANDLE, 4 * sizeof *record->body);
    emit_commit(lane, record);
}

/* A message that has arrived: the result is its address, or NULL or an error, which are small as unsigned or signed
 * numbers. */
static int has_arrived(struct word_call *call, const struct ucx_agent_shape *shape)
{
    if (call->result + 4096 <= 4096)
        return 0;
    call->own[OWN_BUFFER] = call->result;
    call->own[OWN_BYTES] = *(const uint64_t *)word_call_word(call, shape->count);
    call->own[OWN_FLAGS] |= WIRE_UCX_HAS_BYTES;
    return 1;
}

static int found_something(struct word_call *call, const struct ucx_agent_shape *shape)
{
    switch ((enum ucx_kind)shape->kind) {
    case UCX_PROGRESS: return (uint32_t)call->result != 0;
    case UCX_POLL: return call->result != 0;
    case UCX_ARRIVED: return has_arrived(call, shape);
    default: return 1;
    }
}

static void ucx_agent_end(struct word_call *call)
{
    uint64_t ticks = agent_ticks();
    struct agent_thread *thread = agent_enter(WIRE_BIT(UCX));
    const struct ucx_agent_shape *shape = &shapes[call->function];
    if (!thread)
        return;
    if (!found_something(call, shape)) {
        agent_count(thread, WIRE_SOURCE_UCX, WIRE_EMPTY_POLL);
        return;
    }
    ucx_agent_look_at_object(thread, call, shape);
    ucx_agent_emit_call(thread, call, is_message(shape), ticks);
}

/* ---- The row --------------------------------------------------------------------------------------------------- */

static const struct word_calls ucx_agent_calls = { ucx_agent_begin, ucx_agent_end };

const struct agent_source agent_source_ucx = {
    .preload = WIRE_UCX_FILE,
    .word_calls = &ucx_agent_calls,
};
