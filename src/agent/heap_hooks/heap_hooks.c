/* libtacho-heap.so: interposes malloc() and its like, for programs whose heap is recorded.
 *
 * It lies before libc in the loader's order, and calls the next definition of each function, whoever has it: jemalloc
 * or tcmalloc as a library, or libc. Nothing is added to blocks, so addresses, alignment and malloc_usable_size() are
 * the allocator's own. The agent hears of a block after it was allocated and before it is freed: in between nobody else
 * gets the address. On its fast path a hook subtracts, or looks at one byte, and jumps.
 *
 * operator new of libstdc++ and libc++, and the allocators of Rust and of most other languages, call malloc(). */
#include <errno.h>
#include <link.h>
#include <stdatomic.h>

#include "agent/core/elf_lookup.h"
#include "agent/heap/heap_calls.h"
#include "base/array.h"

#define unlikely(x) __builtin_expect(!!(x), 0)

/* Hooks are heap_hook_<symbol> in C and <symbol> to the linker: the compiler has its own idea of malloc() and free().
 */
#define HEAP_HOOK(type, symbol, parameters)                                                     \
    __attribute__((visibility("default"))) type heap_hook_##symbol parameters __asm__(#symbol); \
    type heap_hook_##symbol parameters

/* ---- The next definitions -------------------------------------------------------------------------------------- */

/* X(type, symbol, (parameters), (arguments)) */
#define HEAP_FUNCTIONS(X)                                                                             \
    X(void *, malloc, (size_t bytes), (bytes))                                                        \
    X(void *, calloc, (size_t count, size_t bytes), (count, bytes))                                   \
    X(void *, realloc, (void *block, size_t bytes), (block, bytes))                                   \
    X(void *, memalign, (size_t alignment, size_t bytes), (alignment, bytes))                         \
    X(void *, aligned_alloc, (size_t alignment, size_t bytes), (alignment, bytes))                    \
    X(int, posix_memalign, (void **block, size_t alignment, size_t bytes), (block, alignment, bytes)) \
    X(void *, valloc, (size_t bytes), (bytes))                                                        \
    X(void *, pvalloc, (size_t bytes), (bytes))                                                       \
    X(void, free, (void *block), (block))

enum heap_function {
#define HEAP_ID(type, symbol, parameters, arguments) HEAP_##symbol,
    HEAP_FUNCTIONS(HEAP_ID) HEAP_FUNCTION_COUNT
};

static const char *const symbols[] = {
#define HEAP_SYMBOL(type, symbol, parameters, arguments) #symbol,
    HEAP_FUNCTIONS(HEAP_SYMBOL)
};

#define HEAP_FIRST(type, symbol, parameters, arguments) static type first_##symbol parameters;
HEAP_FUNCTIONS(HEAP_FIRST)

/* Each is at first a function that looks all of them up, so that no call has to ask whether they are known. */
static union {
    struct {
#define HEAP_REAL(type, symbol, parameters, arguments) type(*symbol) parameters;
        HEAP_FUNCTIONS(HEAP_REAL)
    };
    void *all[HEAP_FUNCTION_COUNT];
} real = { {
#define HEAP_IS_FIRST(type, symbol, parameters, arguments) first_##symbol,
    HEAP_FUNCTIONS(HEAP_IS_FIRST) } };

/* A program that looks for a function by dlsym() finds the hook even if its libc lacks the function. */
static void *missing_function(void)
{
    errno = ENOSYS;
    return NULL;
}

/* Walks the loader's list instead of calling the loader, whose functions may allocate. */
static void *next_definition(const char *symbol)
{
    int is_behind = 0;
    for (const struct link_map *at = library_objects(); at; at = at->l_next) {
        void *found = is_behind ? library_symbol_of(at, symbol) : NULL;
        if (found)
            return found;
        is_behind |= at->l_addr == library_own_base();
    }
    return (void *)missing_function;
}

static void find_next_definitions(void)
{
    for (uint32_t i = 0; i < HEAP_FUNCTION_COUNT; i++)
        __atomic_store_n(&real.all[i], next_definition(symbols[i]), __ATOMIC_RELAXED);
}

#define HEAP_FIRST_BODY(type, symbol, parameters, arguments) \
    static type first_##symbol parameters                    \
    {                                                        \
        find_next_definitions();                             \
        return real.symbol arguments;                        \
    }
HEAP_FUNCTIONS(HEAP_FIRST_BODY)

/* ---- What the agent is told ------------------------------------------------------------------------------------ */

