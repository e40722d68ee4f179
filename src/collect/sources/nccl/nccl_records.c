/* Rows of NCCL's events: see nccl_records.h. */
#include "nccl_records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/nccl/nccl_profiler.h"
#include "base/map.h"
#include "collect/core/collector.h"
#include "collect/core/record.h"
#include "collect/process/process.h"
#include "wire/wire_nccl.h"

enum { TEXT_FUNCTION, TEXT_ALGORITHM, TEXT_PROTOCOL, TEXT_DATATYPE, TEXT_COMM };

/* An event whose begin or end has been read, but not both. */
struct open_event {
    uint64_t id; /* never 0 */
    int has_start;
    int64_t start_ns, end_ns;
    int64_t global_tid;
    uint16_t kind, version;
    struct wire_nccl_event event;
    int64_t bytes;                  /* -1: unknown */
    int64_t texts[WIRE_NCCL_TEXTS]; /* in the writer's string pool; 0: none */
};
MAP(event_map, struct open_event, uint64_t, id, id, hash_number, map_is_same_number)

struct comm_seen { /* of a version that introduces communicators with their first event */
    uint64_t key;  /* never 0 */
};
MAP(comm_map, struct comm_seen, uint64_t, key, key, hash_number, map_is_same_number)

struct nccl_process {
    struct event_map open;
    struct comm_map comms;
};

static const char *const nccl_records_kinds[] = {
#define KIND(name, text) [WIRE_NCCL_##name] = text,
    WIRE_NCCL_KINDS(KIND)
#undef KIND
};

static struct nccl_process *nccl_records_state_of(struct process *process)
{
    void **state = &process->state[COLLECT_SOURCE_NCCL];
    if (!*state)
        *state = calloc(1, sizeof(struct nccl_process));
    return *state;
}

static void nccl_records_damaged(const struct collect_origin *origin)
{
    origin->process->counts[WIRE_SOURCE_NCCL].damaged++;
}

/* ---- Rows ------------------------------------------------------------------------------------------------------ */

#define SET_IF(condition, row, table, column, value)                                                                   \
    do {                                                                                                               \
        if (condition)                                                                                                 \
            ROW_SET(row, table, column, value);                                                                        \
    } while (0)

static void write_operation(struct collector *collector, const struct open_event *open)
{
    const struct wire_nccl_event *event = &open->event;
    int is_coll = open->kind == WIRE_NCCL_COLLECTIVE || open->kind == WIRE_NCCL_CE_COLL;
    int is_any = is_coll || open->kind == WIRE_NCCL_P2P;
    struct row_TACHO_NCCL_OP row = { 0 };
    ROW_SET(&row, TACHO_NCCL_OP, start, open->start_ns);
    SET_IF(open->end_ns != PROCESS_NO_TIME, &row, TACHO_NCCL_OP, end, open->end_ns);
    ROW_SET(&row, TACHO_NCCL_OP, globalTid, open->global_tid);
    ROW_SET(&row, TACHO_NCCL_OP, kind, collector_string(collector, nccl_records_kinds[open->kind]));
    ROW_SET(&row, TACHO_NCCL_OP, id, (int64_t)open->id);
    SET_IF(event->parent, &row, TACHO_NCCL_OP, parentId, (int64_t)event->parent);
    SET_IF(event->comm, &row, TACHO_NCCL_OP, commId, event->comm);
    SET_IF(is_any, &row, TACHO_NCCL_OP, rank, event->rank);
    SET_IF(open->texts[TEXT_FUNCTION], &row, TACHO_NCCL_OP, function, open->texts[TEXT_FUNCTION]);
    SET_IF(is_coll, &row, TACHO_NCCL_OP, sequence, (int64_t)event->sequence);
    SET_IF(open->texts[TEXT_ALGORITHM], &row, TACHO_NCCL_OP, algorithm, open->texts[TEXT_ALGORITHM]);
    SET_IF(open->texts[TEXT_PROTOCOL], &row, TACHO_NCCL_OP, protocol, open->texts[TEXT_PROTOCOL]);
    SET_IF(open->texts[TEXT_DATATYPE], &row, TACHO_NCCL_OP, datatype, open->texts[TEXT_DATATYPE]);
    SET_IF(is_any, &row, TACHO_NCCL_OP, count, (int64_t)event->count);
    SET_IF(is_any && open->bytes >= 0, &row, TACHO_NCCL_OP, bytes, open->bytes);
    SET_IF(is_any && event->channels, &row, TACHO_NCCL_OP, channels, event->channels);
    SET_IF(is_any && event->warps, &row, TACHO_NCCL_OP, warps, event->warps);
    SET_IF(is_coll, &row, TACHO_NCCL_OP, root, event->peer);
    SET_IF(open->kind == WIRE_NCCL_P2P, &row, TACHO_NCCL_OP, peer, event->peer);
    writer_append(collector->writer, TABLE_TACHO_NCCL_OP, &row);
}

