/* The heap: which blocks are recorded, and their records. The hooks are in libtacho-heap.so (heap_calls.h).
 *
 * The agent never starts here, because the program may hold any lock of libc when it allocates: until the process is
 * attached, blocks are not recorded. A block that was recorded is followed to its end even while recording is off; if
 * the thread can write no record just then, the number of the block waits for one that can. */
#include "agent/core/source.h"
#include "agent/core/stack_copy.h"
#include "heap_blocks.h"
#include "heap_calls.h"
#include "heap_distance.h"
#include "heap_stack.h"
#include "wire/wire_heap.h"

#define FINE_SAMPLES 4096u
#define LOOK_AGAIN_BYTES (512u << 10) /* while nothing is recorded */

struct heap_thread {
    uint64_t random;          /* 0: the thread has drawn no distance yet */
    uint64_t allocated;       /* bytes that it will have allocated when its countdown is 0 */
    uint64_t drawn;           /* the last countdown; 0: nothing was recorded since, so another one is to be drawn */
    struct heap_stack *stack; /* where every block is recorded; NULL: not needed yet */
};
AGENT_THREAD_STATE(HEAP, struct heap_thread, heap_of)

static struct {
    _Atomic(const struct heap_object *) object;
    _Atomic uint64_t last_number; /* of a block */
    uint64_t rate_bytes, most_rate_bytes;
    uint32_t stack_bytes;
    uint32_t has_blocks;          /* there is memory for them */
} heap;

/* ---- The filter ------------------------------------------------------------------------------------------------ */

static void filter_set_all(uint8_t value)
{
    const struct heap_object *object = atomic_load_explicit(&heap.object, memory_order_acquire);
    for (uint32_t i = 0; object && i < HEAP_FILTER_BYTES; i++)
        atomic_store_explicit(&object->filter[i], value, memory_order_relaxed);
}

static void filter_count(const struct heap_object *object, uintptr_t address, int step)
{
    _Atomic uint8_t *count = &object->filter[heap_filter_index(address)];
    uint8_t old = atomic_load_explicit(count, memory_order_relaxed);
    while (old != HEAP_FILTER_FULL &&
           !atomic_compare_exchange_weak_explicit(count, &old, (uint8_t)(old + step), memory_order_relaxed,
                                                  memory_order_relaxed))
        continue;
}

/* ---- Blocks that were freed where no record could be written --------------------------------------------------- */

#define WAITING_BLOCKS 1024u
static _Atomic uint64_t waiting[WAITING_BLOCKS]; /* numbers; 0: free */
static _Atomic uint32_t waiting_count;

static void let_wait(uint64_t number)
{
    for (uint32_t i = 0; i < WAITING_BLOCKS; i++) {
        uint64_t expected = 0;
        if (atomic_compare_exchange_strong(&waiting[i], &expected, number)) {
            atomic_fetch_add(&waiting_count, 1);
            return;
        }
    }
    if (agent_attached())
        atomic_fetch_add_explicit(&agent.arena->process_counts[WIRE_SOURCE_HEAP][WIRE_LOST_NO_THREAD], 1,
                                  memory_order_relaxed);
}

static int emit_freed(struct agent_thread *thread, uint64_t number, int is_now, uint64_t thread_bytes)
{
    struct agent_lane *lane;
    enum wire_fate fate;
    struct wire_record *record = emit_reserve(thread, &lane, WIRE_HEAP_FREED, WIRE_HEAD_WORDS + 2, &fate);
    if (!record)
        return -1;
    record->a = (uint16_t)is_now;
    record->ticks = agent_ticks();
    record->body[0] = number;
    record->body[1] = thread_bytes;
    emit_commit(lane, record);
    return 0;
}

static __attribute__((noinline)) void emit_waiting(struct agent_thread *thread)
{
    for (uint32_t i = 0; i < WAITING_BLOCKS; i++) {
        uint64_t number = atomic_exchange(&waiting[i], 0);
        if (!number)
            continue;
        atomic_fetch_sub(&waiting_count, 1);
        if (emit_freed(thread, number, 0, 0) != 0) {
            let_wait(number);
            return;
        }
    }
}

/* ---- The hooks' calls ------------------------------------------------------------------------------------------ */

/* What the thread has allocated until now. */
static uint64_t allocated_by(const struct heap_thread *own, uint64_t countdown)
{
    return countdown <= own->drawn ? own->allocated - countdown : own->allocated - own->drawn;
}

