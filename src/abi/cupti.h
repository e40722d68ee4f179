/* The parts of CUPTI's and the CUDA driver's ABI that Tacho uses, declared here so that it never needs a vendor header.
 *
 * The names are Tacho's (CUPTI_KIND_MEMCPY, not CUPTI_ACTIVITY_KIND_MEMCPY), so that tests/house/cupti_abi.py can
 * include the vendor's headers beside this one and compare every number, size and offset. Only the agent may call these
 * functions: it looks them up at run time. The layout of records changes from version to version, so it is data:
 * cupti_layout.h. */
#ifndef TACHO_ABI_CUPTI_H
#define TACHO_ABI_CUPTI_H

#include <stddef.h>
#include <stdint.h>

/* ---- Results --------------------------------------------------------------------------------------------------- */

/* The sentence is for the user, in the report; "" for results that could only come from a bug of the agent. */
#define CUPTI_RESULTS(X)                                                                                               \
    X(SUCCESS, 0, "")                                                                                                  \
    X(ERROR_INVALID_PARAMETER, 1, "")                                                                                  \
    X(ERROR_INVALID_DEVICE, 2, "")                                                                                     \
    X(ERROR_INVALID_CONTEXT, 3, "")                                                                                    \
    X(ERROR_INVALID_OPERATION, 7, "")                                                                                  \
    X(ERROR_OUT_OF_MEMORY, 8, "CUPTI ran out of memory on the host or on the GPU.")                                    \
    X(ERROR_HARDWARE, 9, "The GPU reported a fault of its hardware.")                                                  \
    X(ERROR_PARAMETER_SIZE_NOT_SUFFICIENT, 10, "")                                                                     \
    X(ERROR_API_NOT_IMPLEMENTED, 11, "")                                                                               \
    X(ERROR_MAX_LIMIT_REACHED, 12, "")                                                                                 \
    X(ERROR_NOT_READY, 13, "")                                                                                         \
    X(ERROR_NOT_COMPATIBLE, 14, "This CUPTI does not go with the driver, or with what was enabled before.")            \
    X(ERROR_NOT_INITIALIZED, 15, "CUPTI could not initialize: no driver that it can use, or no GPU.")                  \
    X(ERROR_INVALID_KIND, 21, "")                                                                                      \
    X(ERROR_DISABLED, 23, "CUPTI is switched off on this machine.")                                                    \
    X(ERROR_HARDWARE_BUSY, 26, "Another profiler is using the GPU's counters.")                                        \
    X(ERROR_NOT_SUPPORTED, 27, "CUPTI does not support this GPU or this driver.")                                      \
    X(ERROR_UM_PROFILING_NOT_SUPPORTED, 28, "Unified memory cannot be traced on this system.")                         \
    X(ERROR_UM_PROFILING_NOT_SUPPORTED_ON_DEVICE, 29, "Unified memory cannot be traced on this GPU.")                  \
    X(ERROR_UM_PROFILING_NOT_SUPPORTED_ON_NON_P2P_DEVICES, 30,                                                         \
      "Unified memory cannot be traced as these GPUs cannot reach each other's memory.")                               \
    X(ERROR_UM_PROFILING_NOT_SUPPORTED_WITH_MPS, 31, "Unified memory cannot be traced under MPS.")                     \
    X(ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED, 33, "CUPTI does not support this virtual GPU.")                          \
    X(ERROR_INSUFFICIENT_PRIVILEGES, 35,                                                                               \
      "The driver allows profiling to the administrator only (its module option "                                      \
      "NVreg_RestrictProfilingToAdminUsers).")                                                                         \
    X(ERROR_OLD_PROFILER_API_INITIALIZED, 36,                                                                          \
      "The program has already begun to use another profiling interface of CUDA.")                                     \
    X(ERROR_LEGACY_PROFILER_NOT_SUPPORTED, 38, "")                                                                     \
    X(ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, 39,                                                                    \
      "Another tool in the program already uses CUPTI: its own profiler, or a second profiler around it.")             \
    X(ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES, 40,                                                            \
      "This virtual GPU was set up without the right to be profiled.")                                                 \
    X(ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED, 41,                                                                  \
      "The GPU runs in confidential mode, which CUPTI does not support.")                                              \
    X(ERROR_CMP_DEVICE_NOT_SUPPORTED, 42, "CUPTI does not support mining cards.")                                      \
    X(ERROR_MIG_DEVICE_NOT_SUPPORTED, 43, "CUPTI does not support a GPU that is divided into instances (MIG).")        \
    X(ERROR_SLI_DEVICE_NOT_SUPPORTED, 44, "CUPTI does not support GPUs that are joined by SLI.")                       \
    X(ERROR_WSL_DEVICE_NOT_SUPPORTED, 45, "CUPTI does not support this GPU under WSL.")                                \
    X(ERROR_HES_TRACE_NOT_SUPPORTED_ON_MPS, 47, "")                                                                    \
    X(ERROR_UNKNOWN, 999, "CUPTI failed without saying why; mostly, the driver is missing or does not fit.")

