/* Marks and ranges: see nvtx_records.h; nvtx_names.c handles what they refer to.
 *
 * A push goes onto the stack of its thread and domain, at the level that the agent gave it; its pop takes it off and
 * writes the row. If a level is pushed while it is in use, its pop was lost. Start and end are joined in a map,
 * whichever comes first. A row waits if its registered string or its schema has not been read yet. */
#include "nvtx_records.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "collect/core/clock_map.h"
#include "nvtx_library.h"
#include "nvtx_state.h"
#include "wire/wire_nvtx.h"

#define LEVELS_MAX (1u << 20) /* of one thread, in all domains together */
#define RANGES_MAX (1u << 20) /* ranges open at the same time, and ends without a start */
#define WAITING_MAX (1u << 14)
#define PARTS_MAX 64          /* payloads of one event */

/* ---- Text ------------------------------------------------------------------------------------------------------ */

size_t nvtx_text_length(const uint64_t *words, uint32_t count)
{
    return strnlen((const char *)words, (size_t)count * 8);
}

static int64_t new_text(struct nvtx_process *process, const uint64_t *words, uint32_t count)
{
    return writer_string(process->writer, (const char *)words, nvtx_text_length(words, count));
}

/* Programs repeat few texts very often, so a small cache comes before the writer's table. */
int64_t nvtx_text_id(struct nvtx_process *process, const uint64_t *words, uint32_t count)
{
    if (count == 0 || count > NVTX_CACHE_WORDS)
        return new_text(process, words, count);
    if (!process->cache && !(process->cache = calloc(NVTX_CACHE_SLOTS, sizeof *process->cache)))
        return new_text(process, words, count);
    uint64_t hash = count;
    for (uint32_t i = 0; i < count; i++)
        hash = (hash ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
    struct nvtx_cached *cached = &process->cache[hash >> 56];
    _Static_assert(NVTX_CACHE_SLOTS == 256, "eight bits of the hash choose the slot");
    if (cached->count == count && memcmp(cached->words, words, (size_t)count * 8) == 0)
        return cached->id;
    cached->id = new_text(process, words, count);
    cached->count = count;
    memcpy(cached->words, words, (size_t)count * 8);
    return cached->id;
}

/* ---- Rows ------------------------------------------------------------------------------------------------------ */

static void set_payload(struct row_NVTX_EVENTS *row, uint8_t flags, uint64_t bits)
{
    double real;
    float single;
    memcpy(&real, &bits, sizeof real);
    memcpy(&single, &bits, sizeof single);
    switch ((flags & WIRE_NVTX_PAYLOAD_MASK) >> WIRE_NVTX_PAYLOAD_SHIFT) {
    case 1: ROW_SET(row, NVTX_EVENTS, uint64Value, (int64_t)bits); break;
    case 2: ROW_SET(row, NVTX_EVENTS, int64Value, (int64_t)bits); break;
    case 3: ROW_SET(row, NVTX_EVENTS, doubleValue, real); break;
    case 4: ROW_SET(row, NVTX_EVENTS, uint32Value, (int64_t)(uint32_t)bits); break;
    case 5: ROW_SET(row, NVTX_EVENTS, int32Value, (int64_t)(int32_t)(uint32_t)bits); break;
    case 6: ROW_SET(row, NVTX_EVENTS, floatValue, (double)single); break;
    }
}

/* Ids of the decoded payloads in the writer's string pool; 0: none. */
struct decoded {
    int64_t json, hex;
};

static struct decoded decode_parts(struct nvtx_process *process, struct nvtx_event *event)
{
    struct text json = { 0 }, hex = { 0 };
    struct decoded decoded = { 0 };
    nvtx_payload_decode(process, event, &json, &hex);
    if (json.length && !text_failed(&json))
        decoded.json = writer_string(process->writer, json.bytes, json.length);
    if (hex.length && !text_failed(&hex))
        decoded.hex = writer_string(process->writer, hex.bytes, hex.length);
    text_free(&json);
    text_free(&hex);
    nvtx_parts_free(event->parts);
    event->parts = NULL;
    return decoded;
}

static void nvtx_records_set_name(const struct nvtx_process *process, struct row_NVTX_EVENTS *row,
                                  const struct nvtx_event *event)
{
    if (event->flags & WIRE_NVTX_HAS_TEXT)
        ROW_SET(row, NVTX_EVENTS, text, event->text);
    else if ((event->flags & WIRE_NVTX_REGISTERED) && nvtx_string(process, event->string) >= 0)
        ROW_SET(row, NVTX_EVENTS, textId, nvtx_string(process, event->string));
}

/* Fills the columns as nsys does: no category for 0, no second thread for a range that ends on the thread where it
 * began. */
void nvtx_write_row(struct nvtx_process *process, struct nvtx_event *event, const struct nvtx_place *place)
{
    struct decoded decoded = event->parts ? decode_parts(process, event) : (struct decoded){ 0 };
    size_t count = 1;
    struct row_NVTX_EVENTS *row = writer_reserve(process->writer, TABLE_NVTX_EVENTS, &count);
    row->present = 0;
    ROW_SET(row, NVTX_EVENTS, start, event->start);
    ROW_SET(row, NVTX_EVENTS, eventType, place->type);
    ROW_SET(row, NVTX_EVENTS, globalTid, place->tid);
    ROW_SET(row, NVTX_EVENTS, domainId, event->domain);
    if (place->has_end)
        ROW_SET(row, NVTX_EVENTS, end, place->end);
    if (place->range)
        ROW_SET(row, NVTX_EVENTS, rangeId, (int64_t)place->range);
    if (place->has_end && place->end_tid != place->tid)
        ROW_SET(row, NVTX_EVENTS, endGlobalTid, place->end_tid);
    if (event->flags & WIRE_NVTX_HAS_CATEGORY)
        ROW_SET(row, NVTX_EVENTS, category, event->category);
    if (event->flags & WIRE_NVTX_HAS_COLOR)
        ROW_SET(row, NVTX_EVENTS, color, event->color);
    if (event->flags & WIRE_NVTX_PAYLOAD_MASK)
        set_payload(row, event->flags, event->payload);
    if (decoded.json)
        ROW_SET(row, NVTX_EVENTS, jsonText, decoded.json);
    if (decoded.hex)
        ROW_SET(row, NVTX_EVENTS, binaryData, decoded.hex);
    nvtx_records_set_name(process, row, event);
    writer_commit(process->writer, TABLE_NVTX_EVENTS, 1);
    if (place->type == NVTX_ROW_MARK || place->type == NVTX_ROW_PUSH_POP || place->type == NVTX_ROW_START_END) {
        process->counts.recorded++;
        process->counts.library_recorded += library_counts(process, event->domain);
        if (library_is_call(process, event->domain))
            library_call_row(process, event, place);
    }
}

static int nvtx_records_is_complete(const struct nvtx_process *process, const struct nvtx_event *event)
{
    return (!(event->flags & WIRE_NVTX_REGISTERED) || nvtx_string(process, event->string) >= 0) &&
           (!event->parts || nvtx_payload_known(process, event));
}

static void wait_row(struct nvtx_process *process, struct nvtx_event *event, const struct nvtx_place *place)
{
    if (array_reserve_up_to(&process->waiting, &process->waiting_capacity, process->waiting_count + 1, WAITING_MAX,
                            sizeof *process->waiting) != 0) {
        nvtx_write_row(process, event, place);
        return;
    }
    process->waiting[process->waiting_count++] = (struct nvtx_row){ .event = *event, .place = *place };
}

/* Writes the row or lets it wait. Takes ownership of the event's payloads. */
static inline void finish_row(struct nvtx_process *process, struct nvtx_event *event, const struct nvtx_place *place)
{
    if (__builtin_expect(nvtx_records_is_complete(process, event), 1))
        nvtx_write_row(process, event, place);
    else
        wait_row(process, event, place);
}

/* Goes through all rows that wait, so it does that only once in a while. */
void nvtx_write_waiting(struct nvtx_process *process, int force)
{
    size_t kept = 0;
    if (!force && ++process->told * 16 < process->waiting_count)
        return;
    process->told = 0;
    for (size_t i = 0; i < process->waiting_count; i++) {
        struct nvtx_row *row = &process->waiting[i];
        if (force || nvtx_records_is_complete(process, &row->event))
            nvtx_write_row(process, &row->event, &row->place);
        else
            process->waiting[kept++] = *row;
    }
    process->waiting_count = kept;
}

/* ---- Reading an event ------------------------------------------------------------------------------------------ */

/* Reads the body from `at` on. Returns 0, or -1 if it is shorter than its flags say. */
static int nvtx_records_read_event(struct nvtx_thread *thread, const struct wire_record *record, uint32_t words,
                                   uint32_t at, struct nvtx_event *event)
{
    uint32_t body = words - WIRE_HEAD_WORDS, flags = record->flags;
    uint32_t needed = at + ((flags & (WIRE_NVTX_HAS_CATEGORY | WIRE_NVTX_HAS_COLOR)) != 0) +
                      ((flags & WIRE_NVTX_PAYLOAD_MASK) != 0) +
                      ((flags & (WIRE_NVTX_REGISTERED | WIRE_NVTX_HAS_TEXT)) != 0);
    if (body < needed)
        return -1;
    event->start = clock_map_time(thread->process->clock, record->ticks);
    event->domain = record->a;
    event->flags = (uint8_t)flags;
    event->open = 1;
    event->parts = NULL;
    if (flags & (WIRE_NVTX_HAS_CATEGORY | WIRE_NVTX_HAS_COLOR)) {
        event->category = (uint32_t)record->body[at];
        event->color = (uint32_t)(record->body[at] >> 32);
        at++;
    }
    if (flags & WIRE_NVTX_PAYLOAD_MASK)
        event->payload = record->body[at++];
    if (flags & WIRE_NVTX_REGISTERED)
        event->string = record->body[at] < STRINGS_MAX ? (uint32_t)record->body[at] : 0;
    else if (flags & WIRE_NVTX_HAS_TEXT)
        event->text = nvtx_text_id(thread->process, record->body + at, body - at);
    return 0;
}

/* ---- Push and pop ---------------------------------------------------------------------------------------------- */

/* Returns the event of a level, and makes it if there is none. Returns NULL when there is no room for it. */
static __attribute__((noinline)) struct nvtx_event *make_level(struct nvtx_thread *thread, uint16_t domain,
                                                               uint16_t level)
{
    if (array_reserve_zeroed(&thread->stacks, &thread->stack_count, domain + (size_t)1, sizeof *thread->stacks) != 0)
        return NULL;
    struct nvtx_stack *stack = &thread->stacks[domain];
    size_t of_others = thread->level_total - stack->capacity;
    if (array_reserve_zeroed_up_to(&stack->levels, &stack->capacity, level + (size_t)1, LEVELS_MAX - of_others,
                                   sizeof *stack->levels) != 0)
        return NULL;
    thread->level_total = of_others + stack->capacity;
    return &stack->levels[level];
}

static inline struct nvtx_event *find_level(const struct nvtx_thread *thread, uint16_t domain, uint16_t level)
{
    return domain < thread->stack_count && level < thread->stacks[domain].capacity
               ? &thread->stacks[domain].levels[level]
               : NULL;
}

static void drop_event(struct nvtx_event *event)
{
    nvtx_parts_free(event->parts);
    event->parts = NULL;
    event->open = 0;
}

static void count_end_lost(struct nvtx_process *process, uint16_t domain)
{
    process->counts.end_lost++;
    process->counts.library_end_lost += library_counts(process, domain);
}

/* Returns the event of a push, free to be filled; NULL when there is no room for it. */
static struct nvtx_event *push_place(struct nvtx_thread *thread, uint16_t domain, uint16_t level)
{
    struct nvtx_event *place = find_level(thread, domain, level);
    if (!place && !(place = make_level(thread, domain, level))) {
        count_end_lost(thread->process, domain);
        return NULL;
    }
    if (place->open) { /* its pop never came */
        count_end_lost(thread->process, domain);
        drop_event(place);
    }
    return place;
}

static void keep_push(struct nvtx_thread *thread, const struct nvtx_event *event, uint16_t level)
{
    struct nvtx_event *place = push_place(thread, event->domain, level);
    if (place)
        *place = *event;
    else
        nvtx_parts_free(event->parts);
}

static void append_parts(struct nvtx_event *event, struct nvtx_part *parts)
{
    struct nvtx_part **last = &event->parts;
    while (*last)
        last = &(*last)->next;
    *last = parts;
}

/* The payloads of the pop follow those of the push. */
static void finish_pop(struct nvtx_thread *thread, uint16_t domain, uint16_t level, int64_t end,
                       struct nvtx_part *parts)
{
    struct nvtx_event *event = find_level(thread, domain, level);
    if (!event || !event->open) {
        thread->process->counts.damaged++;
        nvtx_parts_free(parts);
        return;
    }
    if (parts)
        append_parts(event, parts);
    if (library_range_ends(thread, event)) {
        drop_event(event);
        return;
    }
    const struct nvtx_place place = {
        .type = NVTX_ROW_PUSH_POP, .tid = thread->tid, .end_tid = thread->tid, .has_end = 1, .end = end
    };
    finish_row(thread->process, event, &place);
    event->open = 0;
    event->parts = NULL;
}

/* ---- Start and end --------------------------------------------------------------------------------------------- */

/* Keeps one half of a range until the other one comes. Returns 0, or -1 when there is no room for it. */
static int keep_half(struct nvtx_process *process, const struct nvtx_range *half)
{
    return process->ranges.count < RANGES_MAX && nvtx_range_map_add(&process->ranges, half) ? 0 : -1;
}

static void finish_range(struct nvtx_process *process, struct nvtx_row *start, const struct nvtx_row *end)
{
    start->place.has_end = 1;
    start->place.end = end->place.end;
    start->place.end_tid = end->place.end_tid;
    append_parts(&start->event, end->event.parts);
    finish_row(process, &start->event, &start->place);
}

static void keep_start(struct nvtx_thread *thread, struct nvtx_row *row)
{
    struct nvtx_process *process = thread->process;
    uint64_t id = row->place.range;
    row->place.type = NVTX_ROW_START_END;
    row->place.tid = thread->tid;
    struct nvtx_range *other = nvtx_range_map_find(&process->ranges, id);
    if (other && other->ended) {
        finish_range(process, row, &other->row);
        nvtx_range_map_remove(&process->ranges, other);
    } else if (other) { /* ids are never reused, so the program has overwritten this record */
        process->counts.damaged++;
        nvtx_parts_free(other->row.event.parts);
        nvtx_parts_free(row->event.parts);
        nvtx_range_map_remove(&process->ranges, other);
    } else if (keep_half(process, &(struct nvtx_range){ .id = id, .row = *row }) != 0) {
        finish_row(process, &row->event, &row->place);
    }
}

static void finish_end(struct nvtx_thread *thread, struct nvtx_row *row)
{
    struct nvtx_process *process = thread->process;
    uint64_t id = row->place.range;
    row->place.end = row->event.start;
    row->place.end_tid = thread->tid;
    struct nvtx_range *other = nvtx_range_map_find(&process->ranges, id);
    if (other && !other->ended) {
        finish_range(process, &other->row, row);
        nvtx_range_map_remove(&process->ranges, other);
    } else if (other) {
        /* The program has ended the range twice. The second end is no event, so the first one is kept. */
        nvtx_parts_free(row->event.parts);
    } else if (keep_half(process, &(struct nvtx_range){ .id = id, .ended = 1, .row = *row }) != 0) {
        nvtx_parts_free(row->event.parts); /* no event is lost: the start has a row, or gets one without an end */
    }
}

/* ---- Events, and the payloads after them ----------------------------------------------------------------------- */

static void finish_event(struct nvtx_thread *thread, unsigned type, struct nvtx_row *row, uint16_t level)
{
    switch (type) {
    case WIRE_NVTX_PUSH: keep_push(thread, &row->event, level); break;
    case WIRE_NVTX_POP: finish_pop(thread, row->event.domain, level, row->event.start, row->event.parts); break;
    case WIRE_NVTX_MARK:
        row->place.type = NVTX_ROW_MARK;
        row->place.tid = thread->tid;
        finish_row(thread->process, &row->event, &row->place);
        break;
    case WIRE_NVTX_START: keep_start(thread, row); break;
    case WIRE_NVTX_END: finish_end(thread, row); break;
    }
}

static void finish_pending(struct nvtx_thread *thread)
{
    unsigned type = thread->pending_type;
    thread->pending_type = 0;
    finish_event(thread, type, &thread->pending, thread->pending_level);
}

static void nvtx_records_event_record(struct nvtx_thread *thread, const struct wire_record *record, uint32_t words)
{
    unsigned type = record->type;
    uint32_t at = type == WIRE_NVTX_START || type == WIRE_NVTX_END;
    struct nvtx_row row; /* not cleared as a whole, since there are millions of them */
    row.place.has_end = 0;
    row.place.end = row.place.tid = row.place.end_tid = 0;
    if (nvtx_records_read_event(thread, record, words, at, &row.event) != 0 || (at && record->body[0] == 0)) {
        thread->process->counts.damaged++;
        return;
    }
    row.place.range = at ? record->body[0] : 0;
    if (!(record->flags & WIRE_NVTX_HAS_BINARY)) {
        finish_event(thread, type, &row, record->b);
        return;
    }
    thread->pending = row;
    thread->pending_type = (uint8_t)type;
    thread->pending_level = record->b;
}

/* Most records are pushes and pops without payloads. They are read directly into their level and written from there. */
static inline void push_record(struct nvtx_thread *thread, const struct wire_record *record, uint32_t words)
{
    struct nvtx_event *place = push_place(thread, record->a, record->b);
    if (place && nvtx_records_read_event(thread, record, words, 0, place) != 0) {
        place->open = 0;
        thread->process->counts.damaged++;
    }
}

static inline void pop_record(struct nvtx_thread *thread, const struct wire_record *record)
{
    finish_pop(thread, record->a, record->b, clock_map_time(thread->process->clock, record->ticks), NULL);
}

/* Returns 1 if another payload follows. */
static int binary_record(struct nvtx_thread *thread, const struct wire_record *record, uint32_t words)
{
    size_t room = (size_t)(words - WIRE_HEAD_WORDS) * 8, count = 0;
    if (!thread->pending_type || room < 16) {
        thread->process->counts.damaged++;
        return 0;
    }
    struct nvtx_part **last = &thread->pending.event.parts;
    for (; *last; last = &(*last)->next)
        count++;
    uint64_t bytes = record->body[1] <= room - 16 ? record->body[1] : room - 16;
    struct nvtx_part *part = count < PARTS_MAX ? malloc(sizeof *part + bytes) : NULL;
    if (part) {
        *part = (struct nvtx_part){
            .id = record->body[0],
            .bytes = (uint32_t)bytes,
            .cut = record->body[1] > bytes,
            .pointed = record->flags & WIRE_BINARY_POINTED,
        };
        memcpy(part->data, record->body + 2, bytes);
        *last = part;
    }
    return (record->flags & WIRE_NVTX_HAS_BINARY) != 0;
}

/* ---- The records of a thread ----------------------------------------------------------------------------------- */

void nvtx_record(struct nvtx_thread *thread, const struct wire_record *record, uint32_t words)
{
    if (record->type == WIRE_NVTX_BINARY) {
        if (!binary_record(thread, record, words) && thread->pending_type)
            finish_pending(thread);
        return;
    }
    if (__builtin_expect(thread->pending_type, 0)) /* its payloads never came */
        finish_pending(thread);
    if (record->type == WIRE_NVTX_PUSH && !(record->flags & WIRE_NVTX_HAS_BINARY))
        push_record(thread, record, words);
    else if (record->type == WIRE_NVTX_POP && !(record->flags & WIRE_NVTX_HAS_BINARY))
        pop_record(thread, record);
    else if (record->type <= WIRE_NVTX_END && record->type >= WIRE_NVTX_MARK)
        nvtx_records_event_record(thread, record, words);
    else if (nvtx_name_record(thread, record, words) != 0)
        thread->process->counts.damaged++;
}

/* ---- Creation and end ------------------------------------------------------------------------------------------ */

struct nvtx_process *nvtx_process_new(struct writer *writer, const struct clock_map *clock, int64_t global_pid)
{
    struct nvtx_process *process = calloc(1, sizeof *process);
    if (process) {
        process->writer = writer;
        process->clock = clock;
        process->global_pid = global_pid;
    }
    return process;
}

void nvtx_process_sources(struct nvtx_process *process, uint32_t sources)
{
    process->sources = sources;
}

struct nvtx_thread *nvtx_thread_new(struct nvtx_process *process, int64_t global_tid)
{
    struct nvtx_thread *thread = calloc(1, sizeof *thread);
    if (thread) {
        thread->process = process;
        thread->tid = global_tid;
    }
    return thread;
}

void nvtx_thread_finish(struct nvtx_thread *thread)
{
    if (thread->pending_type)
        finish_pending(thread);
    for (uint32_t domain = 0; domain < thread->stack_count; domain++) {
        struct nvtx_stack *stack = &thread->stacks[domain];
        for (uint32_t level = 0; level < stack->capacity; level++) {
            if (!stack->levels[level].open)
                continue;
            const struct nvtx_place place = { .type = NVTX_ROW_PUSH_POP, .tid = thread->tid };
            finish_row(thread->process, &stack->levels[level], &place);
        }
        free(stack->levels);
    }
    free(thread->stacks);
    free(thread);
}

void nvtx_process_finish(struct nvtx_process *process, struct nvtx_counts *counts)
{
    for (struct nvtx_range *range = nvtx_range_map_next(&process->ranges, NULL); range;
         range = nvtx_range_map_next(&process->ranges, range))
        if (range->ended)
            nvtx_parts_free(range->row.event.parts);
        else
            finish_row(process, &range->row.event, &range->row.place);
    nvtx_write_waiting(process, 1);
    nvtx_payload_finish(process);
    if (counts)
        *counts = process->counts;
    nvtx_range_map_free(&process->ranges);
    free(process->waiting);
    free(process->strings);
    free(process->thread_names);
    arena_free(&process->string_texts);
    free(process->cache);
    free(process);
}

const struct nvtx_counts *nvtx_process_counts(const struct nvtx_process *process)
{
    return &process->counts;
}
