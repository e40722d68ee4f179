/* libcupti.so: activity records, from what the driver reports to the client's buffers.
 *
 * Records of calls go into a buffer of the calling thread's, all others into one that is shared. What the GPU has been
 * given waits in `pending` until it has ended. A full buffer is queued; the worker thread gives it back. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cupti.h"

struct buffer { /* of the client's */
    uint8_t *memory;
    size_t bytes, used, records, most;
    _Atomic size_t kernels, unfinished;
    struct buffer *next; /* on its way back */
};

struct slot {            /* where the next record goes */
    pthread_mutex_t lock;
    struct buffer *buffer;
    struct slot *next;
};

struct pending {           /* what the GPU has been given */
    struct fake_work work;
    struct buffer *buffer; /* its record has its place already */
    size_t offset;
};

static struct {
    buffer_request request;
    buffer_complete complete;
    uint64_t (*now)(void);
    unsigned char kinds[KIND_COUNT];
    unsigned char calls[3][CALLS_MAX]; /* by domain: whose calls are recorded… */
    unsigned char armed[3][CALLS_MAX]; /* …without their kind: those that were asked for when
                                        * the first context was made */
    _Atomic int has_context;
    unsigned char counters[16];        /* of unified memory */
    int event_timestamps, system_thread_ids;
    _Atomic size_t dropped;
} state;

static struct slot shared = { .lock = PTHREAD_MUTEX_INITIALIZER };
static struct slot *slots = &shared;
static __thread struct slot *own;
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER; /* of slots, and of what is on its way */
static pthread_cond_t woken, idle = PTHREAD_COND_INITIALIZER;
static struct buffer *first_full, **last_full = &first_full;
static int delivering;
static pthread_mutex_t pending_lock = PTHREAD_MUTEX_INITIALIZER;
static struct pending *pending;
static size_t pending_count, pending_room;

