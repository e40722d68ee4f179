/* Finds the work that each call waits for. One sweep over the calls in the order of their starts knows, at each call,
 * the work that was launched by then: on a stream, in a context, in a process.
 *
 * A call waits for work only if that work ended while the call ran. So a cudaStreamSynchronize() that found its stream
 * empty is a call like any other, and a cudaFree() counts only where it did block. */
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/order.h"
#include "base/array.h"
#include "replay_events.h"

/* Clocks may differ by CLOCKS_NS: a call may seem to return that long before its work ends. A call returns RETURN_NS
 * after its work if no call shows how long that takes. A call whose kind always waited takes SHORT_CALL_NS by itself;
 * one that waits or copies takes at most LONG_CALL_NS. A stream takes at most MOST_LINKS waits over from an event. A
 * call whose stream is not known is tried on MOST_STREAMS streams. A launch that took QUEUE_NS and QUEUE_TIMES the
 * median, with QUEUE_WORKS works before it, waited for room in the queue. If most launches with as many before them
 * did, the median is that of waits: they took IN_STEP_NS and returned after the end of a work, within an IN_STEP_PART
 * of what they took. */
enum {
    CLOCKS_NS = 5000,
    RETURN_NS = 5000,
    SHORT_CALL_NS = 3000,
    LONG_CALL_NS = 10000,
    MOST_LINKS = 8,
    MOST_STREAMS = 64,
    QUEUE_NS = 50000,
    QUEUE_TIMES = 10,
    QUEUE_WORKS = 512,
    IN_STEP_NS = 20000,
    IN_STEP_PART = 4,
};
enum { NO_ROW = UINT32_MAX };

/* ---- what calls wait for, by their names ----------------------------------------------------------------------- */

enum replay_waiting { WAIT_NONE, WAIT_RECORDED, WAIT_OWN, WAIT_OWN_PAGEABLE, WAIT_PROCESS };
static const struct wait_name {
    const char *start, *part; /* the first row of which the name has both */
    enum replay_waiting wait;
} wait_names[] = {
    { "", "Async", WAIT_OWN_PAGEABLE },
    { "", "Synchronize", WAIT_RECORDED },
    { "cudaMemcpy", "", WAIT_OWN },
    { "cuMemcpy", "", WAIT_OWN },
    { "cudaMemset", "", WAIT_OWN },
    { "cuMemset", "", WAIT_OWN },
    { "cudaMalloc", "", WAIT_PROCESS },
    { "cudaFree", "", WAIT_PROCESS },
    { "cudaHost", "", WAIT_PROCESS },
    { "cuMemAlloc", "", WAIT_PROCESS },
    { "cuMemFree", "", WAIT_PROCESS },
    { "cuMemHost", "", WAIT_PROCESS },
    { "", "", WAIT_NONE },
};

static enum replay_waiting wait_of(const char *name)
{
    const struct wait_name *row = wait_names;

    while (!text_begins_with(name, row->start) || !strstr(name, row->part))
        row++;
    return row->wait;
}

/* ---- the sweep ------------------------------------------------------------------------------------------------- */

enum { SYNC_PROCESS, SYNC_CONTEXT, SYNC_STREAM, SYNC_CORRELATION, SYNC_EVENT, SYNC_TYPE, SYNC_COLUMNS };
enum { NO_EVENT = UINT32_MAX };         /* as nsys writes it */
enum { RECORDING_COLUMNS = SYNC_TYPE }; /* the same columns but the last */
enum { TYPE_EVENT = 1, TYPE_STREAM_WAITS = 2, TYPE_STREAM = 3, TYPE_CONTEXT = 4 };

/* A recording of an event: the work before it, and links for what its stream was waiting for. */
struct recorded {
    uint32_t work, waits;
};

struct replay_waits_sweep {
    struct replay_events *events;
    struct report_columns syncs, recordings; /* owned, as all below */
    uint32_t *sync, *recording;              /* by call: its row, or NO_ROW */
    uint32_t *by_start;                      /* the calls */
    uint32_t *first_work, *work;             /* by call, and one more: its first place in the list; works by call, then
                                              * those without a known call, by start */
    uint32_t next_unknown;                   /* place of the next of those */
    struct keys recorded_ids;                /* process and eventSyncId of the recordings so far */
    struct recorded *recorded;
    uint32_t *latest;                        /* by scope: the work that ends last, of that launched so far */
    uint32_t (*around)[STREAM_WIDTH];        /* by stream: the scopes of its process, its context and itself */
    uint32_t *pending;                       /* by stream: links for its next work */
    uint8_t *wait;                           /* by name, as the next */
    uint8_t *is_in_step;                     /* most launches into a long queue wait for room in it */
    uint32_t streams;
};

