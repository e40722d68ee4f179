/* Calling off work. Whoever has a thread do something long names a flag for it, which another thread may
 * raise; what takes long looks at it now and then, and gives up with ERR_CANCELLED. It belongs to the thread,
 * so that it need not be handed through every function between; work that is spread over other threads takes
 * the flag along (cancel_flag). */
#ifndef TACHO_BASE_CANCEL_H
#define TACHO_BASE_CANCEL_H

#include <stdatomic.h>
#include <stddef.h>

/* The flag of this thread from now on; NULL, as at first: nobody calls it off. */
void cancel_watch(const _Atomic int *flag);
const _Atomic int *cancel_flag(void);

static inline int cancel_is_raised(const _Atomic int *flag)
{
    return flag && atomic_load_explicit(flag, memory_order_relaxed);
}

#endif
