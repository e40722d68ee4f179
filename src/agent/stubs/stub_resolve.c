/* Finds the function behind a stub: the next one that the loader would have taken, else one in a library that the
 * program has loaded with RTLD_LOCAL (as Python does with modules).
 *
 * A library in which a function was found is never unloaded again, because its address is kept. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#include "base/path.h"
#include "stubs.h"

#define RANKS (STUB_FILES + 1) /* any other file last */

struct stub_resolve_search {
    const struct stub_function *function;
    uintptr_t own_base;
    uint32_t rank; /* of the function found so far */
    void *found;
};

static uint32_t stub_resolve_rank_of(const struct stub_resolve_search *search, const char *path)
{
    const char *file = path_base_name(path);
    for (uint32_t rank = 0; rank < RANKS - 1; rank++) {
        const char *wanted = stub_object.files[search->function->group][rank];
        if (wanted && strncmp(file, wanted, strlen(wanted)) == 0)
            return rank;
    }
    return RANKS - 1;
}

/* The loader holds its lock here, so no loader function may be called. The object may be gone afterwards. */
static int stub_resolve_look_into(struct dl_phdr_info *object, size_t size, void *context)
{
    struct stub_resolve_search *search = context;
    const char *path = object->dlpi_name ? object->dlpi_name : "";
    uint32_t rank = stub_resolve_rank_of(search, path);
    if (!*path || object->dlpi_addr == search->own_base || rank >= search->rank)
        return 0;
    void *address = library_symbol(object, search->function->name);
    if (address) {
        search->found = address;
        search->rank = rank;
    }
    return 0;
}

static void *search_all(const struct stub_function *function)
{
    struct stub_resolve_search search = { .function = function, .own_base = library_own_base(), .rank = RANKS };
    dl_iterate_phdr(stub_resolve_look_into, &search);
    return search.found;
}

int stub_is_there(uint32_t number)
{
    if (atomic_load_explicit(&stub_real[number], memory_order_acquire))
        return 1;
    uintptr_t own_base = library_own_base();
    for (const struct link_map *object = library_objects(); object; object = object->l_next)
        if (object->l_addr != own_base && library_defines(object, stub_functions[number].name) &&
            !library_defines(object, "tacho_stub_of"))
            return 1;
    return 0;
}

typedef void *open_function(const char *path, int flags);

/* Opens the library once more and never closes it, so that it stays. It must not use the agent's dlopen(), which would
 * record the call. */
static void stub_resolve_keep(const void *address)
{
    Dl_info found;
    open_function *open = (open_function *)stub_dlsym(RTLD_NEXT, "dlopen");
    if (open && stub_dladdr(address, &found) && found.dli_fname && strchr(found.dli_fname, '/'))
        open(found.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

void *stub_resolve(uint32_t number)
{
    int saved_errno = errno;
    const struct stub_function *function = &stub_functions[number];
    void *address = stub_dlsym(RTLD_NEXT, function->name);
    if (!address)
        address = search_all(function);
    if (address) {
        stub_resolve_keep(address);
        atomic_store_explicit(&stub_real[number], address, memory_order_release);
    }
    stub_forget_error(); /* the program must not see this error */
    errno = saved_errno;
    return address;
}
