/* Writes spans as pairs of begin and end. A reader of the format sorts packets by time, and keeps those of one
 * moment in the order of the file; an end closes the innermost open span. So the spans of a track are written as
 * they nest, and a span that overlaps others without nesting goes to another track. */
#include "perfetto.h"

#include <stdlib.h>

#include "analyze/engine/event_columns.h"
#include "base/array.h"

static int by_place(const void *a, const void *b)
{
    const struct perfetto_span *x = a, *y = b;

    if (x->track != y->track)
        return x->track < y->track ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->end_ns != y->end_ns)
        return x->end_ns > y->end_ns ? -1 : 1;
    return (x->body > y->body) - (x->body < y->body);
}

static int by_time(const void *a, const void *b)
{
    const struct perfetto_flow *x = a, *y = b;

    if (x->track != y->track)
        return x->track < y->track ? -1 : 1;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

struct nesting {
    struct perfetto *perfetto;
    struct perfetto_span *open; /* owned; the innermost last */
    size_t count, capacity;
};

static int write_end(struct nesting *nesting, struct error *err)
{
    struct perfetto *perfetto = nesting->perfetto;
    const struct perfetto_span *span = &nesting->open[--nesting->count];

    text_clear(&perfetto->message);
    protobuf_varint(&perfetto->message, EVENT_TYPE, TYPE_END);
    protobuf_varint(&perfetto->message, EVENT_TRACK, perfetto->list[span->track].uuid);
    perfetto_begin_event(perfetto, span->end_ns);
    protobuf_message(&perfetto->packet, PACKET_EVENT, &perfetto->message);
    return perfetto_end_packet(perfetto, err);
}

/* Arrows that end at this moment of the track belong to the last span that begins then. */
static void add_flows(struct perfetto *perfetto, const struct perfetto_span *span)
{
    struct perfetto_flow wanted = { .time_ns = span->start_ns, .track = perfetto->list[span->track].origin };
    size_t low = 0, high = perfetto->flow_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_time(&perfetto->flows[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < perfetto->flow_count; low++) {
        struct perfetto_flow *flow = &perfetto->flows[low];
        if (flow->track != wanted.track || flow->time_ns != wanted.time_ns)
            return;
        if (!flow->is_written)
            protobuf_fixed64(&perfetto->message, EVENT_FLOW, flow->id);
        flow->is_written = 1;
    }
}

static int write_begin(struct nesting *nesting, size_t number, struct error *err)
{
    struct perfetto *perfetto = nesting->perfetto;
    const struct perfetto_span *span = &perfetto->spans[number], *next = span + 1;
    int is_last = number + 1 == perfetto->span_count || next->track != span->track || next->start_ns != span->start_ns;

    if (array_reserve(&nesting->open, &nesting->capacity, nesting->count + 1, sizeof *nesting->open) != 0)
        return error_set(err, ERR_NO_MEMORY, "not enough memory for the trace");
    nesting->open[nesting->count++] = *span;
    text_clear(&perfetto->message);
    text_add_bytes(&perfetto->message, perfetto->bodies.bytes + span->body, span->body_length);
    protobuf_varint(&perfetto->message, EVENT_TYPE, TYPE_BEGIN);
    protobuf_varint(&perfetto->message, EVENT_TRACK, perfetto->list[span->track].uuid);
    if (is_last)
        add_flows(perfetto, span);
    perfetto_begin_event(perfetto, span->start_ns);
    protobuf_message(&perfetto->packet, PACKET_EVENT, &perfetto->message);
    return perfetto_end_packet(perfetto, err);
}

/* One span of the walk. Returns 1 if it was moved to a further track. */
static int take_span(struct nesting *nesting, size_t number, struct error *err)
{
    struct perfetto *perfetto = nesting->perfetto;
    struct perfetto_span *span = &perfetto->spans[number];
    int code;

    while (nesting->count) {
        const struct perfetto_span *top = &nesting->open[nesting->count - 1];
        if (top->track == span->track && top->end_ns > span->start_ns)
            break;
        if ((code = write_end(nesting, err)) != 0)
            return code;
    }
    if (nesting->count && nesting->open[nesting->count - 1].end_ns < span->end_ns) {
        uint32_t further = perfetto_overflow(perfetto, span->track);
        span->track = further;
        return further == NO_KEY ? error_set(err, ERR_NO_MEMORY, "not enough memory for the trace") : 1;
    }
    return write_begin(nesting, number, err);
}

/* Walks over all spans. Those that were moved to further tracks are left for the next round, first in the list. */
static int write_round(struct perfetto *perfetto, size_t *left, struct error *err)
{
    struct nesting nesting = { .perfetto = perfetto };
    size_t moved = 0;
    int code;

    for (size_t i = 0; i < perfetto->span_count; i++) {
        if ((code = take_span(&nesting, i, err)) < 0)
            goto done;
        if (code == 1)
            perfetto->spans[moved++] = perfetto->spans[i];
    }
    *left = moved;
    while (nesting.count)
        if ((code = write_end(&nesting, err)) != 0)
            goto done;
    code = 0;
done:
    free(nesting.open);
    return code;
}

int perfetto_write_spans(struct perfetto *perfetto, struct error *err)
{
    size_t left = perfetto->span_count;
    int code;

    if (perfetto->flow_count)
        qsort(perfetto->flows, perfetto->flow_count, sizeof *perfetto->flows, by_time);
    while (left) {
        perfetto->span_count = left;
        qsort(perfetto->spans, left, sizeof *perfetto->spans, by_place);
        if ((code = write_round(perfetto, &left, err)) != 0)
            return code;
    }
    return 0;
}
