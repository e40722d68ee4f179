/* CUPTI's callbacks: contexts and streams that come and go, calls that order streams or wait, calls that need a
 * backtrace or that CUPTI writes no record of, and the calls that begin and end a capture range.
 *
 * Only calls with a reason have a callback, because it costs as much as a record. Calls of the runtime make calls of
 * the driver, whose callbacks then come inside: the outer call counts, because the program made it. No callback may be
 * enabled for a whole domain: RESOURCE reports every launch (MODULE_PROFILED). */
#include "agent/core/stack_copy.h"
#include "cuda_agent.h"

struct cuda_callbacks_context {
    _Atomic(void *) handle;
    _Atomic uint32_t id, device;
};
static struct cuda_callbacks_context contexts[CUDA_CONTEXTS_MAX];

/* ---- Contexts and streams -------------------------------------------------------------------------------------- */

static const uint32_t resources[] = {
    CUPTI_RESOURCE_CONTEXT_CREATED,
    CUPTI_RESOURCE_CONTEXT_DESTROY_STARTING,
    CUPTI_RESOURCE_STREAM_CREATED,
    CUPTI_RESOURCE_MODULE_UNLOAD_STARTING,
};

/* PC sampling must know contexts that are older than the recording. */
void cuda_events_enable(int on)
{
    for (size_t i = 0; i < COUNT_OF(resources); i++)
        cuda.cupti.cuptiEnableCallback(on || cuda_pc_wanted(), cuda.subscriber, CUPTI_DOMAIN_RESOURCE, resources[i]);
}

uint32_t cuda_contexts(void *list[CUDA_CONTEXTS_MAX])
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < CUDA_CONTEXTS_MAX; i++) {
        void *handle = atomic_load_explicit(&contexts[i].handle, memory_order_acquire);
        if (handle)
            list[count++] = handle;
    }
    return count;
}

static void cuda_callbacks_add_context(void *handle, uint32_t id, uint32_t device)
{
    for (uint32_t i = 0; i < CUDA_CONTEXTS_MAX; i++) {
        void *none = NULL;
        if (atomic_compare_exchange_strong(&contexts[i].handle, &none, handle)) {
            atomic_store_explicit(&contexts[i].device, device, memory_order_relaxed);
            atomic_store_explicit(&contexts[i].id, id, memory_order_release);
            return;
        }
    }
}

static void remove_context(void *handle)
{
    for (uint32_t i = 0; i < CUDA_CONTEXTS_MAX; i++)
        if (atomic_load_explicit(&contexts[i].handle, memory_order_relaxed) == handle) {
            atomic_store_explicit(&contexts[i].id, 0, memory_order_relaxed);
            atomic_store_explicit(&contexts[i].handle, NULL, memory_order_release);
        }
}

/* If the context is older than the subscription, asks CUPTI for its device and remembers it. */
static uint32_t cuda_callbacks_device_of(void *handle, uint32_t id)
{
    for (uint32_t i = 0; i < CUDA_CONTEXTS_MAX; i++)
        if (id && atomic_load_explicit(&contexts[i].id, memory_order_acquire) == id)
            return atomic_load_explicit(&contexts[i].device, memory_order_relaxed);
    uint32_t device = 0;
    if (!handle || cuda.cupti.cuptiGetDeviceId(handle, &device) != CUPTI_RESULT_SUCCESS)
        return 0;
    cuda_callbacks_add_context(handle, id, device);
    return device;
}

static void tell_stream(void *context, void *stream, uint32_t context_id)
{
    uint32_t id;
    if (cuda.cupti.cuptiGetStreamIdEx(context, stream, 0, &id) != CUPTI_RESULT_SUCCESS)
        return;
    uint64_t words[] = { (uintptr_t)stream, (uint64_t)context_id << 32 | id };
    cuda_emit(&(struct cuda_note){ .type = WIRE_CUDA_STREAM, .words = words, .word_count = 2 });
}

static void context_created(void *handle)
{
    uint32_t id = 0, device = 0;
    cuda.cupti.cuptiGetContextId(handle, &id);
    cuda.cupti.cuptiGetDeviceId(handle, &device);
    cuda_callbacks_add_context(handle, id, device);
    int is_recorded = !cuda_is_awaited(); /* the range that is awaited begins without the calls of the start */
    if (is_recorded)
        atomic_store_explicit(&cuda.new_context, id, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&cuda.contexts_seen, 1, memory_order_relaxed) == 0) {
        cuda_exit_register();
        if (is_recorded)
            cuda_enable_unified_memory();
    }
    cuda_pc_context_created(handle, id, device);
    cuda_thread_wake();
}