static void write_proxy(struct collector *collector, const struct open_event *open)
{
    const struct wire_nccl_event *event = &open->event;
    int is_op = open->kind == WIRE_NCCL_PROXY_OP, is_net = open->kind == WIRE_NCCL_NET;
    struct row_TACHO_NCCL_PROXY row = { 0 };
    ROW_SET(&row, TACHO_NCCL_PROXY, start, open->start_ns);
    SET_IF(open->end_ns != PROCESS_NO_TIME, &row, TACHO_NCCL_PROXY, end, open->end_ns);
    ROW_SET(&row, TACHO_NCCL_PROXY, globalTid, open->global_tid);
    ROW_SET(&row, TACHO_NCCL_PROXY, kind, collector_string(collector, nccl_records_kinds[open->kind]));
    ROW_SET(&row, TACHO_NCCL_PROXY, id, (int64_t)open->id);
    SET_IF(event->parent, &row, TACHO_NCCL_PROXY, parentId, (int64_t)event->parent);
    SET_IF(event->comm, &row, TACHO_NCCL_PROXY, commId, event->comm);
    SET_IF(open->kind != WIRE_NCCL_PROXY_CTRL, &row, TACHO_NCCL_PROXY, rank, event->rank);
    if (is_op) {
        ROW_SET(&row, TACHO_NCCL_PROXY, channel, event->channels);
        ROW_SET(&row, TACHO_NCCL_PROXY, peer, event->peer);
        ROW_SET(&row, TACHO_NCCL_PROXY, isSend, event->is_send);
        ROW_SET(&row, TACHO_NCCL_PROXY, steps, event->steps);
        ROW_SET(&row, TACHO_NCCL_PROXY, chunkBytes, event->chunk_bytes);
    }
    SET_IF(open->kind == WIRE_NCCL_PROXY_STEP, &row, TACHO_NCCL_PROXY, step, event->peer);
    if (is_net && open->texts[TEXT_FUNCTION]) {
        ROW_SET(&row, TACHO_NCCL_PROXY, bytes, (int64_t)event->count);
        ROW_SET(&row, TACHO_NCCL_PROXY, network, open->texts[TEXT_FUNCTION]);
        ROW_SET(&row, TACHO_NCCL_PROXY, connection, event->peer);
    }
    writer_append(collector->writer, TABLE_TACHO_NCCL_PROXY, &row);
}

static void nccl_records_write_event(struct process *process, const struct open_event *open)
{
    if (open->kind <= WIRE_NCCL_CE_COLL)
        write_operation(process->collector, open);
    else
        write_proxy(process->collector, open);
    process->counts[WIRE_SOURCE_NCCL].recorded++;
}

/* ---- Communicators --------------------------------------------------------------------------------------------- */

struct comm {
    int64_t number, name_id;
    uint64_t hash;
    uint32_t ranks, nodes, version;
    int32_t rank;
};

