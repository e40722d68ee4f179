/* Records calls into cuBLAS, cuDNN and other libraries as push/pop ranges, in domains with the names of the libraries.
 *
 * The stubs that interpose the libraries' functions are in libtacho-libraries.so, which is loaded only when such calls
 * are recorded; this file has the functions that the stubs call. The first domain numbers belong to the libraries, in
 * the order of libraries.def, so that the collector can tell these ranges from the program's.
 *
 * A call that is left by a jump or an exception has no end of its own. The next call of the thread finds that its frame
 * is dead, and ends it. */
#include "libraries_agent.h"

#include "agent/core/agent.h"
#include "agent/core/own_process.h"
#include "agent/core/source.h"
#include "agent/nvtx/nvtx_agent.h"
#include "wire/wire_libraries.h"

_Static_assert(WIRE_LIBRARY_COUNT <= 16, "the low bits of a frame's address say which library");

static _Atomic uint32_t domains_told[WIRE_LIBRARY_COUNT];

/* Reserves the domain numbers of the libraries. */
static void library_agent_prepare(void)
{
    if (!(agent.sources & WIRE_BIT(LIBRARIES)) || atomic_load(&nvtx.domain_count) != 0)
        return;
    atomic_store(&nvtx.domain_count, WIRE_LIBRARY_COUNT);
    for (uint32_t i = 0; i < WIRE_LIBRARY_COUNT; i++)
        atomic_store(&nvtx.domains[library_domain(i)], NVTX_DOMAIN_LIBRARY);
}

static __attribute__((noinline)) uint32_t give_number(const struct agent_library_call *call)
{
    uint32_t domain = library_domain(call->library);
    if (!atomic_exchange(&domains_told[call->library], 1))
        nvtx_tell(&(struct nvtx_note){
            .type = WIRE_NVTX_DOMAIN,
            .domain = domain,
            .head = &(uint64_t){ 0 },
            .text = nvtx_ascii(nvtx_library_domains[call->library]),
        });
    uint32_t id = nvtx_register(domain, nvtx_ascii(call->name));
    atomic_store_explicit(call->name_id, id, memory_order_relaxed);
    return id;
}

/* ---- Frames: the calls that a thread is in, each as the address of its stub's frame and its library ------------ */

#define FRAMES 14 /* deeper calls count as lost */

struct library_thread {
    uint32_t depth;
    uintptr_t frames[FRAMES];
};
AGENT_THREAD_STATE(LIBRARIES, struct library_thread, library_of)

static void pop_last(struct agent_thread *thread)
{
    struct library_thread *state = library_of(thread);
    uintptr_t last = state->frames[--state->depth];
    nvtx_pop(&(struct nvtx_event){ .domain = library_domain(last & 15) });
}

static int library_agent_is_wanted(const struct agent_library_call *call)
{
    uint32_t bit = call->is_small ? WIRE_LIBRARY_VERBOSE(call->library) : WIRE_LIBRARY_BIT(call->library);
    return call->library < WIRE_LIBRARY_COUNT && (wire_library(agent.arena)->wanted & bit);
}

static int library_agent_begin(const struct agent_library_call *call)
{
    struct agent_thread *thread = agent_enter(WIRE_BIT(LIBRARIES));
    if (!thread || !library_agent_is_wanted(call))
        return 0;
    struct library_thread *state = library_of(thread);
    while (state->depth && agent_frame_was_left(state->frames[state->depth - 1] & ~(uintptr_t)15, call->frame))
        pop_last(thread);
    if (state->depth == FRAMES) {
        agent_count(thread, WIRE_SOURCE_LIBRARIES, WIRE_LOST_BUFFER_FULL);
        return 0;
    }
    uint32_t id = atomic_load_explicit(call->name_id, memory_order_relaxed);
    if (unlikely(!id) && !(id = give_number(call)))
        return 0;
    state->frames[state->depth++] = call->frame | call->library;
    nvtx_push(&(struct nvtx_event){ .domain = library_domain(call->library),
                                    .text = { .kind = NVTX_TEXT_REGISTERED, .id = id } });
    return 1;
}

static void library_agent_end(const struct agent_library_call *call)
{
    struct agent_thread *thread = agent_thread();
    struct library_thread *state = thread ? library_of(thread) : NULL;
    uint32_t depth = state ? state->depth : 0;
    while (depth && state->frames[depth - 1] != (call->frame | call->library))
        depth--;
    if (depth == 0) /* this is another process by now, or the call has ended already */
        return;
    while (state->depth >= depth)
        pop_last(thread);
}

static const struct agent_library_calls library_agent_calls = {
    .size = sizeof library_agent_calls,
    .state = &agent_switch.state,
    .arena = &agent.arena,
    .begin = library_agent_begin,
    .end = library_agent_end,
};

const struct agent_source agent_source_libraries = {
    .preload = WIRE_LIBRARIES_FILE,
    .prepare = library_agent_prepare,
};

EXPORT const struct agent_library_calls *tacho_agent_library_calls(void)
{
    return agent_thread() && (agent.sources & WIRE_BIT(LIBRARIES)) ? &library_agent_calls : NULL;
}
