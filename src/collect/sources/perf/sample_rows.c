/* CPU samples to rows: see sample_rows.h. */
#include "sample_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "collect/sources/stacks/stack_rows.h"
#include "samples_state.h"

enum { THREAD_RUNNING = 1 }; /* of nsys's ENUM_SAMPLING_THREAD_STATE */

/* The mappings of a pid from a time on, until its next space begins. There may be several: the ring buffers report a
 * new program before the last samples of the program that it replaces have been read, and the kernel reuses pids. */
struct samples_space {
    struct samples_space *older;
    uint64_t since_ns;
    struct symbols_process *space;
};

/* Mappings are missed when ring buffers overrun: then /proc must not keep the collector from reading them. */
#define LOOK_EVERY_NS INT64_C(200000000)

void samples_free(struct collector *collector)
{
    struct samples *samples = &samples_state(collector)->samples;
    for (const struct samples_process *process = samples_process_map_next(&samples->processes, NULL); process;
         process = samples_process_map_next(&samples->processes, process))
        for (struct samples_space *space = process->newest, *older; space; space = older) {
            older = space->older;
            free(space);
        }
    samples_process_map_free(&samples->processes);
    *samples = (struct samples){ 0 };
}

/* ---- Processes ------------------------------------------------------------------------------------------------- */

static struct samples_process *sample_rows_find(struct collector *collector, pid_t pid)
{
    return samples_process_map_find(&samples_state(collector)->samples.processes, pid);
}

/* The space that a process had at a time, or its first one if that began later. */
static struct samples_space *space_at(const struct samples_process *process, uint64_t time_ns)
{
    struct samples_space *space = process->newest;
    while (space->since_ns > time_ns && space->older)
        space = space->older;
    return space;
}

/* An address space of which nothing is known yet; NULL when memory is short. */
static struct symbols_process *new_space(struct collector *collector, pid_t pid)
{
    struct symbols *symbols = stacks_symbols(collector);
    return symbols ? symbols_process_new(symbols, pid) : NULL;
}

/* Makes this the address space of a pid from a time on. Rings are read one after the other, so that it need not be the
 * newest. Returns its process, or NULL when memory is short. */
static struct samples_process *begin_space(struct collector *collector, pid_t pid, uint64_t since_ns,
                                           struct symbols_process *space)
{
    struct samples_process *process = sample_rows_find(collector, pid);
    struct samples_space *begun = space ? malloc(sizeof *begun) : NULL;
    if (!begun)
        return NULL;
    *begun = (struct samples_space){ NULL, since_ns, space };
    if (!process) {
        const struct samples_process added = { .pid = pid, .newest = begun };
        process = samples_process_map_add(&samples_state(collector)->samples.processes, &added);
        if (!process)
            free(begun);
        return process;
    }
    struct samples_space **place = &process->newest;
    while (*place && (*place)->since_ns > since_ns)
        place = &(*place)->older;
    begun->older = *place;
    *place = begun;
    if (begun->older)
        symbols_process_end(begun->older->space); /* /proc describes another program by now */
    if (begun != process->newest)
        symbols_process_end(space);
    return process;
}

static void sample_rows_look(const struct collector *collector, struct samples_process *process)
{
    int64_t now_ns = clock_ns(CLOCK_MONOTONIC);
    if (process->looked_ns && now_ns - process->looked_ns < LOOK_EVERY_NS)
        return;
    process->looked_ns = now_ns;
    process->doubts = samples_state(collector)->samples.doubts;
    symbols_process_look(process->newest->space);
}

struct symbols_process *samples_process(struct collector *collector, pid_t pid, uint64_t time_ns)
{
    struct samples_process *process = sample_rows_find(collector, pid);
    int is_new = !process;
    if (is_new && !(process = begin_space(collector, pid, 0, new_space(collector, pid))))
        return NULL;
    if (is_new || process->doubts != samples_state(collector)->samples.doubts)
        sample_rows_look(collector, process);
    return space_at(process, time_ns)->space;
}

void samples_doubt_mappings(struct collector *collector)
{
    samples_state(collector)->samples.doubts++;
}

void samples_forked(struct collector *collector, pid_t parent, pid_t child, uint64_t time_ns)
{
    const struct samples_process *known = sample_rows_find(collector, parent);
    begin_space(collector, child, time_ns,
                known ? symbols_process_fork(space_at(known, time_ns)->space, child) : new_space(collector, child));
}

void samples_execed(struct collector *collector, pid_t pid, uint64_t time_ns)
{
    begin_space(collector, pid, time_ns, new_space(collector, pid));
}

void samples_ended(struct collector *collector, pid_t pid)
{
    const struct samples_process *process = sample_rows_find(collector, pid);
    if (process)
        symbols_process_end(process->newest->space);
}

void samples_mapped(struct collector *collector, pid_t pid, uint64_t time_ns, const struct symbols_mapping *mapping)
{
    const struct samples_process *process = sample_rows_find(collector, pid);
    if (!process)
        process = begin_space(collector, pid, 0, new_space(collector, pid));
    if (process)
        symbols_process_map(space_at(process, time_ns)->space, mapping);
}

/* ---- Rows ------------------------------------------------------------------------------------------------------ */

void samples_add(struct collector *collector, const struct samples_event *event)
{
    struct row_COMPOSITE_EVENTS row = { 0 };
    int64_t id = (int64_t)++collector->result->cpu.samples;
    ROW_SET(&row, COMPOSITE_EVENTS, id, id);
    ROW_SET(&row, COMPOSITE_EVENTS, start, event->time_ns);
    if (event->cpu >= 0)
        ROW_SET(&row, COMPOSITE_EVENTS, cpu, event->cpu);
    ROW_SET(&row, COMPOSITE_EVENTS, threadState, THREAD_RUNNING);
    ROW_SET(&row, COMPOSITE_EVENTS, globalTid, event->global_tid);
    ROW_SET(&row, COMPOSITE_EVENTS, cpuCycles, event->weight);
    if (event->python)
        ROW_SET(&row, COMPOSITE_EVENTS, pythonCallchainId, event->python);
    writer_append(collector->writer, TABLE_COMPOSITE_EVENTS, &row);
    samples_state(collector)->samples.ends[event->walk.end]++;
    stacks_sample(collector, id, event->walk.stack);
}
