/* CUDA API calls: the name of each callback id, which calls are recorded, and whether CUPTI or the agent records them.
 *
 * Measured on CUPTI 13.0 with a PyTorch operator, which makes five calls of which one matters. With whole kinds enabled
 * (RUNTIME, DRIVER), CUPTI sees all five, and an operator costs 2 µs more, even if four of them are excluded one by
 * one. With only the chosen calls enabled one by one, and never their kinds, it costs 0.9 µs. But that works only for
 * calls that are enabled while the first context is created; later it silently does nothing. So CUPTI writes the
 * records of chosen calls where recording begins with CUDA. For all else (the other calls at the start, and ranges that
 * begin later) the agent writes records in callbacks. There, driver calls that the runtime makes call back too, which
 * costs another 0.5 µs per launch. */
#include "cuda_agent.h"

#define MISSING_MAX 64u /* after this many ids in a row without a name there are no more */

struct cuda_api cuda_apis[2][CUDA_API_MAX];

static const struct {
    uint32_t domain, name;
} domains[2] = {
    [CUDA_RUNTIME] = { CUPTI_DOMAIN_RUNTIME, WIRE_CUDA_NAME_RUNTIME },
    [CUDA_DRIVER] = { CUPTI_DOMAIN_DRIVER, WIRE_CUDA_NAME_DRIVER },
};

static const struct {
    const char *name;
    uint8_t range;
} ranges[] = {
    { "cudaProfilerStart", 1 },
    { "cudaProfilerStop", 2 },
    { "cuProfilerStart", 1 },
    { "cuProfilerStop", 2 },
};

static const char *const unloads[] = { "cuModuleUnload", "cuLibraryUnload", "cudaLibraryUnload" };
static const char cupti_call[] = "cuKernelGetName";

static int cuda_api_is_call(const char *name, const char *call)
{
    uint32_t bytes = cuda_call_name_bytes(name);
    return strlen(call) == bytes && memcmp(name, call, bytes) == 0;
}

static uint8_t range_of(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(ranges); i++)
        if (cuda_api_is_call(name, ranges[i].name))
            return ranges[i].range;
    return 0;
}

static uint8_t is_unload(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(unloads); i++)
        if (cuda_api_is_call(name, unloads[i]))
            return 1;
    return 0;
}

static void learn_call(enum cuda_domain domain, uint32_t id, const char *name)
{
    const struct cuda_call *row = cuda_call_find(domain, name);
    cuda_apis[domain][id] = (struct cuda_api){
        .known = 1,
        .chosen = row != NULL,
        .wait = row ? row->wait : 0,
        .group = row ? row->group : CUDA_OTHER,
        .per_thread = (uint8_t)cuda_call_per_thread(name),
        .range = range_of(name),
        .unloads = is_unload(name),
        .launch = (uint8_t)cuda_call_launch_kind(name),
        .of_cupti = (uint8_t)cuda_api_is_call(name, cupti_call),
    };
    cuda_name_add((enum wire_cuda_name)domains[domain].name, id, name);
}

void cuda_api_learn(void)
{
    for (enum cuda_domain domain = CUDA_RUNTIME; domain <= CUDA_DRIVER; domain++) {
        uint32_t missing = 0;
        for (uint32_t id = 1; id < CUDA_API_MAX && missing < MISSING_MAX; id++) {
            const char *name = NULL;
            if (cuda.cupti.cuptiGetCallbackName(domains[domain].domain, id, &name) == CUPTI_RESULT_SUCCESS && name &&
                *name) {
                learn_call(domain, id, name);
                missing = 0;
            } else {
                missing++;
            }
        }
    }
}

/* ---- Records by CUPTI ------------------------------------------------------------------------------------------ */

static int can_choose(void)
{
    return cuda.cupti.cuptiActivityEnableRuntimeApi && cuda.cupti.cuptiActivityEnableDriverApi;
}

static int cuda_api_is_recorded(const struct cuda_api *api)
{
    return api->chosen && !api->of_cupti;
}

void cuda_api_records(int on)
{
    if (cuda.settings.flags & WIRE_CUDA_REPLAY)
        return; /* see cuda_agent.c */
    if (!atomic_load_explicit(&cuda.by_records, memory_order_relaxed) && !(on && cuda.starting && can_choose()))
        return;
    for (uint32_t id = 1; id < CUDA_API_MAX; id++) {
        struct cuda_api *runtime = &cuda_apis[CUDA_RUNTIME][id], *driver = &cuda_apis[CUDA_DRIVER][id];
        if (cuda_api_is_recorded(runtime))
            runtime->refused = cuda.cupti.cuptiActivityEnableRuntimeApi(id, (uint8_t)on) != CUPTI_RESULT_SUCCESS;
        if (cuda_api_is_recorded(driver))
            driver->refused = cuda.cupti.cuptiActivityEnableDriverApi(id, (uint8_t)on) != CUPTI_RESULT_SUCCESS;
    }
    /* Records that are off while the first context is created stay off for good. */
    if (on || atomic_load(&cuda.contexts_seen) == 0)
        atomic_store_explicit(&cuda.by_records, (uint32_t)on, memory_order_relaxed);
}

