/* The process tree: the table, the rows, and the end of each process. See process.h. */
#include "process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/array.h"
#include "base/hash.h"
#include "collect/capture/shutdown.h"
#include "collect/core/collector.h"
#include "collect/core/overhead.h"
#include "collect/core/procfs.h"
#include "collect/sources/cuda/cuda_collect.h"
#include "collect/sources/nvtx/nvtx_collect.h"
#include "collect/sources/perf/cpu_sampling.h"
#include "collect/sources/python/python_collect.h"
#include "collect/sources/stacks/stack_rows.h"
#include "collect/sources/torch/torch_collect.h"
#include "program_file.h"
#include "unattached.h"

static const char *const ending_names[] = {
    [PROCESS_RUNS] = "running", [PROCESS_EXITED] = "exit", [PROCESS_SIGNALLED] = "signal",
    [PROCESS_EXECED] = "exec",  [PROCESS_LOST] = "lost",
};

static struct process **bucket(struct collector *collector, pid_t pid)
{
    return &collector->processes.buckets[(uint32_t)pid & (PROCESS_BUCKETS - 1)];
}

struct process *process_find(struct collector *collector, pid_t pid)
{
    struct process *process = *bucket(collector, pid);
    while (process && process->pid != pid)
        process = process->next_same_hash;
    return process;
}

static struct process **own_bucket(struct collector *collector, uint32_t own_pid, pid_t parent_pid)
{
    uint64_t hash = hash_number((uint64_t)own_pid << 32 | (uint32_t)parent_pid);
    return &collector->processes.by_own_pid[hash & (PROCESS_BUCKETS - 1)];
}

struct process *process_find_child(const struct process *parent, uint32_t own_pid)
{
    struct process *process = *own_bucket(parent->collector, own_pid, parent->pid);
    while (process && (process->own_pid != own_pid || process->parent_pid != parent->pid || process == parent))
        process = process->next_same_own_pid;
    return process;
}

void process_set_own_pid(struct process *process, uint32_t own_pid)
{
    struct process **head = own_bucket(process->collector, own_pid, process->parent_pid);
    process->own_pid = own_pid;
    process->next_same_own_pid = *head;
    *head = process;
}

/* ---- Rows ------------------------------------------------------------------------------------------------------ */

static void set_rank(struct row_TACHO_PROCESS *row, const struct process *process)
{
    const struct rank *rank = &process->rank;
    if (!rank->source)
        return;
    if (rank->rank >= 0)
        ROW_SET(row, TACHO_PROCESS, rank, rank->rank);
    if (rank->local_rank >= 0)
        ROW_SET(row, TACHO_PROCESS, localRank, rank->local_rank);
    if (rank->world_size >= 0)
        ROW_SET(row, TACHO_PROCESS, worldSize, rank->world_size);
    ROW_SET(row, TACHO_PROCESS, rankSource, collector_string(process->collector, rank->source));
}

static void set_ending(struct row_TACHO_PROCESS *row, const struct process *process)
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

static void process_row(const struct process *process)
{
    struct collector *collector = process->collector;
    struct row_TACHO_PROCESS row = { 0 };
    ROW_SET(&row, TACHO_PROCESS, start, process->start_ns);
    ROW_SET(&row, TACHO_PROCESS, globalPid, process->global_pid);
    if (process->parent_pid)
        ROW_SET(&row, TACHO_PROCESS, parentGlobalPid, PROCESS_VM_ID | (int64_t)process->parent_pid << 24);
    ROW_SET(&row, TACHO_PROCESS, image, process->image);
    if (process->exe_id)
        ROW_SET(&row, TACHO_PROCESS, exe, process->exe_id);
    if (process->command_id)
        ROW_SET(&row, TACHO_PROCESS, command, process->command_id);
    ROW_SET(&row, TACHO_PROCESS, origin, collector_string(collector, process->origin));
    set_ending(&row, process);
    ROW_SET(&row, TACHO_PROCESS, host, collector_string(collector, collector->machine.host));
    set_rank(&row, process);
    if (process->unrecorded)
        ROW_SET(&row, TACHO_PROCESS, unrecorded, collector_string(collector, unattached_text(process->unrecorded)));
    writer_append(collector->writer, TABLE_TACHO_PROCESS, &row);
}

