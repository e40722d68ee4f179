/* A client of CUPTI that does nothing but what it is told, to find out what each thing costs: bench/cupti_cost.py.
 *
 * CUDA loads it through CUDA_INJECTION64_PATH. CUPTI_COST names what to enable, words with commas between them: those
 * before a slash inside cuInit(), those behind it when the program calls cost_switch(), once it has a context. Needs
 * the vendor's headers; no part of Tacho. */
#include <cupti.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BUFFER_BYTES = 1 << 20, MARKS = 4096 };

static CUpti_SubscriberHandle subscriber;
static long kernels, runtime_calls, driver_calls, callbacks;
static int is_zeroed;
/* what a profiler would write down in a callback */
static struct {
    uint64_t ns;
    uint32_t id, site;
} marks[MARKS];

/* cudaLaunchKernel and a few others that a program may make; the first two of the driver's. */
static const CUpti_CallbackId runtime_ids[] = { 211, 41, 51, 131, 165, 20, 22, 31, 3, 430 },
                              driver_ids[] = { 307, 514 };
static const CUpti_CallbackId runtime_waits[] = { 131, 135, 136, 137, 147, 165 },
                              driver_waits[] = { 17, 120, 121, 122, 124, 125, 126, 295 };
static const CUpti_CallbackId resource_ids[] = { CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
                                                 CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
                                                 CUPTI_CBID_RESOURCE_STREAM_CREATED,
                                                 CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING };
enum { RUNTIME_LAST = 600, DRIVER_LAST = 1000 };
#define FOR_EACH(list) for (size_t i = 0; i < sizeof list / sizeof *list; i++)

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void wanted(uint8_t **buffer, size_t *bytes, size_t *most)
{
    *bytes = BUFFER_BYTES;
    *buffer = aligned_alloc(4096, BUFFER_BYTES);
    if (is_zeroed)
        memset(*buffer, 0, BUFFER_BYTES);
    *most = 0;
}

static void done(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
    for (CUpti_Activity *record = NULL; cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS;) {
        kernels += record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
        runtime_calls += record->kind == CUPTI_ACTIVITY_KIND_RUNTIME;
        driver_calls += record->kind == CUPTI_ACTIVITY_KIND_DRIVER;
    }
    free(buffer);
}

static void called(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
    if (domain == CUPTI_CB_DOMAIN_RESOURCE)
        return;
    const CUpti_CallbackData *call = data;
    long at = callbacks++ % MARKS;
    marks[at].ns = now_ns();
    marks[at].id = call->correlationId;
    marks[at].site = call->callbackSite;
}

static void enable_calls(int on)
{
    FOR_EACH(runtime_ids)
        cuptiActivityEnableRuntimeApi(runtime_ids[i], (uint8_t)on);
    FOR_EACH(driver_ids)
        cuptiActivityEnableDriverApi(driver_ids[i], (uint8_t)on);
}

static int is_one_of(CUpti_CallbackId id, const CUpti_CallbackId *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] == id)
            return 1;
    return 0;
}

/* ---- What can be told ------------------------------------------------------------------------------------------ */

static void just_kernels(void)
{
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
}
static void copies(void)
{
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET);
}
static void names(void)
{
    enable_calls(1);
}
static void names_off(void)
{
    enable_calls(0);
}
static void domains_off(void)
{
    cuptiEnableDomain(0, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API);
    cuptiEnableDomain(0, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
}
static void domains(void)
{
    cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API);
    cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
}
static void kinds(void)
{
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER);
}
static void kinds_off(void)
{
    cuptiActivityDisable(CUPTI_ACTIVITY_KIND_RUNTIME);
    cuptiActivityDisable(CUPTI_ACTIVITY_KIND_DRIVER);
}
static void clock_of_ours(void)
{
    cuptiActivityRegisterTimestampCallback(now_ns);
}
static void system_ids(void)
{
    cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
}

