/* One function for each kind of CUPTI record, in a table: each writes the row that nsys would write.
 *
 * Where nsys's numbers differ from CUPTI's, nsys's are written: kinds of memory, launches, absent streams. A field
 * that a version of CUPTI lacks is NULL. Records lie in our own copy, and the layouts keep every read inside it. */
#include "cuda_state.h"

/* Faster, for kernels, of which there are many. */
#define PLAIN(type, name) cupti_plain_field(layout, record, CUPTI_##type##_##name)

int64_t cuda_global_tid(const struct cuda_process *cuda, uint32_t tid)
{
    return cuda->setup.global_pid | (int64_t)((tid == cuda->setup.own_pid ? cuda->setup.pid : tid) & 0xffffff);
}

/* The work of a green context is attributed to its parent, with the green context beside it. */
static inline int64_t parent_context(const struct cuda_process *cuda, int64_t id, int64_t *green)
{
    *green = 0;
    if (__builtin_expect(!cuda->target.any_green, 1))
        return id;
    const struct cuda_context *context = cuda_context_find(cuda, (uint32_t)id);
    if (!context || !context->is_green)
        return id;
    *green = id;
    return context->parent;
}

/* The present bits that every row of a table has are one constant, so a row is filled without reading it back. */
#define BIT(table, column) (UINT64_C(1) << table##_##column)
#define ALL(table) ((UINT64_C(1) << table##_COLUMN_COUNT) - 1)

/* Sets a column whose bit is already set; clears the bit if the field is missing. */
#define SET_OR_CLEAR(row, present, table, column, value, there) \
    ((row)->column = (value), (present) &= (there) ? ~UINT64_C(0) : ~BIT(table, column))

/* ---- Kernels --------------------------------------------------------------------------------------------------- */

static uint64_t kernel_shape(struct row_CUPTI_ACTIVITY_KIND_KERNEL *row, const struct cupti_layout *layout,
                             const void *record)
{
    uint64_t present = ALL(CUPTI_ACTIVITY_KIND_KERNEL);
    int64_t type = PLAIN(KERNEL, launchType), node = PLAIN(KERNEL, graphNodeId), graph = PLAIN(KERNEL, graphId),
            cluster = PLAIN(KERNEL, clusterX);
    row->launchType = type <= CUPTI_LAUNCH_COOPERATIVE_MULTI ? type + 1 : 0; /* nsys: 0 is unknown */
    row->cacheConfig = PLAIN(KERNEL, cacheConfig) >> 4;                      /* the configuration that was used */
    row->registersPerThread = PLAIN(KERNEL, registersPerThread);
    row->gridX = PLAIN(KERNEL, gridX);
    row->gridY = PLAIN(KERNEL, gridY);
    row->gridZ = PLAIN(KERNEL, gridZ);
    row->blockX = PLAIN(KERNEL, blockX);
    row->blockY = PLAIN(KERNEL, blockY);
    row->blockZ = PLAIN(KERNEL, blockZ);
    row->staticSharedMemory = PLAIN(KERNEL, staticSharedMemory);
    row->dynamicSharedMemory = PLAIN(KERNEL, dynamicSharedMemory);
    row->localMemoryPerThread = PLAIN(KERNEL, localMemoryPerThread);
    row->localMemoryTotal = PLAIN(KERNEL, localMemoryTotal);
    row->gridId = PLAIN(KERNEL, gridId);
    row->sharedMemoryExecuted = PLAIN(KERNEL, sharedMemoryExecuted);
    row->sharedMemoryLimitConfig = PLAIN(KERNEL, sharedMemoryLimitConfig);
    SET_OR_CLEAR(row, present, CUPTI_ACTIVITY_KIND_KERNEL, graphNodeId, node, node != 0);
    SET_OR_CLEAR(row, present, CUPTI_ACTIVITY_KIND_KERNEL, graphId, graph, graph != 0);
    row->clusterX = cluster;
    row->clusterY = PLAIN(KERNEL, clusterY);
    row->clusterZ = PLAIN(KERNEL, clusterZ);
    if (cluster == 0)
        present &= ~(BIT(CUPTI_ACTIVITY_KIND_KERNEL, clusterX) | BIT(CUPTI_ACTIVITY_KIND_KERNEL, clusterY) |
                     BIT(CUPTI_ACTIVITY_KIND_KERNEL, clusterZ));
    return present;
}

