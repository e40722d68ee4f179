/* Runtimes of sanitizers, which refuse to start if another library was preloaded before them. */
#ifndef TACHO_ABI_SANITIZER_RUNTIMES_H
#define TACHO_ABI_SANITIZER_RUNTIMES_H

#include <string.h>

#include "base/array.h"

/* True if this library, a name or a path of `length` bytes, is such a runtime. */
static inline int wire_is_sanitizer(const char *library, size_t length)
{
    static const char *const runtimes[] = { "libasan.so", "libtsan.so", "libmsan.so", "libclang_rt.asan",
                                            "libclang_rt.tsan" };
    const char *slash = memrchr(library, '/', length);
    const char *name = slash ? slash + 1 : library;
    size_t name_length = length - (size_t)(name - library);
    for (size_t i = 0; i < COUNT_OF(runtimes); i++)
        if (name_length >= strlen(runtimes[i]) && memcmp(name, runtimes[i], strlen(runtimes[i])) == 0)
            return 1;
    return 0;
}

/* LD_PRELOAD without the runtime that Tacho puts first for one program. An empty entry, which loaders skip, marks it.
 * Programs that this one starts must not inherit the runtime. */
static inline const char *wire_without_runtime(const char *preload)
{
    size_t length = strcspn(preload, ": ");
    return strncmp(preload + length, "::", 2) == 0 && wire_is_sanitizer(preload, length) ? preload + length + 2
                                                                                         : preload;
}

#endif
