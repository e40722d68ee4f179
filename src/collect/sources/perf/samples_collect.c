/* CPU sampling and scheduling as a source: by perf events where the kernel allows them, else by timers in the agent.
 * The report says which method was used. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "collect/core/procfs.h"
#include "collect/process/process.h"
#include "collect/sources/python/python_calls.h"
#include "perf_reader.h"
#include "sample_cost.h"
#include "sample_rows.h"
#include "samples_state.h"
#include "sched_rows.h"
#include "wire/wire_samples.h"

#define STACK_MAX 32768u /* a record must fit into a chunk and leave room */

static const char *const scope_names[] = {
    [COLLECT_SCOPE_NONE] = "none", [COLLECT_SCOPE_TREE] = "process-tree", [COLLECT_SCOPE_SYSTEM] = "system-wide"
};
static const char *const backtrace_names[] = { [COLLECT_BACKTRACE_NONE] = "none",
                                               [COLLECT_BACKTRACE_FP] = "fp",
                                               [COLLECT_BACKTRACE_DWARF] = "dwarf",
                                               [COLLECT_BACKTRACE_LBR] = "lbr" };
static const char *const method_names[] = {
    [COLLECT_BY_NOTHING] = "none", [COLLECT_BY_PERF] = "perf", [COLLECT_BY_TIMER] = "timer"
};

/* ---- The choice of a method ------------------------------------------------------------------------------------ */

/* The kernel checks CPU timers only when its clock ticks, so no shorter period is possible. */
static uint64_t timer_period_ns(const struct collect_samples_options *options)
{
    struct timespec tick = { 0 };
    uint64_t period = options->period
                          ? options->period
                          : 1000000000u / (options->frequency ? options->frequency : COLLECT_FREQUENCY_USUAL);
    clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
    uint64_t tick_ns = (uint64_t)tick.tv_sec * 1000000000u + (uint64_t)tick.tv_nsec;
    return period < tick_ns ? tick_ns : period;
}

static uint32_t timer_stack_bytes(const struct collect_samples_options *options)
{
    if (options->backtrace == COLLECT_BACKTRACE_NONE)
        return 0;
    return options->stack_bytes && options->stack_bytes < STACK_MAX ? options->stack_bytes : STACK_MAX;
}

static uint64_t leveled_period_ns(const struct collector *collector)
{
    static const uint32_t one_of[] = { 1, PERF_ONE_OF_FEWER, PERF_ONE_OF_FEWEST, PERF_ONE_OF_FEWEST };
    return timer_period_ns(&collector->options->cpu) * one_of[collector->levels[WIRE_SOURCE_SAMPLES]];
}

static void samples_collect_arena(const struct collector *collector, struct collect_arena_texts *texts)
{
    const struct collect_samples_options *options = &collector->options->cpu;
    struct wire_samples_shared *shared = wire_samples(texts->arena);
    atomic_store(&shared->period_ns, leveled_period_ns(collector));
    shared->sums = (uint32_t)samples_state(collector)->sched.wanted;
    shared->stack_bytes = timer_stack_bytes(options);
}

/* Sets how many timers a process may still create. If the agent has created one meanwhile, its own number is kept. */
static void count_timers(struct process *process)
{
    if (!(process->collector->sources & WIRE_BIT(SAMPLES)))
        return;
    uint32_t before = atomic_load(&wire_samples(process->arena)->timers_left);
    atomic_compare_exchange_strong(&wire_samples(process->arena)->timers_left, &before,
                                   procfs_spare_signals(process->pid));
}

