/* Calls that start or complete requests. The record names completed requests by number. MPI clears the handles, so they
 * are looked up before the call. */
#include <sys/mman.h>

#include "agent/core/own_calls.h"
#include "agent/core/sys.h"
#include "mpi_call.h"

#define ENTRY_BYTES (sizeof(struct mpi_waited) + MPI_STATUS_MAX)
#define TRIPLES 16 /* in one record */

void mpi_wait_free(struct mpi_thread *state)
{
    if (state->waited && agent_begin_calls()) {
        sys_munmap(state->waited, state->waited_bytes);
        agent_end_calls();
    }
    state->waited = NULL;
    state->waited_bytes = 0;
}

/* Makes room for `count` requests, in memory of the thread's own. */
static int mpi_wait_make_room(struct mpi_thread *state, uint64_t count)
{
    uint64_t bytes = (count * ENTRY_BYTES + 65535) / 65536 * 65536;
    if (bytes <= state->waited_bytes)
        return 1;
    mpi_wait_free(state);
    if (!agent_begin_calls())
        return 0;
    void *memory = sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    agent_end_calls();
    if (!memory || (uintptr_t)memory >= (uintptr_t)-4096)
        return 0;
    state->waited = memory;
    state->waited_bytes = bytes;
    return 1;
}

static char *statuses_of(const struct mpi_thread *state, uint32_t count)
{
    return (char *)(state->waited + count);
}

static inline void want_status(struct word_call *call, const struct mpi_shape *shape)
{
    struct mpi_call *own = mpi_call_of(call);
    if (!shape->status)
        return;
    uint64_t *status = word_call_at(call, shape->status - 1u);
    if (*status == mpi.flavour.status_ignore)
        *status = (uint64_t)(uintptr_t)own->room;
    own->status = (const char *)(uintptr_t)*status;
}

void mpi_want_status(struct word_call *call, const struct mpi_shape *shape)
{
    if (mpi_knows(call))
        want_status(call, shape);
}

/* Returns whether a request of the array receives. */
static int mpi_wait_look_up(struct mpi_waited *waited, uint32_t count, uint64_t handles)
{
    uint32_t bits = 0;
    for (uint32_t i = 0; i < count; i++) {
        waited[i].handle = mpi_load_handle(handles, i);
        waited[i].request = mpi_request_of(waited[i].handle);
        bits |= waited[i].request.bits;
    }
    return bits & MPI_REQUEST_RECEIVES;
}

static __attribute__((noinline)) void begin_array(struct mpi_thread *state, struct word_call *call,
                                                  const struct mpi_shape *shape)
{
    struct mpi_call *own = mpi_call_of(call);
    int32_t count = mpi_int(call, shape->request_count);
    uint64_t handles = mpi_word(call, shape->requests);
    if (count <= 0 || !handles || !mpi_wait_make_room(state, (uint64_t)count))
        return;
    own->count = (uint32_t)count;
    int receives = mpi_wait_look_up(state->waited, own->count, handles);
    if (receives)
        want_status(call, shape);
    if (!receives || !shape->statuses)
        return;
    uint64_t *statuses = word_call_at(call, shape->statuses - 1u);
    if (*statuses == mpi.flavour.status_ignore)
        *statuses = (uint64_t)(uintptr_t)statuses_of(state, own->count);
    own->status = (const char *)(uintptr_t)*statuses;
}

void mpi_wait_begin(struct mpi_thread *state, struct word_call *call, const struct mpi_shape *shape)
{
    struct mpi_call *own = mpi_call_of(call);
    uint64_t at = shape->request ? mpi_word(call, shape->request) : 0;
    own->handle = 0;
    own->request = (struct mpi_request){ 0 };
    own->count = 0;
    own->status = NULL;
    if (!mpi_knows(call) || shape->action == MPI_DOES_NOTHING)
        return;
    if (shape->requests) {
        begin_array(state, call, shape);
    } else if (at) {
        own->handle = mpi_load_handle(at, 0);
        own->request = mpi_request_of(own->handle);
        if (own->request.bits & MPI_REQUEST_RECEIVES)
            want_status(call, shape);
    }
}

/* ---- The end --------------------------------------------------------------------------------------------------- */

struct mpi_wait_writer {
    struct agent_thread *thread;
    struct word_call *call;
    uint32_t flags;
    uint32_t count;
    uint64_t triples[3 * TRIPLES];
};

static void write_triples(struct mpi_wait_writer *writer)
{
    struct agent_lane *lane;
    struct wire_record *record = emit_begin(writer->thread, &lane, WIRE_SOURCE_MPI, WIRE_MPI_DONE,
                                            WIRE_HEAD_WORDS + 3 * writer->count);
    if (record) {
        record->flags = (uint8_t)writer->flags;
        record->b = (uint16_t)writer->count;
        record->ticks = agent_ticks();
        memcpy(record->body, writer->triples, 24u * writer->count);
        emit_commit(lane, record);
    }
    writer->count = 0;
}

/* Requests that share a handle differ in their age alone. The call has completed the oldest that is left: one that it
 * had before its begin may be another's by now. */
static struct mpi_request completed(uint64_t handle, struct mpi_request before)
{
    if (!(before.bits & MPI_REQUEST_SHARES) || before.bits & MPI_REQUEST_PERSISTS)
        return before;
    struct mpi_request oldest = mpi_request_of(handle);
    return !oldest.number || oldest.bits & MPI_REQUEST_SHARES ? oldest : before;
}

