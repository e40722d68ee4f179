/* Records the events of NCCL's profiler plugin interface: see nccl_agent.h.
 *
 * The agent keeps nothing about an event: its id is a number, and begin, end and states are records of their own, which
 * the collector puts together. So NCCL may stop events in any order, in any thread, twice or never, and may report
 * states of events that have ended (nccl#1992): there is no memory behind a handle that could be gone. */
#include "nccl_agent.h"

#include "agent/core/source.h"

static _Atomic uint64_t last_id;
static _Atomic uint32_t last_comm;

static enum wire_nccl_level level(void)
{
    uint32_t wanted = agent_thread() && agent_attached() ? wire_nccl(agent.arena)->level : WIRE_NCCL_OFF;
    return wanted < WIRE_NCCL_LEVELS ? (enum wire_nccl_level)wanted : WIRE_NCCL_OFF;
}

static uint32_t comm(const struct agent_nccl_comm *comm)
{
    uint32_t number = atomic_fetch_add(&last_comm, 1) + 1;
    uint64_t head[] = { number, comm->hash, (uint64_t)(uint32_t)comm->nodes << 32 | (uint32_t)comm->ranks,
                        (uint32_t)comm->rank };
    emit_note(WIRE_NCCL_COMM, (uint16_t)comm->version, head, 4, comm->name ? comm->name : "");
    return number;
}

/* Each text ends with a tab; together they have at most WIRE_NCCL_TEXT_BYTES. */
static size_t join_texts(char *to, const char *const texts[WIRE_NCCL_TEXTS])
{
    size_t length = 0;
    for (size_t i = 0; i < WIRE_NCCL_TEXTS; i++) {
        size_t most = (WIRE_NCCL_TEXT_BYTES - length) / (WIRE_NCCL_TEXTS - i) - 1;
        size_t own = texts[i] ? strnlen(texts[i], most) : 0;
        memcpy(to + length, texts[i] ? texts[i] : "", own);
        to[length + own] = '\t';
        length += own + 1;
    }
    return length;
}

static uint64_t nccl_agent_start(const struct agent_nccl_start *start)
{
    struct agent_thread *thread = agent_enter(WIRE_BIT(NCCL));
    if (!thread)
        return 0;
    char texts[WIRE_NCCL_TEXT_BYTES];
    size_t length = join_texts(texts, start->texts);
    struct agent_lane *lane;
    uint32_t words = WIRE_HEAD_WORDS + WIRE_NCCL_EVENT_WORDS + emit_text_words(length);
    struct wire_record *record = emit_begin(thread, &lane, WIRE_SOURCE_NCCL, WIRE_NCCL_START, words);
    if (!record)
        return 0;
    struct wire_nccl_event event = start->event;
    event.id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1;
    record->a = (uint16_t)start->kind;
    record->b = (uint16_t)start->version;
    record->ticks = agent_ticks();
    memcpy(record->body, &event, sizeof event);
    emit_text(record->body + WIRE_NCCL_EVENT_WORDS, texts, length);
    emit_commit(lane, record);
    return event.id;
}

/* An event that was recorded gets its end, even if recording is off by now. */
static void nccl_agent_stop(uint64_t id)
{
    emit_note(WIRE_NCCL_STOP, 0, &id, 1, NULL);
}

static void nccl_agent_state(uint64_t id, uint32_t state, uint64_t value)
{
    if (agent_enter(WIRE_BIT(NCCL)))
        emit_note(WIRE_NCCL_STATE, (uint16_t)state, (uint64_t[]){ id, value }, 2, NULL);
}

static const struct agent_nccl_calls nccl_agent_calls = {
    .size = sizeof nccl_agent_calls,
    .level = level,
    .comm = comm,
    .start = nccl_agent_start,
    .stop = nccl_agent_stop,
    .state = nccl_agent_state,
};

const struct agent_source agent_source_nccl = { 0 };

EXPORT const struct agent_nccl_calls *tacho_agent_nccl_calls(void)
{
    return agent_thread() && (agent.sources & WIRE_BIT(NCCL)) ? &nccl_agent_calls : NULL;
}
