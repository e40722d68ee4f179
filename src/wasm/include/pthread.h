/* Locks for a reader with one thread: WebAssembly has no threads here, so no lock is ever contended and
 * pthread_create() always fails. Code that starts a thread does without it, as on a system that has run out of
 * threads. */
#ifndef TACHO_WASM_PTHREAD_H
#define TACHO_WASM_PTHREAD_H

#include <errno.h>
#include <stddef.h>

typedef int pthread_t, pthread_mutex_t, pthread_cond_t;
#define PTHREAD_MUTEX_INITIALIZER 0

static inline int pthread_mutex_init(pthread_mutex_t *mutex, const void *attributes)
{
    return *mutex = 0;
}
static inline int pthread_mutex_destroy(pthread_mutex_t *mutex)
{
    return 0;
}
static inline int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    return 0;
}
static inline int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    return 0;
}
static inline int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    return 0;
}
static inline int pthread_cond_init(pthread_cond_t *condition, const void *attributes)
{
    return *condition = 0;
}
static inline int pthread_cond_destroy(pthread_cond_t *condition)
{
    return 0;
}
static inline int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    return 0;
}
static inline int pthread_cond_signal(pthread_cond_t *condition)
{
    return 0;
}
static inline int pthread_cond_broadcast(pthread_cond_t *condition)
{
    return 0;
}
static inline int pthread_create(pthread_t *thread, const void *attributes, void *(*body)(void *), void *argument)
{
    return EAGAIN;
}
static inline int pthread_join(pthread_t thread, void **result)
{
    return 0;
}

#endif