static void mpi_wait_put_triple(struct mpi_wait_writer *writer, struct mpi_request request, const char *status)
{
    uint64_t *triple = writer->triples + 3 * writer->count;
    int receives = (request.bits & MPI_REQUEST_RECEIVES) && status && writer->flags == WIRE_MPI_COMPLETED;
    triple[0] = request.number;
    triple[1] = WIRE_MPI_NO_SIZE;
    triple[2] = wire_mpi_pair(WIRE_MPI_NO_RANK, 0);
    int32_t source = receives ? mpi_status_int(status, mpi.flavour.source_at) : mpi.flavour.proc_null;
    if (source != mpi.flavour.proc_null) {
        triple[1] = mpi_status_is_cancelled(status) ? WIRE_MPI_CANCELLED : mpi_status_bytes(status);
        triple[2] = wire_mpi_pair(source, mpi_status_int(status, mpi.flavour.tag_at));
    }
    if (++writer->count == TRIPLES)
        write_triples(writer);
}

static void mpi_wait_add_triple(struct mpi_wait_writer *writer, uint64_t handle, struct mpi_request request,
                                const char *status)
{
    if (writer->flags == WIRE_MPI_COMPLETED)
        request = completed(handle, request);
    if (!request.number)
        return;
    if (!(request.bits & MPI_REQUEST_UNTOLD))
        mpi_wait_put_triple(writer, request, status);
    if (writer->flags == WIRE_MPI_COMPLETED && !(request.bits & MPI_REQUEST_PERSISTS))
        mpi_request_remove(handle, request.number);
}

static void add_waited(struct mpi_wait_writer *writer, const struct mpi_waited *waited, const char *status)
{
    mpi_wait_add_triple(writer, waited->handle, waited->request, status);
}

static const char *status_at(const struct mpi_call *own, uint64_t index)
{
    return own->status ? own->status + index * mpi.flavour.status_bytes : NULL;
}

static void add_some(struct mpi_wait_writer *writer, const struct mpi_waited *waited, const struct mpi_shape *shape)
{
    const struct mpi_call *own = mpi_call_of(writer->call);
    const int32_t *indices = (const int32_t *)mpi_word(writer->call, shape->indices);
    int32_t done = *(const int32_t *)mpi_word(writer->call, shape->out_count);
    for (int32_t i = 0; i < done; i++)
        if (indices[i] >= 0 && (uint32_t)indices[i] < own->count)
            add_waited(writer, &waited[indices[i]], status_at(own, (uint64_t)i));
}

static void mpi_wait_add_all(struct mpi_wait_writer *writer, const struct mpi_waited *waited,
                             const struct mpi_shape *shape)
{
    const struct mpi_call *own = mpi_call_of(writer->call);
    if (!shape->requests) {
        mpi_wait_add_triple(writer, own->handle, own->request, own->status);
    } else if (shape->indices && own->count) {
        add_some(writer, waited, shape);
    } else if (shape->index && own->count) {
        int32_t index = *(const int32_t *)mpi_word(writer->call, shape->index);
        if (index >= 0 && (uint32_t)index < own->count)
            add_waited(writer, &waited[index], own->status);
    } else {
        for (uint32_t i = 0; i < own->count; i++)
            add_waited(writer, &waited[i], status_at(own, i));
    }
}

/* The record of the call, with the triples that are left. */
static void write_call(struct mpi_wait_writer *writer)
{
    const struct mpi_call *own = mpi_call_of(writer->call);
    struct agent_lane *lane;
    uint64_t now = agent_ticks();
    struct wire_record *record = emit_begin(writer->thread, &lane, WIRE_SOURCE_MPI, WIRE_MPI_START_WAIT,
                                            WIRE_HEAD_WORDS + 3 + 3 * writer->count);
    if (!record)
        return;
    record->flags = (uint8_t)writer->flags;
    record->a = (uint16_t)mpi_function_of(writer->call);
    record->b = (uint16_t)writer->count;
    record->ticks = own->begin;
    record->body[0] = now - own->begin;
    record->body[1] = own->handle;
    for (uint32_t i = 0; i < 3 * writer->count; i++)
        record->body[2 + i] = writer->triples[i];
    record->body[2 + 3 * writer->count] = (uintptr_t)writer->call->caller;
    emit_commit(lane, record);
}

static int is_start(const struct mpi_shape *shape)
{
    return shape->action == MPI_DOES_STARTED || shape->action == MPI_DOES_STARTED_ALL;
}

void mpi_wait_end(struct agent_thread *thread, struct mpi_thread *state, struct word_call *call,
                  const struct mpi_shape *shape)
{
    const struct mpi_call *own = mpi_call_of(call);
    struct mpi_wait_writer writer;
    writer.thread = thread;
    writer.call = call;
    writer.flags = is_start(shape) ? WIRE_MPI_STARTED : WIRE_MPI_COMPLETED;
    writer.count = 0;
    if ((int32_t)call->result == 0 && shape->action == MPI_DOES_REQUEST_FREED && own->request.number)
        mpi_request_remove(own->handle, own->request.number);
    else if ((int32_t)call->result == 0 && shape->action != MPI_DOES_NOTHING)
        mpi_wait_add_all(&writer, state->waited, shape);
    write_call(&writer);
}
