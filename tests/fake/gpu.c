/* The model of the GPU: contexts, streams as queues in time, events, clocks; and the way from a call to the tool.
 *
 * Work starts when it has been asked for and its stream is idle, and ends a duration later, all in CLOCK_MONOTONIC; the
 * GPU's own clock is that with an offset and a drift. Nothing runs: who waits sleeps until the time has come. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "gpu_state.h"

struct gpu_state gpu = { .lock = PTHREAD_MUTEX_INITIALIZER, .next_stream = 7 };

static _Atomic(const struct fake_tool *) tool;
static _Atomic uint32_t correlations;
static uint64_t drift_base_ns;
static __thread struct fake_call *inner;
static __thread struct gpu_context *current;
static __thread struct gpu_stream *own_stream; /* this thread's default stream */
static __thread struct fake_truth last;
static __thread int callback_depth;

enum { STREAM_DEFAULT = 1, STREAM_NON_BLOCKING, STREAM_NULL }; /* as records have it */

/* ---- Time ------------------------------------------------------------------------------------------------------ */

EXPORT uint64_t fake_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

__attribute__((constructor)) static void start_clock(void)
{
    drift_base_ns = fake_now();
}

EXPORT uint64_t fake_gpu_time(uint64_t monotonic_ns)
{
    int64_t since = (int64_t)(monotonic_ns - drift_base_ns);
    return monotonic_ns + (uint64_t)fake_get("gpu_offset_ns") +
           (uint64_t)(int64_t)((__int128)since * fake_get("gpu_drift_ppb") / 1000000000);
}

/* Past the C library, so that the waiting is not taken for a call of the program's. */
void wait_until(uint64_t monotonic_ns)
{
    struct timespec then = { .tv_sec = (time_t)(monotonic_ns / 1000000000u),
                             .tv_nsec = (long)(monotonic_ns % 1000000000u) };
    while (fake_now() < monotonic_ns)
        syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &then, NULL);
}

/* ---- The tool that looks on ------------------------------------------------------------------------------------ */

EXPORT void fake_attach(const struct fake_tool *attached)
{
    atomic_store(&tool, attached);
}

EXPORT int fake_in_callback(int change)
{
    return callback_depth += change;
}

uint64_t tool_now(void)
{
    const struct fake_tool *attached = atomic_load(&tool);
    return attached ? attached->now() : 0;
}

void work_set(struct fake_work *work, enum fake_field field, uint64_t value)
{
    if (work->count == sizeof work->set / sizeof work->set[0])
        abort();
    work->set[work->count].field = field;
    work->set[work->count++].value = value;
}

void work_report(const struct fake_work *work)
{
    const struct fake_tool *attached = atomic_load(&tool);
    if (attached)
        attached->work(work);
}

void report_resource(int which, void *context, void *handle, void *descriptor)
{
    const struct fake_tool *attached = atomic_load(&tool);
    if (attached)
        attached->resource(which, context, handle, descriptor);
}

static void set_context(struct fake_call *call)
{
    call->context = current;
    call->context_id = current ? current->id : 0;
}

/* As the real one does: where the callback of a call is disabled while a thread is in it, its id stays on top, and all
 * later calls of that thread have it. */
static __thread uint32_t stuck;

static uint32_t new_correlation(void)
{
    return stuck ? stuck : atomic_fetch_add(&correlations, 1) + 1;
}

static void linger(const struct fake_call *call)
{
    if (call->domain != FAKE_RUNTIME || call->cbid != CBID_cudaGetDevice || !fake_take("linger"))
        return;
    int64_t before = fake_get("disabled"), seen = before;
    for (int calm = 0, limit = 0; calm < 20 && limit < 10000; limit++) {
        usleep(1000);
        calm = fake_get("disabled") == seen && seen > before ? calm + 1 : 0;
        seen = fake_get("disabled");
    }
}

