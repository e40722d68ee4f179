/* libcudart.so: the runtime's entry points on the driver's model of the GPU. Built once for each version that a program
 * may bring along; two of them in one process share the driver, its contexts and its tool, as the real ones do. */
#include "gpu.h"

#include <string.h>

static __thread int device;
static __thread int last_error;

/* The first call starts CUDA, before it is itself reported. */
static int ready(void)
{
    return gpu_ready() ? cuInit(0) : 0;
}

/* Each thread has the device's primary context, which its first call takes, or makes: that call
 * has none when it is entered. */
static void take_context(void)
{
    if (!gpu_current())
        gpu_set_current(gpu_primary(device));
}

static int leave(struct fake_call *call, int result)
{
    if (result && result != 600)
        last_error = result;
    return fake_leave(call, result);
}

/* A call that must have a context: 0 and it has been entered, or the error. */
#define BEGIN(call, function, params) BEGIN_LAUNCH(call, function, params, NULL)
#define BEGIN_LAUNCH(call, function, params, kernel)                                                                 \
    (ready() ? (last_error = ready()) : (ENTER_LAUNCH(call, RUNTIME, function, params, kernel), take_context(), 0))

/* Where the driver has the same call, it does the work: a tool may or may not be told of the call inside. */
static cudaStream_t own(cudaStream_t stream, int per_thread)
{
    return per_thread && !stream ? cudaStreamPerThread : stream;
}

/* ---- What programs ask all the time ---------------------------------------------------------------------------- */

EXPORT int cudaDriverGetVersion(int *version)
{
    struct {
        int *version;
    } params = { version };
    struct fake_call call;
    ENTER(call, RUNTIME, cudaDriverGetVersion, &params);
    return leave(&call, cuDriverGetVersion(version));
}

EXPORT int cudaRuntimeGetVersion(int *version)
{
    struct {
        int *version;
    } params = { version };
    struct fake_call call;
    ENTER(call, RUNTIME, cudaRuntimeGetVersion, &params);
    *version = RUNTIME_VERSION;
    return leave(&call, 0);
}

EXPORT int cudaGetDeviceCount(int *count)
{
    struct {
        int *count;
    } params = { count };
    struct fake_call call;
    int result = cuInit(0);
    ENTER(call, RUNTIME, cudaGetDeviceCount, &params);
    *count = (int)fake_get("devices");
    return leave(&call, result);
}

EXPORT int cudaGetLastError(void)
{
    struct fake_call call;
    ENTER(call, RUNTIME, cudaGetLastError, NULL);
    int result = last_error;
    last_error = 0;
    return fake_leave(&call, result);
}

EXPORT int cudaPeekAtLastError(void)
{
    struct fake_call call;
    ENTER(call, RUNTIME, cudaPeekAtLastError, NULL);
    return fake_leave(&call, last_error);
}

EXPORT int cudaSetDevice(int ordinal)
{
    struct {
        int ordinal;
    } params = { ordinal };
    struct fake_call call;
    int result = cuInit(0);
    ENTER(call, RUNTIME, cudaSetDevice, &params);
    if (result == 0 && (ordinal < 0 || ordinal >= fake_get("devices")))
        result = 101;
    if (result == 0) {
        device = ordinal;
        gpu_set_current(gpu_primary(ordinal));
    }
    return leave(&call, result);
}

EXPORT int cudaGetDevice(int *ordinal)
{
    struct {
        int *ordinal;
    } params = { ordinal };
    struct fake_call call;
    ENTER(call, RUNTIME, cudaGetDevice, &params);
    *ordinal = device;
    return leave(&call, 0);
}

EXPORT int cudaDeviceGetAttribute(int *value, int attribute, int ordinal)
{
    struct {
        int *value;
        int attribute, ordinal;
    } params = { value, attribute, ordinal };
    struct fake_call call;
    int failed = BEGIN(call, cudaDeviceGetAttribute, &params);
    return failed ? failed : leave(&call, gpu_attribute(value, attribute, ordinal));
}

EXPORT int cudaDeviceSynchronize(void)
{
    struct fake_call call;
    int failed = BEGIN(call, cudaDeviceSynchronize, NULL);
    return failed ? failed : leave(&call, cuCtxSynchronize());
}

EXPORT int cudaProfilerStart(void)
{
    struct fake_call call;
    int failed = BEGIN(call, cudaProfilerStart, NULL);
    return failed ? failed : leave(&call, cuProfilerStart());
}