/* The scope of a row of a table; `width` of its parts are given. NO_KEY if no work was ever launched in it. */
static uint32_t replay_waits_scope_of(const struct replay_waits_sweep *sweep, const struct report_columns *table,
                                      size_t row, int width)
{
    int64_t key[STREAM_WIDTH] = { SCOPE_ALL, SCOPE_ALL, SCOPE_ALL };

    for (int i = 0; i < width; i++)
        key[i] = table->values[i][row];
    return keys_find(&sweep->events->scopes, key);
}

static uint32_t latest_of(const struct replay_waits_sweep *sweep, uint32_t scope)
{
    return scope == NO_KEY ? NO_WORK : sweep->latest[scope];
}

/* The recording that a wait is for, or NULL. */
static const struct recorded *replay_waits_recorded_of(const struct replay_waits_sweep *sweep, size_t sync_row)
{
    const struct report_columns *syncs = &sweep->syncs;
    uint32_t id = keys_find(&sweep->recorded_ids,
                            (int64_t[]){ syncs->values[SYNC_PROCESS][sync_row], syncs->values[SYNC_EVENT][sync_row] });

    return id == NO_KEY || syncs->values[SYNC_EVENT][sync_row] == NO_EVENT ? NULL : &sweep->recorded[id];
}

/* An event is recorded after the work that its stream has so far, and after the work that the stream waits for. */
static int record_event(struct replay_waits_sweep *sweep, size_t row)
{
    const struct report_columns *table = &sweep->recordings;
    uint32_t stream = replay_waits_scope_of(sweep, table, row, STREAM_WIDTH),
             id = keys_add(&sweep->recorded_ids,
                           (int64_t[]){ table->values[SYNC_PROCESS][row], table->values[SYNC_EVENT][row] });

    if (id == NO_KEY)
        return ERR_NO_MEMORY;
    sweep->recorded[id] = (struct recorded){ latest_of(sweep, stream), stream == NO_KEY || stream >= sweep->streams
                                                                           ? NO_LINK
                                                                           : sweep->pending[stream] };
    return 0;
}

static int replay_waits_add_link(struct replay_waits_sweep *sweep, uint32_t stream, uint32_t work)
{
    struct replay_events *events = sweep->events;

    if (work == NO_WORK)
        return 0;
    if (array_reserve_up_to(&events->links, &events->link_room, events->link_count + 1, NO_LINK,
                            sizeof *events->links) != 0)
        return ERR_NO_MEMORY;
    events->links[events->link_count] = (struct replay_link){ work, sweep->pending[stream] };
    sweep->pending[stream] = (uint32_t)events->link_count++;
    return 0;
}

/* The next work of a stream waits for an event. */
static int hold_stream(struct replay_waits_sweep *sweep, size_t row)
{
    const struct replay_events *events = sweep->events;
    uint32_t stream = replay_waits_scope_of(sweep, &sweep->syncs, row, STREAM_WIDTH);
    const struct recorded *recorded = replay_waits_recorded_of(sweep, row);

    if (stream == NO_KEY || stream >= sweep->streams || !recorded)
        return 0;
    uint32_t link = recorded->waits;
    for (int i = 0; i < MOST_LINKS && link != NO_LINK; i++, link = events->links[link].next)
        if (replay_waits_add_link(sweep, stream, events->links[link].work) != 0)
            return ERR_NO_MEMORY;
    return replay_waits_add_link(sweep, stream, recorded->work);
}

/* Work becomes the latest of its stream, context and process. */
static void put_on_stream(struct replay_waits_sweep *sweep, uint32_t at)
{
    struct replay_events *events = sweep->events;
    struct replay_work *work = &events->works[at];

    work->events = sweep->pending[work->stream];
    sweep->pending[work->stream] = NO_LINK;
    for (int part = 0; part < STREAM_WIDTH; part++) {
        uint32_t *latest = &sweep->latest[sweep->around[work->stream][part]];
        if (*latest == NO_WORK || events->works[*latest].end_ns <= work->end_ns)
            *latest = at;
    }
}

