/* The calls by which CUDA programs tell a profiler what to record: cudaProfilerStart() and its variants.
 *
 * They are exported, so that programs which are linked with the CUDA libraries call these; each calls the real one. If
 * a program looks up the library's function by dlsym(), or has the runtime linked statically, CUPTI's callbacks see the
 * call (cuda_callbacks.c), provided that CUDA is in the capture. */

#include "agent/core/capture_control.h"
#include "agent/core/libc_loader.h"
#include "agent/nvtx/nvtx_launch.h"
#include "cuda_agent.h"

/* The runtime's call may make the driver's: that is one range, not two. */
static _Atomic uint32_t is_open;

/* The result of the real function; 0 (success) in a program that has no such library. */
static int cuda_range_pass_on(const char *symbol)
{
    int saved_errno = errno;
    int (*real)(void) = (int (*)(void))loader.dlsym(RTLD_NEXT, symbol);
    if (!real)
        loader.dlerror(); /* the program must not see this error */
    errno = saved_errno;
    return real ? real() : 0;
}

void cuda_range_begin(void)
{
    if (atomic_exchange(&is_open, 1))
        return;
    nvtx_launch_profiler_starts();
    agent_capture_begin(WIRE_CAPTURE_PROFILER);
}

void cuda_range_end(void)
{
    if (atomic_exchange(&is_open, 0))
        agent_capture_end(WIRE_CAPTURE_PROFILER);
}

static int cuda_range_push(const char *symbol)
{
    cuda_range_begin();
    return cuda_range_pass_on(symbol);
}

static int cuda_range_pop(const char *symbol)
{
    int result = cuda_range_pass_on(symbol);
    cuda_range_end();
    return result;
}

#define CALL(symbol, does)                                                                                           \
    EXPORT int symbol(void);                                                                                         \
    EXPORT int symbol(void)                                                                                          \
    {                                                                                                                \
        return does(#symbol);                                                                                        \
    }

CALL(cudaProfilerStart, cuda_range_push)
CALL(cudaProfilerStop, cuda_range_pop)
CALL(cuProfilerStart, cuda_range_push)
CALL(cuProfilerStop, cuda_range_pop)