EXPORT int cudaProfilerStop(void)
{
    struct fake_call call;
    int failed = BEGIN(call, cudaProfilerStop, NULL);
    return failed ? failed : leave(&call, cuProfilerStop());
}

/* ---- Memory ---------------------------------------------------------------------------------------------------- */

EXPORT int cudaMalloc(void **pointer, size_t bytes)
{
    struct {
        void **pointer;
        size_t bytes;
    } params = { pointer, bytes };
    struct fake_call call;
    int failed = BEGIN(call, cudaMalloc, &params);
    return failed ? failed : leave(&call, cuMemAlloc_v2((CUdeviceptr *)pointer, bytes));
}

EXPORT int cudaFree(void *pointer)
{
    struct {
        void *pointer;
    } params = { pointer };
    struct fake_call call;
    int failed = BEGIN(call, cudaFree, &params);
    return failed ? failed : leave(&call, pointer ? cuMemFree_v2((CUdeviceptr)pointer) : 0);
}

EXPORT int cudaMallocHost(void **pointer, size_t bytes)
{
    struct {
        void **pointer;
        size_t bytes;
    } params = { pointer, bytes };
    struct fake_call call;
    int failed = BEGIN(call, cudaMallocHost, &params);
    return failed ? failed : leave(&call, gpu_allocate(pointer, bytes, 2, NULL, NULL));
}

EXPORT int cudaFreeHost(void *pointer)
{
    struct {
        void *pointer;
    } params = { pointer };
    struct fake_call call;
    int failed = BEGIN(call, cudaFreeHost, &params);
    return failed ? failed : leave(&call, gpu_free(pointer, 0));
}

EXPORT int cudaMallocManaged(void **pointer, size_t bytes, unsigned flags)
{
    struct {
        void **pointer;
        size_t bytes;
        unsigned flags;
    } params = { pointer, bytes, flags };
    struct fake_call call;
    int failed = BEGIN(call, cudaMallocManaged, &params);
    return failed ? failed : leave(&call, gpu_allocate(pointer, bytes, 5, NULL, NULL));
}

EXPORT int cudaMallocAsync(void **pointer, size_t bytes, cudaStream_t stream)
{
    struct {
        void **pointer;
        size_t bytes;
        cudaStream_t stream;
    } params = { pointer, bytes, stream };
    struct fake_call call;
    int failed = BEGIN(call, cudaMallocAsync, &params);
    return failed ? failed : leave(&call, gpu_allocate(pointer, bytes, 3, gpu_default_pool(), stream));
}

EXPORT int cudaMallocFromPoolAsync(void **pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
{
    struct {
        void **pointer;
        size_t bytes;
        cudaMemPool_t pool;
        cudaStream_t stream;
    } params = { pointer, bytes, pool, stream };
    struct fake_call call;
    int failed = BEGIN(call, cudaMallocFromPoolAsync, &params);
    return failed ? failed : leave(&call, gpu_allocate(pointer, bytes, 3, pool, stream));
}

EXPORT int cudaFreeAsync(void *pointer, cudaStream_t stream)
{
    struct {
        void *pointer;
        cudaStream_t stream;
    } params = { pointer, stream };
    struct fake_call call;
    int failed = BEGIN(call, cudaFreeAsync, &params);
    return failed ? failed : leave(&call, gpu_free(pointer, 1));
}

EXPORT int cudaMemPoolCreate(cudaMemPool_t *pool, const void *properties)
{
    struct {
        cudaMemPool_t *pool;
        const void *properties;
    } params = { pool, properties };
    struct fake_call call;
    int failed = BEGIN(call, cudaMemPoolCreate, &params);
    return failed ? failed : leave(&call, gpu_pool_create(pool));
}

EXPORT int cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep)
{
    struct {
        cudaMemPool_t pool;
        size_t keep;
    } params = { pool, keep };
    struct fake_call call;
    int failed = BEGIN(call, cudaMemPoolTrimTo, &params);
    return failed ? failed : leave(&call, gpu_pool_change(pool, 3, keep));
}

EXPORT int cudaMemPoolDestroy(cudaMemPool_t pool)
{
    struct {
        cudaMemPool_t pool;
    } params = { pool };
    struct fake_call call;
    int failed = BEGIN(call, cudaMemPoolDestroy, &params);
    return failed ? failed : leave(&call, gpu_pool_change(pool, 2, 0));
}

/* ---- Copies and fills. The _ptsz and _ptds forms mean the thread's own default stream -------------------------- */

