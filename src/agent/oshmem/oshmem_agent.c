/* Calls into OpenSHMEM, recorded by the stubs of libtacho-oshmem.so. The outermost call of a thread is an event: the
 * library uses its own functions (shmem_malloc() ends with a barrier), and it never calls back into the program. */
#include "agent/core/own_process.h"
#include "agent/core/source.h"
#include "wire/wire_oshmem.h"

#define NONE UINT8_MAX
enum oshmem_agent_kind { CALL, POLL };

static const struct oshmem_agent_shape {
    uint8_t size, count, pe; /* bytes of an element; places of arguments */
    uint8_t kind;
} shapes[] = {
#define OSHMEM(name, words, enter, stack, size, count, pe, kind) { size, count, pe, kind },
#include "wire/oshmem_calls.def"
#undef OSHMEM
};

struct oshmem_thread {
    uintptr_t frame; /* of the outermost call that the thread is in; 0: none */
};
AGENT_THREAD_STATE(OSHMEM, struct oshmem_thread, oshmem_of)

/* What oshmem_agent_begin() leaves for oshmem_agent_end(), in word_call.own. */
enum oshmem_agent_own { OWN_START };

static int oshmem_agent_begin(struct word_call *call)
{
    struct agent_thread *thread = agent_enter(WIRE_BIT(OSHMEM));
    struct oshmem_thread *own = thread ? oshmem_of(thread) : NULL;
    if (!own || agent_is_nested(own->frame, (uintptr_t)call))
        return 0;
    own->frame = (uintptr_t)call;
    call->own[OWN_START] = agent_ticks();
    return 1;
}

static void oshmem_agent_emit_call(struct agent_thread *thread, const struct word_call *call, uint64_t end)
{
    const struct oshmem_agent_shape *shape = &shapes[call->function];
    uint32_t has_bytes = shape->size ? WIRE_OSHMEM_HAS_BYTES : 0, has_pe = shape->pe != NONE ? WIRE_OSHMEM_HAS_PE : 0;
    struct agent_lane *lane;
    uint32_t words = WIRE_HEAD_WORDS + (has_bytes || has_pe ? 3 : 1);
    struct wire_record *record = emit_begin(thread, &lane, WIRE_SOURCE_OSHMEM, WIRE_OSHMEM_CALL, words);
    if (!record)
        return;
    record->a = (uint16_t)call->function;
    record->flags = (uint8_t)(has_bytes | has_pe);
    record->ticks = call->own[OWN_START];
    record->body[0] = end;
    if (has_bytes || has_pe) {
        uint64_t count = shape->count == NONE ? 1 : word_call_word(call, shape->count);
        record->body[1] = count * shape->size;
        record->body[2] = has_pe ? (uint64_t)(int64_t)word_call_int(call, shape->pe) : 0;
    }
    emit_commit(lane, record);
}

static void oshmem_agent_end(struct word_call *call)
{
    uint64_t ticks = agent_ticks();
    struct agent_thread *thread = agent_thread();
    if (!thread || oshmem_of(thread)->frame != (uintptr_t)call) /* this is another process by now */
        return;
    oshmem_of(thread)->frame = 0;
    if (!agent_recording(WIRE_BIT(OSHMEM)))
        return;
    if (shapes[call->function].kind == POLL && !(int32_t)call->result)
        agent_count(thread, WIRE_SOURCE_OSHMEM, WIRE_EMPTY_POLL);
    else
        oshmem_agent_emit_call(thread, call, ticks);
}

static const struct word_calls oshmem_agent_calls = { oshmem_agent_begin, oshmem_agent_end };

const struct agent_source agent_source_oshmem = {
    .preload = WIRE_OSHMEM_FILE,
    .word_calls = &oshmem_agent_calls,
};
