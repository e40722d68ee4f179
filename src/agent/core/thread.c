/* Threads: a slot and two chains of chunks for each, from its first event to the last of its destructors.
 *
 * A slot and its chunks have one writer, the thread. It publishes with release stores (slot.state, slot.first_chunk,
 * chunk.next, chunk.committed), which pair with the collector's acquire loads. A thread that ends hands its slot to the
 * collector (ENDED), which frees it once it is drained. Nothing here waits for another thread. */
#include "thread.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "agent.h"
#include "arena_window.h"
#include "libc_loader.h"
#include "libc_real.h"
#include "own_calls.h"
#include "own_process.h"
#include "source.h"
#include "sys.h"

/* Libraries do I/O in their thread destructors, so the agent stays until the round before the last. */
#define LAST_ROUND 3

#define EARLY_KEYS 32u /* glibc stores the values of these keys in the thread itself */
#define MUSL_KEYS 128u /* musl has no more keys, and stores all values in the thread */

/* Stacks are seldom larger. A frame that is farther away is on another stack, which the jump did not leave. */
#define JUMP_MOST (8u << 20)

#define ADVICE_POPULATE_WRITE 23 /* MADV_POPULATE_WRITE, which older headers lack */

__thread struct agent_thread *agent_self __attribute__((tls_model("initial-exec")));
static pthread_key_t end_key;
static _Atomic int has_end_key;
static _Atomic uint32_t chunks_seen; /* chunks from this index on have no pages yet, as far as is known */

void *agent_scratch_take(struct agent_thread *thread, enum agent_scratch_use use)
{
    struct agent_scratch *scratch = &thread->scratch[use];
    enum wire_fate fate = WIRE_LOST_IN_SIGNAL;
    uintptr_t frame = agent_frame();
    if (!scratch->taken || agent_was_left(&scratch->taken, frame)) {
        scratch->taken = frame;
        atomic_signal_fence(memory_order_seq_cst);
        if (!scratch->memory)
            scratch->memory = window_map(-1, 0, AGENT_SCRATCH_BYTES);
        if (scratch->memory)
            return scratch->memory;
        scratch->taken = 0;
        fate = WIRE_LOST_BUFFER_FULL;
    }
    agent_count(thread, WIRE_SOURCE_NOTES, fate);
    return NULL;
}

void agent_scratch_give(struct agent_thread *thread, enum agent_scratch_use use)
{
    atomic_signal_fence(memory_order_seq_cst);
    thread->scratch[use].taken = 0;
}

/* Another thread may have renamed this one, which no hook in this thread has seen. */
static void note_last_name(const struct wire_thread *slot)
{
    char name[sizeof slot->name + 1] = { 0 };
    sys_prctl(PR_GET_NAME, (unsigned long)name, 0, 0, 0);
    if (memcmp(name, slot->name, sizeof slot->name) != 0)
        agent_set_thread_name(name);
}

static void agent_thread_end(struct agent_thread *thread)
{
    note_last_name(thread->slot);
    sources_thread_ending(thread);
    emit_note(WIRE_THREAD_END, 0, NULL, 0, NULL);
    agent_self = AGENT_NO_THREAD;
    sources_thread_end(thread);
    for (int use = 0; use < AGENT_SCRATCH_USES; use++)
        if (thread->scratch[use].memory)
            window_unmap(thread->scratch[use].memory, AGENT_SCRATCH_BYTES);
    if (thread->slot->tid == agent.pid)
        atomic_store(&agent.first_thread_ended, 1);
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&thread->slot->state, WIRE_THREAD_ENDED, memory_order_release);
}

/* In a forked child the value points to the parent's thread, which is not mapped here. */
static void at_thread_end(void *value)
{
    struct agent_thread *thread = value;
    if (!agent_attached() || agent_self != thread)
        return;
    if (++thread->end_rounds < LAST_ROUND && loader.pthread_setspecific(end_key, thread) == 0)
        return;
    if (!agent_begin_calls())
        return;
    agent_thread_end(thread);
    agent_end_calls();
}