uint64_t activity_now(void)
{
    if (state.now)
        return state.now();
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- Buffers --------------------------------------------------------------------------------------------------- */

static void queue_full(struct slot *slot)
{
    struct buffer *full = slot->buffer;
    slot->buffer = NULL;
    full->next = NULL;
    pthread_mutex_lock(&list_lock);
    *last_full = full;
    last_full = &full->next;
    pthread_cond_signal(&woken);
    pthread_mutex_unlock(&list_lock);
}

static int is_zero(const uint8_t *bytes, size_t count)
{
    while (count-- > 0)
        if (bytes[count])
            return 0;
    return 1;
}

static struct buffer *request_buffer(void)
{
    struct buffer *buffer = calloc(1, sizeof *buffer);
    fake_add("requests", 1);
    fake_in_callback(1);
    state.request(&buffer->memory, &buffer->bytes, &buffer->most);
    fake_in_callback(-1);
    if (!buffer->memory) {
        fake_add("refused_requests", 1);
        if (FAKE_CUPTI < 1209) {
            fprintf(stderr, "fake: this version of CUPTI crashes when it gets no buffer\n");
            abort();
        }
        free(buffer);
        return NULL;
    }
    if ((uintptr_t)buffer->memory % 8 || !is_zero(buffer->memory, buffer->bytes))
        fake_add("dirty_requests", 1);
    return buffer;
}

/* A place for a record of this kind, or NULL: it is dropped. */
static uint8_t *place_for(struct slot *slot, uint32_t kind)
{
    size_t bytes = record_bytes(kind);
    struct buffer *buffer = slot->buffer;
    if (buffer && (buffer->used + bytes > buffer->bytes || (buffer->most && buffer->records == buffer->most)))
        queue_full(slot);
    if (state.request && !fake_take("drop_records") && (slot->buffer || (slot->buffer = request_buffer()))) {
        slot->buffer->used += bytes;
        slot->buffer->records++;
        return slot->buffer->memory + slot->buffer->used - bytes;
    }
    state.dropped++;
    fake_add("dropped", 1);
    return NULL;
}

static void count_kernel(struct buffer *buffer, const struct fake_work *work)
{
    if (work->kind != KIND_KERNEL)
        return;
    buffer->kernels++;
    fake_add("recorded_kernels", 1);
}

static void append(struct slot *slot, const struct fake_work *work)
{
    uint8_t *place = place_for(slot, work->kind);
    if (!place)
        return;
    record_write(place, work);
    count_kernel(slot->buffer, work);
}

static void record(struct slot *slot, const struct fake_work *work)
{
    static const struct fake_work unknown = { .kind = 60 };
    pthread_mutex_lock(&slot->lock);
    if (fake_take("unknown_kinds"))
        append(slot, &unknown);
    append(slot, work);
    pthread_mutex_unlock(&slot->lock);
}

static struct slot *own_slot(void)
{
    if (!own) {
        own = calloc(1, sizeof *own);
        pthread_mutex_init(&own->lock, NULL);
        pthread_mutex_lock(&list_lock);
        own->next = slots;
        slots = own;
        pthread_mutex_unlock(&list_lock);
    }
    return own;
}

/* ---- What the driver reports ----------------------------------------------------------------------------------- */

static uint32_t thread_id(void)
{
    return state.system_thread_ids ? (uint32_t)gettid() : (uint32_t)pthread_self();
}

/* As the real one does: a call that is asked for by its name later than that, and without its kind,
 * is silently not recorded. */
void activity_context(void)
{
    if (!atomic_exchange(&state.has_context, 1))
        memcpy(state.armed, state.calls, sizeof state.armed);
}

static int is_call_wanted(const struct fake_call *call)
{
    return state.calls[call->domain][call->cbid] &&
           (!state.has_context || state.armed[call->domain][call->cbid] ||
            state.kinds[call->domain == FAKE_DRIVER ? KIND_DRIVER : KIND_RUNTIME]);
}

void activity_call(struct fake_call *call, int leaves)
{
    if (!is_call_wanted(call)) {
        call->start = 0;
        return;
    }
    if (!leaves)
        call->start = activity_now();
    if (!leaves || !call->start) /* what was entered before it was asked for is not recorded */
        return;
    struct fake_work work = {
        .kind = call->domain == FAKE_DRIVER ? KIND_DRIVER : KIND_RUNTIME,
        .count = 7,
        .set = { { FIELD_cbid, call->cbid },
                 { FIELD_start, call->start },
                 { FIELD_end, activity_now() },
                 { FIELD_processId, (uint64_t)getpid() },
                 { FIELD_threadId, thread_id() },
                 { FIELD_correlationId, call->correlation },
                 { FIELD_returnValue, (uint32_t)call->result } },
    };
    record(own_slot(), &work);
}

static uint64_t field_of(const struct fake_work *work, uint32_t field)
{
    for (uint32_t i = 0; i < work->count; i++)
        if (work->set[i].field == field)
            return work->set[i].value;
    return 0;
}

static void clear(struct fake_work *work, uint32_t field)
{
    for (uint32_t i = 0; i < work->count; i++)
        if (work->set[i].field == field)
            work->set[i].value = 0;
}

static int is_wanted(const struct fake_work *work)
{
    if (work->kind == KIND_KERNEL ? !state.kinds[3] && !state.kinds[KIND_KERNEL] : !state.kinds[work->kind])
        return 0;
    if (work->in_graph && state.kinds[KIND_GRAPH])
        return 0;
    if (work->kind == KIND_UNIFIED && !state.counters[field_of(work, FIELD_counterKind) & 15])
        return 0;
    return !(work->kind == KIND_KERNEL && fake_take("skip_records"));
}

/* Its place in a buffer, without times so far. */
static int reserve(struct pending *item)
{
    struct fake_work bare = item->work;
    clear(&bare, FIELD_start);
    clear(&bare, FIELD_end);
    pthread_mutex_lock(&shared.lock);
    uint8_t *place = place_for(&shared, bare.kind);
    if (place) {
        record_write(place, &bare);
        item->buffer = shared.buffer;
        item->offset = (size_t)(place - shared.buffer->memory);
        item->buffer->unfinished++;
    }
    pthread_mutex_unlock(&shared.lock);
    return place != NULL;
}

void activity_work(const struct fake_work *work)
{
    if (!is_wanted(work))
        return;
    if (!work->on_gpu) {
        record(&shared, work);
        return;
    }
    pthread_mutex_lock(&pending_lock);
    if (pending_count == pending_room)
        pending = realloc(pending, (pending_room = pending_room ? pending_room * 2 : 256) * sizeof *pending);
    struct pending *kept = &pending[pending_count++];
    *kept = (struct pending){ .work = *work };
    if (work->kind == KIND_EVENT && !state.event_timestamps)
        clear(&kept->work, FIELD_deviceTimestamp);
    if (work->kind == KIND_KERNEL && !state.kinds[KIND_KERNEL])
        kept->work.kind = 3;
    if (fake_get("reserve") && !reserve(kept))
        pending_count--;
    pthread_mutex_unlock(&pending_lock);
}

static void finish(struct pending *item)
{
    if (!item->buffer) {
        record(&shared, &item->work);
        return;
    }
    record_write(item->buffer->memory + item->offset, &item->work);
    count_kernel(item->buffer, &item->work);
    item->buffer->unfinished--;
}

/* By force, also what has not ended: without times. */
static void settle(int force)
{
    uint64_t now = fake_now(); /* before the pair: whatever has ended by now lies between two of them */
    if (state.now || pending_count)
        clock_pair(activity_now);
    pthread_mutex_lock(&pending_lock);
    size_t left = 0;
    for (size_t i = 0; i < pending_count; i++) {
        struct fake_work *work = &pending[i].work;
        if (work->done_ns > now && !force) {
            pending[left++] = pending[i];
            continue;
        }
        if (work->done_ns > now) {
            clear(work, FIELD_start);
            clear(work, FIELD_end);
        }
        finish(&pending[i]);
    }
    pending_count = left;
    pthread_mutex_unlock(&pending_lock);
}

/* ---- The worker ------------------------------------------------------------------------------------------------ */

/* The first buffer that may go; records without their end hold theirs back. */
static struct buffer *take_full(void)
{
    for (struct buffer **at = &first_full; *at && !fake_get("hold"); at = &(*at)->next)
        if ((*at)->unfinished == 0) {
            struct buffer *full = *at;
            *at = full->next;
            if (!*at)
                last_full = at;
            return full;
        }
    return NULL;
}

static void deliver(void)
{
    for (struct buffer *full; (full = take_full()) != NULL;) {
        delivering = 1;
        pthread_mutex_unlock(&list_lock);
        if (fake_get("late_ms"))
            usleep((useconds_t)fake_get("late_ms") * 1000);
        fake_in_callback(1);
        state.complete(NULL, 0, full->memory, full->bytes, full->used);
        fake_in_callback(-1);
        fake_add("delivered_kernels", (int64_t)full->kernels);
        fake_add("completions", 1);
        free(full);
        pthread_mutex_lock(&list_lock);
        delivering = 0;
    }
    pthread_cond_broadcast(&idle);
}

static void *work_on(void *unused)
{
    for (;;) {
        if (!fake_get("reserve"))
            settle(0);
        pthread_mutex_lock(&list_lock);
        deliver();
        struct timespec then;
        clock_gettime(CLOCK_MONOTONIC, &then);
        then.tv_nsec += 5000000;
        then.tv_sec += then.tv_nsec / 1000000000;
        then.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&woken, &list_lock, &then);
        pthread_mutex_unlock(&list_lock);
    }
    return unused;
}

