/* Programs that use CUPTI themselves, as torch.profiler does. CUPTI serves one client: a second one that registers its
 * buffers would take the records away from the first. So this file interposes the functions by which a client takes
 * over CUPTI. While CUDA is recorded they return what CUPTI returns to a second subscriber, which clients can handle;
 * with --cuda-yield the agent gives CUPTI up instead. Without CUDA in the capture all of them pass through. A client
 * that looks the functions up in the library itself (dlsym) is refused by CUPTI alone. */
#include "cuda_agent.h"

#define REFUSED CUPTI_RESULT_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED

static void tell_once(const char *sentence)
{
    static _Atomic uint32_t told;
    if (!atomic_exchange(&told, 1))
        emit_note(WIRE_DIAGNOSTIC, 2, NULL, 0, sentence);
}

static void yield_to_program(void)
{
    if (!cuda_lock())
        return;
    struct agent_thread *self = cuda_hide();
    cuda_stop_for_good();
    cuda_show(self);
    cuda_unlock();
    tell_once("The program started to use CUPTI itself: CUDA was not recorded after that (--cuda-yield).");
}

/* True if the program's call may go on to CUPTI. */
static int may_pass(void)
{
    if (!agent_thread() || !(agent.sources & WIRE_BIT(CUDA)) || atomic_load(&cuda.state) == CUDA_OVER ||
        !agent_is_thread(agent_self))
        return 1;
    if (wire_cuda(agent.arena)->settings.flags & WIRE_CUDA_YIELD) {
        yield_to_program();
        return atomic_load(&cuda.state) == CUDA_OVER;
    }
    tell_once(
        "The program's own profiler (torch.profiler, or another user of CUPTI) got no GPU events: CUPTI serves one "
        "profiler at a time. To leave CUPTI to the program, use --cuda-yield=true, or -t without cuda.");
    return 0;
}

static void *cuda_client_real(const char *name)
{
    int saved_errno = errno;
    void *function = cuda_library_function(name);
    errno = saved_errno;
    return function;
}

/* A row: the result while the call is refused, the name, its parameters and its arguments. */
#define CLIENT(answer, name, parameters, arguments)                                                                  \
    EXPORT int name parameters;                                                                                      \
    EXPORT int name parameters                                                                                       \
    {                                                                                                                \
        if (!may_pass())                                                                                             \
            return answer;                                                                                           \
        int(*function) parameters = (int(*) parameters)cuda_client_real(#name);                                      \
        return function ? function arguments : CUPTI_RESULT_ERROR_NOT_INITIALIZED;                                   \
    }

CLIENT(REFUSED, cuptiSubscribe, (void **subscriber, cupti_callback callback, void *user), (subscriber, callback, user))
CLIENT(REFUSED, cuptiSubscribe_v2, (void **subscriber, cupti_callback callback, void *user, void *parameters),
       (subscriber, callback, user, parameters))
CLIENT(REFUSED, cuptiActivityRegisterCallbacks, (cupti_buffer_wanted wanted, cupti_buffer_done done), (wanted, done))
CLIENT(REFUSED, cuptiActivityRegisterTimestampCallback, (cupti_clock now), (now))
CLIENT(REFUSED, cuptiActivityEnable, (uint32_t kind), (kind))
CLIENT(REFUSED, cuptiActivityEnableAndDump, (uint32_t kind), (kind))
CLIENT(REFUSED, cuptiActivityEnableContext, (void *context, uint32_t kind), (context, kind))
CLIENT(REFUSED, cuptiActivityEnableRuntimeApi, (uint32_t id, uint8_t enable), (id, enable))
CLIENT(REFUSED, cuptiActivityEnableDriverApi, (uint32_t id, uint8_t enable), (id, enable))
CLIENT(REFUSED, cuptiActivitySetAttribute, (uint32_t attribute, size_t *bytes, void *value), (attribute, bytes, value))
CLIENT(0, cuptiActivityDisable, (uint32_t kind), (kind))
CLIENT(0, cuptiActivityDisableContext, (void *context, uint32_t kind), (context, kind))
CLIENT(0, cuptiActivityFlushAll, (uint32_t flags), (flags))
CLIENT(0, cuptiActivityFlushPeriod, (uint32_t ms), (ms))
CLIENT(0, cuptiFinalize, (void), ())