/* Puts the work of a call on its streams, and before it work whose calls are not known: that was launched before it
 * started, at the latest. */
static void launch(struct replay_waits_sweep *sweep, uint32_t call)
{
    const struct replay_events *events = sweep->events;

    for (; sweep->next_unknown < events->work_count; sweep->next_unknown++) {
        uint32_t work = sweep->work[sweep->next_unknown];
        if (events->works[work].start_ns > events->calls[call].start_ns)
            break;
        put_on_stream(sweep, work);
    }
    for (uint32_t i = sweep->first_work[call]; i < sweep->first_work[call + 1]; i++)
        put_on_stream(sweep, sweep->work[i]);
}

/* Whether work that a call could wait for ended while it ran. */
static int ended_in(const struct replay_events *events, uint32_t work, const struct replay_call *call)
{
    return work != NO_WORK && events->works[work].end_ns > call->start_ns &&
           events->works[work].end_ns <= saturating_add(call->end_ns, CLOCKS_NS) &&
           events->works[work].start_ns <= call->end_ns;
}

/* A call that copies from pageable memory returns when the last part is staged, before the GPU has it: it waited since
 * the start of the copy. */
static int staged_in(const struct replay_events *events, uint32_t work, const struct replay_call *call)
{
    return work != NO_WORK && events->works[work].start_ns <= call->end_ns &&
           replay_memory_of(events, &events->works[work]) == REPLAY_PAGEABLE;
}

/* The later to end of two that ended in the call. */
static uint32_t replay_waits_later(const struct replay_events *events, const struct replay_call *call, uint32_t a,
                                   uint32_t b)
{
    if (!ended_in(events, b, call))
        return a;
    return a == NO_WORK || events->works[b].end_ns > events->works[a].end_ns ? b : a;
}

static uint32_t latest_of_process(const struct replay_waits_sweep *sweep, int64_t process)
{
    return latest_of(sweep, keys_find(&sweep->events->scopes, (int64_t[]){ process, SCOPE_ALL, SCOPE_ALL }));
}

/* Without a record of what the call waited for: any stream of the process. */
static uint32_t any_stream(const struct replay_waits_sweep *sweep, const struct replay_call *call, int64_t process)
{
    const struct replay_events *events = sweep->events;
    uint32_t found = NO_WORK;

    for (uint32_t stream = 0; stream < sweep->streams && stream < MOST_STREAMS; stream++)
        if (keys_get(&events->scopes, stream)[STREAM_PROCESS] == process)
            found = replay_waits_later(events, call, found, sweep->latest[stream]);
    return found;
}

static uint32_t recorded_wait(const struct replay_waits_sweep *sweep, uint32_t at, const struct replay_call *call,
                              int64_t process)
{
    uint32_t row = sweep->sync[at];
    int64_t type = row == NO_ROW ? 0 : sweep->syncs.values[SYNC_TYPE][row];
    uint32_t work = NO_WORK;

    if (type == TYPE_EVENT)
        work = replay_waits_recorded_of(sweep, row) ? replay_waits_recorded_of(sweep, row)->work : NO_WORK;
    else if (type == TYPE_STREAM || type == TYPE_CONTEXT)
        return latest_of(sweep, replay_waits_scope_of(sweep, &sweep->syncs, row,
                                                      type == TYPE_STREAM ? STREAM_WIDTH : STREAM_ID));
    if (work == NO_WORK)
        work = any_stream(sweep, call, process);
    return work == NO_WORK ? latest_of_process(sweep, process) : work;
}

/* The last copy or fill that a call launched, of memory that makes it wait. */
static uint32_t own_wait(const struct replay_waits_sweep *sweep, uint32_t at, enum replay_memory least)
{
    const struct replay_events *events = sweep->events;
    uint32_t found = NO_WORK;

    for (uint32_t i = sweep->first_work[at]; i < sweep->first_work[at + 1]; i++) {
        const struct replay_work *work = &events->works[sweep->work[i]];
        if (replay_memory_of(events, work) >= least && (found == NO_WORK || work->end_ns > events->works[found].end_ns))
            found = sweep->work[i];
    }
    return found;
}