static void small_kinds(void)
{
    static const CUpti_ActivityKind small[] = { CUPTI_ACTIVITY_KIND_OVERHEAD, CUPTI_ACTIVITY_KIND_JIT,
                                                CUPTI_ACTIVITY_KIND_CONTEXT, CUPTI_ACTIVITY_KIND_STREAM,
                                                CUPTI_ACTIVITY_KIND_GRAPH_TRACE };
    FOR_EACH(small)
        cuptiActivityEnable(small[i]);
}

static void leave_out(void) /* of the kinds, all but the chosen calls */
{
    for (CUpti_CallbackId id = 1; id < RUNTIME_LAST; id++)
        if (!is_one_of(id, runtime_ids, sizeof runtime_ids / sizeof *runtime_ids))
            cuptiActivityEnableRuntimeApi(id, 0);
    for (CUpti_CallbackId id = 1; id < DRIVER_LAST; id++)
        if (!is_one_of(id, driver_ids, sizeof driver_ids / sizeof *driver_ids))
            cuptiActivityEnableDriverApi(id, 0);
}

static void runtime_callbacks(void)
{
    FOR_EACH(runtime_ids)
        cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, runtime_ids[i]);
}
static void driver_callbacks(void)
{
    FOR_EACH(driver_ids)
        cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, driver_ids[i]);
}
static void resources(void)
{
    FOR_EACH(resource_ids)
        cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, resource_ids[i]);
}

static void waits(void)
{
    FOR_EACH(runtime_waits)
        cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, runtime_waits[i]);
    FOR_EACH(driver_waits)
        cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, driver_waits[i]);
}

static void zeroed(void)
{
    uint8_t yes = 1;
    size_t bytes = sizeof yes;
    is_zeroed = cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &bytes, &yes) ==
                CUPTI_SUCCESS;
}

static const struct {
    const char *word;
    void (*act)(void);
} words[] = {
    { "kernels", just_kernels },
    { "copies", copies },
    { "small", small_kinds },
    { "names", names },
    { "names-off", names_off },
    { "kinds", kinds },
    { "kinds-off", kinds_off },
    { "leave-out", leave_out },
    { "callbacks", runtime_callbacks },
    { "driver-callbacks", driver_callbacks },
    { "domains", domains },
    { "domains-off", domains_off },
    { "waits", waits },
    { "resources", resources },
    { "clock", clock_of_ours },
    { "system-ids", system_ids },
    { "zeroed", zeroed },
};

static void act(const char *list, const char *end)
{
    while (list < end) {
        size_t length = strcspn(list, ",/");
        size_t row = 0, count = sizeof words / sizeof *words;
        while (row < count && (strlen(words[row].word) != length || memcmp(words[row].word, list, length) != 0))
            row++;
        if (row < count)
            words[row].act();
        else
            fprintf(stderr, "CUPTI_COST knows no '%.*s'\n", (int)length, list);
        list += length + 1;
    }
}

/* ---- What the program and CUDA call ---------------------------------------------------------------------------- */

void cost_switch(void)
{
    const char *told = getenv("CUPTI_COST"), *slash = told ? strchr(told, '/') : NULL;
    if (slash)
        act(slash + 1, told + strlen(told));
    cuptiActivityFlushAll(1);
    kernels = runtime_calls = driver_calls = callbacks = 0;
}

void cost_report(char *out, size_t bytes)
{
    cuptiActivityFlushAll(1);
    snprintf(out, bytes, "kernels=%ld runtime=%ld driver=%ld callbacks=%ld", kernels, runtime_calls, driver_calls,
             callbacks);
}

int InitializeInjection(void)
{
    const char *told = getenv("CUPTI_COST");
    if (!told)
        return 1;
    cuptiSubscribe(&subscriber, (CUpti_CallbackFunc)called, NULL);
    cuptiActivityRegisterCallbacks(wanted, done);
    act(told, told + strcspn(told, "/"));
    return 1;
}
