/* cuda_stream_wait: waits of a stream for another one: the work that a wait delayed, and the work that it waited for.
 *
 * cudaEventRecord() places an event after the work of one stream. cudaStreamWaitEvent() holds another stream until the
 * GPU has reached the event. Both records carry the same eventSyncId. Correlation ids, which count the calls of a
 * process, show which work was queued before or after a call. Times do not show it, because the GPU lags the calls. */
#include <stdlib.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/keys.h"
#include "analyze/engine/order.h"
#include "analyze/engine/report_run.h"
#include "analyze/engine/row_cursor.h"
#include "analyze/model/calls.h"
#include "analyze/model/stream_numbers.h"
#include "analyze/registry.h"

#define SYNCHRONIZATION "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
#define CUDA_EVENT "CUPTI_ACTIVITY_KIND_CUDA_EVENT"
enum { SYNC_STREAM_WAIT = 2, NO_EVENT = UINT32_MAX, NO_WORK = UINT32_MAX };

/* All work on GPUs, by stream and in the order of submission. */
struct stream_work {
    struct gpu_ops ops[GPU_KINDS];
    size_t first[GPU_KINDS + 1];           /* index of the first work of each kind */
    struct keys streams;                   /* process, context, stream */
    int64_t *start, *correlation, *stream; /* owned, as all below; by work */
    uint32_t *order;                       /* work by stream, then by call, then by start */
    uint32_t *last_to_end;                 /* by position in order: the stream's work that ended last up to there */
    uint32_t *begin;                       /* by stream: its first position in order; one entry more marks the end */
    size_t count;
};

enum {
    WAIT_START,
    WAIT_END,
    WAIT_PROCESS,
    WAIT_DEVICE,
    WAIT_CONTEXT,
    WAIT_STREAM,
    WAIT_CORRELATION,
    WAIT_TYPE,
    WAIT_EVENT,
    WAIT_ID
};
enum { EVENT_PROCESS, EVENT_CONTEXT, EVENT_STREAM, EVENT_CORRELATION, EVENT_ID, EVENT_COLUMNS };

struct wait_join {
    struct report *report;
    struct stream_work work;
    struct calls calls;
    struct row_cursor waits;
    struct report_columns events; /* owned */
    struct keys event_ids;        /* process and eventSyncId */
    uint32_t *event_rows;         /* owned; the row of each id */
    struct filter filter;
    struct text text;
};

enum {
    CELL_HELD,
    CELL_CALL,
    CELL_PID,
    CELL_DEVICE,
    CELL_WAITING,
    CELL_OP_START,
    CELL_OP,
    CELL_WAITED_FOR,
    CELL_SOURCE_END,
    CELL_SOURCE,
    CELL_LATENCY,
    CELL_EVENT,
    CELLS
};
static const struct table_column wait_columns[CELLS] = {
    { "Held Up", CELL_INT, UNIT_NS, 0 },      { "Wait Call", CELL_INT, UNIT_TIME, 0 },
    { "PID", CELL_INT, UNIT_ID, 0 },          { "Device", CELL_INT, UNIT_ID, 0 },
    { "Stream", CELL_INT, UNIT_ID, 0 },       { "Start", CELL_INT, UNIT_TIME, 0 },
    { "Operation", CELL_TEXT, UNIT_NAME, 0 }, { "For Stream", CELL_INT, UNIT_ID, 0 },
    { "For End", CELL_INT, UNIT_TIME, 0 },    { "For Operation", CELL_TEXT, UNIT_NONE, 0 },
    { "Latency", CELL_INT, UNIT_NS, 0 },      { "Event", CELL_INT, UNIT_ID, 0 },
};

/* ---- work by stream -------------------------------------------------------------------------------------------- */

static enum gpu_kind stream_wait_kind_of(const struct stream_work *work, uint32_t at)
{
    int kind = GPU_KERNEL;

    while (at >= work->first[kind + 1])
        kind++;
    return (enum gpu_kind)kind;
}

static int64_t stream_wait_end_of(const struct stream_work *work, uint32_t at)
{
    enum gpu_kind kind = stream_wait_kind_of(work, at);

    return work->ops[kind].end[at - work->first[kind]];
}

static int number_streams(struct stream_work *work)
{
    uint32_t stream = NO_KEY;
    size_t at = 0;

    for (int kind = 0; kind < GPU_KINDS; kind++) {
        const struct gpu_ops *ops = &work->ops[kind];
        for (size_t row = 0; row < ops->count; row++, at++) {
            stream = stream_number(&work->streams, ops, row, stream);
            if (stream == NO_KEY)
                return ERR_NO_MEMORY;
            work->stream[at] = stream;
            work->start[at] = ops->start[row];
            work->correlation[at] = ops->correlation[row];
            work->order[at] = (uint32_t)at;
        }
    }
    return 0;
}