void activity_start(void)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&woken, &monotonic);
    pthread_t worker;
    if (pthread_create(&worker, NULL, work_on, NULL) == 0)
        pthread_detach(worker);
}

static int can_deliver(void)
{
    for (const struct buffer *full = first_full; full; full = full->next)
        if (full->unfinished == 0)
            return 1;
    return 0;
}

static void flush(int force)
{
    settle(force);
    pthread_mutex_lock(&list_lock);
    struct slot *all = slots;
    pthread_mutex_unlock(&list_lock);
    for (struct slot *slot = all; slot; slot = slot->next) {
        pthread_mutex_lock(&slot->lock);
        if (slot->buffer && slot->buffer->used > 0 && slot->buffer->unfinished == 0)
            queue_full(slot);
        pthread_mutex_unlock(&slot->lock);
    }
    pthread_mutex_lock(&list_lock);
    while ((can_deliver() || delivering) && !fake_get("hold")) {
        pthread_cond_signal(&woken);
        pthread_cond_wait(&idle, &list_lock);
    }
    pthread_mutex_unlock(&list_lock);
}

void activity_deliver_all(void)
{
    if (state.complete)
        flush(0);
}

/* ---- The client's calls ---------------------------------------------------------------------------------------- */

EXPORT int cuptiActivityRegisterCallbacks(buffer_request request, buffer_complete complete);
EXPORT int cuptiActivityRegisterCallbacks(buffer_request request, buffer_complete complete)
{
    if (!request || !complete)
        return INVALID_PARAMETER;
    state.request = request;
    state.complete = complete;
    tool_attach();
    return OK;
}

