/* Perfetto's own format: packets of protocol buffers, in which every name, category and text is written once and then
 * referred to by number.
 *
 * Spans are held until all are known (perfetto_spans.c), some hundred bytes each. Everything else is written as it
 * comes. */
#include "perfetto.h"

#include <stdio.h>
#include <stdlib.h>

#include "analyze/engine/event_columns.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "export/json_check.h"

#define OUT_BYTES (1u << 20)

/* ---- packets --------------------------------------------------------------------------------------------------- */

static void begin_packet(struct perfetto *perfetto, int flags)
{
    perfetto->packet = protobuf_begin(&perfetto->out, TRACE_PACKET);
    protobuf_varint(&perfetto->out, PACKET_SEQUENCE, SEQUENCE);
    protobuf_varint(&perfetto->out, PACKET_FLAGS, (uint64_t)flags);
}

static int write_large(struct perfetto *perfetto, struct error *err)
{
    return perfetto->out.length < OUT_BYTES ? 0 : outfile_put(perfetto->output, &perfetto->out, 0, err);
}

static int end_packet(struct perfetto *perfetto, struct error *err)
{
    protobuf_end(&perfetto->out, perfetto->packet);
    return write_large(perfetto, err);
}

static inline char *put_bytes(char *at, const char *bytes, size_t length)
{
    memcpy(at, bytes, length);
    return at + length;
}

/* There are two packets a span: their lengths are known before, and there is one check of the room. */
int perfetto_write_event(struct perfetto *perfetto, int64_t time_ns, const char *body, size_t body_length,
                         const struct text *tail, struct error *err)
{
    uint64_t time = (uint64_t)saturating_add(time_ns, perfetto->shift_ns);
    size_t event_bytes = body_length + tail->length;
    size_t packet_bytes = protobuf_varint_bytes(PACKET_SEQUENCE, SEQUENCE) +
                          protobuf_varint_bytes(PACKET_FLAGS, FLAG_NEEDS_STATE) +
                          protobuf_varint_bytes(PACKET_TIMESTAMP, time) +
                          protobuf_varint_bytes(PACKET_EVENT, event_bytes) + event_bytes;
    char *at = text_room(&perfetto->out, PROTOBUF_VARINT_MOST + packet_bytes);

    if (!at || text_failed(tail))
        return error_short_memory(err, "for the trace");
    at = protobuf_put_length(at, TRACE_PACKET, packet_bytes);
    at = protobuf_put_varint(at, PACKET_SEQUENCE, SEQUENCE);
    at = protobuf_put_varint(at, PACKET_FLAGS, FLAG_NEEDS_STATE);
    at = protobuf_put_varint(at, PACKET_TIMESTAMP, time);
    at = protobuf_put_length(at, PACKET_EVENT, event_bytes);
    if (body_length)
        at = put_bytes(at, body, body_length);
    text_commit(&perfetto->out, put_bytes(at, text_string(tail), tail->length));
    return write_large(perfetto, err);
}

/* Writes a text with its number. */
static int define(struct perfetto *perfetto, unsigned field, uint64_t number, struct trace_string string,
                  struct error *err)
{
    struct text clean = { 0 };

    utf8_add(&clean, string.bytes, string.length);
    begin_packet(perfetto, FLAG_NEEDS_STATE);
    size_t data = protobuf_begin(&perfetto->out, PACKET_INTERNED), entry = protobuf_begin(&perfetto->out, field);
    protobuf_varint(&perfetto->out, 1, number);
    protobuf_message(&perfetto->out, 2, &clean);
    protobuf_end(&perfetto->out, entry);
    protobuf_end(&perfetto->out, data);
    int failed = text_failed(&clean);
    text_free(&clean);
    if (failed)
        return error_short_memory(err, "for the trace");
    return end_packet(perfetto, err);
}

