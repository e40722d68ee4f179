/* The flag of each thread; see cancel.h. */
#include "cancel.h"

static _Thread_local const _Atomic int *watched;

void cancel_watch(const _Atomic int *flag)
{
    watched = flag;
}

const _Atomic int *cancel_flag(void)
{
    return watched;
}
