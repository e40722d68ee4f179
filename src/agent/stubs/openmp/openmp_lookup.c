/* dlsym() for libtacho-openmp.so: see openmp_stubs.h. Before glibc 2.34 it was in libdl, which this library must not
 * need, so it is found in the symbol tables of the loaded objects. */
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>

#include "agent/core/elf_lookup.h"
#include "openmp_stubs.h"

static void *find(const char *name)
{
    void *found = NULL;
    for (const struct link_map *object = library_objects(); object && !found; object = object->l_next)
        found = library_symbol_of(object, name);
    return found;
}

typedef void *dlsym_function(void *handle, const char *name);
typedef char *dlerror_function(void);

void *openmp_dlsym(void *handle, const char *name)
{
    static _Atomic(dlsym_function *) real_dlsym;
    static _Atomic(dlerror_function *) real_dlerror;
    int saved_errno = errno;
    dlsym_function *real = atomic_load(&real_dlsym);
    if (!real) {
        atomic_store(&real_dlerror, (dlerror_function *)find("dlerror"));
        atomic_store(&real_dlsym, real = (dlsym_function *)find("dlsym"));
    }
    void *found = real ? real(handle, name) : NULL;
    dlerror_function *forget = atomic_load(&real_dlerror);
    if (!found && forget)
        forget();
    errno = saved_errno;
    return found;
}