static _Atomic uint8_t filter[HEAP_FILTER_BYTES];
static void heap_hooks_objects_changed(void);
static struct heap_object object = { .size = sizeof object,
                                     .filter = filter,
                                     .objects_changed = heap_hooks_objects_changed };
static _Atomic(const struct heap_calls *) agent_calls;
static _Atomic int is_off; /* the agent was asked, and records nothing */

/* Bytes that this thread may allocate before it asks the agent. */
static __thread uint64_t countdown __attribute__((tls_model("initial-exec")));

/* While the agent works, the countdown is not the thread's: an allocation in between, of a signal handler, is not told.
 * If the handler never returns, the thread is asked again after so many bytes. */
#define WHILE_TELLING_BYTES (512u << 10)

static __attribute__((noinline)) void *tell_allocated(void *block, size_t bytes)
{
    const struct heap_calls *calls = atomic_load_explicit(&agent_calls, memory_order_acquire);
    uint64_t left = countdown;
    if (atomic_load_explicit(&is_off, memory_order_relaxed))
        countdown = UINT64_MAX;
    if (!block || !calls)
        return block;
    int saved_errno = errno;
    countdown = WHILE_TELLING_BYTES;
    countdown = calls->allocated(block, bytes, left);
    errno = saved_errno;
    return block;
}

static uint64_t take_block(const void *block)
{
    const struct heap_calls *calls = atomic_load_explicit(&agent_calls, memory_order_acquire);
    int saved_errno = errno;
    uint64_t number = block && calls ? calls->take(block) : 0;
    errno = saved_errno;
    return number;
}

static void tell_freed(uint64_t number)
{
    int saved_errno = errno;
    atomic_load_explicit(&agent_calls, memory_order_relaxed)->freed(number, countdown);
    errno = saved_errno;
}

static __attribute__((noinline)) void tell_free(const void *block)
{
    uint64_t number = take_block(block);
    if (number)
        tell_freed(number);
}

/* Whether the agent must be told of an allocation of this size; else it has been counted. Not one instruction, so a
 * signal handler that allocates in between is not counted. */
static inline int is_due(size_t bytes)
{
    uint64_t left = countdown;
    if (unlikely(left <= bytes))
        return 1;
    countdown = left - bytes;
    return 0;
}

static inline int may_be_recorded(const void *block)
{
    return atomic_load_explicit(&filter[heap_filter_index((uintptr_t)block)], memory_order_relaxed) != 0;
}

/* ---- The hooks ------------------------------------------------------------------------------------------------- */

#define HEAP_HOOK_ALLOCATES(symbol, parameters, arguments)                \
    HEAP_HOOK(void *, symbol, parameters)                                 \
    {                                                                     \
        if (unlikely(is_due(bytes)))                                      \
            return tell_allocated(real.symbol arguments, bytes);          \
        return real.symbol arguments;                                     \
    }
HEAP_HOOK_ALLOCATES(malloc, (size_t bytes), (bytes))
HEAP_HOOK_ALLOCATES(memalign, (size_t alignment, size_t bytes), (alignment, bytes))
HEAP_HOOK_ALLOCATES(aligned_alloc, (size_t alignment, size_t bytes), (alignment, bytes))
HEAP_HOOK_ALLOCATES(valloc, (size_t bytes), (bytes))
HEAP_HOOK_ALLOCATES(pvalloc, (size_t bytes), (bytes))

HEAP_HOOK(void *, calloc, (size_t count, size_t bytes))
{
    size_t all;
    if (unlikely(__builtin_mul_overflow(count, bytes, &all)) || !unlikely(is_due(all)))
        return real.calloc(count, bytes);
    return tell_allocated(real.calloc(count, bytes), all);
}

HEAP_HOOK(int, posix_memalign, (void **block, size_t alignment, size_t bytes))
{
    if (!unlikely(is_due(bytes)))
        return real.posix_memalign(block, alignment, bytes);
    int result = real.posix_memalign(block, alignment, bytes);
    if (result == 0)
        tell_allocated(*block, bytes);
    return result;
}

/* A block that cannot be resized stays. With size 0 glibc frees it and returns NULL. */
static __attribute__((noinline)) void *resize_recorded(void *block, size_t bytes)
{
    uint64_t number = take_block(block);
    void *result = real.realloc(block, bytes);
    if (number && !result && bytes)
        atomic_load_explicit(&agent_calls, memory_order_relaxed)->put_back(block, number);
    else if (number)
        tell_freed(number);
    return result;
}

