/* Memory: allocations and pools, and the migrations and faults of unified memory. cuda_rows.c shows how rows are
 * made. */
#include "cuda_state.h"

enum { POOL_LOCAL = 1, POOL_IMPORTED = 2 };
enum { UVM_HTOD = 11, UVM_DTOH, UVM_DTOD }; /* ENUM_CUDA_MEMCPY_OPER */

/* ---- Allocations ----------------------------------------------------------------------------------------------- */

static void set_pool(struct row_CUDA_GPU_MEMORY_USAGE_EVENTS *row, const struct cupti_layout *layout,
                     const void *record)
{
    int64_t type = FIELD(MEMORY2, poolType);
    if (type == POOL_LOCAL) {
        ROW_SET(row, CUDA_GPU_MEMORY_USAGE_EVENTS, localMemoryPoolAddress, FIELD(MEMORY2, poolAddress));
        ROW_SET(row, CUDA_GPU_MEMORY_USAGE_EVENTS, localMemoryPoolReleaseThreshold,
                FIELD(MEMORY2, poolReleaseThreshold));
        ROW_SET(row, CUDA_GPU_MEMORY_USAGE_EVENTS, localMemoryPoolSize, FIELD(MEMORY2, poolSize));
        CUDA_SET_IF(row, CUDA_GPU_MEMORY_USAGE_EVENTS, localMemoryPoolUtilizedSize, FIELD(MEMORY2, poolUtilizedSize));
    } else if (type == POOL_IMPORTED) { /* the field of the size has the process that owns the pool */
        ROW_SET(row, CUDA_GPU_MEMORY_USAGE_EVENTS, importedMemoryPoolAddress, FIELD(MEMORY2, poolAddress));
        ROW_SET(row, CUDA_GPU_MEMORY_USAGE_EVENTS, importedMemoryPoolProcessId, FIELD(MEMORY2, poolSize));
    }
}

CUDA_HANDLER(cuda_memory_record)
{
    uint64_t name = (uint64_t)FIELD(MEMORY2, name);
    int64_t name_id = name ? cuda_names_find(cuda, name)->text_id : 0;
    struct row_CUDA_GPU_MEMORY_USAGE_EVENTS row = { 0 };
    ROW_SET(&row, CUDA_GPU_MEMORY_USAGE_EVENTS, start, cuda_time(cuda, FIELD(MEMORY2, timestamp)));
    ROW_SET(&row, CUDA_GPU_MEMORY_USAGE_EVENTS, globalPid, cuda->setup.global_pid);
    ROW_SET(&row, CUDA_GPU_MEMORY_USAGE_EVENTS, deviceId, FIELD(MEMORY2, deviceId));
    ROW_SET(&row, CUDA_GPU_MEMORY_USAGE_EVENTS, contextId, FIELD(MEMORY2, contextId));
    ROW_SET(&row, CUDA_GPU_MEMORY_USAGE_EVENTS, address, FIELD(MEMORY2, address));
    ROW_SET(&row, CUDA_GPU_MEMORY_USAGE_EVENTS, pc, FIELD(MEMORY2, pc));
    ROW_SET(&row, CUDA_GPU_MEMORY_USAGE_EVENTS, bytes, FIELD(MEMORY2, bytes));
    ROW_SET(&row, CUDA_GPU_MEMORY_USAGE_EVENTS, memKind, cuda_memory_kind(FIELD(MEMORY2, memoryKind)));
    /* nsys: 0 allocates, 1 frees. */
    ROW_SET(&row, CUDA_GPU_MEMORY_USAGE_EVENTS, memoryOperationType, FIELD(MEMORY2, operation) - 1);
    if (name_id)
        ROW_SET(&row, CUDA_GPU_MEMORY_USAGE_EVENTS, name, name_id);
    ROW_SET(&row, CUDA_GPU_MEMORY_USAGE_EVENTS, correlationId, FIELD(MEMORY2, correlationId));
    if (FIELD(MEMORY2, isAsync) == 1)
        ROW_SET(&row, CUDA_GPU_MEMORY_USAGE_EVENTS, streamId, FIELD(MEMORY2, streamId));
    set_pool(&row, layout, record);
    writer_append(cuda->writer, TABLE_CUDA_GPU_MEMORY_USAGE_EVENTS, &row);
}