enum cuda_stage cuda_api_last_stage(void)
{
    return cuda.settings.flags & WIRE_CUDA_ALL_CALLS ? CUDA_STAGE_ALL : CUDA_STAGE_CHOSEN;
}

/* ---- Callbacks ------------------------------------------------------------------------------------------------- */

int cuda_api_is_ours(const struct cuda_api *api)
{
    if (api->chosen && !api->refused && atomic_load_explicit(&cuda.by_records, memory_order_relaxed))
        return 0;
    return cuda_api_is_recorded(api) ||
           (!api->of_cupti && atomic_load_explicit(&cuda.stage, memory_order_relaxed) == CUDA_STAGE_ALL);
}

/* In the stage that records all calls, all have callbacks: the agent must know whether a call is inside another one. */
static int has_callback(const struct cuda_api *api)
{
    if (!api->known)
        return 0;
    return api->wait || api->unloads || (api->launch && counters_are_in_use()) ||
           (cuda.settings.backtrace_groups >> api->group & 1) || cuda_api_is_ours(api) ||
           (atomic_load_explicit(&cuda.stage, memory_order_relaxed) == CUDA_STAGE_ALL && !api->of_cupti);
}

/* CUPTI 13.0 puts the id of a call on a stack when it calls back at the entry, and takes it off when it calls back at
 * the exit. If the callback is disabled in between, the id stays there, and all later calls of the thread have it:
 * their records and those of their kernels cannot be distinguished. So a callback stays enabled while a thread is in
 * its call. A thread may enter it meanwhile: the agent clears called_back, disables, and looks whether a thread is
 * inside; the thread counts itself, and looks whether called_back is clear. At least one of the two sees the other, and
 * enables the callback again. */
static int disable_callback(enum cuda_domain domain, uint32_t id)
{
    struct cuda_api *api = &cuda_apis[domain][id];
    if (atomic_load(&api->inside))
        return 0;
    atomic_store(&api->called_back, 0);
    cuda.cupti.cuptiEnableCallback(0, cuda.subscriber, domains[domain].domain, id);
    if (!atomic_load(&api->inside))
        return 1;
    cuda.cupti.cuptiEnableCallback(1, cuda.subscriber, domains[domain].domain, id);
    atomic_store(&api->called_back, 1);
    return 0;
}

/* In the word that CUPTI keeps for the client from the entry of a call to its exit. */
#define COUNTED 0x746163686f000001u

void cuda_api_entered(enum cuda_domain domain, uint32_t id, const struct cupti_call *call)
{
    struct cuda_api *api = &cuda_apis[domain][id];
    if (!call->correlation_data)
        return;
    *call->correlation_data = COUNTED;
    atomic_fetch_add(&api->inside, 1);
    if (likely(atomic_load(&api->called_back)))
        return;
    atomic_store(&api->called_back, 1);
    cuda.cupti.cuptiEnableCallback(1, cuda.subscriber, domains[domain].domain, id);
    atomic_store(&cuda.unsettled, 1);
}

void cuda_api_left(enum cuda_domain domain, uint32_t id, const struct cupti_call *call)
{
    if (!call->correlation_data || *call->correlation_data != COUNTED)
        return; /* entered before the callback was enabled */
    *call->correlation_data = 0;
    atomic_fetch_sub(&cuda_apis[domain][id].inside, 1);
}

void cuda_api_callbacks(enum cuda_stage stage)
{
    atomic_store_explicit(&cuda.stage, stage, memory_order_relaxed);
    atomic_store(&cuda.unsettled, 0);
    for (enum cuda_domain domain = CUDA_RUNTIME; domain <= CUDA_DRIVER; domain++)
        for (uint32_t id = 1; id < CUDA_API_MAX; id++) {
            struct cuda_api *api = &cuda_apis[domain][id];
            uint8_t wanted = (uint8_t)(api->range || (stage == CUDA_STAGE_PAUSED ? api->known && api->unloads
                                                                                 : stage && has_callback(api)));
            if (wanted == atomic_load_explicit(&api->called_back, memory_order_relaxed))
                continue;
            if (wanted) {
                atomic_store(&api->called_back, 1);
                cuda.cupti.cuptiEnableCallback(1, cuda.subscriber, domains[domain].domain, id);
            } else if (disable_callback(domain, id)) {
                api->round++;
            } else {
                atomic_store(&cuda.unsettled, 1);
            }
        }
}

void cuda_api_forget_callbacks(void)
{
    for (enum cuda_domain domain = CUDA_RUNTIME; domain <= CUDA_DRIVER; domain++)
        for (uint32_t id = 1; id < CUDA_API_MAX; id++) {
            atomic_store(&cuda_apis[domain][id].called_back, 0);
            atomic_store(&cuda_apis[domain][id].inside, 0); /* exits do not come any more */
        }
}