/* Takes the last early key, so that the program's own keys begin at 0 as they do without the agent: it creates the keys
 * before that one and deletes them again. It takes no later key, because glibc allocates memory for the value of a
 * later key, in whichever hook a thread calls first. musl (no dlvsym) continues from the key that it created last and
 * wraps around at the end. */
void thread_prepare(void)
{
    pthread_key_t others[MUSL_KEYS], last = (loader.dlvsym ? EARLY_KEYS : MUSL_KEYS) - 1;
    unsigned count = 0;
    int has_key;
    while ((has_key = LIBC_REAL(pthread_key_create)(&end_key, at_thread_end) == 0) && end_key < last &&
           count < MUSL_KEYS)
        others[count++] = end_key;
    if (has_key && end_key > last)
        loader.pthread_key_delete(end_key);
    if ((!has_key || end_key > last) && (has_key = count > 0))
        end_key = others[--count];
    while (count > 0)
        loader.pthread_key_delete(others[--count]);
    atomic_store(&has_end_key, has_key);
}

int thread_give_key_back(void)
{
    return atomic_exchange(&has_end_key, 0) && loader.pthread_key_delete(end_key) == 0;
}

/* Without a key the thread ends here, and events of its destructors count as lost. A thread that calls pthread_exit()
 * does not come here, so its end is unknown. */
void thread_returns(void)
{
    struct agent_thread *thread = agent_attached() && !atomic_load_explicit(&has_end_key, memory_order_relaxed)
                                      ? agent_self
                                      : NULL;
    if (!agent_is_thread(thread) || !agent_begin_calls())
        return;
    agent_thread_end(thread);
    agent_end_calls();
}

static void agent_thread_describe(struct wire_thread *slot)
{
    slot->tid = (uint32_t)sys_gettid();
    slot->start_ticks = agent_ticks();
    slot->priority = (uint32_t)(40 - sys_getpriority(0, 0)); /* the kernel answers 20 - nice; this is 20 + nice */
    memset(slot->name, 0, sizeof slot->name);
    sys_prctl(PR_GET_NAME, (unsigned long)slot->name, 0, 0, 0);
    atomic_store_explicit(&slot->call_ticks, 0, memory_order_relaxed);
    for (int lane = 0; lane < WIRE_LANES; lane++)
        atomic_store_explicit(&slot->first_chunk[lane], WIRE_NONE, memory_order_relaxed);
}

struct agent_thread *thread_attach(void)
{
    if (agent_self)
        return NULL;
    agent_self = AGENT_NO_THREAD; /* so that hooks in signal handlers pass through from here on */
    uint32_t index = area_take(&agent.slots, &agent.arena->free_threads, &agent.arena->threads_taken);
    if (index == WIRE_NONE) {
        agent_self = NULL;
        return NULL;
    }
    struct agent_thread *thread = area_unit(&agent.threads, index);
    memset(thread, 0, AGENT_THREAD_BYTES);
    thread->index = index;
    thread->slot = area_unit(&agent.slots, index);
    agent_thread_describe(thread->slot);
    atomic_store_explicit(&thread->slot->state, WIRE_THREAD_LIVE, memory_order_release);
    agent_self = thread;
    int saved_errno = errno;
    if (atomic_load_explicit(&has_end_key, memory_order_relaxed))
        loader.pthread_setspecific(end_key, thread);
    errno = saved_errno;
    return thread;
}

void agent_thread_begin(void)
{
    agent_thread();
}

void agent_set_thread_name(const char *name)
{
    emit_note(WIRE_THREAD_NAME, 0, NULL, 0, name);
}

/* A thread that has filled one chunk will fill the next, so its pages are mapped at once instead of fault by fault.
 * Chunks that were used before have their pages. Kernels before 5.14 refuse this, which does no harm. */
