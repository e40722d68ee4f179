/* Records calls to MPI. The stubs of libtacho-mpi.so call mpi_agent_begin() and mpi_agent_end() here.
 *
 * The outermost call of a thread counts: MPI calls itself, and Fortran's bindings call C's. Sizes are found before the
 * call, because a program may free a datatype or a communicator as soon as a request is started. A call that finds
 * nothing (MPI_Test() with a flag of 0) is counted, not recorded: it reads the clock once. */
#include "abi/models/models.h"
#include "agent/core/capture_control.h"
#include "agent/core/own_process.h"
#include "agent/core/source.h"
#include "mpi_call.h"
#include "wire/wire_mpi.h"

AGENT_THREAD_STATE(MPI, struct mpi_thread, mpi_of)

static _Atomic uint32_t is_over;   /* MPI_Finalize() has begun, or this is a forked child: no local calls any more */
static _Atomic uint32_t has_tried; /* to find the library */

static void write_words(struct agent_thread *thread, struct word_call *call, uint32_t type, uint32_t flags,
                        const uint64_t *words, uint32_t count)
{
    const struct mpi_call *own = mpi_call_of(call);
    struct agent_lane *lane;
    uint64_t now = agent_ticks();
    struct wire_record *record = emit_begin(thread, &lane, WIRE_SOURCE_MPI, type, WIRE_HEAD_WORDS + 1 + count);
    if (!record)
        return;
    record->flags = (uint8_t)flags;
    record->a = (uint16_t)mpi_function_of(call);
    record->ticks = own->begin;
    record->body[0] = now - own->begin;
    for (uint32_t i = 0; i < count; i++)
        record->body[1 + i] = words[i];
    emit_commit(lane, record);
}

/* The report has the call even if the process dies inside. group: its communicator; peer: rank or root there. */
static void mpi_agent_set_open(struct agent_thread *thread, uint32_t function, uint64_t ticks,
                               const struct wire_open_call *about)
{
    struct wire_open_call *open = &thread->slot->open_call;
    atomic_store_explicit(&open->function, function, memory_order_relaxed);
    atomic_store_explicit(&open->peer, about->peer, memory_order_relaxed);
    atomic_store_explicit(&open->group, about->group, memory_order_relaxed);
    atomic_store_explicit(&open->bytes, about->bytes, memory_order_relaxed);
    atomic_store_explicit(&open->ticks, ticks, memory_order_release);
}

static void clear_open(struct agent_thread *thread)
{
    atomic_store_explicit(&thread->slot->open_call.ticks, 0, memory_order_release);
}

/* ---- Begin ----------------------------------------------------------------------------------------------------- */

/* The call that the thread was in, and has left by a jump or an exception: an error handler may do that. */
static void write_left(struct agent_thread *thread)
{
    struct wire_open_call *open = &thread->slot->open_call;
    uint64_t ticks = atomic_load_explicit(&open->ticks, memory_order_relaxed);
    struct agent_lane *lane;
    struct wire_record *record = ticks ? emit_begin(thread, &lane, WIRE_SOURCE_MPI, WIRE_MPI_OTHER, WIRE_HEAD_WORDS + 1)
                                       : NULL;
    clear_open(thread);
    if (!record)
        return;
    record->flags = WIRE_MPI_WAS_LEFT;
    record->a = (uint16_t)atomic_load_explicit(&open->function, memory_order_relaxed);
    record->ticks = ticks;
    record->body[0] = 0;
    emit_commit(lane, record);
}

static void set_begin(struct mpi_thread *state, struct word_call *call, uint64_t ticks)
{
    mpi_call_of(call)->begin = state->mark = ticks;
}

/* Whether the frame of the outermost call is no longer one, although it lies above this one: a program that has left a
 * call may make the next one deeper in its stack. Then that frame has been written over, at least in part. */
static int is_written_over(const struct mpi_thread *state, const struct word_call *call)
{
    enum { NEAR = 65536 }; /* a frame farther up may not be on this stack, or in memory */
    uintptr_t distance = state->frame - (uintptr_t)call;
    if (distance < sizeof *call)
        return 1;
    return distance < NEAR && mpi_call_of((struct word_call *)state->frame)->begin != state->mark;
}

