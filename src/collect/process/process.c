/* The process tree: the table of processes and its rows. See process.h. */
#include "process.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "abi/jobs/job_variables.h"
#include "base/array.h"
#include "cause.h"
#include "collect/core/collect_sources.h"
#include "collect/core/collector.h"
#include "collect/core/procfs.h"
#include "program_file.h"

#define GENERATIONS_MAX 64 /* pids are reused, so ancestors could form a ring */

static const char *const ending_names[] = {
    [PROCESS_RUNS] = "running", [PROCESS_EXITED] = "exit", [PROCESS_SIGNALLED] = "signal",
    [PROCESS_EXECED] = "exec",  [PROCESS_LOST] = "lost",
};

struct process *process_find(struct collector *collector, pid_t pid)
{
    const struct process_of_pid *known = process_pid_map_find(&collector->processes->by_pid, pid);
    return known ? known->newest : NULL;
}

static struct process_of_own_pid *process_find_own(struct collector *collector, uint64_t key)
{
    return process_own_pid_map_find(&collector->processes->by_own_pid, key);
}

static uint64_t own_key(uint32_t own_pid, pid_t parent_pid)
{
    return (uint64_t)own_pid << 32 | (uint32_t)parent_pid;
}

struct process *process_find_child(const struct process *parent, uint32_t own_pid)
{
    const struct process_of_own_pid *known = process_find_own(parent->collector, own_key(own_pid, parent->pid));
    struct process *process = known ? known->newest : NULL;
    return process == parent ? process->older_own : process;
}

void process_set_own_pid(struct process *process, uint32_t own_pid)
{
    const struct process_of_own_pid added = { own_key(own_pid, process->parent_pid), process };
    struct process_of_own_pid *known = process_find_own(process->collector, added.key);
    process->own_pid = own_pid;
    if (known) {
        process->older_own = known->newest;
        known->newest = process;
    } else {
        process_own_pid_map_add(&process->collector->processes->by_own_pid, &added); /* process_add() has made room */
    }
}

/* ---- Rows ------------------------------------------------------------------------------------------------------ */

static void process_set_rank(struct row_TACHO_PROCESS *row, const struct process *process)
{
    const struct job_place *place = &process->place;
    if (!place->launcher)
        return;
    ROW_SET(row, TACHO_PROCESS, rank, place->rank);
    if (place->local_rank >= 0)
        ROW_SET(row, TACHO_PROCESS, localRank, place->local_rank);
    if (place->world_size >= 0)
        ROW_SET(row, TACHO_PROCESS, worldSize, place->world_size);
    ROW_SET(row, TACHO_PROCESS, rankSource, collector_string(process->collector, place->launcher));
    if (place->job[0])
        ROW_SET(row, TACHO_PROCESS, job, collector_string(process->collector, place->job));
}

static void process_set_ending(struct row_TACHO_PROCESS *row, const struct process *process)
{
    ROW_SET(row, TACHO_PROCESS, ending, collector_string(process->collector, ending_names[process->ending]));
    if (process->end_ns != PROCESS_NO_TIME)
        ROW_SET(row, TACHO_PROCESS, end, process->end_ns);
    if (process->ending == PROCESS_EXITED)
        ROW_SET(row, TACHO_PROCESS, exitStatus, process->status);
    if (process->ending == PROCESS_SIGNALLED)
        ROW_SET(row, TACHO_PROCESS, signal, process->status);
    if (process->cpu_ns >= 0)
        ROW_SET(row, TACHO_PROCESS, cpuNs, process->cpu_ns - process->cpu_before_ns);
}

void process_row(const struct process *process)
{
    struct collector *collector = process->collector;
    struct row_TACHO_PROCESS row = { 0 };
    ROW_SET(&row, TACHO_PROCESS, start, process->start_ns);
    ROW_SET(&row, TACHO_PROCESS, globalPid, process->global_pid);
    if (process->parent_pid)
        ROW_SET(&row, TACHO_PROCESS, parentGlobalPid, COLLECTOR_VM_ID | (int64_t)process->parent_pid << 24);
    ROW_SET(&row, TACHO_PROCESS, image, process->image);
    if (process->exe_id)
        ROW_SET(&row, TACHO_PROCESS, exe, process->exe_id);
    if (process->command_id)
        ROW_SET(&row, TACHO_PROCESS, command, process->command_id);
    ROW_SET(&row, TACHO_PROCESS, origin, collector_string(collector, process->origin));
    process_set_ending(&row, process);
    ROW_SET(&row, TACHO_PROCESS, host, collector_string(collector, collector->host));
    process_set_rank(&row, process);
    if (process->unrecorded)
        ROW_SET(&row, TACHO_PROCESS, unrecorded, collector_string(collector, cause_text(process->unrecorded)));
    writer_append(collector->writer, TABLE_TACHO_PROCESS, &row);
}

