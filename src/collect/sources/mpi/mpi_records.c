/* Records of MPI: see mpi_records.h. */
#include "mpi_records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "collect/sources/stacks/stack_rows.h"
#include "mpi_rows.h"

#define MOST_RANKS (1 << 24) /* of a communicator: no machine has more */

static struct mpi_message mpi_records_call_of(const struct mpi_process *process, int64_t global_tid,
                                              const struct wire_record *record)
{
    return (struct mpi_message){
        .function = record->a,
        .flags = record->flags,
        .start_ns = clock_map_time(process->clock, record->ticks),
        .end_ns = clock_map_time(process->clock, record->ticks + record->body[0]),
        .global_tid = global_tid,
        .bytes = WIRE_MPI_NO_SIZE,
        .received = WIRE_MPI_NO_SIZE,
        .peer = WIRE_MPI_NO_RANK,
        .tag = WIRE_MPI_NO_RANK,
        .root = WIRE_MPI_NO_RANK,
    };
}

/* ---- Places ---------------------------------------------------------------------------------------------------- */

static int64_t chain_of(struct mpi_process *process, uint64_t address)
{
    struct mpi_place *place = &process->places[address / 2 % MPI_PLACES_KNOWN];
    if (!address || !process->process)
        return 0;
    if (place->address != address) {
        place->address = address;
        place->chain = stacks_return_address(process->process, WIRE_SOURCE_MPI, address);
    }
    return place->chain;
}

void mpi_forget_places(struct mpi_process *process, uint64_t first, uint64_t bytes)
{
    for (size_t i = 0; i < MPI_PLACES_KNOWN; i++)
        if (process->places[i].address - first < bytes)
            process->places[i].address = 0;
}

/* ---- Requests -------------------------------------------------------------------------------------------------- */

/* Finds the halves of a request that both sends and receives: the one that is the call's event, and the other one. */
static void halves(struct mpi_process *process, uint64_t number, struct mpi_message **event, struct mpi_message **other)
{
    *event = *other = NULL;
    for (struct mpi_message *at = mpi_message_map_find(&process->pending, number); at;
         at = mpi_message_map_find_next(&process->pending, at))
        *(at->flags & WIRE_MPI_IS_EVENT || at->is_collective ? event : other) = at;
}

static void mpi_records_write_row(struct mpi_process *process, const struct mpi_message *call,
                                  const struct mpi_message *other)
{
    if (call->is_collective)
        mpi_write_collective(process, call);
    else
        mpi_write_p2p(process, call, other);
}

/* A receive learns what arrived. */
static void mpi_records_fill(struct mpi_message *message, const struct mpi_event *event)
{
    message->done_ns = event->at_ns;
    if (!(message->flags & WIRE_MPI_RECEIVES) || event->bytes == WIRE_MPI_NO_SIZE)
        return;
    message->bytes = event->bytes;
    if (event->bytes == WIRE_MPI_CANCELLED) /* the status says nothing about whom it was expected from */
        return;
    message->peer = event->source;
    message->tag = event->tag;
}

static void mpi_records_complete(struct mpi_process *process, const struct mpi_event *event)
{
    struct mpi_message *call, *other;
    halves(process, event->number, &call, &other);
    if (call && call->flags & WIRE_MPI_PERSISTS && !call->active_ns)
        return; /* a wait for a request that is not active ends at once */
    struct mpi_message done[2] = { 0 };
    for (int i = 0; i < 2; i++) {
        struct mpi_message *half = i ? other : call;
        if (!half)
            continue;
        done[i] = *half;
        mpi_records_fill(&done[i], event);
        half->active_ns = 0;
        if (!half->is_collective)
            mpi_write_message(process, &done[i]);
    }
    if (!call || call->flags & WIRE_MPI_PERSISTS)
        return;
    mpi_records_write_row(process, &done[0], other ? &done[1] : NULL);
    for (struct mpi_message *at; (at = mpi_message_map_find(&process->pending, event->number)) != NULL;)
        mpi_message_map_remove(&process->pending, at);
}