static int is_nested(const struct mpi_thread *state, const struct word_call *call)
{
    return agent_is_nested(state->frame, (uintptr_t)call) && !is_written_over(state, call);
}

/* A program whose MPI_Init() was not seen gets one try. */
static int is_ready(const struct word_call *call)
{
    if (unlikely(!atomic_load_explicit(&mpi.is_ready, memory_order_acquire)) && !atomic_load(&is_over) &&
        !atomic_load(&has_tried) && !atomic_exchange(&has_tried, 1))
        mpi_library_find(0, call->library);
    return atomic_load_explicit(&mpi.is_ready, memory_order_acquire) && mpi_knows(call);
}

/* A call of another MPI than the one whose calls are decoded. */
static int is_foreign(const struct word_call *call)
{
    return atomic_load(&mpi.is_ready) && !mpi_knows(call);
}

static void take_sizes(struct word_call *call, const struct mpi_shape *shape)
{
    struct mpi_call *own = mpi_call_of(call);
    if (shape->comm && shape->action != MPI_DOES_COMM_FREED) {
        own->comm_handle = mpi_handle(mpi_word(call, shape->comm));
        own->comm = mpi_comm_of(own->comm_handle, 0);
    }
    if (shape->table == MPI_TABLE_COLLECTIVE) {
        struct mpi_amounts amounts = mpi_collective_bytes(call, shape, &own->comm);
        own->sent = amounts.sent;
        own->received = amounts.received;
        return;
    }
    own->sent = mpi_bytes_sent(call, shape);
    own->received = mpi_bytes_wanted(call, shape);
    if (shape->table != MPI_TABLE_P2P)
        return;
    if (shape->message && shape->action != MPI_DOES_PROBE) {
        own->comm.number = mpi_message_take(mpi_load_handle(mpi_word(call, shape->message), 0));
    }
    if (shape->status)
        mpi_want_status(call, shape);
}

static void begin_message(struct word_call *call, const struct mpi_shape *shape)
{
    struct mpi_call *own = mpi_call_of(call);
    own->comm = (struct mpi_comm){ .rank = -1 };
    own->handle = own->comm_handle = 0;
    own->request = (struct mpi_request){ 0 };
    own->status = NULL;
    own->sent = own->received = WIRE_MPI_NO_SIZE;
    if ((shape->comm || shape->message || shape->send_count || shape->receive_count) && is_ready(call))
        take_sizes(call, shape);
}

/* What must happen whether or not anything is recorded. */
static void begin_always(struct word_call *call, const struct mpi_shape *shape)
{
    if (shape->action == MPI_DOES_PCONTROL) {
        if (mpi_int(call, shape->level) > 0)
            agent_capture_begin(WIRE_CAPTURE_MPI);
        else
            agent_capture_end(WIRE_CAPTURE_MPI);
    } else if (is_foreign(call)) {
        return;
    } else if (shape->action == MPI_DOES_COMM_FREED) {
        uint64_t at = mpi_word(call, shape->comm);
        if (at && atomic_load(&mpi.is_ready))
            mpi_comm_forget(mpi_load_handle(at, 0));
    } else if (shape->action == MPI_DOES_FINALIZE) {
        atomic_store(&is_over, 1);
        mpi_library_end();
    } else if (shape->action == MPI_DOES_SESSION_FINALIZE && !mpi.has_world) {
        mpi_library_end(); /* another session may follow */
        mpi_comm_forget_all();
    }
}

static int must_see(const struct mpi_shape *shape)
{
    return shape->new_comm || (shape->action != MPI_DOES_NOTHING && shape->action <= MPI_DOES_COMM_FREED);
}

/* All calls but those that start or complete requests. */
static __attribute__((noinline)) int begin_other(struct agent_thread *thread, struct word_call *call, uint32_t function)
{
    const struct mpi_shape *shape = &mpi_shapes[function];
    if (unlikely(must_see(shape)))
        begin_always(call, shape);
    begin_message(call, shape);
    uint64_t ticks = agent_ticks();
    set_begin(mpi_of(thread), call, ticks);
    if (shape->action == MPI_DOES_ABORT) { /* it does not return */
        mpi_of(thread)->frame = 0;
        call->result = 0;
        if (agent_recording(WIRE_BIT(MPI)))
            write_words(thread, call, WIRE_MPI_OTHER, 0, NULL, 0);
        return 0;
    }
    if (likely(agent_recording(WIRE_BIT(MPI)))) {
        const struct mpi_call *own = mpi_call_of(call);
        uint8_t peer = shape->peer ? shape->peer : shape->source ? shape->source : shape->root;
        const struct wire_open_call about = { .peer = peer ? mpi_int(call, peer) : WIRE_MPI_NO_RANK,
                                              .group = own->comm_handle,
                                              .bytes = own->sent };
        mpi_agent_set_open(thread, function, ticks, &about);
    }
    return 1;
}

