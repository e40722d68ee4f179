/* A call through a stub: asks the agent whether it is recorded. */
#include "stub_words.h"

#include <stddef.h>

_Static_assert(offsetof(struct word_call, stack) == WORDS_STACK, "as stub_words.h says");
_Static_assert(offsetof(struct word_call, result) == WORDS_RESULT, "as stub_words.h says");
_Static_assert(offsetof(struct word_call, function) == WORDS_FUNCTION, "as stub_words.h says");
_Static_assert(offsetof(struct word_call, is_recorded) == WORDS_IS_RECORDED, "as stub_words.h says");
_Static_assert(offsetof(struct word_call, caller) == WORDS_CALLER, "as stub_words.h says");
_Static_assert(sizeof(struct word_call) == WORDS_CALL_BYTES, "as stub_words.h says");

static _Atomic(const struct word_calls *) agent_calls;

const struct word_calls *tacho_agent_word_calls(uint32_t source, const struct word_object *object)
    __attribute__((weak));

static void *real_function(uint32_t number)
{
    void *real = atomic_load_explicit(&stub_real[number], memory_order_acquire);
    return real ? real : stub_resolve(number);
}

static void stub_words_objects_changed(void)
{
    stub_clear_weak();
    stub_objects_changed();
}

static const struct word_object object = { .size = sizeof object,
                                           .real = stub_real_in,
                                           .objects_changed = stub_words_objects_changed };

static __attribute__((noinline)) const struct word_calls *stub_words_find_agent(void)
{
    const struct word_calls *calls = tacho_agent_word_calls ? tacho_agent_word_calls(stub_words_source, &object) : NULL;
    if (calls)
        atomic_store_explicit(&agent_calls, calls, memory_order_release);
    return calls;
}

/* The agent must know the object before its first call, to tell it of loaded objects. */
__attribute__((constructor)) static void stub_words_start(void)
{
    stub_words_find_agent();
    stub_words_objects_changed();
}

static __attribute__((noinline)) void *stub_words_choose(struct word_call *call)
{
    const struct stub_library *library;
    void *real = stub_choose(call->function, call->caller, &library);
    call->library = (uint16_t)library->number;
    if (stub_object.describe)
        call->own[0] = (uintptr_t)library->detail;
    return real;
}

void *stub_words_begin(struct word_call *call)
{
    void *real = __builtin_expect(atomic_load_explicit(&stub_chooses, memory_order_relaxed) != 0, 0)
                     ? stub_words_choose(call)
                     : real_function(call->function);
    if (__builtin_expect(!real, 0))
        return stub_object.missing(call->function);
    const struct word_calls *agent = atomic_load_explicit(&agent_calls, memory_order_acquire);
    if (__builtin_expect(!agent, 0) && !(agent = stub_words_find_agent()))
        return real;
    call->is_recorded = (uint32_t)agent->begin(call);
    return real;
}

void stub_words_end(struct word_call *call)
{
    atomic_load_explicit(&agent_calls, memory_order_relaxed)->end(call);
}