static void replay_waits_find_wait(struct replay_waits_sweep *sweep, uint32_t at)
{
    struct replay_events *events = sweep->events;
    struct replay_call *call = &events->calls[at];
    enum replay_waiting wait = sweep->wait[call->name];
    int64_t process = global_process(events->threads[call->thread].id);
    int is_own = wait == WAIT_OWN || wait == WAIT_OWN_PAGEABLE;
    uint32_t work = NO_WORK;

    if (is_own)
        work = own_wait(sweep, at, wait == WAIT_OWN ? REPLAY_HOST_MEMORY : REPLAY_PAGEABLE);
    else if (wait == WAIT_RECORDED)
        work = recorded_wait(sweep, at, call, process);
    else if (wait == WAIT_PROCESS)
        work = latest_of_process(sweep, process);
    int has_ended = ended_in(events, work, call);
    if (has_ended || (is_own && staged_in(events, work, call)))
        call->wait = REPLAY_WAITED;
    else if (wait == WAIT_RECORDED && work != NO_WORK && events->works[work].end_ns <= call->start_ns)
        call->wait = REPLAY_READY;
    if (call->wait != REPLAY_NO_WAIT)
        call->waits_for = work;
    if (has_ended && events->works[work].end_ns > call->end_ns)
        events->works[work].end_ns = call->end_ns;
}

static int sweep_calls(struct replay_waits_sweep *sweep)
{
    for (uint32_t i = 0; i < sweep->events->call_count; i++) {
        uint32_t call = sweep->by_start[i], sync = sweep->sync[call];
        if (sweep->recording[call] != NO_ROW && record_event(sweep, sweep->recording[call]) != 0)
            return ERR_NO_MEMORY;
        if (sync != NO_ROW && sweep->syncs.values[SYNC_TYPE][sync] == TYPE_STREAM_WAITS &&
            hold_stream(sweep, sync) != 0)
            return ERR_NO_MEMORY;
        launch(sweep, call);
        replay_waits_find_wait(sweep, call);
    }
    return 0;
}

/* ---- its tables ------------------------------------------------------------------------------------------------ */

/* Reads a table and finds, for each call, its row. */
static int replay_waits_read_rows(struct replay_waits_sweep *sweep, struct report *report, const char *name,
                                  int columns, struct report_columns *table, uint32_t *of_call, struct error *err)
{
    static const char *const names[SYNC_COLUMNS] = { "globalPid",     "contextId",   "streamId",
                                                     "correlationId", "eventSyncId", "syncType" };
    const struct replay_events *events = sweep->events;
    int code = columns_read(report, name, names, (size_t)columns, table, err);

    for (uint32_t call = 0; call < events->call_count; call++)
        of_call[call] = NO_ROW;
    if (code != 0 || !table->rows)
        return code;
    columns_fill_nulls(table, SYNC_PROCESS, 0);
    columns_fill_nulls(table, SYNC_EVENT, NO_EVENT);
    columns_fill_nulls(table, SYNC_CORRELATION, NO_CORRELATION);
    for (size_t row = 0; row < table->rows && row < NO_ROW; row++) {
        int holds = columns == SYNC_COLUMNS && table->values[SYNC_TYPE][row] == TYPE_STREAM_WAITS;
        uint32_t call = replay_call_take(sweep->events, table->values[SYNC_PROCESS][row],
                                         table->values[SYNC_CORRELATION][row],
                                         columns < SYNC_COLUMNS ? PURPOSE_RECORD
                                         : holds                ? PURPOSE_HOLD
                                                                : PURPOSE_SYNC);
        if (call != NO_CALL)
            of_call[call] = (uint32_t)row;
    }
    return 0;
}

/* Lists the works of each call, in their order. */
static void list_works(struct replay_waits_sweep *sweep)
{
    const struct replay_events *events = sweep->events;
    uint32_t *next = sweep->first_work;

    memset(next, 0, (events->call_count + 2u) * sizeof *next);
    for (uint32_t work = 0; work < events->work_count; work++)
        if (events->works[work].call != NO_CALL)
            next[events->works[work].call + 2]++;
    for (uint32_t call = 0; call < events->call_count; call++)
        next[call + 2] += next[call + 1];
    for (uint32_t work = 0; work < events->work_count; work++)
        if (events->works[work].call != NO_CALL)
            sweep->work[next[events->works[work].call + 1]++] = work;
}

