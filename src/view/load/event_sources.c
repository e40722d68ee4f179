/* Every table of events, and the row that its events go to. To show another table is to add a line here.
 *
 * Tables of processes, threads, modules, clocks and links between events have no row. derived.c makes the rows whose
 * events have to be computed first (thread states, steps, projections), counter_sources.c those of values over time. */
#include "event_sources.h"

#include <string.h>

#include "analyze/engine/event_columns.h"
#include "analyze/engine/row_cursor.h"
#include "analyze/model/calls.h"
#include "analyze/model/gpu.h"
#include "analyze/model/names/operator_text.h"
#include "analyze/model/nvtx_domains.h"
#include "analyze/model/stacks/stacks.h"
#include "lanes.h"
#include "report/schema/enums.h"

/* ---- names ----------------------------------------------------------------------------------------------------- */

/* "[CUDA memcpy Host-to-Device]", as tables of copies call them. */
static int copy_names(struct view *view, struct view_name_map *map, struct error *err)
{
    struct text label = { 0 };
    int code = 0;

    for (int64_t kind = 0; kind <= UINT8_MAX; kind++) {
        text_clear(&label);
        memcpy_label(&label, kind);
        if (view_name_map_add(map, kind, view_own_name(view, text_string(&label))) != 0) {
            code = error_no_memory(err);
            goto free_label;
        }
    }
free_label:
    text_free(&label);
    return code;
}

static int enum_names(struct view *view, struct view_name_map *map, const char *name, struct error *err)
{
    const struct schema_enum *list = schema_enum_find(name);

    for (size_t i = 0; list && i < list->count; i++)
        if (view_name_map_add(map, list->values[i].id, view_own_name(view, list->values[i].label)) != 0)
            return error_no_memory(err);
    view_name_map_sort(map);
    return 0;
}

static int sync_names(struct view *view, struct view_name_map *map, struct error *err)
{
    return enum_names(view, map, "ENUM_CUPTI_SYNC_TYPE", err);
}

/* The innermost frame of each stack. Reads plain columns: a report may have tens of millions of frames. */
static int stack_names(struct view *view, struct view_name_map *map, const char *table, struct error *err)
{
    enum { ID, SYMBOL, DEPTH, COLUMNS };
    static const char *const columns_of[COLUMNS] = { "id", "symbol", "stackDepth" };
    struct report_columns columns = { 0 };
    int code;

    if ((code = columns_read(view->report, table, columns_of, COLUMNS, &columns, err)) != 0)
        return code;
    for (size_t row = 0; row < columns.rows; row++)
        if (columns.values[DEPTH][row] == 0 &&
            view_name_map_add(map, columns.values[ID][row], view_pool_name(columns.values[SYMBOL][row])) != 0) {
            code = error_no_memory(err);
            goto free_columns;
        }
    view_name_map_sort(map);
free_columns:
    report_columns_free(&columns);
    return code;
}

static int sample_names(struct view *view, struct view_name_map *map, struct error *err)
{
    return stack_names(view, map, "SAMPLING_CALLCHAINS", err);
}

static int python_names(struct view *view, struct view_name_map *map, struct error *err)
{
    return stack_names(view, map, "TACHO_PYTHON_CALLCHAINS", err);
}

/* Types of events that have no table of their own. */
static int generic_names(struct view *view, struct view_name_map *map, struct error *err)
{
    enum { TYPE, NAME };
    static const char *const columns[] = { "typeId", "nameId", NULL };
    struct row_cursor rows;
    int code;

    if ((code = row_cursor_open(&rows, view->report, "GENERIC_EVENT_TYPES", columns, err)) != 0)
        return code;
    while (row_cursor_next(&rows))
        if (view_name_map_add(map, row_int(&rows, TYPE), view_pool_name(row_int(&rows, NAME))) != 0) {
            code = error_no_memory(err);
            goto close_rows;
        }
    view_name_map_sort(map);
close_rows:
    row_cursor_close(&rows);
    return code;
}

/* The first part of a name, as long as length_of() says. */
static uint32_t shorter_name(struct view *view, uint32_t name, size_t (*length_of)(const char *bytes, size_t length))
{
    size_t length;
    const char *bytes = view_name(view, name, &length);
    size_t shown = length_of(bytes, length);

    if (shown == length)
        return name;
    text_clear(&view->scratch);
    text_add_bytes(&view->scratch, bytes, shown);
    return view_own_name(view, text_string(&view->scratch));
}