#define COPY(function, per_thread)                                                                                   \
    EXPORT int function(void *to, const void *from, size_t bytes, int kind)                                          \
    {                                                                                                                \
        struct { void *to; const void *from; size_t bytes; int kind; } params = { to, from, bytes, kind };           \
        struct fake_call call;                                                                                       \
        int failed = BEGIN(call, function, &params);                                                                 \
        return failed ? failed : leave(&call, gpu_copy(kind, to, from, bytes, NULL, per_thread, 1));                 \
    }
COPY(cudaMemcpy, 0)
COPY(cudaMemcpy_ptds, 1)

#define COPY_ASYNC(function, per_thread)                                                                             \
    EXPORT int function(void *to, const void *from, size_t bytes, int kind, cudaStream_t stream)                     \
    {                                                                                                                \
        struct { void *to; const void *from; size_t bytes; int kind; cudaStream_t stream; } params = \
            { to, from, bytes, kind, stream };                                                                       \
        struct fake_call call;                                                                                       \
        int failed = BEGIN(call, function, &params);                                                                 \
        return failed ? failed : leave(&call, gpu_copy(kind, to, from, bytes, stream, per_thread, 0));               \
    }
COPY_ASYNC(cudaMemcpyAsync, 0)
COPY_ASYNC(cudaMemcpyAsync_ptsz, 1)

EXPORT int cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                               cudaStream_t stream)
{
    struct {
        void *to;
        int to_device;
        const void *from;
        int from_device;
        size_t bytes;
        cudaStream_t stream;
    } params = { to, to_device, from, from_device, bytes, stream };
    struct fake_call call;
    int failed = BEGIN(call, cudaMemcpyPeerAsync, &params);
    return failed ? failed : leave(&call, gpu_copy_peer(to_device, from_device, bytes, stream));
}

EXPORT int cudaMemset(void *to, int value, size_t bytes)
{
    struct {
        void *to;
        int value;
        size_t bytes;
    } params = { to, value, bytes };
    struct fake_call call;
    int failed = BEGIN(call, cudaMemset, &params);
    return failed ? failed : leave(&call, gpu_fill(to, (unsigned)value, bytes, NULL, 0, 1));
}

#define FILL_ASYNC(function, per_thread)                                                                             \
    EXPORT int function(void *to, int value, size_t bytes, cudaStream_t stream)                                      \
    {                                                                                                                \
        struct { void *to; int value; size_t bytes; cudaStream_t stream; } params = { to, value, bytes, stream };    \
        struct fake_call call;                                                                                       \
        int failed = BEGIN(call, function, &params);                                                                 \
        return failed ? failed : leave(&call, gpu_fill(to, (unsigned)value, bytes, stream, per_thread, 0));          \
    }
FILL_ASYNC(cudaMemsetAsync, 0)
FILL_ASYNC(cudaMemsetAsync_ptsz, 1)

/* ---- Launches -------------------------------------------------------------------------------------------------- */

/* As the driver's cuLaunchKernel(), which cannot say all of it; a function of its own, as deep in
 * the stack as that would be. */
__attribute__((noinline)) static int launch(const struct gpu_launch *what, void **arguments, cudaStream_t stream,
                                            int per_thread)
{
    struct {
        const void *kernel;
        unsigned grid[3], block[3], shared;
        cudaStream_t stream;
        void **arguments, **extra;
    } params = { what->kernel,
                 { what->grid[0], what->grid[1], what->grid[2] },
                 { what->block[0], what->block[1], what->block[2] },
                 (unsigned)what->shared,
                 own(stream, per_thread),
                 arguments,
                 NULL };
    struct fake_call call;
    ENTER_LAUNCH(call, DRIVER, cuLaunchKernel, &params, what->kernel);
    return fake_leave(&call, gpu_launch(what, params.stream, 0));
}

static struct gpu_launch launch_of(const void *kernel, struct dim3 grid, struct dim3 block, size_t shared)
{
    return (struct gpu_launch){
        .kernel = kernel, .grid = { grid.x, grid.y, grid.z }, .block = { block.x, block.y, block.z }, .shared = shared
    };
}

