/* Rows: see mpi_rows.h. */
#include "mpi_rows.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

static const char *const mpi_rows_names[MPI_FUNCTION_COUNT] = {
#define MPI_CALL(name, ...) "MPI_" #name,
#include "wire/mpi_calls.def"
#undef MPI_CALL
};

const uint8_t mpi_tables[MPI_FUNCTION_COUNT] = {
#define MPI_CALL(name, words, table, ...) MPI_TABLE_##table,
#include "wire/mpi_calls.def"
#undef MPI_CALL
};

int64_t mpi_name_id(struct mpi_process *process, uint32_t function)
{
    int64_t *id = &process->names->ids[function];
    if (*id == 0)
        *id = writer_string(process->writer, mpi_rows_names[function], strlen(mpi_rows_names[function]));
    return *id;
}

/* The columns that all calls have. */
#define SET_CALL(row, table, process, call)                                                                            \
    do {                                                                                                               \
        ROW_SET(row, table, start, (call)->start_ns);                                                                  \
        if ((call)->end_ns)                                                                                            \
            ROW_SET(row, table, end, (call)->end_ns);                                                                  \
        else                                                                                                           \
            ROW_SET(row, table, incomplete, 1);                                                                        \
        ROW_SET(row, table, globalTid, (call)->global_tid);                                                            \
        ROW_SET(row, table, textId, mpi_name_id(process, (call)->function));                                           \
    } while (0)

void mpi_write_p2p(struct mpi_process *process, const struct mpi_message *call, const struct mpi_message *received)
{
    struct row_MPI_P2P_EVENTS row = { 0 };
    SET_CALL(&row, MPI_P2P_EVENTS, process, call);
    if (call->comm_handle)
        ROW_SET(&row, MPI_P2P_EVENTS, commHandle, (int64_t)call->comm_handle);
    if (call->tag != WIRE_MPI_NO_RANK)
        ROW_SET(&row, MPI_P2P_EVENTS, tag, call->tag);
    if (call->peer != WIRE_MPI_NO_RANK)
        ROW_SET(&row, MPI_P2P_EVENTS, remoteRank, call->peer);
    if (call->bytes < WIRE_MPI_CANCELLED)
        ROW_SET(&row, MPI_P2P_EVENTS, size, (int64_t)call->bytes);
    if (call->request_handle)
        ROW_SET(&row, MPI_P2P_EVENTS, requestHandle, (int64_t)call->request_handle);
    if (call->done_ns)
        ROW_SET(&row, MPI_P2P_EVENTS, requestEnd, call->done_ns);
    if (received && received->bytes < WIRE_MPI_CANCELLED) {
        ROW_SET(&row, MPI_P2P_EVENTS, receivedSize, (int64_t)received->bytes);
        if (received->peer != WIRE_MPI_NO_RANK)
            ROW_SET(&row, MPI_P2P_EVENTS, receivedFrom, received->peer);
        if (received->tag != WIRE_MPI_NO_RANK)
            ROW_SET(&row, MPI_P2P_EVENTS, receivedTag, received->tag);
    }
    if (call->chain)
        ROW_SET(&row, MPI_P2P_EVENTS, callchainId, call->chain);
    writer_append(process->writer, TABLE_MPI_P2P_EVENTS, &row);
}