static CUDA_HANDLER(kernel_record)
{
    /* Call this first: it may intern strings. */
    const struct cuda_name *name = cuda_names_find(cuda, (uint64_t)PLAIN(KERNEL, name));
    int64_t start = PLAIN(KERNEL, start), correlation = PLAIN(KERNEL, correlationId);
    if (__builtin_expect(cuda->counted.count != 0, 0) && cuda_counted_again(cuda, (uint32_t)correlation))
        return;
    struct row_CUPTI_ACTIVITY_KIND_KERNEL *row = CUDA_ROW(cuda, CUPTI_ACTIVITY_KIND_KERNEL);
    row->present = kernel_shape(row, layout, record);
    row->start = cuda_time(cuda, start);
    row->end = cuda_time(cuda, PLAIN(KERNEL, end));
    row->deviceId = PLAIN(KERNEL, deviceId);
    row->contextId = parent_context(cuda, PLAIN(KERNEL, contextId), &row->greenContextId);
    row->streamId = PLAIN(KERNEL, streamId);
    row->correlationId = correlation;
    row->globalPid = cuda->setup.global_pid;
    row->demangledName = name->demangled_id;
    row->shortName = name->short_id;
    row->mangledName = name->text_id;
    if (__builtin_expect(cuda->counted.count == 0, 1) || !cuda_counted_kernel(cuda, row, &start))
        CUDA_COMMIT(cuda, CUPTI_ACTIVITY_KIND_KERNEL);
    cuda->counts.kernels++;
    if (FIELD(KERNEL, isDeviceLaunched) != 1) /* launches by the GPU itself are no calls */
        cuda_launches_kernel(&cuda->pairs, (uint32_t)correlation, (uint64_t)start);
}

/* ---- Copies and fills ------------------------------------------------------------------------------------------ */

/* The columns that copies on one GPU and between two have in common: the fields have the same names in both. */
#define SET_COPY(row, type)                                                                                            \
    do {                                                                                                               \
        int64_t copy_node_ = FIELD(type, graphNodeId);                                                                 \
        ROW_SET(row, CUPTI_ACTIVITY_KIND_MEMCPY, start, cuda_time(cuda, FIELD(type, start)));                          \
        ROW_SET(row, CUPTI_ACTIVITY_KIND_MEMCPY, end, cuda_time(cuda, FIELD(type, end)));                              \
        ROW_SET(row, CUPTI_ACTIVITY_KIND_MEMCPY, deviceId, FIELD(type, deviceId));                                     \
        ROW_SET(row, CUPTI_ACTIVITY_KIND_MEMCPY, greenContextId, 0);                                                   \
        ROW_SET(row, CUPTI_ACTIVITY_KIND_MEMCPY, contextId,                                                            \
                parent_context(cuda, FIELD(type, contextId), &(row)->greenContextId));                                 \
        ROW_SET(row, CUPTI_ACTIVITY_KIND_MEMCPY, streamId, FIELD(type, streamId));                                     \
        ROW_SET(row, CUPTI_ACTIVITY_KIND_MEMCPY, correlationId, FIELD(type, correlationId));                           \
        ROW_SET(row, CUPTI_ACTIVITY_KIND_MEMCPY, globalPid, cuda->setup.global_pid);                                   \
        if (copy_node_ != CUPTI_NO_FIELD && copy_node_ != 0)                                                           \
            ROW_SET(row, CUPTI_ACTIVITY_KIND_MEMCPY, graphNodeId, copy_node_);                                         \
        ROW_SET(row, CUPTI_ACTIVITY_KIND_MEMCPY, bytes, FIELD(type, bytes));                                           \
        ROW_SET(row, CUPTI_ACTIVITY_KIND_MEMCPY, copyKind, FIELD(type, copyKind));                                     \
        ROW_SET(row, CUPTI_ACTIVITY_KIND_MEMCPY, srcKind, cuda_memory_kind(FIELD(type, srcKind)));                     \
        ROW_SET(row, CUPTI_ACTIVITY_KIND_MEMCPY, dstKind, cuda_memory_kind(FIELD(type, dstKind)));                     \
    } while (0)

