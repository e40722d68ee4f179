/* OpenACC: records the events that the runtime reports through its profiling interface.
 *
 * The runtime calls back in the thread that executes the directive, at the begin and at the end of an event. The thread
 * keeps the begins; the record is written at the end. GCC's runtime gives neither file nor line, so the outermost event
 * of a directive comes with a copy of the stack, in which the collector finds the directive. */
#include "openacc_agent.h"

#include "agent/core/source.h"
#include "agent/core/stack_copy.h"
#include "wire/wire_openacc.h"

#define STACK_BYTES 4096u /* a few frames of the runtime lie between the callback and the directive */

struct openacc_agent_thread {
    uint64_t starts[WIRE_OPENACC_DEPTH]; /* ticks; 0: nothing was recorded then */
    uint8_t events[WIRE_OPENACC_DEPTH];
    uint32_t depth;                      /* may exceed WIRE_OPENACC_DEPTH */
    uint32_t unused;
    uint64_t place;                      /* ticks of the WIRE_STACK of the outermost event; 0: it has none */
};
AGENT_THREAD_STATE(OPENACC, struct openacc_agent_thread, openacc_of)

/* True if the struct has the field. */
#define HAS(info, field)                                                                                               \
    ((info)->valid_bytes >= (int32_t)(offsetof(__typeof__(*(info)), field) + sizeof(info)->field))

/* ---- A record -------------------------------------------------------------------------------------------------- */

enum { SOURCE_FILE, FUNCTION, OBJECT, TEXTS };

struct reported {
    const struct openacc_info *info;
    const struct openacc_event_info *event;
    const struct openacc_api_info *api;
    uint32_t number, depth;     /* enum openacc_event; events around it */
    uint64_t start, end, place; /* place: ticks of the WIRE_STACK */
};

static int has_line(const struct openacc_info *info)
{
    return HAS(info, line) && info->source_file && info->line > 0;
}

static const char *object_name(const struct reported *reported)
{
    const struct openacc_event_info *event = reported->event;
    if (reported->number == OPENACC_ENQUEUE_LAUNCH)
        return HAS(event, of.launch.kernel_name) ? event->of.launch.kernel_name : NULL;
    int is_data = (reported->number >= OPENACC_CREATE && reported->number <= OPENACC_FREE) ||
                  reported->number == OPENACC_ENQUEUE_UPLOAD || reported->number == OPENACC_ENQUEUE_DOWNLOAD;
    return is_data && HAS(event, of.data.variable_name) ? event->of.data.variable_name : NULL;
}

static void openacc_agent_add_sizes(struct wire_record *record, const struct reported *reported)
{
    const struct openacc_event_info *event = reported->event;
    record->body[4] = record->body[5] = record->body[6] = 0;
    if (reported->number == OPENACC_ENQUEUE_LAUNCH && HAS(event, of.launch.vector_length)) {
        record->body[4] = event->of.launch.gangs;
        record->body[5] = event->of.launch.workers;
        record->body[6] = event->of.launch.vector_length;
        record->flags |= WIRE_OPENACC_HAS_SIZES;
    } else if (HAS(event, of.data.bytes)) {
        record->body[4] = event->of.data.bytes;
        record->flags |= WIRE_OPENACC_HAS_SIZES;
    }
}

/* GCC leaves these fields unknown, whatever the event; other runtimes number their threads. */
static int is_of_gcc(const struct reported *reported)
{
    return reported->info->thread_id == -1 && HAS(reported->api, vendor) && reported->api->vendor == -1;
}

static void emit_event(struct agent_thread *thread, const struct reported *reported)
{
    const struct openacc_info *info = reported->info;
    const char *texts[TEXTS] = { HAS(info, source_file) ? info->source_file : NULL,
                                 HAS(info, function_name) ? info->function_name : NULL, object_name(reported) };
    size_t lengths[TEXTS];
    uint32_t words = WIRE_HEAD_WORDS + WIRE_OPENACC_BODY_WORDS;
    for (int i = 0; i < TEXTS; i++) {
        lengths[i] = texts[i] ? strnlen(texts[i], WIRE_OPENACC_TEXT_MAX) : 0;
        words += emit_text_words(lengths[i]);
    }
    struct agent_lane *lane;
    struct wire_record *record = emit_begin(thread, &lane, WIRE_SOURCE_OPENACC, WIRE_OPENACC_EVENT, words);
    if (!record)
        return;
    record->a = (uint16_t)reported->number;
    record->b = (uint16_t)reported->depth;
    record->flags = (uint8_t)((reported->event->is_implicit ? WIRE_OPENACC_IMPLICIT : 0) |
                              (is_of_gcc(reported) ? WIRE_OPENACC_OF_GCC : 0));
    record->ticks = reported->start;
    record->body[0] = reported->end;
    record->body[1] = reported->place;
    record->body[2] = (uint64_t)(uint32_t)info->device_type << 32 | (uint32_t)info->device_number;
    record->body[3] = has_line(info) ? (uint64_t)info->line : 0;
    openacc_agent_add_sizes(record, reported);
    uint64_t *to = record->body + WIRE_OPENACC_BODY_WORDS;
    for (int i = 0; i < TEXTS; i++) {
        emit_text(to, texts[i] ? texts[i] : "", lengths[i]);
        to += emit_text_words(lengths[i]);
    }
    emit_commit(lane, record);
}