EXPORT void fake_enter(struct fake_call *call)
{
    if (callback_depth > 0)
        fake_add("calls_in_callbacks", 1);
    call->outer = inner;
    set_context(call);
    call->correlation = inner ? inner->correlation : new_correlation();
    call->told = 0;
    call->silent = inner && !fake_get("nested");
    inner = call;
    const struct fake_tool *attached = atomic_load(&tool);
    if (attached && !call->silent)
        attached->call(call, 0);
}

EXPORT int fake_leave(struct fake_call *call, int result)
{
    const struct fake_tool *attached = atomic_load(&tool);
    call->result = result;
    set_context(call);
    linger(call);
    if (attached && !call->silent)
        attached->call(call, 1);
    if (call->told)
        stuck = call->correlation;
    inner = call->outer;
    return result;
}

EXPORT void fake_jumped(void)
{
    inner = NULL;
}

uint32_t call_correlation(void)
{
    return inner ? inner->correlation : 0;
}

EXPORT struct fake_truth fake_last(void)
{
    return last;
}

/* ---- Contexts -------------------------------------------------------------------------------------------------- */

EXPORT int gpu_ready(void)
{
    if (!gpu.initialised)
        return NOT_INITIALIZED;
    return gpu.pid == getpid() ? 0 : NOT_INITIALIZED;
}

EXPORT void *gpu_current(void)
{
    return current;
}

EXPORT void gpu_set_current(void *context)
{
    current = context;
    own_stream = NULL;
}

/* The default streams have a record, too; only those that the program makes are told as resources. */
static struct gpu_stream *new_stream(struct gpu_context *context, unsigned flags, int priority, int record_flag)
{
    struct gpu_stream *stream = calloc(1, sizeof *stream);
    pthread_mutex_lock(&gpu.lock);
    *stream = (struct gpu_stream){
        .context = context, .id = gpu.next_stream++, .flags = flags, .priority = priority, .next = context->streams
    };
    context->streams = stream;
    pthread_mutex_unlock(&gpu.lock);
    struct fake_work work = { .kind = KIND_STREAM };
    work_set(&work, FIELD_contextId, context->id);
    work_set(&work, FIELD_streamId, stream->id);
    work_set(&work, FIELD_priority, (uint64_t)(int64_t)priority);
    work_set(&work, FIELD_flag, (uint64_t)record_flag);
    work_set(&work, FIELD_correlationId, call_correlation());
    work_report(&work);
    return stream;
}

struct gpu_context *context_create(int device)
{
    struct gpu_context *context = calloc(1, sizeof *context);
    context->device = device;
    context->id = atomic_fetch_add(&gpu.contexts, 1) + 1;
    context->null_stream = new_stream(context, 0, 0, STREAM_NULL);
    struct fake_work work = { .kind = KIND_CONTEXT };
    work_set(&work, FIELD_contextId, context->id);
    work_set(&work, FIELD_deviceId, (uint64_t)device);
    work_set(&work, FIELD_computeApiKind, 1);
    work_set(&work, FIELD_nullStreamId, context->null_stream->id);
    work_report(&work);
    report_resource(RESOURCE_CONTEXT_CREATED, context, NULL, NULL);
    return context;
}

EXPORT void *gpu_primary(int device)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (!gpu.primary[device])
        gpu.primary[device] = context_create(device);
    pthread_mutex_unlock(&lock);
    return gpu.primary[device];
}

EXPORT int fake_has_context(void)
{
    return atomic_load(&gpu.contexts) > 0;
}

EXPORT int fake_context_id(void *context, uint32_t *id)
{
    if (!context)
        return -1;
    *id = ((struct gpu_context *)context)->id;
    return 0;
}

EXPORT int fake_context_device(void *context, uint32_t *device)
{
    struct gpu_context *of = context ? context : current;
    if (!of)
        return -1;
    *device = (uint32_t)of->device;
    return 0;
}

/* ---- Streams --------------------------------------------------------------------------------------------------- */

struct gpu_stream *stream_of(void *handle, int per_thread)
{
    if (handle == cudaStreamPerThread || (!handle && per_thread)) {
        if (!own_stream)
            own_stream = new_stream(current, cudaStreamNonBlocking, 0, STREAM_NON_BLOCKING);
        return own_stream;
    }
    return handle == NULL || handle == cudaStreamLegacy ? current->null_stream : handle;
}