static CUDA_HANDLER(memcpy_record)
{
    struct row_CUPTI_ACTIVITY_KIND_MEMCPY *row = CUDA_ROW(cuda, CUPTI_ACTIVITY_KIND_MEMCPY);
    SET_COPY(row, MEMCPY);
    CUDA_SET_IF(row, CUPTI_ACTIVITY_KIND_MEMCPY, copyCount, FIELD(MEMCPY, copyCount));
    CUDA_COMMIT(cuda, CUPTI_ACTIVITY_KIND_MEMCPY);
}

static CUDA_HANDLER(peer_copy_record)
{
    struct row_CUPTI_ACTIVITY_KIND_MEMCPY *row = CUDA_ROW(cuda, CUPTI_ACTIVITY_KIND_MEMCPY);
    SET_COPY(row, MEMCPY2);
    ROW_SET(row, CUPTI_ACTIVITY_KIND_MEMCPY, srcDeviceId, FIELD(MEMCPY2, srcDeviceId));
    ROW_SET(row, CUPTI_ACTIVITY_KIND_MEMCPY, srcContextId, FIELD(MEMCPY2, srcContextId));
    ROW_SET(row, CUPTI_ACTIVITY_KIND_MEMCPY, dstDeviceId, FIELD(MEMCPY2, dstDeviceId));
    ROW_SET(row, CUPTI_ACTIVITY_KIND_MEMCPY, dstContextId, FIELD(MEMCPY2, dstContextId));
    CUDA_COMMIT(cuda, CUPTI_ACTIVITY_KIND_MEMCPY);
}

static CUDA_HANDLER(memset_record)
{
    int64_t node = FIELD(MEMSET, graphNodeId), green;
    struct row_CUPTI_ACTIVITY_KIND_MEMSET *row = CUDA_ROW(cuda, CUPTI_ACTIVITY_KIND_MEMSET);
    ROW_SET(row, CUPTI_ACTIVITY_KIND_MEMSET, start, cuda_time(cuda, FIELD(MEMSET, start)));
    ROW_SET(row, CUPTI_ACTIVITY_KIND_MEMSET, end, cuda_time(cuda, FIELD(MEMSET, end)));
    ROW_SET(row, CUPTI_ACTIVITY_KIND_MEMSET, deviceId, FIELD(MEMSET, deviceId));
    ROW_SET(row, CUPTI_ACTIVITY_KIND_MEMSET, contextId, parent_context(cuda, FIELD(MEMSET, contextId), &green));
    ROW_SET(row, CUPTI_ACTIVITY_KIND_MEMSET, greenContextId, green);
    ROW_SET(row, CUPTI_ACTIVITY_KIND_MEMSET, streamId, FIELD(MEMSET, streamId));
    ROW_SET(row, CUPTI_ACTIVITY_KIND_MEMSET, correlationId, FIELD(MEMSET, correlationId));
    ROW_SET(row, CUPTI_ACTIVITY_KIND_MEMSET, globalPid, cuda->setup.global_pid);
    ROW_SET(row, CUPTI_ACTIVITY_KIND_MEMSET, value, FIELD(MEMSET, value));
    ROW_SET(row, CUPTI_ACTIVITY_KIND_MEMSET, bytes, FIELD(MEMSET, bytes));
    ROW_SET(row, CUPTI_ACTIVITY_KIND_MEMSET, memKind, cuda_memory_kind(FIELD(MEMSET, memoryKind)));
    if (node != CUPTI_NO_FIELD && node != 0)
        ROW_SET(row, CUPTI_ACTIVITY_KIND_MEMSET, graphNodeId, node);
    CUDA_COMMIT(cuda, CUPTI_ACTIVITY_KIND_MEMSET);
}

/* ---- Graphs ---------------------------------------------------------------------------------------------------- */