static void emit_start(struct agent_thread *thread, uint32_t number, uint32_t depth)
{
    const struct openacc_agent_thread *own = openacc_of(thread);
    struct agent_lane *lane;
    enum wire_fate fate; /* the event itself is counted at its end */
    struct wire_record *record = emit_reserve(thread, &lane, WIRE_OPENACC_BEGIN, WIRE_HEAD_WORDS + 1, &fate);
    if (!record)
        return;
    record->a = (uint16_t)number;
    record->b = (uint16_t)depth;
    record->ticks = own->starts[depth];
    record->body[0] = own->place;
    emit_commit(lane, record);
}

/* Returns the ticks of the copy, which is no part of the event's own time; 0: there is none. */
static uint64_t emit_place(struct agent_thread *thread, const struct openacc_info *info)
{
    if (has_line(info))
        return 0;
    uint64_t ticks = agent_ticks();
    stack_copy_emit(thread, &(struct chain_of){ WIRE_SOURCE_OPENACC, 0, ticks, STACK_BYTES, AGENT_STACK_OF_CALL });
    return ticks;
}

/* ---- The events of a thread ------------------------------------------------------------------------------------ */

static void openacc_agent_begin(struct agent_thread *thread, const struct openacc_info *info)
{
    struct openacc_agent_thread *own = openacc_of(thread);
    uint32_t depth = own->depth++;
    if (depth >= WIRE_OPENACC_DEPTH)
        return;
    own->events[depth] = (uint8_t)info->event;
    own->starts[depth] = 0;
    if (!agent_recording(WIRE_BIT(OPENACC)))
        return;
    if (depth == 0)
        own->place = emit_place(thread, info);
    own->starts[depth] = agent_ticks();
    emit_start(thread, (uint32_t)info->event, depth);
}

static void openacc_agent_end(struct agent_thread *thread, struct reported *reported)
{
    struct openacc_agent_thread *own = openacc_of(thread);
    uint32_t depth = own->depth;
    reported->end = agent_ticks();
    if (depth > WIRE_OPENACC_DEPTH) {
        own->depth--;
        if (agent_recording(WIRE_BIT(OPENACC)))
            agent_count(thread, WIRE_SOURCE_OPENACC, WIRE_LOST_BUFFER_FULL);
        return;
    }
    /* An event that an exception left has no end. An end without its begin is that of a forked child. */
    while (depth && own->events[depth - 1] != reported->number)
        depth--;
    if (!depth)
        return;
    own->depth = --depth;
    if (!own->starts[depth] || !agent_recording(WIRE_BIT(OPENACC)))
        return;
    reported->depth = depth;
    reported->start = own->starts[depth];
    reported->place = own->place;
    emit_event(thread, reported);
}

static void point(struct agent_thread *thread, struct reported *reported)
{
    struct openacc_agent_thread *own = openacc_of(thread);
    if (!agent_recording(WIRE_BIT(OPENACC)))
        return;
    reported->depth = own->depth;
    reported->place = own->depth ? own->place : emit_place(thread, reported->info);
    reported->start = reported->end = agent_ticks();
    emit_event(thread, reported);
}

/* ---- The callback ---------------------------------------------------------------------------------------------- */

enum openacc_agent_role { NO_EVENT, BEGIN, END, POINT };
static const uint8_t roles[OPENACC_EVENT_COUNT] = {
#define SPAN_ROLES(number, name) [number] = BEGIN, [(number) + 1] = END,
#define POINT_ROLE(number, name) [number] = POINT,
    OPENACC_EVENTS(SPAN_ROLES, POINT_ROLE)
#undef SPAN_ROLES
#undef POINT_ROLE
};

static void happened(const struct openacc_info *info, const struct openacc_event_info *event,
                     const struct openacc_api_info *api)
{
    int saved_errno = errno;
    struct agent_thread *thread = agent_thread();
    uint32_t number = info && event && api && HAS(info, async_queue) ? (uint32_t)info->event : 0;
    enum openacc_agent_role role = number < OPENACC_EVENT_COUNT ? roles[number] : NO_EVENT;
    if (!thread || role == NO_EVENT) {
        errno = saved_errno;
        return;
    }
    struct reported reported = { .info = info, .event = event, .api = api, .number = number - (role == END) };
    switch (role) {
    case BEGIN: openacc_agent_begin(thread, info); break;
    case END: openacc_agent_end(thread, &reported); break;
    default: point(thread, &reported); break;
    }
    errno = saved_errno;
}

EXPORT void tacho_agent_openacc(openacc_register_function *register_callback)
{
    if (!register_callback || !agent_thread() || !(agent.sources & WIRE_BIT(OPENACC)))
        return;
    for (int number = 1; number < OPENACC_EVENT_COUNT; number++)
        if (roles[number] != NO_EVENT)
            register_callback(number, happened, OPENACC_REGISTER);
}

const struct agent_source agent_source_openacc = { 0 };