/* The number of a text in one of the lists; a new text is written first. 0 when memory is short. */
static uint64_t perfetto_number_of(struct perfetto *perfetto, struct perfetto_texts *texts, unsigned field,
                                   struct trace_string string, struct error *err)
{
    size_t place = hash_number((uintptr_t)string.bytes) % PERFETTO_RECENT, before = texts->list.count;

    if (texts->recent[place].bytes == string.bytes && texts->recent[place].length == string.length && string.id != -1)
        return texts->recent[place].number;
    int64_t id = intern_add(&texts->list, string.bytes, string.length);
    if (id < 0 || ((size_t)id == before && define(perfetto, field, (uint64_t)id + 1, string, err) != 0))
        return 0;
    if (string.id != -1) {
        texts->recent[place].bytes = string.bytes;
        texts->recent[place].length = string.length;
        texts->recent[place].number = (uint64_t)id + 1;
    }
    return (uint64_t)id + 1;
}

/* The number of the name of an argument, a literal. Mostly it is that of the last event's argument at the same place.
 */
static inline uint64_t number_of_name(struct perfetto *perfetto, size_t place, const char *literal, struct error *err)
{
    struct perfetto_arg_name *last = &perfetto->arg_names[place];

    if (last->literal != literal)
        *last = (struct perfetto_arg_name){
            literal, perfetto_number_of(perfetto, &perfetto->annotations, INTERNED_ANNOTATION, trace_text(literal), err)
        };
    return last->number;
}

/* ---- tracks ---------------------------------------------------------------------------------------------------- */

static int is_placed(const int64_t key[3], enum perfetto_track_kind kind, int64_t a, int64_t b)
{
    return key[0] == (int64_t)kind && key[1] == a && key[2] == b;
}

/* The track's number; *is_new: the track is new and needs a descriptor. NO_KEY when memory is short. */
static uint32_t perfetto_place(struct perfetto *perfetto, enum perfetto_track_kind kind, int64_t a, int64_t b,
                               int *is_new)
{
    size_t before = perfetto->placed.count;
    uint32_t number = perfetto->last_placed[kind]; /* most events are where the last one was */

    if (number < before && is_placed(keys_get(&perfetto->placed, number), kind, a, b)) {
        *is_new = 0;
        return number;
    }
    perfetto->last_placed[kind] = number = keys_add(&perfetto->placed, (int64_t[]){ kind, a, b });
    *is_new = number != NO_KEY && perfetto->placed.count > before;
    if (!*is_new)
        return number;
    if (array_reserve(&perfetto->list, &perfetto->capacity, (size_t)number + 1, sizeof *perfetto->list) != 0)
        return NO_KEY;
    perfetto->list[number] = (struct perfetto_track){ .uuid = (uint64_t)number + 1, .origin = number };
    return number;
}

static int perfetto_describe(struct perfetto *perfetto, uint32_t track, uint64_t parent, const char *name,
                             unsigned field, const struct text *detail, struct error *err)
{
    struct text *out = &perfetto->out;

    begin_packet(perfetto, 0);
    size_t message = protobuf_begin(out, PACKET_TRACK);
    protobuf_varint(out, TRACK_UUID, perfetto->list[track].uuid);
    if (name)
        protobuf_bytes(out, TRACK_NAME, name, strlen(name));
    if (parent)
        protobuf_varint(out, TRACK_PARENT, parent);
    if (detail)
        protobuf_message(out, field, detail);
    protobuf_end(out, message);
    return end_packet(perfetto, err);
}

static void perfetto_add_clean(struct text *out, unsigned field, const char *bytes, size_t length)
{
    struct text clean = { 0 };

    utf8_add(&clean, bytes, length);
    protobuf_bytes(out, field, text_string(&clean), clean.length);
    text_free(&clean);
}