static void samples_collect_describe(struct collector *collector, const char *refusal)
{
    const struct collect_options *options = collector->options;
    const struct perf_choice *choice = &samples_state(collector)->perf.events.choice;
    const struct collect_samples_result *result = &collector->result->cpu;
    int by_perf = samples_state(collector)->perf.is_open;
    struct row_TACHO_SAMPLING row = { 0 };
    ROW_SET(&row, TACHO_SAMPLING, timestamp, collector_now(collector));
    ROW_SET(&row, TACHO_SAMPLING, method, collector_string(collector, method_names[result->method]));
    if (result->method != COLLECT_BY_NOTHING) {
        ROW_SET(&row, TACHO_SAMPLING, event, collector_string(collector, by_perf ? choice->event : "thread-cpu-clock"));
        if (by_perf && !choice->period)
            ROW_SET(&row, TACHO_SAMPLING, frequency, choice->frequency);
        else
            ROW_SET(&row, TACHO_SAMPLING, period, (int64_t)(by_perf ? choice->period : timer_period_ns(&options->cpu)));
        ROW_SET(&row, TACHO_SAMPLING, scope,
                collector_string(collector, scope_names[by_perf && choice->system_wide ? options->cpu.samples
                                                                                       : COLLECT_SCOPE_TREE]));
        ROW_SET(&row, TACHO_SAMPLING, backtrace,
                collector_string(collector, backtrace_names[by_perf                  ? choice->backtrace
                                                            : options->cpu.backtrace ? COLLECT_BACKTRACE_DWARF
                                                                                     : COLLECT_BACKTRACE_NONE]));
        if ((by_perf ? choice->backtrace : options->cpu.backtrace) == COLLECT_BACKTRACE_DWARF)
            ROW_SET(&row, TACHO_SAMPLING, stackBytes, by_perf ? choice->stack_bytes : timer_stack_bytes(&options->cpu));
        ROW_SET(&row, TACHO_SAMPLING, kernelMode, by_perf && choice->kernel);
    }
    ROW_SET(&row, TACHO_SAMPLING, switches,
            collector_string(collector, result->has_switches                     ? "perf"
                                        : samples_state(collector)->sched.wanted ? "schedstat"
                                                                                 : "none"));
    if (refusal)
        ROW_SET(&row, TACHO_SAMPLING, refusal, collector_string(collector, refusal));
    writer_append(collector->writer, TABLE_TACHO_SAMPLING, &row);
}

/* A warning if samples were requested by name; a note if they are only a default. */
static void tell_refusal(struct collector *collector, const char *refusal, const char *remedy)
{
    const struct collect_options *options = collector->options;
    int is_asked = options->cpu.samples_asked || options->cpu.switches_asked;
    char text[400];
    snprintf(text, sizeof text, "%s: %s%s; %s.", refusal,
             collector->sources & WIRE_BIT(SAMPLES) ? "timers in the program take the samples, without kernel frames"
                                                    : "no CPU samples are recorded",
             options->cpu.switches != COLLECT_SCOPE_NONE ? ", and context switches are recorded only as totals" : "",
             remedy);
    collector_diagnostic(collector, collector_now(collector), is_asked ? 2 : 1, 0, text);
}

/* Perf events are refused, or cannot follow a process that runs already. */
static void fall_back(struct collector *collector, const char *refusal, const char *remedy)
{
    const struct collect_options *options = collector->options;
    if (options->cpu.samples != COLLECT_SCOPE_NONE && !options->no_preload) {
        collector->sources |= WIRE_BIT(SAMPLES);
        collector->result->cpu.method = COLLECT_BY_TIMER;
    }
    tell_refusal(collector, refusal, remedy);
    samples_collect_describe(collector, refusal);
}

static void samples_collect_begin(struct collector *collector, pid_t pid)
{
    const struct collect_samples_options *options = &collector->options->cpu;
    char refusal[200];
    if (options->samples == COLLECT_SCOPE_NONE && options->switches == COLLECT_SCOPE_NONE)
        return;
    samples_state(collector)->sched.wanted = options->switches != COLLECT_SCOPE_NONE;
    int result = pid ? perf_start(collector, pid) : -EALREADY;
    if (result == -EMFILE) {
        fall_back(collector, "perf events need more open files than permitted", "raise ulimit -n to allow more");
        return;
    }
    if (result != 0) {
        snprintf(refusal, sizeof refusal,
                 pid ? "the kernel denies perf events (%s)" : "perf events cannot follow a process that already runs",
                 strerror(-result));
        fall_back(collector, refusal, "'tacho doctor' says how to allow more");
        return;
    }
    const struct perf_choice *choice = &samples_state(collector)->perf.events.choice;
    collector->result->cpu.method = choice->event ? COLLECT_BY_PERF : COLLECT_BY_NOTHING;
    collector->result->cpu.has_switches = choice->switches;
    samples_collect_describe(collector, NULL);
    sched_tick(collector);
}

