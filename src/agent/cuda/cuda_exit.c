/* The end of a process that used CUDA: CUPTI hands over its last records, in at most two seconds.
 *
 * exit() runs handlers in reverse order of registration, and those of CUDA tear it down. So the agent registers its
 * handler when the first context was created, after all of CUDA's, and once more for each capture that begins later.
 * _exit() and its variants have hooks, and so has exec. After a fatal signal or abort(), the report has what was
 * delivered before. */
#include "agent/core/own_process.h"
#include "cuda_agent.h"

#define PATIENCE_NS 2000000000u

extern int on_exit(void (*)(int, void *), void *) __attribute__((weak));

static int may_wait(void)
{
    return cuda_in_use() && agent_is_own_process() && agent_self != AGENT_OWN_THREAD;
}

void cuda_flush(void)
{
    if (may_wait())
        cuda_thread_finish(PATIENCE_NS);
}

void cuda_exit_flushed(void)
{
    if (atomic_load_explicit(&cuda.lent, memory_order_relaxed) > 0)
        cuda_buffers_tell_names();
    cuda_buffers_count_lost();
}

void cuda_exit(void)
{
    if (!may_wait())
        return;
    counters_finish();
    cuda_thread_finish(PATIENCE_NS);
    cuda_exit_flushed();
}

static void cuda_exit_at_exit(int status, void *unused)
{
    int saved_errno = errno;
    cuda_exit();
    errno = saved_errno;
}

void cuda_exit_register(void)
{
    if (on_exit)
        on_exit(cuda_exit_at_exit, NULL);
}
