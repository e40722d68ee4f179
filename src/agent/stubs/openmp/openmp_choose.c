/* Which runtime serves a call of libgomp's functions.
 *
 * A process may have several: packages of Python bring their own copies of libgomp, each loaded for its user alone. A
 * library must reach the copy that it reaches without us, because its other calls (omp_get_thread_num()) are not
 * interposed and go there. So the functions are looked up for each object that calls: in the global scope, where all
 * libraries look first, then in the caller's own. LLVM's runtime has functions of these names, too, and reports its
 * events through OMPT; a call that goes there is not recorded a second time.
 *
 * A lookup takes the loader's lock. The threads of a region must not do that: the region may be in a constructor, whose
 * thread holds the lock until they are done. So the first call of an object, which begins a region, looks up all
 * functions at once. */
#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

#include "agent/core/object_extent.h"
#include "openmp_stubs.h"

enum { OBJECTS = 128, LIBRARIES = 16 };
enum {
    FUNCTIONS = 0
#define GOMP_CALL(...) +1
#include "wire/gomp_functions.def"
#undef GOMP_CALL
};

/* What the callers of an object get, or those of all objects. Addresses of functions stay: so do their libraries. */
static struct scope {
    _Atomic uintptr_t first, bytes; /* addresses of the object; 0 bytes: not in use */
    struct function {
        _Atomic(void *) real;       /* NULL: not found */
        _Atomic(const struct gomp_library *) library;
    } functions[FUNCTIONS];
} objects[OBJECTS], global;
static _Atomic uint32_t object_count;
static _Atomic int is_global_known;
static atomic_flag is_adding = ATOMIC_FLAG_INIT; /* one thread adds a scope; no other waits for it */

static struct gomp_library libraries[LIBRARIES];
static _Atomic uint32_t library_count;

static struct scope *scope_of(uintptr_t caller)
{
    uint32_t count = atomic_load_explicit(&object_count, memory_order_acquire);
    for (uint32_t i = 0; i < count; i++)
        if (caller - atomic_load_explicit(&objects[i].first, memory_order_relaxed) <
            atomic_load_explicit(&objects[i].bytes, memory_order_acquire))
            return &objects[i];
    return NULL;
}

/* ---- Libraries ------------------------------------------------------------------------------------------------- */

typedef void *open_function(const char *path, int flags);
typedef int close_function(void *handle);