/* nsys has one row a pid: the last program in it names it. */
static void name_row(const struct process *process)
{
    struct row_PROCESSES row = { 0 };
    ROW_SET(&row, PROCESSES, globalPid, process->global_pid);
    ROW_SET(&row, PROCESSES, pid, process->pid);
    ROW_SET(&row, PROCESSES, name, collector_string(process->collector, process->name));
    writer_append(process->collector->writer, TABLE_PROCESSES, &row);
}

/* ---- Beginning ------------------------------------------------------------------------------------------------- */

static void link_in(struct process_table *table, struct process *process, struct process **head)
{
    process->next_same_hash = *head;
    *head = process;
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
    struct process_counts *counts = calloc(2 * WIRE_SOURCE_COUNT, sizeof *counts);
    if (!process || !counts) {
        free(process);
        free(counts);
        return NULL;
    }
    process->counts = counts;
    process->reported = counts + WIRE_SOURCE_COUNT;
    struct process *before = process_find(collector, pid);
    process->collector = collector;
    process->pid = pid;
    process->parent_pid = parent;
    process->global_pid = PROCESS_VM_ID | (int64_t)pid << 24;
    process->origin = origin;
    process->start_ns = collector_now(collector);
    process->end_ns = process->exec_ns = PROCESS_NO_TIME;
    process->cpu_ns = -1;
    process->pidfd = -1;
    if (before) {
        process->image = before->image + 1;
        process->rank = before->rank;
    }
    /* the same process with another program */
    if (before && (before->is_over ? before->over_ending : before->ending) == PROCESS_EXECED) {
        process->is_primary = before->is_primary;
        process->is_child = before->is_child;
        process->parent_pid = before->parent_pid;
        process->cpu_before_ns = before->cpu_ns > 0 ? before->cpu_ns : 0;
        process->start_ns = before->is_over ? before->over_ns : before->end_ns;
    } else { /* it has one thread so far: it is no younger than its CPU time */
        process_sample_cpu(process);
        process->start_ns -= process->cpu_ns > 0 ? process->cpu_ns : 0;
        process->cpu_ns = -1;
    }
    link_in(&collector->processes, process, bucket(collector, pid));
    return process;
}

static struct cuda_process *cuda_of(struct process *process)
{
    struct collector *collector = process->collector;
    struct cuda_setup setup = {
        .writer = collector->writer,
        .clock = &collector->clock,
        .gpus = &collector->gpus,
        .arena = process->arena,
        .chunk_count = process->chunk_count,
        .buffer_count = process->arena->cuda.buffer_count,
        .ns_per_tick = process->arena->cuda.ns_per_tick,
        .flags = process->arena->cuda.flags,
        .global_pid = process->global_pid,
        .pid = (uint32_t)process->pid,
        .own_pid = process->own_pid,
        .process = process,
    };
    return setup.buffer_count ? cuda_process_new(&setup) : NULL;
}

void process_attach(struct process *process, struct wire_header *arena, uint64_t arena_bytes, uint32_t chunk_count)
{
    struct process_table *table = &process->collector->processes;
    process->arena = arena;
    process->is_recorded = 1;
    process->arena_bytes = arena_bytes;
    process->chunk_count = chunk_count;
    process->nvtx = nvtx_process_new(process->collector->writer, &process->collector->clock, process->global_pid);
    process->cuda = cuda_of(process); /* the arena is ours alone still */
    stacks_process_begins(process);
    cpu_count_timers(process);
    if (process->nvtx)
        nvtx_process_sources(process->nvtx, process->collector->options->sources);
    process->next_live = table->first_live;
    if (table->first_live)
        table->first_live->previous_live = process;
    table->first_live = process;
}

static void detach(struct process *process)
{
    struct collector *collector = process->collector;
    if (!process->arena)
        return;
    if (collector->drain.next == process)
        collector->drain.next = process->next_live;
    if (process->previous_live)
        process->previous_live->next_live = process->next_live;
    else
        collector->processes.first_live = process->next_live;
    if (process->next_live)
        process->next_live->previous_live = process->previous_live;
    process->next_live = process->previous_live = NULL;
    session_release_arena(process);
}

