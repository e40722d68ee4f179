/* Waits: recordings of CUDA events, and the streams and threads that wait for them.
 *
 * The agent reports each call that orders streams or waits (WIRE_CUDA_WAIT). Which recording of an event a wait is for
 * depends on the order in time, but threads are read one after another. So the calls are kept until all threads have
 * been read up to a moment, and then handled in order. A recording is a row of CUPTI_ACTIVITY_KIND_CUDA_EVENT with a
 * number of its own (eventSyncId). A wait is a row of CUPTI_ACTIVITY_KIND_SYNCHRONIZATION that names this number, and
 * lasts as long as the API call that waited: the two are joined by their correlation id, whichever comes first. CUPTI's
 * own records of recordings, which are opt-in, are joined in the same way. */
#include <stdlib.h>

#include "base/array.h"
#include "cuda_state.h"

#define LIST_MAX (1u << 18)   /* 14 MiB: then all are handled, in the order that they have */
#define JOINS_MAX (1u << 13)  /* then all are written without their other halves */
#define EVENTS_MAX (1u << 19) /* of each generation, 24 MiB: then the older one is forgotten */

void cuda_waits_free(struct cuda_process *cuda)
{
    free(cuda->waits.list);
    cuda_event_map_free(&cuda->waits.events);
    cuda_event_map_free(&cuda->waits.old_events);
    cuda_join_map_free(&cuda->waits.joins);
    cuda->waits = (struct cuda_waits){ 0 };
}

/* ---- Rows ------------------------------------------------------------------------------------------------------ */

static void event_row(struct cuda_process *cuda, const struct cuda_wait *wait, int64_t time_ns)
{
    struct row_CUPTI_ACTIVITY_KIND_CUDA_EVENT *row = CUDA_ROW(cuda, CUPTI_ACTIVITY_KIND_CUDA_EVENT);
    ROW_SET(row, CUPTI_ACTIVITY_KIND_CUDA_EVENT, deviceId, wait->device);
    ROW_SET(row, CUPTI_ACTIVITY_KIND_CUDA_EVENT, contextId, wait->context);
    ROW_SET(row, CUPTI_ACTIVITY_KIND_CUDA_EVENT, greenContextId, 0);
    ROW_SET(row, CUPTI_ACTIVITY_KIND_CUDA_EVENT, streamId, wait->stream);
    ROW_SET(row, CUPTI_ACTIVITY_KIND_CUDA_EVENT, correlationId, wait->correlation);
    ROW_SET(row, CUPTI_ACTIVITY_KIND_CUDA_EVENT, globalPid, cuda->setup.global_pid);
    ROW_SET(row, CUPTI_ACTIVITY_KIND_CUDA_EVENT, eventId, wait->event_id);
    ROW_SET(row, CUPTI_ACTIVITY_KIND_CUDA_EVENT, eventSyncId, wait->sync_id);
    if (time_ns)
        ROW_SET(row, CUPTI_ACTIVITY_KIND_CUDA_EVENT, timestamp, time_ns);
    CUDA_COMMIT(cuda, CUPTI_ACTIVITY_KIND_CUDA_EVENT);
}

/* Values of ENUM_CUPTI_SYNC_TYPE. */
static const uint8_t sync_types[] = {
    [CUDA_WAIT_STREAM_FOR_EVENT] = CUPTI_SYNC_STREAM_WAIT,
    [CUDA_WAIT_FOR_EVENT] = CUPTI_SYNC_EVENT,
    [CUDA_WAIT_FOR_STREAM] = CUPTI_SYNC_STREAM,
    [CUDA_WAIT_FOR_CONTEXT] = CUPTI_SYNC_CONTEXT,
};