enum cupti_result {
#define CUPTI_RESULT_ID(name, number, sentence) CUPTI_RESULT_##name = number,
    CUPTI_RESULTS(CUPTI_RESULT_ID)
#undef CUPTI_RESULT_ID
};

/* ---- Activity kinds -------------------------------------------------------------------------------------------- */

/* All kinds that exist up to version 13.4. A buffer may hold kinds that nobody enabled, and the walk must step over
 * them. */
#define CUPTI_KINDS(X)                                                                                                \
    X(MEMCPY, 1) X(MEMSET, 2) X(KERNEL, 3) X(DRIVER, 4) X(RUNTIME, 5) X(EVENT, 6) X(METRIC, 7) X(DEVICE, 8)           \
    X(CONTEXT, 9) X(CONCURRENT_KERNEL, 10) X(NAME, 11) X(MARKER, 12) X(MARKER_DATA, 13) X(SOURCE_LOCATOR, 14)         \
    X(GLOBAL_ACCESS, 15) X(BRANCH, 16) X(OVERHEAD, 17) X(CDP_KERNEL, 18) X(PREEMPTION, 19) X(ENVIRONMENT, 20)         \
    X(EVENT_INSTANCE, 21) X(MEMCPY2, 22) X(METRIC_INSTANCE, 23) X(INSTRUCTION_EXECUTION, 24)                          \
    X(UNIFIED_MEMORY_COUNTER, 25) X(FUNCTION, 26) X(MODULE, 27) X(DEVICE_ATTRIBUTE, 28) X(SHARED_ACCESS, 29)          \
    X(PC_SAMPLING, 30) X(PC_SAMPLING_RECORD_INFO, 31) X(INSTRUCTION_CORRELATION, 32) X(OPENACC_DATA, 33)              \
    X(OPENACC_LAUNCH, 34) X(OPENACC_OTHER, 35) X(CUDA_EVENT, 36) X(STREAM, 37) X(SYNCHRONIZATION, 38)                 \
    X(EXTERNAL_CORRELATION, 39) X(NVLINK, 40) X(INSTANTANEOUS_EVENT, 41) X(INSTANTANEOUS_EVENT_INSTANCE, 42)          \
    X(INSTANTANEOUS_METRIC, 43) X(INSTANTANEOUS_METRIC_INSTANCE, 44) X(MEMORY, 45) X(PCIE, 46) X(OPENMP, 47)          \
    X(INTERNAL_LAUNCH_API, 48) X(MEMORY2, 49) X(MEMORY_POOL, 50) X(GRAPH_TRACE, 51) X(JIT, 52)                        \
    X(DEVICE_GRAPH_TRACE, 53) X(MEM_DECOMPRESS, 54) X(CONFIDENTIAL_COMPUTE_ROTATION, 55) X(GRAPH_HOST_NODE, 56)       \
    X(COMPUTE_ENGINE_CTX_SWITCH, 57) X(HOST_LAUNCH, 58) X(GREEN_CONTEXT, 59)

enum cupti_kind {
#define CUPTI_KIND_ID(name, number) CUPTI_KIND_##name = number,
    CUPTI_KINDS(CUPTI_KIND_ID) CUPTI_KIND_COUNT /* one past the last known kind */
#undef CUPTI_KIND_ID
};

/* ---- Settings -------------------------------------------------------------------------------------------------- */