static void environment_rows(const struct process *process, const char *block, size_t length)
{
    for (size_t at = 0; at < length; at += strlen(block + at) + 1) {
        const char *variable = block + at, *equals = strchr(variable, '=');
        if (!equals || !environment_is_kept(variable, (size_t)(equals - variable)))
            continue;
        struct row_TACHO_PROCESS_ENV row = { 0 };
        ROW_SET(&row, TACHO_PROCESS_ENV, globalPid, process->global_pid);
        ROW_SET(&row, TACHO_PROCESS_ENV, name,
                writer_string(process->collector->writer, variable, (size_t)(equals - variable)));
        ROW_SET(&row, TACHO_PROCESS_ENV, value, collector_string(process->collector, equals + 1));
        writer_append(process->collector->writer, TABLE_TACHO_PROCESS_ENV, &row);
    }
}

void process_describe(struct process *process)
{
    struct text text = { 0 };
    int redact = process->collector->options->redact;
    if (procfs_exe(process->pid, &text) == 0)
        process->exe_id = collector_string(process->collector, text_string(&text));
    text_clear(&text);
    procfs_name(process->pid, process->name, sizeof process->name);
    if (redact || procfs_command(process->pid, &text) == 0)
        process->command_id = collector_string(process->collector, redact ? process->name : text_string(&text));
    text_clear(&text);
    if (strcmp(process->origin, "fork") != 0 && procfs_environment(process->pid, &text) == 0) {
        process->rank = machine_rank(text.bytes, text.length);
        if (!redact)
            environment_rows(process, text.bytes, text.length);
    }
    process->start_time = procfs_start_time(process->pid);
    text_free(&text);
    process_row(process);
    python_process_begins(process);
}

void process_describe_unseen(struct process *process)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/exe", (int)process->pid);
    process->filters = procfs_filters(process->pid);
    if (program_file_is_static(path))
        process->cause = WIRE_CAUSE_STATIC;
    else if (process->cause == WIRE_CAUSE_STATIC) /* it was, and has become another program since */
        process->cause = WIRE_CAUSE_UNKNOWN;
    process_describe(process);
}

/* ---- Those without an agent ------------------------------------------------------------------------------------ */

int process_is_unrecorded(const struct process *process)
{
    return !process->is_recorded && !process->is_borrowed && !process->collector->options->no_preload;
}