EXPORT int cuptiActivityRegisterTimestampCallback(uint64_t (*now)(void));
EXPORT int cuptiActivityRegisterTimestampCallback(uint64_t (*now)(void))
{
    state.now = now;
    return OK;
}

static int change(uint32_t kind, int on)
{
    if (on && fake_get("enable_error"))
        return (int)fake_get("enable_error");
    if (kind == 0 || kind >= KIND_COUNT)
        return INVALID_KIND;
    if (on && kind == KIND_UNIFIED && !fake_has_context()) /* its counters may be chosen before, but not switched on */
        return NOT_READY_YET;
    tool_attach();
    clock_pair(activity_now);
    state.kinds[kind] = (unsigned char)on;
    if (kind == KIND_DRIVER || kind == KIND_RUNTIME)
        memset(state.calls[kind == KIND_DRIVER ? FAKE_DRIVER : FAKE_RUNTIME], on, CALLS_MAX);
    return OK;
}

EXPORT int cuptiActivityEnable(uint32_t kind);
EXPORT int cuptiActivityEnable(uint32_t kind)
{
    return change(kind, 1);
}

EXPORT int cuptiActivityDisable(uint32_t kind);
EXPORT int cuptiActivityDisable(uint32_t kind)
{
    return change(kind, 0);
}

#if FAKE_CUPTI >= 1205
static int change_call(int domain, uint32_t id, int on)
{
    if (fake_get("choose_error"))
        return (int)fake_get("choose_error");
    if (id == 0 || id >= CALLS_MAX)
        return INVALID_PARAMETER;
    state.calls[domain][id] = (unsigned char)on;
    return OK;
}

EXPORT int cuptiActivityEnableRuntimeApi(uint32_t id, uint8_t enable);
EXPORT int cuptiActivityEnableRuntimeApi(uint32_t id, uint8_t enable)
{
    return change_call(FAKE_RUNTIME, id, enable != 0);
}

EXPORT int cuptiActivityEnableDriverApi(uint32_t id, uint8_t enable);
EXPORT int cuptiActivityEnableDriverApi(uint32_t id, uint8_t enable)
{
    return change_call(FAKE_DRIVER, id, enable != 0);
}
#endif

#ifndef FAKE_CUPTI_BROKEN
EXPORT int cuptiActivityFlushAll(uint32_t flags);
EXPORT int cuptiActivityFlushAll(uint32_t flags)
{
    if (!state.complete)
        return 7;
    fake_add("flushes", 1);
    while (fake_get("hang"))
        usleep(1000);
    uint64_t start = activity_now();
    settle(flags & 1);
    struct fake_work work = {
        .kind = KIND_OVERHEAD,
        .count = 6,
        .set = { { FIELD_overheadKind, 1u << 16 },
                 { FIELD_objectKind, 2 },
                 { FIELD_objectProcess, (uint64_t)getpid() },
                 { FIELD_objectThread, thread_id() },
                 { FIELD_start, start },
                 { FIELD_end, activity_now() } },
    };
    activity_work(&work);
    flush(flags & 1);
    return OK;
}
#endif

EXPORT int cuptiActivityFlushPeriod(uint32_t ms);
EXPORT int cuptiActivityFlushPeriod(uint32_t ms)
{
    (void)ms; /* would give back full buffers, which the worker does anyway */
    return OK;
}