static void cuda_callbacks_resource(uint32_t id, const struct cupti_resource_data *data)
{
    uint32_t context_id = 0;
    switch (id) {
    case CUPTI_RESOURCE_CONTEXT_CREATED: context_created(data->context); break;
    case CUPTI_RESOURCE_CONTEXT_DESTROY_STARTING:
        cuda_pc_context_destroyed(data->context);
        counters_context_ends(data->context);
        remove_context(data->context);
        break;
    case CUPTI_RESOURCE_STREAM_CREATED:
        cuda.cupti.cuptiGetContextId(data->context, &context_id);
        tell_stream(data->context, data->stream, context_id);
        break;
    case CUPTI_RESOURCE_MODULE_LOADED: cuda_module_loaded(data->descriptor); break;
    case CUPTI_RESOURCE_MODULE_UNLOAD_STARTING: cuda_names_forget(); break;
    }
}

/* ---- Calls ----------------------------------------------------------------------------------------------------- */

struct made_call {
    enum cuda_domain domain;
    uint32_t id;
    const struct cupti_call *call;
};

static int result_of(const struct cupti_call *call)
{
    return call->result ? *(const int *)call->result : 0;
}

/* Offsets of the event and of the stream in a call's block of arguments. */
#define NOT_THERE UINT8_MAX
static const struct {
    uint8_t event, stream;
} places[] = {
    [CUDA_WAIT_EVENT_RECORD] = { offsetof(struct cuda_event_record_parameters, event),
                                 offsetof(struct cuda_event_record_parameters, stream) },
    [CUDA_WAIT_STREAM_FOR_EVENT] = { offsetof(struct cuda_stream_wait_parameters, event),
                                     offsetof(struct cuda_stream_wait_parameters, stream) },
    [CUDA_WAIT_FOR_EVENT] = { offsetof(struct cuda_event_parameters, event), NOT_THERE },
    [CUDA_WAIT_FOR_STREAM] = { NOT_THERE, offsetof(struct cuda_stream_parameters, stream) },
    [CUDA_WAIT_FOR_CONTEXT] = { NOT_THERE, NOT_THERE },
};

static void *argument_at(const void *parameters, uint8_t place)
{
    return place == NOT_THERE ? NULL : *(void *const *)((const char *)parameters + place);
}

static void emit_wait(struct agent_thread *thread, const struct cuda_api *api, const struct cupti_call *call)
{
    void *event = argument_at(call->parameters, places[api->wait].event),
         *handle = argument_at(call->parameters, places[api->wait].stream);
    uint8_t per_thread = handle == CUDA_STREAM_PER_THREAD || (!handle && api->per_thread);
    uint32_t stream = CUPTI_NO_SYNC;
    if (places[api->wait].stream != NOT_THERE && call->context)
        cuda.cupti.cuptiGetStreamIdEx(call->context, handle, per_thread, &stream);
    uint32_t device = cuda_callbacks_device_of(call->context, call->context_id);
    struct agent_lane *lane;
    struct wire_record *record = emit_begin(thread, &lane, WIRE_SOURCE_CUDA, WIRE_CUDA_WAIT, WIRE_HEAD_WORDS + 3);
    if (!record)
        return;
    record->a = api->wait;
    record->ticks = agent_ticks();
    record->body[0] = call->correlation_id | (uint64_t)device << 32;
    record->body[1] = (uint64_t)call->context_id << 32 | stream;
    record->body[2] = (uintptr_t)event;
    emit_commit(lane, record);
}

static void cuda_callbacks_emit_call(struct agent_thread *thread, const struct made_call *made, uint64_t ticks)
{
    struct agent_lane *lane;
    struct wire_record *record = emit_begin(thread, &lane, WIRE_SOURCE_CUDA, WIRE_CUDA_CALL, WIRE_HEAD_WORDS + 2);
    if (!record)
        return;
    record->a = (uint16_t)made->id;
    record->b = (uint16_t)made->domain;
    record->ticks = cuda_of(thread)->start;
    record->body[0] = made->call->correlation_id | (uint64_t)(uint32_t)result_of(made->call) << 32;
    record->body[1] = ticks;
    emit_commit(lane, record);
}

static void leave_call(struct agent_thread *thread, const struct made_call *made)
{
    const struct cuda_api *api = &cuda_apis[made->domain][made->id];
    const struct cupti_call *call = made->call;
    uint64_t ticks = agent_ticks() - cuda_of(thread)->start;
    if ((cuda.settings.backtrace_groups >> api->group & 1) &&
        wire_cuda_time(ticks, cuda.settings.ns_per_tick) >= cuda.settings.backtrace_ns)
        stack_copy_emit(thread, &(struct chain_of){ WIRE_SOURCE_CUDA,
                                                    call->correlation_id |
                                                        (made->domain == CUDA_DRIVER ? WIRE_CUDA_STACK_OF_DRIVER : 0),
                                                    cuda_of(thread)->start, cuda.settings.backtrace_bytes,
                                                    AGENT_STACK_OF_CALL });
    if (cuda_api_is_ours(api))
        cuda_callbacks_emit_call(thread, made, ticks);
    /* A call without arguments passes no block. */
    int has_arguments = call->parameters || api->wait == CUDA_WAIT_FOR_CONTEXT;
    if (api->wait && has_arguments && call->result && result_of(call) == 0)
        emit_wait(thread, api, call);
}

