/* Which library serves a call, where a process has several of the same kind.
 *
 * Packages of Python bring their own copies of libgomp, plugins may be linked with different MPIs, and each is loaded
 * for its user alone. A caller must reach the library that it reaches without us, because the objects that the library
 * has made for it mean nothing to the others. So functions are looked up for each object that calls, in the global
 * scope and in its own.
 *
 * While there is one library only, stub_real[] has its functions for all callers, and a call checks one word
 * (stub_chooses). That word is set when a second library is found. The loader reports no loaded objects, so this looks
 * when the agent says that there are new ones, and when the program calls dlsym() with a handle. Calls that the
 * constructors of a second library's users make before that go to the first library. If one library is in the global
 * scope by then, all callers share it, and the others serve nobody. If none is, a library that comes into the global
 * scope later does not count for callers that have their own: Open MPI puts itself there when it is initialised, and
 * the others are bound already.
 *
 * A lookup takes the loader's lock. Other threads must not need it: the thread that called may be in a constructor, and
 * hold the lock until they are done. So the first call of an object looks up all functions at once. */
#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

#include "agent/core/object_extent.h"
#include "base/path.h"
#include "stubs.h"

/* What the callers of an object get: its row of stub_choices[]. The first row is that of the global scope. */
static struct stub_choose_scope {
    _Atomic uintptr_t first, bytes; /* addresses of the object; 0 bytes: not in use */
} scopes[STUB_SCOPES_MAX];
static _Atomic uint32_t scope_count;
static _Atomic int is_global_known;
static atomic_flag is_adding = ATOMIC_FLAG_INIT; /* one thread adds scopes and libraries; no other waits for it */

static struct library {
    uintptr_t first, bytes;
    const struct link_map *object;
    struct stub_library told;
} libraries[STUB_LIBRARIES];
static _Atomic uint32_t library_count;

static const struct stub_library unknown = { .number = STUB_UNKNOWN_LIBRARY };

typedef void *open_function(const char *path, int flags);
typedef int close_function(void *handle);

static struct stub_choice *stub_choose_row_of(uint32_t scope)
{
    return stub_choices + (size_t)(scope + 1) * stub_object.count;
}

/* ---- Libraries ------------------------------------------------------------------------------------------------- */