/* "cudaLaunchKernel_v7000" is shown without its version, as tables do. */
static uint32_t call_name(struct view *view, uint32_t name)
{
    return shorter_name(view, name, call_name_length);
}

uint32_t view_operator_name(struct view *view, uint32_t name)
{
    return shorter_name(view, name, operator_name_length);
}

/* ---- the event of a row of a table ----------------------------------------------------------------------------- */

static int event_sources_is_operator(const struct view *view, int64_t name)
{
    size_t length = 0;
    const char *bytes = name < 0 ? "" : report_string(view->report, name, &length);

    return operator_name_length(bytes, length) < length || text_begins_with(bytes, "aten::");
}

static int take_nvtx(const struct view *view, const struct report_block *block, size_t row, struct view_taken *event)
{
    enum { TEXT_ID = TAKE_EXTRA, EVENT_TYPE };

    if (event->name < 0 && !block_is_null(block, TEXT_ID, row))
        event->name = block->values[TEXT_ID][row];
    if (event_sources_is_operator(
            view, event->name)) { /* by emit_nvtx: in the row of operators, unless PyTorch recorded them, too */
        const struct report_table *recorded = report_table(view->report, "TACHO_TORCH_OP");
        if (recorded && recorded->rows)
            return 0;
        event->key[KEY_TYPE] = ROW_TORCH;
        event->key[KEY_B] = 0;
    }
    int64_t type = block->values[EVENT_TYPE][row];
    if (type == EVENT_NVTX_MARK || type == EVENT_NVTXT_MARK) {
        event->end_ns = event->start_ns;
        event->flags = 0;
        return 1;
    }
    return nvtx_is_range(type);
}

enum { CUDA_NOT_READY = 600 }; /* an answer, not a failure */

static int event_sources_take_call(const struct view *view, const struct report_block *block, size_t row,
                                   struct view_taken *event)
{
    int64_t result = block_is_null(block, TAKE_EXTRA, row) ? 0 : block->values[TAKE_EXTRA][row];

    if (result != 0 && result != CUDA_NOT_READY)
        event->flags |= EVENT_FAILED;
    return 1;
}

static int take_os_call(const struct view *view, const struct report_block *block, size_t row, struct view_taken *event)
{
    enum { ERRNO = TAKE_EXTRA, INCOMPLETE };

    if (!block_is_null(block, ERRNO, row) && block->values[ERRNO][row] != 0)
        event->flags |= EVENT_FAILED;
    if (!block_is_null(block, INCOMPLETE, row) && block->values[INCOMPLETE][row] != 0)
        event->flags |= EVENT_NO_END;
    return 1;
}

static int event_sources_take_sample(const struct view *view, const struct report_block *block, size_t row,
                                     struct view_taken *event)
{
    if (!block_is_null(block, TAKE_EXTRA, row) && block->values[TAKE_EXTRA][row] == THREAD_STATE_WAITING)
        event->flags |= EVENT_WAITING;
    return 1;
}

/* Events of PyTorch's profiler: on a thread, or on a GPU. */
static int take_torch(const struct view *view, const struct report_block *block, size_t row, struct view_taken *event)
{
    enum { DEVICE = TAKE_EXTRA, STREAM };

    if (event->flags & EVENT_NO_END) { /* a moment */
        event->end_ns = event->start_ns;
        event->flags = 0;
    }
    int64_t category = event->key[KEY_B];
    event->key[KEY_B] = 0;
    if (!block_is_null(block, DEVICE, row)) {
        int is_sync = strcmp(report_string(view->report, category, NULL), "cuda_sync") == 0;
        event->key[KEY_TYPE] = is_sync ? ROW_GPU_SYNC : ROW_GPU_TORCH;
        event->key[KEY_A] = block->values[DEVICE][row];
        event->key[KEY_D] = is_sync || block_is_null(block, STREAM, row) ? 0 : block->values[STREAM][row];
        event->key[KEY_C] = 1; /* PyTorch's own row: never that of another table */
    } else if (block_is_null(block, TAKE_KEY, row))
        event->key[KEY_TYPE] = ROW_OTHER;
    return 1;
}

/* On the thread that waited, if that is known. */
static int take_jit(const struct view *view, const struct report_block *block, size_t row, struct view_taken *event)
{
    if (block_is_null(block, TAKE_KEY, row)) {
        event->key[KEY_TYPE] = ROW_PROCESS_OTHER;
        event->key[KEY_A] = block->values[TAKE_EXTRA][row];
    }
    return 1;
}

