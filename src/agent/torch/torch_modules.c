/* Calls of PyTorch's modules, which the Python package reports (python/tacho/_modules.py). They become records among
 * those of the operators, in the thread that makes them, so that one stack has both. A call that began while nothing
 * was recorded has no end. Calls of outermost modules may mark steps. */
#include "agent/steps/step_agent.h"
#include "torch_agent.h"
#include "wire/wire_torch.h"

/* Set in the number that the end of the call receives: the call counts in torch_thread.modules. */
#define COUNTED (UINT64_C(1) << 62)

static uint64_t torch_modules_count(const char *name)
{
    struct agent_thread *thread = agent_thread();
    if (!thread)
        return 0;
    if (torch_of(thread)->modules++ == 0)
        step_mark_begin(STEP_MARK_MODULE, name, strnlen(name, WIRE_TEXT_MAX));
    return COUNTED;
}

static uint64_t record_begin(const char *name)
{
    static _Atomic uint64_t calls;
    int is_wanted = agent_attached() && (torch_wanted_now() & WIRE_TORCH_MODULES);
    struct agent_thread *thread = is_wanted ? agent_enter(WIRE_BIT(TORCH)) : NULL;
    if (!thread)
        return 0;
    size_t length = strnlen(name, WIRE_TEXT_MAX);
    struct agent_lane *lane;
    uint32_t words = WIRE_HEAD_WORDS + WIRE_TORCH_HEAD_WORDS + emit_text_words(length);
    struct wire_record *record = emit_begin(thread, &lane, WIRE_SOURCE_TORCH, WIRE_TORCH_BEGIN, words);
    if (!record)
        return 0;
    uint64_t call = WIRE_TORCH_MODULE_NUMBER | (atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed) + 1);
    record->a = WIRE_TORCH_MODULE_CALL;
    record->body[0] = call;
    record->body[1] = record->body[2] = 0;
    emit_text(record->body + WIRE_TORCH_HEAD_WORDS, name, length);
    record->ticks = agent_ticks();
    emit_commit(lane, record);
    return call;
}

static void torch_modules_record_end(uint64_t call)
{
    uint64_t ticks = agent_ticks();
    struct agent_thread *thread = agent_thread();
    enum wire_fate fate;
    struct agent_lane *lane;
    struct wire_record *record = thread ? emit_reserve(thread, &lane, WIRE_TORCH_END, WIRE_HEAD_WORDS + 1, &fate)
                                        : NULL;
    if (!record)
        return;
    record->ticks = ticks;
    record->body[0] = call;
    emit_commit(lane, record);
}

uint64_t torch_module_begin(const char *name)
{
    uint64_t counted = name && steps_are_advised() && step_needs_modules() ? torch_modules_count(name) : 0;
    return counted | (name ? record_begin(name) : 0);
}

void torch_module_end(uint64_t call)
{
    if (call & WIRE_TORCH_MODULE_NUMBER)
        torch_modules_record_end(call & ~COUNTED);
    struct agent_thread *thread = call & COUNTED ? agent_thread() : NULL;
    if (thread && torch_of(thread)->modules)
        torch_of(thread)->modules--;
}
