/* A stand-in of an OpenMP runtime with OMPT (built with -DRUNTIME as libomp.so.5), and a program of it: the callbacks
 * of a region with short waits for a lock and a long one, as LLVM's runtime makes them. So the agent's tool runs where
 * no such runtime is installed. The program prints whether the tool wants to know when a lock is released, or that
 * there is no tool. */
#include "abi/openmp/ompt.h"

enum { SHORT_WAITS = 50, LOCK = 0x10c0 };

#ifdef RUNTIME
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static ompt_any_function *callbacks[64];

static int set_callback(int which, ompt_any_function *callback)
{
    callbacks[which] = callback;
    return 5;
}

static ompt_any_function *look_up(const char *name)
{
    return strcmp(name, "ompt_set_callback") == 0 ? (ompt_any_function *)set_callback : NULL;
}

#define CALL(which, types, ...)                                                                                        \
    if (callbacks[which])                                                                                              \
    ((void (*) types)callbacks[which])(__VA_ARGS__)

static void take_lock(long wait_ms)
{
    const struct timespec wait = { 0, wait_ms * 1000000 };
    CALL(OMPT_MUTEX_ACQUIRE, (int, unsigned, unsigned, uint64_t, const void *), OMPT_MUTEX_LOCK, 0, 0, LOCK, look_up);
    if (wait_ms)
        nanosleep(&wait, NULL);
    CALL(OMPT_MUTEX_ACQUIRED, (int, uint64_t, const void *), OMPT_MUTEX_LOCK, LOCK, look_up);
    CALL(OMPT_MUTEX_RELEASED, (int, uint64_t, const void *), OMPT_MUTEX_LOCK, LOCK, look_up);
}

int __kmpc_stand_in(void)
{
    ompt_start_tool_function *start = (ompt_start_tool_function *)dlsym(RTLD_DEFAULT, "ompt_start_tool");
    struct ompt_tool *tool = start ? start(201811, "stand-in") : NULL;
    union ompt_data parallel = { 0 }, task = { 0 };
    if (!tool || !tool->initialize(look_up, 0, &tool->data)) {
        puts("no tool");
        return 0;
    }
    CALL(OMPT_PARALLEL_BEGIN, (union ompt_data *, const void *, union ompt_data *, unsigned, int, const void *), NULL,
         NULL, &parallel, 1, 0, look_up);
    CALL(OMPT_IMPLICIT_TASK, (int, union ompt_data *, union ompt_data *, unsigned, unsigned, int), OMPT_BEGIN,
         &parallel, &task, 1, 0, OMPT_TASK_IMPLICIT);
    for (int i = 0; i < SHORT_WAITS; i++)
        take_lock(0);
    take_lock(5);
    CALL(OMPT_IMPLICIT_TASK, (int, union ompt_data *, union ompt_data *, unsigned, unsigned, int), OMPT_END, NULL,
         &task, 1, 0, OMPT_TASK_IMPLICIT);
    CALL(OMPT_PARALLEL_END, (union ompt_data *, union ompt_data *, int, const void *), &parallel, NULL, 0, look_up);
    puts(callbacks[OMPT_MUTEX_RELEASED] ? "releases" : "no releases");
    return 0;
}
#else
int __kmpc_stand_in(void);

int main(void)
{
    return __kmpc_stand_in();
}
#endif
