/* libcupti.so: subscription, callbacks, names and ids. Records are cupti_activity.c's. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cupti.h"

static struct {
    subscriber_callback callback;
    void *user;
    char name[64];
} subscriber;
static _Atomic int subscribed;
static unsigned char enabled[DOMAIN_COUNT][CALLS_MAX];
static pid_t pid;
static __thread int last_error;

int forked(void)
{
    return pid && pid != getpid();
}

static int answer(int result)
{
    if (result)
        last_error = result;
    return result;
}

/* ---- What the driver reports ----------------------------------------------------------------------------------- */

static void tell(int domain, uint32_t id, const void *data)
{
    fake_add("callbacks", 1);
    fake_in_callback(1);
    subscriber.callback(subscriber.user, domain, id, data);
    fake_in_callback(-1);
}

static uint32_t call_count(int domain)
{
    static const struct {
        int since;
        uint32_t driver, runtime;
    } counts[] = {
        { 1304, 868, 566 }, { 1300, 807, 523 }, { 1209, 784, 487 }, { 1204, 754, 468 }, { 1108, 677, 434 },
    };
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        if (FAKE_CUPTI >= counts[i].since)
            return domain == DOMAIN_DRIVER ? counts[i].driver : counts[i].runtime;
    return 0;
}

static void on_call(struct fake_call *call, int leaves)
{
    if (forked() || call->cbid >= call_count(call->domain))
        return;
    if (!leaves)
        activity_call(call, 0);
    else if (call->domain == DOMAIN_DRIVER)
        ranges_call(call); /* before the subscriber hears of its end */
    if (subscribed && enabled[call->domain][call->cbid]) {
        struct callback_data data = { leaves,           call->function, call->params,     leaves ? &call->result : NULL,
                                      call->symbol,     call->context,  call->context_id, &call->data,
                                      call->correlation };
        tell(call->domain, call->cbid, &data);
        call->told = !leaves;
    }
    if (leaves)
        activity_call(call, 1);
}

/* Names die with their module: what was said about its kernels is given out before. */
static void on_resource(int which, void *context, void *handle, void *descriptor)
{
    if (forked())
        return;
    if (which == RESOURCE_MODULE_UNLOADED)
        activity_deliver_all();
    if (which == RESOURCE_CONTEXT_CREATED)
        activity_context();
    struct resource_data data = { context, handle, descriptor };
    if (subscribed && enabled[DOMAIN_RESOURCE][which])
        tell(DOMAIN_RESOURCE, (uint32_t)which, &data);
    if (which == RESOURCE_MODULE_LOADED)
        pc_module(descriptor);
    if (which == RESOURCE_CONTEXT_DESTROYED)
        pc_context_destroyed(context);
}

static void on_work(const struct fake_work *work)
{
    if (forked())
        return;
    activity_work(work);
    pc_work(work);
}

void tool_attach(void)
{
    static const struct fake_tool tool = { on_call, on_resource, on_work, activity_now };
    static _Atomic int attached;
    if (atomic_exchange(&attached, 1))
        return;
    pid = getpid();
    activity_start();
    fake_attach(&tool);
}

/* ---- Subscription ---------------------------------------------------------------------------------------------- */

EXPORT int cuptiSubscribe(void **handle, subscriber_callback callback, void *user);
EXPORT int cuptiSubscribe(void **handle, subscriber_callback callback, void *user)
{
    if (fake_get("subscribe_error"))
        return answer((int)fake_get("subscribe_error"));
    if (!handle)
        return answer(INVALID_PARAMETER);
    if (atomic_exchange(&subscribed, 1))
        return answer(MULTIPLE_SUBSCRIBERS);
    subscriber.callback = callback;
    subscriber.user = user;
    *handle = &subscriber;
    fake_add("subscribers", 1);
    tool_attach();
    return OK;
}

#if FAKE_CUPTI >= 1300
struct subscriber_params {
    size_t bytes;
    const char *name;
    char *old_name;
    size_t old_bytes;
};

EXPORT int cuptiSubscribe_v2(void **handle, subscriber_callback callback, void *user, struct subscriber_params *params);
EXPORT int cuptiSubscribe_v2(void **handle, subscriber_callback callback, void *user, struct subscriber_params *params)
{
    int result = cuptiSubscribe(handle, callback, user);
    if (result == OK && params && params->name)
        snprintf(subscriber.name, sizeof subscriber.name, "CUPTI for %s", params->name);
    if (result == MULTIPLE_SUBSCRIBERS && params && params->old_name)
        snprintf(params->old_name, params->old_bytes, "%s", subscriber.name[0] ? subscriber.name : "CUPTI");
    return result;
}
#endif

EXPORT int cuptiUnsubscribe(void *handle);
EXPORT int cuptiUnsubscribe(void *handle)
{
    if (handle != &subscriber || !subscribed)
        return answer(INVALID_PARAMETER);
    memset(enabled, 0, sizeof enabled);
    subscriber.name[0] = 0;
    subscribed = 0;
    return OK;
}

EXPORT int cuptiEnableCallback(uint32_t enable, void *handle, uint32_t domain, uint32_t id);
EXPORT int cuptiEnableCallback(uint32_t enable, void *handle, uint32_t domain, uint32_t id)
{
    if (handle != &subscriber || domain == 0 || domain >= DOMAIN_COUNT || id == 0 || id >= CALLS_MAX)
        return answer(INVALID_PARAMETER);
    fake_add("disabled", enabled[domain][id] && !enable);
    enabled[domain][id] = enable != 0;
    return OK;
}

