/* Locks: the hook tries first. It takes a free lock by its trylock, without reading a clock and without an event
 * (counted as untimed). Only a lock that is held is timed. Unlocking is not hooked. A condition that nobody waits for
 * is signalled without a clock, too.
 *
 * The trylock of every kind of mutex returns what its lock would return (EOWNERDEAD of a robust one, the next level of
 * a recursive one), or EBUSY; in that case the real lock decides (EDEADLK of an error-checking one). Timed calls whose
 * clock or time is invalid go to the real function at once, so that it refuses them. */
#include <semaphore.h>
#include <threads.h>

#include "agent/core/libc_loader.h"
#include "agent/core/libc_real.h"
#include "osrt_hooks.h"

static inline int valid_time(const struct timespec *until)
{
    return until && until->tv_nsec >= 0 && until->tv_nsec < 1000000000;
}

static inline int valid_clock(clockid_t clock, const struct timespec *until)
{
    return (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC) && valid_time(until);
}

/* The tid of the holder: glibc keeps it in this word of a mutex, and in that of a rwlock if a writer holds it. musl
 * (which has no dlvsym) has other data there. */
enum { MUTEX_OWNER = 2, RWLOCK_WRITER = 6, NO_HOLDER = -1 };
static inline uint64_t holder_of(const void *lock, int word)
{
    return word != NO_HOLDER && loader.dlvsym ? (uint32_t)__atomic_load_n((const int *)lock + word, __ATOMIC_RELAXED)
                                              : 0;
}

/* The hook of a lock: `try` is its trylock, which returns `busy` when the lock is held; `may_try` is a condition;
 * `holder` is the word with the tid of the holder. A lock that is held is timed in a function of its own, so that the
 * hook of a free one saves no registers for that. */
#define LOCK(symbol, parameters, arguments, fails, try, lock, busy, may_try, holder)                                 \
    __attribute__((noinline)) static int timed_##symbol parameters                                                   \
    {                                                                                                                \
        struct agent_thread *thread = osrt_enter();                                                                  \
        if (unlikely(!thread))                                                                                       \
            return LIBC_REAL(symbol) arguments;                                                                      \
        uint64_t held_by = may_try ? holder_of(lock, holder) : 0;                                                    \
        OS_TIMED_AS(thread, int, symbol, arguments, fails, (int64_t)(held_by << 32 | (uint32_t)osrt_result), lock)   \
    }                                                                                                                \
    int osrt_hook_##symbol parameters                                                                                \
    {                                                                                                                \
        struct agent_thread *thread = osrt_enter();                                                                  \
        if (unlikely(!thread))                                                                                       \
            return LIBC_REAL(symbol) arguments;                                                                      \
        if (may_try) {                                                                                               \
            int result = LIBC_REAL(try)(lock);                                                                       \
            if (likely(result != (busy))) {                                                                          \
                agent_count(thread, WIRE_SOURCE_OSRT, WIRE_UNTIMED);                                                 \
                return result;                                                                                       \
            }                                                                                                        \
        }                                                                                                            \
        return timed_##symbol arguments;                                                                             \
    }

/* The hook of a call that never blocks: it counts the call and does not time it. */
#define TRY(symbol, lock)                                                                                            \
    int osrt_hook_##symbol(void *lock)                                                                               \
    {                                                                                                                \
        struct agent_thread *thread = osrt_enter();                                                                 \
        if (likely(thread != NULL))                                                                                  \
            agent_count(thread, WIRE_SOURCE_OSRT, WIRE_UNTIMED);                                                     \
        return LIBC_REAL(symbol)(lock);                                                                              \
    }

#define TIMED (void *lock, const struct timespec *until), (lock, until)
#define CLOCKED (void *lock, clockid_t clock, const struct timespec *until), (lock, clock, until)
#define EXPAND(macro, ...) macro(__VA_ARGS__)

LOCK(pthread_mutex_lock, (void *lock), (lock), ERROR_NUMBER, pthread_mutex_trylock, lock, EBUSY, 1, MUTEX_OWNER)
EXPAND(LOCK, pthread_mutex_timedlock, TIMED, ERROR_NUMBER, pthread_mutex_trylock, lock, EBUSY, valid_time(until),
       MUTEX_OWNER)
EXPAND(LOCK, pthread_mutex_clocklock, CLOCKED, ERROR_NUMBER, pthread_mutex_trylock, lock, EBUSY,
       valid_clock(clock, until), MUTEX_OWNER)
TRY(pthread_mutex_trylock, lock)

LOCK(pthread_rwlock_rdlock, (void *lock), (lock), ERROR_NUMBER, pthread_rwlock_tryrdlock, lock, EBUSY, 1, RWLOCK_WRITER)
EXPAND(LOCK, pthread_rwlock_timedrdlock, TIMED, ERROR_NUMBER, pthread_rwlock_tryrdlock, lock, EBUSY, valid_time(until),
       RWLOCK_WRITER)
EXPAND(LOCK, pthread_rwlock_clockrdlock, CLOCKED, ERROR_NUMBER, pthread_rwlock_tryrdlock, lock, EBUSY,
       valid_clock(clock, until), RWLOCK_WRITER)
TRY(pthread_rwlock_tryrdlock, lock)

LOCK(pthread_rwlock_wrlock, (void *lock), (lock), ERROR_NUMBER, pthread_rwlock_trywrlock, lock, EBUSY, 1, RWLOCK_WRITER)
EXPAND(LOCK, pthread_rwlock_timedwrlock, TIMED, ERROR_NUMBER, pthread_rwlock_trywrlock, lock, EBUSY, valid_time(until),
       RWLOCK_WRITER)