CUDA_HANDLER(cuda_pool_record)
{
    struct row_CUDA_GPU_MEMORY_POOL_EVENTS row = { 0 };
    ROW_SET(&row, CUDA_GPU_MEMORY_POOL_EVENTS, start, cuda_time(cuda, FIELD(MEMORY_POOL, timestamp)));
    ROW_SET(&row, CUDA_GPU_MEMORY_POOL_EVENTS, globalPid, cuda->setup.global_pid);
    ROW_SET(&row, CUDA_GPU_MEMORY_POOL_EVENTS, deviceId, FIELD(MEMORY_POOL, deviceId));
    ROW_SET(&row, CUDA_GPU_MEMORY_POOL_EVENTS, address, FIELD(MEMORY_POOL, address));
    ROW_SET(&row, CUDA_GPU_MEMORY_POOL_EVENTS, operationType, FIELD(MEMORY_POOL, operation));
    ROW_SET(&row, CUDA_GPU_MEMORY_POOL_EVENTS, poolType, FIELD(MEMORY_POOL, poolType));
    ROW_SET(&row, CUDA_GPU_MEMORY_POOL_EVENTS, correlationId, FIELD(MEMORY_POOL, correlationId));
    ROW_SET(&row, CUDA_GPU_MEMORY_POOL_EVENTS, minBytesToKeep, FIELD(MEMORY_POOL, minBytesToKeep));
    if (FIELD(MEMORY_POOL, poolType) == POOL_LOCAL) {
        ROW_SET(&row, CUDA_GPU_MEMORY_POOL_EVENTS, localMemoryPoolReleaseThreshold,
                FIELD(MEMORY_POOL, releaseThreshold));
        ROW_SET(&row, CUDA_GPU_MEMORY_POOL_EVENTS, localMemoryPoolSize, FIELD(MEMORY_POOL, size));
        CUDA_SET_IF(&row, CUDA_GPU_MEMORY_POOL_EVENTS, localMemoryPoolUtilizedSize, FIELD(MEMORY_POOL, utilizedSize));
    }
    writer_append(cuda->writer, TABLE_CUDA_GPU_MEMORY_POOL_EVENTS, &row);
}

/* ---- Unified memory -------------------------------------------------------------------------------------------- */

/* In nsys's tables migrations are copies: with unknown kinds of memory, without a context and a stream. */
static CUDA_HANDLER(migration)
{
    static const uint8_t copy_kinds[] = {
        [CUPTI_UNIFIED_MEMORY_HTOD] = UVM_HTOD,
        [CUPTI_UNIFIED_MEMORY_DTOH] = UVM_DTOH,
        [CUPTI_UNIFIED_MEMORY_DTOD] = UVM_DTOD,
    };
    int64_t copy_kind = copy_kinds[FIELD(UNIFIED_MEMORY_COUNTER, counterKind)];
    int64_t from = FIELD(UNIFIED_MEMORY_COUNTER, srcId), to = FIELD(UNIFIED_MEMORY_COUNTER, dstId);
    struct row_CUPTI_ACTIVITY_KIND_MEMCPY row = { 0 };
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, start, cuda_time(cuda, FIELD(UNIFIED_MEMORY_COUNTER, start)));
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, end, cuda_time(cuda, FIELD(UNIFIED_MEMORY_COUNTER, end)));
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, deviceId, copy_kind == UVM_DTOH ? from : to);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, contextId, 0);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, streamId, 0);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, correlationId, 0);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, globalPid, cuda->setup.global_pid);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, bytes, FIELD(UNIFIED_MEMORY_COUNTER, value));
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, copyKind, copy_kind);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, srcKind, cuda_memory_kind(0));
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, dstKind, cuda_memory_kind(0));
    if (copy_kind == UVM_DTOD) {
        ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, srcDeviceId, from);
        ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, dstDeviceId, to);
    }
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, migrationCause, FIELD(UNIFIED_MEMORY_COUNTER, flags));
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, virtualAddress, FIELD(UNIFIED_MEMORY_COUNTER, address));
    writer_append(cuda->writer, TABLE_CUPTI_ACTIVITY_KIND_MEMCPY, &row);
}

