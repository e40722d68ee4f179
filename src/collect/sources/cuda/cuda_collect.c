/* CUDA as a source: its row. */
#include <stdio.h>
#include <string.h>

#include "collect/core/chain_row.h"
#include "collect/core/collector.h"
#include "collect/core/machine.h"
#include "collect/core/record.h"
#include "collect/core/variables.h"
#include "collect/process/process.h"
#include "cuda_records.h"
#include "kernel_counter_capture.h"
#include "wire/wire_cuda.h"
#include "wire/wire_nvtx.h"

#define BACKTRACE_BYTES 32768u /* of stack: there are about a hundred frames between PyTorch and a launch */
/* What CUPTI's records take of the thread that makes the calls, on the host of an H200. In a program that does little
 * but launch, a copy takes 1.4 µs longer, and a launch, which has two records as well, 1.7 µs
 * (tests/pairs/judgement/scene.cu and alignment.cu). Where operators of PyTorch run between the calls, CUPTI's code and
 * data are not in the caches any more: then a record takes 1.1 µs, and that of a kernel 1.4 µs more
 * (bench/cupti_cost.py). */
enum { RECORD_NS = 700, KERNEL_NS = 300, COLD_RECORD_NS = 1100, COLD_KERNEL_NS = 1400 };
enum { OPERATORS_OF_KERNEL = 8 }; /* with windows, only an eighth of the operators is recorded */

static struct cuda_process *cuda_of(const struct process *process)
{
    return process->state[COLLECT_SOURCE_CUDA]; /* NULL: CUDA is not traced */
}

/* What records take beside RECORD_NS each, which `recorded` counts. */
struct cuda_cost_counts {
    uint64_t records, kernels, operators;
};

static double more_cost_ns(const struct cuda_cost_counts *counts)
{
    int is_cold = counts->operators > counts->kernels / OPERATORS_OF_KERNEL;

    return (double)(is_cold ? COLD_KERNEL_NS : KERNEL_NS) * (double)counts->kernels +
           (is_cold ? (double)(COLD_RECORD_NS - RECORD_NS) * (double)counts->records : 0);
}

static struct cuda_cost_counts cost_counts_of(const struct collect_result *result)
{
    return (struct cuda_cost_counts){ .records = result->counts[WIRE_SOURCE_CUDA].recorded,
                                      .kernels = result->cuda.kernels,
                                      .operators = result->counts[WIRE_SOURCE_TORCH].recorded };
}

static double extra_cost_ns(const struct collect_result *result)
{
    const struct cuda_cost_counts counts = cost_counts_of(result);

    return more_cost_ns(&counts);
}

/* ---- The capture ----------------------------------------------------------------------------------------------- */

static void cuda_collect_environment(struct variables *variables, const struct collect_options *options,
                                     const char *agent_path)
{
    if (options->sources & WIRE_BIT(CUDA))
        variables_set(variables, "CUDA_INJECTION64_PATH", agent_path);
}

static void cuda_collect_check(struct collector *collector, const char *agent_path)
{
    const char *other = variables_value(collector->options, "CUDA_INJECTION64_PATH");
    if ((collector->options->sources & WIRE_BIT(CUDA)) && other && *other && strcmp(other, agent_path) != 0)
        collector_warn(
            collector, 0,
            "CUDA_INJECTION64_PATH named another tool (%.256s). Tacho replaced it, so CUDA did not load that "
            "tool.",
            other);
}

static int is_counting(const struct collect_options *options)
{
    const struct counter_options *wanted = &options->kernel_counters;
    return (options->sources & WIRE_BIT(CUDA)) && (wanted->sets || wanted->sections || wanted->metrics);
}

static void cuda_collect_begin(struct collector *collector, pid_t pid)
{
    struct cuda_gpus *gpus = collector->state[COLLECT_SOURCE_CUDA];
    (void)pid;
    if (is_counting(collector->options))
        gpus->counters = counter_capture_begin(collector);
}

static void cuda_collect_free_state(struct collector *collector)
{
    struct cuda_gpus *gpus = collector->state[COLLECT_SOURCE_CUDA];
    counter_capture_free(gpus->counters);
}

/* Writes the version that is known once a program has used CUDA. */
static void cuda_collect_finish(struct collector *collector)
{
    const struct cuda_gpus *gpus = collector->state[COLLECT_SOURCE_CUDA];
    char value[16] = "";
    if (gpus->counters)
        counter_capture_finish(gpus->counters);
    if (gpus->cuda_version)
        snprintf(value, sizeof value, "%u", gpus->cuda_version);
    machine_fact(collector, "CudaDriverVersion", 611, value); /* nsys's name and number */
}