static void write_comm(const struct collect_origin *origin, const struct comm *comm)
{
    struct row_TACHO_NCCL_COMM row = { 0 };
    ROW_SET(&row, TACHO_NCCL_COMM, globalPid, origin->process->global_pid);
    ROW_SET(&row, TACHO_NCCL_COMM, commId, comm->number);
    ROW_SET(&row, TACHO_NCCL_COMM, hash, (int64_t)comm->hash);
    SET_IF(comm->name_id, &row, TACHO_NCCL_COMM, name, comm->name_id);
    SET_IF(comm->ranks, &row, TACHO_NCCL_COMM, ranks, comm->ranks);
    SET_IF(comm->nodes, &row, TACHO_NCCL_COMM, nodes, comm->nodes);
    SET_IF(comm->rank >= 0, &row, TACHO_NCCL_COMM, rank, comm->rank);
    ROW_SET(&row, TACHO_NCCL_COMM, version, comm->version);
    writer_append(origin->collector->writer, TABLE_TACHO_NCCL_COMM, &row);
}

void nccl_comm(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    enum { HEAD = 4 };
    size_t length;
    if (words < WIRE_HEAD_WORDS + HEAD) {
        nccl_records_damaged(origin);
        return;
    }
    struct comm comm = {
        .number = (int64_t)(uint32_t)record->body[0],
        .hash = record->body[1],
        .ranks = (uint32_t)record->body[2],
        .nodes = (uint32_t)(record->body[2] >> 32),
        .rank = (int32_t)record->body[3],
        .version = record->a,
    };
    record_text(record, words, HEAD, &length);
    comm.name_id = length ? record_text_id(origin, record, words, HEAD) : 0;
    if (comm.version >= 4) /* before that, the first event has its hash and its name */
        write_comm(origin, &comm);
}

static void write_comm_of(const struct collect_origin *origin, struct nccl_process *state,
                          const struct open_event *open)
{
    const struct wire_nccl_event *event = &open->event;
    struct comm_seen seen = { (uint64_t)event->comm + 1 };
    if (open->version >= 4 || !event->hash || comm_map_find(&state->comms, seen.key) ||
        state->comms.count >= NCCL_OPEN_MAX || !comm_map_add(&state->comms, &seen))
        return;
    write_comm(origin, &(struct comm){ .number = event->comm,
                                       .hash = event->hash,
                                       .name_id = open->texts[TEXT_COMM],
                                       .rank = event->rank,
                                       .version = open->version });
}

/* ---- Events ---------------------------------------------------------------------------------------------------- */

/* Writes all events that have begun, to make room: their ends, if they come, are dropped. */
static void nccl_records_write_all(struct process *process, struct nccl_process *state)
{
    for (const struct open_event *at = event_map_next(&state->open, NULL); at; at = event_map_next(&state->open, at))
        if (at->has_start)
            nccl_records_write_event(process, at);
    event_map_clear(&state->open);
}

static void nccl_records_keep(const struct collect_origin *origin, struct nccl_process *state,
                              const struct open_event *open)
{
    if (state->open.count >= NCCL_OPEN_MAX)
        nccl_records_write_all(origin->process, state);
    if (!event_map_add(&state->open, open) && open->has_start)
        nccl_records_write_event(origin->process, open);
}

/* Splits the texts, which end with a tab each. */
static void nccl_records_take_texts(struct collector *collector, struct open_event *open, const char *text,
                                    size_t length)
{
    open->bytes = -1;
    for (size_t i = 0; i < WIRE_NCCL_TEXTS; i++) {
        const char *end = memchr(text, '\t', length);
        size_t own = end ? (size_t)(end - text) : length;
        if (own)
            open->texts[i] = writer_string(collector->writer, text, own);
        unsigned element = i == TEXT_DATATYPE ? nccl_datatype_bytes(text, own) : 0;
        if (element && open->event.count <= INT64_MAX / element)
            open->bytes = (int64_t)(open->event.count * element);
        text += own + (end != NULL);
        length -= own + (end != NULL);
    }
}