/* Finds where each stream begins and, for each position, the work that ended last up to there. The list was sorted by
 * the numbers of the streams, so they come in order. */
static void mark_streams(struct stream_work *work)
{
    size_t at = 0;

    for (uint32_t stream = 0; stream < work->streams.count; stream++) {
        work->begin[stream] = (uint32_t)at;
        uint32_t last = NO_WORK;
        int64_t last_end = INT64_MIN;
        for (; at < work->count && work->stream[work->order[at]] == stream; at++) {
            int64_t end = stream_wait_end_of(work, work->order[at]);
            if (end >= last_end) {
                last = work->order[at];
                last_end = end;
            }
            work->last_to_end[at] = last;
        }
    }
    work->begin[work->streams.count] = (uint32_t)at;
}

static int stream_wait_put_in_order(struct stream_work *work)
{
    size_t room = work->count + 1;

    work->start = malloc(room * sizeof *work->start);
    work->correlation = malloc(room * sizeof *work->correlation);
    work->stream = malloc(room * sizeof *work->stream);
    work->order = malloc(room * sizeof *work->order);
    work->last_to_end = malloc(room * sizeof *work->last_to_end);
    if (!work->start || !work->correlation || !work->stream || !work->order || !work->last_to_end || room > UINT32_MAX)
        return ERR_NO_MEMORY;
    if (number_streams(work) != 0 || order_by_time(work->order, work->count, work->start) != 0 ||
        order_by_thread(work->order, work->count, work->stream, work->correlation) != 0)
        return ERR_NO_MEMORY;
    work->begin = malloc((work->streams.count + 1) * sizeof *work->begin);
    if (!work->begin)
        return ERR_NO_MEMORY;
    mark_streams(work);
    return 0;
}

static int stream_wait_work_read(struct stream_work *work, struct report *report,
                                 const struct analysis_request *request, struct error *err)
{
    static const char *const copy_extra[] = { "contextId", "copyKind", NULL }, *const fill_extra[] = { "contextId",
                                                                                                       NULL };
    const char *const kernel_extra[] = { "contextId", kernel_name_column(request), "demangledName", NULL };
    const char *const *const extra[GPU_KINDS] = { kernel_extra, copy_extra, fill_extra };
    int code;

    *work = (struct stream_work){ .streams.width = STREAM_WIDTH };
    for (int kind = 0; kind < GPU_KINDS; kind++) {
        if ((code = gpu_read(&work->ops[kind], report, (enum gpu_kind)kind, extra[kind], err)) != 0)
            return code;
        work->count += work->ops[kind].count;
        work->first[kind + 1] = work->count;
    }
    return stream_wait_put_in_order(work) == 0 ? 0 : error_short_memory(err, "for the GPU work");
}

static void stream_wait_work_free(struct stream_work *work)
{
    for (int kind = 0; kind < GPU_KINDS; kind++)
        gpu_free(&work->ops[kind]);
    keys_free(&work->streams);
    free(work->start);
    free(work->correlation);
    free(work->stream);
    free(work->order);
    free(work->last_to_end);
    free(work->begin);
}

/* The position in order of the first work that this call or a later one put on the stream. The stream lies between
 * *begin and *end; both are 0 for a stream without work. */
static size_t stream_wait_find_work(const struct stream_work *work, const int64_t *stream, int64_t correlation,
                                    size_t *begin, size_t *end)
{
    uint32_t number = keys_find(&work->streams, stream);

    *begin = *end = 0;
    if (number == NO_KEY)
        return 0;
    *begin = work->begin[number];
    *end = work->begin[number + 1];
    return BISECT(*begin, *end, i, work->correlation[work->order[i]] < correlation);
}

/* ---- waits and what they wait for ------------------------------------------------------------------------------ */

static int index_events(struct wait_join *join)
{
    int64_t *const *values = join->events.values;

    join->event_rows = malloc((join->events.rows + 1) * sizeof *join->event_rows);
    if (!join->event_rows)
        return ERR_NO_MEMORY;
    for (size_t row = 0; row < join->events.rows; row++) {
        if (columns_is_null(&join->events, EVENT_ID, row) || values[EVENT_ID][row] == NO_EVENT ||
            columns_is_null(&join->events, EVENT_CORRELATION, row))
            continue;
        uint32_t id = keys_add(&join->event_ids, (int64_t[]){ values[EVENT_PROCESS][row], values[EVENT_ID][row] });
        if (id == NO_KEY)
            return ERR_NO_MEMORY;
        join->event_rows[id] = (uint32_t)row;
    }
    return 0;
}

