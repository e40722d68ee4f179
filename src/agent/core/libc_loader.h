/* Functions of libc that were in libraries of their own before glibc 2.34: see libc_loader.c. Never call them by their
 * names: that would make the agent need those libraries. */
#ifndef TACHO_AGENT_CORE_LIBC_LOADER_H
#define TACHO_AGENT_CORE_LIBC_LOADER_H

#include <dlfcn.h>
#include <pthread.h>

struct loader {
    void *(*dlsym)(void *handle, const char *symbol);
    void *(*dlvsym)(void *handle, const char *symbol, const char *version); /* NULL: musl, which has no versions */
    int (*dladdr)(const void *address, Dl_info *info);
    char *(*dlerror)(void);
    int (*dlinfo)(void *handle, int request, void *answer);
    int (*pthread_key_delete)(pthread_key_t key);
    int (*pthread_setspecific)(pthread_key_t key, const void *value);
    void (*pthread_testcancel)(void);
};
extern struct loader loader;

/* Before the first use, from wherever that is; keeps errno. */
void loader_prepare(void);

#endif