EXPORT int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, uint8_t **next);
EXPORT int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, uint8_t **next)
{
    uint8_t *at = buffer;
    uint32_t kind;
    if (*next) {
        memcpy(&kind, *next, 4);
        at = *next + record_bytes(kind);
    }
    if (at >= buffer + valid)
        return MAX_LIMIT_REACHED;
    memcpy(&kind, at, 4);
    if (record_bytes(kind) == 0)
        return INVALID_KIND;
    *next = at;
    return OK;
}

EXPORT int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped);
EXPORT int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped)
{
    (void)context;
    (void)stream;
    *dropped = atomic_exchange(&state.dropped, 0);
    return OK;
}

EXPORT int cuptiGetTimestamp(uint64_t *ns);
EXPORT int cuptiGetTimestamp(uint64_t *ns)
{
    *ns = activity_now();
    return OK;
}

EXPORT int cuptiSetThreadIdType(uint32_t type);
EXPORT int cuptiSetThreadIdType(uint32_t type)
{
    state.system_thread_ids = type == 1;
    return type < 2 ? OK : INVALID_PARAMETER;
}

struct counter_config {
    uint32_t scope, kind, device, enable;
};

EXPORT int cuptiActivityConfigureUnifiedMemoryCounter(const struct counter_config *config, uint32_t count);
EXPORT int cuptiActivityConfigureUnifiedMemoryCounter(const struct counter_config *config, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (config[i].kind == 0 || config[i].kind > 8)
            return INVALID_PARAMETER;
        state.counters[config[i].kind] = config[i].enable != 0;
    }
    return OK;
}

/* Sizes of buffers on the device and their like: taken and ignored. */
EXPORT int cuptiActivitySetAttribute(uint32_t attribute, size_t *bytes, void *value);
EXPORT int cuptiActivitySetAttribute(uint32_t attribute, size_t *bytes, void *value)
{
    return attribute <= 8 && bytes && value ? OK : INVALID_PARAMETER;
}

EXPORT int cuptiActivityGetAttribute(uint32_t attribute, size_t *bytes, void *value);
EXPORT int cuptiActivityGetAttribute(uint32_t attribute, size_t *bytes, void *value)
{
    if (attribute > 8 || !bytes || !value)
        return INVALID_PARAMETER;
    memset(value, 0, *bytes);
    return OK;
}

/* Switches that change nothing here. */
#define SWITCH(function)                                                                                             \
    EXPORT int function(uint8_t enable);                                                                             \
    EXPORT int function(uint8_t enable)                                                                              \
    {                                                                                                                \
        return enable > 1 ? INVALID_PARAMETER : OK;                                                                  \
    }
SWITCH(cuptiActivityEnableLatencyTimestamps)
SWITCH(cuptiActivityEnableLaunchAttributes)
#if FAKE_CUPTI >= 1203
SWITCH(cuptiActivityEnableDeviceGraph)
#endif
#if FAKE_CUPTI >= 1206
SWITCH(cuptiActivityEnableAllocationSource)
#endif
#if FAKE_CUPTI >= 1208
SWITCH(cuptiActivityEnableAllSyncRecords)
#endif

#if FAKE_CUPTI >= 1208
/* The GPU that is modelled has no such thing. */
EXPORT int cuptiActivityEnableHWTrace(uint8_t enable);
EXPORT int cuptiActivityEnableHWTrace(uint8_t enable)
{
    return enable ? 27 : OK;
}
#endif

#if FAKE_CUPTI >= 1300
EXPORT int cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t enable);
EXPORT int cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t enable)
{
    state.event_timestamps = enable != 0;
    return OK;
}
#endif

#if FAKE_CUPTI >= 1302
EXPORT int cuptiActivityGetStructSize(uint32_t kind, uint32_t version, size_t *bytes);
EXPORT int cuptiActivityGetStructSize(uint32_t kind, uint32_t version, size_t *bytes)
{
    *bytes = record_bytes(kind);
    return version == 0 && *bytes ? OK : INVALID_KIND;
}
#endif

EXPORT int cuptiFinalize(void);
EXPORT int cuptiFinalize(void)
{
    memset(state.kinds, 0, sizeof state.kinds);
    memset(state.calls, 0, sizeof state.calls);
    return OK;
}