static int stream_wait_read_waits(struct wait_join *join, struct error *err)
{
    static const char *const wait_names[] = { "start",    "end",           "globalPid", "deviceId", "contextId",
                                              "streamId", "correlationId", "syncType",  "eventId",  "eventSyncId",
                                              NULL };
    static const char *const event_names[] = { "globalPid", "contextId", "streamId", "correlationId", "eventSyncId" };
    int code;

    if ((code = row_cursor_open(&join->waits, join->report, SYNCHRONIZATION, wait_names, err)) != 0)
        return code;
    if ((code = columns_read(join->report, CUDA_EVENT, event_names, EVENT_COLUMNS, &join->events, err)) != 0)
        return code;
    if (join->events.rows)
        columns_fill_nulls(&join->events, EVENT_PROCESS, 0);
    return index_events(join) == 0 ? 0 : error_short_memory(err, "for the CUDA events");
}

/* Whether a row is a wait of a stream for an event. nsys writes some rows of this type without an event. */
static int stream_wait_counts(const struct row_cursor *wait, const struct filter *filter)
{
    if (row_int(wait, WAIT_TYPE) != SYNC_STREAM_WAIT || row_int_or(wait, WAIT_ID, NO_EVENT) == NO_EVENT ||
        row_is_null(wait, WAIT_CORRELATION))
        return 0;
    struct filter_gpu_work place = { row_int(wait, WAIT_START),         row_int(wait, WAIT_END),
                                     row_int_or(wait, WAIT_PROCESS, 0), row_int(wait, WAIT_CORRELATION),
                                     row_int(wait, WAIT_DEVICE),        row_int(wait, WAIT_STREAM) };
    return filter_gpu(filter, &place);
}

static int stream_wait_set_name(struct wait_join *join, struct table *table, struct table_cell *cell, uint32_t at)
{
    enum gpu_kind kind = stream_wait_kind_of(&join->work, at);
    const struct gpu_ops *ops = &join->work.ops[kind];
    size_t row = at - join->work.first[kind];

    if (kind == GPU_KERNEL)
        return cell_set_pooled(table, cell, join->report, gpu_extra(ops, gpu_extra_is_null(ops, 1, row) ? 2 : 1, row));
    if (kind == GPU_MEMSET)
        return cell_set_string(table, cell, MEMSET_LABEL);
    text_clear(&join->text);
    memcpy_label(&join->text, gpu_extra(ops, 1, row));
    return cell_set_built(table, cell, &join->text);
}

/* When the work could have run without the wait: its call had returned, and the previous work of its stream was done.
 * INT64_MIN if neither is known. */
static int64_t ready_ns(const struct wait_join *join, uint32_t at, uint32_t before)
{
    enum gpu_kind kind = stream_wait_kind_of(&join->work, at);
    const struct gpu_ops *ops = &join->work.ops[kind];
    size_t row = at - join->work.first[kind];
    int64_t ready = before == NO_WORK ? INT64_MIN : stream_wait_end_of(&join->work, before);

    for (uint32_t call = calls_find(&join->calls, ops->process[row], ops->correlation[row]); call != NO_CALL;
         call = calls_next(&join->calls, call))
        ready = join->calls.end[call] > ready ? join->calls.end[call] : ready;
    return ready;
}

/* Finds the last work before the event on the stream of the event. */
static int set_source(struct wait_join *join, struct table *table, struct table_cell *cells, uint32_t *source)
{
    int64_t *const *events = join->events.values;
    int64_t key[] = { row_int_or(&join->waits, WAIT_PROCESS, 0), row_int(&join->waits, WAIT_ID) };
    uint32_t id = keys_find(&join->event_ids, key);
    size_t begin, end;

    *source = NO_WORK;
    if (id == NO_KEY)
        return 0; /* the event was recorded before the capture */
    uint32_t event = join->event_rows[id];
    int64_t stream[STREAM_WIDTH] = { events[EVENT_PROCESS][event], events[EVENT_CONTEXT][event],
                                     events[EVENT_STREAM][event] };
    cell_set_int(&cells[CELL_WAITED_FOR], stream[STREAM_ID]);
    size_t at = stream_wait_find_work(&join->work, stream, events[EVENT_CORRELATION][event], &begin, &end);
    if (at == begin)
        return 0;
    *source = join->work.last_to_end[at - 1];
    cell_set_int(&cells[CELL_SOURCE_END], stream_wait_end_of(&join->work, *source));
    return stream_wait_set_name(join, table, &cells[CELL_SOURCE], *source);
}