static CUDA_HANDLER(graph_record)
{
    int64_t green, start = FIELD(GRAPH_TRACE, start), graph = FIELD(GRAPH_TRACE, graphId);
    struct row_CUPTI_ACTIVITY_KIND_GRAPH_TRACE *row = CUDA_ROW(cuda, CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
    ROW_SET(row, CUPTI_ACTIVITY_KIND_GRAPH_TRACE, start, cuda_time(cuda, start));
    ROW_SET(row, CUPTI_ACTIVITY_KIND_GRAPH_TRACE, end, cuda_time(cuda, FIELD(GRAPH_TRACE, end)));
    ROW_SET(row, CUPTI_ACTIVITY_KIND_GRAPH_TRACE, deviceId, FIELD(GRAPH_TRACE, deviceId));
    ROW_SET(row, CUPTI_ACTIVITY_KIND_GRAPH_TRACE, contextId,
            parent_context(cuda, FIELD(GRAPH_TRACE, contextId), &green));
    ROW_SET(row, CUPTI_ACTIVITY_KIND_GRAPH_TRACE, greenContextId, green);
    ROW_SET(row, CUPTI_ACTIVITY_KIND_GRAPH_TRACE, streamId, FIELD(GRAPH_TRACE, streamId));
    ROW_SET(row, CUPTI_ACTIVITY_KIND_GRAPH_TRACE, correlationId, FIELD(GRAPH_TRACE, correlationId));
    ROW_SET(row, CUPTI_ACTIVITY_KIND_GRAPH_TRACE, globalPid, cuda->setup.global_pid);
    ROW_SET(row, CUPTI_ACTIVITY_KIND_GRAPH_TRACE, graphId, graph);
    /* CUPTI reports only the executable graph. */
    ROW_SET(row, CUPTI_ACTIVITY_KIND_GRAPH_TRACE, graphExecId, graph);
    CUDA_COMMIT(cuda, CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
    cuda_launches_kernel(&cuda->pairs, (uint32_t)FIELD(GRAPH_TRACE, correlationId), (uint64_t)start);
}

/* ---- Calls ----------------------------------------------------------------------------------------------------- */

static void note_call(struct cuda_process *cuda, const struct cuda_call_name *name, const struct cuda_launch *call)
{
    if (name->work == CUDA_LAUNCH)
        cuda_launches_launch(&cuda->pairs, call);
    if (name->capture > 0)
        cuda_launches_capture_begins(&cuda->pairs, call->thread, call->from_ns);
    else if (name->capture < 0)
        cuda_launches_capture_ends(&cuda->pairs, call->thread, call->to_ns);
    if (name->wait > CUDA_WAIT_EVENT_RECORD)
        cuda_waits_call(cuda, call->id, cuda_time(cuda, (int64_t)call->from_ns), cuda_time(cuda, (int64_t)call->to_ns));
}

/* Writes a call that CUPTI or the agent recorded. */
static void cuda_rows_add_call(struct cuda_process *cuda, uint32_t callback_id, const struct cuda_launch *call,
                               int64_t result)
{
    enum cuda_domain domain = call->is_driver ? CUDA_DRIVER : CUDA_RUNTIME;
    const struct cuda_call_name *name = cuda_call_name(cuda, domain, callback_id);
    struct call_chains chains = cuda_chain_of(cuda, domain, call->id);
    uint64_t present = ALL(CUPTI_ACTIVITY_KIND_RUNTIME);
    struct row_CUPTI_ACTIVITY_KIND_RUNTIME *row = CUDA_ROW(cuda, CUPTI_ACTIVITY_KIND_RUNTIME);
    row->start = cuda_time(cuda, (int64_t)call->from_ns);
    row->end = cuda_time(cuda, (int64_t)call->to_ns);
    row->eventClass = domain; /* nsys: 0 is the runtime, 1 the driver */
    row->globalTid = cuda_global_tid(cuda, call->thread);
    row->correlationId = call->id;
    row->nameId = name->name_id;
    row->returnValue = result;
    SET_OR_CLEAR(row, present, CUPTI_ACTIVITY_KIND_RUNTIME, callchainId, chains.native, chains.native != 0);
    SET_OR_CLEAR(row, present, CUPTI_ACTIVITY_KIND_RUNTIME, pythonCallchainId, chains.interpreted,
                 chains.interpreted != 0);
    row->present = present;
    CUDA_COMMIT(cuda, CUPTI_ACTIVITY_KIND_RUNTIME);
    if (result == 0)
        note_call(cuda, name, call);
}

static CUDA_HANDLER(call_record)
{
    struct cuda_launch call = {
        .from_ns = (uint64_t)PLAIN(API, start),
        .to_ns = (uint64_t)PLAIN(API, end),
        .id = (uint32_t)PLAIN(API, correlationId),
        .thread = (uint32_t)PLAIN(API, threadId),
        .is_driver = cupti_kind_of(record) == CUPTI_KIND_DRIVER,
    };
    if (call.thread == cuda->own_thread && call.thread)
        return;
    cuda_rows_add_call(cuda, (uint32_t)PLAIN(API, cbid), &call, PLAIN(API, returnValue));
}

CUDA_TOLD(cuda_call_told)
{
    if (words < WIRE_HEAD_WORDS + 2 || record->b > CUDA_DRIVER)
        return -1;
    uint64_t scale = cuda->setup.ns_per_tick;
    struct cuda_launch call = {
        .from_ns = wire_cuda_time(record->ticks, scale),
        .to_ns = wire_cuda_time(record->ticks + record->body[1], scale),
        .id = (uint32_t)record->body[0],
        .thread = tid,
        .is_driver = record->b == CUDA_DRIVER,
    };
    cuda_rows_add_call(cuda, record->a, &call, (int32_t)(record->body[0] >> 32));
    return 0;
}

/* ---- Overhead of CUPTI and the driver -------------------------------------------------------------------------- */

/* By overheadKind >> 16; the first three are nsys's texts. */
static const char *const overheads[] = {
    "Unknown",
    "CUPTI Buffer flush",
    "CUPTI Instrumentation",
    "CUPTI Resource Management",
    "Module loading",
    "Lazy function loading",
    "Command buffer full",
    "CUPTI Buffer request",
    "Unified memory tracing initialization",
};
#define OVERHEAD_COMPILER 1
#define OBJECT_PROCESS 1
#define OBJECT_THREAD 2

static CUDA_HANDLER(overhead_record)
{
    int64_t kind = FIELD(OVERHEAD, overheadKind), object = FIELD(OVERHEAD, objectKind);
    size_t index = (size_t)(kind >> 16) < COUNT_OF(overheads) ? (size_t)(kind >> 16) : 0;
    const char *name = kind == OVERHEAD_COMPILER ? "Driver compiler" : overheads[index];
    struct row_PROFILER_OVERHEAD row = { 0 };
    ROW_SET(&row, PROFILER_OVERHEAD, start, cuda_time(cuda, FIELD(OVERHEAD, start)));
    ROW_SET(&row, PROFILER_OVERHEAD, end, cuda_time(cuda, FIELD(OVERHEAD, end)));
    if (object == OBJECT_THREAD)
        ROW_SET(&row, PROFILER_OVERHEAD, globalTid, cuda_global_tid(cuda, (uint32_t)FIELD(OVERHEAD, threadId)));
    else if (object == OBJECT_PROCESS)
        ROW_SET(&row, PROFILER_OVERHEAD, globalTid, cuda_global_tid(cuda, cuda->setup.pid));
    ROW_SET(&row, PROFILER_OVERHEAD, nameId, writer_string(cuda->writer, name, strlen(name)));
    ROW_SET(&row, PROFILER_OVERHEAD, returnValue, 0);
    writer_append(cuda->writer, TABLE_PROFILER_OVERHEAD, &row);
}

static int64_t word_id(struct cuda_process *cuda, const char *const *words, size_t count, int64_t number)
{
    const char *word = number > 0 && (size_t)number < count ? words[number] : "unknown";
    return writer_string(cuda->writer, word, strlen(word));
}

static CUDA_HANDLER(jit_record)
{
    static const char *const entries[] = { "unknown", "ptx-to-cubin", "nvvm-ir-to-ptx" };
    static const char *const operations[] = { "unknown", "cache-load", "cache-store", "compile" };
    struct row_TACHO_CUDA_JIT row = { 0 };
    ROW_SET(&row, TACHO_CUDA_JIT, start, cuda_time(cuda, FIELD(JIT, start)));
    ROW_SET(&row, TACHO_CUDA_JIT, end, cuda_time(cuda, FIELD(JIT, end)));
    ROW_SET(&row, TACHO_CUDA_JIT, globalPid, cuda->setup.global_pid);
    if (FIELD(JIT, threadId) > 0)
        ROW_SET(&row, TACHO_CUDA_JIT, globalTid, cuda_global_tid(cuda, (uint32_t)FIELD(JIT, threadId)));
    ROW_SET(&row, TACHO_CUDA_JIT, deviceId, FIELD(JIT, deviceId));
    ROW_SET(&row, TACHO_CUDA_JIT, correlationId, FIELD(JIT, correlationId));
    ROW_SET(&row, TACHO_CUDA_JIT, entry, word_id(cuda, entries, COUNT_OF(entries), FIELD(JIT, entryType)));
    ROW_SET(&row, TACHO_CUDA_JIT, operation, word_id(cuda, operations, COUNT_OF(operations), FIELD(JIT, operation)));
    CUDA_SET_IF(&row, TACHO_CUDA_JIT, cacheSize, FIELD(JIT, cacheSize));
    if (FIELD(JIT, cachePath) != CUPTI_NO_FIELD && FIELD(JIT, cachePath) != 0)
        ROW_SET(&row, TACHO_CUDA_JIT, cachePath, cuda_names_find(cuda, (uint64_t)FIELD(JIT, cachePath))->text_id);
    writer_append(cuda->writer, TABLE_TACHO_CUDA_JIT, &row);
}

/* ---- The table ------------------------------------------------------------------------------------------------- */

#define SPAN(type) 1, CUPTI_##type##_start, CUPTI_##type##_end, 0, 0
#define SPAN_OF_CALL(type) 1, CUPTI_##type##_start, CUPTI_##type##_end, 1, CUPTI_##type##_correlationId
#define NO_SPAN 0, 0, 0, 0, 0

const struct cuda_kind cuda_kinds[CUPTI_KIND_LIMIT] = {
    [CUPTI_KIND_KERNEL] = { kernel_record, SPAN_OF_CALL(KERNEL) },
    [CUPTI_KIND_CONCURRENT_KERNEL] = { kernel_record, SPAN_OF_CALL(KERNEL) },
    [CUPTI_KIND_MEMCPY] = { memcpy_record, SPAN_OF_CALL(MEMCPY) },
    [CUPTI_KIND_MEMCPY2] = { peer_copy_record, SPAN_OF_CALL(MEMCPY2) },
    [CUPTI_KIND_MEMSET] = { memset_record, SPAN_OF_CALL(MEMSET) },
    [CUPTI_KIND_RUNTIME] = { call_record, SPAN_OF_CALL(API) },
    [CUPTI_KIND_DRIVER] = { call_record, SPAN_OF_CALL(API) },
    [CUPTI_KIND_GRAPH_TRACE] = { graph_record, SPAN_OF_CALL(GRAPH_TRACE) },
    [CUPTI_KIND_CUDA_EVENT] = { cuda_event_record, NO_SPAN },
    [CUPTI_KIND_OVERHEAD] = { overhead_record, SPAN(OVERHEAD) },
    [CUPTI_KIND_JIT] = { jit_record, SPAN(JIT) },
    [CUPTI_KIND_UNIFIED_MEMORY_COUNTER] = { cuda_unified_memory_record, NO_SPAN },
    [CUPTI_KIND_MEMORY2] = { cuda_memory_record, NO_SPAN },
    [CUPTI_KIND_MEMORY_POOL] = { cuda_pool_record, NO_SPAN },
    [CUPTI_KIND_CONTEXT] = { cuda_context_record, NO_SPAN },
    [CUPTI_KIND_GREEN_CONTEXT] = { cuda_green_context_record, NO_SPAN },
    [CUPTI_KIND_STREAM] = { cuda_stream_record, NO_SPAN },
};