/* An address in the library is kept, so it must stay: it is opened once more, once. */
static void pin(const Dl_info *library)
{
    static _Atomic uintptr_t pinned[LIBRARIES];
    for (uint32_t i = 0; i < LIBRARIES; i++) {
        uintptr_t known = 0, base = (uintptr_t)library->dli_fbase;
        if (atomic_compare_exchange_strong(&pinned[i], &known, base))
            break;
        if (known == base)
            return;
    }
    open_function *open = (open_function *)stub_dlsym(RTLD_NEXT, "dlopen");
    if (open && library->dli_fname)
        open(library->dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

static const struct link_map *object_at(const void *base)
{
    const struct link_map *object = library_objects();
    while (object && object->l_addr != (uintptr_t)base)
        object = object->l_next;
    return object;
}

/* Two threads may add the same library at once; the second entry does no harm. */
static const struct gomp_library *library_of(const void *address)
{
    Dl_info found;
    if (!stub_dladdr(address, &found))
        return NULL;
    pin(&found);
    const struct link_map *object = object_at(found.dli_fbase);
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

/* ---- Scopes ---------------------------------------------------------------------------------------------------- */

static void set(struct function *function, void *real, const struct gomp_library *library)
{
    atomic_store_explicit(&function->library, library, memory_order_relaxed);
    atomic_store_explicit(&function->real, real, memory_order_release);
}

/* handle: where to look after the global scope, or NULL */
static void *find_in(void *handle, uint32_t number)
{
    const char *name = stub_functions[number].name;
    void *real = stub_dlsym(RTLD_NEXT, name);
    return real || !handle ? real : stub_dlsym(handle, name);
}

static void fill(struct scope *scope, void *handle)
{
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        void *real = find_in(handle, i);
        set(&scope->functions[i], real, real ? library_of(real) : NULL);
    }
}

static int find_extent(struct dl_phdr_info *object, size_t size, void *context)
{
    uint64_t *extent = context, first, bytes; /* begins as an address in the object */
    object_extent(object, &first, &bytes);
    if (extent[0] - first >= bytes)
        return 0;
    extent[0] = first;
    extent[1] = bytes;
    return 1;
}

static void *open_object(const void *address)
{
    open_function *open = (open_function *)stub_dlsym(RTLD_NEXT, "dlopen");
    Dl_info info;
    return open && stub_dladdr(address, &info) && info.dli_fname ? open(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
}

static void close_object(void *handle)
{
    close_function *close = (close_function *)stub_dlsym(RTLD_NEXT, "dlclose");
    if (handle && close)
        close(handle);
}

/* The scope of a caller whose function is not in the global one; NULL if there is no room. */
static struct scope *add_object(const void *caller)
{
    uint64_t extent[2] = { (uintptr_t)caller, 0 };
    uint32_t count = atomic_load(&object_count), i = 0;
    if (!dl_iterate_phdr(find_extent, extent))
        return NULL;
    while (i < count && atomic_load(&objects[i].first) != extent[0]) /* it may have been forgotten */
        i++;
    if (i == OBJECTS)
        return NULL;
    void *handle = open_object(caller);
    fill(&objects[i], handle);
    close_object(handle);
    atomic_store_explicit(&objects[i].first, extent[0], memory_order_relaxed);
    atomic_store_explicit(&objects[i].bytes, extent[1], memory_order_release);
    if (i == count)
        atomic_store(&object_count, count + 1);
    return &objects[i];
}

void openmp_forget_objects(void)
{
    uint32_t count = atomic_load(&object_count);
    for (uint32_t i = 0; i < count; i++)
        atomic_store(&objects[i].bytes, 0);
}

static struct scope *add_scope(struct word_call *call)
{
    struct scope *scope = NULL;
    if (atomic_flag_test_and_set(&is_adding))
        return NULL;
    if (!find_in(NULL, call->function))
        scope = add_object(call->caller);
    else {
        fill(&global, NULL); /* again: more libraries may be there now */
        atomic_store(&is_global_known, 1);
        scope = &global;
    }
    atomic_flag_clear(&is_adding);
    return scope;
}

/* ---- Calls ----------------------------------------------------------------------------------------------------- */

static __attribute__((noinline)) void *look_up(struct word_call *call, struct scope *scope)
{
    int saved_errno = errno;
    struct scope *known = scope ? scope : add_scope(call);
    void *real = known ? atomic_load(&known->functions[call->function].real) : NULL;
    if (!real) {
        void *handle = open_object(call->caller);
        real = find_in(handle, call->function);
        close_object(handle);
    }
    if (!real)
        real = atomic_load(&stub_real[call->function]);
    if (!real)
        real = stub_resolve(call->function);
    const struct gomp_library *library = real ? library_of(real) : NULL;
    if (known && real)
        set(&known->functions[call->function], real, library);
    call->own[GOMP_OWN_LIBRARY] = (uintptr_t)library;
    stub_forget_error(); /* the program must not see this error */
    errno = saved_errno;
    return real;
}

void *openmp_choose(struct word_call *call)
{
    struct scope *own = scope_of((uintptr_t)call->caller);
    struct scope *scope = own ? own : atomic_load_explicit(&is_global_known, memory_order_acquire) ? &global : NULL;
    if (scope) {
        struct function *function = &scope->functions[call->function];
        void *real = atomic_load_explicit(&function->real, memory_order_acquire);
        call->own[GOMP_OWN_LIBRARY] = (uintptr_t)atomic_load_explicit(&function->library, memory_order_relaxed);
        if (real)
            return real;
    }
    return look_up(call, own);
}