/* For cuptiActivitySetAttribute(attribute, size_t *bytes, void *value); the comment has the type of the value. */
enum cupti_attribute {
    CUPTI_ATTRIBUTE_ZEROED_OUT_ACTIVITY_BUFFER = 5, /* uint8_t; 1: the agent provides buffers that are all zeros */
};

enum { CUPTI_FLUSH_FORCED = 1 };                    /* cuptiActivityFlushAll: flush buffers that are not full, too */
enum { CUPTI_THREAD_ID_SYSTEM = 1 };                /* cuptiSetThreadIdType: gettid() */

enum { CUPTI_UNIFIED_MEMORY_ALL_DEVICES = 2 };      /* scope */
enum cupti_unified_memory {
    CUPTI_UNIFIED_MEMORY_HTOD = 1,
    CUPTI_UNIFIED_MEMORY_DTOH,
    CUPTI_UNIFIED_MEMORY_CPU_FAULT,
    CUPTI_UNIFIED_MEMORY_GPU_FAULT,
    CUPTI_UNIFIED_MEMORY_THRASHING,
    CUPTI_UNIFIED_MEMORY_THROTTLING,
    CUPTI_UNIFIED_MEMORY_REMOTE_MAP,
    CUPTI_UNIFIED_MEMORY_DTOD,
};
struct cupti_unified_memory_config {
    uint32_t scope, kind, device, enable;
};
_Static_assert(sizeof(struct cupti_unified_memory_config) == 16, "as CUPTI has it");

enum { CUPTI_SYNC_EVENT = 1, CUPTI_SYNC_STREAM_WAIT, CUPTI_SYNC_STREAM, CUPTI_SYNC_CONTEXT };
enum { CUPTI_LAUNCH_REGULAR, CUPTI_LAUNCH_COOPERATIVE, CUPTI_LAUNCH_COOPERATIVE_MULTI };

#define CUPTI_NO_SYNC UINT32_MAX /* stream or event of a synchronisation that has none */

/* ---- Callbacks ------------------------------------------------------------------------------------------------- */

enum { CUPTI_ENTER = 0, CUPTI_EXIT = 1 };

enum cupti_domain { CUPTI_DOMAIN_DRIVER = 1, CUPTI_DOMAIN_RUNTIME, CUPTI_DOMAIN_RESOURCE };

enum cupti_resource {
    CUPTI_RESOURCE_CONTEXT_CREATED = 1,
    CUPTI_RESOURCE_CONTEXT_DESTROY_STARTING,
    CUPTI_RESOURCE_STREAM_CREATED,
    CUPTI_RESOURCE_STREAM_DESTROY_STARTING,
    CUPTI_RESOURCE_CU_INIT_FINISHED,
    CUPTI_RESOURCE_MODULE_LOADED,
    CUPTI_RESOURCE_MODULE_UNLOAD_STARTING,
    CUPTI_RESOURCE_MODULE_PROFILED,
};

/* The data of a callback in the domains DRIVER and RUNTIME. */
struct cupti_call {
    uint32_t site;              /* CUPTI_ENTER, CUPTI_EXIT */
    const char *function;       /* without version, _ptsz or _ptds: "cudaMemcpyAsync" */
    const void *parameters;     /* struct cuda_…_parameters below, by function */
    void *result;               /* at exit: points to a CUresult or cudaError_t */
    const char *symbol;         /* of a launch: the mangled name of the kernel */
    void *context;              /* NULL where the runtime has not created one yet */
    uint32_t context_id;
    uint64_t *correlation_data; /* a word for the client, from enter to exit */
    uint32_t correlation_id;
};
_Static_assert(sizeof(struct cupti_call) == 72 && offsetof(struct cupti_call, correlation_id) == 64, "as CUPTI has it");

/* The data of a callback in the domain RESOURCE. The resource determines what `descriptor` points to. */
struct cupti_resource_data {
    void *context;
    void *stream;
    void *descriptor;
};
_Static_assert(sizeof(struct cupti_resource_data) == 24, "as CUPTI has it");

/* What `descriptor` of a module points to. */
struct cupti_module_data {
    uint32_t id;
    size_t cubin_bytes;
    const char *cubin;
};
_Static_assert(sizeof(struct cupti_module_data) == 24, "as CUPTI has it");

