/* dlsym(): whoever loads a library and asks for its functions by name gets the stubs, as those
 * do who are linked with it.
 *
 * The real dlsym() looks at who called it when asked for the next or the default symbol: such calls go straight on, by
 * a jump (dlsym in enter_*.S). It cannot be found by dlsym(), so the tables of the objects are read. Sanitizers'
 * runtimes ask before they are ready for a call of dl_iterate_phdr(), which they stand before: the loader's list is
 * walked instead, where it can be found. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#include "stubs.h"

/* ---- The real one ---------------------------------------------------------------------------------------------- */

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

/* Before glibc 2.34 these were in libdl, which the stubs must not need: a minimal root has none. */
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

/* ---- Who asks for a function of the table ---------------------------------------------------------------------- */

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

/* Libraries that come in parts find each other's functions so; a stub in between would lead back to its beginning. */
static int is_vendor(const void *caller)
{
    Dl_info found;
    if (!library_dladdr(caller, &found) || !found.dli_fname)
        return 0;
    const char *slash = strrchr(found.dli_fname, '/'), *file = slash ? slash + 1 : found.dli_fname;
    return strncmp(file, "libcu", 5) == 0 || strncmp(file, "libnccl", 7) == 0;
}

/* The rest of dlsym() for a handle. A function that is not the one which the stub calls stays what it is: a second copy
 * of a library, in another version. */
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
