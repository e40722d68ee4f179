/* CPU samples: see samples.h. */
#include "samples.h"

#include <stdlib.h>
#include <string.h>

#include "../base/clock.h"
#include "../base/hash.h"
#include "collector.h"
#include "stacks.h"

enum { THREAD_RUNNING = 1 }; /* of nsys's ENUM_SAMPLING_THREAD_STATE */

struct samples_process {
    struct samples_process *next;
    pid_t pid;
    struct symbols_process *space;
    uint64_t doubts;    /* of struct samples, as of the last look */
    int64_t looked_ns;
};
#define LOOK_EVERY_NS INT64_C(200000000) /* rings that are full are no time for long reading */

void samples_free(struct samples *samples)
{
    for (size_t i = 0; i < SAMPLES_BUCKETS; i++)
        for (struct samples_process *process = samples->buckets[i], *next; process; process = next) {
            next = process->next;
            free(process);
        }
    memset(samples, 0, sizeof *samples);
}

/* ---- Processes -------------------------------------------------------------------------------------------------------------- */

static struct samples_process **place_of(struct collector *collector, pid_t pid)
{
    struct samples_process **place = &collector->samples.buckets[hash_number((uint64_t)pid) >> 20 & (SAMPLES_BUCKETS - 1)];
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

/* With a space of its own, that nothing is known of yet. */
static struct samples_process *add_with_space(struct collector *collector, pid_t pid)
{
    struct samples_process *process = add(collector, pid);
    if (process && !process->space)
        process->space = symbols_process_new(stacks_symbols(collector), pid);
    return process && process->space ? process : NULL;
}

static void look(const struct collector *collector, struct samples_process *process)
{
    int64_t now_ns = clock_ns(CLOCK_MONOTONIC);
    if (process->looked_ns && now_ns - process->looked_ns < LOOK_EVERY_NS)
        return;
    process->looked_ns = now_ns;
    process->doubts = collector->samples.doubts;
    symbols_process_look(process->space);
}

struct symbols_process *samples_process(struct collector *collector, pid_t pid)
{
    struct samples_process *known = *place_of(collector, pid), *process = add_with_space(collector, pid);
    if (process && (!known || process->doubts != collector->samples.doubts))
        look(collector, process);
    return process ? process->space : NULL;
}

void samples_doubt_mappings(struct collector *collector)
{
    collector->samples.doubts++;
}

void samples_forked(struct collector *collector, pid_t parent, pid_t child)
{
    struct samples_process *begun_by = *place_of(collector, parent), *process = add(collector, child);
    if (process) /* another one may have had this pid */
        process->space = begun_by && begun_by->space ? symbols_process_fork(begun_by->space, child) : NULL;
}

void samples_execed(struct collector *collector, pid_t pid)
{
    struct samples_process *process = add_with_space(collector, pid);
    if (process)
        symbols_process_exec(process->space);
}

void samples_ended(struct collector *collector, pid_t pid)
{
    struct samples_process *process = *place_of(collector, pid);
    if (process && process->space)
        symbols_process_end(process->space);
}

void samples_mapped(struct collector *collector, pid_t pid, const struct symbols_mapping *mapping)
{
    struct samples_process *process = add_with_space(collector, pid);
    if (process)
        symbols_process_map(process->space, mapping);
}

/* ---- Rows -------------------------------------------------------------------------------------------------------------------- */

void samples_add(struct collector *collector, const struct samples_event *event)
{
    struct row_COMPOSITE_EVENTS row = {0};
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
    collector->samples.ends[event->walk.end]++;
    stacks_sample(collector, id, event->walk.stack);
}