/* The argument of cuptiSubscribe_v2, which stores the name of the current subscriber in old_name. */
struct cupti_subscriber_parameters {
    size_t bytes;          /* CUPTI_SUBSCRIBER_BYTES: the size in 13.0, which newer versions accept too */
    const char *name;
    char *old_name;
    size_t old_name_bytes; /* CUPTI_OLD_NAME_BYTES or more */
};
#define CUPTI_SUBSCRIBER_BYTES 32
#define CUPTI_OLD_NAME_BYTES 64
_Static_assert(sizeof(struct cupti_subscriber_parameters) == CUPTI_SUBSCRIBER_BYTES, "as CUPTI 13.0 has it");

typedef void (*cupti_callback)(void *user, uint32_t domain, uint32_t id, const void *data);
typedef void (*cupti_buffer_wanted)(uint8_t **buffer, size_t *bytes, size_t *most_records);
typedef void (*cupti_buffer_done)(void *context, uint32_t stream_id, uint8_t *buffer, size_t bytes, size_t valid_bytes);
typedef uint64_t (*cupti_clock)(void);

/* ---- Functions ------------------------------------------------------------------------------------------------- */

/* X(need, since, name, (parameters)): `since` is the result of cuptiGetVersion() in the first version that has it, 18
 * for 11.8. Without a REQUIRED function CUDA is not traced; OPTIONAL ones are NULL in versions that lack them. All
 * return a CUptiResult. */
#define CUPTI_FUNCTIONS(X)                                                                                             \
    X(REQUIRED, 18, cuptiGetVersion, (uint32_t *version))                                                              \
    X(REQUIRED, 18, cuptiSubscribe, (void **subscriber, cupti_callback callback, void *user))                          \
    X(REQUIRED, 18, cuptiUnsubscribe, (void *subscriber))                                                              \
    X(REQUIRED, 18, cuptiEnableCallback, (uint32_t enable, void *subscriber, uint32_t domain, uint32_t id))            \
    X(REQUIRED, 18, cuptiGetCallbackName, (uint32_t domain, uint32_t id, const char **name))                           \
    X(REQUIRED, 18, cuptiActivityRegisterCallbacks, (cupti_buffer_wanted wanted, cupti_buffer_done done))              \
    X(REQUIRED, 18, cuptiActivityRegisterTimestampCallback, (cupti_clock now))                                         \
    X(REQUIRED, 18, cuptiActivityEnable, (uint32_t kind))                                                              \
    X(REQUIRED, 18, cuptiActivityDisable, (uint32_t kind))                                                             \
    X(REQUIRED, 18, cuptiActivityFlushAll, (uint32_t flags))                                                           \
    X(REQUIRED, 18, cuptiActivityGetNextRecord, (uint8_t *buffer, size_t valid_bytes, void **record))                  \
    X(REQUIRED, 18, cuptiActivityGetNumDroppedRecords, (void *context, uint32_t stream_id, size_t *dropped))           \
    X(REQUIRED, 18, cuptiActivitySetAttribute, (uint32_t attribute, size_t *bytes, void *value))                       \
    X(REQUIRED, 18, cuptiGetContextId, (void *context, uint32_t *id))                                                  \
    X(REQUIRED, 18, cuptiGetStreamIdEx, (void *context, void *stream, uint8_t per_thread, uint32_t *id))               \
    X(REQUIRED, 18, cuptiGetDeviceId, (void *context, uint32_t *id))                                                   \
    X(REQUIRED, 18, cuptiSetThreadIdType, (uint32_t type))                                                             \
    X(OPTIONAL, 18, cuptiActivityConfigureUnifiedMemoryCounter,                                                        \
      (struct cupti_unified_memory_config *configs, uint32_t count))                                                   \
    X(OPTIONAL, 23, cuptiActivityEnableRuntimeApi, (uint32_t id, uint8_t enable))                                      \
    X(OPTIONAL, 23, cuptiActivityEnableDriverApi, (uint32_t id, uint8_t enable))                                       \
    X(OPTIONAL, 130000, cuptiActivityEnableCudaEventDeviceTimestamps, (uint8_t enable))                                \
    X(OPTIONAL, 130000, cuptiSubscribe_v2,                                                                             \
      (void **subscriber, cupti_callback callback, void *user, struct cupti_subscriber_parameters *parameters))        \
    /* version 0: that of the library */                                                                               \
    X(OPTIONAL, 130200, cuptiActivityGetStructSize, (uint32_t kind, uint32_t version, size_t *bytes))