static CUDA_HANDLER(cpu_fault)
{
    int64_t pc = FIELD(UNIFIED_MEMORY_COUNTER, value); /* the address of the instruction */
    const struct cuda_frame *frame = cuda_frame_of(cuda, (uint64_t)pc);
    struct row_CUDA_UM_CPU_PAGE_FAULT_EVENTS row = { 0 };
    ROW_SET(&row, CUDA_UM_CPU_PAGE_FAULT_EVENTS, start, cuda_time(cuda, FIELD(UNIFIED_MEMORY_COUNTER, start)));
    ROW_SET(&row, CUDA_UM_CPU_PAGE_FAULT_EVENTS, globalPid, cuda->setup.global_pid);
    ROW_SET(&row, CUDA_UM_CPU_PAGE_FAULT_EVENTS, address, FIELD(UNIFIED_MEMORY_COUNTER, address));
    ROW_SET(&row, CUDA_UM_CPU_PAGE_FAULT_EVENTS, originalFaultPc, pc);
    ROW_SET(&row, CUDA_UM_CPU_PAGE_FAULT_EVENTS, CpuInstruction, frame->symbol_id);
    ROW_SET(&row, CUDA_UM_CPU_PAGE_FAULT_EVENTS, module, frame->module_id);
    ROW_SET(&row, CUDA_UM_CPU_PAGE_FAULT_EVENTS, unresolvedFaultPc, 1);
    writer_append(cuda->writer, TABLE_CUDA_UM_CPU_PAGE_FAULT_EVENTS, &row);
}

static CUDA_HANDLER(gpu_fault)
{
    struct row_CUDA_UM_GPU_PAGE_FAULT_EVENTS row = { 0 };
    ROW_SET(&row, CUDA_UM_GPU_PAGE_FAULT_EVENTS, start, cuda_time(cuda, FIELD(UNIFIED_MEMORY_COUNTER, start)));
    ROW_SET(&row, CUDA_UM_GPU_PAGE_FAULT_EVENTS, end, cuda_time(cuda, FIELD(UNIFIED_MEMORY_COUNTER, end)));
    ROW_SET(&row, CUDA_UM_GPU_PAGE_FAULT_EVENTS, globalPid, cuda->setup.global_pid);
    ROW_SET(&row, CUDA_UM_GPU_PAGE_FAULT_EVENTS, deviceId, FIELD(UNIFIED_MEMORY_COUNTER, srcId));
    ROW_SET(&row, CUDA_UM_GPU_PAGE_FAULT_EVENTS, address, FIELD(UNIFIED_MEMORY_COUNTER, address));
    ROW_SET(&row, CUDA_UM_GPU_PAGE_FAULT_EVENTS, numberOfPageFaults, FIELD(UNIFIED_MEMORY_COUNTER, value));
    ROW_SET(&row, CUDA_UM_GPU_PAGE_FAULT_EVENTS, faultAccessType, FIELD(UNIFIED_MEMORY_COUNTER, flags));
    writer_append(cuda->writer, TABLE_CUDA_UM_GPU_PAGE_FAULT_EVENTS, &row);
}

/* One function for each counter; counters that are not requested have none. */
static const cuda_handler counters[] = {
    [CUPTI_UNIFIED_MEMORY_HTOD] = migration,      [CUPTI_UNIFIED_MEMORY_DTOH] = migration,
    [CUPTI_UNIFIED_MEMORY_DTOD] = migration,      [CUPTI_UNIFIED_MEMORY_CPU_FAULT] = cpu_fault,
    [CUPTI_UNIFIED_MEMORY_GPU_FAULT] = gpu_fault,
};

CUDA_HANDLER(cuda_unified_memory_record)
{
    uint64_t kind = (uint64_t)FIELD(UNIFIED_MEMORY_COUNTER, counterKind);
    if (kind < COUNT_OF(counters) && counters[kind])
        counters[kind](cuda, layout, record);
}
