/* CPU samples: see sample_rows.h. */
#include "sample_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "collect/sources/stacks/stack_rows.h"
#include "cpu_state.h"

enum { THREAD_RUNNING = 1 }; /* of nsys's ENUM_SAMPLING_THREAD_STATE */

/* What a process had mapped from a time on, up to that of the next: rings tell of a program that begins before the last
 * samples of the one that it took the place of are read, and a number may be another process's later. */
struct samples_space {
    struct samples_space *older;
    uint64_t since_ns;
    struct symbols_process *space;
};

struct samples_process {
    struct samples_process *next;
    pid_t pid;
    struct samples_space *newest;
    uint64_t doubts; /* of struct samples, as of the last look */
    int64_t looked_ns;
};
#define LOOK_EVERY_NS INT64_C(200000000) /* rings that are full are no time for long reading */

static void process_free(struct samples_process *process)
{
    for (struct samples_space *space = process->newest, *older; space; space = older) {
        older = space->older;
        free(space);
    }
    free(process);
}

void samples_free(struct collector *collector)
{
    struct samples *samples = &cpu_state(collector)->samples;
    for (size_t i = 0; i < SAMPLES_BUCKETS; i++)
        for (struct samples_process *process = samples->buckets[i], *next; process; process = next) {
            next = process->next;
            process_free(process);
        }
    memset(samples, 0, sizeof *samples);
}

/* ---- Processes ------------------------------------------------------------------------------------------------- */

static struct samples_process **place_of(struct collector *collector, pid_t pid)
{
    struct samples_process **place = &cpu_state(collector)
                                          ->samples.buckets[hash_number((uint64_t)pid) >> 20 & (SAMPLES_BUCKETS - 1)];
    while (*place && (*place)->pid != pid)
        place = &(*place)->next;
    return place;
}

static struct samples_process *add(struct collector *collector, pid_t pid)
{
    struct samples_process **place = place_of(collector, pid);
    if (!*place && stacks_symbols(collector))
        *place = calloc(1, sizeof **place);
    if (*place)
        (*place)->pid = pid;
    return *place;
}

/* The space of a time; of what was before the first that is known, that one. */
static struct samples_space *space_at(const struct samples_process *process, uint64_t time_ns)
{
    struct samples_space *space = process ? process->newest : NULL;
    while (space && space->since_ns > time_ns && space->older)
        space = space->older;
    return space;
}

/* Takes over from this time on. Rings are read one after the other, so that it need not be the newest. */
static struct symbols_process *begin_space(struct samples_process *process, uint64_t since_ns,
                                           struct symbols_process *space)
{
    struct samples_space *begun = process && space ? malloc(sizeof *begun) : NULL,
                         **place = begun ? &process->newest : NULL;
    if (!begun)
        return NULL;
    while (*place && (*place)->since_ns > since_ns)
        place = &(*place)->older;
    *begun = (struct samples_space){ *place, since_ns, space };
    *place = begun;
    if (begun->older)
        symbols_process_end(begun->older->space); /* what /proc tells is not of it any more */
    if (begun != process->newest)
        symbols_process_end(space);
    return space;
}

/* A space, if need be one that nothing is known of yet. */
static struct symbols_process *find_space(struct collector *collector, pid_t pid, uint64_t time_ns)
{
    struct samples_process *process = add(collector, pid);
    struct samples_space *known = space_at(process, time_ns);
    return known     ? known->space
           : process ? begin_space(process, 0, symbols_process_new(stacks_symbols(collector), pid))
                     : NULL;
}

static void look(const struct collector *collector, struct samples_process *process)
{
    int64_t now_ns = clock_ns(CLOCK_MONOTONIC);
    if (process->looked_ns && now_ns - process->looked_ns < LOOK_EVERY_NS)
        return;
    process->looked_ns = now_ns;
    process->doubts = cpu_state(collector)->samples.doubts;
    symbols_process_look(process->newest->space);
}

struct symbols_process *samples_process(struct collector *collector, pid_t pid, uint64_t time_ns)
{
    struct samples_process *known = *place_of(collector, pid);
    struct symbols_process *space = find_space(collector, pid, time_ns);
    struct samples_process *process = *place_of(collector, pid);
    if (space && (!known || process->doubts != cpu_state(collector)->samples.doubts))
        look(collector, process);
    return space;
}

void samples_doubt_mappings(struct collector *collector)
{
    cpu_state(collector)->samples.doubts++;
}

void samples_forked(struct collector *collector, pid_t parent, pid_t child, uint64_t time_ns)
{
    struct samples_space *begun_by = space_at(*place_of(collector, parent), time_ns);
    struct samples_process *process = add(collector, child);
    if (process) /* another one may have had this pid */
        begin_space(process, time_ns,
                    begun_by ? symbols_process_fork(begun_by->space, child)
                             : symbols_process_new(stacks_symbols(collector), child));
}

void samples_execed(struct collector *collector, pid_t pid, uint64_t time_ns)
{
    struct samples_process *process = add(collector, pid);
    if (process)
        begin_space(process, time_ns, symbols_process_new(stacks_symbols(collector), pid));
}

void samples_ended(struct collector *collector, pid_t pid)
{
    struct samples_process *process = *place_of(collector, pid);
    if (process && process->newest)
        symbols_process_end(process->newest->space);
}

void samples_mapped(struct collector *collector, pid_t pid, uint64_t time_ns, const struct symbols_mapping *mapping)
{
    struct symbols_process *space = find_space(collector, pid, time_ns);
    if (space)
        symbols_process_map(space, mapping);
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
    cpu_state(collector)->samples.ends[event->walk.end]++;
    stacks_sample(collector, id, event->walk.stack);
}