/* On its thread, or else on the machine. */
static int take_machine(const struct view *view, const struct report_block *block, size_t row, struct view_taken *event)
{
    if (block_is_null(block, TAKE_KEY, row) || !block->values[TAKE_KEY][row])
        event->key[KEY_TYPE] = ROW_OTHER;
    return 1;
}

/* `tacho export --max-size` replaces the events of a span by one, with the name of the longest of them. */
static uint32_t left_out_name(struct view *view, uint32_t name)
{
    size_t length;
    const char *bytes = view_name(view, name, &length);

    text_clear(&view->scratch);
    text_add(&view->scratch, "left out");
    if (length) { /* in brackets, which the page leaves out where there is no room */
        text_add(&view->scratch, " (");
        text_add_bytes(&view->scratch, bytes, length);
        text_add(&view->scratch, ", …)");
    }
    return view_own_name(view, text_string(&view->scratch));
}

#define TAKE_LEFT_OUT(of)                                                                                              \
    static int take_left_out_##of(const struct view *view, const struct report_block *block, size_t row,               \
                                  struct view_taken *event)                                                            \
    {                                                                                                                  \
        return strcmp(report_string(view->report, block->values[TAKE_EXTRA][row], NULL), #of) == 0;                    \
    }
TAKE_LEFT_OUT(CUPTI_ACTIVITY_KIND_KERNEL)
TAKE_LEFT_OUT(CUPTI_ACTIVITY_KIND_RUNTIME)
TAKE_LEFT_OUT(OSRT_API)
TAKE_LEFT_OUT(NVTX_EVENTS)
TAKE_LEFT_OUT(TACHO_TORCH_OP)
TAKE_LEFT_OUT(TACHO_TORCH_PYTHON)

/* ---- the tables ------------------------------------------------------------------------------------------------ */

#define SPAN .start = "start", .end = "end"
#define LEFT_OUT(of)                                                                                         \
    .table = "TACHO_OVERVIEW", SPAN, .name = "nameId", .extra = { "tableName" }, .take = take_left_out_##of, \
        .rename = left_out_name
#define GPU_KEY { "deviceId", "globalPid", "contextId", "streamId" }

/* clang-format off */
static const struct view_source gpu_work[] = {
    { .table = "CUPTI_ACTIVITY_KIND_KERNEL", SPAN, .name = "demangledName", .fixed = "[kernel]", .type = ROW_STREAM,
      .work_of = work_of_kernel, .key = GPU_KEY },
    { .table = "CUPTI_ACTIVITY_KIND_MEMCPY", SPAN, .name = "copyKind", .fixed = "[CUDA memcpy]", .type = ROW_STREAM,
      .work_of = work_of_copy, .key = GPU_KEY, .names = copy_names },
    { .table = "CUPTI_ACTIVITY_KIND_MEMSET", SPAN, .fixed = MEMSET_LABEL, .type = ROW_STREAM,
      .work = WORK_FILL, .key = GPU_KEY },
    { .table = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", SPAN, .fixed = "[CUDA graph]", .type = ROW_STREAM,
      .work = WORK_KERNEL, .key = GPU_KEY },
    { LEFT_OUT(CUPTI_ACTIVITY_KIND_KERNEL), .type = ROW_STREAM, .work = WORK_KERNEL, .key = GPU_KEY },
};

static const struct view_source gpu_waits[] = {
    { .table = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", SPAN, .name = "syncType", .fixed = "Synchronization",
      .type = ROW_GPU_SYNC, .work = WORK_WAIT, .key = { "deviceId", "globalPid" }, .names = sync_names },
};
static const struct view_source gpu_faults[] = {
    { .table = "CUDA_UM_GPU_PAGE_FAULT_EVENTS", SPAN, .fixed = "Page faults", .type = ROW_GPU_FAULTS,
      .key = { "deviceId", "globalPid" } },
};
static const struct view_source event_sources_calls[] = {
    { .table = "CUPTI_ACTIVITY_KIND_RUNTIME", SPAN, .name = "nameId", .type = ROW_CUDA_API, .key = { "globalTid" },
      .work_of = work_of_cuda_call, .extra = { "returnValue" }, .take = event_sources_take_call, .rename = call_name },
    { LEFT_OUT(CUPTI_ACTIVITY_KIND_RUNTIME), .type = ROW_CUDA_API, .work = WORK_CALL, .key = { "globalTid" } },
};
static const struct view_source os_calls[] = {
    { .table = "OSRT_API", SPAN, .name = "nameId", .type = ROW_OSRT, .key = { "globalTid" },
      .work_of = work_of_os_call, .extra = { "errnoValue", "incomplete" }, .take = take_os_call },
    { LEFT_OUT(OSRT_API), .type = ROW_OSRT, .work = WORK_CALL, .key = { "globalTid" } },
};
static const struct view_source nvtx[] = {
    { .table = "NVTX_EVENTS", SPAN, .name = "text", .fixed = "[no message]", .type = ROW_NVTX,
      .key = { "globalTid", "domainId" }, .extra = { "textId", "eventType" }, .take = take_nvtx,
      .rename = view_operator_name, .work_of = work_of_range },
    { LEFT_OUT(NVTX_EVENTS), .type = ROW_NVTX, .work = WORK_RANGE, .key = { "globalTid", "domainId" } },
};
static const struct view_source torch[] = {
    { .table = "TACHO_TORCH_OP", SPAN, .name = "nameId", .type = ROW_TORCH, .key = { "globalTid", "category" },
      .extra = { "deviceId", "streamId" }, .take = take_torch, .work_of = work_of_range },
    { LEFT_OUT(TACHO_TORCH_OP), .type = ROW_TORCH, .work = WORK_RANGE, .key = { "globalTid" } },
};
static const struct view_source python[] = {
    { .table = "TACHO_TORCH_PYTHON", SPAN, .name = "nameId", .type = ROW_PYTHON, .work = WORK_RANGE,
      .key = { "globalTid" } },
    { .table = "TACHO_PYTHON_EVENT", SPAN, .name = "nameId", .type = ROW_PYTHON, .work = WORK_RANGE,
      .key = { "globalTid" } },
    { LEFT_OUT(TACHO_TORCH_PYTHON), .type = ROW_PYTHON, .work = WORK_RANGE, .key = { "globalTid" } },
};
static const struct view_source samples[] = {
    { .table = "COMPOSITE_EVENTS", .start = "start", .name = "id", .fixed = "[no stack]", .type = ROW_SAMPLES,
      .work = WORK_RUNNING, .key = { "globalTid" }, .extra = { "threadState" }, .take = event_sources_take_sample,
      .names = sample_names },
};
static const struct view_source python_samples[] = {
    { .table = "TACHO_PYTHON_SAMPLE", .start = "start", .name = "callchainId", .fixed = "[no stack]",
      .type = ROW_PYTHON_SAMPLES, .work = WORK_RUNNING, .key = { "globalTid" }, .extra = { "threadState" },
      .take = event_sources_take_sample, .names = python_names },
};
/* clang-format on */

#define LIBRARY_CALLS(of, library) \
    { .table = of, SPAN, .name = "nameId", .type = ROW_LIBRARY, .work = WORK_CALL, .key = { "globalTid" }, \
      .label = library }
static const struct view_source libraries[] = { LIBRARY_CALLS("CUBLAS_EVENTS", "cuBLAS"),
                                                LIBRARY_CALLS("CUDNN_EVENTS", "cuDNN") };

/* Calls on threads. Tables of the same label share one row on each thread. */
#define WORK_ON_THREAD(of, column, what, kind)                                                            \
    { .table = of, SPAN, .name = column, .fixed = what, .type = ROW_THREAD_OTHER, .key = { "globalTid" }, \
      .label = what, .work = kind }
#define ON_THREAD(of, column, what) WORK_ON_THREAD(of, column, what, WORK_CALL)
#define MESSAGES(of, column, what) WORK_ON_THREAD(of, column, what, WORK_COMMUNICATION)
/* clang-format off */
static const struct view_source thread_others[] = {
    { .table = "SYSCALL", SPAN, .name = "nameId", .fixed = "System calls", .type = ROW_THREAD_OTHER,
      .key = { "globalTid" }, .label = "System calls", .work_of = work_of_os_call },
    WORK_ON_THREAD("PROFILER_OVERHEAD", "nameId", "Profiler overhead", WORK_OTHER),
    ON_THREAD("CUDA_GRAPH_NODE_EVENTS", "nameId", "CUDA graphs"),
    ON_THREAD("CUDA_GRAPH_EVENTS", "nameId", "CUDA graphs"),
    ON_THREAD("CUPTI_ACTIVITY_KIND_OPENACC_DATA", "nameId", "OpenACC"),
    ON_THREAD("CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH", "nameId", "OpenACC"),
    ON_THREAD("CUPTI_ACTIVITY_KIND_OPENACC_OTHER", "nameId", "OpenACC"),
    MESSAGES("MPI_P2P_EVENTS", "textId", "MPI"), MESSAGES("MPI_COLLECTIVES_EVENTS", "textId", "MPI"),
    MESSAGES("MPI_START_WAIT_EVENTS", "textId", "MPI"), MESSAGES("MPI_OTHER_EVENTS", "textId", "MPI"),
    MESSAGES("UCP_SUBMIT_EVENTS", "textId", "UCX"), MESSAGES("UCP_PROGRESS_EVENTS", "textId", "UCX"),
    MESSAGES("UCP_EVENTS", "textId", "UCX"), MESSAGES("TACHO_OSHMEM", "nameId", "OpenSHMEM"),
    MESSAGES("TACHO_NCCL_OP", "kind", "NCCL"), MESSAGES("TACHO_NCCL_PROXY", "kind", "NCCL proxy"),
    { .table = "TACHO_CUDA_JIT", SPAN, .name = "operation", .fixed = "CUDA JIT", .type = ROW_THREAD_OTHER,
      .key = { "globalTid" }, .label = "CUDA JIT", .work = WORK_CALL, .extra = { "globalPid" }, .take = take_jit },
    { .table = "TACHO_SYNC", .start = "timestamp", .name = "action", .type = ROW_THREAD_OTHER, .key = { "globalTid" },
      .label = "Synchronization objects", .work = WORK_CALL },
};
#define WORK_OPENMP(of, kind) WORK_ON_THREAD("OPENMP_EVENT_KIND_" of, "nameId", "OpenMP", kind)
#define OPENMP(of) WORK_OPENMP(of, WORK_RANGE)
static const struct view_source openmp[] = {
    OPENMP("THREAD"), OPENMP("PARALLEL"), WORK_OPENMP("SYNC_REGION_WAIT", WORK_WAIT), OPENMP("SYNC_REGION"),
    OPENMP("TASK"), OPENMP("MASTER"), OPENMP("REDUCTION"), OPENMP("TASK_CREATE"), OPENMP("TASK_SCHEDULE"),
    OPENMP("CANCEL"), WORK_OPENMP("MUTEX_WAIT", WORK_WAIT), OPENMP("CRITICAL_SECTION"),
    OPENMP("MUTEX_RELEASED"), OPENMP("LOCK_INIT"),
    OPENMP("LOCK_DESTROY"), OPENMP("WORKSHARE"), OPENMP("DISPATCH"), OPENMP("FLUSH"),
};
static const struct view_source graphics[] = {
    ON_THREAD("OPENGL_API", "nameId", "OpenGL"), ON_THREAD("VULKAN_API", "nameId", "Vulkan"),
    ON_THREAD("DX12_API", "nameId", "Direct3D 12"), ON_THREAD("KHR_DEBUG_EVENTS", "textId", "OpenGL marks"),
    ON_THREAD("VULKAN_DEBUG_API", "textId", "Vulkan marks"), ON_THREAD("D3D11_PIX_DEBUG_API", "textId", "PIX marks"),
    ON_THREAD("D3D12_PIX_DEBUG_API", "textId", "PIX marks"), ON_THREAD("NVVIDEO_ENCODER_API", "nameId", "Video"),
    ON_THREAD("NVVIDEO_DECODER_API", "nameId", "Video"), ON_THREAD("NVVIDEO_JPEG_API", "nameId", "Video"),
    ON_THREAD("TRACE_PROCESS_EVENT_NVMEDIA", "nameId", "NvMedia"),
    ON_THREAD("TEGRA_INTERNAL_API_CALLS", "nameId", "Tegra"),
};

#define WORK_ON_GPU(of, column, what, kind)                                                                        \
    { .table = of, SPAN, .name = column, .fixed = what, .type = ROW_GPU_OTHER, .key = { "gpu" }, .label = what, \
      .work = kind }
#define ON_GPU(of, column, what) WORK_ON_GPU(of, column, what, WORK_OTHER)
static const struct view_source gpu_others[] = {
    WORK_ON_GPU("OPENGL_WORKLOAD", "nameId", "OpenGL", WORK_KERNEL),
    WORK_ON_GPU("DX12_WORKLOAD", "nameId", "Direct3D 12", WORK_KERNEL),
    WORK_ON_GPU("VULKAN_WORKLOAD", "nameId", "Vulkan", WORK_KERNEL),
    ON_GPU("SLI_QUERIES", NULL, "SLI queries"), ON_GPU("SLI_P2P", "transferFuncName", "SLI transfers"),
    ON_GPU("SLI_STATS", NULL, "SLI statistics"),
    { .table = "GPU_CONTEXT_SWITCH_EVENTS", .start = "timestamp", .fixed = "Context switch", .type = ROW_GPU_OTHER,
      .key = { "gpuId" }, .label = "Context switches" },
    { .table = "CUDA_GPU_MEMORY_POOL_EVENTS", .start = "start", .fixed = "Memory pool", .type = ROW_GPU_OTHER,
      .key = { "deviceId", "globalPid" }, .label = "Memory pools" },
    { .table = "CUPTI_ACTIVITY_KIND_BLOCK_TRACE", SPAN, .fixed = "Block", .type = ROW_GPU_OTHER,
      .key = { "deviceId", "globalPid", "SMId" }, .label = "Blocks", .work = WORK_KERNEL },
    { .table = "CUPTI_ACTIVITY_KIND_BLOCK_PHASE_TRACE", SPAN, .fixed = "Block", .type = ROW_GPU_OTHER,
      .key = { "deviceId", "globalPid", "SMId" }, .label = "Blocks", .work = WORK_KERNEL },
    { .table = "CUPTI_ACTIVITY_KIND_WARP_TRACE", SPAN, .fixed = "Warp", .type = ROW_GPU_OTHER,
      .key = { "deviceId", "globalPid", "SMId" }, .label = "Warps", .work = WORK_KERNEL },
    { .table = "CUPTI_ACTIVITY_KIND_WARP_PHASE_TRACE", SPAN, .fixed = "Warp", .type = ROW_GPU_OTHER,
      .key = { "deviceId", "globalPid", "SMId" }, .label = "Warps", .work = WORK_KERNEL },
};
static const struct view_source windows[] = {
    ON_GPU("WDDM_EVICT_ALLOCATION_EVENTS", NULL, "WDDM evictions"),
    ON_GPU("WDDM_PAGING_QUEUE_PACKET_START_EVENTS", NULL, "WDDM paging packets"),
    ON_GPU("WDDM_PAGING_QUEUE_PACKET_STOP_EVENTS", NULL, "WDDM paging packet ends"),
    ON_GPU("WDDM_PAGING_QUEUE_PACKET_INFO_EVENTS", NULL, "WDDM paging packet details"),
    ON_GPU("WDDM_QUEUE_PACKET_START_EVENTS", NULL, "WDDM queue packets"),
    ON_GPU("WDDM_QUEUE_PACKET_STOP_EVENTS", NULL, "WDDM queue packet ends"),
    ON_GPU("WDDM_QUEUE_PACKET_INFO_EVENTS", NULL, "WDDM queue packet details"),
    ON_GPU("WDDM_DMA_PACKET_START_EVENTS", NULL, "WDDM DMA packets"),
    ON_GPU("WDDM_DMA_PACKET_STOP_EVENTS", NULL, "WDDM DMA packet ends"),
    ON_GPU("WDDM_DMA_PACKET_INFO_EVENTS", NULL, "WDDM DMA packet details"),
    ON_GPU("WDDM_HW_QUEUE_EVENTS", NULL, "WDDM hardware queues"),
    ON_GPU("NV_LOAD_BALANCE_MASTER_EVENTS", "task", "Load balance"),
    ON_GPU("NV_LOAD_BALANCE_EVENTS", "task", "Load balance"),
    { .table = "MEMORY_TRANSFER_EVENTS", .start = "start", .fixed = "Memory transfer", .type = ROW_GPU_OTHER,
      .key = { "gpu" }, .label = "Memory transfers", .work = WORK_COPY },
};
static const struct view_source process_others[] = {
    { .table = "CUDA_UM_CPU_PAGE_FAULT_EVENTS", .start = "start", .name = "CpuInstruction", .fixed = "Page fault",
      .type = ROW_PROCESS_OTHER, .key = { "globalPid" }, .label = "Page faults of unified memory" },
    { .table = "GPU_VIDEO_ENGINE_WORKLOAD", SPAN, .fixed = "Video engine", .type = ROW_PROCESS_OTHER,
      .key = { "globalPid" }, .label = "Video engines", .work = WORK_KERNEL },
};
static const struct view_source machine[] = {
    { .table = "GENERIC_EVENTS", .start = "timestamp", .name = "typeId", .type = ROW_THREAD_OTHER,
      .key = { "globalTid" }, .label = "Events", .take = take_machine, .names = generic_names },
    { .table = "ETW_EVENTS", .start = "timestamp", .name = "typeId", .type = ROW_THREAD_OTHER, .key = { "globalTid" },
      .label = "Windows events", .take = take_machine, .names = generic_names },
    { .table = "GPU_VIDEO_ENGINE_MISSING", SPAN, .fixed = "Not known", .type = ROW_OTHER,
      .label = "Video engines, lost" },
    { .table = "NET_IB_SWITCH_CONGESTION_EVENT", .start = "start", .fixed = "Congestion", .type = ROW_OTHER,
      .key = { "globalId" }, .label = "Switch congestion" },
    { .table = "MPI_COMMUNICATORS", .start = "timestamp", .fixed = "Communicator", .type = ROW_OTHER,
      .label = "MPI communicators" },
    { .table = "DIAGNOSTIC_EVENT", .start = "timestamp", .name = "text", .type = ROW_OTHER, .label = "Diagnostics" },
    { .table = "TACHO_COST_LIMIT", .start = "timestamp", .name = "text", .type = ROW_OTHER, .label = "Cost limit" },
    { .table = "TACHO_RANGE", SPAN, .name = "cause", .type = ROW_OTHER, .label = "Recording" },
};
/* clang-format on */

#define FAMILY(list) { list, COUNT_OF(list) }
/* NVTX comes last: a range without an end reaches to the end of all other events. */
const struct view_family view_families[] = {
    FAMILY(gpu_work),       FAMILY(gpu_waits), FAMILY(gpu_faults), FAMILY(event_sources_calls), FAMILY(os_calls),
    FAMILY(torch),          FAMILY(python),    FAMILY(samples),    FAMILY(python_samples),      FAMILY(libraries),
    FAMILY(thread_others),  FAMILY(openmp),    FAMILY(graphics),   FAMILY(gpu_others),          FAMILY(windows),
    FAMILY(process_others), FAMILY(machine),   FAMILY(nvtx),
};
const size_t view_family_count = COUNT_OF(view_families);
_Static_assert(COUNT_OF(openmp) <= EVENT_SOURCES && COUNT_OF(thread_others) <= EVENT_SOURCES,
               "a tag has five bits for the source");

const char *view_event_table(const struct view_row *row, uint32_t event)
{
    return row->family->sources[event_source(&row->events, event)].table;
}

/* The NVTX ranges of a library on a thread: how many there are. */
static uint64_t count_ranges(struct view *view, const struct nvtx_domains *domains, int64_t thread, const char *library)
{
    uint64_t count = 0;

    for (size_t i = 0; i < view->leaf_count; i++) {
        const int64_t *key = keys_get(&view->row_keys, view->leaves[i].key);
        if (key[KEY_TYPE] != ROW_NVTX || key[KEY_A] != thread)
            continue;
        int64_t name = nvtx_domain_name(domains, global_process(thread), key[KEY_B]);
        if (name != NVTX_NO_NAME && strcmp(report_string(view->report, name, NULL), library) == 0)
            count += view->leaves[i].events.count;
    }
    return count;
}

int view_drop_doubles(struct view *view, struct error *err)
{
    struct nvtx_domains domains = { 0 };
    size_t kept = 0;
    int code;

    if ((code = nvtx_domains_read(&domains, view->report, err)) != 0)
        goto free_domains;
    for (size_t i = 0; i < view->leaf_count; i++) {
        struct view_leaf *leaf = &view->leaves[i];
        const int64_t *key = keys_get(&view->row_keys, leaf->key);
        if (key[KEY_TYPE] == ROW_LIBRARY &&
            count_ranges(view, &domains, key[KEY_A], view_name(view, (uint32_t)key[KEY_E], NULL)) >=
                leaf->events.count) {
            events_free(&leaf->events);
            continue;
        }
        view->leaves[kept++] = *leaf;
    }
    view->leaf_count = kept;
free_domains:
    nvtx_domains_free(&domains);
    return code;
}