/* ---- Arenas ---------------------------------------------------------------------------------------------------- */

/* CUPTI's buffers get as many bytes as the records. */
static uint32_t buffer_count(const struct collector *collector, uint64_t chunk_bytes)
{
    return collector->options->sources & WIRE_BIT(CUDA) ? (uint32_t)(chunk_bytes / WIRE_CUDA_BUFFER_BYTES) : 0;
}

static uint64_t arena_bytes(const struct collector *collector, uint64_t chunk_bytes)
{
    uint32_t count = buffer_count(collector, chunk_bytes);
    return wire_arena_bytes(0, count) - wire_chunks_end(0);
}

static void cuda_collect_arena(const struct collector *collector, struct collect_arena_texts *texts)
{
    const struct collect_options *options = collector->options;
    const struct cuda_gpus *gpus = collector->state[COLLECT_SOURCE_CUDA];
    struct wire_header *arena = texts->arena;
    atomic_store(&wire_cuda(arena)->free_buffers, WIRE_LIST_EMPTY);
    wire_cuda(arena)->settings = (struct wire_cuda_settings){
        .flags = options->cuda_flags | counter_capture_flags(gpus->counters),
        .backtrace_groups = options->cuda_backtrace_groups,
        .backtrace_ns = options->cuda_backtrace_ns,
        .backtrace_bytes = BACKTRACE_BYTES,
        .flush_interval_ms = options->cuda_flush_interval_ms,
        .buffer_count = buffer_count(collector, (uint64_t)arena->chunk_count * WIRE_CHUNK_BYTES),
        .ns_per_tick = clock_map_slope(&collector->clock),
        .pc_mode = options->cuda_pc_mode,
        .pc_period = options->cuda_pc_period,
    };
}

/* ---- Records --------------------------------------------------------------------------------------------------- */

/* Writes a row of TACHO_CUPTI: the version of CUPTI, or the reason why there is none. */
static void cupti_row(const struct collect_origin *origin, const struct wire_record *record,
                      const struct row_TACHO_CUPTI *known)
{
    struct row_TACHO_CUPTI row = *known;
    ROW_SET(&row, TACHO_CUPTI, timestamp, record_time(origin, record));
    ROW_SET(&row, TACHO_CUPTI, globalPid, origin->process->global_pid);
    writer_append(origin->collector->writer, TABLE_TACHO_CUPTI, &row);
}

static void cuda_collect_loaded(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    struct row_TACHO_CUPTI row = { 0 };
    if (words < WIRE_HEAD_WORDS + 1) {
        process_count_damaged(origin->process);
        return;
    }
    ROW_SET(&row, TACHO_CUPTI, version, (int64_t)record->body[0]);
    ROW_SET(&row, TACHO_CUPTI, path, record_text_id(origin, record, words, 1));
    ROW_SET(&row, TACHO_CUPTI, calls, collector_string(origin->collector, record->a == 1 ? "all" : "chosen"));
    cupti_row(origin, record, &row);
    origin->collector->result->cuda.processes++;
}

static void cuda_collect_refused(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    struct collect_cuda_result *result = &origin->collector->result->cuda;
    struct row_TACHO_CUPTI row = { 0 };
    char text[sizeof result->refusal];
    ROW_SET(&row, TACHO_CUPTI, result, record->a);
    ROW_SET(&row, TACHO_CUPTI, refusal, record_text_id(origin, record, words, 0));
    cupti_row(origin, record, &row);
    record_copy_text(text, sizeof text, record, words, 0);
    if (result->refused++)
        return;
    memcpy(result->refusal, text, sizeof text);
    collector_warn(origin->collector, origin->process->global_pid, "%s (pid %d): %s", origin->process->name,
                   (int)origin->process->pid, text);
}

/* Warns with the text of the record, which follows `before` words of its body. */
static void warn_text(const struct collect_origin *origin, const struct wire_record *record, uint32_t words,
                      uint32_t before)
{
    char text[512];
    record_copy_text(text, sizeof text, record, words, before);
    collector_warn(origin->collector, origin->process->global_pid, "%s (pid %d): %s", origin->process->name,
                   (int)origin->process->pid, text);
}

static void counters_refused(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    warn_text(origin, record, words, 0);
}

static void cuda_collect_told(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    if (cuda_of(origin->process))
        cuda_record(cuda_of(origin->process), record, words, origin->reader->tid);
}

static void pc_sampling(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    cuda_collect_told(origin, record, words);
    if (record->a)
        warn_text(origin, record, words, 2);
}