static int mpi_agent_begin(struct word_call *call)
{
    uint32_t function = mpi_function_of(call);
    const struct mpi_shape *shape = &mpi_shapes[function];
    struct agent_thread *thread = agent_enter(WIRE_BIT(MPI));
    if (unlikely(!thread) && (!must_see(shape) || !(thread = agent_thread())))
        return 0;
    struct mpi_thread *state = mpi_of(thread);
    if (is_nested(state, call))
        return 0;
    if (unlikely(state->frame))
        write_left(thread);
    state->frame = (uintptr_t)call;
    set_begin(state, call, (uintptr_t)call);
    if (shape->table != MPI_TABLE_START_WAIT)
        return begin_other(thread, call, function);
    mpi_wait_begin(state, call, shape); /* must_see() is false for all of these, so the thread records */
    set_begin(state, call, agent_ticks());
    mpi_agent_set_open(thread, function, state->mark,
                       &(struct wire_open_call){ .peer = WIRE_MPI_NO_RANK, .bytes = WIRE_MPI_NO_SIZE });
    return 1;
}

/* ---- End ------------------------------------------------------------------------------------------------------- */

static inline int is_empty_poll(const struct word_call *call, const struct mpi_shape *shape)
{
    if ((int32_t)call->result != 0)
        return 0;
    if (shape->flag)
        return !*(const int32_t *)mpi_word(call, shape->flag);
    return shape->out_count && !*(const int32_t *)mpi_word(call, shape->out_count);
}

static int is_peer(const struct word_call *call, int32_t rank)
{
    return rank != mpi.flavour.proc_null || !mpi_knows(call);
}

static int is_receive(const struct word_call *call, const struct mpi_shape *shape)
{
    return shape->table == MPI_TABLE_P2P &&
           (shape->message || (shape->source && is_peer(call, mpi_int(call, shape->source))));
}

/* Remembers the request that the call has started or made; its number is in own->request. */
static void take_request(struct word_call *call, const struct mpi_shape *shape)
{
    struct mpi_call *own = mpi_call_of(call);
    uint64_t at = shape->request ? mpi_word(call, shape->request) : 0;
    if (!at || (int32_t)call->result != 0 || !mpi_knows(call) ||
        (shape->action != MPI_DOES_REQUEST && shape->action != MPI_DOES_PERSISTENT))
        return;
    int receives = is_receive(call, shape), persists = shape->action == MPI_DOES_PERSISTENT;
    int is_told = receives && !(shape->peer && mpi.flavour.mixes_up_both);
    uint32_t bits = (is_told ? MPI_REQUEST_RECEIVES : 0) | (persists ? MPI_REQUEST_PERSISTS : 0) |
                    (shape->table == MPI_TABLE_OTHER ? MPI_REQUEST_UNTOLD : 0) |
                    (!receives && !persists ? MPI_REQUEST_SHARES : 0);
    own->handle = mpi_load_handle(at, 0);
    own->request.number = mpi_request_add(own->handle, bits);
    if (unlikely(!own->request.number) && own->handle)
        atomic_fetch_add_explicit(&wire_mpi(agent.arena)->unfollowed, 1, memory_order_relaxed);
}

static uint32_t pending_flags(const struct mpi_shape *shape)
{
    return shape->action == MPI_DOES_REQUEST      ? WIRE_MPI_IS_PENDING
           : shape->action == MPI_DOES_PERSISTENT ? WIRE_MPI_IS_PENDING | WIRE_MPI_PERSISTS
                                                  : 0;
}

