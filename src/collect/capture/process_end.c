/* The end of a process: reads what is left of it, ends its sources and threads, and writes its last rows. See
 * process_end.h. */
#include "process_end.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/path.h"
#include "capture.h"
#include "collect/core/overhead.h"
#include "collect/process/cause.h"
#include "cost_limit.h"
#include "drain.h"
#include "recording.h"

static void add_to_result(const struct process *process)
{
    for (int i = 0; i < WIRE_SOURCE_COUNT; i++) {
        struct collect_counts *total = &process->collector->result->counts[i];
        const struct process_counts *counts = &process->counts[i];
        total->recorded += counts->recorded + counts->recovered;
        total->lost_damaged += counts->damaged + counts->unfinished + counts->unknown_kind;
        for (int fate = 0; fate < WIRE_FATE_COUNT; fate++)
            total->fates[fate] += process->counts[i].fates[fate];
    }
}

/* The process had called exec, and no agent attached after it: a program without our agent ran in it to the end. */
static void add_unseen_image(struct process *process, int64_t cpu_ns)
{
    struct process *next = process_add(process->collector, process->pid, process->parent_pid, "found");
    if (!next)
        return;
    next->start_ns = process->end_ns;
    next->parent_said = process->parent_said;
    next->wait_status = process->wait_status;
    next->exe_id = process->exec_path_id;
    next->filters = process->filters;
    memcpy(next->name, process->exec_name[0] ? process->exec_name : process->name, sizeof next->name);
    next->cpu_ns = cpu_ns;
    next->cause = process->exec_cause;
}

static struct process *split_at_exec(struct process *process, enum process_ending ending, int status, int64_t end_ns)
{
    /* CPU time of both programs, unless the time at exec is unknown. */
    int64_t cpu_ns = process->exec_cpu_ns >= 0 ? process->cpu_ns : -1;
    process_end(process, PROCESS_EXECED, 0, process->exec_ns);
    add_unseen_image(process, cpu_ns);
    struct process *unseen = process_find(process->collector, process->pid);
    if (unseen != process)
        process_end(unseen, ending, status, end_ns);
    return unseen;
}

/* The agent of a process that has left (WIRE_LEAVE) could only note in the arena that the process called exec, without
 * the time. */
static void take_silent_exec(struct process *process)
{
    uint32_t word = process->arena && process->has_left ? atomic_load(&process->arena->silent_exec) : 0;
    char path[WIRE_SILENT_PATH];
    if (!word || process->exec_ns != PROCESS_NO_TIME)
        return;
    snprintf(path, sizeof path, "%.*s", WIRE_SILENT_PATH - 1, process->arena->silent_path);
    process->exec_ns = process->left_ns;
    process->exec_cpu_ns = -1;
    process->exec_cause = cause_of(word & ~WIRE_SILENT_EXEC);
    process->exec_path_id = path[0] ? collector_string(process->collector, path) : 0;
    snprintf(process->exec_name, sizeof process->exec_name, "%.63s", path_base_name(path));
}

/* An agent takes a slot as soon as it has the arena. If the process exited without taking any, the agent could not map
 * the arena. */
static void note_if_unmapped(struct process *process, enum process_ending ending)
{
    if (!process->arena || process->threads_seen || ending != PROCESS_EXITED)
        return;
    process->is_recorded = 0;
    process->cause = WIRE_CAUSE_NO_MEMORY;
}

/* The agent maps the arena step by step. If that fails later on, the losses are counted as lost to a full buffer, so
 * the user must learn the real reason. */
static void tell_if_partly_mapped(struct process *process)
{
    uint32_t error = process->arena ? atomic_load_explicit(&process->arena->map_error, memory_order_relaxed) : 0;
    if (error)
        collector_warn(process->collector, process->global_pid,
                       "Process %d (%s) may have dropped events: it could not map more of its buffer (%s). To allow "
                       "it, %s; a larger --buffer-limit does not help.",
                       (int)process->pid, process->name, strerror((int)error),
                       error == EAGAIN ? "raise ulimit -l" : "raise ulimit -v or sysctl vm.max_map_count");
}