/* Lists the works without a known call by their start. */
static int list_unknown(struct replay_waits_sweep *sweep)
{
    const struct replay_events *events = sweep->events;
    uint32_t first = sweep->first_work[events->call_count], end = first;

    sweep->next_unknown = first;
    if (first == events->work_count)
        return 0;
    int64_t *start = array_alloc(events->work_count, sizeof *start);
    if (!start)
        return ERR_NO_MEMORY;
    for (uint32_t work = 0; work < events->work_count; work++) {
        start[work] = events->works[work].start_ns;
        if (events->works[work].call == NO_CALL)
            sweep->work[end++] = work;
    }
    int code = order_by_time(sweep->work + first, end - first, start);
    free(start);
    return code;
}

/* Adds the scopes around each stream, and forgets all work. */
static int open_scopes(struct replay_waits_sweep *sweep)
{
    struct keys *scopes = &sweep->events->scopes;

    sweep->streams = (uint32_t)scopes->count;
    sweep->around = malloc((sweep->streams + 1u) * sizeof *sweep->around);
    if (!sweep->around)
        return ERR_NO_MEMORY;
    for (uint32_t stream = 0; stream < sweep->streams; stream++) {
        int64_t key[STREAM_WIDTH];
        memcpy(key, keys_get(scopes, stream), sizeof key);
        for (int part = STREAM_WIDTH; part-- > 0; key[part] = SCOPE_ALL)
            if ((sweep->around[stream][part] = keys_add(scopes, key)) == NO_KEY)
                return ERR_NO_MEMORY;
    }
    sweep->latest = malloc((scopes->count + 1) * sizeof *sweep->latest);
    sweep->pending = malloc((sweep->streams + 1u) * sizeof *sweep->pending);
    if (!sweep->latest || !sweep->pending)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < scopes->count; i++)
        sweep->latest[i] = NO_WORK;
    for (uint32_t i = 0; i < sweep->streams; i++)
        sweep->pending[i] = NO_LINK;
    return 0;
}

static int open_sweep(struct replay_waits_sweep *sweep, struct report *report)
{
    const struct replay_events *events = sweep->events;
    size_t calls = events->call_count, works = events->work_count;
    int64_t *start = array_alloc(calls + 1, sizeof *start);

    sweep->by_start = array_alloc(calls + 1, sizeof *sweep->by_start);
    sweep->first_work = array_alloc(calls + 2, sizeof *sweep->first_work);
    sweep->work = array_alloc(works + 1, sizeof *sweep->work);
    sweep->recorded = malloc((sweep->recordings.rows + 1) * sizeof *sweep->recorded);
    sweep->wait = malloc(events->names.count + 1);
    if (!start || !sweep->by_start || !sweep->first_work || !sweep->work || !sweep->recorded || !sweep->wait)
        goto no_memory;
    for (uint32_t call = 0; call < calls; call++) {
        sweep->by_start[call] = call;
        start[call] = events->calls[call].start_ns;
    }
    if (order_by_time(sweep->by_start, calls, start) != 0)
        goto no_memory;
    for (uint32_t name = 0; name < events->names.count; name++)
        sweep->wait[name] = (uint8_t)wait_of(report_string(report, *keys_get(&events->names, name), NULL));
    list_works(sweep);
    free(start);
    return list_unknown(sweep) != 0 ? ERR_NO_MEMORY : open_scopes(sweep);
no_memory:
    free(start);
    return ERR_NO_MEMORY;
}

static void close_sweep(struct replay_waits_sweep *sweep)
{
    report_columns_free(&sweep->syncs);
    report_columns_free(&sweep->recordings);
    free(sweep->sync);
    free(sweep->recording);
    free(sweep->by_start);
    free(sweep->first_work);
    free(sweep->work);
    keys_free(&sweep->recorded_ids);
    free(sweep->recorded);
    free(sweep->latest);
    free(sweep->around);
    free(sweep->pending);
    free(sweep->wait);
    free(sweep->is_in_step);
}