struct cupti_functions {
#define CUPTI_FUNCTION(need, since, name, parameters) int(*name) parameters;
    CUPTI_FUNCTIONS(CUPTI_FUNCTION)
#undef CUPTI_FUNCTION
};

/* 11.8, 12.0 and 12.1 all return 18, but records of kernels grew in 12.0. The driver call with this number came
 * in 12.0: if cuptiGetCallbackName(CUPTI_DOMAIN_DRIVER, CUPTI_CALL_OF_12_0, …) fails, it is 11.8. This function makes
 * the value of wire_cuda_shared.cupti_version, so that every layout has a number of its own. */
#define CUPTI_CALL_OF_12_0 678 /* cuLibraryLoadData */
#define CUPTI_VERSION_11_8 18u
#define CUPTI_VERSION_12_0 19u
static inline uint32_t cupti_version_told_apart(uint32_t version, int has_call_of_12_0)
{
    return version == CUPTI_VERSION_11_8 && has_call_of_12_0 ? CUPTI_VERSION_12_0 : version;
}

/* The driver's functions, in libcuda.so.1; all return a CUresult, 0 for success. The uuid is 16 bytes. */
#define CUDA_DRIVER_FUNCTIONS(X)                                                                                      \
    X(REQUIRED, cuDriverGetVersion, (int *version))                                                                   \
    X(REQUIRED, cuDeviceGetCount, (int *count))                                                                       \
    X(REQUIRED, cuDeviceGet, (int *device, int ordinal))                                                              \
    X(REQUIRED, cuDeviceGetName, (char *name, int bytes, int device))                                                 \
    X(REQUIRED, cuDeviceGetAttribute, (int *value, int attribute, int device))                                        \
    X(REQUIRED, cuDeviceTotalMem_v2, (size_t *bytes, int device))                                                     \
    X(OPTIONAL, cuDeviceGetUuid, (unsigned char *uuid, int device))                                                   \
    X(OPTIONAL, cuDeviceGetUuid_v2, (unsigned char *uuid, int device)) /* of the MIG instance, where there are any */ \
    X(OPTIONAL, cuDeviceGetPCIBusId, (char *text, int bytes, int device))                                             \
    X(OPTIONAL, cuMemGetInfo_v2, (size_t *free_bytes, size_t *bytes))                                                 \
    X(OPTIONAL, cuFuncGetAttribute, (int *value, int attribute, void *function))                                      \
    X(OPTIONAL, cuKernelGetAttribute, (int *value, int attribute, void *kernel, int device)) /* since 12.0 */          \
    X(OPTIONAL, cuCtxSynchronize, (void))                                                                             \
    X(OPTIONAL, cuCtxPushCurrent_v2, (void *context))                                                                 \
    X(OPTIONAL, cuCtxPopCurrent_v2, (void **context))

struct cuda_driver_functions {
#define CUDA_DRIVER_FUNCTION(need, name, parameters) int(*name) parameters;
    CUDA_DRIVER_FUNCTIONS(CUDA_DRIVER_FUNCTION)
#undef CUDA_DRIVER_FUNCTION
};

#define CUDA_ERROR_CAPTURE_INVALIDATED 901
#define CUDA_ERROR_CAPTURE_UNJOINED 904
#define CUDA_STREAM_PER_THREAD ((void *)2) /* a special handle: the default stream of the calling thread */