EXPORT int fake_stream_id(void *context, void *handle, int per_thread, uint32_t *id)
{
    struct gpu_context *of = context ? context : current;
    if (!of)
        return -1;
    if (handle == NULL && !per_thread)
        *id = of->null_stream->id;
    else
        *id = stream_of(handle, per_thread)->id;
    return 0;
}

/* The default stream waits for all others of its context that do not decline, and they for it. */
static uint64_t free_at(const struct gpu_stream *stream)
{
    const struct gpu_stream *null_stream = stream->context->null_stream;
    uint64_t at = stream->tail_ns;
    if (stream == null_stream)
        for (const struct gpu_stream *other = stream->context->streams; other; other = other->next) {
            if (!(other->flags & cudaStreamNonBlocking) && other->tail_ns > at)
                at = other->tail_ns;
        }
    else if (!(stream->flags & cudaStreamNonBlocking) && null_stream->tail_ns > at)
        at = null_stream->tail_ns;
    return at;
}

static void place(struct gpu_stream *stream, struct fake_work *work)
{
    pthread_mutex_lock(&gpu.lock);
    uint64_t start_ns = fake_now() + (uint64_t)fake_get("latency_ns");
    if (free_at(stream) > start_ns)
        start_ns = free_at(stream);
    uint64_t end_ns = start_ns + work->done_ns; /* so far the duration */
    stream->tail_ns = end_ns;
    pthread_mutex_unlock(&gpu.lock);
    last = (struct fake_truth){
        start_ns, end_ns, call_correlation(), (uint32_t)stream->context->device, stream->context->id, stream->id
    };
    work->done_ns = end_ns;
}

/* A stream that captures keeps the work for its graph. */
struct fake_truth stream_submit(struct gpu_stream *stream, struct fake_work *work, int waits)
{
    work->on_gpu = 1;
    if (!work->in_graph)
        work->done_ns = (uint64_t)fake_get("duration_ns");
    work_set(work, FIELD_deviceId, (uint64_t)stream->context->device);
    work_set(work, FIELD_contextId, stream->context->id);
    if (stream->capture) {
        struct gpu_graph *graph = stream->capture;
        graph->works = realloc(graph->works, (graph->count + 1) * sizeof *work);
        graph->works[graph->count++] = *work;
        return last;
    }
    place(stream, work);
    uint64_t early = work->kind == KIND_KERNEL ? (uint64_t)fake_get("early_ns") : 0;
    work_set(work, FIELD_start, fake_gpu_time(last.start_ns - early));
    work_set(work, FIELD_end, fake_gpu_time(last.end_ns));
    work_set(work, FIELD_streamId, stream->id);
    work_set(work, FIELD_correlationId,
             work->kind == KIND_KERNEL && fake_take("orphans") ? 4000000000u - last.correlation : last.correlation);
    work_report(work);
    if (waits)
        wait_until(last.end_ns);
    return last;
}

EXPORT int gpu_stream_create(void **handle, unsigned flags, int priority)
{
    struct gpu_stream *stream = new_stream(current, flags, priority,
                                           flags & cudaStreamNonBlocking ? STREAM_NON_BLOCKING : STREAM_DEFAULT);
    *handle = stream;
    report_resource(RESOURCE_STREAM_CREATED, current, stream, NULL);
    return 0;
}

/* The memory stays: what is queued still names it. */
EXPORT int gpu_stream_destroy(void *handle)
{
    report_resource(RESOURCE_STREAM_DESTROYED, current, handle, NULL);
    return 0;
}

EXPORT int gpu_stream_done(void *handle)
{
    return fake_now() >= stream_of(handle, 0)->tail_ns ? 0 : NOT_READY;
}

/* ---- Waiting --------------------------------------------------------------------------------------------------- */

enum { SYNC_EVENT = 1, SYNC_STREAM_WAIT, SYNC_STREAM, SYNC_CONTEXT };

