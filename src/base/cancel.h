/* Cancelling work. The owner of a thread gives it a flag, which another thread may raise. Code that takes long checks
 * the flag now and then and returns ERR_CANCELLED.
 *
 * The flag belongs to the thread, so that no function in between has to pass it on. Work that is spread over other
 * threads takes the flag along (cancel_flag). */
#ifndef TACHO_BASE_CANCEL_H
#define TACHO_BASE_CANCEL_H

#include <stdatomic.h>
#include <stddef.h>

/* Sets the flag of this thread. NULL, the initial value: the thread cannot be cancelled. */
void cancel_watch(const _Atomic int *flag);
const _Atomic int *cancel_flag(void);

static inline int cancel_is_raised(const _Atomic int *flag)
{
    return flag && atomic_load_explicit(flag, memory_order_relaxed);
}

#endif
