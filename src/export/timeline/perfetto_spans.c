/* Writes spans as pairs of begin and end. A reader of the format sorts packets by time, and keeps those of one
 * moment in the order of the file; an end closes the innermost open span. So the spans of a track are written as
 * they nest, and a span that overlaps others without nesting goes to another track. */
#include "perfetto.h"

#include <stdlib.h>

#include "analyze/engine/event_columns.h"
#include "base/array.h"

/* In the order in which they nest; equal ones as they came. */
static int by_nesting(const void *a, const void *b)
{
    const struct perfetto_span *x = a, *y = b;

    return COMPARE(x->start_ns, y->start_ns) ?: COMPARE(y->end_ns, x->end_ns) ?: COMPARE(x->body, y->body);
}

static int perfetto_spans_by_time(const void *a, const void *b)
{
    const struct perfetto_flow *x = a, *y = b;

    return COMPARE(x->time_ns, y->time_ns) ?: COMPARE(x->id, y->id);
}

/* Sorts a list, which mostly is in order already. */
static void perfetto_spans_put_in_order(void *list, size_t count, size_t size,
                                        int (*compare)(const void *a, const void *b))
{
    const char *bytes = list;

    for (size_t i = 1; i < count; i++)
        if (compare(bytes + (i - 1) * size, bytes + i * size) > 0) {
            qsort(list, count, size, compare);
            return;
        }
}

/* The walk over the spans of a track. */
struct nesting {
    struct perfetto *perfetto;
    uint32_t track;
    struct perfetto_span *open; /* owned; the innermost last */
    size_t count, capacity;
    size_t flow;                /* the first arrow of the track's origin that is not before the last span */
    struct text begin, end;     /* owned; the type and the track, with which the fields of an event end */
};

static int perfetto_spans_write_end(struct nesting *nesting, struct error *err)
{
    const struct perfetto_span *span = &nesting->open[--nesting->count];

    return perfetto_write_event(nesting->perfetto, span->end_ns, "", 0, &nesting->end, err);
}

/* Arrows that end at this moment of the track belong to the last span that begins then. */
static void add_flows(struct nesting *nesting, const struct perfetto_span *span)
{
    struct perfetto *perfetto = nesting->perfetto;
    struct perfetto_track *origin = &perfetto->list[perfetto->list[nesting->track].origin];

    while (nesting->flow < origin->flow_count && origin->flows[nesting->flow].time_ns < span->start_ns)
        nesting->flow++;
    for (size_t i = nesting->flow; i < origin->flow_count && origin->flows[i].time_ns == span->start_ns; i++) {
        if (!origin->flows[i].is_written)
            protobuf_fixed64(&nesting->begin, EVENT_FLOW, origin->flows[i].id);
        origin->flows[i].is_written = 1;
    }
}

static int perfetto_spans_write_begin(struct nesting *nesting, const struct perfetto_span *span, int is_last,
                                      struct error *err)
{
    const char *bodies = nesting->perfetto->bodies.bytes;
    size_t without_flows = nesting->begin.length;

    if (ARRAY_PUSH(nesting->open, nesting->capacity, nesting->count, *span) != 0)
        return error_short_memory(err, "for the trace");
    if (is_last)
        add_flows(nesting, span);
    int code = perfetto_write_event(nesting->perfetto, span->start_ns, bodies + span->body, span->body_length,
                                    &nesting->begin, err);
    text_cut(&nesting->begin, without_flows);
    return code;
}

/* Moves a span to the further track of this one. */
static int move_span(struct perfetto *perfetto, uint32_t number, const struct perfetto_span *span, struct error *err)
{
    uint32_t further = perfetto_overflow(perfetto, number);
    struct perfetto_track *to = further == NO_KEY ? NULL : &perfetto->list[further];

    if (!to || array_reserve(&to->spans, &to->span_capacity, to->span_count + 1, sizeof *to->spans) != 0)
        return error_short_memory(err, "for the trace");
    to->spans[to->span_count++] = *span;
    return 0;
}

/* Ends the spans that are over when a span begins, and begins it, or moves it to a further track if it overlaps. */
static int perfetto_spans_take_span(struct nesting *nesting, const struct perfetto_span *span, int is_last,
                                    struct error *err)
{
    int code;

    while (nesting->count && nesting->open[nesting->count - 1].end_ns <= span->start_ns)
        if ((code = perfetto_spans_write_end(nesting, err)) != 0)
            return code;
    if (nesting->count && nesting->open[nesting->count - 1].end_ns < span->end_ns)
        return move_span(nesting->perfetto, nesting->track, span, err);
    return perfetto_spans_write_begin(nesting, span, is_last, err);
}

static void set_tail(struct text *tail, int type, uint64_t uuid)
{
    text_clear(tail);
    protobuf_varint(tail, EVENT_TYPE, (uint64_t)type);
    protobuf_varint(tail, EVENT_TRACK, uuid);
}

static int write_track(struct nesting *nesting, struct error *err)
{
    struct perfetto_track *track = &nesting->perfetto->list[nesting->track];
    struct perfetto_span *spans = track->spans; /* the list of tracks may grow and move */
    size_t count = track->span_count;
    int code;

    nesting->flow = 0;
    set_tail(&nesting->begin, TYPE_BEGIN, track->uuid);
    set_tail(&nesting->end, TYPE_END, track->uuid);
    perfetto_spans_put_in_order(spans, count, sizeof *spans, by_nesting);
    if (track->flow_count)
        perfetto_spans_put_in_order(track->flows, track->flow_count, sizeof *track->flows, perfetto_spans_by_time);
    for (size_t i = 0; i < count; i++) {
        int is_last = i + 1 == count || spans[i + 1].start_ns != spans[i].start_ns;
        if ((code = perfetto_spans_take_span(nesting, &spans[i], is_last, err)) != 0)
            return code;
    }
    while (nesting->count)
        if ((code = perfetto_spans_write_end(nesting, err)) != 0)
            return code;
    return 0;
}

/* Tracks for spans that overlap are added at the end of the list on the way. */
int perfetto_write_spans(struct perfetto *perfetto, struct error *err)
{
    struct nesting nesting = { .perfetto = perfetto };
    int code = 0;

    for (; nesting.track < perfetto->placed.count; nesting.track++)
        if ((code = write_track(&nesting, err)) != 0)
            goto free_open;
free_open:
    text_free(&nesting.begin);
    text_free(&nesting.end);
    free(nesting.open);
    return code;
}
