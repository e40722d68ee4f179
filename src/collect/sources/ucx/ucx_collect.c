/* UCX as a source: its row, and its records as rows of UCP_SUBMIT_EVENTS, UCP_PROGRESS_EVENTS, UCP_EVENTS and
 * UCP_WORKERS. */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/text.h"
#include "collect/core/collector.h"
#include "collect/core/record.h"
#include "collect/process/process.h"
#include "wire/wire_ucx.h"

/* By enum ucx_function. */
static const struct {
    const char *name;
    uint8_t kind;
} ucx_collect_functions[] = {
#define UCX(name, words, kind, ...) { #name, UCX_##kind },
#include "wire/ucx_calls.def"
#undef UCX
};

/* ---- Workers --------------------------------------------------------------------------------------------------- */

/* A handle of the program: a worker, or an endpoint. */
struct ucx_handle {
    uint64_t handle;
    int64_t id;         /* of the worker, or of the one at the other end of the endpoint; 0: unknown */
    int64_t global_tid; /* of a worker: the thread that created it */
};
MAP(ucx_handles, struct ucx_handle, uint64_t, handle, handle, hash_number, map_is_same_number)
#define HANDLES_MAX (1u << 20) /* a program that overwrites records must not take all memory */

struct ucx_process {
    struct ucx_handles workers, peers;
};

static struct ucx_process *ucx_collect_process_of(struct process *process)
{
    if (!process->state[COLLECT_SOURCE_UCX])
        process->state[COLLECT_SOURCE_UCX] = calloc(1, sizeof(struct ucx_process));
    return process->state[COLLECT_SOURCE_UCX];
}

static struct ucx_handle *ucx_collect_entry_of(struct ucx_handles *handles, uint64_t handle)
{
    struct ucx_handle *found = ucx_handles_find(handles, handle);
    if (found || !handle || handles->count >= HANDLES_MAX)
        return found;
    return ucx_handles_add(handles, &(struct ucx_handle){ .handle = handle });
}

static void write_worker(struct collector *collector, const struct ucx_handle *worker)
{
    struct row_UCP_WORKERS row = { 0 };
    ROW_SET(&row, UCP_WORKERS, globalTid, worker->global_tid);
    ROW_SET(&row, UCP_WORKERS, workerUid, worker->id ? worker->id : (int64_t)worker->handle);
    writer_append(collector->writer, TABLE_UCP_WORKERS, &row);
}

/* A worker has its row once its id is known. */
static void worker(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    struct ucx_process *ucx = ucx_collect_process_of(origin->process);
    struct ucx_handle *found = ucx && words >= WIRE_HEAD_WORDS + 2
                                   ? ucx_collect_entry_of(&ucx->workers, record->body[0])
                                   : NULL;
    if (!found) {
        origin->process->counts[WIRE_SOURCE_UCX].damaged++;
        return;
    }
    if (record->a == 0 || !found->global_tid)
        *found = (struct ucx_handle){ .handle = record->body[0],
                                      .global_tid = process_global_tid(origin->process, origin->reader->tid) };
    if (found->id || !record->body[1])
        return;
    found->id = (int64_t)record->body[1];
    write_worker(origin->collector, found);
}

static void peer(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    struct ucx_process *ucx = ucx_collect_process_of(origin->process);
    struct ucx_handle *found = ucx && words >= WIRE_HEAD_WORDS + 2 ? ucx_collect_entry_of(&ucx->peers, record->body[0])
                                                                   : NULL;
    if (found)
        found->id = (int64_t)record->body[1];
    else
        origin->process->counts[WIRE_SOURCE_UCX].damaged++;
}

static void ucx_collect_free_process(struct process *process)
{
    struct ucx_process *ucx = process->state[COLLECT_SOURCE_UCX];
    if (!ucx)
        return;
    ucx_handles_free(&ucx->workers);
    ucx_handles_free(&ucx->peers);
    free(ucx);
    process->state[COLLECT_SOURCE_UCX] = NULL;
}

/* Workers whose address nobody asked for have their handles as ids. */
static void ucx_collect_end_process(struct process *process)
{
    const struct ucx_process *ucx = process->state[COLLECT_SOURCE_UCX];
    for (struct ucx_handle *at = NULL; ucx && (at = ucx_handles_next(&ucx->workers, at));)
        if (!at->id)
            write_worker(process->collector, at);
    ucx_collect_free_process(process);
}

/* ---- Calls ----------------------------------------------------------------------------------------------------- */

struct ucx_collect_call {
    int64_t start_ns, end_ns, global_tid, name;
};