static uint32_t process_track(struct perfetto *perfetto, int64_t process, struct error *err)
{
    enum { PID = 1, PROCESS_NAME = 6 };
    int is_new;
    uint32_t track = perfetto_place(perfetto, TRACK_OF_PROCESS, process, 0, &is_new);
    struct text detail = { 0 };
    size_t length;

    if (!is_new)
        return track;
    const char *name = tracks_process_name(&perfetto->tracks, process, &length);
    protobuf_varint(&detail, PID, (uint64_t)global_pid_number(process));
    perfetto_add_clean(&detail, PROCESS_NAME, name, length);
    int code = perfetto_describe(perfetto, track, 0, NULL, TRACK_PROCESS, &detail, err);
    text_free(&detail);
    return code ? NO_KEY : track;
}

static uint32_t thread_track(struct perfetto *perfetto, int64_t thread, struct error *err)
{
    enum { PID = 1, TID = 2, THREAD_NAME = 5 };
    int is_new;
    uint32_t track = perfetto_place(perfetto, TRACK_OF_THREAD, thread, 0, &is_new), process;
    struct text detail = { 0 };
    size_t length;

    if (!is_new)
        return track;
    process = process_track(perfetto, global_process(thread), err);
    if (process == NO_KEY)
        return NO_KEY;
    const char *name = tracks_thread_name(&perfetto->tracks, thread, &length);
    protobuf_varint(&detail, PID, (uint64_t)global_pid_number(thread));
    protobuf_varint(&detail, TID, (uint64_t)global_tid_number(thread));
    perfetto_add_clean(&detail, THREAD_NAME, name, length);
    int code = perfetto_describe(perfetto, track, perfetto->list[process].uuid, NULL, TRACK_THREAD, &detail, err);
    text_free(&detail);
    return code ? NO_KEY : track;
}

static uint32_t device_track(struct perfetto *perfetto, int64_t device, struct error *err)
{
    int is_new;
    uint32_t track = perfetto_place(perfetto, TRACK_OF_DEVICE, device, 0, &is_new);
    char name[40];

    snprintf(name, sizeof name, "GPU %lld", (long long)device);
    return is_new && perfetto_describe(perfetto, track, 0, name, 0, NULL, err) != 0 ? NO_KEY : track;
}

static uint32_t stream_track(struct perfetto *perfetto, const struct trace_event *event, struct error *err)
{
    int is_new;
    uint32_t track = perfetto_place(perfetto, TRACK_OF_STREAM, event->device, event->lane, &is_new), device;
    char name[80];

    if (!is_new)
        return track;
    device = device_track(perfetto, event->device, err);
    if (device == NO_KEY)
        return NO_KEY;
    if (event->process_number)
        snprintf(name, sizeof name, "stream %lld (process %lld)", (long long)event->stream,
                 (long long)global_pid_number(event->process));
    else
        snprintf(name, sizeof name, "stream %lld", (long long)event->stream);
    return perfetto_describe(perfetto, track, perfetto->list[device].uuid, name, 0, NULL, err) != 0 ? NO_KEY : track;
}

/* A curve below its GPU. */
static uint32_t metric_track(struct perfetto *perfetto, const struct trace_event *event, struct error *err)
{
    static const struct text no_detail = { 0 };
    int is_new;
    uint32_t track = perfetto_place(perfetto, TRACK_OF_METRIC, event->device, event->lane, &is_new), device;
    struct text name = { 0 };

    if (!is_new)
        return track;
    device = device_track(perfetto, event->device, err);
    if (device == NO_KEY)
        return NO_KEY;
    utf8_add(&name, event->name.bytes, event->name.length);
    int code = perfetto_describe(perfetto, track, perfetto->list[device].uuid, text_string(&name), TRACK_COUNTER,
                                 &no_detail, err);
    text_free(&name);
    return code != 0 ? NO_KEY : track;
}

static uint32_t track_of(struct perfetto *perfetto, const struct trace_event *event, struct error *err)
{
    int is_new;
    uint32_t track;

    if (event->where == ON_THREAD)
        return thread_track(perfetto, event->thread, err);
    if (event->where == ON_STREAM)
        return stream_track(perfetto, event, err);
    if (event->where == ON_GPU)
        return metric_track(perfetto, event, err);
    track = perfetto_place(perfetto, TRACK_OF_TRACE, 0, 0, &is_new);
    return is_new && perfetto_describe(perfetto, track, 0, "trace", 0, NULL, err) != 0 ? NO_KEY : track;
}