static void heap_agent_freed(uint64_t number, uint64_t countdown)
{
    struct agent_thread *thread = agent_attached() ? agent_thread() : NULL;
    if (thread && unlikely(atomic_load_explicit(&waiting_count, memory_order_relaxed)))
        emit_waiting(thread);
    if (!thread || emit_freed(thread, number, 1, allocated_by(heap_of(thread), countdown)) != 0)
        let_wait(number);
}

static uint64_t heap_agent_take(const void *block)
{
    const struct heap_object *object = atomic_load_explicit(&heap.object, memory_order_acquire);
    uint64_t number = agent_attached() ? heap_blocks_take((uintptr_t)block) : 0;
    if (number)
        filter_count(object, (uintptr_t)block, -1);
    return number;
}

/* Returns -1 when there is no room. */
static int keep_block(const void *block, uint64_t number)
{
    if (heap_blocks_add((uintptr_t)block, number) != 0)
        return -1;
    filter_count(atomic_load_explicit(&heap.object, memory_order_relaxed), (uintptr_t)block, 1);
    return 0;
}

static void heap_agent_put_back(const void *block, uint64_t number)
{
    if (agent_attached() && keep_block(block, number) != 0)
        let_wait(number);
}

/* An allocator may have given the address away again without a hook seeing that the last block ended. */
static void end_last_block_at(const void *block)
{
    uint64_t number = heap_agent_take(block);
    if (number)
        let_wait(number);
}

/* A thread has some thousands of samples before its rate goes up: what it allocates first is known well, and a thread
 * that allocates much does not pay for it. */
static uint64_t rate_at(uint64_t allocated)
{
    uint64_t rate = allocated / FINE_SAMPLES;
    return rate < heap.rate_bytes ? heap.rate_bytes : rate < heap.most_rate_bytes ? rate : heap.most_rate_bytes;
}

static void heap_agent_emit_stack(struct agent_thread *thread, uint64_t number, uint64_t ticks)
{
    struct heap_thread *own = heap_of(thread);
    const struct chain_of of = { WIRE_SOURCE_HEAP, number, ticks, heap.stack_bytes, AGENT_STACK_OF_BLOCK };
    if (heap.rate_bytes || heap_stack_emit(thread, &own->stack, &of) != 0)
        stack_copy_emit(thread, &of);
}

static void heap_agent_emit(struct agent_thread *thread, const void *block, size_t bytes, uint64_t thread_bytes)
{
    const struct heap_thread *own = heap_of(thread);
    uint64_t number = atomic_fetch_add_explicit(&heap.last_number, 1, memory_order_relaxed) + 1;
    uint64_t ticks = agent_ticks();
    struct agent_lane *lane;
    end_last_block_at(block);
    if (keep_block(block, number) != 0) {
        agent_count(thread, WIRE_SOURCE_HEAP, WIRE_LOST_BUFFER_FULL);
        return;
    }
    heap_agent_emit_stack(thread, number, ticks);
    struct wire_record *record = emit_begin(thread, &lane, WIRE_SOURCE_HEAP, WIRE_HEAP_ALLOCATED, WIRE_HEAD_WORDS + 4);
    if (!record) {
        heap_agent_take(block);
        return;
    }
    record->ticks = ticks;
    record->body[0] = number;
    record->body[1] = bytes;
    record->body[2] = thread_bytes;
    record->body[3] = rate_at(own->allocated - own->drawn);
    emit_commit(lane, record);
}

/* Begins the next countdown, `allocated` bytes after the thread's beginning. */
static uint64_t next_countdown(struct heap_thread *own, uint64_t allocated)
{
    own->drawn = heap.rate_bytes ? heap_distance_draw(&own->random, rate_at(allocated)) : 0;
    own->allocated = allocated + own->drawn;
    return own->drawn;
}

static uint64_t look_again(void)
{
    struct agent_thread *thread = agent_attached() ? agent_thread() : NULL;
    if (thread)
        heap_of(thread)->drawn = 0;
    return heap.rate_bytes ? LOOK_AGAIN_BYTES : 0;
}