static void mpi_records_start(struct mpi_process *process, const struct mpi_event *event)
{
    for (struct mpi_message *at = mpi_message_map_find(&process->pending, event->number); at;
         at = mpi_message_map_find_next(&process->pending, at))
        at->active_ns = event->at_ns;
}

static void mpi_records_take_event(struct mpi_process *process, const struct mpi_event *event)
{
    if (!mpi_message_map_find(&process->pending, event->number)) {
        if (process->early.count >= MPI_KEPT_MAX) /* their requests were lost: a chunk is read soon */
            mpi_event_map_clear(&process->early);
        mpi_event_map_add(&process->early, event);
    } else if (event->kind == WIRE_MPI_STARTED)
        mpi_records_start(process, event);
    else
        mpi_records_complete(process, event);
}

static void take_early(struct mpi_process *process, uint64_t number)
{
    struct mpi_event *found;
    while ((found = mpi_event_map_find(&process->early, number)) != NULL) {
        struct mpi_event event = *found;
        mpi_event_map_remove(&process->early, found);
        if (event.kind == WIRE_MPI_STARTED)
            mpi_records_start(process, &event);
        else
            mpi_records_complete(process, &event);
        if (!mpi_message_map_find(&process->pending, number))
            return;
    }
}

/* The call's row is written now, unless its request is pending. That of a persistent one moves nothing by itself. */
static void mpi_records_take_call(struct mpi_process *process, const struct mpi_message *call)
{
    int is_pending = call->flags & WIRE_MPI_IS_PENDING && call->number;
    if (is_pending && (process->pending.count >= MPI_KEPT_MAX || !mpi_message_map_add(&process->pending, call)))
        is_pending = 0;
    int is_event = call->flags & WIRE_MPI_IS_EVENT || call->is_collective;
    if (is_event && call->flags & WIRE_MPI_IS_PENDING && call->number)
        process->requests[is_pending]++;
    if (is_event && (!is_pending || call->flags & WIRE_MPI_PERSISTS))
        mpi_records_write_row(process, call, NULL);
    if (!is_pending && !call->is_collective)
        mpi_write_message(process, call);
}

/* ---- Calls ----------------------------------------------------------------------------------------------------- */

static int record_p2p(struct mpi_process *process, struct mpi_message *call, const uint64_t *body, uint32_t count)
{
    if (count < 7)
        return -1;
    call->bytes = body[1];
    call->peer = wire_mpi_upper(body[2]);
    call->tag = wire_mpi_lower(body[2]);
    call->communicator = (uint32_t)wire_mpi_upper(body[3]);
    call->comm_handle = body[4];
    call->number = body[5];
    call->request_handle = body[6];
    call->chain = count > 7 ? chain_of(process, body[7]) : 0;
    if (!(call->flags & WIRE_MPI_IS_PENDING))
        call->done_ns = call->end_ns;
    struct mpi_message row = *call;
    row.done_ns = 0; /* of a request only */
    if (call->flags & WIRE_MPI_IS_PENDING && call->number) {
        mpi_records_take_call(process, &row);
        return 0;
    }
    if (call->flags & WIRE_MPI_IS_EVENT)
        mpi_write_p2p(process, &row, NULL);
    mpi_write_message(process, call);
    return 0;
}

static int record_collective(struct mpi_process *process, struct mpi_message *call, const uint64_t *body,
                             uint32_t count)
{
    if (count < 7)
        return -1;
    call->is_collective = 1;
    call->bytes = body[1];
    call->received = body[2];
    call->communicator = (uint32_t)wire_mpi_upper(body[3]);
    call->root = wire_mpi_lower(body[3]);
    call->comm_handle = body[4];
    call->number = body[5];
    call->request_handle = body[6];
    call->chain = count > 7 ? chain_of(process, body[7]) : 0;
    mpi_records_take_call(process, call);
    return 0;
}

static int record_events(struct mpi_process *process, const struct wire_record *record, const uint64_t *triples,
                         uint32_t words, int64_t at_ns)
{
    if (words < 3u * record->b)
        return -1;
    for (uint32_t i = 0; i < record->b; i++, triples += 3)
        if (triples[0])
            mpi_records_take_event(process, &(struct mpi_event){ triples[0], triples[1], wire_mpi_upper(triples[2]),
                                                                 wire_mpi_lower(triples[2]), at_ns, record->flags });
    return 0;
}

