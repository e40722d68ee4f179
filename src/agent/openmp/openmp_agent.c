/* Records of OpenMP: see openmp_agent.h.
 *
 * A construct is two records, its begin and its end, and the collector pairs them. So the agent keeps no stack of
 * constructs: a program may leave them by exit(), by an exception, or when its runtime is shut down.
 *
 * LLVM's runtime reports the end of a region's last barrier in a worker only when the worker wakes up for the next
 * region, which may be much later. The region has ended for all its threads when its first thread goes on. So the times
 * of these ends are kept for a while, and later ends inside the region take them. */
#include "openmp_agent.h"

#include "agent/core/source.h"

enum { TASKS_AT_ONCE = 1024, REGION_ENDS = 1024 };

struct openmp_thread {
    uint64_t next_task, tasks_end; /* numbers that this thread may still give */
    /* The lock that it waits for, if only long waits are recorded; ticks 0: it waits for none. */
    struct {
        uint64_t ticks, lock;
        const void *address;
        uint64_t kind;
    } wanted;
};
AGENT_THREAD_STATE(OPENMP, struct openmp_thread, openmp_of)

static struct {
    _Atomic uint64_t regions, tasks, threads;
    _Atomic uint32_t is_told;
    struct {
        _Atomic uint64_t region, ticks;
    } ends[REGION_ENDS]; /* by number of the region */
} openmp;

/* ---- Numbers --------------------------------------------------------------------------------------------------- */

uint64_t openmp_new_region(void)
{
    return agent_thread() ? atomic_fetch_add_explicit(&openmp.regions, 1, memory_order_relaxed) + 1 : 0;
}

uint64_t openmp_new_thread(void)
{
    return agent_thread() ? atomic_fetch_add_explicit(&openmp.threads, 1, memory_order_relaxed) + 1 : 0;
}

/* A thread takes many numbers at a time, so that threads which create tasks do not share a cache line. */
uint64_t openmp_new_task(void)
{
    struct agent_thread *thread = agent_thread();
    if (!thread)
        return 0;
    struct openmp_thread *state = openmp_of(thread);
    if (state->next_task == state->tasks_end) {
        state->next_task = atomic_fetch_add_explicit(&openmp.tasks, TASKS_AT_ONCE, memory_order_relaxed) + 1;
        state->tasks_end = state->next_task + TASKS_AT_ONCE;
    }
    return state->next_task++ << 1;
}

/* ---- Records --------------------------------------------------------------------------------------------------- */

/* ticks: 0: now */
static void openmp_agent_write_event(uint32_t type, const struct agent_openmp_event *event, uint64_t ticks)
{
    struct agent_thread *thread = agent_enter(WIRE_BIT(OPENMP));
    struct agent_lane *lane;
    struct wire_record *record = thread ? emit_begin(thread, &lane, WIRE_SOURCE_OPENMP, type,
                                                     WIRE_HEAD_WORDS + WIRE_OPENMP_BODY)
                                        : NULL;
    if (!record)
        return;
    record->ticks = ticks ? ticks : agent_ticks();
    record->flags = (uint8_t)event->event;
    record->a = (uint16_t)event->kind;
    record->b = (uint16_t)event->index;
    record->body[0] = event->parallel;
    record->body[1] = event->task;
    record->body[2] = (uint64_t)(uintptr_t)event->address;
    record->body[3] = event->value;
    emit_commit(lane, record);
}

void openmp_begin(const struct agent_openmp_event *event)
{
    openmp_agent_write_event(WIRE_OPENMP_BEGIN, event, 0);
}

void openmp_point(const struct agent_openmp_event *event)
{
    openmp_agent_write_event(WIRE_OPENMP_POINT, event, 0);
}

static void openmp_agent_write_end(enum wire_openmp_event event, uint64_t key, uint64_t ticks)
{
    struct agent_thread *thread = agent_enter(WIRE_BIT(OPENMP));
    struct agent_lane *lane;
    struct wire_record *record = thread ? emit_begin(thread, &lane, WIRE_SOURCE_OPENMP, WIRE_OPENMP_END,
                                                     WIRE_HEAD_WORDS + 1)
                                        : NULL;
    if (!record)
        return;
    record->ticks = ticks ? ticks : agent_ticks();
    record->flags = (uint8_t)event;
    record->body[0] = key;
    emit_commit(lane, record);
}