/* Sets the delay of work that could have run at `ready`, had it not waited for the source. */
static void set_delay(struct table_cell *cells, int64_t start, int64_t ready, int64_t source_end)
{
    if (ready != INT64_MIN)
        cell_set_int(&cells[CELL_HELD], source_end > ready && start > ready ? saturating_duration(ready, start) : 0);
    cell_set_int(&cells[CELL_LATENCY], saturating_duration(source_end, start));
}

static int stream_wait_add_row(struct wait_join *join, struct table *table)
{
    const struct row_cursor *wait = &join->waits;
    int64_t stream[STREAM_WIDTH] = { row_int_or(wait, WAIT_PROCESS, 0), row_int(wait, WAIT_CONTEXT),
                                     row_int(wait, WAIT_STREAM) };
    struct table_cell *cells = table_add_row(table);
    size_t begin, end;
    uint32_t source;

    if (!cells || set_source(join, table, cells, &source) != 0)
        return ERR_NO_MEMORY;
    cell_set_int(&cells[CELL_CALL], row_int(wait, WAIT_START));
    cell_set_int(&cells[CELL_PID], global_pid_number(stream[STREAM_PROCESS]));
    cell_set_int(&cells[CELL_DEVICE], row_int(wait, WAIT_DEVICE));
    cell_set_int(&cells[CELL_WAITING], stream[STREAM_ID]);
    cell_set_int(&cells[CELL_EVENT], row_int(wait, WAIT_EVENT));
    size_t at = stream_wait_find_work(&join->work, stream, row_int(wait, WAIT_CORRELATION), &begin, &end);
    if (at == end)
        return 0;
    uint32_t work = join->work.order[at], before = at == begin ? NO_WORK : join->work.last_to_end[at - 1];
    cell_set_int(&cells[CELL_OP_START], join->work.start[work]);
    if (source != NO_WORK)
        set_delay(cells, join->work.start[work], ready_ns(join, work, before), stream_wait_end_of(&join->work, source));
    return stream_wait_set_name(join, table, &cells[CELL_OP], work);
}

static int stream_wait_fill_table(struct table *table, struct wait_join *join)
{
    while (row_cursor_next(&join->waits))
        if (stream_wait_counts(&join->waits, &join->filter) && stream_wait_add_row(join, table) != 0)
            return ERR_NO_MEMORY;
    table_sort_by(table, BY(DOWN(CELL_HELD), CELL_CALL));
    return 0;
}

static int join_read(struct wait_join *join, struct report *report, const struct analysis_request *request,
                     struct error *err)
{
    int code;

    *join = (struct wait_join){ .report = report, .event_ids.width = 2 };
    if ((code = filter_open(&join->filter, join->report, request, err)) != 0)
        return code;
    if ((code = stream_wait_work_read(&join->work, join->report, request, err)) != 0)
        return code;
    if ((code = calls_read(&join->calls, join->report, err)) != 0)
        return code;
    return stream_wait_read_waits(join, err);
}

static void join_free(struct wait_join *join)
{
    stream_wait_work_free(&join->work);
    calls_free(&join->calls);
    row_cursor_close(&join->waits);
    report_columns_free(&join->events);
    keys_free(&join->event_ids);
    free(join->event_rows);
    filter_close(&join->filter);
    text_free(&join->text);
}

REPORT_RUN(cuda_stream_wait, struct wait_join, wait_columns, join_read, stream_wait_fill_table, join_free)

const struct analysis analysis_cuda_stream_wait = {
    .name = "cuda_stream_wait",
    .title = "CUDA Stream Waits",
    .usage = "[:base|:mangled]",
    .help = "All waits of a stream for an event of another stream (cudaStreamWaitEvent), with the first work that "
            "waited and the last work before the event. Held Up: from the time when the work could have started (its "
            "call had returned, and its stream was free) to its start; 0 if the other stream was done by then. "
            "Latency: from the end of the work waited for to the start of the work that waited. If several waits "
            "precede the same work, the one with the least latency held it up last.",
    .needs = { { "CUDA synchronization data", TABLES(SYNCHRONIZATION) }, { "CUDA trace data", gpu_tables } },
    .run = cuda_stream_wait,
};