static void resource_named(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    struct cuda_process *cuda = cuda_of(origin->process);
    if (cuda && record->flags == WIRE_RESOURCE_CUDA_STREAM && words > WIRE_HEAD_WORDS + 2)
        cuda_name_stream(cuda, record->body[0], record_text_id(origin, record, words, 2));
}

static void cuda_collect_take_chains(const struct collect_origin *origin, const struct wire_record *record,
                                     struct call_chains chains)
{
    if (cuda_of(origin->process))
        cuda_chain(cuda_of(origin->process), (record->body[0] & WIRE_CUDA_STACK_OF_DRIVER) != 0,
                   (uint32_t)record->body[0], chains);
}

static void cuda_collect_chain_row(struct writer *writer, const struct chain_row *from)
{
    struct row_CUDA_CALLCHAINS row = { 0 };
    CHAIN_ROW_SET(CUDA_CALLCHAINS, &row, from);
    writer_append(writer, TABLE_CUDA_CALLCHAINS, &row);
}

/* ---- Processes and threads ------------------------------------------------------------------------------------- */

static void cuda_collect_attach_process(struct process *process)
{
    struct collector *collector = process->collector;
    struct cuda_setup setup = {
        .writer = collector->writer,
        .clock = &collector->clock,
        .gpus = collector->state[COLLECT_SOURCE_CUDA],
        .arena = process->arena,
        .chunk_count = process->chunk_count,
        .buffer_count = wire_cuda(process->arena)->settings.buffer_count,
        .ns_per_tick = wire_cuda(process->arena)->settings.ns_per_tick,
        .flags = wire_cuda(process->arena)->settings.flags,
        .global_pid = process->global_pid,
        .pid = (uint32_t)process->pid,
        .own_pid = process->own_pid,
        .process = process,
    };
    process->state[COLLECT_SOURCE_CUDA] = setup.buffer_count ? cuda_process_new(&setup) : NULL;
}

/* The agent's own thread, which fetches CUPTI's records, is not a thread of the program. */
static void cuda_collect_thread_begin(struct process *process, struct process_reader *reader,
                                      const struct wire_thread *slot)
{
    if (slot->tid && slot->tid == atomic_load_explicit(&wire_cuda(process->arena)->thread, memory_order_acquire))
        reader->is_agents = 1;
}

static void round_begin(struct process *process)
{
    if (cuda_of(process))
        cuda_note(cuda_of(process));
}

static size_t cuda_collect_round_end(struct process *process, size_t budget, int is_all_read)
{
    return cuda_of(process) ? cuda_read(cuda_of(process), budget, is_all_read) : 0;
}

static void set_goal(struct process *process)
{
    if (cuda_of(process))
        cuda_set_goal(cuda_of(process));
}

static int has_reached_goal(const struct process *process)
{
    return !cuda_of(process) || cuda_reached_goal(cuda_of(process));
}

static void settle_goal(struct process *process)
{
    if (cuda_of(process))
        cuda_settle_goal(cuda_of(process));
}

/* The collector waits for a limited time, so it does not wait for kernels that run longer. */
static int cuda_collect_is_awaited(struct process *process)
{
    return cuda_of(process) && cuda_awaits(cuda_of(process));
}

static void cuda_collect_trim(struct process *process)
{
    if (cuda_of(process))
        cuda_trim(cuda_of(process));
}