static void sync_row(struct cuda_process *cuda, const struct cuda_wait *wait, int64_t start_ns, int64_t end_ns)
{
    struct row_CUPTI_ACTIVITY_KIND_SYNCHRONIZATION *row = CUDA_ROW(cuda, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
    ROW_SET(row, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, start, start_ns);
    ROW_SET(row, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, end, end_ns);
    ROW_SET(row, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, deviceId, wait->device);
    ROW_SET(row, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, contextId, wait->context);
    ROW_SET(row, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, streamId, wait->stream);
    ROW_SET(row, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, correlationId, wait->correlation);
    ROW_SET(row, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, globalPid, cuda->setup.global_pid);
    ROW_SET(row, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, syncType, sync_types[wait->what]);
    ROW_SET(row, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, eventId, wait->event_id);
    ROW_SET(row, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, eventSyncId, wait->sync_id);
    CUDA_COMMIT(cuda, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
}

/* ---- Joining --------------------------------------------------------------------------------------------------- */

/* Writes a half without the other one. A wait is then a moment; a call needs no row here, since it has one among the
 * API calls. */
static void settle_join(struct cuda_process *cuda, const struct cuda_join *join)
{
    const struct cuda_wait *wait = &join->wait;
    int64_t time_ns = clock_map_time(cuda->clock.map, wait->ticks);
    if (join->state & CUDA_JOIN_GPU)
        event_row(cuda, wait, join->start_ns);
    else if (join->state & CUDA_JOIN_WAIT && wait->what == CUDA_WAIT_EVENT_RECORD)
        event_row(cuda, wait, 0);
    else if (join->state & CUDA_JOIN_WAIT)
        sync_row(cuda, wait, time_ns, time_ns);
}

static void settle_joins(struct cuda_process *cuda)
{
    struct cuda_join_map *joins = &cuda->waits.joins;
    for (const struct cuda_join *join = cuda_join_map_next(joins, NULL); join; join = cuda_join_map_next(joins, join))
        settle_join(cuda, join);
    cuda_join_map_clear(joins);
}

/* Keeps a half until the other one comes; when there is no room, those that wait are written without theirs. */
static void add_join(struct cuda_process *cuda, const struct cuda_join *join)
{
    if (cuda->waits.joins.count < JOINS_MAX && cuda_join_map_add(&cuda->waits.joins, join))
        return;
    settle_joins(cuda);
    if (!cuda_join_map_add(&cuda->waits.joins, join))
        settle_join(cuda, join);
}

void cuda_waits_call(struct cuda_process *cuda, uint32_t correlation, int64_t start_ns, int64_t end_ns)
{
    struct cuda_join *join = cuda_join_map_find(&cuda->waits.joins, correlation);
    if (!join) {
        add_join(cuda,
                 &(struct cuda_join){
                     .state = CUDA_JOIN_CALL, .correlation = correlation, .start_ns = start_ns, .end_ns = end_ns });
    } else if (join->state == CUDA_JOIN_WAIT && join->wait.what != CUDA_WAIT_EVENT_RECORD) {
        sync_row(cuda, &join->wait, start_ns, end_ns);
        cuda_join_map_remove(&cuda->waits.joins, join);
    }
}

static void join_wait(struct cuda_process *cuda, const struct cuda_wait *wait)
{
    struct cuda_join *join = cuda_join_map_find(&cuda->waits.joins, wait->correlation);
    int is_recording = wait->what == CUDA_WAIT_EVENT_RECORD;
    const struct cuda_join added = { .state = CUDA_JOIN_WAIT, .correlation = wait->correlation, .wait = *wait };
    if (!join) {
        add_join(cuda, &added);
    } else if (join->state == CUDA_JOIN_GPU && is_recording) {
        event_row(cuda, wait, join->start_ns);
        cuda_join_map_remove(&cuda->waits.joins, join);
    } else if (join->state == CUDA_JOIN_CALL && !is_recording) {
        sync_row(cuda, wait, join->start_ns, join->end_ns);
        cuda_join_map_remove(&cuda->waits.joins, join);
    } else {
        settle_join(cuda, join);
        *join = added;
    }
}

/* ---- Handling in order ----------------------------------------------------------------------------------------- */

/* Forgets the older generation if the younger one has become very large. */
static void age_events(struct cuda_waits *waits)
{
    if (waits->events.count < EVENTS_MAX)
        return;
    cuda_event_map_free(&waits->old_events);
    waits->old_events = waits->events;
    waits->events = (struct cuda_event_map){ 0 };
}

/* Returns the event of a handle; a new one gets the next number. Returns NULL for handle 0, or when memory is short. */
static struct cuda_event *cuda_waits_event_of(struct cuda_waits *waits, uint64_t handle)
{
    struct cuda_event *event = handle ? cuda_event_map_find(&waits->events, handle) : NULL;
    if (event || !handle)
        return event;
    age_events(waits);
    const struct cuda_event *old = cuda_event_map_find(&waits->old_events, handle);
    if (old)
        return cuda_event_map_add(&waits->events, old);
    event = cuda_event_map_add(&waits->events, &(struct cuda_event){ .handle = handle,
                                                                     .id = waits->last_event_id + 1,
                                                                     .sync_id = CUDA_NOTHING });
    waits->last_event_id += event != NULL;
    return event;
}

static void take_wait(struct cuda_process *cuda, struct cuda_wait *wait)
{
    struct cuda_event *event = cuda_waits_event_of(&cuda->waits, wait->event);
    if (event && wait->what == CUDA_WAIT_EVENT_RECORD)
        event->sync_id = ++cuda->waits.last_sync_id;
    wait->event_id = event ? event->id : CUDA_NOTHING;
    wait->sync_id = event ? event->sync_id : CUDA_NOTHING;
    if (wait->what == CUDA_WAIT_EVENT_RECORD && !(cuda->setup.flags & WIRE_CUDA_EVENTS))
        event_row(cuda, wait, 0);
    else
        join_wait(cuda, wait);
}

static int by_ticks(const void *left, const void *right)
{
    const struct cuda_wait *a = left, *b = right;
    return COMPARE(a->ticks, b->ticks);
}

void cuda_waits_settle(struct cuda_process *cuda, uint64_t ticks)
{
    struct cuda_waits *waits = &cuda->waits;
    size_t taken = 0;
    if (!waits->count)
        return;
    qsort(waits->list, waits->count, sizeof *waits->list, by_ticks);
    while (taken < waits->count && waits->list[taken].ticks <= ticks)
        take_wait(cuda, &waits->list[taken++]);
    memmove(waits->list, waits->list + taken, (waits->count - taken) * sizeof *waits->list);
    waits->count -= taken;
}

CUDA_TOLD(cuda_wait_told)
{
    struct cuda_waits *waits = &cuda->waits;
    if (words < WIRE_HEAD_WORDS + 3 || record->a < CUDA_WAIT_EVENT_RECORD || record->a > CUDA_WAIT_FOR_CONTEXT)
        return -1;
    if (array_reserve_up_to(&waits->list, &waits->capacity, waits->count + 1, LIST_MAX, sizeof *waits->list) != 0) {
        cuda_waits_settle(cuda, UINT64_MAX);
        if (!waits->capacity) /* out of memory */
            return 0;
    }
    int whole_context = record->a == CUDA_WAIT_FOR_CONTEXT;
    waits->list[waits->count++] = (struct cuda_wait){
        .ticks = record->ticks,
        .event = whole_context || record->a == CUDA_WAIT_FOR_STREAM ? 0 : record->body[2],
        .correlation = (uint32_t)record->body[0],
        .device = (uint32_t)(record->body[0] >> 32),
        .context = (uint32_t)(record->body[1] >> 32),
        .stream = whole_context ? UINT32_MAX : (uint32_t)record->body[1],
        .what = (uint8_t)record->a,
    };
    return 0;
}

void cuda_waits_finish(struct cuda_process *cuda)
{
    cuda_waits_settle(cuda, UINT64_MAX);
    settle_joins(cuda);
}

/* ---- CUPTI's records of events --------------------------------------------------------------------------------- */

static int64_t or_nothing(int64_t value)
{
    return value == CUPTI_NO_FIELD ? CUDA_NOTHING : value;
}

static uint32_t cuda_waits_device_of(const struct cuda_process *cuda, int64_t field, uint32_t context_id)
{
    const struct cuda_context *context = field == CUPTI_NO_FIELD ? cuda_context_find(cuda, context_id) : NULL;
    return field != CUPTI_NO_FIELD ? (uint32_t)field : context ? context->device : 0;
}

/* CUPTI's record of a recording, which alone says when the GPU got there. The numbers of the event are ours if the
 * agent has reported the call. */
CUDA_HANDLER(cuda_event_record)
{
    uint32_t correlation = (uint32_t)FIELD(CUDA_EVENT, correlationId);
    int64_t device_ns = FIELD(CUDA_EVENT, deviceTimestamp);
    int64_t time_ns = device_ns == CUPTI_NO_FIELD ? 0 : cuda_time(cuda, device_ns);
    struct cuda_wait wait = {
        .correlation = correlation,
        .context = (uint32_t)FIELD(CUDA_EVENT, contextId),
        .stream = (uint32_t)FIELD(CUDA_EVENT, streamId),
        .what = CUDA_WAIT_EVENT_RECORD,
        .event_id = FIELD(CUDA_EVENT, eventId),
        .sync_id = or_nothing(FIELD(CUDA_EVENT, eventSyncId)),
    };
    wait.device = cuda_waits_device_of(cuda, FIELD(CUDA_EVENT, deviceId), wait.context);
    if (!(cuda->setup.flags & WIRE_CUDA_EVENTS))
        return; /* it has its row from the agent's report */
    struct cuda_join *join = cuda_join_map_find(&cuda->waits.joins, correlation);
    if (!join) {
        add_join(cuda, &(struct cuda_join){
                           .state = CUDA_JOIN_GPU, .correlation = correlation, .wait = wait, .start_ns = time_ns });
    } else if (join->state == CUDA_JOIN_WAIT && join->wait.what == CUDA_WAIT_EVENT_RECORD) {
        event_row(cuda, &join->wait, time_ns);
        cuda_join_map_remove(&cuda->waits.joins, join);
    } else {
        event_row(cuda, &wait, time_ns);
    }
}
