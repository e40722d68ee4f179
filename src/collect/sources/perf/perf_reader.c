/* CPU samples and context switches from perf events: see perf_reader.h. */
#include "perf_reader.h"

#include <errno.h>
#include <event2/event.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "collect/process/children.h"
#include "collect/process/process.h"
#include "collect/sources/stacks/stack_rows.h"
#include "sample_rows.h"
#include "samples_state.h"
#include "sched_rows.h"

#ifndef PERF_RECORD_MISC_SWITCH_OUT_PREEMPT
#define PERF_RECORD_MISC_SWITCH_OUT_PREEMPT (1 << 14)
#endif
#define FRAMES_MAX 1024u

static int64_t perf_reader_time_of(const struct collector *collector, const struct perf_record *record)
{
    return clock_map_monotonic(&collector->clock, (int64_t)record->time_ns);
}

/* ---- Handlers of records --------------------------------------------------------------------------------------- */

/* Is the record of a thread in scope, and from a time when recording was on? Thread 0 is an idle CPU. */
static int perf_reader_is_wanted(struct collector *collector, const struct perf_record *record,
                                 enum collect_scope scope)
{
    if (!collector->is_recording || perf_reader_time_of(collector, record) < collector->recording_since_ns ||
        record->tid == 0)
        return 0;
    if (scope == COLLECT_SCOPE_TREE && samples_state(collector)->perf.events.choice.system_wide)
        return process_find(collector, (pid_t)record->pid) != NULL;
    return scope != COLLECT_SCOPE_NONE;
}

static int64_t global_tid(const struct perf_record *record)
{
    return COLLECTOR_VM_ID | (int64_t)(record->pid & 0xffffff) << 24 | (int64_t)(record->tid & 0xffffff);
}

static void tell_of_child(struct collector *collector, const struct perf_record *record, struct children_news *news)
{
    news->pid = (pid_t)record->pid;
    news->time_ns = perf_reader_time_of(collector, record);
    children_add(collector, news);
}

static void process_begins(struct collector *collector, const struct perf_record *record)
{
    if (record->pid == record->other_pid)
        return;
    samples_forked(collector, (pid_t)record->other_pid, (pid_t)record->pid, record->time_ns);
    tell_of_child(collector, record,
                  &(struct children_news){ .parent_pid = (pid_t)record->other_pid, .what = WIRE_CHILD_FORKED });
}

static void program_begins(struct collector *collector, const struct perf_record *record)
{
    if (!(record->misc & PERF_RECORD_MISC_COMM_EXEC))
        return;
    samples_execed(collector, (pid_t)record->pid, record->time_ns);
    tell_of_child(collector, record, &(struct children_news){ .what = WIRE_CHILD_EXECS, .name = record->name });
}

static void is_mapped(struct collector *collector, const struct perf_record *record)
{
    const struct perf_mapping *from = &record->mapping;
    struct symbols_mapping mapping = {
        .address = from->address,
        .bytes = from->bytes,
        .offset = from->offset,
        .device = from->device,
        .inode = from->inode,
        .path = from->path,
        .build_id = from->build_id,
        .build_id_bytes = from->build_id_bytes,
    };
    if (from->is_code && record->pid != UINT32_MAX)
        samples_mapped(collector, (pid_t)record->pid, record->time_ns, &mapping);
}

static void process_ends(struct collector *collector, const struct perf_record *record)
{
    if (record->pid != record->tid)
        return;
    samples_ended(collector, (pid_t)record->pid);
    children_end(collector, (pid_t)record->pid, perf_reader_time_of(collector, record));
}

static void program_runs(struct collector *collector, const struct perf_record *record)
{
    /* The thread that calls exec is on its CPU, but no switch record says so, since the event starts with the exec. */
    if ((record->misc & PERF_RECORD_MISC_COMM_EXEC) && samples_state(collector)->perf.events.choice.switches &&
        perf_reader_is_wanted(collector, record, collector->options->cpu.switches))
        sched_switch(collector, perf_reader_time_of(collector, record), record->cpu, global_tid(record), SCHED_IN);
}

/* The events of a thread end before it leaves its CPU for the last time, so no switch record says so. */
static void thread_ends(struct collector *collector, const struct perf_record *record)
{
    if (samples_state(collector)->perf.events.choice.switches &&
        perf_reader_is_wanted(collector, record, collector->options->cpu.switches))
        sched_switch(collector, perf_reader_time_of(collector, record), record->cpu, global_tid(record), SCHED_ENDS);
}