static int record_start_wait(struct mpi_process *process, struct mpi_message *call, const struct wire_record *record,
                             uint32_t count)
{
    uint32_t caller = 2 + 3u * record->b;
    if (count < 2 || count < caller)
        return -1;
    call->chain = count > caller ? chain_of(process, record->body[caller]) : 0;
    mpi_write_start_wait(process, call, record->body[1]);
    return record_events(process, record, record->body + 2, count - 2,
                         record->flags == WIRE_MPI_STARTED ? call->start_ns : call->end_ns);
}

static int record_other(struct mpi_process *process, struct mpi_message *call, const uint64_t *body, uint32_t count)
{
    if (count >= 3) {
        call->bytes = body[1];
        call->peer = wire_mpi_upper(body[2]);
    }
    mpi_write_other(process, call);
    return 0;
}

int mpi_record_call(struct mpi_process *process, int64_t global_tid, const struct wire_record *record, uint32_t words,
                    uint32_t *rows)
{
    uint32_t count = words - WIRE_HEAD_WORDS;
    *rows = 0;
    if (words < WIRE_HEAD_WORDS + 1)
        return -1;
    if (record->type == WIRE_MPI_DONE)
        return record_events(process, record, record->body, count, clock_map_time(process->clock, record->ticks));
    if (record->a >= MPI_FUNCTION_COUNT)
        return -1;
    struct mpi_message call = mpi_records_call_of(process, global_tid, record);
    *rows = record->type != WIRE_MPI_P2P || record->flags & WIRE_MPI_IS_EVENT;
    int result = record->type == WIRE_MPI_P2P          ? record_p2p(process, &call, record->body, count)
                 : record->type == WIRE_MPI_COLLECTIVE ? record_collective(process, &call, record->body, count)
                 : record->type == WIRE_MPI_START_WAIT ? record_start_wait(process, &call, record, count)
                                                       : record_other(process, &call, record->body, count);
    if (result == 0 && call.number)
        take_early(process, call.number);
    return result;
}

void mpi_incomplete(struct mpi_process *process, int64_t global_tid, const struct mpi_open *open)
{
    uint32_t function = open->function;
    int32_t peer = open->peer >= 0 ? open->peer : WIRE_MPI_NO_RANK; /* others mean any rank, or none */
    struct mpi_message call = {
        .function = function,
        .start_ns = clock_map_time(process->clock, open->ticks),
        .global_tid = global_tid,
        .comm_handle = open->comm_handle,
        .bytes = mpi_tables[function] == MPI_TABLE_COLLECTIVE ? open->bytes : WIRE_MPI_NO_SIZE,
        .received = WIRE_MPI_NO_SIZE,
        .peer = peer,
        .tag = WIRE_MPI_NO_RANK,
        .root = peer,
    };
    if (mpi_tables[function] == MPI_TABLE_P2P)
        mpi_write_p2p(process, &call, NULL);
    else if (mpi_tables[function] == MPI_TABLE_COLLECTIVE)
        mpi_write_collective(process, &call);
    else if (mpi_tables[function] == MPI_TABLE_START_WAIT)
        mpi_write_start_wait(process, &call, 0);
    else
        mpi_write_other(process, &call);
}

/* ---- Communicators --------------------------------------------------------------------------------------------- */

static uint64_t hash_members(const int32_t *members, uint32_t count)
{
    uint64_t hash = count;
    for (uint32_t i = 0; i < count; i++)
        hash = hash_number(hash * 0x9e3779b97f4a7c15u + (uint32_t)members[i] + 1);
    return hash;
}

