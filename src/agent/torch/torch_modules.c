/* Calls of PyTorch's modules, which the Python package reports (python/tacho/_modules.py). They become records among
 * those of the operators, in the thread that makes them, so that one stack has both. A call that began while nothing
 * was recorded has no end. */
#include "torch_agent.h"
#include "wire/wire_torch.h"

uint64_t torch_module_begin(const char *name)
{
    static _Atomic uint64_t calls;
    int is_wanted = agent_attached() &&
                    (atomic_load_explicit(&torch_wanted, memory_order_relaxed) & WIRE_TORCH_MODULES);
    struct agent_thread *thread = is_wanted && name ? agent_enter(WIRE_BIT(TORCH)) : NULL;
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

void torch_module_end(uint64_t call)
{
    uint64_t ticks = agent_ticks();
    struct agent_thread *thread = call ? agent_thread() : NULL;
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