/* For cuDeviceGetAttribute. Clocks are in kHz, sizes in bytes, the bus width in bits. */
enum cuda_device_attribute {
    CUDA_DEVICE_MAX_THREADS_PER_BLOCK = 1,
    CUDA_DEVICE_MAX_BLOCK_DIM_X,
    CUDA_DEVICE_MAX_BLOCK_DIM_Y,
    CUDA_DEVICE_MAX_BLOCK_DIM_Z,
    CUDA_DEVICE_MAX_GRID_DIM_X,
    CUDA_DEVICE_MAX_GRID_DIM_Y,
    CUDA_DEVICE_MAX_GRID_DIM_Z,
    CUDA_DEVICE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
    CUDA_DEVICE_TOTAL_CONSTANT_MEMORY = 9,
    CUDA_DEVICE_WARP_SIZE = 10,
    CUDA_DEVICE_MAX_REGISTERS_PER_BLOCK = 12,
    CUDA_DEVICE_CLOCK_RATE = 13,
    CUDA_DEVICE_MULTIPROCESSOR_COUNT = 16,
    CUDA_DEVICE_INTEGRATED = 18,
    CUDA_DEVICE_CONCURRENT_KERNELS = 31,
    CUDA_DEVICE_ECC_ENABLED = 32,
    CUDA_DEVICE_PCI_BUS_ID = 33,
    CUDA_DEVICE_PCI_DEVICE_ID = 34,
    CUDA_DEVICE_MEMORY_CLOCK_RATE = 36,
    CUDA_DEVICE_GLOBAL_MEMORY_BUS_WIDTH = 37,
    CUDA_DEVICE_L2_CACHE_SIZE = 38,
    CUDA_DEVICE_MAX_THREADS_PER_MULTIPROCESSOR = 39,
    CUDA_DEVICE_ASYNC_ENGINE_COUNT = 40,
    CUDA_DEVICE_PCI_DOMAIN_ID = 50,
    CUDA_DEVICE_COMPUTE_CAPABILITY_MAJOR = 75,
    CUDA_DEVICE_COMPUTE_CAPABILITY_MINOR = 76,
    CUDA_DEVICE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
    CUDA_DEVICE_MAX_REGISTERS_PER_MULTIPROCESSOR = 82,
    CUDA_DEVICE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
    CUDA_DEVICE_MAX_BLOCKS_PER_MULTIPROCESSOR = 106,
    CUDA_DEVICE_ATTRIBUTES = 107 /* number of attributes to read, from 0 */
};

/* For cuFuncGetAttribute and cuKernelGetAttribute; sizes in bytes. */
enum cuda_function_attribute {
    CUDA_FUNCTION_SHARED_BYTES = 1,
    CUDA_FUNCTION_LOCAL_BYTES = 3,
    CUDA_FUNCTION_REGISTERS = 4,
};

/* ---- Arguments of the calls that launch, order streams or wait
 * --------------------------------------------------------- */

/* They are the same for the runtime and the driver, with and without _ptsz. The rows CUDA_WAIT of cuda_calls.def list
 * the calls. */

/* The …WithFlags variants of these calls have flags after these members. */
struct cuda_event_record_parameters {
    void *event, *stream;
};
struct cuda_stream_wait_parameters {
    void *stream, *event;
    unsigned flags;
};
struct cuda_event_parameters {
    void *event;
};
struct cuda_stream_parameters {
    void *stream;
};
/* cuLaunchKernel and cuLaunchCooperativeKernel. */
struct cuda_launch_parameters {
    void *function;
    uint32_t sizes[6]; /* of the grid, then of a block */
    uint32_t shared_bytes;
    void *stream;
};
struct cuda_launch_attribute {
    uint32_t id, reserved;
    uint32_t value; /* of those that are an int */
    uint32_t rest[15];
};
#define CUDA_ATTRIBUTE_COOPERATIVE 2u
struct cuda_launch_config {
    uint32_t sizes[6];
    uint32_t shared_bytes;
    void *stream;
    const struct cuda_launch_attribute *attributes;
    uint32_t attribute_count;
};
_Static_assert(sizeof(struct cuda_launch_attribute) == 72, "as CUDA has it");
/* cuLaunchKernelEx. */
struct cuda_launch_ex_parameters {
    const struct cuda_launch_config *config;
    void *function;
};
_Static_assert(offsetof(struct cuda_launch_parameters, stream) == 40 &&
                   offsetof(struct cuda_launch_config, stream) == 32,
               "as CUPTI has it");
_Static_assert(sizeof(struct cuda_event_record_parameters) == 16, "as CUPTI has it");
_Static_assert(sizeof(struct cuda_stream_wait_parameters) == 24, "as CUPTI has it");
_Static_assert(sizeof(struct cuda_event_parameters) == 8 && sizeof(struct cuda_stream_parameters) == 8,
               "as CUPTI has it");

#endif
