/* What NVTX events refer to: registered strings, domains, categories, names of threads and resources; and
 * synchronisation objects. A new string releases the rows that waited for it: see nvtx_records.c. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "collect/core/clock_map.h"
#include "nvtx_library.h"
#include "nvtx_records.h"
#include "nvtx_state.h"
#include "wire/wire_nvtx.h"

#define STRING_TEXTS_MAX (32u << 20)
#define THREAD_NAMES_MAX (1u << 16)

static struct nvtx_row nvtx_name_row(const struct nvtx_thread *thread, const struct wire_record *record, unsigned type)
{
    return (struct nvtx_row){
        .place = { .type = (uint8_t)type, .tid = thread->tid },
        .event = { .start = clock_map_time(thread->process->clock, record->ticks), .domain = record->a },
    };
}

static void nvtx_names_set_text(struct nvtx_thread *thread, struct nvtx_row *row, const uint64_t *words, uint32_t count)
{
    row->event.flags |= WIRE_NVTX_HAS_TEXT;
    row->event.text = nvtx_text_id(thread->process, words, count);
}

static int string_record(struct nvtx_thread *thread, const struct wire_record *record, uint32_t body)
{
    struct nvtx_process *process = thread->process;
    uint64_t id = body ? record->body[0] : 0;
    if (body < 2 || id == 0 || id >= STRINGS_MAX)
        return -1;
    if (array_reserve_zeroed_up_to(&process->strings, &process->string_capacity, id + 1, STRINGS_MAX,
                                   sizeof *process->strings) != 0)
        return 0;
    const char *bytes = (const char *)(record->body + 1);
    size_t length = nvtx_text_length(record->body + 1, body - 1);
    struct nvtx_string *string = &process->strings[id];
    string->id = writer_string(process->writer, bytes, length) + 1;
    if (!string->text && process->string_texts.total < STRING_TEXTS_MAX)
        string->text = arena_copy(&process->string_texts, bytes, length);
    if (process->waiting_count)
        nvtx_write_waiting(process, 0);
    return 0;
}

static void keep_thread_name(struct nvtx_process *process, uint32_t tid, int64_t id)
{
    if (array_reserve_up_to(&process->thread_names, &process->thread_name_capacity, process->thread_name_count + 1,
                            THREAD_NAMES_MAX, sizeof *process->thread_names) != 0)
        return;
    process->thread_names[process->thread_name_count++] = (struct nvtx_thread_name){ .tid = tid, .id = id };
}

int64_t nvtx_thread_name(const struct nvtx_process *process, uint32_t tid)
{
    for (size_t i = process->thread_name_count; i-- > 0;)
        if (process->thread_names[i].tid == tid)
            return process->thread_names[i].id;
    return -1;
}

/* The name of a resource or synchronisation object, from text or a registered string; -1 if it has none. */
static int64_t nvtx_name_of(struct nvtx_process *process, const struct wire_record *record, uint32_t at, uint32_t body)
{
    if (body <= at)
        return -1;
    if (record->flags & WIRE_NVTX_REGISTERED)
        return nvtx_string(process, record->body[at]);
    return nvtx_text_id(process, record->body + at, body - at);
}

static void cuda_name_row(struct nvtx_thread *thread, const struct wire_record *record, unsigned kind, int64_t name)
{
    static const uint8_t types[] = { [WIRE_RESOURCE_CUDA_DEVICE] = NVTX_ROW_CUDA_DEVICE,
                                     [WIRE_RESOURCE_CUDA_CONTEXT] = NVTX_ROW_CUDA_CONTEXT,
                                     [WIRE_RESOURCE_CUDA_STREAM] = NVTX_ROW_CUDA_STREAM };
    if (kind >= sizeof types || !types[kind])
        return;
    struct nvtx_row row = nvtx_name_row(thread, record, types[kind]);
    row.event.flags = 1 << WIRE_NVTX_PAYLOAD_SHIFT | (name >= 0 ? WIRE_NVTX_HAS_TEXT : 0);
    row.event.payload = record->body[0];
    row.event.text = name;
    nvtx_write_row(thread->process, &row.event, &row.place);
}