static void populate(struct wire_chunk *chunk, uint32_t index)
{
    if (index < atomic_load_explicit(&chunks_seen, memory_order_relaxed))
        return;
    atomic_store_explicit(&chunks_seen, index + 1, memory_order_relaxed);
    sys_madvise(chunk, WIRE_CHUNK_BYTES, ADVICE_POPULATE_WRITE);
}

static unsigned char *agent_thread_end_of(struct wire_chunk *chunk)
{
    return chunk->data + WIRE_CHUNK_DATA;
}

static int agent_thread_has_room(const struct agent_lane *lane, const unsigned char *end, uint32_t words)
{
    return (size_t)(end - lane->cursor) >= (size_t)words * 8;
}

void thread_close_note(struct agent_lane *lane, const struct wire_record *record)
{
    if (lane->in_note_chunk)
        lane->limit = lane->cursor + (record ? record->words * 8u : 0);
}

/* If the lane's chunk is one for notes, it may have room left. */
static int reopen_for_note(struct agent_lane *lane, uint32_t words)
{
    if (!lane->in_note_chunk || !agent_thread_has_room(lane, agent_thread_end_of(lane->chunk), words))
        return 0;
    lane->limit = agent_thread_end_of(lane->chunk);
    return 1;
}

/* Bytes of records in the lane. Reads the chunk alone, because a signal handler may ask at any moment. */
static uint64_t agent_thread_bytes_of(const struct agent_lane *lane)
{
    struct wire_chunk *chunk = lane->chunk;
    return chunk ? chunk->bytes_before + atomic_load_explicit(&chunk->committed, memory_order_relaxed) : 0;
}

/* Makes this the lane's chunk; index counts all chunks. The store of the link comes last: after it the collector may
 * free the previous chunk, so nothing may read that one. */
static void enter_chunk(struct agent_thread *thread, struct agent_lane *lane, struct wire_chunk *chunk, uint32_t index)
{
    _Atomic uint32_t *link = lane->chunk ? &lane->chunk->next : &thread->slot->first_chunk[lane - thread->lanes];
    atomic_store_explicit(&chunk->committed, 0, memory_order_relaxed);
    atomic_store_explicit(&chunk->next, WIRE_NONE, memory_order_relaxed);
    chunk->thread = thread->index;
    chunk->bytes_before = agent_thread_bytes_of(lane);
    atomic_signal_fence(memory_order_seq_cst);
    lane->chunk = chunk;
    lane->cursor = chunk->data;
    lane->limit = agent_thread_end_of(chunk);
    lane->in_note_chunk = index < WIRE_NOTE_CHUNKS;
    atomic_store_explicit(link, index, memory_order_release);
}

static int next_note_chunk(struct agent_thread *thread, struct agent_lane *lane, uint32_t words)
{
    if (reopen_for_note(lane, words))
        return 0;
    uint32_t index = area_take(&agent.note_chunks, &agent.arena->free_note_chunks, &agent.arena->note_chunks_taken);
    if (index == WIRE_NONE)
        return -1;
    enter_chunk(thread, lane, area_unit(&agent.note_chunks, index), index);
    return 0;
}

static int agent_thread_next_chunk(struct agent_thread *thread, struct agent_lane *lane, uint32_t words)
{
    uint32_t index = area_take(&agent.chunks, &agent.arena->free_chunks, &agent.arena->chunks_taken);
    if (index == WIRE_NONE)
        return thread->notes && !agent_was_left(&thread->notes, agent_frame()) ? next_note_chunk(thread, lane, words)
                                                                               : -1;
    struct wire_chunk *chunk = area_unit(&agent.chunks, index);
    if (lane->chunk)
        populate(chunk, index);
    enter_chunk(thread, lane, chunk, WIRE_NOTE_CHUNKS + index);
    return 0;
}

/* Holds signals back: a handler must not leave by longjmp() between two chunks, because the collector frees the
 * previous chunk as soon as the next one is linked to it. */