/* Both groups of an intercommunicator see the same name. */
static void mpi_records_name(struct mpi_process *process, struct mpi_communicator *communicator)
{
    uint64_t hash = hash_members(communicator->members[0], communicator->known[0]);
    if (communicator->is_inter)
        hash += hash_members(communicator->members[1], communicator->known[1]);
    struct mpi_hash *known = mpi_hash_map_find(&process->hashes, hash);
    uint32_t before = known ? known->count++ : 0;
    char text[40];
    if (!known)
        mpi_hash_map_add(&process->hashes, &(struct mpi_hash){ hash, 1 });
    snprintf(text, sizeof text, "%016llx-%u", (unsigned long long)hash, before);
    communicator->name = writer_string(process->writer, text, strlen(text));
}

static int mpi_records_add_members(struct mpi_communicator *communicator, int group, const struct wire_record *record,
                                   uint32_t words)
{
    uint32_t first = (uint32_t)record->body[4], size = (uint32_t)communicator->size[group];
    uint32_t count = 2 * (words - WIRE_HEAD_WORDS - 5);
    if (first != communicator->known[group] || first > size)
        return -1;
    count = count < size - first ? count : size - first;
    size_t room = communicator->known[group];
    if (count && array_reserve(&communicator->members[group], &room, first + count, sizeof(int32_t)) != 0)
        return -1;
    if (count)
        memcpy(communicator->members[group] + first, record->body + 5, count * sizeof(int32_t));
    communicator->known[group] += count;
    return 0;
}

static struct mpi_communicator *mpi_records_add_communicator(struct mpi_process *process,
                                                             const struct wire_record *record)
{
    return mpi_communicator_map_add(&process->communicators,
                                    &(struct mpi_communicator){
                                        .number = record->body[0],
                                        .handle = record->body[1],
                                        .parent = record->body[2],
                                        .start_ns = clock_map_time(process->clock, record->ticks),
                                    });
}

static void mpi_records_describe(struct mpi_process *process, struct mpi_communicator *communicator)
{
    mpi_records_name(process, communicator);
    mpi_write_communicator(process, communicator);
    mpi_write_waiting(process, 0);
}

int mpi_record_communicator(struct mpi_process *process, const struct wire_record *record, uint32_t words)
{
    int group = record->a & 1, is_inter = record->a >> 1 & 1;
    if (words < WIRE_HEAD_WORDS + 5 || !record->body[0])
        return -1;
    struct mpi_communicator *communicator = mpi_communicator_map_find(&process->communicators, record->body[0]);
    if (!communicator && process->communicators.count >= MPI_KEPT_MAX) /* hashes are no more than these */
        return 0;
    if (!communicator && !(communicator = mpi_records_add_communicator(process, record)))
        return -1;
    int32_t size = wire_mpi_upper(record->body[3]);
    if (communicator->name || size < 0 || size > MOST_RANKS || (group && !is_inter))
        return -1;
    communicator->is_inter = is_inter;
    communicator->rank = wire_mpi_lower(record->body[3]);
    communicator->size[group] = size;
    if (mpi_records_add_members(communicator, group, record, words) != 0)
        return -1;
    /* A note without members is the last one: they could not be found out. */
    int is_last = communicator->known[group] == (uint32_t)size || words == WIRE_HEAD_WORDS + 5;
    if (is_last && group == is_inter) {
        communicator->size[group] = (int32_t)communicator->known[group];
        mpi_records_describe(process, communicator);
    }
    return 0;
}

void mpi_process_finish(struct mpi_process *process)
{
    for (struct mpi_message *at = NULL; (at = mpi_message_map_next(&process->pending, at)) != NULL;) {
        int is_event = at->flags & WIRE_MPI_IS_EVENT || at->is_collective;
        if (is_event && !(at->flags & WIRE_MPI_PERSISTS))
            mpi_records_write_row(process, at, NULL);
        if (!at->is_collective && (at->active_ns || !(at->flags & WIRE_MPI_PERSISTS)))
            mpi_write_message(process, at);
    }
    mpi_write_waiting(process, 1);
    for (struct mpi_communicator *at = NULL; (at = mpi_communicator_map_next(&process->communicators, at)) != NULL;) {
        free(at->members[0]);
        free(at->members[1]);
    }
    mpi_communicator_map_free(&process->communicators);
    mpi_message_map_free(&process->pending);
    mpi_event_map_free(&process->early);
    mpi_hash_map_free(&process->hashes);
    free(process->waiting);
}
