/* The memory of PyTorch, as its allocators report it to its profiler.
 *
 * This file interposes the functions of libc10 by which allocators ask whether a profiler is active, and report to it.
 * Each calls the real one, so that a profiler of the program gets the same reports. CPU allocators remember the sizes
 * of their allocations only while a profiler is active. So the answer is yes from the start, whether or not recording
 * is on.
 *
 * Allocators call these functions with their locks held. Nothing here may wait for the loader's lock: see
 * allocators_find(). */
#include <link.h>
#include <stdbool.h>

#include "agent/core/agent.h"
#include "agent/core/elf_lookup.h"
#include "torch_agent.h"
#include "wire/wire_torch.h"

/* c10::Device, which is passed in a register. */
struct torch_device {
    int8_t type, index;
};

static int allocators_is_wanted(void)
{
    return agent_attached() && (agent.sources & WIRE_BIT(TORCH)) &&
           (atomic_load_explicit(&torch_wanted, memory_order_relaxed) & WIRE_TORCH_MEMORY);
}

#define ENABLED "_ZN3c1022memoryProfilingEnabledEv"
#define USED "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"
#define USED_SIGNED "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE"
#define USED_ALONE "_ZN3c1027reportMemoryUsageToProfilerEPvlNS_6DeviceE"
#define SHORT_OF "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE"
#define SHORT_OF_SIGNED "_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE"

/* The real functions. A version has one of each kind; NONE: this version does not have it. */
enum { REAL_ENABLED, REAL_USED, REAL_USED_SIGNED, REAL_USED_ALONE, REAL_SHORT, REAL_SHORT_SIGNED, REALS };
static const char *const allocators_symbols[REALS] = {
    ENABLED, USED, USED_SIGNED, USED_ALONE, SHORT_OF, SHORT_OF_SIGNED
};
static _Atomic(void *) reals[REALS];
#define NONE ((void *)allocators_symbols)

struct allocators_search {
    const char *symbol;
    uintptr_t own_base;
    void *found;
};

static int look_in_object(struct dl_phdr_info *object, size_t size, void *context)
{
    struct allocators_search *search = context;
    if (object->dlpi_addr != search->own_base)
        search->found = library_symbol(object, search->symbol);
    return search->found != NULL;
}

/* Reads the symbol tables of the objects. dlsym() would wait for the loader's lock, and the thread that holds it may be
 * waiting, in a constructor, for the lock that this allocator holds. */
static __attribute__((noinline)) void *allocators_find(int which)
{
    struct allocators_search search = { allocators_symbols[which], library_own_base(), NULL };
    int saved_errno = errno;
    dl_iterate_phdr(look_in_object, &search);
    atomic_store_explicit(&reals[which], search.found ? search.found : NONE, memory_order_relaxed);
    errno = saved_errno;
    return search.found;
}

static void *torch_real(int which)
{
    void *function = atomic_load_explicit(&reals[which], memory_order_relaxed);
    if (likely(function))
        return function == NONE ? NULL : function;
    return allocators_find(which);
}

void torch_memory_forget(void)
{
    for (int which = 0; which < REALS; which++)
        atomic_store_explicit(&reals[which], NULL, memory_order_relaxed);
}

static void record(const uint64_t words[4], struct torch_device device, int is_failure)
{
    struct agent_thread *thread = allocators_is_wanted() ? agent_enter(WIRE_BIT(TORCH)) : NULL;
    struct agent_lane *lane;
    struct wire_record *out = thread
                                  ? emit_begin(thread, &lane, WIRE_SOURCE_TORCH, WIRE_TORCH_BYTES, WIRE_HEAD_WORDS + 4)
                                  : NULL;
    if (!out)
        return;
    out->flags = (uint8_t)is_failure;
    out->a = (uint8_t)device.type;
    out->b = (uint16_t)(device.index + 1);
    out->ticks = agent_ticks();
    memcpy(out->body, words, 4 * sizeof *words);
    emit_commit(lane, out);
}

EXPORT bool torch_memory_enabled(void) __asm__(ENABLED);

bool torch_memory_enabled(void)
{
    bool (*enabled)(void) = (bool (*)(void))torch_real(REAL_ENABLED);
    return allocators_is_wanted() || (enabled && enabled());
}

/* The totals were signed before 2.0. */
#define REPORT(name, symbol, which)                                                                                    \
    EXPORT void name(void *address, int64_t bytes, uint64_t in_use, uint64_t held, struct torch_device device)         \
    __asm__(symbol);                                                                                                   \
    void name(void *address, int64_t bytes, uint64_t in_use, uint64_t held, struct torch_device device)                \
    {                                                                                                                  \
        void (*report)(void *, int64_t, uint64_t, uint64_t, struct torch_device) =                                     \
            (void (*)(void *, int64_t, uint64_t, uint64_t, struct torch_device))torch_real(which);                     \
        record((uint64_t[]){ (uintptr_t)address, (uint64_t)bytes, in_use, held }, device, 0);                          \
        if (report)                                                                                                    \
            report(address, bytes, in_use, held, device);                                                              \
    }
REPORT(torch_memory_used, USED, REAL_USED)
REPORT(torch_memory_used_signed, USED_SIGNED, REAL_USED_SIGNED)

/* Up to 1.9 there are no totals. */
EXPORT void torch_memory_used_alone(void *address, int64_t bytes, struct torch_device device) __asm__(USED_ALONE);
void torch_memory_used_alone(void *address, int64_t bytes, struct torch_device device)
{
    void (*report)(void *, int64_t,
                   struct torch_device) = (void (*)(void *, int64_t, struct torch_device))torch_real(REAL_USED_ALONE);
    record((uint64_t[]){ (uintptr_t)address, (uint64_t)bytes, WIRE_TORCH_NOT_TOLD, WIRE_TORCH_NOT_TOLD }, device, 0);
    if (report)
        report(address, bytes, device);
}

#define SHORT(name, symbol, which)                                                                                     \
    EXPORT void name(int64_t bytes, uint64_t in_use, uint64_t held, struct torch_device device) __asm__(symbol);       \
    void name(int64_t bytes, uint64_t in_use, uint64_t held, struct torch_device device)                               \
    {                                                                                                                  \
        void (*report)(int64_t, uint64_t, uint64_t, struct torch_device) =                                             \
            (void (*)(int64_t, uint64_t, uint64_t, struct torch_device))torch_real(which);                             \
        record((uint64_t[]){ 0, (uint64_t)bytes, in_use, held }, device, 1);                                           \
        if (report)                                                                                                    \
            report(bytes, in_use, held, device);                                                                       \
    }
SHORT(torch_memory_short, SHORT_OF, REAL_SHORT)
SHORT(torch_memory_short_signed, SHORT_OF_SIGNED, REAL_SHORT_SIGNED)

const struct torch_stand_in torch_memory_functions[] = {
    { ENABLED, (void *)torch_memory_enabled },
    { USED, (void *)torch_memory_used },
    { USED_SIGNED, (void *)torch_memory_used_signed },
    { USED_ALONE, (void *)torch_memory_used_alone },
    { SHORT_OF, (void *)torch_memory_short },
    { SHORT_OF_SIGNED, (void *)torch_memory_short_signed },
    { NULL, NULL },
};