static int agent_thread_find_room(struct agent_thread *thread, struct agent_lane *lane, uint32_t words)
{
    if (words > WIRE_CHUNK_DATA / 8 || agent_is_filtered_child() || !agent_begin_calls())
        return -1;
    uint64_t mask = sys_hold_signals();
    int result = agent_thread_next_chunk(thread, lane, words);
    sys_release_signals(mask);
    agent_end_calls();
    return result;
}

/* ---- Jumps out of handlers ------------------------------------------------------------------------------------- */

static int agent_thread_is_left(uintptr_t word, uintptr_t here)
{
    return (word & AGENT_JUMPED) && here - (word & ~(uintptr_t)AGENT_JUMPED) <= JUMP_MOST &&
           agent_is_on_this_stack(word);
}

int agent_was_left(uintptr_t *word, uintptr_t here)
{
    if (!agent_thread_is_left(*word, here))
        return 0;
    *word = 0;
    return 1;
}

/* ---- Records of handlers that interrupt another record --------------------------------------------------------- */

/* Writes where the next records of this lane belong: 0, or -1 when the buffer is full. */
static int agent_thread_tell_place(struct agent_thread *thread, struct agent_lane *lane, uint64_t place)
{
    const uint32_t words = WIRE_HEAD_WORDS + 1;
    if (!agent_thread_has_room(lane, lane->limit, words) && agent_thread_find_room(thread, lane, words) != 0)
        return -1;
    struct wire_record *record = (struct wire_record *)lane->cursor;
    *record = (struct wire_record){ .type = WIRE_PLACE, .words = (uint16_t)words };
    record->body[0] = place;
    lane->cursor += (size_t)words * 8;
    atomic_store_explicit(&lane->chunk->committed, (uint32_t)(lane->cursor - lane->chunk->data), memory_order_release);
    lane->place = place;
    return 0;
}

int agent_make_room(struct agent_thread *thread, struct agent_lane *lane, uint32_t words)
{
    uint64_t place = lane == thread->lanes ? 0 : agent_thread_bytes_of(thread->lanes);
    if (lane->chunk && !lane->in_note_chunk)
        lane->limit = agent_thread_end_of(lane->chunk);
    if (lane->place != place && agent_thread_tell_place(thread, lane, place) != 0)
        return -1;
    return agent_thread_has_room(lane, lane->limit, words) ? 0 : agent_thread_find_room(thread, lane, words);
}

/* Takes the lane from an unfinished record that the program jumped out of. The next record overwrites it. */
static struct agent_lane *agent_thread_take_lane(struct agent_thread *thread, struct agent_lane *lane, uintptr_t here)
{
    lane->busy = here;
    atomic_signal_fence(memory_order_seq_cst);
    if (lane->chunk)
        lane->cursor = lane->chunk->data + atomic_load_explicit(&lane->chunk->committed, memory_order_relaxed);
    thread_close_note(lane, NULL);
    agent_count(thread, WIRE_SOURCE_NOTES, WIRE_LOST_IN_SIGNAL);
    return lane;
}

/* If the program left a record, it also left the records of handlers that interrupted that one. Where the next records
 * of the handlers' lane belong elsewhere than its last ones, the lane is closed, so that agent_make_room() writes the
 * new place first. */
struct agent_lane *agent_free_lane(struct agent_thread *thread, uintptr_t here)
{
    struct agent_lane *own = &thread->lanes[WIRE_LANE_THREAD], *handlers = &thread->lanes[WIRE_LANE_HANDLER];
    int is_free = agent_thread_is_left(own->busy, here);
    if (handlers->busy && (agent_thread_is_left(handlers->busy, here) || (is_free && (handlers->busy & AGENT_JUMPED))))
        agent_thread_take_lane(thread, handlers, here)->busy = 0;
    if (is_free)
        return agent_thread_take_lane(thread, own, here);
    if (handlers->busy)
        return NULL;
    handlers->busy = here;
    atomic_signal_fence(memory_order_seq_cst);
    if (handlers->place != agent_thread_bytes_of(own))
        handlers->limit = handlers->cursor;
    return handlers;
}
