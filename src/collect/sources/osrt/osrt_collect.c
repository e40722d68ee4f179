/* OS calls as a source: its row. */
#include <stdio.h>

#include "base/saturating.h"
#include "collect/core/chain_row.h"
#include "collect/core/collect_sources.h"
#include "collect/core/collector.h"
#include "collect/core/machine.h"
#include "collect/process/process.h"
#include "collect/sources/stacks/stack_rows.h"
#include "osrt_records.h"
#include "osrt_short.h"

static struct osrt *osrt_of(const struct collector *collector)
{
    return collector->state[COLLECT_SOURCE_OSRT];
}

static void osrt_collect_describe(struct collector *collector)
{
    char number[32];
    snprintf(number, sizeof number, "%llu", (unsigned long long)collector->options->osrt_threshold_ns);
    machine_parameter(collector, "OSRT_THRESHOLD_NS", number);
}

static void osrt_collect_begin(struct collector *collector, pid_t pid)
{
    osrt_init(osrt_of(collector), collector->writer, &collector->clock);
}

/* The levels of --cost-limit. A higher threshold saves records, counting saves two readings of the clock as well. */
static const char *const osrt_levels[] = {
    "OS calls that took less than ten times the threshold were only counted",
    "OS calls that took less than a hundred times the threshold were only counted", "OS calls were only counted",
    "OS calls were not recorded", NULL
};
enum { OSRT_COUNTED = 3 };

static uint64_t osrt_threshold_ticks(const struct collector *collector)
{
    static const int64_t factors[] = { 1, 10, 100 };
    int level = collector->levels[WIRE_SOURCE_OSRT];
    int64_t factor = factors[level < OSRT_COUNTED ? level : 0], least_ns = level ? 1000 : 0;
    int64_t ns = saturating_from_double((double)collector->options->osrt_threshold_ns);
    return clock_map_ticks_in(&collector->clock, saturating_multiply(ns > least_ns ? ns : least_ns, factor));
}

static void osrt_set_level(struct collector *collector, int level)
{
    for (struct process *process = collector->processes->first_live; process; process = process->next_live)
        atomic_store_explicit(&wire_osrt(process->arena)->threshold_ticks, osrt_threshold_ticks(collector),
                              memory_order_relaxed);
}

static void osrt_collect_arena(const struct collector *collector, struct collect_arena_texts *texts)
{
    const struct collect_options *options = collector->options;
    struct wire_osrt_shared *shared = wire_osrt(texts->arena);
    atomic_store(&shared->threshold_ticks, osrt_threshold_ticks(collector));
    shared->backtrace_ticks = clock_map_ticks_in(&collector->clock, (int64_t)options->osrt_backtrace_ns);
    shared->backtrace_bytes = options->osrt_backtrace_bytes;
}

static void osrt_collect_take_chains(const struct collect_origin *origin, const struct wire_record *record,
                                     struct call_chains chains)
{
    origin->reader->chains = chains;
    origin->reader->chains_ticks = record->ticks;
}

static uint32_t chain_depth(const struct collector *collector)
{
    return collector->options->osrt_backtrace_depth;
}

static void osrt_collect_chain_row(struct writer *writer, const struct chain_row *from)
{
    struct row_OSRT_CALLCHAINS row = { 0 };
    CHAIN_ROW_SET(OSRT_CALLCHAINS, &row, from);
    CHAIN_ROW_SET_METHOD(OSRT_CALLCHAINS, &row, from);
    writer_append(writer, TABLE_OSRT_CALLCHAINS, &row);
}

static struct call_chains chains_of(struct process_reader *reader, uint64_t ticks)
{
    struct call_chains none = { 0 }, chains = reader->chains_ticks == ticks ? reader->chains : none;
    reader->chains = none;
    return chains;
}