static void cuda_collect_counts(struct process *process)
{
    if (!cuda_of(process))
        return;
    const struct cuda_counts *counts = cuda_process_counts(cuda_of(process));
    process_set_counts(process, WIRE_SOURCE_CUDA,
                       &(struct process_counts){
                           .recorded = counts->recorded,
                           .recovered = counts->recovered,
                           .unfinished = counts->unfinished,
                           .unknown_kind = counts->unknown_kind,
                           .damaged = counts->damaged,
                       });
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

static void cuda_collect_free_process(struct process *process)
{
    cuda_process_free(cuda_of(process));
    process->state[COLLECT_SOURCE_CUDA] = NULL;
}

/* Writes the checks of CUDA's records against each other, once all have been read. */
static void cuda_collect_end_process(struct process *process)
{
    struct collect_cuda_result *total = &process->collector->result->cuda;
    if (!cuda_of(process))
        return;
    cuda_finish(cuda_of(process));
    cuda_collect_counts(process);
    const struct cuda_counts *counts = cuda_process_counts(cuda_of(process));
    if (counts->pc_full)
        collector_warn(
            process->collector, process->global_pid,
            "%s (pid %d): samples of warps are missing, because the GPU's buffer for them was full %llu times. "
            "Sample less often (--pc-sampling-interval).",
            process->name, (int)process->pid, (unsigned long long)counts->pc_full);
    check_row(process, "launch-without-kernel", counts->launches_without_kernel);
    check_row(process, "kernel-without-launch", counts->kernels_without_launch);
    check_row(process, "kernel-before-launch", counts->kernels_before_launch);
    total->kernels += counts->kernels;
    total->launches_without_kernel += counts->launches_without_kernel;
    total->kernels_without_launch += counts->kernels_without_launch;
    total->kernels_before_launch += counts->kernels_before_launch;
    total->recovered += counts->recovered;
    cuda_collect_free_process(process);
}

static const struct collect_records cuda_collect_records[] = {
    { WIRE_CUDA_LOADED, WIRE_CUDA_LOADED, cuda_collect_loaded },
    { WIRE_CUDA_REFUSED, WIRE_CUDA_REFUSED, cuda_collect_refused },
    { WIRE_CUDA_DEVICE, WIRE_CUDA_CODE, cuda_collect_told },
    { WIRE_CUDA_PC_SAMPLING, WIRE_CUDA_PC_SAMPLING, pc_sampling },
    { WIRE_CUDA_STALL_REASON, WIRE_CUDA_UNCOUNTED, cuda_collect_told },
    { WIRE_CUDA_COUNTERS_REFUSED, WIRE_CUDA_COUNTERS_REFUSED, counters_refused },
    { 0 },
};

#define TABLE(name) { TABLE_##name, "cuda", COLLECT_RECORDED_OF(CUDA) }
static const struct collect_table cuda_collect_tables[] = {
    TABLE(CUPTI_ACTIVITY_KIND_KERNEL),
    TABLE(CUPTI_ACTIVITY_KIND_RUNTIME),
    TABLE(CUPTI_ACTIVITY_KIND_MEMCPY),
    TABLE(CUPTI_ACTIVITY_KIND_MEMSET),
    TABLE(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION),
    TABLE(CUPTI_ACTIVITY_KIND_CUDA_EVENT),
    TABLE(CUPTI_ACTIVITY_KIND_GRAPH_TRACE),
    TABLE(CUDA_GPU_MEMORY_USAGE_EVENTS),
    TABLE(CUDA_GPU_MEMORY_POOL_EVENTS),
    TABLE(CUDA_UM_CPU_PAGE_FAULT_EVENTS),
    TABLE(CUDA_UM_GPU_PAGE_FAULT_EVENTS),
    TABLE(TACHO_CUDA_JIT),
    TABLE(TACHO_PC_SAMPLES),
    TABLE(PROFILER_OVERHEAD),
    { 0 },
};

/* CUPTI cannot go on with a part of its records after they were off (decision 38), so all of CUDA has windows. */
static const char *const cuda_levels[] = { "CUDA was recorded an eighth of the time", "CUDA was not recorded", NULL };

static double cuda_uncounted_ns(const struct collector *collector)
{
    struct cuda_cost_counts counts = cost_counts_of(collector->result);
    for (const struct process *process = collector->processes->first_live; process; process = process->next_live) {
        counts.records += process->counts[WIRE_SOURCE_CUDA].recorded;
        counts.kernels += cuda_of(process) ? cuda_process_counts(cuda_of(process))->kernels : 0;
        counts.operators += process->counts[WIRE_SOURCE_TORCH].recorded;
    }
    return more_cost_ns(&counts);
}

const struct collect_source collect_source_cuda = {
    .state_bytes = sizeof(struct cuda_gpus),
    .records = cuda_collect_records,
    .tables = cuda_collect_tables,
    .levels = { .words = cuda_levels, .windows = 1, .off = 2, .uncounted_ns = cuda_uncounted_ns },
    .cost = { .recorded_ns = RECORD_NS, .counted_ns = 60 },
    .extra_cost_ns = extra_cost_ns,
    .environment = cuda_collect_environment,
    .check = cuda_collect_check,
    .begin = cuda_collect_begin,
    .finish = cuda_collect_finish,
    .free = cuda_collect_free_state,
    .arena_bytes = arena_bytes,
    .arena = cuda_collect_arena,
    .process_attach = cuda_collect_attach_process,
    .process_end = cuda_collect_end_process,
    .process_free = cuda_collect_free_process,
    .counts = cuda_collect_counts,
    .round_begin = round_begin,
    .round_end = cuda_collect_round_end,
    .set_goal = set_goal,
    .has_reached_goal = has_reached_goal,
    .settle_goal = settle_goal,
    .is_awaited = cuda_collect_is_awaited,
    .trim = cuda_collect_trim,
    .resource_named = resource_named,
    .thread_begin = cuda_collect_thread_begin,
    .take_chains = cuda_collect_take_chains,
    .chain_row = cuda_collect_chain_row,
};
