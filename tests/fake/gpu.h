/* Inside the stand-ins: the model of the GPU in libcuda, and the hooks by which libcupti looks on.
 *
 * libcudart's calls and libcuda's go through fake_enter() and fake_leave(); what the GPU is given goes through the gpu_
 * functions, which say when it starts and ends. libcupti hangs one struct fake_tool in and hears of all of it, so it
 * never needs to look inside. A record travels as a list of fields; where they lie in memory is libcupti's to know. */
#ifndef TACHO_FAKE_GPU_H
#define TACHO_FAKE_GPU_H

#include "cuda.h"
#include "fake.h"

#define EXPORT __attribute__((visibility("default")))

enum fake_domain { FAKE_DRIVER = 1, FAKE_RUNTIME = 2 };

enum fake_cbid {
#define CALL(domain, id, function, version) CBID_##function = id,
#include "calls.def"
#undef CALL
};

/* Activity kinds, by the vendor's numbers. */
enum fake_kind {
    KIND_MEMCPY = 1,
    KIND_MEMSET = 2,
    KIND_DRIVER = 4,
    KIND_RUNTIME = 5,
    KIND_DEVICE = 8,
    KIND_CONTEXT = 9,
    KIND_KERNEL = 10,
    KIND_OVERHEAD = 17,
    KIND_PEER_COPY = 22,
    KIND_UNIFIED = 25,
    KIND_FUNCTION = 26,
    KIND_MODULE = 27,
    KIND_EVENT = 36,
    KIND_STREAM = 37,
    KIND_SYNCHRONIZATION = 38,
    KIND_EXTERNAL = 39,
    KIND_MEMORY = 49,
    KIND_POOL = 50,
    KIND_GRAPH = 51,
    KIND_JIT = 52,
    KIND_COUNT = 64,
};

#define FAKE_FIELDS(X)                                                                                               \
    X(start) X(end) X(completed) X(deviceId) X(contextId) X(streamId) X(correlationId) X(graphNodeId) X(graphId)     \
    X(cacheConfig) X(sharedMemoryConfig) X(registersPerThread)                                                       \
    X(gridX) X(gridY) X(gridZ) X(blockX) X(blockY) X(blockZ) X(clusterX) X(clusterY) X(clusterZ)                     \
    X(staticSharedMemory) X(dynamicSharedMemory) X(sharedMemoryExecuted) X(localMemoryPerThread) X(localMemoryTotal) \
    X(localMemoryTotal_v2) X(gridId) X(name) X(launchType) X(channelID) X(channelType) X(priority)                   \
    X(copyKind) X(srcKind) X(dstKind) X(flags) X(bytes) X(copyCount)                                                 \
    X(srcDeviceId) X(srcContextId) X(dstDeviceId) X(dstContextId)                                                    \
    X(value) X(memoryKind) X(type) X(cudaEventId) X(cudaEventSyncId) X(returnValue) X(eventId) X(deviceTimestamp)    \
    X(endDeviceId) X(endContextId) X(counterKind) X(address) X(srcId) X(dstId) X(processId)                          \
    X(memoryOperationType) X(timestamp) X(isAsync) X(memoryPoolType) X(poolAddress) X(releaseThreshold) X(poolSize)  \
    X(utilizedSize) X(memoryPoolOperationType) X(minBytesToKeep) X(size)                                             \
    X(overheadKind) X(objectKind) X(objectProcess) X(objectThread)                                                   \
    X(jitEntryType) X(jitOperationType) X(jitOperationCorrelationId) X(cacheSize) X(cachePath)                       \
    X(id) X(cubinSize) X(cubin) X(moduleId) X(functionIndex) X(flag) X(computeApiKind) X(nullStreamId)               \
    X(cbid) X(threadId)

enum fake_field {
#define FIELD(name) FIELD_##name,
    FAKE_FIELDS(FIELD) FIELD_COUNT
#undef FIELD
};

/* What becomes one activity record. */
struct fake_work {
    uint32_t kind;
    uint8_t on_gpu;   /* start and end are the GPU's clock; else they are the tool's own time */
    uint8_t in_graph;
    uint32_t count;
    uint64_t done_ns; /* CLOCK_MONOTONIC: not to be seen before */
    struct {
        uint32_t field;
        uint64_t value;
    } set[44];
};

struct fake_call {
    int domain;
    uint32_t cbid;
    const char *function;
    const void *params;
    const char *symbol; /* a launch: the kernel's name, from enter to exit */
    int result;
    uint32_t correlation;
    void *context;      /* the thread's at this moment: the call may make it */
    uint32_t context_id;
    uint64_t data;      /* the subscriber's, from enter to exit */
    uint64_t start;     /* the tool's */
    struct fake_call *outer;
    int silent;
    int told;           /* the subscriber knows that it was entered, and not yet that it was left */
};