/* nsys has one row per pid, named after the last program in it. */
void process_name_row(const struct process *process)
{
    struct row_PROCESSES row = { 0 };
    ROW_SET(&row, PROCESSES, globalPid, process->global_pid);
    ROW_SET(&row, PROCESSES, pid, process->pid);
    ROW_SET(&row, PROCESSES, name, collector_string(process->collector, process->name));
    writer_append(process->collector->writer, TABLE_PROCESSES, &row);
}

/* ---- Beginning ------------------------------------------------------------------------------------------------- */

/* Makes room for one more process, so that neither its pid nor its own pid can get lost for want of memory. */
static int process_make_room(struct process_table *table)
{
    size_t count = (size_t)table->count + 1;
    return process_pid_map_reserve(&table->by_pid, count) == 0 &&
                   process_own_pid_map_reserve(&table->by_own_pid, count) == 0
               ? 0
               : -1;
}

static void link_in(struct process_table *table, struct process *process)
{
    struct process_of_pid *known = process_pid_map_find(&table->by_pid, process->pid);
    if (known) {
        process->older = known->newest;
        known->newest = process;
    } else {
        process_pid_map_add(&table->by_pid, &(struct process_of_pid){ process->pid, process });
    }
    if (table->last)
        table->last->next = process;
    else
        table->first = process;
    table->last = process;
    table->count++;
    table->live++;
}

struct process *process_add(struct collector *collector, pid_t pid, pid_t parent, const char *origin)
{
    struct process *process = calloc(1, sizeof *process);
    struct process_counts *counts = calloc(3 * WIRE_SOURCE_COUNT, sizeof *counts);
    if (!process || !counts || process_make_room(collector->processes) != 0) {
        free(process);
        free(counts);
        return NULL;
    }
    process->counts = counts;
    process->reported = counts + WIRE_SOURCE_COUNT;
    process->told = counts + 2 * WIRE_SOURCE_COUNT;
    struct process *before = process_find(collector, pid);
    process->collector = collector;
    process->pid = pid;
    process->parent_pid = parent;
    process->global_pid = COLLECTOR_VM_ID | (int64_t)pid << 24;
    process->origin = origin;
    process->start_ns = collector_now(collector);
    process->end_ns = process->exec_ns = PROCESS_NO_TIME;
    process->cpu_ns = -1;
    process->pidfd = -1;
    if (before) {
        process->image = before->image + 1;
        process->place = before->place;
    }
    /* The same process, running another program. */
    if (before && (before->is_over ? before->over_ending : before->ending) == PROCESS_EXECED) {
        process->is_primary = before->is_primary;
        process->is_child = before->is_child;
        process->parent_pid = before->parent_pid;
        process->cpu_before_ns = before->cpu_ns > 0 ? before->cpu_ns : 0;
        process->start_ns = before->is_over ? before->over_ns : before->end_ns;
    } else { /* it has one thread so far, so it is at least as old as its CPU time */
        process_sample_cpu(process);
        process->start_ns -= process->cpu_ns > 0 ? process->cpu_ns : 0;
        process->cpu_ns = -1;
    }
    link_in(collector->processes, process);
    return process;
}

void process_attach(struct process *process, struct wire_header *arena, uint64_t arena_bytes, uint32_t chunk_count)
{
    struct process_table *table = process->collector->processes;
    process->arena = arena;
    process->is_recorded = 1;
    process->arena_bytes = arena_bytes;
    process->chunk_count = chunk_count;
    SOURCES_CALL(process_attach, process); /* no other process has the arena yet */
    process->next_live = table->first_live;
    if (table->first_live)
        table->first_live->previous_live = process;
    table->first_live = process;
}

void process_detach(struct process *process)
{
    struct process_table *table = process->collector->processes;
    if (!process->arena)
        return;
    if (table->next_round == process)
        table->next_round = process->next_live;
    if (process->previous_live)
        process->previous_live->next_live = process->next_live;
    else
        table->first_live = process->next_live;
    if (process->next_live)
        process->next_live->previous_live = process->previous_live;
    process->next_live = process->previous_live = NULL;
    munmap(process->arena, process->arena_bytes);
    process->arena = NULL;
}

static void environment_rows(const struct process *process, const char *block, size_t length)
{
    for (size_t at = 0; at < length; at += strlen(block + at) + 1) {
        const char *variable = block + at, *equals = strchr(variable, '=');
        if (!equals || !job_variable_is_kept(variable, (size_t)(equals - variable)))
            continue;
        struct row_TACHO_PROCESS_ENV row = { 0 };
        ROW_SET(&row, TACHO_PROCESS_ENV, globalPid, process->global_pid);
        ROW_SET(&row, TACHO_PROCESS_ENV, name,
                writer_string(process->collector->writer, variable, (size_t)(equals - variable)));
        ROW_SET(&row, TACHO_PROCESS_ENV, value, collector_string(process->collector, equals + 1));
        writer_append(process->collector->writer, TABLE_TACHO_PROCESS_ENV, &row);
    }
}