#define SET_CALL(table, row, call)                                                                                     \
    do {                                                                                                               \
        ROW_SET(row, table, start, (call)->start_ns);                                                                  \
        ROW_SET(row, table, end, (call)->end_ns);                                                                      \
        ROW_SET(row, table, globalTid, (call)->global_tid);                                                            \
        ROW_SET(row, table, textId, (call)->name);                                                                     \
    } while (0)

static void ucx_collect_write_message(const struct collect_origin *origin, const struct wire_record *record,
                                      const struct ucx_collect_call *call)
{
    const struct ucx_process *ucx = ucx_collect_process_of(origin->process);
    const struct ucx_handle *other = ucx ? ucx_handles_find(&ucx->peers, record->body[1]) : NULL;
    struct row_UCP_SUBMIT_EVENTS row = { 0 };
    SET_CALL(UCP_SUBMIT_EVENTS, &row, call);
    if (record->body[2])
        ROW_SET(&row, UCP_SUBMIT_EVENTS, bufferAddr, (int64_t)record->body[2]);
    if (record->flags & WIRE_UCX_HAS_BYTES)
        ROW_SET(&row, UCP_SUBMIT_EVENTS, packedSize, (int64_t)record->body[3]);
    if (record->flags & WIRE_UCX_HAS_TAG)
        ROW_SET(&row, UCP_SUBMIT_EVENTS, tag, (int64_t)record->body[4]);
    if (other && other->id)
        ROW_SET(&row, UCP_SUBMIT_EVENTS, peerWorkerUid, other->id);
    writer_append(origin->collector->writer, TABLE_UCP_SUBMIT_EVENTS, &row);
}

static void write_progress(struct writer *writer, const struct ucx_collect_call *call)
{
    struct row_UCP_PROGRESS_EVENTS row = { 0 };
    SET_CALL(UCP_PROGRESS_EVENTS, &row, call);
    writer_append(writer, TABLE_UCP_PROGRESS_EVENTS, &row);
}

static void ucx_collect_write_other(struct writer *writer, const struct ucx_collect_call *call)
{
    struct row_UCP_EVENTS row = { 0 };
    SET_CALL(UCP_EVENTS, &row, call);
    writer_append(writer, TABLE_UCP_EVENTS, &row);
}

static void ucx_collect_called(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    struct collector *collector = origin->collector;
    struct process *process = origin->process;
    uint32_t kind = record->a < UCX_FUNCTION_COUNT ? ucx_collect_functions[record->a].kind : UCX_INTERNAL;
    int is_message = kind == UCX_SUBMIT || kind == UCX_ARRIVED;
    if (kind == UCX_INTERNAL || words < WIRE_HEAD_WORDS + (is_message ? 5 : 1)) {
        process->counts[WIRE_SOURCE_UCX].damaged++;
        return;
    }
    int64_t start_ns = record_time(origin, record), end_ns = clock_map_time(&collector->clock, record->body[0]);
    const struct ucx_collect_call call = {
        .start_ns = start_ns,
        .end_ns = end_ns < start_ns ? start_ns : end_ns,
        .global_tid = process_global_tid(process, origin->reader->tid),
        .name = collector_string(collector, ucx_collect_functions[record->a].name),
    };
    if (is_message)
        ucx_collect_write_message(origin, record, &call);
    else
        (kind == UCX_PROGRESS ? write_progress : ucx_collect_write_other)(collector->writer, &call);
    process->counts[WIRE_SOURCE_UCX].recorded++;
}

/* ---- The row --------------------------------------------------------------------------------------------------- */

static const struct collect_records ucx_collect_records[] = {
    { WIRE_UCX_CALL, WIRE_UCX_CALL, ucx_collect_called },
    { WIRE_UCX_WORKER, WIRE_UCX_WORKER, worker },
    { WIRE_UCX_PEER, WIRE_UCX_PEER, peer },
    { 0 },
};
static const struct collect_table ucx_collect_tables[] = {
    { TABLE_UCP_SUBMIT_EVENTS, "ucx", COLLECT_RECORDED_OF(UCX) },
    { TABLE_UCP_PROGRESS_EVENTS, "ucx", COLLECT_RECORDED_OF(UCX) },
    { TABLE_UCP_EVENTS, "ucx", COLLECT_RECORDED_OF(UCX) },
    { 0 },
};

const struct collect_source collect_source_ucx = {
    .records = ucx_collect_records,
    .tables = ucx_collect_tables,
    .file = { .name = WIRE_UCX_FILE, .without = "Calls into UCX are not recorded" },
    .cost = { .recorded_reads = 2, .recorded_ns = 40, .counted_reads = 2, .counted_ns = 20 },
    .process_end = ucx_collect_end_process,
    .process_free = ucx_collect_free_process,
};
