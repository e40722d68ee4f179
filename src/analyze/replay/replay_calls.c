/* Calls of the CUDA API that lie in no other call. A runtime call contains driver calls; what the thread does between
 * two calls begins where the outermost one ends. */
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/order.h"
#include "base/array.h"
#include "replay_events.h"

/* The number of the name of a row. Threads launch kernel after kernel, so that of the last call is the first guess. */
static uint32_t replay_calls_number_name(struct replay_events *events, uint32_t row)
{
    uint32_t last = events->call_count ? events->calls[events->call_count - 1].name : NO_KEY;

    if (last != NO_KEY && *keys_get(&events->names, last) == events->rows.name[row])
        return last;
    return keys_add(&events->names, &events->rows.name[row]);
}

/* Adds a call. Calls of a thread cannot overlap, but clocks and rounding can make them. */
static int replay_calls_add_call(struct replay_events *events, uint32_t row, int64_t start, int64_t end)
{
    uint32_t name = replay_calls_number_name(events, row);

    if (name == NO_KEY)
        return ERR_NO_MEMORY;
    events->calls[events->call_count++] = (struct replay_call){
        .start_ns = start,
        .end_ns = end > start ? end : start,
        .row = row,
        .thread = events->thread_count - 1,
        .name = name,
        .waits_for = NO_WORK,
        .handover = NO_HANDOVER,
    };
    events->threads[events->thread_count - 1].end = events->call_count;
    return 0;
}

static int replay_calls_add_thread(struct replay_events *events, int64_t id)
{
    if (array_reserve(&events->threads, &events->thread_room, events->thread_count + 1u, sizeof *events->threads) != 0)
        return ERR_NO_MEMORY;
    events->threads[events->thread_count++] = (struct replay_thread){ id, events->call_count, events->call_count };
    return 0;
}

/* Takes the rows of a thread in order of time. Of rows that start together the longest is the outermost. */
static int replay_calls_take_row(struct replay_events *events, uint32_t row)
{
    const struct calls *rows = &events->rows;
    int64_t start = rows->start[row], end = rows->end[row];

    if (!events->thread_count || events->threads[events->thread_count - 1].id != rows->thread[row]) {
        if (replay_calls_add_thread(events, rows->thread[row]) != 0)
            return ERR_NO_MEMORY;
    } else {
        struct replay_call *last = &events->calls[events->call_count - 1];
        if (start == last->start_ns && end > last->end_ns) {
            last->end_ns = end;
            last->row = row;
            last->name = replay_calls_number_name(events, row);
            events->call_of[row] = events->call_count - 1;
            return last->name == NO_KEY ? ERR_NO_MEMORY : 0;
        }
        if (start < last->end_ns && end <= last->end_ns) {
            events->call_of[row] = events->call_count - 1;
            return 0;
        }
        start = start > last->end_ns ? start : last->end_ns;
    }
    events->call_of[row] = events->call_count;
    return replay_calls_add_call(events, row, start, end);
}

static int arrange_calls(struct replay_events *events)
{
    size_t count = events->rows.count;
    uint32_t *order = array_alloc(count + 1, sizeof *order);
    int code = ERR_NO_MEMORY;

    events->calls = array_alloc(count + 1, sizeof *events->calls);
    events->call_of = array_alloc(count + 1, sizeof *events->call_of);
    if (!order || !events->calls || !events->call_of)
        goto free_order;
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    if ((code = order_by_thread(order, count, events->rows.thread, events->rows.start)) != 0)
        goto free_order;
    for (size_t i = 0; i < count; i++)
        if ((code = replay_calls_take_row(events, order[i])) != 0)
            goto free_order;
free_order:
    free(order);
    return code;
}

/* ---- calls that share an id ------------------------------------------------------------------------------------ */

static enum replay_purpose purpose_of(const char *name)
{
    static const struct {
        const char *part;
        enum replay_purpose purpose;
    } parts[] = {
        { "GraphLaunch", PURPOSE_GRAPH }, { "HostFunc", PURPOSES },          { "Launch", PURPOSE_KERNEL },
        { "Memcpy", PURPOSE_COPY },       { "Memset", PURPOSE_FILL },        { "Synchronize", PURPOSE_SYNC },
        { "WaitEvent", PURPOSE_HOLD },    { "EventRecord", PURPOSE_RECORD },
    };

