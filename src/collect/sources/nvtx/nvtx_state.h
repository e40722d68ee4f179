/* The state of a process, and its events on their way to a row: shared by the files behind nvtx_records.h. */
#ifndef TACHO_COLLECT_SOURCES_NVTX_NVTX_STATE_H
#define TACHO_COLLECT_SOURCES_NVTX_NVTX_STATE_H

#include <stddef.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/text.h"
#include "nvtx_counts.h"
#include "report/writer/writer.h"
#include "wire/wire_libraries.h"
#include "wire/wire_nvtx.h"

/* One payload of an event, in the program's order. */
struct nvtx_part {
    uint64_t id;    /* schema; with `pointed`, the offset of a pointer in the payload before it */
    uint32_t bytes; /* size of data */
    uint8_t pointed, cut;
    struct nvtx_part *next;
    unsigned char data[];
};

/* A mark, or a range from its start to its row. */
struct nvtx_event {
    int64_t start;
    uint64_t payload;
    uint32_t category, color;
    int64_t text;            /* id in the writer's string pool, with WIRE_NVTX_HAS_TEXT */
    uint32_t string;         /* registered string, with WIRE_NVTX_REGISTERED */
    uint16_t domain;
    uint8_t flags;           /* enum wire_nvtx_flag */
    uint8_t open;            /* on a stack: the level is in use */
    struct nvtx_part *parts; /* owned */
};

/* The other columns of its row. */
struct nvtx_place {
    int64_t end, tid, end_tid;
    uint64_t range;
    uint8_t type; /* NVTX_EVENTS.eventType */
    uint8_t has_end;
};

struct nvtx_row {
    struct nvtx_event event;
    struct nvtx_place place;
};

enum nvtx_row_type {
    NVTX_ROW_CATEGORY = 33,
    NVTX_ROW_MARK = 34,
    NVTX_ROW_THREAD = 39,
    NVTX_ROW_PUSH_POP = 59,
    NVTX_ROW_START_END = 60,
    NVTX_ROW_DOMAIN = 75,
    NVTX_ROW_DOMAIN_END = 76,
    NVTX_ROW_CUDA_DEVICE = 97,
    NVTX_ROW_CUDA_CONTEXT,
    NVTX_ROW_CUDA_STREAM,
};

/* A range whose start or end has not been read yet. */
struct nvtx_range {
    uint64_t id;   /* never 0 */
    uint8_t ended; /* the end came first: `row` has only the end */
    struct nvtx_row row;
};
MAP(nvtx_range_map, struct nvtx_range, uint64_t, id, id, hash_number, map_is_same_number)

#define STRINGS_MAX (1u << 24)
struct nvtx_string {
    int64_t id;       /* id in the writer's string pool + 1; 0: unknown */
    const char *text; /* for payloads that refer to it; NULL if there are too many */
};

struct nvtx_thread_name {
    uint32_t tid;
    int64_t id; /* in the writer's string pool */
};

#define NVTX_CACHE_SLOTS 256
#define NVTX_CACHE_WORDS 6
struct nvtx_cached {
    uint64_t words[NVTX_CACHE_WORDS];
    uint32_t count; /* number of words; 0: empty */
    int64_t id;
};

struct nvtx_payload_state; /* nvtx_payload.c */

struct nvtx_process {
    struct writer *writer;
    const struct clock_map *clock;
    int64_t global_pid;
    struct nvtx_counts counts;
    struct nvtx_cached *cache;

    struct nvtx_string *strings; /* registered strings by id */
    size_t string_capacity;
    struct arena string_texts;

    struct nvtx_thread_name *thread_names; /* in the order read: the last one of a thread is valid */
    size_t thread_name_count, thread_name_capacity;

    struct nvtx_range_map ranges;

    struct nvtx_row *waiting; /* rows whose string or schema has not been read yet */
    size_t waiting_count, waiting_capacity;
    size_t told;              /* strings and schemas since the last pass over the waiting rows */

    struct nvtx_payload_state *payload;

    uint32_t sources;                         /* WIRE_BIT()s of the capture; 0: not set */
    uint16_t own_domains[WIRE_LIBRARY_COUNT]; /* domains in which libraries annotate themselves; 0: none */
};

struct nvtx_stack {
    struct nvtx_event *levels;
    size_t capacity;
};

struct nvtx_thread {
    struct nvtx_process *process;
    int64_t tid;
    struct nvtx_stack *stacks; /* by domain */
    size_t stack_count;
    size_t level_total;        /* of all stacks together: bounded */
    struct nvtx_row pending;   /* an event whose WIRE_NVTX_BINARY records follow */
    uint8_t pending_type;      /* its enum wire_type; 0: none */
    uint16_t pending_level;
    /* The start of the last range that a library made itself. */
    int64_t own_range_ns[WIRE_LIBRARY_COUNT];
};

/* The id of the text at the end of a record, and its length in bytes; it may extend to the last byte. */
int64_t nvtx_text_id(struct nvtx_process *process, const uint64_t *words, uint32_t count);
size_t nvtx_text_length(const uint64_t *words, uint32_t count);

/* A string or a schema has come: writes the rows that waited for it, now or a little later; with `force` all of them.
 */
void nvtx_write_waiting(struct nvtx_process *process, int force);

/* The id of a registered string in the writer's pool, or -1 while it is unknown. */
static inline int64_t nvtx_string(const struct nvtx_process *process, uint64_t id)
{
    return id < process->string_capacity ? process->strings[id].id - 1 : -1;
}

/* Writes the row of an event now. Takes ownership of its payloads. */
void nvtx_write_row(struct nvtx_process *process, struct nvtx_event *event, const struct nvtx_place *place);

/* ---- nvtx_names.c ---------------------------------------------------------------------------------------------- */

/* Reads a record that is no event. Returns 0, or -1 if it is malformed. */
int nvtx_name_record(struct nvtx_thread *thread, const struct wire_record *record, uint32_t words);

/* ---- nvtx_payload.c -------------------------------------------------------------------------------------------- */

/* Reads a SCHEMA, SCHEMA_ENTRY, ENUM, ENUM_ENTRY, SCOPE, COUNTER or SAMPLE. Returns 0, or -1 if it is malformed. */
int nvtx_payload_record(struct nvtx_thread *thread, const struct wire_record *record, uint32_t words);

/* Returns whether all schemas and strings that the event's payloads refer to are known. */
int nvtx_payload_known(const struct nvtx_process *process, const struct nvtx_event *event);

/* Decodes the payloads to JSON (one payload: its value, several: an array) and to hex (several: with a comma
 * between). An entry that is the event's message, category or colour goes into the event. */
void nvtx_payload_decode(const struct nvtx_process *process, struct nvtx_event *event, struct text *json,
                         struct text *hex);

void nvtx_payload_finish(struct nvtx_process *process); /* writes samples that waited in vain */
void nvtx_parts_free(struct nvtx_part *parts);

#endif
