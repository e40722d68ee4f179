/* What a full disk took: see disk_losses.h. The writer knows how many rows of each table it could not write; which
 * source they were of is known by their table. A row of a table that is not listed here is counted under the table's
 * own name, so that none goes unmentioned. */
#include "disk_losses.h"

#include <stddef.h>

#include "collect/core/collector.h"
#include "report/schema/schema.h"

#define RECORDED(member) offsetof(struct collect_result, member)
#define RECORDED_OF(source) RECORDED(counts[WIRE_SOURCE_##source].recorded)

/* Rows of one table may be of several sources: their first is taken from first. */
static const struct {
    enum table_id table;
    const char *source;
    size_t recorded;
} owners[] = {
    { TABLE_NVTX_EVENTS, "nvtx", RECORDED_OF(NVTX) },
    { TABLE_NVTX_EVENTS, "libraries", RECORDED_OF(LIBRARY) },
    { TABLE_OSRT_API, "osrt", RECORDED_OF(OSRT) },
    { TABLE_CUPTI_ACTIVITY_KIND_KERNEL, "cuda", RECORDED_OF(CUDA) },
    { TABLE_CUPTI_ACTIVITY_KIND_RUNTIME, "cuda", RECORDED_OF(CUDA) },
    { TABLE_CUPTI_ACTIVITY_KIND_MEMCPY, "cuda", RECORDED_OF(CUDA) },
    { TABLE_CUPTI_ACTIVITY_KIND_MEMSET, "cuda", RECORDED_OF(CUDA) },
    { TABLE_CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, "cuda", RECORDED_OF(CUDA) },
    { TABLE_CUPTI_ACTIVITY_KIND_CUDA_EVENT, "cuda", RECORDED_OF(CUDA) },
    { TABLE_CUPTI_ACTIVITY_KIND_GRAPH_TRACE, "cuda", RECORDED_OF(CUDA) },
    { TABLE_CUDA_GPU_MEMORY_USAGE_EVENTS, "cuda", RECORDED_OF(CUDA) },
    { TABLE_CUDA_GPU_MEMORY_POOL_EVENTS, "cuda", RECORDED_OF(CUDA) },
    { TABLE_CUDA_UM_CPU_PAGE_FAULT_EVENTS, "cuda", RECORDED_OF(CUDA) },
    { TABLE_CUDA_UM_GPU_PAGE_FAULT_EVENTS, "cuda", RECORDED_OF(CUDA) },
    { TABLE_TACHO_CUDA_JIT, "cuda", RECORDED_OF(CUDA) },
    { TABLE_PROFILER_OVERHEAD, "cuda", RECORDED_OF(CUDA) },
    { TABLE_TACHO_TORCH_OP, "pytorch", RECORDED_OF(TORCH) },
    { TABLE_TACHO_TORCH_MEMORY, "pytorch", RECORDED_OF(TORCH) },
    { TABLE_TACHO_TORCH_PYTHON, "pytorch", RECORDED_OF(TORCH) },
    { TABLE_COMPOSITE_EVENTS, "samples", RECORDED_OF(SAMPLES) },
    { TABLE_SCHED_EVENTS, "switches", RECORDED(cpu.switches) },
    { TABLE_PMU_EVENT_COUNTERS, "counters", RECORDED(cpu.counters) },
    { TABLE_TACHO_PYTHON_SAMPLE, "python-sampling", RECORDED(python.samples) },
};

static void count(struct collector *collector, const char *source, uint64_t lost, uint64_t recorded)
{
    collector->result->lost_disk += lost;
    process_count_row(collector->primary, source, "recorded", "", -(int64_t)recorded);
    process_count_row(collector->primary, source, "lost", "disk-full", (int64_t)lost);
}

static void count_table(struct collector *collector, enum table_id table)
{
    uint64_t lost = writer_rows_lost(collector->writer, table);
    for (size_t i = 0; lost && i < sizeof owners / sizeof *owners; i++) {
        uint64_t *recorded = (uint64_t *)((char *)collector->result + owners[i].recorded);
        uint64_t taken = owners[i].table != table ? 0 : lost < *recorded ? lost : *recorded;
        count(collector, owners[i].source, taken, taken);
        *recorded -= taken;
        lost -= taken;
    }
    count(collector, schema_tables[table].name, lost, 0);
}

void disk_losses_count(struct collector *collector)
{
    writer_give_up_held(collector->writer);
    for (int table = 0; table < TABLE_COUNT; table++)
        count_table(collector, (enum table_id)table);
}
