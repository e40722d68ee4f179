/* Events of Python itself, which the Python package reports (python/tacho/_python_events.py): collections of its
 * garbage collector, and compilations of torch.compile. They are recorded when they end, in the thread that they ran
 * in. An event that began while nothing was recorded is not recorded. */
#include "torch_agent.h"

#include "wire/wire_torch.h"

uint64_t torch_event_begin(void)
{
    struct agent_thread *thread = agent_attached() ? agent_enter(WIRE_BIT(TORCH)) : NULL;
    return thread ? agent_ticks() : 0;
}

void torch_event_end(uint64_t begun, unsigned kind, const char *fields)
{
    uint64_t ticks = agent_ticks();
    struct agent_thread *thread = begun && fields && agent_attached() ? agent_enter(WIRE_BIT(TORCH)) : NULL;
    if (!thread)
        return;
    size_t length = strnlen(fields, WIRE_TEXT_MAX);
    struct agent_lane *lane;
    struct wire_record *record = emit_begin(thread, &lane, WIRE_SOURCE_TORCH, WIRE_TORCH_PYTHON_EVENT,
                                            WIRE_HEAD_WORDS + 1 + emit_text_words(length));
    if (!record)
        return;
    record->a = (uint16_t)kind;
    record->body[0] = begun;
    emit_text(record->body + 1, fields, length);
    record->ticks = ticks;
    emit_commit(lane, record);
}