    for (size_t i = 0; i < COUNT_OF(parts); i++)
        if (strstr(name, parts[i].part))
            return parts[i].purpose;
    return PURPOSES;
}

static int shares_id(const struct replay_events *events)
{
    for (uint32_t row = 0; row < events->row_count; row++) {
        uint32_t next = calls_next(&events->rows, row);
        if (next != NO_CALL && events->call_of[row] != events->call_of[next])
            return 1;
    }
    return 0;
}

/* Finds the purposes of calls, if some share an id. */
static int find_purposes(struct replay_events *events, struct report *report)
{
    if (!shares_id(events))
        return 0;
    events->purpose = malloc(events->row_count);
    events->turn = calloc(events->row_count, PURPOSES * sizeof *events->turn);
    if (!events->purpose || !events->turn)
        return ERR_NO_MEMORY;
    for (uint32_t row = 0; row < events->row_count; row++) {
        int is_part = events->calls[events->call_of[row]].row != row;
        events->purpose[row] = (uint8_t)(is_part ? PURPOSES
                                                 : purpose_of(report_string(report, events->rows.name[row], NULL)));
    }
    return 0;
}

uint32_t replay_call_take(struct replay_events *events, int64_t process, int64_t correlation,
                          enum replay_purpose purpose)
{
    uint32_t first = calls_find(&events->rows, process, correlation);

    if (first == NO_CALL)
        return NO_CALL;
    if (!events->purpose || calls_next(&events->rows, first) == NO_CALL)
        return events->call_of[first];
    uint32_t *turn = &events->turn[(size_t)first * PURPOSES + purpose], row = *turn ? *turn - 1 : first;
    while (events->purpose[row] != purpose && calls_next(&events->rows, row) != NO_CALL)
        row = calls_next(&events->rows, row);
    if (events->purpose[row] != purpose)
        return events->call_of[first];
    uint32_t next = calls_next(&events->rows, row);
    *turn = (next == NO_CALL ? row : next) + 1;
    return events->call_of[row];
}

int replay_calls_read(struct replay_events *events, struct report *report, struct error *err)
{
    int code = calls_read(&events->rows, report, err);

    events->names.width = 1;
    events->row_count = events->rows.count;
    if (code != 0)
        return code;
    return arrange_calls(events) == 0 && find_purposes(events, report) == 0
               ? 0
               : error_short_memory(err, "for the CUDA calls");
}

void replay_rows_free(struct replay_events *events)
{
    calls_free(&events->rows);
    free(events->call_of);
    free(events->purpose);
    free(events->turn);
    events->call_of = events->turn = NULL;
    events->purpose = NULL;
}

void replay_events_free(struct replay_events *events)
{
    free(events->calls);
    free(events->works);
    free(events->threads);
    keys_free(&events->names);
    keys_free(&events->scopes);
    keys_free(&events->gpus);
    free(events->streams_of);
    free(events->gpu_of);
    free(events->call_ns);
    free(events->has_work);
    free(events->memory);
    free(events->engine);
    free(events->is_full);
    free(events->handovers);
    free(events->links);
    replay_rows_free(events);
    *events = (struct replay_events){ 0 };
}

/* ---- all of them ------------------------------------------------------------------------------------------------ */

int replay_events_read(struct replay_events *events, struct report *report, struct error *err)
{
    int code;

    *events = (struct replay_events){ 0 };
    if ((code = replay_calls_read(events, report, err)) != 0 || (code = replay_works_read(events, report, err)) != 0 ||
        (code = replay_waits_find(events, report, err)) != 0 ||
        (code = replay_handovers_find(events, report, err)) != 0)
        replay_events_free(events);
    replay_rows_free(events);
    return code;
}

/* ---- found ----------------------------------------------------------------------------------------------------- */

const struct replay_thread *replay_thread_of(const struct replay_events *events, int64_t id)
{
    for (uint32_t i = 0; i < events->thread_count; i++)
        if (events->threads[i].id == id)
            return &events->threads[i];
    return NULL;
}

uint32_t replay_call_from(const struct replay_events *events, const struct replay_thread *thread, int64_t time_ns)
{
    return BISECT(thread->first, thread->end, i, events->calls[i].start_ns < time_ns);
}