/* A child has its parent's environment until it calls exec. A program may get none of the launcher's variables (-n
 * false, sudo); it is part of our rank all the same. */
static void inherit_place(struct process *process)
{
    const struct process *parent = process_find(process->collector, process->parent_pid);
    if (!process->place.launcher && parent && parent != process)
        process->place = parent->place;
    if (!process->place.launcher)
        process->place = process->collector->place;
}

void process_describe(struct process *process)
{
    struct text text = { 0 };
    int redact = process->collector->options->redact;
    if (procfs_exe(process->pid, &text) == 0) {
        started_names_find(&process->collector->processes->started, process->pid, &text);
        process->exe_id = collector_string(process->collector, text_string(&text));
    }
    text_clear(&text);
    procfs_name(process->pid, process->name, sizeof process->name);
    if (redact || procfs_command(process->pid, &text) == 0)
        process->command_id = collector_string(process->collector, redact ? process->name : text_string(&text));
    text_clear(&text);
    if (strcmp(process->origin, "fork") != 0 && procfs_environment(process->pid, &text) == 0) {
        process->place = machine_place(text.bytes, text.length);
        if (!redact)
            environment_rows(process, text.bytes, text.length);
    }
    inherit_place(process);
    process->start_time = procfs_start_time(process->pid);
    text_free(&text);
    process_row(process);
    SOURCES_CALL(process_begin, process);
}

void process_describe_unseen(struct process *process)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/exe", (int)process->pid);
    process->filters = procfs_filters(process->pid);
    if (program_file_is_static(path))
        process->cause = WIRE_CAUSE_STATIC;
    else if (process->cause == WIRE_CAUSE_STATIC) /* it was static, and has called exec since */
        process->cause = WIRE_CAUSE_UNKNOWN;
    process_describe(process);
}

/* ---- Those without an agent ------------------------------------------------------------------------------------ */

int process_is_unrecorded(const struct process *process)
{
    return !process->is_recorded && !process->is_borrowed && !process->collector->options->no_preload;
}

/* Processes inherit their root directory, in which an ancestor could not read the agent. */
static int is_in_other_root(const struct process *process)
{
    const struct process *ancestor = process_find(process->collector, process->parent_pid);
    for (int generations = 0; ancestor && generations < GENERATIONS_MAX; generations++) {
        if (ancestor->cause == WIRE_CAUSE_UNREADABLE)
            return 1;
        ancestor = process_find(process->collector, ancestor->parent_pid);
    }
    return 0;
}

enum wire_cause process_cause(const struct process *process)
{
    if (process->filters > process->collector->filters)
        return WIRE_CAUSE_FILTERED;
    if (process == process->collector->primary && process->collector->program_cause)
        return process->collector->program_cause;
    if (process->cause)
        return process->cause;
    return is_in_other_root(process) ? WIRE_CAUSE_UNREADABLE : WIRE_CAUSE_NOT_ATTACHED;
}

void process_set_unrecorded(struct process *process, enum wire_cause cause)
{
    process->unrecorded = cause;
    process_row(process);
}

/* ---- Counts ---------------------------------------------------------------------------------------------------- */

void process_count_row(const struct process *process, const char *source, const char *fate, const char *cause,
                       int64_t count)
{
    if (!count)
        return;
    struct collector *collector = process->collector;
    struct row_TACHO_COUNT row = { 0 };
    ROW_SET(&row, TACHO_COUNT, globalPid, process->global_pid);
    ROW_SET(&row, TACHO_COUNT, source, collector_string(collector, source));
    ROW_SET(&row, TACHO_COUNT, fate, collector_string(collector, fate));
    if (*cause)
        ROW_SET(&row, TACHO_COUNT, cause, collector_string(collector, cause));
    ROW_SET(&row, TACHO_COUNT, count, count);
    writer_append(collector->writer, TABLE_TACHO_COUNT, &row);
}

static const struct {
    const char *fate, *cause;
} fate_names[] = {
#define FATE_NAME(id, fate, cause) [WIRE_##id] = {fate, cause},
    WIRE_FATES(FATE_NAME)
#undef FATE_NAME
};

