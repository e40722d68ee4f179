/* Calls into CUDA: what each callback id is called, which are recorded, which come to us as callbacks.
 *
 * Measured on CUPTI 13.0: a call can be left out of the records only while its whole kind (RUNTIME, DRIVER) is enabled. To
 * enable single calls without their kind works before the first context exists and silently does nothing afterwards. So
 * both stages begin with the kind, and CHOSEN takes away, one by one, what nobody wants: half a millisecond, once.
 * A call that is left out still gets a correlation id: the gaps between ids say how many there were.                    */
#include "cuda.h"

#define MISSING_MAX 64u /* ids without a name, one after the other: then there are no more */

struct cuda_api cuda_apis[2][CUDA_API_MAX];

static const struct {
    uint32_t domain, kind, name;
} domains[2] = {
    [CUDA_RUNTIME] = { CUPTI_DOMAIN_RUNTIME, CUPTI_KIND_RUNTIME, WIRE_CUDA_NAME_RUNTIME },
    [CUDA_DRIVER] = { CUPTI_DOMAIN_DRIVER, CUPTI_KIND_DRIVER, WIRE_CUDA_NAME_DRIVER },
};

static const struct { const char *name; uint8_t range; } ranges[] = {
    { "cudaProfilerStart", 1 }, { "cudaProfilerStop", 2 }, { "cuProfilerStart", 1 }, { "cuProfilerStop", 2 },
};

static const char *const unloads[] = { "cuModuleUnload", "cuLibraryUnload", "cudaLibraryUnload" };
static const char cupti_call[] = "cuKernelGetName";

static int is_call(const char *name, const char *call)
{
    uint32_t bytes = cuda_call_name_bytes(name);
    return strlen(call) == bytes && memcmp(name, call, bytes) == 0;
}

static uint8_t range_of(const char *name)
{
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (is_call(name, ranges[i].name))
            return ranges[i].range;
    return 0;
}

static uint8_t is_unload(const char *name)
{
    for (size_t i = 0; i < sizeof unloads / sizeof *unloads; i++)
        if (is_call(name, unloads[i]))
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
        .of_cupti = (uint8_t)is_call(name, cupti_call),
    };
    cuda_name_add((enum wire_cuda_name)domains[domain].name, id, name);
}

void cuda_api_learn(void)
{
    for (enum cuda_domain domain = CUDA_RUNTIME; domain <= CUDA_DRIVER; domain++) {
        uint32_t missing = 0;
        for (uint32_t id = 1; id < CUDA_API_MAX && missing < MISSING_MAX; id++) {
            const char *name = NULL;
            if (cuda.cupti.cuptiGetCallbackName(domains[domain].domain, id, &name) == CUPTI_RESULT_SUCCESS && name && *name) {
                learn_call(domain, id, name);
                missing = 0;
            } else {
                missing++;
            }
        }
    }
}

/* ---- Records ------------------------------------------------------------------------------------------------------ */

static int can_leave_out(void)
{
    return cuda.cupti.cuptiActivityEnableRuntimeApi && cuda.cupti.cuptiActivityEnableDriverApi;
}

static int can_choose(void)
{
    return can_leave_out() && !(cuda.settings.flags & WIRE_CUDA_ALL_CALLS);
}

enum cuda_stage cuda_api_last_stage(void)
{
    return can_choose() ? CUDA_STAGE_CHOSEN : CUDA_STAGE_ALL;
}

static void leave_out(enum cuda_domain domain, enum cuda_stage stage)
{
    int (*enable_call)(uint32_t, uint8_t) =
        domain == CUDA_RUNTIME ? cuda.cupti.cuptiActivityEnableRuntimeApi : cuda.cupti.cuptiActivityEnableDriverApi;
    for (uint32_t id = 1; id < CUDA_API_MAX; id++)
        if (cuda_apis[domain][id].of_cupti || (stage == CUDA_STAGE_CHOSEN && cuda_apis[domain][id].known && !cuda_apis[domain][id].chosen))
            enable_call(id, 0);
}

int cuda_api_enable(enum cuda_stage stage)
{
    uint32_t before = atomic_load_explicit(&cuda.stage, memory_order_relaxed);
    if (!can_choose())
        stage = CUDA_STAGE_ALL;
    if (before == stage)
        return stage;
    for (enum cuda_domain domain = CUDA_RUNTIME; domain <= CUDA_DRIVER; domain++) {
        if (before == CUDA_STAGE_CHOSEN) /* enabling a kind that is enabled would change nothing */
            cuda.cupti.cuptiActivityDisable(domains[domain].kind);
        if (before != CUDA_STAGE_ALL)
            cuda.cupti.cuptiActivityEnable(domains[domain].kind);
        if (can_leave_out())
            leave_out(domain, stage);
    }
    atomic_store_explicit(&cuda.stage, stage, memory_order_relaxed);
    return stage;
}

void cuda_api_disable(void)
{
    for (enum cuda_domain domain = CUDA_RUNTIME; domain <= CUDA_DRIVER; domain++)
        cuda.cupti.cuptiActivityDisable(domains[domain].kind);
    atomic_store_explicit(&cuda.stage, CUDA_STAGE_NONE, memory_order_relaxed);
}

/* ---- Callbacks ---------------------------------------------------------------------------------------------------- */

void cuda_api_callbacks(int recording)
{
    atomic_fetch_add_explicit(&cuda.epoch, 1, memory_order_relaxed);
    for (enum cuda_domain domain = CUDA_RUNTIME; domain <= CUDA_DRIVER; domain++)
        for (uint32_t id = 1; id < CUDA_API_MAX; id++) {
            const struct cuda_api *api = &cuda_apis[domain][id];
            int traced = api->wait || api->unloads || (api->known && (cuda.settings.backtrace_groups >> api->group & 1));
            if (traced || api->range)
                cuda.cupti.cuptiEnableCallback((recording && traced) || api->range, cuda.subscriber, domains[domain].domain, id);
        }
}
