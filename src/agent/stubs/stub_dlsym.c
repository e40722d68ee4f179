/* dlsym(): a program that loads a library and looks up its functions by name gets the stubs, like one that is linked
 * with the library. A lookup of a function that no library has is answered as if there were no stubs.
 *
 * For RTLD_NEXT and RTLD_DEFAULT the real dlsym() depends on its caller, so such calls jump to it directly (dlsym in
 * stub_dlsym_*.S). dlsym() cannot find itself, so this reads the symbol tables of the objects. A sanitizer's runtime
 * asks before its own dl_iterate_phdr(), which interposes the real one, is ready: so this walks the loader's list
 * instead, where it can be found.
 *
 * With several objects of stubs in a process, the hook of the first answers for all of them: it passes the address that
 * the real dlsym() found through tacho_stub_of() of each. A jump goes from hook to hook. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#include "base/array.h"
#include "base/path.h"
#include "stubs.h"

/* ---- The real dlsym -------------------------------------------------------------------------------------------- */

#define OBJECTS 8 /* of stubs in one process; the hooks of more are not asked */

static _Atomic(stub_dlsym_function *) real_dlsym;
static _Atomic(stub_of_function *) other_objects[OBJECTS];

_Atomic(stub_dlsym_function *) stub_next_dlsym;

struct stub_dlsym_search {
    uintptr_t own_base;
    void *next, *real; /* next: after our own object, or two objects would call each other for ever */
    void *others[OBJECTS];
    uint32_t other_count;
};

static void note_object(struct stub_dlsym_search *search, void *its_dlsym, void *its_stub_of)
{
    if (its_dlsym && !search->next)
        search->next = its_dlsym;
    if (its_stub_of && search->other_count < OBJECTS)
        search->others[search->other_count++] = its_stub_of;
    else if (its_dlsym && !its_stub_of && !search->real)
        search->real = its_dlsym;
}

static int look_for_dlsym(struct dl_phdr_info *object, size_t size, void *context)
{
    struct stub_dlsym_search *search = context;
    if (object->dlpi_addr == search->own_base)
        search->next = NULL;
    else
        note_object(search, library_symbol(object, "dlsym"), library_symbol(object, "tacho_stub_of"));
    return search->real != NULL;
}

stub_dlsym_function *stub_find_dlsym(void)
{
    int saved_errno = errno;
    struct stub_dlsym_search search = { .own_base = library_own_base() };
    const struct link_map *object = library_objects();
    if (!object)
        dl_iterate_phdr(look_for_dlsym, &search);
    for (; object && !search.real; object = object->l_next)
        if (object->l_addr == search.own_base)
            search.next = NULL;
        else
            note_object(&search, library_symbol_of(object, "dlsym"), library_symbol_of(object, "tacho_stub_of"));
    for (uint32_t i = 0; i < search.other_count; i++)
        atomic_store(&other_objects[i], (stub_of_function *)search.others[i]);
    atomic_store(&real_dlsym, (stub_dlsym_function *)search.real);
    atomic_store(&stub_next_dlsym, (stub_dlsym_function *)search.next);
    errno = saved_errno;
    return (stub_dlsym_function *)search.next;
}

void *stub_dlsym(void *handle, const char *name)
{
    if (!atomic_load_explicit(&real_dlsym, memory_order_acquire))
        stub_find_dlsym();
    stub_dlsym_function *real = atomic_load_explicit(&real_dlsym, memory_order_acquire);
    return real ? real(handle, name) : NULL;
}

/* Before glibc 2.34 these were in libdl, which the stubs must not need: a minimal root file system has none. */
int stub_dladdr(const void *address, Dl_info *info)
{
    int (*real)(const void *, Dl_info *) = (int (*)(const void *, Dl_info *))stub_dlsym(RTLD_NEXT, "dladdr");
    return real ? real(address, info) : 0;
}

void stub_forget_error(void)
{
    char *(*real)(void) = (char *(*)(void))stub_dlsym(RTLD_NEXT, "dlerror");
    if (real)
        real();
}

/* ---- Lookups of interposed functions --------------------------------------------------------------------------- */

/* Not strcmp(): a sanitizer interposes it, and asks for symbols before that is ready. */
static int stub_dlsym_compare(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return (unsigned char)*a - (unsigned char)*b;
}

/* The table is sorted by name. */
static uint32_t stub_dlsym_number_of(const char *name)
{
    uint32_t count = stub_object.count;
    uint32_t number = BISECT(0, count, i, stub_dlsym_compare(stub_functions[i].name, name) < 0);
    return number < count && stub_dlsym_compare(stub_functions[number].name, name) == 0 ? number : count;
}

static int is_vendor(const void *caller)
{
    Dl_info found;
    if (!stub_dladdr(caller, &found) || !found.dli_fname)
        return 0;
    const char *file = path_base_name(found.dli_fname);
    for (const char *const *vendor = stub_object.vendors; *vendor; vendor++)
        if (strncmp(file, *vendor, strlen(*vendor)) == 0)
            return 1;
    return 0;
}

static void *stub_dlsym_real_for(uint32_t number, const void *caller)
{
    const struct stub_library *library;
    if (atomic_load_explicit(&stub_chooses, memory_order_relaxed))
        return stub_choose(number, caller, &library);
    void *real = atomic_load_explicit(&stub_real[number], memory_order_acquire);
    return real ? real : stub_resolve(number);
}

/* If the address is not that of the function which the stub calls, it stays as it is: it belongs to a second copy of
 * the library. */
__attribute__((visibility("default"))) void *tacho_stub_of(const char *name, void *address, const void *caller)
{
    uint32_t number = address && name ? stub_dlsym_number_of(name) : stub_object.count;
    if (address)
        stub_objects_changed(); /* it may be a function of an object that calls another library */
    if (number == stub_object.count || is_vendor(caller))
        return address;
    return stub_dlsym_real_for(number, caller) == address ? stub_rows + number * STUB_BYTES : address;
}

void *stub_dlsym_handle(void *handle, const char *name)
{
    const void *caller = __builtin_return_address(0);
    void *address = stub_dlsym(handle, name), *stub = tacho_stub_of(name, address, caller);
    for (uint32_t i = 0; stub == address && i < OBJECTS; i++) {
        stub_of_function *other = atomic_load_explicit(&other_objects[i], memory_order_relaxed);
        if (!other)
            break;
        stub = other(name, address, caller);
    }
    return stub;
}

/* The real dlsym() finds the stubs of an object that is not hidden, so this must answer for it if no other object has
 * the function: then the real one fails when it is asked for what comes after this object. It does not find hidden
 * stubs: then this answers with the stub of a function that it would find. */
void *stub_dlsym_special(void *handle, const char *name, const void *caller)
{
    uint32_t number = name ? stub_dlsym_number_of(name) : stub_object.count;
    if (number == stub_object.count)
        return STUB_ASK_NEXT;
    if (!stub_object.is_hidden)
        return stub_dlsym_real_for(number, caller) ? STUB_ASK_NEXT : stub_dlsym(RTLD_NEXT, name);
    if (handle == RTLD_NEXT || is_vendor(caller))
        return STUB_ASK_NEXT;
    void *found = stub_dlsym(RTLD_DEFAULT, name);
    if (!found)
        stub_forget_error();
    return found && found == stub_dlsym_real_for(number, caller) ? stub_rows + number * STUB_BYTES : STUB_ASK_NEXT;
}