uint32_t perfetto_overflow(struct perfetto *perfetto, uint32_t track)
{
    struct error ignored;
    int is_new;

    if (perfetto->list[track].overflow)
        return perfetto->list[track].overflow;
    uint32_t further = perfetto_place(perfetto, TRACK_OF_OVERFLOW, track, 0, &is_new);
    if (further == NO_KEY ||
        perfetto_describe(perfetto, further, perfetto->list[track].uuid, "overlapping", 0, NULL, &ignored) != 0)
        return NO_KEY;
    perfetto->list[track].overflow = further;
    perfetto->list[further].origin = perfetto->list[track].origin;
    return further;
}

/* ---- events ---------------------------------------------------------------------------------------------------- */

/* Arguments that have no column of their own, as JSON. */
static void perfetto_add_members(struct text *out, const struct trace_string *members)
{
    size_t json = protobuf_begin(out, ANNOTATION_JSON);

    text_add_char(out, '{');
    if (json_is_members(members->bytes, members->length))
        text_add_bytes(out, members->bytes, members->length);
    else
        json_add_mended_members(out, members->bytes, members->length);
    text_add_char(out, '}');
    protobuf_end(out, json);
}

static char *perfetto_put_triple(char *at, const int64_t numbers[3])
{
    for (int i = 0; i < 3; i++) {
        char *element = at = protobuf_put_begin(at, ANNOTATION_ARRAY);
        at = protobuf_put_varint(at, ANNOTATION_INT, (uint64_t)numbers[i]);
        element[-1] = (char)(at - element);
    }
    return at;
}

/* The most that an annotation takes, except one of MEMBERS: that is one of three numbers. Its length has one byte. */
enum {
    ANNOTATION_MOST = PROTOBUF_TAG_MOST + 1 + PROTOBUF_VARINT_MOST + 3 * (PROTOBUF_TAG_MOST + 1 + PROTOBUF_VARINT_MOST)
};

static char *perfetto_put_value(char *at, const struct trace_arg *arg, uint64_t text)
{
    switch (arg->kind) {
    case ARG_TEXT:
    case ARG_JSON: return protobuf_put_varint(at, ANNOTATION_STRING_ID, text);
    case ARG_INT: return protobuf_put_varint(at, ANNOTATION_INT, (uint64_t)arg->numbers[0]);
    case ARG_REAL:
    case ARG_FRACTION: return protobuf_put_double(at, ANNOTATION_DOUBLE, arg->real);
    case ARG_TRIPLE: return perfetto_put_triple(at, arg->numbers);
    default: return put_bytes(protobuf_put_length(at, ANNOTATION_JSON, strlen("null")), "null", strlen("null"));
    }
}

static char *put_annotation(char *at, uint64_t name, const struct trace_arg *arg, uint64_t text)
{
    char *annotation = protobuf_put_begin(at, EVENT_ANNOTATION);

    at = perfetto_put_value(protobuf_put_varint(annotation, ANNOTATION_NAME, name), arg, text);
    annotation[-1] = (char)(at - annotation);
    return at;
}

static void add_members_annotation(struct text *body, uint64_t name, const struct trace_string *members)
{
    size_t annotation = protobuf_begin(body, EVENT_ANNOTATION);

    protobuf_varint(body, ANNOTATION_NAME, name);
    perfetto_add_members(body, members);
    protobuf_end(body, annotation);
}

/* The arguments from one on, as many as have a bounded size, with one check of the room. *next: the first that has not,
 * or arg_count. */
static int add_annotations(struct perfetto *perfetto, struct text *body, const struct trace_event *event, size_t *next,
                           struct error *err)
{
    size_t i = *next;
    char *at = text_room(body, (event->arg_count - i) * ANNOTATION_MOST);