/* ---- Records of agents ----------------------------------------------------------------------------------------- */

static int samples_collect_sample_row(const struct collect_origin *origin, const struct wire_record *record,
                                      uint32_t words)
{
    struct collector *collector = origin->collector;
    uint32_t count = record->a, stack_bytes = record->b;
    struct symbols_registers registers = { 0 };
    if (count == 0 || count > SYMBOLS_REGISTERS || words < WIRE_HEAD_WORDS + 2 + count + (stack_bytes + 7u) / 8)
        return -1;
    struct symbols_process *process = origin->process->space;
    if (!process)
        return -1;
    registers.known = (UINT64_C(1) << count) - 1;
    memcpy(registers.value, record->body + 2, count * sizeof *registers.value);
    struct symbols_sample sample = {
        .registers = &registers,
        .stack = record->body + 2 + count,
        .stack_bytes = stack_bytes,
    };
    uint64_t address = registers.value[count - 1]; /* the instruction pointer */
    struct symbols_chain chain = { .addresses = &address, .count = 1, .method = SYMBOLS_BY_UNKNOWN };
    struct samples_event event = {
        .time_ns = clock_map_time(&collector->clock, record->ticks),
        .global_tid = process_global_tid(origin->process, origin->reader->tid),
        .weight = record->body[0] <= INT64_MAX ? (int64_t)record->body[0] : 0,
        .cpu = -1,
        .python = python_calls_find(origin->process, record->body[1]),
        .walk = stack_bytes ? symbols_unwind(process, &sample) : symbols_stack_from_chain(process, &chain),
    };
    samples_add(collector, &event);
    return 0;
}

static int samples_collect_note_sums(const struct collect_origin *origin, const struct wire_record *record,
                                     uint32_t words)
{
    if (words < WIRE_HEAD_WORDS + 2)
        return -1;
    sched_note_end(origin->collector, process_global_tid(origin->process, origin->reader->tid), record->body[0],
                   record->body[1]);
    return 0;
}

/* ---- The end --------------------------------------------------------------------------------------------------- */

enum { SAMPLE_NS = 6000 }; /* an interrupt, and the copy of a stack */

/* A sample by a timer is a signal to the agent. Switches are records without a stack, and an event to stop and to
 * start; measured with two threads that wake up each other 40,000 times. */
static double samples_collect_cost_ns(const struct collect_result *result)
{
    enum { SWITCH_NS = 200 };
    const struct collect_samples_result *cpu = &result->cpu;
    double sample_ns = cpu->sample_ns > 0 ? cpu->sample_ns : SAMPLE_NS;
    return (double)result->counts[WIRE_SOURCE_SAMPLES].recorded * sample_ns + (double)cpu->switches * SWITCH_NS;
}

/* Its rings must be closed: they hold all memory that may be locked. */
static void measure_sample(struct collector *collector, const struct perf_choice *choice)
{
    struct collect_samples_result *cpu = &collector->result->cpu;
    if (cpu->method == COLLECT_BY_PERF && cpu->samples)
        cpu->sample_ns = sample_cost_measure(choice, cpu->copied_bytes / cpu->samples);
}

static void samples_collect_tick(struct collector *collector)
{
    perf_round(collector);
    sched_tick(collector);
    for (struct process *process = collector->processes->first_live; process; process = process->next_live)
        count_timers(process);
}

static void samples_collect_end(struct collector *collector)
{
    const struct perf_choice choice = samples_state(collector)->perf.events.choice;
    perf_finish(collector);
    sched_tick(collector);
    measure_sample(collector, &choice);
}

/* Perf's counts belong to no single process, so they go to the first one. Samples of agents are in their processes'
 * counts. */