static struct library *known_library(const void *address)
{
    uint32_t count = atomic_load_explicit(&library_count, memory_order_acquire);
    for (uint32_t i = 0; i < count; i++)
        if ((uintptr_t)address - libraries[i].first < libraries[i].bytes)
            return &libraries[i];
    return NULL;
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

static const struct link_map *object_at(const void *address)
{
    Dl_info info;
    const struct link_map *object = stub_dladdr(address, &info) ? library_objects() : NULL;
    while (object && object->l_addr != (uintptr_t)info.dli_fbase)
        object = object->l_next;
    return object;
}

/* For the thread that adds. An address in the library is kept, so it must stay: it is opened once more. */
static const struct stub_library *stub_choose_library_of(const void *address)
{
    struct library *library = known_library(address);
    uint64_t extent[2] = { (uintptr_t)address, 0 };
    uint32_t count = atomic_load(&library_count);
    if (library)
        return &library->told;
    if (count == STUB_LIBRARIES || !dl_iterate_phdr(find_extent, extent))
        return &unknown;
    open_object(address);
    library = &libraries[count];
    library->first = (uintptr_t)extent[0];
    library->bytes = (uintptr_t)extent[1];
    library->object = object_at(address);
    library->told.number = count;
    library->told.detail = library->object && stub_object.describe ? stub_object.describe(library->object) : NULL;
    atomic_store_explicit(&library_count, count + 1, memory_order_release);
    return &library->told;
}

void *stub_real_in(uint32_t number, uint32_t library)
{
    if (library < atomic_load_explicit(&library_count, memory_order_acquire))
        return libraries[library].object ? library_symbol_of(libraries[library].object, stub_functions[number].name)
                                         : NULL;
    void *real = atomic_load_explicit(&stub_real[number], memory_order_acquire);
    return library ? NULL : real ? real : stub_resolve(number);
}

/* ---- Scopes ---------------------------------------------------------------------------------------------------- */

static uint32_t stub_choose_scope_of(uintptr_t caller)
{
    uint32_t count = atomic_load_explicit(&scope_count, memory_order_acquire), i = 0;
    while (i < count && caller - atomic_load_explicit(&scopes[i].first, memory_order_relaxed) >=
                            atomic_load_explicit(&scopes[i].bytes, memory_order_acquire))
        i++;
    return i < count ? i : STUB_GLOBAL;
}

static void stub_choose_set(struct stub_choice *choice, void *real, const struct stub_library *library)
{
    atomic_store_explicit(&choice->library, library, memory_order_relaxed);
    atomic_store_explicit(&choice->real, real, memory_order_release);
}

/* handle: the caller's, or NULL */
static void *stub_choose_find_in(void *handle, uint32_t number)
{
    const char *name = stub_functions[number].name;
    void *own = handle && !stub_object.chooses_always ? stub_dlsym(handle, name) : NULL;
    void *real = own ? own : stub_dlsym(RTLD_NEXT, name);
    if (!real && handle && stub_object.chooses_always)
        real = stub_dlsym(handle, name);
    int is_stub = (uintptr_t)real - (uintptr_t)stub_rows < (uintptr_t)stub_object.count * STUB_BYTES;
    return is_stub ? NULL : real;
}

static void stub_choose_fill(struct stub_choice *row, void *handle)
{
    for (uint32_t i = 0; i < stub_object.count; i++) {
        void *real = stub_choose_find_in(handle, i);
        stub_choose_set(&row[i], real, real ? stub_choose_library_of(real) : NULL);
    }
}

/* A scope of the caller's own; NULL if there is no room. */
static struct stub_choice *stub_choose_add_object(const void *caller)
{
    uint64_t extent[2] = { (uintptr_t)caller, 0 };
    uint32_t count = atomic_load(&scope_count), i = 0;
    if (!dl_iterate_phdr(find_extent, extent))
        return NULL;
    while (i < count && atomic_load(&scopes[i].first) != extent[0]) /* it may have been forgotten */
        i++;
    if (i == stub_scopes)
        return NULL;
    void *handle = open_object(caller);
    stub_choose_fill(stub_choose_row_of(i), handle);
    close_object(handle);
    atomic_store_explicit(&scopes[i].first, extent[0], memory_order_relaxed);
    atomic_store_explicit(&scopes[i].bytes, extent[1], memory_order_release);
    if (i == count)
        atomic_store(&scope_count, count + 1);
    return stub_choose_row_of(i);
}

static struct stub_choice *add_scope(uint32_t number, const void *caller)
{
    if (!stub_object.chooses_always || !stub_choose_find_in(NULL, number))
        return stub_choose_add_object(caller);
    stub_choose_fill(stub_choose_row_of(STUB_GLOBAL), NULL); /* again: more libraries may be there now */
    atomic_store(&is_global_known, 1);
    return stub_choose_row_of(STUB_GLOBAL);
}

/* Neither scope has the function: the caller has it from elsewhere, by dlsym() or by a library that it came with. */
static void *find_elsewhere(uint32_t number, const void *caller)
{
    void *handle = open_object(caller), *real = stub_choose_find_in(handle, number);
    close_object(handle);
    if (!real)
        real = stub_real_in(number, 0);
    return real ? real : stub_resolve(number);
}

static __attribute__((noinline)) void *stub_choose_look_up(uint32_t number, const void *caller, uint32_t scope,
                                                           const struct stub_library **library)
{
    int saved_errno = errno, adds = !atomic_flag_test_and_set(&is_adding);
    struct stub_choice *row = scope != STUB_GLOBAL ? stub_choose_row_of(scope)
                              : adds               ? add_scope(number, caller)
                                                   : NULL;
    void *real = row ? atomic_load(&row[number].real) : NULL;
    if (!real)
        real = find_elsewhere(number, caller);
    const struct library *known = known_library(real);
    *library = adds && real ? stub_choose_library_of(real) : known ? &known->told : &unknown;
    if (adds && row && real)
        stub_choose_set(&row[number], real, *library);
    if (adds)
        atomic_flag_clear(&is_adding);
    stub_forget_error(); /* the program must not see this error */
    errno = saved_errno;
    return real;
}

void *stub_choose(uint32_t number, const void *caller, const struct stub_library **library)
{
    uint32_t scope = stub_choose_scope_of((uintptr_t)caller);
    if (scope != STUB_GLOBAL || atomic_load_explicit(&is_global_known, memory_order_acquire)) {
        struct stub_choice *choice = &stub_choose_row_of(scope)[number];
        void *real = atomic_load_explicit(&choice->real, memory_order_acquire);
        *library = atomic_load_explicit(&choice->library, memory_order_relaxed);
        if (real)
            return real;
    }
    return stub_choose_look_up(number, caller, scope, library);
}

/* ---- Is there a second library? -------------------------------------------------------------------------------- */

struct census {
    uint64_t adds, subs;
    uintptr_t own_base;
    uint32_t group, count; /* libraries of this group */
};

static int read_changes(struct dl_phdr_info *object, size_t size, void *context)
{
    struct census *census = context;
    census->adds = object->dlpi_adds;
    census->subs = object->dlpi_subs;
    return 1;
}

/* If a library comes in parts, its first file name is that of the whole. */
static int stub_choose_is_library(const struct dl_phdr_info *object, uint32_t group)
{
    const char *whole = stub_object.has_parts ? stub_object.files[group][0] : "";
    return object->dlpi_name && *object->dlpi_name &&
           strncmp(path_base_name(object->dlpi_name), whole, strlen(whole)) == 0 &&
           library_symbol(object, stub_object.signs[group]) && !library_symbol(object, "tacho_stub_of");
}

static int count_library(struct dl_phdr_info *object, size_t size, void *context)
{
    struct census *census = context;
    census->count += object->dlpi_addr != census->own_base && stub_choose_is_library(object, census->group);
    return 0;
}

/* All callers share a library in the global scope, so a second one beside it serves nobody. */
static int has_several(uint32_t group)
{
    struct census census = { .own_base = library_own_base(), .group = group };
    dl_iterate_phdr(count_library, &census);
    if (census.count < 2)
        return 0;
    void *shared = stub_dlsym(RTLD_NEXT, stub_object.signs[group]);
    if (!shared)
        stub_forget_error();
    return !shared;
}

/* The library that served the calls so far becomes the first. */
static void begin_choosing(void)
{
    void *real = NULL;
    for (uint32_t i = 0; i < stub_object.count && !real; i++)
        real = atomic_load(&stub_real[i]);
    if (atomic_flag_test_and_set(&is_adding))
        return; /* another thread does it */
    if (real)
        stub_choose_library_of(real);
    atomic_flag_clear(&is_adding);
    atomic_store(&stub_chooses, 1);
    if (stub_object.choosing)
        stub_object.choosing();
}

void stub_objects_changed(void)
{
    static _Atomic uint64_t last_adds, last_subs;
    struct census now = { 0 };
    int saved_errno = errno;
    dl_iterate_phdr(read_changes, &now);
    if (atomic_exchange_explicit(&last_subs, now.subs, memory_order_relaxed) != now.subs) {
        uint32_t count = atomic_load(&scope_count);
        for (uint32_t i = 0; i < count; i++) /* other objects may lie where they were */
            atomic_store(&scopes[i].bytes, 0);
    }
    if (atomic_exchange_explicit(&last_adds, now.adds, memory_order_relaxed) != now.adds && !atomic_load(&stub_chooses))
        for (uint32_t group = 0; stub_object.signs[group]; group++)
            if (has_several(group)) {
                begin_choosing();
                break;
            }
    errno = saved_errno;
}