/* The chain of the variable that a lock is in. */
static int64_t lock_chain(const struct collect_origin *origin, uint64_t address)
{
    struct osrt_lock *known = &osrt_of(origin->collector)->locks[address / 8 % OSRT_LOCKS_KNOWN];
    if (known->process != origin->process || known->address != address)
        *known = (struct osrt_lock){ origin->process, address,
                                     stacks_variable(origin->process, WIRE_SOURCE_OSRT, address) };
    return known->chain;
}

static void osrt_collect_call(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    struct call_chains chains = chains_of(origin->reader, record->ticks);
    if (words > WIRE_HEAD_WORDS + 2)
        chains.lock = lock_chain(origin, record->body[2]);
    if (osrt_record(osrt_of(origin->collector), process_global_tid(origin->process, origin->reader->tid), record, words,
                    chains) == 0)
        origin->process->counts[WIRE_SOURCE_OSRT].recorded++;
    else
        origin->process->counts[WIRE_SOURCE_OSRT].damaged++;
}

/* The call that a thread is in when it is read for the last time gets a row, too. */
static void osrt_collect_thread_cut(const struct collect_origin *origin, struct wire_thread *slot, int64_t end_ns)
{
    uint64_t ticks = atomic_load_explicit(&slot->call_ticks, memory_order_acquire);
    uint32_t function = atomic_load_explicit(&slot->call_function, memory_order_relaxed);
    if (end_ns == PROCESS_NO_TIME)
        end_ns = collector_now(origin->collector);
    int64_t global_tid = process_global_tid(origin->process, origin->reader->tid);
    if (ticks && osrt_incomplete(osrt_of(origin->collector), global_tid, function, ticks, end_ns) == 0)
        origin->process->counts[WIRE_SOURCE_OSRT].recorded++;
}

static void osrt_collect_thread_end(struct process *process, struct process_reader *reader, int64_t end_ns)
{
    osrt_short_thread_end(reader);
}

static void osrt_collect_counts(struct process *process)
{
    osrt_short_write(osrt_of(process->collector), process);
}

static void osrt_collect_process_end(struct process *process)
{
    osrt_collect_counts(process);
    osrt_short_process_free(process);
}

/* The copy of a stack, into memory that has not been touched before. */
static double osrt_collect_cost_ns(const struct collect_result *result)
{
    enum { STACK_NS = 300, KILOBYTE_NS = 250 };
    const struct collect_counts *counts = &result->counts[WIRE_SOURCE_OSRT];
    return (double)counts->stacks * STACK_NS + (double)counts->stack_bytes / 1024 * KILOBYTE_NS;
}

static const struct collect_records osrt_collect_records[] = { { WIRE_OSRT_CALL, WIRE_OSRT_CALL, osrt_collect_call },
                                                               { 0 } };
static const struct collect_table osrt_collect_tables[] = { { TABLE_OSRT_API, "osrt", COLLECT_RECORDED_OF(OSRT) },
                                                            { 0 } };

const struct collect_source collect_source_osrt = {
    .state_bytes = sizeof(struct osrt),
    .records = osrt_collect_records,
    .tables = osrt_collect_tables,
    .cost = { .recorded_reads = 2,
              .recorded_ns = 12,
              .counted_reads = 2,
              .counted_ns = 6,
              .untimed_ns = 8,
              .left_out_ns = 5 },
    .levels = { .words = osrt_levels, .off = OSRT_COUNTED, .counted = OSRT_COUNTED, .set = osrt_set_level },
    .extra_cost_ns = osrt_collect_cost_ns,
    .describe = osrt_collect_describe,
    .begin = osrt_collect_begin,
    .arena = osrt_collect_arena,
    .take_chains = osrt_collect_take_chains,
    .chain_depth = chain_depth,
    .chain_row = osrt_collect_chain_row,
    .thread_cut = osrt_collect_thread_cut,
    .thread_counts = osrt_short_take,
    .thread_end = osrt_collect_thread_end,
    .counts = osrt_collect_counts,
    .process_end = osrt_collect_process_end,
    .process_free = osrt_short_process_free,
};
