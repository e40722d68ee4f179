/* The interposed functions, as library_lists.def has them, and what a recorded call does. */
#include <errno.h>
#include <stddef.h>

#include "agent/core/sys.h"
#include "library_enter.h"
#include "library_stubs.h"
#include "wire/wire.h"
#include "wire/wire_libraries.h"

_Static_assert(WIRE_BIT(LIBRARIES) == ENTER_LIBRARY_BIT, "as library_enter.h says");
_Static_assert(offsetof(struct library_call, stack_bytes) == ENTER_STACK_BYTES, "as library_enter.h says");
_Static_assert(offsetof(struct library_call, is_recorded) == ENTER_IS_RECORDED, "as library_enter.h says");

enum { PLAIN, SMALL };

const struct stub_function stub_functions[] = {
#define CALL(name, words, kind) { #name, OF_LIBRARY, kind, words },
#include "library_lists.def"
#undef CALL
};
#define COUNT COUNT_OF(stub_functions)

_Atomic(void *) stub_real[COUNT];
STUB_CHOICES(32, COUNT, 0);
static _Atomic uint32_t name_ids[COUNT];

static const char *const library_calls_files[][STUB_FILES] = {
#define LIBRARY(id, name, domain, sign, ...) { __VA_ARGS__ },
#include "wire/libraries.def"
#undef LIBRARY
};
static const char *const library_calls_signs[] = {
#define LIBRARY(id, name, domain, sign, ...) sign,
#include "wire/libraries.def"
#undef LIBRARY
    NULL,
};
static const char *const library_calls_vendors[] = { "libcu", "libnccl", NULL };

/* The status that these libraries return when they are not initialised: 1 in all of them. */
static uintptr_t not_there(void)
{
    return 1;
}

static void *library_calls_missing(uint32_t number)
{
    return (void *)(uintptr_t)not_there;
}

static void choosing(void);

const struct stub_object stub_object = {
    .count = COUNT,
    .files = library_calls_files,
    .vendors = library_calls_vendors,
    .missing = library_calls_missing,
    .signs = library_calls_signs,
    .has_parts = 1,
    .choosing = choosing,
};

/* ---- A call ---------------------------------------------------------------------------------------------------- */

#define PAGE_BYTES 4096u
/* Words that are copied beside the known ones, if the stack has them: a newer version may have more arguments. */
#define SPARE_WORDS 16u

static _Atomic uint32_t no_agent;
static struct wire_header *no_arena;
struct library_look library_look = {
    .state = &no_agent,
    .arena = &no_arena,
    .recording = offsetof(struct wire_header, recording),
};

/* A stub that finds the state of no agent does not jump to stub_real[]. */
static void choosing(void)
{
    library_look.state = &no_agent;
}

static _Atomic(const struct agent_library_calls *) agent_calls;

const struct agent_library_calls *tacho_agent_library_calls(void) __attribute__((weak));

static const struct agent_library_calls *library_calls_find_agent(void)
{
    const struct agent_library_calls *calls = atomic_load_explicit(&agent_calls, memory_order_acquire);
    if (calls || !tacho_agent_library_calls)
        return calls;
    calls = tacho_agent_library_calls();
    if (calls && calls->size == sizeof *calls) {
        library_look.arena = calls->arena; /* first: a stub reads it only once the state says so */
        atomic_thread_fence(memory_order_release);
        if (!atomic_load(&stub_chooses))
            library_look.state = calls->state;
        atomic_store_explicit(&agent_calls, calls, memory_order_release);
        return calls;
    }
    return NULL;
}

/* True if the page can be read. The system call reads from there before it finds that its first argument is invalid. */
static int is_readable(uintptr_t page)
{
    return sys_call6(SYS_rt_sigprocmask, -1, (long)page, 0, 8, 0, 0) == -EINVAL;
}

/* As many words as known versions have, and the spare ones, unless the stack ends before, as a coroutine's may. */
static uint64_t stack_bytes(const struct stub_function *function, const void *arguments)
{
    /* The page that this thread has checked last. */
    static __thread uintptr_t known_page __attribute__((tls_model("initial-exec")));
    uint64_t wanted = (function->words + SPARE_WORDS) * 8u;
    uint64_t room = PAGE_BYTES - ((uintptr_t)arguments & (PAGE_BYTES - 1));
    uintptr_t next = (uintptr_t)arguments + room;
    if (wanted > room && next != known_page) {
        if (is_readable(next))
            known_page = next;
        else
            wanted = room; /* memory that is not mapped holds no argument */
    }
    return wanted & ~UINT64_C(15);
}

static void *library_calls_real_for(uint32_t number, const void *caller)
{
    const struct stub_library *library;
    if (atomic_load_explicit(&stub_chooses, memory_order_relaxed))
        return stub_choose(number, caller, &library);
    void *real = atomic_load_explicit(&stub_real[number], memory_order_acquire);
    return real ? real : stub_resolve(number);
}

void *library_begin(uint32_t number, struct library_call *call, const void *arguments, const void *caller)
{
    const struct stub_function *function = &stub_functions[number];
    void *real = library_calls_real_for(number, caller);
    call->is_recorded = 0;
    if (!real)
        return library_calls_missing(number);
    const struct agent_library_calls *agent = library_calls_find_agent();
    if (!agent)
        return real;
    call->call = (struct agent_library_call){
        .library = function->group,
        .is_small = function->kind,
        .name = function->name,
        .name_id = &name_ids[number],
        .frame = (uintptr_t)call & ~(uintptr_t)15,
    };
    call->stack_bytes = stack_bytes(function, arguments);
    call->is_recorded = (uint32_t)agent->begin(&call->call);
    return real;
}

void library_end(const struct library_call *call)
{
    atomic_load_explicit(&agent_calls, memory_order_relaxed)->end(&call->call);
}

/* ---- The width of the vector registers ------------------------------------------------------------------------- */

#if defined(__x86_64__)
#include <cpuid.h>

extern uint32_t library_vectors, library_vector_parts;
uint32_t library_vectors, library_vector_parts;

__attribute__((constructor)) static void look_at_vectors(void)
{
    uint32_t a, b, c, d, parts, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
        return;
    __asm__ volatile("xgetbv" : "=a"(parts), "=d"(high) : "c"(0));
    library_vector_parts = parts & (ENTER_PART_AVX | ENTER_PART_AVX512);
    int can_ask = __get_cpuid_count(13, 1, &a, &b, &c, &d) && (a & 4);
    library_vectors = can_ask && library_vector_parts ? ENTER_VECTORS_ASK : library_vector_parts;
}
#endif
