/* Begins and ends of OpenMP's constructs to events: see openmp_pairs.h.
 *
 * Each thread has a list of its open constructs, the innermost last. An end belongs to the innermost one of its kind;
 * locks, tasks and regions also have a number to match, because locks need not nest. The records may be incomplete
 * (recording was switched on or off inside a construct, the buffer was full) or corrupt: an end without a begin is
 * ignored, and constructs that stay open inside one that ends are dropped and counted as unfinished. */
#include "openmp_pairs.h"

#include <stdlib.h>
#include <string.h>

#include "abi/openmp/ompt.h"
#include "base/array.h"
#include "collect/core/collector.h"
#include "collect/core/record.h"
#include "collect/process/process.h"

enum { OPEN_MAX = 4096, REGION_ENDS = 1024 };

struct thread_state {
    struct openmp_event *open;
    size_t count, room;
};

/* When the last regions ended. Workers of the last ones may never report the end of their part. */
struct openmp_pairs_process_state {
    struct {
        uint64_t region;
        int64_t end_ns;
    } ends[REGION_ENDS];
};

static struct thread_state *openmp_pairs_thread_of(const struct collect_origin *origin)
{
    void **state = &origin->reader->state[COLLECT_SOURCE_OPENMP];
    if (!*state)
        *state = calloc(1, sizeof(struct thread_state));
    return *state;
}

static struct openmp_pairs_process_state *openmp_pairs_process_of(const struct collect_origin *origin)
{
    void **state = &origin->process->state[COLLECT_SOURCE_OPENMP];
    if (!*state)
        *state = calloc(1, sizeof(struct openmp_pairs_process_state));
    return *state;
}

static void count_unfinished(const struct collect_origin *origin, size_t count)
{
    origin->process->counts[WIRE_SOURCE_OPENMP].unfinished += count;
}

/* ---- The list -------------------------------------------------------------------------------------------------- */

static void openmp_pairs_push(const struct collect_origin *origin, const struct openmp_event *event)
{
    struct thread_state *thread = openmp_pairs_thread_of(origin);
    if (!thread || thread->count == OPEN_MAX ||
        array_reserve(&thread->open, &thread->room, thread->count + 1, sizeof *thread->open) != 0) {
        count_unfinished(origin, 1);
        return;
    }
    thread->open[thread->count++] = *event;
}

static void take_out(struct thread_state *thread, size_t index)
{
    thread->count--;
    memmove(&thread->open[index], &thread->open[index + 1], (thread->count - index) * sizeof *thread->open);
}

/* The number that an end of such a construct has. */
static uint64_t openmp_pairs_key_of(const struct openmp_event *event)
{
    switch (event->event) {
    case WIRE_OPENMP_PARALLEL: return event->parallel;
    case WIRE_OPENMP_TASK: return event->task;
    case WIRE_OPENMP_MUTEX_WAIT:
    case WIRE_OPENMP_CRITICAL_SECTION: return event->value;
    default: return 0;
    }
}

/* The innermost open construct of this kind, or NULL. */
static struct openmp_event *openmp_pairs_find(struct thread_state *thread, enum wire_openmp_event event, uint64_t key)
{
    for (size_t i = thread->count; i-- > 0;)
        if (thread->open[i].event == event && openmp_pairs_key_of(&thread->open[i]) == key)
            return &thread->open[i];
    return NULL;
}

/* The task that the thread is in, or NULL. */
static const struct openmp_event *current_task(const struct thread_state *thread)
{
    for (size_t i = thread->count; i-- > 0;)
        if (thread->open[i].event == WIRE_OPENMP_TASK)
            return &thread->open[i];
    return NULL;
}

/* A region or an implicit task has ended: constructs inside it have, too, but for locks, which may stay taken. */
static void drop_inside(const struct collect_origin *origin, struct thread_state *thread, size_t index)
{
    size_t kept = index + 1;
    for (size_t i = index + 1; i < thread->count; i++)
        if (thread->open[i].event == WIRE_OPENMP_CRITICAL_SECTION)
            thread->open[kept++] = thread->open[i];
    count_unfinished(origin, thread->count - kept);
    thread->count = kept;
}

static void openmp_pairs_finish(const struct collect_origin *origin, struct thread_state *thread,
                                struct openmp_event *event, uint64_t ticks)
{
    int is_outer = event->event == WIRE_OPENMP_PARALLEL ||
                   (event->event == WIRE_OPENMP_TASK && wire_openmp_is_implicit(event->task));
    if (is_outer)
        drop_inside(origin, thread, (size_t)(event - thread->open));
    openmp_row(origin, event, clock_map_time(&origin->collector->clock, ticks), 0);
    take_out(thread, (size_t)(event - thread->open));
}

/* ---- Records --------------------------------------------------------------------------------------------------- */

static int is_damaged(const struct collect_origin *origin, const struct wire_record *record, uint32_t words,
                      uint32_t body)
{
    int damaged = words < WIRE_HEAD_WORDS + body || record->flags >= WIRE_OPENMP_EVENTS;
    origin->process->counts[WIRE_SOURCE_OPENMP].damaged += (uint64_t)damaged;
    return damaged;
}

static struct openmp_event openmp_pairs_event_of(const struct collect_origin *origin, const struct wire_record *record)
{
    struct openmp_event event = {
        .event = record->flags,
        .kind = record->a,
        .index = record->b,
        .parallel = record->body[0],
        .task = record->body[1],
        .address = record->body[2],
        .value = record->body[3],
        .ticks = record->ticks,
    };
    struct thread_state *thread = openmp_pairs_thread_of(origin);
    const struct openmp_event *task = thread ? current_task(thread) : NULL;
    if (task && event.event != WIRE_OPENMP_PARALLEL && !event.parallel && !wire_openmp_is_implicit(event.task))
        event.parallel = task->parallel;
    if (task && event.event != WIRE_OPENMP_TASK && !event.task)
        event.task = task->task;
    return event;
}

