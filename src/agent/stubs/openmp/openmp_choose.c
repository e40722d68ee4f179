/* Which runtime serves a call of libgomp's functions.
 *
 * A process may have several: packages of Python bring their own copies of libgomp, each loaded for its user alone. A
 * library must reach the copy that it reaches without us, because its other calls (omp_get_thread_num()) are not
 * interposed and go there. So the function is looked up for each place that calls: in the global scope, where all
 * libraries look first, then in the caller's own. LLVM's runtime has functions of these names, too, and reports its
 * events through OMPT; a call that goes there is not recorded a second time. */
#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

#include "openmp_stubs.h"

enum { SITES = 2048, LIBRARIES = 16 };
enum { SITE_EMPTY, SITE_BUSY };

/* A place that calls, and what it gets. `key` is written last, and set to SITE_BUSY by the one thread that changes the
 * rest. */
static struct site {
    _Atomic uintptr_t key;
    _Atomic(void *) real;
    _Atomic(const struct gomp_library *) library;
} sites[SITES];

static struct gomp_library libraries[LIBRARIES];
static _Atomic uint32_t library_count;

static const struct link_map *object_of(const void *address)
{
    Dl_info found;
    if (!stub_dladdr(address, &found))
        return NULL;
    const struct link_map *object = library_objects();
    while (object && object->l_addr != (uintptr_t)found.dli_fbase)
        object = object->l_next;
    return object;
}

/* Two threads may add the same library at once; the second entry does no harm. */
static const struct gomp_library *library_of(const void *address)
{
    const struct link_map *object = object_of(address);
    uint32_t count = library_count < LIBRARIES ? library_count : LIBRARIES;
    if (!object || library_defines(object, "__kmpc_fork_call"))
        return NULL;
    gomp_number_function *thread = (gomp_number_function *)library_symbol_of(object, "omp_get_thread_num"),
                         *team = (gomp_number_function *)library_symbol_of(object, "omp_get_num_threads");
    if (!thread || !team)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        if (libraries[i].thread_number == thread && libraries[i].team_size == team)
            return &libraries[i];
    uint32_t added = atomic_fetch_add(&library_count, 1);
    if (added >= LIBRARIES)
        return NULL;
    libraries[added] = (struct gomp_library){ thread, team };
    return &libraries[added];
}

typedef void *open_function(const char *path, int flags);
typedef int close_function(void *handle);

static void *find_for(const void *caller, const char *name)
{
    open_function *open = (open_function *)stub_dlsym(RTLD_NEXT, "dlopen");
    close_function *close = (close_function *)stub_dlsym(RTLD_NEXT, "dlclose");
    Dl_info of_caller, of_function;
    if (!open || !close || !stub_dladdr(caller, &of_caller) || !of_caller.dli_fname)
        return NULL;
    void *handle = open(of_caller.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    void *found = handle ? stub_dlsym(handle, name) : NULL;
    /* The address is kept, so its library must stay. */
    if (found && stub_dladdr(found, &of_function) && of_function.dli_fname)
        open(of_function.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (handle)
        close(handle);
    return found;
}

static void keep(struct site *site, uintptr_t key, void *real, const struct gomp_library *library)
{
    uintptr_t before = atomic_load_explicit(&site->key, memory_order_relaxed);
    if (before == SITE_BUSY || !atomic_compare_exchange_strong(&site->key, &before, SITE_BUSY))
        return;
    atomic_store_explicit(&site->real, real, memory_order_release);
    atomic_store_explicit(&site->library, library, memory_order_release);
    atomic_store_explicit(&site->key, key, memory_order_release);
}

static __attribute__((noinline)) void *look_up(struct word_call *call, struct site *site, uintptr_t key)
{
    int saved_errno = errno;
    const char *name = stub_functions[call->function].name;
    void *real = stub_dlsym(RTLD_NEXT, name);
    if (!real)
        real = find_for(call->caller, name);
    if (!real)
        real = stub_resolve(call->function);
    const struct gomp_library *library = real ? library_of(real) : NULL;
    if (real)
        keep(site, key, real, library);
    call->own[GOMP_OWN_LIBRARY] = (uintptr_t)library;
    stub_forget_error(); /* the program must not see this error */
    errno = saved_errno;
    return real;
}

void *openmp_choose(struct word_call *call)
{
    /* One place may jump to several functions. Addresses have 48 bits, or 52. */
    uintptr_t key = (uintptr_t)call->caller ^ (uintptr_t)(call->function + 1) << 52;
    struct site *site = &sites[((uintptr_t)call->caller >> 2 ^ call->function * 37u) % SITES];
    if (atomic_load_explicit(&site->key, memory_order_acquire) == key) {
        void *real = atomic_load_explicit(&site->real, memory_order_acquire);
        const struct gomp_library *library = atomic_load_explicit(&site->library, memory_order_acquire);
        if (atomic_load_explicit(&site->key, memory_order_relaxed) == key) {
            call->own[GOMP_OWN_LIBRARY] = (uintptr_t)library;
            return real;
        }
    }
    return look_up(call, site, key);
}