static uint64_t heap_agent_allocated(const void *block, size_t bytes, uint64_t countdown)
{
    struct agent_thread *thread = agent_attached() && heap.has_blocks ? agent_enter(WIRE_BIT(HEAP)) : NULL;
    if (!thread)
        return look_again();
    struct heap_thread *own = heap_of(thread);
    if (!own->random)
        own->random = heap_distance_seed(thread->index);
    if (!own->drawn)
        countdown = next_countdown(own, own->allocated);
    if (countdown > bytes)
        return countdown - bytes;
    if (unlikely(atomic_load_explicit(&waiting_count, memory_order_relaxed)))
        emit_waiting(thread);
    uint64_t before = allocated_by(own, countdown);
    heap_agent_emit(thread, block, bytes, before);
    return next_countdown(own, before + bytes);
}

static const struct heap_calls heap_agent_calls = {
    heap_agent_allocated,
    heap_agent_take,
    heap_agent_freed,
    heap_agent_put_back,
};

/* ---- The row --------------------------------------------------------------------------------------------------- */

static const char *const refusals[] = {
    [HEAP_OF_SANITIZER] = "The heap is not recorded: a sanitizer has taken over malloc().",
    [HEAP_BEFORE_HOOKS] = "The heap is not recorded: the program brings its own malloc().",
};
#define OPERATORS_NOTE \
    "malloc() and the operators new and delete come from one library: blocks of operator new are not recorded."

/* Says what keeps blocks from being seen: 0, or -1 when none is. */
static int look_at_allocator(const struct heap_object *object)
{
    const char *refusal = object->allocator < COUNT_OF(refusals) ? refusals[object->allocator] : NULL;
    if (refusal || object->allocator == HEAP_OF_OPERATORS)
        emit_note(WIRE_DIAGNOSTIC, 2, NULL, 0, refusal ? refusal : OPERATORS_NOTE);
    return refusal ? -1 : 0;
}

static void set_filter(void)
{
    filter_set_all(heap.has_blocks && !heap.rate_bytes ? HEAP_FILTER_FULL : 0);
}

EXPORT const struct heap_calls *tacho_agent_heap(const struct heap_object *object)
{
    if (object->size != sizeof *object || !agent_thread() || !(agent.sources & WIRE_BIT(HEAP)))
        return NULL;
    if (look_at_allocator(object) != 0)
        return NULL;
    atomic_store_explicit(&heap.object, object, memory_order_release);
    set_filter();
    return &heap_agent_calls;
}

static int heap_agent_attach(struct wire_header *arena, int descriptor, enum wire_origin origin)
{
    const struct wire_heap_shared *shared = wire_heap(arena);
    if (!(arena->sources & WIRE_BIT(HEAP)))
        return 0;
    heap.rate_bytes = shared->rate_bytes;
    heap.most_rate_bytes = shared->most_rate_bytes;
    heap.stack_bytes = shared->stack_bytes;
    heap.has_blocks = heap_blocks_prepare() == 0;
    return 0;
}

static void heap_agent_attached(enum wire_origin origin)
{
    if (!(agent.sources & WIRE_BIT(HEAP)))
        return;
    set_filter();
    if (!heap.has_blocks)
        emit_note(WIRE_DIAGNOSTIC, 2, NULL, 0, "The heap is not recorded: there is no memory to follow its blocks.");
}

static void heap_agent_thread_ending(struct agent_thread *thread)
{
    if (atomic_load_explicit(&waiting_count, memory_order_relaxed))
        emit_waiting(thread);
}

static void heap_agent_exit(void)
{
    struct agent_thread *thread = agent_thread();
    if (thread)
        heap_agent_thread_ending(thread);
}

static void heap_agent_thread_end(struct agent_thread *thread)
{
    heap_stack_free(&heap_of(thread)->stack);
}

static void heap_agent_objects_changed(void)
{
    const struct heap_object *object = atomic_load_explicit(&heap.object, memory_order_acquire);
    if (object)
        object->objects_changed();
}

static void heap_agent_forked(void)
{
    heap.has_blocks = 0;
    heap_blocks_forget();
    filter_set_all(0);
    for (uint32_t i = 0; i < WAITING_BLOCKS; i++)
        atomic_store_explicit(&waiting[i], 0, memory_order_relaxed);
    atomic_store(&waiting_count, 0);
}

const struct agent_source agent_source_heap = {
    .preload = WIRE_HEAP_FILE,
    .attach = heap_agent_attach,
    .attached = heap_agent_attached,
    .forked = heap_agent_forked,
    .thread_ending = heap_agent_thread_ending,
    .thread_end = heap_agent_thread_end,
    .exit = heap_agent_exit,
    .objects_changed = heap_agent_objects_changed,
};