#define LAUNCH(function, per_thread, launch_type)                                                                      \
    EXPORT int function(const void *kernel, struct dim3 grid, struct dim3 block, void **arguments, size_t shared,      \
                        cudaStream_t stream)                                                                           \
    {                                                                                                                  \
        struct { const void *kernel; struct dim3 grid, block; void **arguments; size_t shared;                         \
                 cudaStream_t stream; } params =                                                                       \
            { kernel, grid, block, arguments, shared, stream };                                                        \
        struct fake_call call;                                                                                         \
        int failed = BEGIN_LAUNCH(call, function, &params, kernel);                                                    \
        struct gpu_launch what = launch_of(kernel, grid, block, shared);                                               \
        what.type = launch_type;                                                                                       \
        return failed ? failed : leave(&call, launch(&what, arguments, stream, per_thread));                           \
    }
LAUNCH(cudaLaunchKernel, 0, 0)
LAUNCH(cudaLaunchKernel_ptsz, 1, 0)
LAUNCH(cudaLaunchCooperativeKernel, 0, 1)

#define LAUNCH_EX(function, per_thread)                                                                              \
    EXPORT int function(const struct launch_config *config, const void *kernel, void **arguments)                    \
    {                                                                                                                \
        struct { const struct launch_config *config; const void *kernel; void **arguments; } params = \
            { config, kernel, arguments };                                                                           \
        struct gpu_launch what = launch_of(kernel, config->grid, config->block, config->shared);                     \
        for (unsigned i = 0; i < config->attribute_count; i++)                                                       \
            if (config->attributes[i].id == 4)                                                                       \
                memcpy(what.cluster, &config->attributes[i].value.cluster, sizeof what.cluster);                     \
        struct fake_call call;                                                                                       \
        int failed = BEGIN_LAUNCH(call, function, &params, kernel);                                                  \
        return failed ? failed : leave(&call, launch(&what, arguments, config->stream, per_thread));                 \
    }
LAUNCH_EX(cudaLaunchKernelExC, 0)
LAUNCH_EX(cudaLaunchKernelExC_ptsz, 1)

/* ---- Streams and events ---------------------------------------------------------------------------------------- */

EXPORT int cudaStreamCreate(cudaStream_t *stream)
{
    struct {
        cudaStream_t *stream;
    } params = { stream };
    struct fake_call call;
    int failed = BEGIN(call, cudaStreamCreate, &params);
    return failed ? failed : leave(&call, gpu_stream_create(stream, 0, 0));
}

EXPORT int cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    struct {
        cudaStream_t *stream;
        unsigned flags;
    } params = { stream, flags };
    struct fake_call call;
    int failed = BEGIN(call, cudaStreamCreateWithFlags, &params);
    return failed ? failed : leave(&call, gpu_stream_create(stream, flags, 0));
}

EXPORT int cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
    struct {
        cudaStream_t *stream;
        unsigned flags;
        int priority;
    } params = { stream, flags, priority };
    struct fake_call call;
    int failed = BEGIN(call, cudaStreamCreateWithPriority, &params);
    return failed ? failed : leave(&call, gpu_stream_create(stream, flags, priority));
}

/* Calls on one handle. */
#define ON_HANDLE(function, action)                                                                                  \
    EXPORT int function(void *handle)                                                                                \
    {                                                                                                                \
        struct { void *handle; } params = { handle };                                                                \
        struct fake_call call;                                                                                       \
        int failed = BEGIN(call, function, &params);                                                                 \
        return failed ? failed : leave(&call, action);                                                               \
    }
ON_HANDLE(cudaStreamDestroy, cuStreamDestroy_v2(handle))
ON_HANDLE(cudaStreamSynchronize, cuStreamSynchronize(handle))
ON_HANDLE(cudaStreamSynchronize_ptsz, cuStreamSynchronize(own(handle, 1)))
ON_HANDLE(cudaStreamQuery, gpu_stream_done(handle))
ON_HANDLE(cudaEventSynchronize, cuEventSynchronize(handle))
ON_HANDLE(cudaEventQuery, gpu_event_done(handle))
ON_HANDLE(cudaEventDestroy, cuEventDestroy_v2(handle))
ON_HANDLE(cudaGraphExecDestroy, handle ? 0 : 1)
ON_HANDLE(cudaGraphDestroy, handle ? 0 : 1)
ON_HANDLE(cudaLibraryUnload, gpu_module_unload(handle))

EXPORT int cudaEventCreate(cudaEvent_t *event)
{
    struct {
        cudaEvent_t *event;
    } params = { event };
    struct fake_call call;
    int failed = BEGIN(call, cudaEventCreate, &params);
    return failed ? failed : leave(&call, gpu_event_create(event));
}

EXPORT int cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    struct {
        cudaEvent_t *event;
        unsigned flags;
    } params = { event, flags };
    struct fake_call call;
    int failed = BEGIN(call, cudaEventCreateWithFlags, &params);
    return failed ? failed : leave(&call, gpu_event_create(event));
}