static void report_wait(int type, uint64_t start, uint32_t stream, const struct gpu_event *event)
{
    struct fake_work work = { .kind = KIND_SYNCHRONIZATION };
    work_set(&work, FIELD_type, (uint64_t)type);
    work_set(&work, FIELD_start, start);
    work_set(&work, FIELD_end, tool_now());
    work_set(&work, FIELD_correlationId, call_correlation());
    work_set(&work, FIELD_contextId, current->id);
    work_set(&work, FIELD_streamId, stream);
    work_set(&work, FIELD_cudaEventId, event ? event->id : UINT32_MAX);
    work_set(&work, FIELD_cudaEventSyncId, event ? event->sync_id : 0);
    work_report(&work);
}

void context_drain(void)
{
    uint64_t until = 0;
    pthread_mutex_lock(&gpu.lock);
    for (const struct gpu_stream *stream = current->streams; stream; stream = stream->next)
        if (stream->tail_ns > until)
            until = stream->tail_ns;
    pthread_mutex_unlock(&gpu.lock);
    wait_until(until);
}

EXPORT int gpu_synchronize(void)
{
    uint64_t start = tool_now();
    context_drain();
    report_wait(SYNC_CONTEXT, start, UINT32_MAX, NULL);
    return 0;
}

EXPORT int gpu_stream_synchronize(void *handle, int per_thread)
{
    uint64_t start = tool_now();
    struct gpu_stream *stream = stream_of(handle, per_thread);
    wait_until(free_at(stream));
    report_wait(SYNC_STREAM, start, stream->id, NULL);
    return 0;
}

EXPORT int gpu_event_create(void **event)
{
    struct gpu_event *made = calloc(1, sizeof *made);
    made->id = atomic_fetch_add(&gpu.events, 1) + 1;
    *event = made;
    return 0;
}

EXPORT int gpu_event_destroy(void *event)
{
    free(event);
    return 0;
}

EXPORT int gpu_event_record(void *handle, void *stream_handle, int per_thread)
{
    struct gpu_event *event = handle;
    struct gpu_stream *stream = stream_of(stream_handle, per_thread);
    if (stream->capture)
        return 0;
    uint64_t now = fake_now(), at = free_at(stream);
    event->done_ns = at > now ? at : now;
    event->sync_id = (uint64_t)atomic_fetch_add(&gpu.event_records, 1) + 1;
    last = (struct fake_truth){ event->done_ns,      event->done_ns,
                                call_correlation(),  (uint32_t)stream->context->device,
                                stream->context->id, stream->id };
    struct fake_work work = { .kind = KIND_EVENT, .on_gpu = 1, .done_ns = event->done_ns };
    work_set(&work, FIELD_correlationId, call_correlation());
    work_set(&work, FIELD_contextId, stream->context->id);
    work_set(&work, FIELD_deviceId, (uint64_t)stream->context->device);
    work_set(&work, FIELD_streamId, stream->id);
    work_set(&work, FIELD_eventId, event->id);
    work_set(&work, FIELD_deviceTimestamp, fake_gpu_time(event->done_ns));
    work_set(&work, FIELD_cudaEventSyncId, event->sync_id);
    work_report(&work);
    return 0;
}

EXPORT int gpu_event_synchronize(void *handle)
{
    struct gpu_event *event = handle;
    uint64_t start = tool_now();
    wait_until(event->done_ns);
    report_wait(SYNC_EVENT, start, UINT32_MAX, event);
    return 0;
}

EXPORT int gpu_event_done(void *handle)
{
    return fake_now() >= ((struct gpu_event *)handle)->done_ns ? 0 : NOT_READY;
}

EXPORT int gpu_stream_wait(void *stream_handle, void *handle, int per_thread)
{
    struct gpu_event *event = handle;
    struct gpu_stream *stream = stream_of(stream_handle, per_thread);
    uint64_t start = tool_now();
    pthread_mutex_lock(&gpu.lock);
    if (event->done_ns > stream->tail_ns)
        stream->tail_ns = event->done_ns;
    pthread_mutex_unlock(&gpu.lock);
    report_wait(SYNC_STREAM_WAIT, start, stream->id, event);
    return 0;
}
