/* A thread allocates and reports it under the allocator's lock, while another, under the loader's, waits for that lock
 * in a constructor: torch_locks LIBC10 PLUGIN [LOADER]. The plugin is loaded by another library if one is named. */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "torch_standin.h"

_Atomic int plugin_is_loading;
static _Atomic int allocator_is_locked;

static void *get_memory(size_t bytes)
{
    allocator_is_locked = 1;
    while (!plugin_is_loading)
        sched_yield();
    return malloc(bytes);
}

static void *use(void *allocate)
{
    return ((standin_allocate_function *)allocate)(4096);
}

static void *load(const char *path)
{
    return dlopen(path, RTLD_NOW);
}

int main(int argc, char **argv)
{
    pthread_t thread;
    void *c10 = dlopen(argv[1], RTLD_NOW), *loader = argc > 3 ? dlopen(argv[3], RTLD_NOW) : NULL;
    void *(*load_plugin)(const char *) = loader ? (void *(*)(const char *))dlsym(loader, "load") : load;
    alarm(20); /* so that threads that wait for each other fail a test and do not stay */
    *(standin_source_function **)dlsym(c10, "standin_source") = get_memory;
    pthread_create(&thread, NULL, use, dlsym(c10, "standin_allocate"));
    while (!allocator_is_locked)
        sched_yield();
    if (!load_plugin(argv[2]))
        return puts(dlerror()), 1;
    pthread_join(thread, NULL);
    printf("%llu reports\n", (unsigned long long)*(uint64_t *)dlsym(c10, "standin_reports"));
    return 0;
}