static void is_switched(struct collector *collector, const struct perf_record *record)
{
    enum sched_change change = !(record->misc & PERF_RECORD_MISC_SWITCH_OUT)        ? SCHED_IN
                               : record->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT ? SCHED_PREEMPTED
                                                                                    : SCHED_WAITS;
    if (perf_reader_is_wanted(collector, record, collector->options->cpu.switches))
        sched_switch(collector, perf_reader_time_of(collector, record), record->cpu, global_tid(record), change);
}

/* The kernel counts records of all types that found no room: mappings may be among them. */
static void records_are_lost(struct collector *collector, const struct perf_record *record)
{
    collector->result->cpu.lost_records += record->lost;
    samples_doubt_mappings(collector);
}

static void samples_are_lost(struct collector *collector, const struct perf_record *record)
{
    collector->result->cpu.lost_samples += record->lost;
}

static void is_throttled(struct collector *collector, const struct perf_record *record)
{
    collector->result->cpu.throttled++;
}

/* ---- Samples --------------------------------------------------------------------------------------------------- */

static int in_kernel(const struct perf_record *record)
{
    return (record->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
}

static struct symbols_walk walk_chain(struct symbols_process *process, const uint64_t *addresses, size_t count,
                                      enum symbols_method method)
{
    struct symbols_chain chain = { .addresses = addresses, .count = count, .method = method };
    return symbols_stack_from_chain(process, &chain);
}

static struct symbols_walk walk_address(struct symbols_process *process, const struct perf_record *record)
{
    uint64_t addresses[2] = { in_kernel(record) ? PERF_CONTEXT_KERNEL : PERF_CONTEXT_USER, record->sample.ip };
    return walk_chain(process, addresses, 2, SYMBOLS_BY_UNKNOWN);
}

/* The kernel's part of a chain, without the context markers. */
static size_t kernel_part(const struct perf_sample *sample, uint64_t *addresses)
{
    size_t count = 0;
    int is_kernel = 0;
    for (size_t i = 0; i < sample->chain_count && count < FRAMES_MAX; i++) {
        if (sample->chain[i] >= PERF_CONTEXT_MAX)
            is_kernel = sample->chain[i] == PERF_CONTEXT_KERNEL;
        else if (is_kernel)
            addresses[count++] = sample->chain[i];
    }
    return count;
}

static struct symbols_walk walk_copy(struct symbols_process *process, const struct perf_record *record, uint64_t mask)
{
    const struct perf_sample *from = &record->sample;
    uint64_t kernel[FRAMES_MAX];
    struct symbols_registers registers;
    if (!from->registers || !from->stack)
        return walk_address(process, record);
    symbols_registers_from_perf(&registers, mask, from->registers);
    struct symbols_sample sample = {
        .registers = &registers,
        .stack = from->stack,
        .stack_bytes = from->stack_bytes,
        .kernel = kernel,
        .kernel_count = kernel_part(from, kernel),
    };
    return symbols_unwind(process, &sample);
}

/* The CPU records the addresses of call instructions. For symbol lookup, that address plus one stands for the return
 * address. */
static struct symbols_walk walk_branches(struct symbols_process *process, const struct perf_record *record)
{
    const struct perf_sample *from = &record->sample;
    uint64_t addresses[2 * FRAMES_MAX + 3];
    size_t count = 0;
    addresses[count++] = PERF_CONTEXT_KERNEL;
    count += kernel_part(from, addresses + 1);
    addresses[count++] = PERF_CONTEXT_USER;
    if (!in_kernel(record))
        addresses[count++] = from->ip;
    for (size_t i = 0; i < from->branch_count && i < FRAMES_MAX; i++)
        addresses[count++] = from->branches[i].from + 1;
    return walk_chain(process, addresses, count, SYMBOLS_BY_LBR);
}

static struct symbols_walk perf_reader_walk(struct collector *collector, const struct perf_record *record)
{
    const struct perf_choice *choice = &samples_state(collector)->perf.events.choice;
    struct symbols_process *process = samples_process(collector, (pid_t)record->pid, record->time_ns);
    if (!process)
        return (struct symbols_walk){ .stack = SYMBOLS_NO_STACK, .end = SYMBOLS_BROKEN };
    int has_stack = record->kind != PERF_KIND_ADDRESSES;
    if (has_stack && choice->backtrace == COLLECT_BACKTRACE_DWARF)
        return walk_copy(process, record, choice->registers);
    if (has_stack && choice->backtrace == COLLECT_BACKTRACE_FP && record->sample.chain_count)
        return walk_chain(process, record->sample.chain, record->sample.chain_count, SYMBOLS_BY_FRAME_POINTER);
    if (has_stack && choice->backtrace == COLLECT_BACKTRACE_LBR)
        return walk_branches(process, record);
    return walk_address(process, record);
}

/* Both events of a sampled thread cover all its time, so each gets its share of the weight. Samples of a lower level
 * have no such twin, and a longer period. */
static int64_t weight_of(const struct perf_choice *choice, const struct perf_record *record)
{
    if (record->kind != PERF_KIND_STACKS && record->kind != PERF_KIND_ADDRESSES)
        return (int64_t)record->sample.period;
    uint64_t n = choice->samples_per_backtrace, part = record->kind == PERF_KIND_STACKS ? 1 : n - 1;
    return (int64_t)(record->sample.period / n * part + record->sample.period % n * part / n);
}

static void is_sampled(struct collector *collector, const struct perf_record *record)
{
    if (!perf_reader_is_wanted(collector, record, collector->options->cpu.samples))
        return;
    struct samples_event event = {
        .time_ns = perf_reader_time_of(collector, record),
        .global_tid = global_tid(record),
        .cpu = record->cpu,
        .weight = weight_of(&samples_state(collector)->perf.events.choice, record),
        .walk = perf_reader_walk(collector, record),
    };
    collector->result->cpu.copied_bytes += record->sample.stack_bytes;
    samples_add(collector, &event);
}

typedef void (*handler)(struct collector *collector, const struct perf_record *record);

/* By type of record: `first` handles what concerns processes, before `then` of any record. */
static const struct {
    handler first, then;
} handlers[] = {
    [PERF_RECORD_FORK] = { process_begins, NULL },
    [PERF_RECORD_COMM] = { program_begins, program_runs },
    [PERF_RECORD_MMAP2] = { is_mapped, NULL },
    [PERF_RECORD_EXIT] = { process_ends, thread_ends },
    [PERF_RECORD_LOST] = { records_are_lost, NULL },
    [PERF_RECORD_LOST_SAMPLES] = { NULL, samples_are_lost },
    [PERF_RECORD_THROTTLE] = { NULL, is_throttled },
    [PERF_RECORD_SWITCH] = { NULL, is_switched },
    [PERF_RECORD_SWITCH_CPU_WIDE] = { NULL, is_switched },
    [PERF_RECORD_SAMPLE] = { NULL, is_sampled },
};

/* ---- Rounds ---------------------------------------------------------------------------------------------------- */

static void perf_reader_handle(struct collector *collector, struct perf_cpu *cpu, const void *bytes, size_t size,
                               int is_first)
{
    struct perf_event_header header;
    memcpy(&header, bytes, sizeof header);
    handler handles = header.type >= COUNT_OF(handlers) ? NULL
                      : is_first                        ? handlers[header.type].first
                                                        : handlers[header.type].then;
    struct perf_record record;
    if (!handles)
        return;
    if (perf_record_parse(cpu->layouts, cpu->layout_count, bytes, size, &record) == 0)
        handles(collector, &record);
    else
        samples_state(collector)->perf.damaged++;
}

void perf_round(struct collector *collector)
{
    struct perf *perf = &samples_state(collector)->perf;
    struct perf_events *events = &perf->events;
    const void *record;
    size_t size;
    if (!perf->is_open)
        return;
    for (size_t i = 0; i < events->cpu_count; i++)
        perf->heads[i] = perf_ring_head(&events->cpus[i].ring);
    for (size_t i = 0; i < events->cpu_count; i++) {
        struct perf_cpu *cpu = &events->cpus[i];
        uint64_t head = perf_ring_head(&cpu->ring);
        while ((record = perf_ring_peek(&cpu->ring, head, &size, &perf->damaged)) != NULL)
            perf_reader_handle(collector, cpu, record, size, 1);
    }
    for (size_t i = 0; i < events->cpu_count; i++) {
        struct perf_cpu *cpu = &events->cpus[i];
        while ((record = perf_ring_next(&cpu->ring, perf->heads[i], &size, &perf->damaged)) != NULL)
            perf_reader_handle(collector, cpu, record, size, 0);
        perf_ring_release(&cpu->ring);
    }
}

/* All tasks of an event have ended: its descriptor is always ready and would keep us busy. The tick reads what is left
 * in its ring. */
static void stop_listening(struct perf *perf, int descriptor)
{
    for (size_t i = 0; i < perf->events.cpu_count; i++)
        if (event_get_fd(perf->wakeups[i]) == descriptor)
            event_del(perf->wakeups[i]);
}

static void wake_up(evutil_socket_t descriptor, short what, void *argument)
{
    struct collector *collector = argument;
    struct pollfd state = { .fd = descriptor, .events = POLLIN };
    if (poll(&state, 1, 0) > 0 && (state.revents & (POLLHUP | POLLERR)))
        stop_listening(&samples_state(collector)->perf, descriptor);
    perf_round(collector);
}

/* ---- Start and end --------------------------------------------------------------------------------------------- */

/* A warning if it was requested by name; a default is only noted in the report. */
static void perf_reader_note(void *context, int is_asked, const char *sentence)
{
    struct collector *collector = context;
    if (is_asked)
        collector_warn(collector, 0, "%s.", sentence);
    else
        collector_diagnostic(collector, collector_now(collector), 1, 0, sentence);
}

/* -EMFILE if too few descriptors would be left for the rest of the capture, which matters more. */
static int check_descriptors(const struct collector *collector)
{
    const struct perf_events *events = &samples_state(collector)->perf.events;
    for (size_t i = 0; i < events->cpu_count; i++)
        for (int kind = 0; kind < PERF_KINDS; kind++)
            if (!collector_descriptor_is_spare(collector, events->cpus[i].descriptors[kind]))
                return -EMFILE;
    return 0;
}

static int listen_to_rings(struct collector *collector)
{
    struct perf *perf = &samples_state(collector)->perf;
    perf->wakeups = calloc(perf->events.cpu_count, sizeof *perf->wakeups);
    perf->heads = calloc(perf->events.cpu_count, sizeof *perf->heads);
    if (!perf->wakeups || !perf->heads)
        return -ENOMEM;
    for (size_t i = 0; i < perf->events.cpu_count; i++) {
        const int *descriptors = perf->events.cpus[i].descriptors;
        int first = descriptors[PERF_KIND_TRACK] >= 0 ? descriptors[PERF_KIND_TRACK] : descriptors[PERF_KIND_STACKS];
        perf->wakeups[i] = event_new(collector->base, first, EV_READ | EV_PERSIST, wake_up, collector);
        if (!perf->wakeups[i] || event_add(perf->wakeups[i], NULL) != 0)
            return -ENOMEM;
    }
    return 0;
}

static void perf_reader_close_all(struct perf *perf)
{
    for (size_t i = 0; perf->wakeups && i < perf->events.cpu_count; i++)
        if (perf->wakeups[i])
            event_free(perf->wakeups[i]);
    free(perf->wakeups);
    free(perf->heads);
    perf_events_close(&perf->events);
    perf->wakeups = NULL;
    perf->heads = NULL;
    perf->is_open = 0;
}

int perf_start(struct collector *collector, pid_t pid)
{
    struct perf *perf = &samples_state(collector)->perf;
    const struct collect_options *options = collector->options;
    struct perf_choice choice;
    int starts_later = options->delay_ns > 0 || options->range != COLLECT_RANGE_NONE;
    int result = perf_events_choose(&options->cpu, starts_later, &choice, perf_reader_note, collector);
    choice.has_levels = options->cost_limit > 0;
    if (result == 0)
        result = perf_events_open(&perf->events, &choice, pid);
    if (result == 0)
        result = check_descriptors(collector);
    if (result == 0)
        result = listen_to_rings(collector);
    if (result != 0) {
        perf_reader_close_all(perf);
        return result;
    }
    perf->is_open = 1;
    collector->hears_of_strangers = choice.system_wide;
    return 0;
}

void perf_switch(struct collector *collector, int on)
{
    struct perf *perf = &samples_state(collector)->perf;
    if (!perf->is_open)
        return;
    if (!on)
        perf_round(collector);                            /* while recording still counts as on */
    if (on && !perf->was_on && perf->events.choice.event && perf->events.choice.kernel && stacks_symbols(collector))
        symbols_expect_kernel(stacks_symbols(collector));
    if (perf->was_on || perf->events.choice.starts_later) /* else exec switches them on */
        perf_events_switch(&perf->events, on);
    perf->was_on = 1;
}

void perf_set_level(struct collector *collector, int level)
{
    struct perf *perf = &samples_state(collector)->perf;
    if (perf->is_open)
        perf_events_set_level(&perf->events, (enum perf_level)level, collector->is_recording);
}

void perf_finish(struct collector *collector)
{
    if (!samples_state(collector)->perf.is_open)
        return;
    perf_round(collector);
    perf_reader_close_all(&samples_state(collector)->perf);
}