static void mpi_agent_write_message(struct agent_thread *thread, struct word_call *call, uint32_t flags, uint64_t bytes,
                                    uint64_t peer_and_tag)
{
    const struct mpi_call *own = mpi_call_of(call);
    const uint64_t words[] = {
        bytes,
        peer_and_tag,
        wire_mpi_pair(own->comm.number, 0),
        own->comm_handle,
        own->request.number,
        own->handle,
        (uintptr_t)call->caller,
    };
    write_words(thread, call, WIRE_MPI_P2P, flags, words, COUNT_OF(words));
}

static void end_receive(struct agent_thread *thread, struct word_call *call, const struct mpi_shape *shape,
                        uint32_t flags)
{
    const struct mpi_call *own = mpi_call_of(call);
    int32_t source = shape->source ? mpi_int(call, shape->source) : WIRE_MPI_NO_RANK;
    int32_t tag = shape->receive_tag ? mpi_int(call, shape->receive_tag) : WIRE_MPI_NO_RANK;
    uint64_t bytes = WIRE_MPI_NO_SIZE; /* of a request: not known yet */
    if (own->status && (int32_t)call->result == 0) {
        source = mpi_status_int(own->status, mpi.flavour.source_at);
        tag = mpi_status_int(own->status, mpi.flavour.tag_at);
        bytes = mpi_status_bytes(own->status);
    }
    int is_there = is_peer(call, source) && (int32_t)call->result == 0;
    if (!is_there)
        mpi_agent_write_message(thread, call, flags, 0, wire_mpi_pair(WIRE_MPI_NO_RANK, WIRE_MPI_NO_RANK));
    else
        mpi_agent_write_message(thread, call, flags | (shape->action == MPI_DOES_PROBE ? 0 : WIRE_MPI_RECEIVES), bytes,
                                wire_mpi_pair(source, tag));
}

static void end_p2p(struct agent_thread *thread, struct word_call *call, const struct mpi_shape *shape)
{
    uint32_t flags = pending_flags(shape) | WIRE_MPI_IS_EVENT;
    take_request(call, shape);
    if (shape->action == MPI_DOES_PROBE && shape->message && (int32_t)call->result == 0 && mpi_knows(call))
        mpi_message_add(mpi_load_handle(mpi_word(call, shape->message), 0), mpi_call_of(call)->comm.number);
    if (shape->peer) {
        int32_t peer = mpi_int(call, shape->peer);
        int moves = is_peer(call, peer) && (int32_t)call->result == 0;
        mpi_agent_write_message(thread, call, flags | (moves ? WIRE_MPI_SENDS : 0), mpi_call_of(call)->sent,
                                wire_mpi_pair(is_peer(call, peer) ? peer : WIRE_MPI_NO_RANK,
                                              mpi_int(call, shape->tag)));
        flags &= ~(uint32_t)WIRE_MPI_IS_EVENT;
    }
    if (shape->source || shape->message)
        end_receive(thread, call, shape, flags);
}

static void end_collective(struct agent_thread *thread, struct word_call *call, const struct mpi_shape *shape)
{
    const struct mpi_call *own = mpi_call_of(call);
    take_request(call, shape);
    const uint64_t words[] = {
        own->sent,
        own->received,
        wire_mpi_pair(own->comm.number, shape->root ? mpi_int(call, shape->root) : WIRE_MPI_NO_RANK),
        own->comm_handle,
        own->request.number,
        own->handle,
        (uintptr_t)call->caller,
    };
    write_words(thread, call, WIRE_MPI_COLLECTIVE, pending_flags(shape), words, COUNT_OF(words));
}

static void end_other(struct agent_thread *thread, struct word_call *call, const struct mpi_shape *shape)
{
    const struct mpi_call *own = mpi_call_of(call);
    take_request(call, shape);
    const uint64_t words[] = { own->sent,
                               wire_mpi_pair(shape->peer ? mpi_int(call, shape->peer) : WIRE_MPI_NO_RANK, 0) };
    write_words(thread, call, WIRE_MPI_OTHER, 0, words, shape->send_count ? 2 : 0);
}