/* ---- full queues ----------------------------------------------------------------------------------------------- */

/* The number of works before `end` of a stream that begins at `first` that ended by this time. */
static uint32_t finished(const struct replay_work *works, uint32_t first, uint32_t end, int64_t time)
{
    return BISECT(first, end, i, works[i].end_ns <= time) - first;
}

/* The work that a stream, which begins at `first`, finished last while its work `i` was launched into a long queue, or
 * NO_WORK. A launch into a full queue returns when work at the other end of the queue is done. */
static uint32_t made_room(const struct replay_events *events, uint32_t first, uint32_t i)
{
    const struct replay_call *call = &events->calls[events->works[i].call];
    uint32_t done = finished(events->works, first, i, call->end_ns);

    return !done || i - first - done < QUEUE_WORKS || events->works[first + done - 1].end_ns <= call->start_ns
               ? NO_WORK
               : first + done - 1;
}

static int64_t took_ns(const struct replay_call *call)
{
    return saturating_duration(call->start_ns, call->end_ns);
}

/* The next work from `i` on that was launched by a call that does not wait, with QUEUE_WORKS works before it on its
 * stream; sets where that begins. */
static uint32_t next_in_long_stream(const struct replay_events *events, uint32_t i, uint32_t *first)
{
    for (; i < events->work_count; i++) {
        const struct replay_work *work = &events->works[i];
        *first = work->stream == events->works[*first].stream ? *first : i;
        if (work->call != NO_CALL && i - *first >= QUEUE_WORKS && events->calls[work->call].wait == REPLAY_NO_WAIT)
            break;
    }
    return i;
}

static int returns_in_step(const struct replay_events *events, const struct replay_call *call, uint32_t room)
{
    return room != NO_WORK && took_ns(call) >= IN_STEP_NS &&
           saturating_duration(events->works[room].end_ns, call->end_ns) <= took_ns(call) / IN_STEP_PART;
}

static void wait_for_room(struct replay_call *call, uint32_t room)
{
    call->waits_for = room;
    call->wait = REPLAY_QUEUED;
}

/* Sets for each name of calls whether most of its launches into a long queue return in step with the works of their
 * stream. They wait for room, all of them, so that none shows what a launch takes. */
static int find_kinds_in_step(struct replay_waits_sweep *sweep)
{
    const struct replay_events *events = sweep->events;
    uint32_t *counts = calloc(2 * events->names.count + 1, sizeof *counts), first = 0; /* by name: all, in step */

    sweep->is_in_step = calloc(events->names.count + 1, 1);
    if (!counts || !sweep->is_in_step) {
        free(counts);
        return ERR_NO_MEMORY;
    }
    for (uint32_t i = next_in_long_stream(events, 0, &first); i < events->work_count;
         i = next_in_long_stream(events, i + 1, &first)) {
        const struct replay_call *call = &events->calls[events->works[i].call];
        if (i - first - finished(events->works, first, i, call->start_ns) < QUEUE_WORKS)
            continue;
        counts[2 * call->name]++;
        counts[2 * call->name + 1] += returns_in_step(events, call, made_room(events, first, i));
    }
    for (size_t i = 0; i < events->names.count; i++)
        sweep->is_in_step[i] = counts[2 * i + 1] > counts[2 * i] / 2;
    free(counts);
    return 0;
}

static int find_launches_in_step(struct replay_waits_sweep *sweep)
{
    struct replay_events *events = sweep->events;
    uint32_t first = 0;

    if (find_kinds_in_step(sweep) != 0)
        return ERR_NO_MEMORY;
    for (uint32_t i = next_in_long_stream(events, 0, &first); i < events->work_count;
         i = next_in_long_stream(events, i + 1, &first)) {
        struct replay_call *call = &events->calls[events->works[i].call];
        uint32_t room = sweep->is_in_step[call->name] ? made_room(events, first, i) : NO_WORK;
        if (returns_in_step(events, call, room))
            wait_for_room(call, room);
    }
    return 0;
}

static void find_full_queues(struct replay_events *events)
{
    uint32_t first = 0;

    for (uint32_t i = next_in_long_stream(events, 0, &first); i < events->work_count;
         i = next_in_long_stream(events, i + 1, &first)) {
        struct replay_call *call = &events->calls[events->works[i].call];
        if (took_ns(call) < QUEUE_NS || took_ns(call) / QUEUE_TIMES < events->call_ns[call->name])
            continue;
        uint32_t room = made_room(events, first, i);
        if (room != NO_WORK)
            wait_for_room(call, room);
    }
}