    if (!at)
        return error_short_memory(err, "for the trace");
    for (; i < event->arg_count && event->args[i].kind != ARG_MEMBERS; i++) {
        const struct trace_arg *arg = &event->args[i];
        int is_text = arg->kind == ARG_TEXT || arg->kind == ARG_JSON;
        uint64_t name = number_of_name(perfetto, i, arg->name, err);
        /* Shapes, which are JSON, repeat more often than anyone looks into them. */
        uint64_t text = is_text ? perfetto_number_of(perfetto, &perfetto->strings, INTERNED_STRING, arg->text, err) : 1;
        if (!name || !text)
            return error_short_memory(err, "for the trace");
        at = put_annotation(at, name, arg, text);
    }
    text_commit(body, at);
    *next = i;
    return 0;
}

/* Category, name and arguments, without type and track. */
static int perfetto_add_body(struct perfetto *perfetto, struct text *body, const struct trace_event *event,
                             struct error *err)
{
    uint64_t category = perfetto_number_of(perfetto, &perfetto->categories, INTERNED_CATEGORY, event->category, err);
    uint64_t name = perfetto_number_of(perfetto, &perfetto->names, INTERNED_NAME, event->name, err);
    int code;

    if (!category || !name)
        return error_short_memory(err, "for the trace");
    protobuf_varint(body, EVENT_CATEGORY, category);
    protobuf_varint(body, EVENT_NAME, name);
    for (size_t i = 0; i < event->arg_count; i++) {
        if ((code = add_annotations(perfetto, body, event, &i, err)) != 0)
            return code;
        if (i == event->arg_count)
            break;
        uint64_t args = number_of_name(perfetto, i, "args", err);
        if (!args)
            return error_short_memory(err, "for the trace");
        add_members_annotation(body, args, &event->args[i].text);
    }
    return 0;
}

static int perfetto_add_span(struct perfetto *perfetto, const struct trace_event *event, uint32_t number,
                             struct error *err)
{
    struct perfetto_track *track = &perfetto->list[number];
    size_t before = perfetto->bodies.length;
    int code;

    if (array_reserve(&track->spans, &track->span_capacity, track->span_count + 1, sizeof *track->spans) != 0)
        return error_short_memory(err, "for the trace");
    if ((code = perfetto_add_body(perfetto, &perfetto->bodies, event, err)) != 0)
        return code;
    if (perfetto->bodies.failed)
        return error_short_memory(err, "for the trace");
    int64_t end = event->end_ns < event->start_ns ? event->start_ns : event->end_ns;
    track->spans[track->span_count++] = (struct perfetto_span){ event->start_ns, end, before,
                                                                (uint32_t)(perfetto->bodies.length - before) };
    return 0;
}

static int perfetto_add_flow(struct perfetto *perfetto, const struct trace_event *event, uint32_t number,
                             struct error *err)
{
    struct perfetto_track *track = &perfetto->list[number];
    uint64_t kind = hash_bytes(event->category.bytes, event->category.length);

    if (ARRAY_PUSH(track->flows, track->flow_capacity, track->flow_count,
                   (struct perfetto_flow){ event->start_ns, hash_number(kind + (uint64_t)event->flow_id), 0 }) != 0)
        return error_short_memory(err, "for the trace");
    return 0;
}

/* The device of a PyTorch allocator. */
struct allocator {
    int64_t device, on_gpu;
};

static struct allocator allocator_of(const struct trace_event *event)
{
    struct allocator allocator = { .device = -1 };

    for (size_t i = 0; i < event->arg_count; i++) {
        const struct trace_arg *arg = &event->args[i];
        if (arg->name && strcmp(arg->name, "Device Id") == 0)
            allocator.device = arg->numbers[0];
        if (arg->name && strcmp(arg->name, "Device Type") == 0)
            allocator.on_gpu = arg->numbers[0];
    }
    return allocator;
}