/* MPI is ready: reports the rank, and describes MPI_COMM_WORLD. */
static void tell_rank(const struct word_call *call, uint64_t session)
{
    int32_t rank = WIRE_MPI_NO_RANK, size = 0;
    int saved = errno;
    atomic_store(&has_tried, 1);
    if (mpi.known != MPI_KNOWS_NONE && !mpi_knows(call)) { /* the other one has been finalised */
        mpi_comm_forget_all();
        mpi_requests_forget();
    }
    mpi_library_find(session, call->library);
    if (mpi.is_ready && mpi.has_world &&
        (MPI_LOCAL(Comm_rank, mpi.flavour.world, &rank) != 0 || MPI_LOCAL(Comm_size, mpi.flavour.world, &size) != 0))
        rank = WIRE_MPI_NO_RANK;
    uint64_t pair = wire_mpi_pair(rank, size);
    emit_note(WIRE_MPI_RANK, (uint16_t)mpi.kind, &pair, 1, NULL);
    if (mpi.is_ready && mpi.has_world)
        mpi_comm_of(mpi.flavour.world, 0);
    errno = saved;
}

static void end_always(struct word_call *call, const struct mpi_shape *shape)
{
    if ((int32_t)call->result != 0 || is_foreign(call))
        return;
    if (shape->action == MPI_DOES_INIT) {
        tell_rank(call, 0);
    } else if (shape->action == MPI_DOES_SESSION_INIT) {
        uint64_t session = 0;
        memcpy(&session, (const void *)word_call_word(call, 2), sizeof(void *));
        tell_rank(call, session);
    } else if (shape->new_comm && shape->action == MPI_DOES_NOTHING && is_ready(call)) {
        mpi_comm_of(mpi_load_handle(mpi_word(call, shape->new_comm), 0), mpi_call_of(call)->comm.number);
    }
}

static void mpi_agent_record_end(struct agent_thread *thread, struct mpi_thread *state, struct word_call *call,
                                 const struct mpi_shape *shape)
{
    if (shape->table == MPI_TABLE_START_WAIT)
        mpi_wait_end(thread, state, call, shape);
    else if (shape->table == MPI_TABLE_P2P)
        end_p2p(thread, call, shape);
    else if (shape->table == MPI_TABLE_COLLECTIVE)
        end_collective(thread, call, shape);
    else
        end_other(thread, call, shape);
}

/* Ends a call other than a poll that found nothing. */
static __attribute__((noinline)) void end_found(struct agent_thread *thread, struct word_call *call,
                                                const struct mpi_shape *shape)
{
    if (must_see(shape))
        end_always(call, shape);
    if (agent_recording(WIRE_BIT(MPI)))
        mpi_agent_record_end(thread, mpi_of(thread), call, shape);
}

static void mpi_agent_end(struct word_call *call)
{
    const struct mpi_shape *shape = &mpi_shapes[mpi_function_of(call)];
    struct agent_thread *thread = agent_thread();
    if (!thread || mpi_of(thread)->frame != (uintptr_t)call) /* this is another process by now */
        return;
    if (!is_empty_poll(call, shape))
        end_found(thread, call, shape);
    else if (agent_recording(WIRE_BIT(MPI)))
        agent_count(thread, WIRE_SOURCE_MPI, WIRE_EMPTY_POLL);
    clear_open(thread);
    mpi_of(thread)->frame = 0;
}

/* ---- The source ------------------------------------------------------------------------------------------------ */

/* MPI does not work in a forked child of a process that has initialised it. */
static void mpi_agent_forked(void)
{
    if (atomic_exchange(&mpi.is_ready, 0))
        atomic_store(&is_over, 1);
    mpi.world_group = 0;
    mpi_comm_forget_all();
    mpi_requests_forget();
}

/* Requests may have been completed unseen. */
static void mpi_agent_switched(void)
{
    if (agent_recording(WIRE_BIT(MPI)))
        mpi_requests_forget();
}

static void mpi_agent_thread_end(struct agent_thread *thread)
{
    mpi_wait_free(mpi_of(thread));
}

static const struct word_calls mpi_agent_calls = { .begin = mpi_agent_begin, .end = mpi_agent_end };

const struct agent_source agent_source_mpi = {
    .preload = WIRE_MPI_FILE,
    .models = MODEL_BIT(MODEL_MPI),
    .word_calls = &mpi_agent_calls,
    .forked = mpi_agent_forked,
    .switched = mpi_agent_switched,
    .thread_end = mpi_agent_thread_end,
};