#define RECORD(function, per_thread)                                                                                 \
    EXPORT int function(cudaEvent_t event, cudaStream_t stream)                                                      \
    {                                                                                                                \
        struct { cudaEvent_t event; cudaStream_t stream; } params = { event, stream };                               \
        struct fake_call call;                                                                                       \
        int failed = BEGIN(call, function, &params);                                                                 \
        return failed ? failed : leave(&call, cuEventRecord(event, own(stream, per_thread)));                        \
    }
RECORD(cudaEventRecord, 0)
RECORD(cudaEventRecord_ptsz, 1)

EXPORT int cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
    struct {
        cudaEvent_t event;
        cudaStream_t stream;
        unsigned flags;
    } params = { event, stream, flags };
    struct fake_call call;
    int failed = BEGIN(call, cudaEventRecordWithFlags, &params);
    return failed ? failed : leave(&call, cuEventRecord(event, stream));
}

#define WAIT(function, per_thread)                                                                                   \
    EXPORT int function(cudaStream_t stream, cudaEvent_t event, unsigned flags)                                      \
    {                                                                                                                \
        struct { cudaStream_t stream; cudaEvent_t event; unsigned flags; } params = { stream, event, flags };        \
        struct fake_call call;                                                                                       \
        int failed = BEGIN(call, function, &params);                                                                 \
        return failed ? failed : leave(&call, cuStreamWaitEvent(own(stream, per_thread), event, flags));             \
    }
WAIT(cudaStreamWaitEvent, 0)
WAIT(cudaStreamWaitEvent_ptsz, 1)

/* ---- Graphs and libraries -------------------------------------------------------------------------------------- */

EXPORT int cudaStreamBeginCapture(cudaStream_t stream, int mode)
{
    struct {
        cudaStream_t stream;
        int mode;
    } params = { stream, mode };
    struct fake_call call;
    int failed = BEGIN(call, cudaStreamBeginCapture, &params);
    return failed ? failed : leave(&call, gpu_capture_begin(stream));
}

EXPORT int cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    struct {
        cudaStream_t stream;
        cudaGraph_t *graph;
    } params = { stream, graph };
    struct fake_call call;
    int failed = BEGIN(call, cudaStreamEndCapture, &params);
    return failed ? failed : leave(&call, gpu_capture_end(stream, graph));
}

EXPORT int cudaStreamIsCapturing(cudaStream_t stream, int *status)
{
    struct {
        cudaStream_t stream;
        int *status;
    } params = { stream, status };
    struct fake_call call;
    int failed = BEGIN(call, cudaStreamIsCapturing, &params);
    if (failed)
        return failed;
    *status = gpu_is_capturing(stream);
    return leave(&call, 0);
}

EXPORT int cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
    struct {
        cudaGraphExec_t *exec;
        cudaGraph_t graph;
        unsigned long long flags;
    } params = { exec, graph, flags };
    struct fake_call call;
    int failed = BEGIN(call, cudaGraphInstantiateWithFlags, &params);
    return failed ? failed : leave(&call, gpu_graph_instantiate(exec, graph));
}

EXPORT int cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    struct {
        cudaGraphExec_t exec;
        cudaStream_t stream;
    } params = { exec, stream };
    struct fake_call call;
    int failed = BEGIN(call, cudaGraphLaunch, &params);
    return failed ? failed : leave(&call, cuGraphLaunch(exec, stream));
}

EXPORT int cudaLibraryLoadData(cudaLibrary_t *library, const void *code, void *a, void *b, unsigned c, void *d, void *e,
                               unsigned f)
{
    struct {
        cudaLibrary_t *library;
        const void *code;
        void *a, *b;
        unsigned c;
        void *d, *e;
        unsigned f;
    } params = { library, code, a, b, c, d, e, f };
    struct fake_call call;
    int failed = BEGIN(call, cudaLibraryLoadData, &params);
    return failed ? failed : leave(&call, gpu_module_load(library, code));
}

EXPORT int cudaLibraryGetKernel(const void **kernel, cudaLibrary_t library, const char *name)
{
    struct {
        const void **kernel;
        cudaLibrary_t library;
        const char *name;
    } params = { kernel, library, name };
    struct fake_call call;
    int failed = BEGIN(call, cudaLibraryGetKernel, &params);
    return failed ? failed : leave(&call, gpu_module_kernel(kernel, library, name));
}