/* ---- what calls take that do not wait -------------------------------------------------------------------------- */

/* A call that is there to wait, or to copy, takes little time for itself; the first of its kind may start CUDA. So do
 * launches that wait for room: those that do not may have begun before the events that were read. */
static int find_typical_calls(const struct replay_waits_sweep *sweep)
{
    struct replay_events *events = sweep->events;
    size_t calls = events->call_count, names = events->names.count;
    uint32_t *group = array_alloc(calls + 1, sizeof *group);
    int64_t *values = array_alloc(calls + 1, sizeof *values);
    struct keys_figures *figures = malloc((names + 1) * sizeof *figures);
    int code = ERR_NO_MEMORY;

    events->call_ns = malloc((names + 1) * sizeof *events->call_ns);
    events->has_work = malloc(names + 1);
    if (!group || !values || !figures || !events->call_ns || !events->has_work)
        goto done;
    for (size_t i = 0; i < calls; i++) {
        const struct replay_call *call = &events->calls[i];
        group[i] = call->wait == REPLAY_WAITED || call->wait == REPLAY_QUEUED ? NO_KEY : call->name;
        values[i] = took_ns(call);
    }
    if ((code = keys_summarize(figures, names, group, values, calls)) != 0)
        goto done;
    for (size_t i = 0; i < names; i++) {
        int is_long = sweep->wait[i] == WAIT_NONE || sweep->wait[i] == WAIT_PROCESS;
        int64_t most = is_long && !sweep->is_in_step[i] ? INT64_MAX : LONG_CALL_NS,
                median = figures[i].figures.count ? saturating_from_double(figures[i].median) : SHORT_CALL_NS;
        events->call_ns[i] = median < most ? median : most;
        events->has_work[i] = sweep->wait[i] != WAIT_NONE && sweep->wait[i] != WAIT_RECORDED;
    }
done:
    free(group);
    free(values);
    free(figures);
    return code;
}

static int find_typical_return(struct replay_events *events)
{
    int64_t *values = array_alloc(2 * (size_t)events->call_count + 1, sizeof *values);
    size_t count = 0;

    if (!values)
        return ERR_NO_MEMORY;
    for (uint32_t i = 0; i < events->call_count; i++) {
        const struct replay_call *call = &events->calls[i];
        if (call->wait == REPLAY_WAITED && events->works[call->waits_for].end_ns <= call->end_ns)
            values[count++] = saturating_duration(events->works[call->waits_for].end_ns, call->end_ns);
    }
    events->return_ns = count ? saturating_from_double(statistics_median_of(values, count, values + count))
                              : (int64_t)RETURN_NS;
    free(values);
    return 0;
}

int replay_waits_find(struct replay_events *events, struct report *report, struct error *err)
{
    struct replay_waits_sweep sweep = { .events = events, .recorded_ids.width = 2 };
    size_t calls = events->call_count;
    int code = 0;

    sweep.sync = array_alloc(calls + 1, sizeof *sweep.sync);
    sweep.recording = array_alloc(calls + 1, sizeof *sweep.recording);
    if (!sweep.sync || !sweep.recording)
        goto no_memory;
    if ((code = replay_waits_read_rows(&sweep, report, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", SYNC_COLUMNS,
                                       &sweep.syncs, sweep.sync, err)) != 0 ||
        (code = replay_waits_read_rows(&sweep, report, "CUPTI_ACTIVITY_KIND_CUDA_EVENT", RECORDING_COLUMNS,
                                       &sweep.recordings, sweep.recording, err)) != 0)
        goto done;
    if (open_sweep(&sweep, report) != 0 || sweep_calls(&sweep) != 0 || find_launches_in_step(&sweep) != 0 ||
        find_typical_calls(&sweep) != 0 || find_typical_return(events) != 0)
        goto no_memory;
    find_full_queues(events);
    goto done;
no_memory:
    code = error_short_memory(err, "for the waits of CUDA calls");
done:
    close_sweep(&sweep);
    return code;
}