void process_set_counts(struct process *process, enum wire_source source, const struct process_counts *totals)
{
    struct process_counts *counts = &process->counts[source], *told = &process->told[source];
    counts->recorded += totals->recorded - told->recorded;
    counts->damaged += totals->damaged - told->damaged;
    counts->recovered += totals->recovered - told->recovered;
    counts->unfinished += totals->unfinished - told->unfinished;
    counts->unknown_kind += totals->unknown_kind - told->unknown_kind;
    for (int fate = 0; fate < WIRE_FATE_COUNT; fate++)
        counts->fates[fate] += totals->fates[fate] - told->fates[fate];
    *told = *totals;
}

/* Counts it for the first source, so that it is counted only once. */
void process_count_damaged(struct process *process)
{
    process->counts[0].damaged++;
}

void process_report_counts(struct process *process)
{
    SOURCES_CALL(counts, process);
    for (int i = 0; i < WIRE_SOURCE_COUNT; i++) {
        struct process_counts *now = &process->counts[i], *before = &process->reported[i];
        process_count_row(process, wire_source_name(i), "recorded", "", (int64_t)(now->recorded - before->recorded));
        process_count_row(process, wire_source_name(i), "recorded", "recovered",
                          (int64_t)(now->recovered - before->recovered));
        process_count_row(process, wire_source_name(i), "lost", "damaged", (int64_t)(now->damaged - before->damaged));
        process_count_row(process, wire_source_name(i), "lost", "unfinished",
                          (int64_t)(now->unfinished - before->unfinished));
        process_count_row(process, wire_source_name(i), "lost", "unknown-kind",
                          (int64_t)(now->unknown_kind - before->unknown_kind));
        for (int fate = 0; fate < WIRE_FATE_COUNT; fate++)
            process_count_row(process, wire_source_name(i), fate_names[fate].fate, fate_names[fate].cause,
                              (int64_t)(now->fates[fate] - before->fates[fate]));
        *before = *now;
    }
}

/* ---- Ending ---------------------------------------------------------------------------------------------------- */

static void set_status(struct process *process, int wait_status)
{
    process->ending = WIFSIGNALED(wait_status) ? PROCESS_SIGNALLED : PROCESS_EXITED;
    process->status = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

/* Chooses the exit status from what is known, if we did not see the end ourselves. */
void process_settle_status(struct process *process, enum process_ending ending, int status)
{
    process->ending = ending;
    process->status = status;
    if (ending != PROCESS_LOST)
        return;
    if (process->parent_said) {
        set_status(process, process->wait_status);
    } else if (process->exit_seen) {
        process->ending = PROCESS_EXITED;
        process->status = process->exit_status;
    }
}

void process_set_wait_status(struct process *process, int wait_status)
{
    process->parent_said = 1;
    process->wait_status = wait_status;
    if (process->ending == PROCESS_RUNS || process->ending == PROCESS_EXECED)
        return;
    enum process_ending ending = process->ending;
    int status = process->status;
    set_status(process, wait_status);
    if (process->ending != ending || process->status != status)
        process_row(process); /* the last row is the valid one */
}

/* ---- CPU time and watching ------------------------------------------------------------------------------------- */

void process_sample_cpu(struct process *process)
{
    clockid_t clock;
    struct timespec used;
    if (clock_getcpuclockid(process->pid, &clock) == 0 && clock_gettime(clock, &used) == 0)
        process->cpu_ns = (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

void process_set_cpu(struct process *process, uint64_t ns)
{
    if (ns <= INT64_MAX && (int64_t)ns > process->cpu_ns)
        process->cpu_ns = (int64_t)ns;
}

void process_unwatch(struct process *process)
{
    if (process->death)
        event_free(process->death);
    process->death = NULL;
    if (process->pidfd >= 0)
        close(process->pidfd);
    process->pidfd = -1;
}

/* ---- Modules --------------------------------------------------------------------------------------------------- */

void process_add_module(struct process *process, const struct process_module *module)
{
    if (array_reserve(&process->modules, &process->module_capacity, process->module_count + 1, sizeof *module) == 0)
        process->modules[process->module_count++] = *module;
}

int process_take_module(struct process *process, uint64_t address, struct process_module *module)
{
    for (size_t i = 0; i < process->module_count; i++)
        if (process->modules[i].address == address) {
            *module = process->modules[i];
            process->modules[i] = process->modules[--process->module_count];
            return 1;
        }
    return 0;
}

void process_table_free(struct collector *collector)
{
    struct process *process = collector->processes->first;
    while (process) {
        struct process *next = process->next;
        SOURCES_CALL(process_free, process);
        process_unwatch(process);
        process_detach(process);
        free(process->readers);
        free(process->modules);
        free(process->counts);
        free(process);
        process = next;
    }
    process_pid_map_free(&collector->processes->by_pid);
    process_own_pid_map_free(&collector->processes->by_own_pid);
    started_names_free(&collector->processes->started);
    memset(collector->processes, 0, sizeof *collector->processes);
}
