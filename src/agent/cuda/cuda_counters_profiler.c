/* CUPTI's range profiler: the contexts that it is enabled in, Start and Stop. All of it is done under the lock. */
#include "agent/core/sys.h"
#include "cuda_counters.h"

/* Waits for all work of the context, which has no captures. The program did not make this call. */
static void cupti_counters_wait_for(void *context)
{
    struct agent_thread *self = agent_self;
    void *popped;

    if (atomic_load(&counters.is_lost) || !cuda.driver.cuCtxPushCurrent_v2 || !cuda.driver.cuCtxPopCurrent_v2 ||
        !cuda.driver.cuCtxSynchronize)
        return;
    agent_self = AGENT_HIDDEN_THREAD;
    if (cuda.driver.cuCtxPushCurrent_v2(context) == 0) {
        cuda.driver.cuCtxSynchronize();
        cuda.driver.cuCtxPopCurrent_v2(&popped);
    }
    agent_self = self;
}

static int cupti_counters_start(void)
{
    struct cupti_range_start begin = { .profiler = counters.now->profiler };
    if (!counters.is_on)
        cupti_counters_wait_for(counters.now->handle);
    int result = counters.is_on ? CUPTI_RESULT_SUCCESS : COUNTERS_CALL(range_start, begin);
    counters.is_on |= result == CUPTI_RESULT_SUCCESS;
    return result;
}

int counters_stop(void)
{
    struct cupti_range_stop end = { .profiler = counters.now ? counters.now->profiler : NULL };
    if (counters.is_on)
        cupti_counters_wait_for(counters.now->handle);
    int result = counters.is_on ? COUNTERS_CALL(range_stop, end) : CUPTI_RESULT_SUCCESS;
    counters.is_on = 0;
    atomic_store(&counters.counted_context, NULL);
    return result;
}

/* ---- Contexts -------------------------------------------------------------------------------------------------- */

static struct counted_context *find_context(const void *handle)
{
    for (size_t i = 0; i < COUNTERS_CONTEXTS_MOST; i++)
        if (atomic_load(&counters.contexts[i].handle) == handle)
            return &counters.contexts[i];
    return NULL;
}

int counters_has_context(const void *handle)
{
    return handle && find_context(handle) != NULL;
}

static struct counted_context *enable_context(void *handle)
{
    struct counted_context *context = find_context(handle), *place = find_context(NULL);
    if (context)
        return context;
    struct cupti_range_enable enable = { .context = handle };
    uint32_t device = 0;
    cuda.cupti.cuptiGetDeviceId(handle, &device);
    struct cupti_chip_name chip = { .device = device };
    int result = place ? COUNTERS_CALL(chip_name, chip) : CUPTI_RESULT_ERROR_OUT_OF_MEMORY;
    if (result == CUPTI_RESULT_SUCCESS && (!chip.name || strcmp(chip.name, counters.config.chip) != 0)) {
        counters_refuse("The counters were chosen for another chip than that of the program's GPU.", 0);
        return NULL;
    }
    if (result == CUPTI_RESULT_SUCCESS)
        result = COUNTERS_CALL(range_enable, enable);
    if (result != CUPTI_RESULT_SUCCESS) {
        counters_refuse("", result);
        return NULL;
    }
    place->profiler = enable.profiler;
    place->old = place->refused = (struct counters_image){ 0 };
    atomic_store(&place->handle, handle);
    return place;
}

static void disable_context(struct counted_context *context)
{
    struct cupti_range_disable disable = { .profiler = context->profiler };
    if (counters.now == context)
        counters_end_image();
    COUNTERS_CALL(range_disable, disable);
    counters_drop_old_images(context);
    atomic_store(&context->handle, NULL);
}

void counters_disable(void *handle)
{
    struct counted_context *context = handle ? find_context(handle) : NULL;
    if (context)
        disable_context(context);
}

void counters_disable_all(void)
{
    for (size_t i = 0; i < COUNTERS_CONTEXTS_MOST; i++)
        if (atomic_load(&counters.contexts[i].handle))
            disable_context(&counters.contexts[i]);
}

int counters_start(void *handle)
{
    atomic_store(&counters.counted_context, handle); /* before what follows waits for the context's work */
    struct counted_context *context = enable_context(handle);
    if (!context)
        return -1;
    if (counters.now && counters.now != context) {
        counters_end_image();
        atomic_store(&counters.counted_context, handle);
    }
    int result = counters.now ? CUPTI_RESULT_SUCCESS : counters_begin_image(context);
    if (result == CUPTI_RESULT_SUCCESS)
        result = cupti_counters_start();
    if (result != CUPTI_RESULT_SUCCESS && result != COUNTERS_REFUSED)
        counters_refuse("", result);
    return result == CUPTI_RESULT_SUCCESS ? 0 : -1;
}