static int describe_counter(struct perfetto *perfetto, uint32_t track, uint32_t process, struct allocator allocator,
                            const char *counter, struct error *err)
{
    enum { UNIT = 3, UNIT_BYTES = 3 };
    struct text detail = { 0 };
    char name[80];

    snprintf(name, sizeof name, allocator.on_gpu ? "%s (GPU %lld)" : "%s (CPU)", counter, (long long)allocator.device);
    protobuf_varint(&detail, UNIT, UNIT_BYTES);
    int code = perfetto_describe(perfetto, track, perfetto->list[process].uuid, name, TRACK_COUNTER, &detail, err);
    text_free(&detail);
    return code;
}

enum { COUNTERS = 2 };
static const char *const counter_names[COUNTERS] = { "Total Allocated", "Total Reserved" };

static int perfetto_add_counter(struct perfetto *perfetto, const struct trace_event *event, struct allocator allocator,
                                int64_t counter, int64_t value, struct error *err)
{
    int64_t process_id = global_process(event->thread), device = allocator.on_gpu ? allocator.device : -1;
    int is_new, code;

    uint32_t process = process_track(perfetto, process_id, err);
    uint32_t track = perfetto_place(perfetto, TRACK_OF_COUNTER, process_id,
                                    saturating_add(saturating_multiply(device, COUNTERS), counter), &is_new);
    if (process == NO_KEY || track == NO_KEY)
        return error_short_memory(err, "for the trace");
    if (is_new && (code = describe_counter(perfetto, track, process, allocator, counter_names[counter], err)) != 0)
        return code;
    text_clear(&perfetto->moment);
    protobuf_varint(&perfetto->moment, EVENT_TYPE, TYPE_COUNTER);
    protobuf_varint(&perfetto->moment, EVENT_TRACK, perfetto->list[track].uuid);
    protobuf_varint(&perfetto->moment, EVENT_COUNTER, (uint64_t)value);
    return perfetto_write_event(perfetto, event->start_ns, "", 0, &perfetto->moment, err);
}

/* The bytes that an allocator has given out and those that it holds, as curves. */
static int perfetto_add_counters(struct perfetto *perfetto, const struct trace_event *event, struct error *err)
{
    struct allocator allocator = allocator_of(event);
    int code;

    for (size_t i = 0; i < event->arg_count; i++)
        for (int64_t counter = 0; counter < COUNTERS; counter++) {
            const struct trace_arg *arg = &event->args[i];
            if (!arg->name || strcmp(arg->name, counter_names[counter]) != 0)
                continue;
            if ((code = perfetto_add_counter(perfetto, event, allocator, counter, arg->numbers[0], err)) != 0)
                return code;
        }
    return 0;
}

static int perfetto_add_moment(struct perfetto *perfetto, const struct trace_event *event, uint32_t track,
                               struct error *err)
{
    struct text *body = &perfetto->moment;
    int is_memory = strcmp(event->name.bytes, "[memory]") == 0 && event->where == ON_THREAD, code;

    if (is_memory && (code = perfetto_add_counters(perfetto, event, err)) != 0)
        return code;
    text_clear(body);
    if ((code = perfetto_add_body(perfetto, body, event, err)) != 0)
        return code;
    protobuf_varint(body, EVENT_TYPE, TYPE_INSTANT);
    protobuf_varint(body, EVENT_TRACK, perfetto->list[track].uuid);
    return perfetto_write_event(perfetto, event->start_ns, "", 0, body, err);
}

static int perfetto_add_value(struct perfetto *perfetto, const struct trace_event *event, uint32_t track,
                              struct error *err)
{
    struct text *body = &perfetto->moment;

    text_clear(body);
    protobuf_varint(body, EVENT_TYPE, TYPE_COUNTER);
    protobuf_varint(body, EVENT_TRACK, perfetto->list[track].uuid);
    protobuf_double(body, EVENT_REAL_COUNTER, event->args[0].real);
    return perfetto_write_event(perfetto, event->start_ns, "", 0, body, err);
}

