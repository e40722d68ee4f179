/* Finds the real functions behind the hooks: all of them when the agent starts, single ones when a hook runs earlier.
 *
 * Of a function with several versions, dlsym(RTLD_NEXT) may return the oldest, whose data is laid out differently. So
 * the version is looked up by name. That skips hooks of another injected library (a sanitizer) if they have no version,
 * so the function that plain dlsym finds is preferred if it is in another library than the versioned one. (A program
 * that was linked with such a library asks for no version either, and gets the agent's hook of the oldest one.) For a
 * function that this libc lacks there is one that fails with ENOSYS: a program that looks for it with dlsym finds the
 * agent's hook all the same, and gets ENOSYS when it calls it. */
#include "libc_real.h"

#include <link.h>
#include <stdatomic.h>
#include <string.h>

#include "elf_lookup.h"
#include "libc_loader.h"
#include "object_extent.h"

union libc_real libc_real;

static const char *const libc_real_symbols[LIBC_FUNCTIONS] = {
#define OS(type, symbol, shown, parameters, arguments, fails) [LIBC_##symbol] = #symbol,
#define OS_OWN(type, symbol, shown, parameters, arguments, fails) [LIBC_##symbol] = #symbol,
#include "wire/libc_calls.def"
#undef OS
#undef OS_OWN
};

/* ---- Versions -------------------------------------------------------------------------------------------------- */

#define OLD_PREFIX "os_old_" /* hooks of older versions, see versions.x86_64.map */

#if defined(__x86_64__)
static const struct {
    uint16_t function;
    const char *version;
} libc_real_versions[] = {
    { LIBC_pthread_cond_wait, "GLIBC_2.3.2" },
    { LIBC_pthread_cond_timedwait, "GLIBC_2.3.2" },
    { LIBC_pthread_cond_signal, "GLIBC_2.3.2" },
    { LIBC_pthread_cond_broadcast, "GLIBC_2.3.2" },
    { LIBC_posix_spawn, "GLIBC_2.15" },
    { LIBC_posix_spawnp, "GLIBC_2.15" },
    { LIBC_quick_exit, "GLIBC_2.24" },
    { LIBC_os_old_pthread_cond_wait, "GLIBC_2.2.5" },
    { LIBC_os_old_pthread_cond_timedwait, "GLIBC_2.2.5" },
    { LIBC_os_old_pthread_cond_signal, "GLIBC_2.2.5" },
    { LIBC_os_old_pthread_cond_broadcast, "GLIBC_2.2.5" },
    { LIBC_os_old_posix_spawn, "GLIBC_2.2.5" },
    { LIBC_os_old_posix_spawnp, "GLIBC_2.2.5" },
};

static const char *libc_real_version_of(enum libc_function function)
{
    for (size_t i = 0; i < COUNT_OF(libc_real_versions); i++)
        if (libc_real_versions[i].function == function)
            return libc_real_versions[i].version;
    return NULL;
}
#else
static const char *libc_real_version_of(enum libc_function function)
{
    return NULL;
}
#endif

/* ---- Functions that this libc does not have -------------------------------------------------------------------- */

static long missing_minus_one(void)
{
    errno = ENOSYS;
    return -1;
}
static long missing_nothing(void)
{
    errno = ENOSYS;
    return 0;
}
static long missing_number(void)
{
    return ENOSYS;
}
static long missing_void(void)
{
    return 0;
}

typedef long (*missing_function)(void);

#define MISSING_MINUS_ONE missing_minus_one
#define MISSING_NULL_ERRNO missing_nothing
#define MISSING_ERROR_NUMBER missing_number
#define MISSING_NOT_ZERO missing_number
#define MISSING_NO_POINTER missing_nothing
#define MISSING_NEVER missing_void
#define MISSING_VOID missing_void
#define MISSING_STREAM_EOF missing_minus_one
#define MISSING_STREAM_NULL missing_nothing
#define MISSING_STREAM_SHORT missing_nothing

static const missing_function missing[LIBC_FUNCTIONS] = {
#define OS(type, symbol, shown, parameters, arguments, fails) [LIBC_##symbol] = MISSING_##fails,
#define OS_OWN(type, symbol, shown, parameters, arguments, fails) [LIBC_##symbol] = MISSING_##fails,
#include "wire/libc_calls.def"
#undef OS
#undef OS_OWN
};

/* ---- Looking up ------------------------------------------------------------------------------------------------ */

struct libc_real_pair {
    uintptr_t one, other;
    int together;
};

static int look_for_pair(struct dl_phdr_info *object, size_t size, void *wanted)
{
    struct libc_real_pair *pair = wanted;
    int one = object_contains(object, pair->one), other = object_contains(object, pair->other);
    pair->together = one && other;
    return one || other;
}

/* dladdr() could answer this too, but it scans all symbols of the library: about 30 us per call, at the start of every
 * program. */
static int are_of_one_library(const void *one, const void *other)
{
    struct libc_real_pair pair = { (uintptr_t)one, (uintptr_t)other, 0 };
    dl_iterate_phdr(look_for_pair, &pair);
    return pair.together;
}

/* Whether libc or an object after the agent defines a symbol, so that dlsym(RTLD_NEXT) finds it. A lookup that fails
 * must not be tried: the loader allocates its error with the program's malloc(), and a hook that comes here may have
 * been called by that malloc() while it initialises itself. (Chromium's then waits for itself for ever.) */
static int is_defined(const char *symbol)
{
    static _Atomic(const struct link_map *) libc;
    const struct link_map *objects = library_objects(), *known = atomic_load_explicit(&libc, memory_order_relaxed);
    for (const struct link_map *at = objects; at && !known; at = at->l_next)
        if (library_defines(at, "__libc_start_main"))
            known = at;
    atomic_store_explicit(&libc, known, memory_order_relaxed);
    if (!objects || (known && library_defines(known, symbol)))
        return 1;
    int is_behind = 0;
    for (const struct link_map *at = objects; at; at = at->l_next)
        if (at->l_addr == library_own_base())
            is_behind = 1;
        else if (is_behind && library_defines(at, symbol))
            return 1;
    return 0;
}

void *libc_find(enum libc_function function)
{
    const char *symbol = libc_real_symbols[function];
    const char *version = libc_real_version_of(function);
    if (strncmp(symbol, OLD_PREFIX, sizeof OLD_PREFIX - 1) == 0)
        symbol += sizeof OLD_PREFIX - 1;
    int saved_errno = errno;
    loader_prepare();
    int defined = is_defined(symbol);
    void *found = defined && version && loader.dlvsym ? loader.dlvsym(RTLD_NEXT, symbol, version) : NULL;
    void *next = defined ? loader.dlsym(RTLD_NEXT, symbol) : NULL;
    if (!found || (next != found && !are_of_one_library(next, found)))
        found = next;
    if (!found)
        found = (void *)missing[function];
    errno = saved_errno;
    libc_real.all[function] = found;
    return found;
}

void libc_resolve(void)
{
    for (enum libc_function function = 0; function < LIBC_FUNCTIONS; function++)
        if (!libc_real.all[function])
            libc_find(function);
    loader.dlerror(); /* the program's next dlerror() must not report these lookups */
}