enum wire_cause process_cause(const struct process *process)
{
    if (process->filters > process->collector->session.filters)
        return WIRE_CAUSE_FILTERED;
    if (process == process->collector->primary && process->collector->program_cause)
        return process->collector->program_cause;
    return process->cause ? process->cause : WIRE_CAUSE_NOT_ATTACHED;
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

/* NVTX keeps its own count, since a range is recorded once both its ends are here. */
static void take_nvtx_counts(struct process *process, const struct nvtx_counts *nvtx)
{
    struct process_counts *counts = &process->counts[WIRE_SOURCE_NVTX],
                          *library = &process->counts[WIRE_SOURCE_LIBRARY];
    counts->recorded = nvtx->recorded - nvtx->library_recorded;
    library->recorded = nvtx->library_recorded;
    library->fates[WIRE_LOST_BUFFER_FULL] += nvtx->library_end_lost - process->library_end_lost;
    counts->fates[WIRE_LOST_BUFFER_FULL] += nvtx->end_lost - nvtx->library_end_lost -
                                            (process->nvtx_end_lost - process->library_end_lost);
    process->library_end_lost = nvtx->library_end_lost;
    counts->damaged += nvtx->damaged - process->nvtx_damaged;
    process->nvtx_end_lost = nvtx->end_lost;
    process->nvtx_damaged = nvtx->damaged;
}

/* So does PyTorch, for the same reason. */
static void take_torch_counts(struct process *process)
{
    const struct torch_counts *torch = torch_process_counts(process->torch);
    struct process_counts *counts = &process->counts[WIRE_SOURCE_TORCH];
    counts->recorded = torch->recorded;
    counts->fates[WIRE_LOST_BUFFER_FULL] += torch->stack_lost - process->torch_stack_lost;
    counts->damaged += torch->damaged - process->torch_damaged;
    process->torch_stack_lost = torch->stack_lost;
    process->torch_damaged = torch->damaged;
}

static void take_cuda_counts(struct process *process, const struct cuda_counts *cuda)
{
    struct process_counts *counts = &process->counts[WIRE_SOURCE_CUDA];
    counts->recorded = cuda->recorded;
    counts->recovered = cuda->recovered;
    counts->unfinished = cuda->unfinished;
    counts->unknown_kind = cuda->unknown_kind;
    counts->damaged += cuda->damaged - process->cuda_damaged;
    process->cuda_damaged = cuda->damaged;
}

void process_report_counts(struct process *process)
{
    if (process->nvtx)
        take_nvtx_counts(process, nvtx_process_counts(process->nvtx));
    if (process->torch)
        take_torch_counts(process);
    if (process->cuda)
        take_cuda_counts(process, cuda_process_counts(process->cuda));
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

static void check_row(const struct process *process, const char *finding, uint64_t count)
{
    struct row_TACHO_CUDA_CHECK row = { 0 };
    if (!count)
        return;
    ROW_SET(&row, TACHO_CUDA_CHECK, globalPid, process->global_pid);
    ROW_SET(&row, TACHO_CUDA_CHECK, finding, collector_string(process->collector, finding));
    ROW_SET(&row, TACHO_CUDA_CHECK, count, (int64_t)count);
    writer_append(process->collector->writer, TABLE_TACHO_CUDA_CHECK, &row);
}

/* What CUDA's records say about each other, once all are here. */
static void finish_cuda(struct process *process)
{
    struct collect_cuda_result *total = &process->collector->result->cuda;
    cuda_finish(process->cuda);
    const struct cuda_counts *counts = cuda_process_counts(process->cuda);
    take_cuda_counts(process, counts);
    check_row(process, "launch-without-kernel", counts->launches_without_kernel);
    check_row(process, "kernel-without-launch", counts->kernels_without_launch);
    check_row(process, "kernel-before-launch", counts->kernels_before_launch);
    total->kernels += counts->kernels;
    total->launches_without_kernel += counts->launches_without_kernel;
    total->kernels_without_launch += counts->kernels_without_launch;
    total->kernels_before_launch += counts->kernels_before_launch;
    total->recovered += counts->recovered;
    cuda_process_free(process->cuda);
    process->cuda = NULL;
}

/* ---- Ending ---------------------------------------------------------------------------------------------------- */

static void set_status(struct process *process, int wait_status)
{
    process->ending = WIFSIGNALED(wait_status) ? PROCESS_SIGNALLED : PROCESS_EXITED;
    process->status = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

/* Decides from what is known how it ended, if we have not seen it ourselves. */
static void settle_status(struct process *process, enum process_ending ending, int status)
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

/* It had called exec and was never heard of again: a program without our agent ran in it to the end. */
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
    int64_t cpu_ns = process->exec_cpu_ns >= 0 ? process->cpu_ns : -1; /* of both, unless it is known of one */
    process_end(process, PROCESS_EXECED, 0, process->exec_ns);
    add_unseen_image(process, cpu_ns);
    struct process *unseen = process_find(process->collector, process->pid);
    if (unseen != process)
        process_end(unseen, ending, status, end_ns);
    return unseen;
}

/* One that has left could only leave word that it called exec, without the time. */
static void take_silent_exec(struct process *process)
{
    uint32_t word = process->arena && process->has_left ? atomic_load(&process->arena->silent_exec) : 0;
    char path[WIRE_SILENT_PATH];
    if (!word || process->exec_ns != PROCESS_NO_TIME)
        return;
    snprintf(path, sizeof path, "%.*s", WIRE_SILENT_PATH - 1, process->arena->silent_path);
    const char *name = strrchr(path, '/');
    process->exec_ns = process->left_ns;
    process->exec_cpu_ns = -1;
    process->exec_cause = unattached_cause(word & ~WIRE_SILENT_EXEC);
    process->exec_path_id = path[0] ? collector_string(process->collector, path) : 0;
    snprintf(process->exec_name, sizeof process->exec_name, "%.63s", name ? name + 1 : path);
}

/* An agent takes a slot as soon as it has the arena. One that ran to its end without could not map it. */
static void note_if_unmapped(struct process *process, enum process_ending ending)
{
    if (!process->arena || process->threads_seen || ending != PROCESS_EXITED)
        return;
    process->is_recorded = 0;
    process->cause = WIRE_CAUSE_NO_MEMORY;
}

/* The agent maps the arena as it needs it. What it then loses is counted as lost to a full buffer. */
static void tell_if_partly_mapped(struct process *process)
{
    uint32_t error = process->arena ? atomic_load_explicit(&process->arena->map_error, memory_order_relaxed) : 0;
    if (error)
        collector_warn(process->collector, process->global_pid,
                       "Process %d (%s) could not map more of its buffer (%s), and events may be lost: %s. A larger "
                       "--buffer-limit does not help.",
                       (int)process->pid, process->name, strerror((int)error),
                       error == EAGAIN ? "raise ulimit -l" : "raise ulimit -v or sysctl vm.max_map_count");
}

/* All records are read: what the sources still hold becomes rows and counts. */
static void finish_sources(struct process *process)
{
    python_process_ends(process);
    if (process->nvtx) {
        struct nvtx_counts counts;
        nvtx_process_finish(process->nvtx, &counts);
        process->nvtx = NULL;
        take_nvtx_counts(process, &counts);
    }
    if (process->torch) {
        take_torch_counts(process);
        torch_process_free(process->torch);
        process->torch = NULL;
    }
    if (process->cuda)
        finish_cuda(process);
    python_calls_process_ends(process);
}

/* The program that came into the process by exec, before this one was read to its end, begins where
 * this one turns out to end. */
static void hand_on(const struct process *process)
{
    struct process *next = process_find(process->collector, process->pid);
    while (next && (next->pid != process->pid || next->image != process->image + 1))
        next = next->next_same_hash;
    if (!next)
        return;
    next->start_ns = process->end_ns;
    next->cpu_before_ns = process->cpu_ns > 0 ? process->cpu_ns : 0;
    process_row(next);
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
        process->collector->processes.over--;
    } else {
        process_sample_cpu(process);
    }
    drain_finish(process, ending == PROCESS_RUNS ? PROCESS_NO_TIME : end_ns);
    if (ending == PROCESS_EXECED && process->exec_ns != PROCESS_NO_TIME) { /* what came after is the next program's */
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
    note_if_unmapped(process, ending);
    tell_if_partly_mapped(process);
    finish_sources(process);
    detach(process);
    free(process->readers);
    process->readers = NULL;
    process->reader_count = 0;
    free(process->modules);
    process->modules = NULL;
    process->module_count = process->module_capacity = 0;
    stacks_process_ends(process);
    process_unwatch(process);
    process->end_ns = ending == PROCESS_RUNS ? PROCESS_NO_TIME : end_ns;
    settle_status(process, ending, status);
    process_report_counts(process);
    add_to_result(process);
    free(process->counts); /* thousands of short processes may come, and their counts are most of what each takes */
    process->counts = process->reported = NULL;
    process_row(process);
    if (ending != PROCESS_EXECED)
        name_row(process);
    else if (was_over)
        hand_on(process);
    process->collector->processes.live--;
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
    process->collector->processes.over++;
    python_process_ends(process); /* another program may be in its pid */
    if (!drain_slice(process))
        process_end(process, ending, status, end_ns);
}

/* One at a time, and no more of it than a round may take. */
void process_end_next(struct collector *collector)
{
    struct process *process = collector->processes.over ? collector->processes.first_live : NULL;
    while (process && !process->is_over)
        process = process->next_live;
    if (process && !drain_slice(process)) {
        process_end(process, process->over_ending, process->over_status, process->over_ns);
        shutdown_check(collector);
    }
}

void process_status(struct process *process, int wait_status)
{
    int signalled = WIFSIGNALED(wait_status);
    process_end_soon(process, signalled ? PROCESS_SIGNALLED : PROCESS_EXITED,
                     signalled ? WTERMSIG(wait_status) : WEXITSTATUS(wait_status), collector_now(process->collector));
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
        process_row(process); /* the last row counts */
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
    struct process *process = collector->processes.first;
    while (process) {
        struct process *next = process->next;
        if (process->nvtx)
            nvtx_process_finish(process->nvtx, NULL);
        if (process->torch)
            torch_process_free(process->torch);
        cuda_process_free(process->cuda);
        process_unwatch(process);
        session_release_arena(process);
        free(process->readers);
        free(process->modules);
        free(process->counts);
        free(process);
        process = next;
    }
    memset(&collector->processes, 0, sizeof collector->processes);
}
