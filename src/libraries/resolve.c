/* Finding the function behind a stub: the next one that the loader would have taken, else one in a library that the
 * program has loaded for itself alone (as Python's modules do).
 *
 * A library that a function was found in is never unloaded again: its address is kept.                              */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#include "../wire/libraries.h"
#include "libraries.h"

/* How the files begin that hold a library's functions, the best first: a library may come in parts, whose functions have the
 * names of those that the whole one has. */
static const char *const files[][3] = {
    [WIRE_LIBRARY_CUBLAS] = { "libcublas.so", "libcublasLt.so", "libcublas" },
    [WIRE_LIBRARY_CUDNN] = { "libcudnn.so", "libcudnn" },
    [WIRE_LIBRARY_CUSOLVER] = { "libcusolver.so", "libcusolver" },
    [WIRE_LIBRARY_CUSPARSE] = { "libcusparse.so", "libcusparse" },
    [WIRE_LIBRARY_NCCL] = { "libnccl.so", "libnccl" },
};
#define RANKS 4 /* of files[], and last any file at all */

struct search {
    const struct library_function *function;
    uint32_t rank;
    void *found;
};

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int has_rank(const struct search *search, const char *path)
{
    if (search->rank == RANKS - 1)
        return 1;
    const char *wanted = files[search->function->library][search->rank];
    return wanted && strncmp(file_name(path), wanted, strlen(wanted)) == 0;
}

static int is_ours(const void *address)
{
    Dl_info found, own;
    return dladdr(address, &found) && dladdr(&library_look, &own) && found.dli_fbase == own.dli_fbase;
}

typedef void *open_function(const char *path, int flags);

static void look_into(struct search *search, const char *path)
{
    static _Atomic(open_function *) open_next; /* not the agent's, which stands before us and would record it */
    open_function *open = atomic_load_explicit(&open_next, memory_order_relaxed);
    if (!open)
        atomic_store_explicit(&open_next, open = (open_function *)library_dlsym(RTLD_NEXT, "dlopen"), memory_order_relaxed);
    void *handle = open ? open(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    void *address = handle ? library_dlsym(handle, search->function->name) : NULL;
    if (address && !is_ours(address)) {
        search->found = address; /* the handle stays open */
        return;
    }
    if (handle)
        dlclose(handle);
}

#define PATHS_MAX 1024
struct paths {
    uint32_t count;
    const char *path[PATHS_MAX]; /* the loader's own texts */
};

/* The loader holds its lock here: only notes what there is. */
static int note_path(struct dl_phdr_info *object, size_t size, void *context)
{
    struct paths *paths = context;
    if (object->dlpi_name && object->dlpi_name[0] && paths->count < PATHS_MAX)
        paths->path[paths->count++] = object->dlpi_name;
    return 0;
}

static void *search_all(const struct library_function *function)
{
    struct paths paths = { 0 };
    struct search search = { .function = function };
    dl_iterate_phdr(note_path, &paths);
    for (; search.rank < RANKS && !search.found; search.rank++)
        for (uint32_t i = 0; i < paths.count && !search.found; i++)
            if (has_rank(&search, paths.path[i]))
                look_into(&search, paths.path[i]);
    return search.found;
}

void *library_resolve(uint32_t number)
{
    int saved_errno = errno;
    const struct library_function *function = &library_functions[number];
    void *address = library_dlsym(RTLD_NEXT, function->name);
    if (!address)
        address = search_all(function);
    if (!address)
        dlerror(); /* not the program's to see */
    else
        atomic_store_explicit(&library_real[number], address, memory_order_release);
    errno = saved_errno;
    return address;
}