/* The resources of CUPTI's resource domain. */
enum {
    RESOURCE_CONTEXT_CREATED = 1,
    RESOURCE_CONTEXT_DESTROYED,
    RESOURCE_STREAM_CREATED,
    RESOURCE_STREAM_DESTROYED,
    RESOURCE_INITIALISED,
    RESOURCE_MODULE_LOADED,
    RESOURCE_MODULE_UNLOADED
};

struct fake_tool {
    void (*call)(struct fake_call *call, int leaves);
    void (*resource)(int which, void *context, void *handle, void *descriptor);
    void (*work)(const struct fake_work *work);
    uint64_t (*now)(void);
};
void fake_attach(const struct fake_tool *tool);

/* The driver's side of what libcupti is asked. 0, or -1 when there is no such thing. */
int fake_has_context(void);
int fake_context_id(void *context, uint32_t *id);
int fake_context_device(void *context, uint32_t *device);
int fake_stream_id(void *context, void *stream, int per_thread, uint32_t *id);
uint64_t fake_gpu_time(uint64_t monotonic_ns);
uint64_t fake_now(void);          /* CLOCK_MONOTONIC in nanoseconds */
int fake_in_callback(int change); /* of this thread: how deep */

/* ---- libcuda itself, and libcudart on it ----------------------------------------------------------------------- */

void fake_enter(struct fake_call *call); /* from outside come domain, cbid, function, params, symbol */
int fake_leave(struct fake_call *call, int result);
#define ENTER(call, domain, function, parameters) ENTER_LAUNCH(call, domain, function, parameters, NULL)
#define ENTER_LAUNCH(call, domain, name, parameters, kernel)                                                           \
    ((call) = (struct fake_call){ FAKE_##domain, CBID_##name, #name, parameters, .symbol = gpu_symbol(kernel) },       \
     fake_enter(&(call)))

struct gpu_stream;
struct gpu_launch {
    const void *kernel;
    unsigned grid[3], block[3], cluster[3];
    size_t shared;
    int type;                               /* 1: cooperative */
};

int gpu_ready(void);                        /* 0, or the CUresult that every call answers: not
                                             * initialised, or forked since */
void *gpu_current(void);                    /* this thread's context */
void gpu_set_current(void *context);
void *gpu_primary(int device);              /* made when it is first asked for */
int gpu_synchronize(void);
const char *gpu_symbol(const void *kernel); /* its name, or NULL when there is none */

int gpu_launch(const struct gpu_launch *launch, void *stream, int per_thread);
int gpu_copy(int kind, const void *to, const void *from, size_t bytes, void *stream, int per_thread, int wait);
int gpu_copy_peer(int to_device, int from_device, size_t bytes, void *stream);
int gpu_fill(const void *to, unsigned value, size_t bytes, void *stream, int per_thread, int wait);

int gpu_stream_create(void **stream, unsigned flags, int priority);
int gpu_stream_destroy(void *stream);
int gpu_stream_synchronize(void *stream, int per_thread);
int gpu_stream_done(void *stream);
int gpu_event_create(void **event);
int gpu_event_destroy(void *event);
int gpu_event_record(void *event, void *stream, int per_thread);
int gpu_event_synchronize(void *event);
int gpu_event_done(void *event);
int gpu_stream_wait(void *stream, void *event, int per_thread);

int gpu_capture_begin(void *stream);
int gpu_capture_end(void *stream, void **graph);
int gpu_is_capturing(void *stream);
int gpu_graph_instantiate(void **exec, void *graph);
int gpu_graph_launch(void *exec, void *stream, int per_thread);

int gpu_allocate(void **pointer, size_t bytes, int memory_kind, void *pool, void *stream);
int gpu_free(void *pointer, int in_order);
void *gpu_default_pool(void);
int gpu_pool_create(void **pool);
int gpu_pool_change(void *pool, int operation, size_t keep);

int gpu_module_load(void **module, const char *kernels); /* names, one a line */
int gpu_module_unload(void *module);
int gpu_module_kernel(const void **kernel, void *module, const char *name);

int gpu_attribute(int *value, int attribute, int device);

/* Inside libcuda. */
void work_set(struct fake_work *work, enum fake_field field, uint64_t value);
void work_report(const struct fake_work *work);
void report_resource(int which, void *context, void *handle, void *descriptor);
uint64_t tool_now(void);
uint32_t call_correlation(void);
void wait_until(uint64_t monotonic_ns);
struct gpu_stream *stream_of(void *handle, int per_thread);
struct fake_truth stream_submit(struct gpu_stream *stream, struct fake_work *work, int waits);

#endif
