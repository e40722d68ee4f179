/* NVTX as a source: its row. */
#include "collect/core/collect_sources.h"
#include "collect/core/collector.h"
#include "collect/core/variables.h"
#include "collect/process/process.h"
#include "nvtx_records.h"

/* The program's own NVTX loads the library in this variable, with or without LD_PRELOAD. */
static void nvtx_collect_environment(struct variables *variables, const struct collect_options *options,
                                     const char *agent_path)
{
    variables_set(variables, "NVTX_INJECTION64_PATH", agent_path);
}

static void nvtx_collect_arena(const struct collector *collector, struct collect_arena_texts *texts)
{
    const struct collect_options *options = collector->options;
    struct wire_nvtx_shared *shared = wire_nvtx(texts->arena);
    shared->domain_include = arena_put_list(texts, options->nvtx_domain_include);
    shared->domain_exclude = arena_put_list(texts, options->nvtx_domain_exclude);
    shared->capture_range = arena_put_text(texts, options->range_text);
    shared->capture_domain = arena_put_text(texts, options->range_domain);
    shared->launch_ranges = arena_put_list(texts, options->kernel_counters.ranges);
}

/* ---- Records --------------------------------------------------------------------------------------------------- */

static void event(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    struct nvtx_thread *thread = origin->reader->state[COLLECT_SOURCE_NVTX];
    if (thread)
        nvtx_record(thread, record, words);
}

/* Only the source of the resource knows from its own records which resource the handle means, so all sources get it. */
static void nvtx_collect_resource(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    SOURCES_CALL(resource_named, origin, record, words);
    event(origin, record, words);
}

/* ---- Processes and threads ------------------------------------------------------------------------------------- */

static void nvtx_collect_attach_process(struct process *process)
{
    struct collector *collector = process->collector;
    struct nvtx_process *nvtx = nvtx_process_new(collector->writer, &collector->clock, process->global_pid);
    if (nvtx)
        nvtx_process_sources(nvtx, collector->options->sources);
    process->state[COLLECT_SOURCE_NVTX] = nvtx;
}

static void nvtx_collect_thread_begin(struct process *process, struct process_reader *reader,
                                      const struct wire_thread *slot)
{
    struct nvtx_process *nvtx = process->state[COLLECT_SOURCE_NVTX];
    reader->state[COLLECT_SOURCE_NVTX] = nvtx ? nvtx_thread_new(nvtx, process_global_tid(process, reader->tid)) : NULL;
}

static void nvtx_collect_thread_end(struct process *process, struct process_reader *reader, int64_t end_ns)
{
    if (reader->state[COLLECT_SOURCE_NVTX])
        nvtx_thread_finish(reader->state[COLLECT_SOURCE_NVTX]);
}

static void nvtx_collect_thread_name(const struct process *process, struct process_reader *reader)
{
    const struct nvtx_process *nvtx = process->state[COLLECT_SOURCE_NVTX];
    int64_t given = nvtx ? nvtx_thread_name(nvtx, reader->tid) : -1;
    if (given >= 0) /* the name that the program gave says more than the kernel's */
        reader->name_id = given;
}

/* NVTX keeps its own counts, since a range counts as recorded once both its ends are read. */
static void set_counts(struct process *process, const struct nvtx_counts *counts)
{
    process_set_counts(process, WIRE_SOURCE_NVTX,
                       &(struct process_counts){
                           .recorded = counts->recorded - counts->library_recorded,
                           .damaged = counts->damaged,
                           .fates[WIRE_LOST_BUFFER_FULL] = counts->end_lost - counts->library_end_lost,
                       });
    process_set_counts(process, WIRE_SOURCE_LIBRARIES,
                       &(struct process_counts){
                           .recorded = counts->library_recorded,
                           .fates[WIRE_LOST_BUFFER_FULL] = counts->library_end_lost,
                       });
}

static void nvtx_collect_counts(struct process *process)
{
    if (process->state[COLLECT_SOURCE_NVTX])
        set_counts(process, nvtx_process_counts(process->state[COLLECT_SOURCE_NVTX]));
}

static void nvtx_collect_end_process(struct process *process)
{
    struct nvtx_counts counts;
    if (!process->state[COLLECT_SOURCE_NVTX])
        return;
    nvtx_process_finish(process->state[COLLECT_SOURCE_NVTX], &counts);
    process->state[COLLECT_SOURCE_NVTX] = NULL;
    set_counts(process, &counts);
}

static void nvtx_collect_free_process(struct process *process)
{
    if (process->state[COLLECT_SOURCE_NVTX])
        nvtx_process_finish(process->state[COLLECT_SOURCE_NVTX], NULL);
}

static const struct collect_records nvtx_collect_records[] = {
    { WIRE_NVTX_MARK, WIRE_NVTX_SYNC, event },
    { WIRE_NVTX_RESOURCE, WIRE_NVTX_RESOURCE, nvtx_collect_resource },
    { 0 },
};
static const struct collect_table nvtx_collect_tables[] = { { TABLE_NVTX_EVENTS, "nvtx", COLLECT_RECORDED_OF(NVTX) },
                                                            { 0 } };

const struct collect_source collect_source_nvtx = {
    .records = nvtx_collect_records,
    .tables = nvtx_collect_tables,
    .cost = { .recorded_reads = 2, .recorded_ns = 20, .counted_reads = 2, .counted_ns = 10 },
    .environment = nvtx_collect_environment,
    .arena = nvtx_collect_arena,
    .process_attach = nvtx_collect_attach_process,
    .process_end = nvtx_collect_end_process,
    .process_free = nvtx_collect_free_process,
    .counts = nvtx_collect_counts,
    .thread_begin = nvtx_collect_thread_begin,
    .thread_name = nvtx_collect_thread_name,
    .thread_end = nvtx_collect_thread_end,
};