void nccl_start(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    struct nccl_process *state = nccl_records_state_of(origin->process);
    struct open_event open = { .has_start = 1, .kind = record->a, .version = record->b, .end_ns = PROCESS_NO_TIME };
    size_t length;
    if (!state || words < WIRE_HEAD_WORDS + WIRE_NCCL_EVENT_WORDS || open.kind >= WIRE_NCCL_KIND_COUNT) {
        nccl_records_damaged(origin);
        return;
    }
    memcpy(&open.event, record->body, sizeof open.event);
    open.id = open.event.id;
    if (!open.id) {
        nccl_records_damaged(origin);
        return;
    }
    open.start_ns = record_time(origin, record);
    open.global_tid = process_global_tid(origin->process, origin->reader->tid);
    const char *text = record_text(record, words, WIRE_NCCL_EVENT_WORDS, &length);
    nccl_records_take_texts(origin->collector, &open, text, length);
    write_comm_of(origin, state, &open);
    struct open_event *end = event_map_find(&state->open, open.id);
    if (!end) {
        nccl_records_keep(origin, state, &open);
        return;
    }
    if (end->has_start) { /* two events of one id: the program has overwritten one */
        nccl_records_damaged(origin);
        return;
    }
    open.end_ns = end->end_ns < open.start_ns ? open.start_ns : end->end_ns;
    event_map_remove(&state->open, end);
    nccl_records_write_event(origin->process, &open);
}

void nccl_stop(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    struct nccl_process *state = nccl_records_state_of(origin->process);
    if (!state || words < WIRE_HEAD_WORDS + 1 || !record->body[0]) {
        nccl_records_damaged(origin);
        return;
    }
    int64_t end_ns = record_time(origin, record);
    struct open_event *begun = event_map_find(&state->open, record->body[0]);
    if (!begun)
        nccl_records_keep(origin, state, &(struct open_event){ .id = record->body[0], .end_ns = end_ns });
    if (!begun || !begun->has_start) /* a second stop before the begin was read: the first one counts */
        return;
    begun->end_ns = end_ns < begun->start_ns ? begun->start_ns : end_ns;
    nccl_records_write_event(origin->process, begun);
    event_map_remove(&state->open, begun);
}

/* A state needs no event: NCCL reports some after the end. */
void nccl_state(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    struct collector *collector = origin->collector;
    char number[16];
    const char *name = nccl_state_name(record->a);
    if (words < WIRE_HEAD_WORDS + 2 || !record->body[0]) {
        nccl_records_damaged(origin);
        return;
    }
    snprintf(number, sizeof number, "%u", (unsigned)record->a);
    struct row_TACHO_NCCL_STATE row = { 0 };
    ROW_SET(&row, TACHO_NCCL_STATE, timestamp, record_time(origin, record));
    ROW_SET(&row, TACHO_NCCL_STATE, globalTid, process_global_tid(origin->process, origin->reader->tid));
    ROW_SET(&row, TACHO_NCCL_STATE, id, (int64_t)record->body[0]);
    ROW_SET(&row, TACHO_NCCL_STATE, state, collector_string(collector, name ? name : number));
    SET_IF(record->body[1], &row, TACHO_NCCL_STATE, value, (int64_t)record->body[1]);
    writer_append(collector->writer, TABLE_TACHO_NCCL_STATE, &row);
}

/* ---- The end --------------------------------------------------------------------------------------------------- */

void nccl_process_end(struct process *process)
{
    struct nccl_process *state = process->state[COLLECT_SOURCE_NCCL];
    if (state)
        nccl_records_write_all(process, state);
    nccl_process_free(process);
}

void nccl_process_free(struct process *process)
{
    struct nccl_process *state = process->state[COLLECT_SOURCE_NCCL];
    if (!state)
        return;
    event_map_free(&state->open);
    comm_map_free(&state->comms);
    free(state);
    process->state[COLLECT_SOURCE_NCCL] = NULL;
}
