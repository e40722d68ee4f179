/* dlsym(): a program that loads a library and looks up its functions by name gets the stubs, like one that is linked
 * with the library.
 *
 * For RTLD_NEXT and RTLD_DEFAULT the real dlsym() depends on its caller, so such calls jump to it directly (dlsym in
 * stub_enter_*.S). dlsym() cannot find itself, so this reads the symbol tables of the objects. A sanitizer's runtime
 * asks before its own dl_iterate_phdr(), which interposes the real one, is ready: so this walks the loader's list
 * instead, where it can be found. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#include "base/path.h"
#include "stubs.h"

/* ---- The real dlsym -------------------------------------------------------------------------------------------- */

struct search {
    uintptr_t own_base;
    void *found;
};

static int look_for_dlsym(struct dl_phdr_info *object, size_t size, void *context)
{
    struct search *search = context;
    if (object->dlpi_addr != search->own_base)
        search->found = library_symbol(object, "dlsym");
    return search->found != NULL;
}

_Atomic(library_dlsym_function *) library_real_dlsym;

library_dlsym_function *library_find_dlsym(void)
{
    int saved_errno = errno;
    struct search search = { .own_base = library_own_base() };
    const struct link_map *object = library_objects();
    if (!object)
        dl_iterate_phdr(look_for_dlsym, &search);
    for (; object && !search.found; object = object->l_next)
        if (object->l_addr != search.own_base)
            search.found = library_symbol_of(object, "dlsym");
    atomic_store(&library_real_dlsym, (library_dlsym_function *)search.found);
    errno = saved_errno;
    return (library_dlsym_function *)search.found;
}

void *library_dlsym(void *handle, const char *name)
{
    library_dlsym_function *real = atomic_load_explicit(&library_real_dlsym, memory_order_acquire);
    if (!real)
        real = library_find_dlsym();
    return real ? real(handle, name) : NULL;
}

/* Before glibc 2.34 these were in libdl, which the stubs must not need: a minimal root file system has none. */
int library_dladdr(const void *address, Dl_info *info)
{
    int (*real)(const void *, Dl_info *) = (int (*)(const void *, Dl_info *))library_dlsym(RTLD_NEXT, "dladdr");
    return real ? real(address, info) : 0;
}

void library_forget_error(void)
{
    char *(*real)(void) = (char *(*)(void))library_dlsym(RTLD_NEXT, "dlerror");
    if (real)
        real();
}

/* ---- Lookups of interposed functions --------------------------------------------------------------------------- */

/* The table is sorted by name. */
static uint32_t number_of(const char *name)
{
    uint32_t low = 0, high = library_function_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        int order = strcmp(name, library_functions[middle].name);
        if (order == 0)
            return middle;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return library_function_count;
}

/* Libraries in several parts find each other's functions by dlsym(). With a stub they would call themselves again. */
static int is_vendor(const void *caller)
{
    Dl_info found;
    if (!library_dladdr(caller, &found) || !found.dli_fname)
        return 0;
    const char *file = path_base_name(found.dli_fname);
    return strncmp(file, "libcu", 5) == 0 || strncmp(file, "libnccl", 7) == 0;
}

/* The rest of dlsym() for a handle. If the address is not that of the function which the stub calls, it stays as it is:
 * it belongs to a second copy of the library, in another version. */
void *library_dlsym_handle(void *handle, const char *name)
{
    void *address = library_dlsym(handle, name);
    uint32_t number = address && name ? number_of(name) : library_function_count;
    if (number == library_function_count || is_vendor(__builtin_return_address(0)))
        return address;
    void *real = atomic_load_explicit(&library_real[number], memory_order_acquire);
    if (!real)
        real = library_resolve(number);
    return real == address ? library_stubs + number * LIBRARY_STUB_BYTES : address;
}