void openmp_read_begin(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    struct thread_state *thread = openmp_pairs_thread_of(origin);
    if (is_damaged(origin, record, words, WIRE_OPENMP_BODY) || !thread)
        return;
    struct openmp_event event = openmp_pairs_event_of(origin, record), *other = NULL;
    /* A lock that was taken ends the wait for it. A wait that another wait follows was a test that failed. */
    if (event.event == WIRE_OPENMP_CRITICAL_SECTION &&
        (other = openmp_pairs_find(thread, WIRE_OPENMP_MUTEX_WAIT, event.value)))
        openmp_pairs_finish(origin, thread, other, event.ticks);
    if (event.event == WIRE_OPENMP_MUTEX_WAIT && thread->count &&
        thread->open[thread->count - 1].event == WIRE_OPENMP_MUTEX_WAIT)
        thread->count--;
    if (event.event == WIRE_OPENMP_TASK && wire_openmp_is_implicit(event.task) &&
        (other = openmp_pairs_find(thread, WIRE_OPENMP_PARALLEL, event.parallel)))
        other->threads = (uint32_t)event.value;
    openmp_pairs_push(origin, &event);
}

void openmp_read_end(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    struct thread_state *thread = openmp_pairs_thread_of(origin);
    if (is_damaged(origin, record, words, 1) || !thread)
        return;
    struct openmp_event *event = openmp_pairs_find(thread, record->flags, record->body[0]);
    if (record->flags == WIRE_OPENMP_PARALLEL && record->body[0]) {
        struct openmp_pairs_process_state *process = openmp_pairs_process_of(origin);
        const size_t i = record->body[0] % REGION_ENDS;
        if (process) {
            process->ends[i].region = record->body[0];
            process->ends[i].end_ns = record_time(origin, record);
        }
    }
    if (event)
        openmp_pairs_finish(origin, thread, event, record->ticks);
}

/* An explicit task is open from its start to its completion. While it is suspended, its thread runs others, which lie
 * inside it; a task that another thread goes on with begins there anew. */
static void schedule(const struct collect_origin *origin, struct thread_state *thread, const struct openmp_event *event)
{
    int is_over = event->kind == OMPT_TASK_COMPLETE || event->kind == OMPT_TASK_CANCELLED;
    struct openmp_event *prior = is_over && !wire_openmp_is_implicit(event->task)
                                     ? openmp_pairs_find(thread, WIRE_OPENMP_TASK, event->task)
                                     : NULL;
    if (prior)
        openmp_pairs_finish(origin, thread, prior, event->ticks);
    if (event->value && !wire_openmp_is_implicit(event->value) &&
        !openmp_pairs_find(thread, WIRE_OPENMP_TASK, event->value))
        openmp_pairs_push(origin, &(struct openmp_event){ .event = WIRE_OPENMP_TASK,
                                                          .kind = OMPT_TASK_EXPLICIT,
                                                          .parallel = event->parallel,
                                                          .task = event->value,
                                                          .ticks = event->ticks });
}

void openmp_read_point(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    struct thread_state *thread = openmp_pairs_thread_of(origin);
    if (is_damaged(origin, record, words, WIRE_OPENMP_BODY) || !thread)
        return;
    struct openmp_event event = openmp_pairs_event_of(origin, record);
    openmp_row(origin, &event, record_time(origin, record), 0);
    if (event.event == WIRE_OPENMP_TASK_SCHEDULE)
        schedule(origin, thread, &event);
}

/* ---- Ends ------------------------------------------------------------------------------------------------------ */

/* The end of the region that the construct belongs to, or PROCESS_NO_TIME. */
static int64_t end_of_region(const struct collect_origin *origin, const struct openmp_event *event)
{
    const struct openmp_pairs_process_state *process = origin->process->state[COLLECT_SOURCE_OPENMP];
    const size_t i = event->parallel % REGION_ENDS;
    int is_inside = event->event != WIRE_OPENMP_PARALLEL && event->event != WIRE_OPENMP_CRITICAL_SECTION;
    return process && event->parallel && is_inside && process->ends[i].region == event->parallel
               ? process->ends[i].end_ns
               : PROCESS_NO_TIME;
}

void openmp_cut(const struct collect_origin *origin, int64_t end_ns)
{
    struct thread_state *thread = origin->reader->state[COLLECT_SOURCE_OPENMP];
    if (end_ns == PROCESS_NO_TIME)
        end_ns = collector_now(origin->collector);
    for (size_t i = thread ? thread->count : 0; i-- > 0;) {
        int64_t known_ns = end_of_region(origin, &thread->open[i]);
        openmp_row(origin, &thread->open[i], known_ns == PROCESS_NO_TIME ? end_ns : known_ns,
                   known_ns == PROCESS_NO_TIME);
    }
    if (thread)
        thread->count = 0;
}

void openmp_forget_thread(struct process_reader *reader)
{
    struct thread_state *thread = reader->state[COLLECT_SOURCE_OPENMP];
    if (thread)
        free(thread->open);
    free(thread);
    reader->state[COLLECT_SOURCE_OPENMP] = NULL;
}

void openmp_forget_process(struct process *process)
{
    openmp_forget_places(process, 0, UINT64_MAX);
    free(process->state[COLLECT_SOURCE_OPENMP]);
    process->state[COLLECT_SOURCE_OPENMP] = NULL;
}