void mpi_write_collective(struct mpi_process *process, const struct mpi_message *call)
{
    struct row_MPI_COLLECTIVES_EVENTS row = { 0 };
    SET_CALL(&row, MPI_COLLECTIVES_EVENTS, process, call);
    if (call->comm_handle)
        ROW_SET(&row, MPI_COLLECTIVES_EVENTS, commHandle, (int64_t)call->comm_handle);
    if (call->root != WIRE_MPI_NO_RANK)
        ROW_SET(&row, MPI_COLLECTIVES_EVENTS, rootRank, call->root);
    if (call->bytes < WIRE_MPI_CANCELLED)
        ROW_SET(&row, MPI_COLLECTIVES_EVENTS, size, (int64_t)call->bytes);
    if (call->received < WIRE_MPI_CANCELLED)
        ROW_SET(&row, MPI_COLLECTIVES_EVENTS, recvSize, (int64_t)call->received);
    if (call->request_handle)
        ROW_SET(&row, MPI_COLLECTIVES_EVENTS, requestHandle, (int64_t)call->request_handle);
    if (call->done_ns)
        ROW_SET(&row, MPI_COLLECTIVES_EVENTS, requestEnd, call->done_ns);
    if (call->chain)
        ROW_SET(&row, MPI_COLLECTIVES_EVENTS, callchainId, call->chain);
    writer_append(process->writer, TABLE_MPI_COLLECTIVES_EVENTS, &row);
}

void mpi_write_start_wait(struct mpi_process *process, const struct mpi_message *call, uint64_t handle)
{
    struct row_MPI_START_WAIT_EVENTS row = { 0 };
    SET_CALL(&row, MPI_START_WAIT_EVENTS, process, call);
    if (handle)
        ROW_SET(&row, MPI_START_WAIT_EVENTS, requestHandle, (int64_t)handle);
    if (call->chain)
        ROW_SET(&row, MPI_START_WAIT_EVENTS, callchainId, call->chain);
    writer_append(process->writer, TABLE_MPI_START_WAIT_EVENTS, &row);
}

void mpi_write_other(struct mpi_process *process, const struct mpi_message *call)
{
    struct row_MPI_OTHER_EVENTS row = { 0 };
    SET_CALL(&row, MPI_OTHER_EVENTS, process, call);
    if (call->bytes < WIRE_MPI_CANCELLED)
        ROW_SET(&row, MPI_OTHER_EVENTS, transferSize, (int64_t)call->bytes);
    if (call->peer != WIRE_MPI_NO_RANK)
        ROW_SET(&row, MPI_OTHER_EVENTS, targetRank, call->peer);
    writer_append(process->writer, TABLE_MPI_OTHER_EVENTS, &row);
}

/* ---- Messages -------------------------------------------------------------------------------------------------- */

static int mpi_rows_is_told(const struct mpi_communicator *communicator)
{
    int group = communicator && communicator->is_inter;
    return communicator && communicator->known[group] >= (uint32_t)communicator->size[group];
}

static void mpi_rows_write_message(struct mpi_process *process, const struct mpi_message *message,
                                   const struct mpi_communicator *communicator)
{
    struct row_TACHO_MPI_MESSAGE row = { 0 };
    int group = communicator && communicator->is_inter;
    ROW_SET(&row, TACHO_MPI_MESSAGE, start, message->active_ns ? message->active_ns : message->start_ns);
    if (message->done_ns)
        ROW_SET(&row, TACHO_MPI_MESSAGE, end, message->done_ns);
    ROW_SET(&row, TACHO_MPI_MESSAGE, globalTid, message->global_tid);
    ROW_SET(&row, TACHO_MPI_MESSAGE, textId, mpi_name_id(process, message->function));
    if (process->rank != WIRE_MPI_NO_RANK)
        ROW_SET(&row, TACHO_MPI_MESSAGE, rank, process->rank);
    ROW_SET(&row, TACHO_MPI_MESSAGE, isReceived, (message->flags & WIRE_MPI_RECEIVES) != 0);
    if (communicator && message->peer >= 0 && (uint32_t)message->peer < communicator->known[group] &&
        communicator->members[group][message->peer] >= 0)
        ROW_SET(&row, TACHO_MPI_MESSAGE, peer, communicator->members[group][message->peer]);
    if (message->tag != WIRE_MPI_NO_RANK)
        ROW_SET(&row, TACHO_MPI_MESSAGE, tag, message->tag);
    if (message->bytes < WIRE_MPI_CANCELLED)
        ROW_SET(&row, TACHO_MPI_MESSAGE, size, (int64_t)message->bytes);
    if (communicator && communicator->name)
        ROW_SET(&row, TACHO_MPI_MESSAGE, communicator, communicator->name);
    writer_append(process->writer, TABLE_TACHO_MPI_MESSAGE, &row);
}