void openmp_end(enum wire_openmp_event event, uint64_t key)
{
    openmp_agent_write_end(event, key, 0);
}

/* 0: it runs, or ended too long ago. A second reading of the number finds out if the entry was replaced meanwhile. */
static uint64_t region_end(uint64_t region)
{
    const size_t i = region % REGION_ENDS;
    if (!region || atomic_load_explicit(&openmp.ends[i].region, memory_order_acquire) != region)
        return 0;
    uint64_t ticks = atomic_load_explicit(&openmp.ends[i].ticks, memory_order_acquire);
    return atomic_load_explicit(&openmp.ends[i].region, memory_order_relaxed) == region ? ticks : 0;
}

void openmp_end_inside(enum wire_openmp_event event, uint64_t key, uint64_t region)
{
    openmp_agent_write_end(event, key, region_end(region));
}

void openmp_end_region(uint64_t region)
{
    if (!agent_enter(WIRE_BIT(OPENMP)))
        return;
    const size_t i = region % REGION_ENDS;
    uint64_t ticks = agent_ticks();
    atomic_store_explicit(&openmp.ends[i].region, 0, memory_order_relaxed);
    atomic_store_explicit(&openmp.ends[i].ticks, ticks, memory_order_release);
    atomic_store_explicit(&openmp.ends[i].region, region, memory_order_release);
    openmp_agent_write_end(WIRE_OPENMP_PARALLEL, region, ticks);
}

/* ---- Locks ----------------------------------------------------------------------------------------------------- */

/* 0: all that happens to locks is recorded. */
static uint64_t lock_wait_ticks(void)
{
    return wire_openmp(agent.arena)->lock_wait_ticks;
}

int openmp_keeps_locks(void)
{
    return lock_wait_ticks() == 0;
}

void openmp_lock_wanted(uint32_t kind, uint64_t lock, const void *address)
{
    struct agent_thread *thread = agent_enter(WIRE_BIT(OPENMP));
    if (!thread)
        return;
    if (!lock_wait_ticks()) {
        openmp_begin(&(struct agent_openmp_event){
            .event = WIRE_OPENMP_MUTEX_WAIT, .kind = kind, .value = lock, .address = address });
        return;
    }
    struct openmp_thread *state = openmp_of(thread);
    state->wanted.lock = lock;
    state->wanted.address = address;
    state->wanted.kind = kind;
    state->wanted.ticks = agent_ticks();
}

/* The wait for a lock is over: it is written if it was long. */
static void openmp_agent_end_wait(struct agent_thread *thread)
{
    struct openmp_thread *state = openmp_of(thread);
    uint64_t start = state->wanted.ticks, end = agent_ticks();
    state->wanted.ticks = 0;
    if (end - start < lock_wait_ticks()) {
        agent_count(thread, WIRE_SOURCE_OPENMP, WIRE_BELOW_THRESHOLD);
        return;
    }
    const struct agent_openmp_event wait = { .event = WIRE_OPENMP_MUTEX_WAIT,
                                             .kind = (uint32_t)state->wanted.kind,
                                             .value = state->wanted.lock,
                                             .address = state->wanted.address };
    openmp_agent_write_event(WIRE_OPENMP_BEGIN, &wait, start);
    openmp_agent_write_end(WIRE_OPENMP_MUTEX_WAIT, wait.value, end);
}

void openmp_lock_taken(uint32_t kind, uint64_t lock, const void *address)
{
    struct agent_thread *thread = agent_enter(WIRE_BIT(OPENMP));
    if (!thread)
        return;
    if (!lock_wait_ticks())
        openmp_begin(&(struct agent_openmp_event){
            .event = WIRE_OPENMP_CRITICAL_SECTION, .kind = kind, .value = lock, .address = address });
    else if (openmp_of(thread)->wanted.ticks && openmp_of(thread)->wanted.lock == lock)
        openmp_agent_end_wait(thread);
}

void openmp_lock_given_back(uint64_t lock)
{
    if (agent_enter(WIRE_BIT(OPENMP)) && !lock_wait_ticks())
        openmp_end(WIRE_OPENMP_CRITICAL_SECTION, lock);
}

void openmp_tell(const char *sentence)
{
    if (agent_thread() && !atomic_exchange(&openmp.is_told, 1))
        emit_note(WIRE_DIAGNOSTIC, 2, NULL, 0, sentence);
}