EXPORT int cuptiEnableDomain(uint32_t enable, void *handle, uint32_t domain);
EXPORT int cuptiEnableDomain(uint32_t enable, void *handle, uint32_t domain)
{
    if (handle != &subscriber || domain == 0 || domain >= DOMAIN_COUNT)
        return answer(INVALID_PARAMETER);
    memset(enabled[domain], enable != 0, sizeof enabled[domain]);
    return OK;
}

EXPORT int cuptiEnableAllDomains(uint32_t enable, void *handle);
EXPORT int cuptiEnableAllDomains(uint32_t enable, void *handle)
{
    if (handle != &subscriber)
        return answer(INVALID_PARAMETER);
    memset(enabled, enable != 0, sizeof enabled);
    return OK;
}

/* ---- Names, versions, ids -------------------------------------------------------------------------------------- */

/* Ids that the stand-ins have no call for have a name, too. */
EXPORT int cuptiGetCallbackName(uint32_t domain, uint32_t id, const char **name);
EXPORT int cuptiGetCallbackName(uint32_t domain, uint32_t id, const char **name)
{
    static const struct {
        uint32_t domain, id;
        const char *name;
    } names[] = {
#define CALL(domain, id, function, version) { DOMAIN_##domain, id, #function #version },
#include "calls.def"
#undef CALL
    };
    static char others[DOMAIN_COUNT][CALLS_MAX][24];
    if ((domain != DOMAIN_DRIVER && domain != DOMAIN_RUNTIME) || id == 0 || id >= call_count((int)domain))
        return answer(INVALID_PARAMETER);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].domain == domain && names[i].id == id) {
            *name = names[i].name;
            return OK;
        }
    snprintf(others[domain][id], sizeof others[domain][id], domain == DOMAIN_DRIVER ? "cuOther%u" : "cudaOther%u_v3020",
             id);
    *name = others[domain][id];
    return OK;
}

EXPORT int cuptiGetVersion(uint32_t *version);
EXPORT int cuptiGetVersion(uint32_t *version)
{
    static const struct {
        int since;
        uint32_t version;
    } versions[] = {
        { 1304, 130401 }, { 1303, 130301 }, { 1302, 130202 }, { 1301, 130101 }, { 1300, 130001 },
        { 1209, 28 },     { 1208, 26 },     { 1206, 24 },     { 1205, 23 },     { 1204, 22 },
        { 1203, 21 },     { 1202, 20 },     { 1108, 18 },
    };
    size_t i = 0;
    while (versions[i].since > FAKE_CUPTI)
        i++;
    *version = fake_get("larger") ? 140000 : versions[i].version;
    return OK;
}

EXPORT int cuptiGetResultString(int result, const char **text);
EXPORT int cuptiGetResultString(int result, const char **text)
{
    static __thread char made[48];
    static const struct {
        int result;
        const char *text;
    } known[] = {
        { 0, "CUPTI_SUCCESS" },
        { 1, "CUPTI_ERROR_INVALID_PARAMETER" },
        { 12, "CUPTI_ERROR_MAX_LIMIT_REACHED" },
        { 13, "CUPTI_ERROR_NOT_READY" },
        { 21, "CUPTI_ERROR_INVALID_KIND" },
        { 35, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" },
        { 39, "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED" },
    };
    snprintf(made, sizeof made, "CUPTI_ERROR_%d", result);
    *text = made;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].result == result)
            *text = known[i].text;
    return OK;
}

#if FAKE_CUPTI >= 1202
EXPORT int cuptiGetErrorMessage(int result, const char **text);
EXPORT int cuptiGetErrorMessage(int result, const char **text)
{
    return cuptiGetResultString(result, text);
}
#endif

EXPORT int cuptiGetLastError(void);
EXPORT int cuptiGetLastError(void)
{
    int result = last_error;
    last_error = 0;
    return result;
}

EXPORT int cuptiGetContextId(void *context, uint32_t *id);
EXPORT int cuptiGetContextId(void *context, uint32_t *id)
{
    return answer(fake_context_id(context, id) ? 3 : OK);
}

EXPORT int cuptiGetDeviceId(void *context, uint32_t *id);
EXPORT int cuptiGetDeviceId(void *context, uint32_t *id)
{
    return answer(fake_context_device(context, id) ? 3 : OK);
}

EXPORT int cuptiGetStreamIdEx(void *context, void *stream, uint8_t per_thread, uint32_t *id);
EXPORT int cuptiGetStreamIdEx(void *context, void *stream, uint8_t per_thread, uint32_t *id)
{
    return answer(fake_stream_id(context, stream, per_thread, id) ? 3 : OK);
}

EXPORT int cuptiGetGraphId(void *graph, uint32_t *id);
EXPORT int cuptiGetGraphId(void *graph, uint32_t *id)
{
    memcpy(id, graph, 4); /* a graph begins with it */
    return OK;
}

#if FAKE_CUPTI >= 1203
EXPORT int cuptiGetGraphExecId(void *graph, uint32_t *id);
EXPORT int cuptiGetGraphExecId(void *graph, uint32_t *id)
{
    return cuptiGetGraphId(graph, id);
}
#endif

EXPORT int cuptiGetGraphNodeId(void *node, uint64_t *id);
EXPORT int cuptiGetGraphNodeId(void *node, uint64_t *id)
{
    *id = (uintptr_t)node;
    return OK;
}