/* The next program in the process attached before the records of this one were all read. It begins where this one
 * turns out to end. */
static void hand_on(const struct process *process)
{
    struct process *next = process_find(process->collector, process->pid);
    while (next && next->image != process->image + 1)
        next = next->older;
    if (!next)
        return;
    next->start_ns = process->end_ns;
    next->cpu_before_ns = process->cpu_ns > 0 ? process->cpu_ns : 0;
    process_row(next);
}

/* Ends its sources, and frees what only a process that runs needs. */
static void process_end_release(struct process *process)
{
    SOURCES_CALL(process_gone, process);
    SOURCES_CALL(process_end, process);
    process_detach(process);
    free(process->readers);
    process->readers = NULL;
    process->reader_count = 0;
    free(process->modules);
    process->modules = NULL;
    process->module_count = process->module_capacity = 0;
    process_unwatch(process);
}

static void settle_counts(struct process *process)
{
    process_report_counts(process);
    add_to_result(process);
    /* Thousands of short processes may follow, and the counts are most of the memory of each. */
    free(process->counts);
    process->counts = process->reported = process->told = NULL;
}

void process_end(struct process *process, enum process_ending ending, int status, int64_t end_ns)
{
    int was_over = process->is_over;
    if (process->ending != PROCESS_RUNS)
        return;
    if (was_over) {
        ending = process->over_ending;
        status = process->over_status;
        end_ns = process->over_ns;
        process->is_over = 0;
        process->collector->processes->over--;
    } else {
        process_sample_cpu(process);
    }
    drain_finish(process, ending == PROCESS_RUNS ? PROCESS_NO_TIME : end_ns);
    /* CPU time after the exec belongs to the next program. */
    if (ending == PROCESS_EXECED && process->exec_ns != PROCESS_NO_TIME) {
        process->cpu_ns = process->exec_cpu_ns;
        end_ns = process->exec_ns;
    }
    if (ending != PROCESS_EXECED)
        take_silent_exec(process);
    if (process->exec_ns != PROCESS_NO_TIME && ending != PROCESS_EXECED && ending != PROCESS_RUNS &&
        !process->exit_seen) {
        split_at_exec(process, ending, status, end_ns);
        return;
    }
    recording_process_ends(process->collector, process, end_ns);
    if (process->arena && process->threads_seen)
        process->collector->result->start_cost_ns += overhead_of_start(process->arena,
                                                                       strcmp(process->origin, "fork") == 0);
    cost_limit_process_ends(process);
    note_if_unmapped(process, ending);
    tell_if_partly_mapped(process);
    process_end_release(process);
    process->end_ns = ending == PROCESS_RUNS ? PROCESS_NO_TIME : end_ns;
    process_settle_status(process, ending, status);
    settle_counts(process);
    process_row(process);
    if (ending != PROCESS_EXECED)
        process_name_row(process);
    else if (was_over)
        hand_on(process);
    process->collector->processes->live--;
}

void process_end_soon(struct process *process, enum process_ending ending, int status, int64_t end_ns)
{
    if (process->ending != PROCESS_RUNS || process->is_over)
        return;
    process_sample_cpu(process);
    process->is_over = 1;
    process->over_ending = ending;
    process->over_status = status;
    process->over_ns = end_ns;
    process->collector->processes->over++;
    SOURCES_CALL(process_gone, process); /* another program may already run in its pid */
    if (!drain_slice(process))
        process_end(process, ending, status, end_ns);
}

void process_end_by_status(struct process *process, int wait_status)
{
    int signalled = WIFSIGNALED(wait_status);
    process_end_soon(process, signalled ? PROCESS_SIGNALLED : PROCESS_EXITED,
                     signalled ? WTERMSIG(wait_status) : WEXITSTATUS(wait_status), collector_now(process->collector));
}
