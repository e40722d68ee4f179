/* Functions that were in libraries other than libc before glibc 2.34: see libc_loader.c. The agent must never call them
 * by name, or it would need those libraries. */
#ifndef TACHO_AGENT_CORE_LIBC_LOADER_H
#define TACHO_AGENT_CORE_LIBC_LOADER_H

#include <dlfcn.h>
#include <pthread.h>

struct loader {
    void *(*dlsym)(void *handle, const char *symbol);
    void *(*dlvsym)(void *handle, const char *symbol, const char *version); /* NULL with musl: it has no versions */
    int (*dladdr)(const void *address, Dl_info *info);
    char *(*dlerror)(void);
    int (*dlinfo)(void *handle, int request, void *answer);
    int (*pthread_key_delete)(pthread_key_t key);
    int (*pthread_setspecific)(pthread_key_t key, const void *value);
    void (*pthread_testcancel)(void);
};
extern struct loader loader;

/* To be called before the first use, from anywhere; keeps errno. */
void loader_prepare(void);

#endif