static int perfetto_take_event(void *context, const struct trace_event *event, struct error *err)
{
    struct perfetto *perfetto = context;
    uint32_t track = track_of(perfetto, event, err);

    if (track == NO_KEY)
        return error_short_memory(err, "for the trace");
    if (event->phase == TRACE_SPAN)
        return perfetto_add_span(perfetto, event, track, err);
    if (event->phase == TRACE_COUNTER)
        return perfetto_add_value(perfetto, event, track, err);
    return event->phase == TRACE_FLOW ? perfetto_add_flow(perfetto, event, track, err)
                                      : perfetto_add_moment(perfetto, event, track, err);
}

/* ---- all of it ------------------------------------------------------------------------------------------------- */

/* The first packet: it clears the state of the sequence, and defines the clocks. */
static int add_clocks(struct perfetto *perfetto, struct error *err)
{
    struct trace_clock clock;
    int code;

    if ((code = trace_clock(perfetto->report, perfetto->options, &clock, err)) != 0)
        return code;
    const uint64_t times[][2] = { { CLOCK_BOOT, (uint64_t)clock.shift_ns },
                                  { CLOCK_UTC, (uint64_t)saturating_add(clock.base_ns, clock.origin_ns) } };
    perfetto->shift_ns = clock.shift_ns;
    begin_packet(perfetto, FLAG_CLEARED);
    size_t clocks = protobuf_begin(&perfetto->out, PACKET_CLOCKS);
    for (int i = 0; i < 2; i++) {
        size_t one = protobuf_begin(&perfetto->out, CLOCK);
        protobuf_varint(&perfetto->out, CLOCK_ID, times[i][0]);
        protobuf_varint(&perfetto->out, CLOCK_TIME, times[i][1]);
        protobuf_end(&perfetto->out, one);
    }
    protobuf_varint(&perfetto->out, PRIMARY_CLOCK, CLOCK_BOOT);
    protobuf_end(&perfetto->out, clocks);
    return end_packet(perfetto, err);
}

static int write_trace(void *context, struct outfile *output, struct error *err)
{
    struct perfetto *perfetto = context;
    struct trace_sink sink = { perfetto_take_event, perfetto };
    int code;

    perfetto->output = output;
    if ((code = add_clocks(perfetto, err)) != 0)
        return code;
    if ((code = trace_walk(perfetto->report, perfetto->options, &sink, err)) != 0)
        return code;
    if ((code = perfetto_write_spans(perfetto, err)) != 0)
        return code;
    return outfile_put(output, &perfetto->out, 0, err);
}

static void perfetto_free(struct perfetto *perfetto)
{
    struct text *texts[] = { &perfetto->out, &perfetto->bodies, &perfetto->moment };
    struct perfetto_texts *lists[] = { &perfetto->categories, &perfetto->names, &perfetto->annotations,
                                       &perfetto->strings };

    tracks_close(&perfetto->tracks);
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        text_free(texts[i]);
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        intern_free(&lists[i]->list);
    for (size_t i = 0; i < perfetto->placed.count && perfetto->list; i++) {
        free(perfetto->list[i].spans);
        free(perfetto->list[i].flows);
    }
    keys_free(&perfetto->placed);
    free(perfetto->list);
    free(perfetto);
}

static int perfetto_export_report(struct report *report, const char *path, const struct export_options *options,
                                  struct error *err)
{
    struct perfetto *perfetto = calloc(1, sizeof *perfetto);
    int code;

    if (!perfetto)
        return error_short_memory(err, "for the trace");
    perfetto->report = report;
    perfetto->options = options;
    perfetto->placed.width = 3;
    if ((code = tracks_open(&perfetto->tracks, report, err)) != 0)
        goto free_perfetto;
    code = outfile_write(path, options->gzip, write_trace, perfetto, err);
free_perfetto:
    perfetto_free(perfetto);
    return code;
}

const struct exporter export_perfetto = {
    .name = "perfetto",
    .help = "trace in Perfetto's own format",
    .extension = "pftrace",
    .gzips = 1,
    .export_report = perfetto_export_report,
};