EXPAND(LOCK, pthread_rwlock_clockwrlock, CLOCKED, ERROR_NUMBER, pthread_rwlock_trywrlock, lock, EBUSY,
       valid_clock(clock, until), RWLOCK_WRITER)
TRY(pthread_rwlock_trywrlock, lock)

LOCK(pthread_spin_lock, (void *lock), (lock), ERROR_NUMBER, pthread_spin_trylock, lock, EBUSY, 1, NO_HOLDER)
TRY(pthread_spin_trylock, lock)

LOCK(mtx_lock, (void *lock), (lock), NOT_ZERO, mtx_trylock, lock, thrd_busy, 1, MUTEX_OWNER)
EXPAND(LOCK, mtx_timedlock, TIMED, NOT_ZERO, mtx_trylock, lock, thrd_busy, valid_time(until), MUTEX_OWNER)
TRY(mtx_trylock, lock)

/* Semaphores report EAGAIN through errno, which must be unchanged when the wait then succeeds. Waits for them are
 * cancellation points even when they do not block. */
static inline int try_semaphore(void *semaphore)
{
    int saved_errno = errno;
    loader.pthread_testcancel();
    int result = LIBC_REAL(sem_trywait)(semaphore);
    if (result != 0 && errno == EAGAIN) {
        errno = saved_errno;
        return EBUSY;
    }
    return result;
}

/* The timed part is a function of its own: osrt_begin() must not share a frame with an earlier cancellation point. */
#define SEMAPHORE(symbol, parameters, arguments, may_try)                                                            \
    __attribute__((noinline)) static int timed_##symbol parameters                                                   \
    {                                                                                                                \
        struct agent_thread *thread = osrt_enter();                                                                 \
        if (unlikely(!thread))                                                                                       \
            return LIBC_REAL(symbol) arguments;                                                                      \
        OS_TIMED(thread, int, symbol, arguments, MINUS_ONE)                                                          \
    }                                                                                                                \
    int osrt_hook_##symbol parameters                                                                                \
    {                                                                                                                \
        struct agent_thread *thread = osrt_enter();                                                                 \
        if (unlikely(!thread))                                                                                       \
            return LIBC_REAL(symbol) arguments;                                                                      \
        if (may_try) {                                                                                               \
            int result = try_semaphore(lock);                                                                        \
            if (likely(result != EBUSY)) {                                                                           \
                agent_count(thread, WIRE_SOURCE_OSRT, WIRE_UNTIMED);                                                 \
                return result;                                                                                       \
            }                                                                                                        \
        }                                                                                                            \
        return timed_##symbol arguments;                                                                             \
    }

SEMAPHORE(sem_wait, (void *lock), (lock), 1)
EXPAND(SEMAPHORE, sem_timedwait, TIMED, valid_time(until))
EXPAND(SEMAPHORE, sem_clockwait, CLOCKED, valid_clock(clock, until))
TRY(sem_trywait, lock)

/* Nearly all signals are for conditions that nobody waits for: Python sends two whenever a thread gives its lock back.
 * They return at once, and are only counted. glibc has the number of waiters in the upper bits of word 9, from 2.41 on
 * in those of word 7. The other word has few bits there before 2.41 while nobody waits. From 2.41 on it counts wakeups:
 * signals of a condition that has had more than a few are timed. musl has other data there. */
static inline int is_waited_for(const void *condition)
{
    enum { WAITERS = 9, WAITERS_LATER = 7, FLAG_BITS = 3 };
    const unsigned *words = condition;
    return !loader.dlvsym || (__atomic_load_n(&words[WAITERS], __ATOMIC_RELAXED) |
                              __atomic_load_n(&words[WAITERS_LATER], __ATOMIC_RELAXED)) >>
                                 FLAG_BITS;
}

#define SIGNAL(symbol)                                                                                               \
    __attribute__((noinline)) static int timed_##symbol(void *condition)                                             \
    {                                                                                                                \
        struct agent_thread *thread = osrt_enter();                                                                  \
        if (unlikely(!thread))                                                                                       \
            return LIBC_REAL(symbol)(condition);                                                                     \
        OS_TIMED(thread, int, symbol, (condition), ERROR_NUMBER)                                                     \
    }                                                                                                                \
    int osrt_hook_##symbol(void *condition)                                                                          \
    {                                                                                                                \
        struct agent_thread *thread = osrt_enter();                                                                  \
        if (likely(thread != NULL)) {                                                                                \
            if (unlikely(is_waited_for(condition)))                                                                  \
                return timed_##symbol(condition);                                                                    \
            agent_count(thread, WIRE_SOURCE_OSRT, WIRE_UNTIMED);                                                     \
        }                                                                                                            \
        return LIBC_REAL(symbol)(condition);                                                                         \
    }

SIGNAL(pthread_cond_signal)
SIGNAL(pthread_cond_broadcast)

/* The lock of a stream: ftrylockfile returns nonzero when another thread has it. */
int osrt_hook_flockfile(void *stream)
{
    struct agent_thread *thread = osrt_enter();
    if (unlikely(!thread))
        return LIBC_REAL(flockfile)(stream);
    if (LIBC_REAL(ftrylockfile)(stream) == 0) {
        agent_count(thread, WIRE_SOURCE_OSRT, WIRE_UNTIMED);
        return 0;
    }
    OS_TIMED_AS(thread, int, flockfile, (stream), VOID, (int64_t)osrt_result, stream)
}
TRY(ftrylockfile, stream)