static void count_perf(struct collector *collector)
{
    struct collect_samples_result *cpu = &collector->result->cpu;
    struct collect_counts *counts = &collector->result->counts[WIRE_SOURCE_SAMPLES];
    if (cpu->method == COLLECT_BY_PERF) {
        counts->recorded += cpu->samples;
        process_count_row(collector->primary, "samples", "recorded", "", (int64_t)cpu->samples);
    }
    counts->fates[WIRE_LOST_BUFFER_FULL] += cpu->lost_samples;
    counts->lost_damaged += samples_state(collector)->perf.damaged;
    process_count_row(collector->primary, "samples", "lost", "buffer-full", (int64_t)cpu->lost_samples);
    process_count_row(collector->primary, "perf records", "lost", "ring-full", (int64_t)cpu->lost_records);
    process_count_row(collector->primary, "samples", "lost", "damaged",
                      (int64_t)samples_state(collector)->perf.damaged);
    process_count_row(collector->primary, "switches", "recorded", "", (int64_t)cpu->switches);
}

static void samples_collect_finish(struct collector *collector)
{
    struct collect_samples_result *cpu = &collector->result->cpu;
    const uint64_t *ends = samples_state(collector)->samples.ends;
    sched_finish(collector);
    cpu->cut = ends[SYMBOLS_CUT];
    cpu->broken = ends[SYMBOLS_BROKEN] + ends[SYMBOLS_TOO_DEEP];
    if (collector->primary)
        count_perf(collector);
}

static void samples_collect_free_all(struct collector *collector)
{
    sched_free(collector);
    samples_free(collector);
}

/* ---- The row --------------------------------------------------------------------------------------------------- */

static void sampled(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    if (samples_collect_sample_row(origin, record, words) == 0)
        origin->process->counts[WIRE_SOURCE_SAMPLES].recorded++;
    else
        origin->process->counts[WIRE_SOURCE_SAMPLES].damaged++;
}

static void thread_sums(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    if (samples_collect_note_sums(origin, record, words) != 0)
        origin->process->counts[WIRE_SOURCE_SAMPLES].damaged++;
}

static const struct collect_records samples_collect_records[] = {
    { WIRE_SAMPLE, WIRE_SAMPLE, sampled },
    { WIRE_THREAD_SUMS, WIRE_THREAD_SUMS, thread_sums },
    { 0 },
};
static const struct collect_table samples_collect_tables[] = {
    { TABLE_COMPOSITE_EVENTS, "samples", COLLECT_RECORDED_OF(SAMPLES) },
    { TABLE_SCHED_EVENTS, "switches", COLLECT_RECORDED(cpu.switches) },
    { 0 },
};

/* ---- --cost-limit ---------------------------------------------------------------------------------------------- */

static const char *const samples_levels[] = { "a quarter of the CPU samples were taken",
                                              "a tenth of the CPU samples were taken", "no CPU samples were taken",
                                              NULL };

static void samples_set_level(struct collector *collector, int level)
{
    perf_set_level(collector, level);
    for (struct process *process = collector->processes->first_live; process; process = process->next_live)
        atomic_store_explicit(&wire_samples(process->arena)->period_ns, leveled_period_ns(collector),
                              memory_order_relaxed);
}

/* What samples took, without switches: no level saves those. */
static double samples_uncounted_ns(const struct collector *collector)
{
    const struct collect_result *result = collector->result;
    uint64_t samples = result->cpu.method == COLLECT_BY_PERF ? result->cpu.samples
                                                             : result->counts[WIRE_SOURCE_SAMPLES].recorded;
    for (const struct process *process = collector->processes->first_live; process; process = process->next_live)
        samples += process->counts[WIRE_SOURCE_SAMPLES].recorded;
    return (double)SAMPLE_NS * (double)samples;
}

const struct collect_source collect_source_samples = {
    .state_bytes = sizeof(struct samples_state),
    .records = samples_collect_records,
    .tables = samples_collect_tables,
    .cost = { .counted_ns = 2000 },
    .extra_cost_ns = samples_collect_cost_ns,
    .levels = { .words = samples_levels,
                .off = PERF_LEVEL_NONE,
                .set = samples_set_level,
                .uncounted_ns = samples_uncounted_ns },
    .begin = samples_collect_begin,
    .switching = perf_switch,
    .tick = samples_collect_tick,
    .end = samples_collect_end,
    .finish = samples_collect_finish,
    .stop = perf_finish,
    .free = samples_collect_free_all,
    .arena = samples_collect_arena,
    .process_attach = count_timers,
    .process_dying = sched_look,
};