HEAP_HOOK(void *, realloc, (void *block, size_t bytes))
{
    void *result = unlikely(may_be_recorded(block)) ? resize_recorded(block, bytes) : real.realloc(block, bytes);
    return unlikely(is_due(bytes)) ? tell_allocated(result, bytes) : result;
}

HEAP_HOOK(void *, reallocarray, (void *block, size_t count, size_t bytes))
{
    size_t all;
    if (!__builtin_mul_overflow(count, bytes, &all))
        return heap_hook_realloc(block, all);
    errno = ENOMEM;
    return NULL;
}

HEAP_HOOK(void, free, (void *block))
{
    if (unlikely(may_be_recorded(block)))
        tell_free(block);
    real.free(block);
}

/* C23's, which libc may lack. They say of the block what its allocator knows, too. */
HEAP_HOOK(void, free_sized, (void *block, size_t bytes))
{
    heap_hook_free(block);
}

HEAP_HOOK(void, free_aligned_sized, (void *block, size_t alignment, size_t bytes))
{
    heap_hook_free(block);
}

/* ---- Python's small objects ------------------------------------------------------------------------------------ */

/* CPython takes objects of up to 512 bytes from arenas of its own, which it maps. Each arena is a block here: to hook
 * the allocator of objects would cost more, and Python shows which functions that has. */
struct arena_allocator { /* as CPython's PyObjectArenaAllocator */
    void *context;
    void *(*allocate)(void *context, size_t bytes);
    void (*release)(void *context, void *arena, size_t bytes);
};
static struct arena_allocator pythons_allocator;

static void *allocate_arena(void *context, size_t bytes)
{
    void *arena = pythons_allocator.allocate(context, bytes);
    return is_due(bytes) ? tell_allocated(arena, bytes) : arena;
}

static void release_arena(void *context, void *arena, size_t bytes)
{
    if (may_be_recorded(arena))
        tell_free(arena);
    pythons_allocator.release(context, arena, bytes);
}

typedef void arena_function(struct arena_allocator *allocator);

static void hook_arenas(const struct link_map *python)
{
    arena_function *get = (arena_function *)library_symbol_of(python, "PyObject_GetArenaAllocator");
    arena_function *set = (arena_function *)library_symbol_of(python, "PyObject_SetArenaAllocator");
    struct arena_allocator own = { NULL, allocate_arena, release_arena };
    if (!get || !set)
        return;
    get(&pythons_allocator);
    own.context = pythons_allocator.context;
    if (pythons_allocator.allocate && pythons_allocator.release)
        set(&own);
}

/* There is an interpreter when the program starts, or it comes with a library. Of several the first counts. */
static void heap_hooks_objects_changed(void)
{
    static _Atomic int is_hooked;
    for (const struct link_map *at = library_objects(); at && !atomic_load(&is_hooked); at = at->l_next)
        if (library_defines(at, "PyObject_SetArenaAllocator") && !atomic_exchange(&is_hooked, 1))
            hook_arenas(at);
}

/* ---- The start ------------------------------------------------------------------------------------------------- */

const struct heap_calls *tacho_agent_heap(const struct heap_object *object) __attribute__((weak));

static enum heap_allocator allocator_of(const struct link_map *defines, int is_behind)
{
    if (!is_behind)
        return HEAP_BEFORE_HOOKS;
    if (library_defines(defines, "__libc_start_main"))
        return HEAP_OF_LIBC;
    if (library_defines(defines, "__sanitizer_report_error_summary"))
        return HEAP_OF_SANITIZER;
    return library_defines(defines, "_Znwm") ? HEAP_OF_OPERATORS : HEAP_OF_LIBRARY;
}

static enum heap_allocator find_allocator(void)
{
    int is_behind = 0;
    for (const struct link_map *at = library_objects(); at; at = at->l_next)
        if (at->l_addr == library_own_base())
            is_behind = 1;
        else if (library_defines(at, "malloc"))
            return allocator_of(at, is_behind);
    return HEAP_OF_LIBC;
}

__attribute__((constructor)) static void heap_hooks_start(void)
{
    find_next_definitions();
    object.allocator = find_allocator();
    const struct heap_calls *calls = tacho_agent_heap ? tacho_agent_heap(&object) : NULL;
    atomic_store_explicit(&agent_calls, calls, memory_order_release);
    atomic_store_explicit(&is_off, !calls, memory_order_relaxed);
    if (calls)
        heap_hooks_objects_changed();
}