static uint32_t cuda_callbacks_key_of(const struct made_call *made)
{
    return (uint32_t)made->domain << 16 | made->id; /* never 0: ids begin at 1 */
}

/* True if this call is made inside the call that the thread is in. A driver call may be; a runtime call is not, nor is
 * a call inside itself. If callbacks were switched during the outer call, or the program left it by longjmp(), its exit
 * never comes. */
static int cuda_callbacks_is_inside(const struct cuda_thread *state, const struct made_call *made)
{
    return state->call && made->domain == CUDA_DRIVER && state->call != cuda_callbacks_key_of(made) &&
           state->epoch == atomic_load_explicit(&cuda.epoch, memory_order_relaxed) &&
           state->round == cuda_apis[state->call >> 16][state->call & 0xffff].round;
}

static void enter_call(struct agent_thread *thread, const struct made_call *made)
{
    if (cuda_callbacks_is_inside(cuda_of(thread), made))
        return;
    *cuda_of(thread) = (struct cuda_thread){
        .call = cuda_callbacks_key_of(made),
        .correlation = made->call->correlation_id,
        .round = cuda_apis[made->domain][made->id].round,
        .epoch = atomic_load_explicit(&cuda.epoch, memory_order_relaxed),
        .start = agent_ticks(),
        .counted = cuda_of(thread)->counted,
    };
}

/* True if this is the exit of the call that the thread is in. It compares the call itself, because the exits of calls
 * inside may have been missed. */
static int cuda_callbacks_is_left(const struct cuda_thread *state, const struct made_call *made)
{
    return state->call == cuda_callbacks_key_of(made) && state->correlation == made->call->correlation_id &&
           state->epoch == atomic_load_explicit(&cuda.epoch, memory_order_relaxed);
}

/* Fetches CUPTI's records while the names still exist. It must not do so in the callback for the unloading itself:
 * there the driver holds its locks, and a flush needs the driver. */
static void unload(uint32_t site)
{
    if (site == CUPTI_EXIT) {
        cuda_names_forget();
        return;
    }
    cuda_pc_fetch(); /* afterwards another function may have the same place */
    if (atomic_load_explicit(&cuda.lent, memory_order_relaxed) > 0)
        cuda.cupti.cuptiActivityFlushAll(0);
}

static void call_made(const struct made_call *made)
{
    const struct cupti_call *call = made->call;
    if (made->id >= CUDA_API_MAX)
        return;
    const struct cuda_api *api = &cuda_apis[made->domain][made->id];
    if (call->site == CUPTI_ENTER)
        cuda_api_entered(made->domain, made->id, call);
    else
        cuda_api_left(made->domain, made->id, call);
    if (api->range == 1 && call->site == CUPTI_EXIT)
        cuda_range_begin();
    else if (api->range == 2 && call->site == CUPTI_ENTER)
        cuda_range_end();
    if (api->unloads)
        unload(call->site);
    if (api->launch && call->site == CUPTI_ENTER)
        counters_enter((enum cuda_launch_kind)api->launch, call);
    else if (api->launch)
        counters_leave((enum cuda_launch_kind)api->launch, call);
    struct agent_thread *thread = agent_enter(WIRE_BIT(CUDA));
    uint32_t stage = atomic_load_explicit(&cuda.stage, memory_order_relaxed);
    if (!thread && !agent_recording(WIRE_BIT(CUDA)) && stage != CUDA_STAGE_NONE && stage != CUDA_STAGE_PAUSED)
        thread = agent_thread(); /* CUPTI records calls until the agent's thread disables it, so waits are needed too */
    if (!thread)
        return;
    if (call->site == CUPTI_ENTER) {
        enter_call(thread, made);
    } else if (cuda_callbacks_is_left(cuda_of(thread), made)) {
        cuda_of(thread)->call = 0;
        leave_call(thread, made);
    }
}

void cuda_callback(void *user, uint32_t domain, uint32_t id, const void *data)
{
    if (!cuda_in_use() || agent_self == AGENT_OWN_THREAD)
        return;
    int saved_errno = errno;
    if (domain == CUPTI_DOMAIN_RUNTIME)
        call_made(&(struct made_call){ CUDA_RUNTIME, id, data });
    else if (domain == CUPTI_DOMAIN_DRIVER)
        call_made(&(struct made_call){ CUDA_DRIVER, id, data });
    else if (domain == CUPTI_DOMAIN_RESOURCE)
        cuda_callbacks_resource(id, data);
    errno = saved_errno;
}