static int resource_record(struct nvtx_thread *thread, const struct wire_record *record, uint32_t body)
{
    static const char *const kinds[] = { "other",       "pointer",      "handle",      "thread",     "pthread",
                                         "cuda-device", "cuda-context", "cuda-stream", "cuda-event", "other" };
    struct nvtx_process *process = thread->process;
    unsigned kind = record->flags & 31;
    if (body < 2 || kind >= COUNT_OF(kinds))
        return -1;
    int destroyed = (record->flags & WIRE_RESOURCE_DESTROYED) != 0;
    const char *word = destroyed ? "destroyed" : kinds[kind];
    int64_t name = destroyed ? -1 : nvtx_name_of(process, record, 2, body);
    struct row_TACHO_RESOURCE row = { 0 };
    ROW_SET(&row, TACHO_RESOURCE, timestamp, clock_map_time(process->clock, record->ticks));
    ROW_SET(&row, TACHO_RESOURCE, globalTid, thread->tid);
    ROW_SET(&row, TACHO_RESOURCE, domainId, record->a);
    if (record->body[1])
        ROW_SET(&row, TACHO_RESOURCE, objectId, (int64_t)record->body[1]);
    ROW_SET(&row, TACHO_RESOURCE, kind, writer_string(process->writer, word, strlen(word)));
    if (!destroyed)
        ROW_SET(&row, TACHO_RESOURCE, identifier, (int64_t)record->body[0]);
    if (name >= 0)
        ROW_SET(&row, TACHO_RESOURCE, nameId, name);
    writer_append(process->writer, TABLE_TACHO_RESOURCE, &row);
    cuda_name_row(thread, record, destroyed ? 0 : kind, name);
    return 0;
}

static int sync_record(struct nvtx_thread *thread, const struct wire_record *record, uint32_t body)
{
    static const char *const actions[] = { [WIRE_SYNC_CREATE] = "create",
                                           [WIRE_SYNC_DESTROY] = "destroy",
                                           [WIRE_SYNC_ACQUIRE_START] = "acquire-start",
                                           [WIRE_SYNC_ACQUIRE_FAILED] = "acquire-failed",
                                           [WIRE_SYNC_ACQUIRE_SUCCESS] = "acquire-success",
                                           [WIRE_SYNC_RELEASING] = "releasing" };
    struct nvtx_process *process = thread->process;
    unsigned action = record->flags & 31;
    if (body < 1 || action < WIRE_SYNC_CREATE || action > WIRE_SYNC_RELEASING)
        return -1;
    struct row_TACHO_SYNC row = { 0 };
    ROW_SET(&row, TACHO_SYNC, timestamp, clock_map_time(process->clock, record->ticks));
    ROW_SET(&row, TACHO_SYNC, globalTid, thread->tid);
    ROW_SET(&row, TACHO_SYNC, domainId, record->a);
    ROW_SET(&row, TACHO_SYNC, objectId, (int64_t)record->body[0]);
    ROW_SET(&row, TACHO_SYNC, action, writer_string(process->writer, actions[action], strlen(actions[action])));
    int64_t name = action == WIRE_SYNC_CREATE ? nvtx_name_of(process, record, 1, body) : -1;
    if (name >= 0)
        ROW_SET(&row, TACHO_SYNC, nameId, name);
    writer_append(process->writer, TABLE_TACHO_SYNC, &row);
    if (action != WIRE_SYNC_CREATE)
        process->counts.recorded++;
    return 0;
}

/* Writes one row with the name of a domain, category or thread. */
static int name_record(struct nvtx_thread *thread, const struct wire_record *record, uint32_t body)
{
    struct nvtx_row row = nvtx_name_row(thread, record, 0);
    uint32_t at = record->type == WIRE_NVTX_DOMAIN || record->type == WIRE_NVTX_DOMAIN_END ? 0 : 1;
    if (body < at)
        return -1;
    if (body > at)
        nvtx_names_set_text(thread, &row, record->body + at, body - at);
    switch (record->type) {
    case WIRE_NVTX_DOMAIN:
        row.place.type = NVTX_ROW_DOMAIN;
        library_domain_told(thread->process, record->a, (const char *)record->body,
                            nvtx_text_length(record->body, body));
        break;
    case WIRE_NVTX_DOMAIN_END: row.place.type = NVTX_ROW_DOMAIN_END; break;
    case WIRE_NVTX_CATEGORY:
        row.place.type = NVTX_ROW_CATEGORY;
        row.event.flags |= WIRE_NVTX_HAS_CATEGORY;
        row.event.category = (uint32_t)record->body[0];
        break;
    default:
        row.place.type = NVTX_ROW_THREAD;
        row.place.tid = thread->process->global_pid | (int64_t)(record->body[0] & 0xFFFFFF);
        if (row.event.flags & WIRE_NVTX_HAS_TEXT)
            keep_thread_name(thread->process, (uint32_t)record->body[0], row.event.text);
    }
    nvtx_write_row(thread->process, &row.event, &row.place);
    return 0;
}

int nvtx_name_record(struct nvtx_thread *thread, const struct wire_record *record, uint32_t words)
{
    uint32_t body = words - WIRE_HEAD_WORDS;
    switch (record->type) {
    case WIRE_NVTX_DOMAIN:
    case WIRE_NVTX_DOMAIN_END:
    case WIRE_NVTX_CATEGORY:
    case WIRE_NVTX_THREAD: return name_record(thread, record, body);
    case WIRE_NVTX_STRING: return string_record(thread, record, body);
    case WIRE_NVTX_RESOURCE: return resource_record(thread, record, body);
    case WIRE_NVTX_SYNC: return sync_record(thread, record, body);
    default: return nvtx_payload_record(thread, record, words);
    }
}