void mpi_write_message(struct mpi_process *process, const struct mpi_message *message)
{
    const struct mpi_communicator *communicator = mpi_communicator_map_find(&process->communicators,
                                                                            message->communicator);
    if (!(message->flags & (WIRE_MPI_SENDS | WIRE_MPI_RECEIVES)) || message->bytes == WIRE_MPI_CANCELLED)
        return;
    if (process->waiting_count >= MPI_KEPT_MAX)
        mpi_write_waiting(process, 1);
    if (!message->communicator || mpi_rows_is_told(communicator)) {
        mpi_rows_write_message(process, message, communicator);
    } else if (array_reserve(&process->waiting, &process->waiting_room, process->waiting_count + 1,
                             sizeof *process->waiting) == 0) {
        process->waiting[process->waiting_count++] = *message;
    }
}

void mpi_write_waiting(struct mpi_process *process, int is_last)
{
    size_t kept = 0;
    for (size_t i = 0; i < process->waiting_count; i++) {
        const struct mpi_message message = process->waiting[i];
        const struct mpi_communicator *communicator = mpi_communicator_map_find(&process->communicators,
                                                                                message.communicator);
        if (is_last || mpi_rows_is_told(communicator))
            mpi_rows_write_message(process, &message, communicator);
        else
            process->waiting[kept++] = message;
    }
    process->waiting_count = kept;
}

/* ---- Communicators --------------------------------------------------------------------------------------------- */

static int64_t members_text(struct mpi_process *process, const int32_t *members, uint32_t count)
{
    struct text text = { 0 };
    for (uint32_t i = 0; i < count; i++)
        text_addf(&text, i ? ",%d" : "%d", (int)members[i]);
    int64_t id = text_failed(&text) ? 0 : writer_string(process->writer, text_string(&text), text.length);
    text_free(&text);
    return id;
}

void mpi_write_communicator(struct mpi_process *process, const struct mpi_communicator *communicator)
{
    int group = communicator->is_inter;
    struct row_MPI_COMMUNICATORS row = { 0 };
    const struct mpi_communicator *parent = mpi_communicator_map_find(&process->communicators, communicator->parent);
    if (process->rank != WIRE_MPI_NO_RANK)
        ROW_SET(&row, MPI_COMMUNICATORS, rank, process->rank);
    ROW_SET(&row, MPI_COMMUNICATORS, timestamp, communicator->start_ns);
    ROW_SET(&row, MPI_COMMUNICATORS, commHandle, (int64_t)communicator->handle);
    if (parent)
        ROW_SET(&row, MPI_COMMUNICATORS, parentHandle, (int64_t)parent->handle);
    ROW_SET(&row, MPI_COMMUNICATORS, localRank, communicator->rank);
    ROW_SET(&row, MPI_COMMUNICATORS, size, communicator->size[group]);
    if (communicator->known[group] && communicator->members[group][0] >= 0)
        ROW_SET(&row, MPI_COMMUNICATORS, groupRoot, communicator->members[group][0]);
    ROW_SET(&row, MPI_COMMUNICATORS, members,
            members_text(process, communicator->members[group], communicator->known[group]));
    ROW_SET(&row, MPI_COMMUNICATORS, globalPid, process->global_pid);
    ROW_SET(&row, MPI_COMMUNICATORS, name, communicator->name);
    ROW_SET(&row, MPI_COMMUNICATORS, isIntercommunicator, communicator->is_inter);
    writer_append(process->writer, TABLE_MPI_COMMUNICATORS, &row);
}
