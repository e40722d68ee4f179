/* What the modelled GPU can be given: kernels, copies, fills, graphs; and memory and modules,
 * which only leave records. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gpu_state.h"

/* ---- Kernels --------------------------------------------------------------------------------------------------- */

struct gpu_kernel *kernel_create(const char *name)
{
    struct gpu_kernel *kernel = malloc(sizeof *kernel);
    *kernel = (struct gpu_kernel){ name, (uint32_t)fake_get("registers"), (uint32_t)fake_get("static_shared"),
                                   (uint32_t)fake_get("local_bytes") };
    return kernel;
}

EXPORT const void *fake_kernel(const char *name)
{
    return kernel_create(name ? strdup(name) : NULL);
}

EXPORT const char *gpu_symbol(const void *kernel)
{
    return kernel ? ((const struct gpu_kernel *)kernel)->name : NULL;
}

/* In the middle of a launch: its caller has been told that it began. */
static void linger(void)
{
    if (fake_take("raise"))
        raise(SIGUSR1);
    if (fake_take("meet"))
        while (fake_get("meet"))
            usleep(1000);
}

EXPORT int gpu_launch(const struct gpu_launch *launch, void *stream_handle, int per_thread)
{
    const struct gpu_kernel *kernel = launch->kernel;
    struct gpu_stream *stream = stream_of(stream_handle, per_thread);
    struct fake_work work = { .kind = KIND_KERNEL };
    linger();
    for (unsigned i = 0; i < 3; i++) {
        work_set(&work, FIELD_gridX + i, launch->grid[i]);
        work_set(&work, FIELD_blockX + i, launch->block[i]);
        work_set(&work, FIELD_clusterX + i, launch->cluster[i]);
    }
    work_set(&work, FIELD_name, (uintptr_t)kernel->name);
    work_set(&work, FIELD_registersPerThread, kernel->registers);
    work_set(&work, FIELD_staticSharedMemory, kernel->static_shared);
    work_set(&work, FIELD_dynamicSharedMemory, launch->shared);
    work_set(&work, FIELD_sharedMemoryExecuted, kernel->static_shared + launch->shared + 1024);
    work_set(&work, FIELD_localMemoryPerThread, kernel->local_bytes);
    work_set(&work, FIELD_localMemoryTotal, kernel->local_bytes * 2048u);
    work_set(&work, FIELD_localMemoryTotal_v2, kernel->local_bytes * 2048u);
    work_set(&work, FIELD_launchType, (uint64_t)launch->type);
    work_set(&work, FIELD_gridId, atomic_fetch_add(&gpu.grids, 1) + 1);
    work_set(&work, FIELD_channelID, 5);
    work_set(&work, FIELD_channelType, 1);
    work_set(&work, FIELD_priority, (uint64_t)(int64_t)stream->priority);
    stream_submit(stream, &work, 0);
    return 0;
}

/* ---- Copies and fills ------------------------------------------------------------------------------------------ */

enum { MEMORY_PAGEABLE = 1, MEMORY_PINNED, MEMORY_DEVICE, MEMORY_MANAGED = 5 };

/* Allocations begin with what they are; what is not ours is the program's own memory. */
struct allocation {
    struct allocation *next;
    char *address;
    size_t bytes;
    int kind;
    struct gpu_pool *pool;
};
static struct allocation *allocations;

static struct allocation *allocation_of(const void *pointer)
{
    pthread_mutex_lock(&gpu.lock);
    struct allocation *found = allocations;
    while (found && !((const char *)pointer >= found->address && (const char *)pointer < found->address + found->bytes))
        found = found->next;
    pthread_mutex_unlock(&gpu.lock);
    return found;
}

static int memory_kind(const void *pointer)
{
    const struct allocation *allocation = allocation_of(pointer);
    return allocation ? allocation->kind : MEMORY_PAGEABLE;
}

/* CUPTI's kind of copy, from the runtime's: host to host 0, to device 1, to host 2, on the device
 * 3, as the pointers say 4. */
static int copy_kind(int kind, int to, int from)
{
    static const int kinds[] = { 9, 1, 2, 8 };
    if (kind < 4)
        return kinds[kind];
    int on_device = from >= MEMORY_DEVICE, to_device = to >= MEMORY_DEVICE;
    return kinds[on_device ? (to_device ? 3 : 2) : (to_device ? 1 : 0)];
}

EXPORT int gpu_copy(int kind, const void *to, const void *from, size_t bytes, void *stream, int per_thread, int wait)
{
    int to_kind = memory_kind(to), from_kind = memory_kind(from);
    struct fake_work work = { .kind = KIND_MEMCPY };
    work_set(&work, FIELD_copyKind, (uint64_t)copy_kind(kind, to_kind, from_kind));
    work_set(&work, FIELD_srcKind, (uint64_t)from_kind);
    work_set(&work, FIELD_dstKind, (uint64_t)to_kind);
    work_set(&work, FIELD_flags, wait ? 0 : 1);
    work_set(&work, FIELD_bytes, bytes);
    work_set(&work, FIELD_copyCount, 1);
    work_set(&work, FIELD_channelID, 7);
    work_set(&work, FIELD_channelType, 2);
    stream_submit(stream_of(stream, per_thread), &work, wait);
    return 0;
}

EXPORT int gpu_copy_peer(int to_device, int from_device, size_t bytes, void *stream)
{
    struct gpu_context *to = gpu_primary(to_device), *from = gpu_primary(from_device);
    struct fake_work work = { .kind = KIND_PEER_COPY };
    work_set(&work, FIELD_copyKind, 10);
    work_set(&work, FIELD_srcKind, MEMORY_DEVICE);
    work_set(&work, FIELD_dstKind, MEMORY_DEVICE);
    work_set(&work, FIELD_flags, 1);
    work_set(&work, FIELD_bytes, bytes);
    work_set(&work, FIELD_srcDeviceId, (uint64_t)from_device);
    work_set(&work, FIELD_srcContextId, from->id);
    work_set(&work, FIELD_dstDeviceId, (uint64_t)to_device);
    work_set(&work, FIELD_dstContextId, to->id);
    stream_submit(stream_of(stream, 0), &work, 0);
    return 0;
}

EXPORT int gpu_fill(const void *to, unsigned value, size_t bytes, void *stream, int per_thread, int wait)
{
    struct fake_work work = { .kind = KIND_MEMSET };
    work_set(&work, FIELD_value, value);
    work_set(&work, FIELD_bytes, bytes);
    work_set(&work, FIELD_memoryKind, (uint64_t)memory_kind(to));
    work_set(&work, FIELD_flags, wait ? 0 : 1);
    stream_submit(stream_of(stream, per_thread), &work, wait);
    return 0;
}

/* ---- Graphs ---------------------------------------------------------------------------------------------------- */

EXPORT int gpu_capture_begin(void *stream)
{
    struct gpu_graph *graph = calloc(1, sizeof *graph);
    stream_of(stream, 0)->capture = graph;
    return 0;
}

EXPORT int gpu_capture_end(void *handle, void **graph)
{
    struct gpu_stream *stream = stream_of(handle, 0);
    *graph = stream->capture;
    stream->capture = NULL;
    return *graph ? 0 : INVALID_VALUE;
}

EXPORT int gpu_is_capturing(void *stream)
{
    return stream_of(stream, 0)->capture != NULL;
}

EXPORT int gpu_graph_instantiate(void **exec, void *graph)
{
    struct gpu_graph *copy = malloc(sizeof *copy);
    *copy = *(struct gpu_graph *)graph;
    copy->id = atomic_fetch_add(&gpu.graphs, 1) + 1;
    copy->works = calloc(copy->count + 1, sizeof *copy->works);
    memcpy(copy->works, ((struct gpu_graph *)graph)->works, copy->count * sizeof *copy->works);
    *exec = copy;
    return 0;
}

EXPORT int gpu_graph_launch(void *exec, void *stream_handle, int per_thread)
{
    const struct gpu_graph *graph = exec;
    struct gpu_stream *stream = stream_of(stream_handle, per_thread);
    struct fake_truth first = { 0 }, truth = { 0 };
    for (size_t i = 0; i < graph->count; i++) {
        struct fake_work work = graph->works[i];
        work.in_graph = 1;
        work_set(&work, FIELD_graphId, graph->id);
        work_set(&work, FIELD_graphNodeId, ((uint64_t)graph->id << 32) + i + 1);
        truth = stream_submit(stream, &work, 0);
        if (i == 0)
            first = truth;
    }
    struct fake_work whole = { .kind = KIND_GRAPH, .on_gpu = 1, .done_ns = truth.end_ns };
    work_set(&whole, FIELD_correlationId, call_correlation());
    work_set(&whole, FIELD_start, fake_gpu_time(first.start_ns));
    work_set(&whole, FIELD_end, fake_gpu_time(truth.end_ns));
    work_set(&whole, FIELD_deviceId, (uint64_t)stream->context->device);
    work_set(&whole, FIELD_contextId, stream->context->id);
    work_set(&whole, FIELD_endDeviceId, (uint64_t)stream->context->device);
    work_set(&whole, FIELD_endContextId, stream->context->id);
    work_set(&whole, FIELD_streamId, stream->id);
    work_set(&whole, FIELD_graphId, graph->id);
    work_report(&whole);
    return 0;
}

/* ---- Memory ---------------------------------------------------------------------------------------------------- */

struct gpu_pool {
    uint64_t size, used;
};
enum { POOL_CREATED = 1, POOL_DESTROYED, POOL_TRIMMED };
enum { ALLOCATED = 1, RELEASED };

static void report_memory(const struct allocation *allocation, int operation, int in_order,
                          const struct gpu_stream *stream)
{
    const struct gpu_context *context = gpu_current();
    struct fake_work work = { .kind = KIND_MEMORY };
    work_set(&work, FIELD_memoryOperationType, (uint64_t)operation);
    work_set(&work, FIELD_memoryKind, (uint64_t)allocation->kind);
    work_set(&work, FIELD_correlationId, call_correlation());
    work_set(&work, FIELD_address, (uintptr_t)allocation->address);
    work_set(&work, FIELD_bytes, allocation->bytes);
    work_set(&work, FIELD_timestamp, tool_now());
    work_set(&work, FIELD_processId, (uint64_t)getpid());
    work_set(&work, FIELD_deviceId, (uint64_t)context->device);
    work_set(&work, FIELD_contextId, context->id);
    work_set(&work, FIELD_streamId, stream ? stream->id : UINT32_MAX);
    work_set(&work, FIELD_isAsync, (uint64_t)in_order);
    if (allocation->pool) {
        work_set(&work, FIELD_memoryPoolType, 1);
        work_set(&work, FIELD_poolAddress, (uintptr_t)allocation->pool);
        work_set(&work, FIELD_poolSize, allocation->pool->size);
        work_set(&work, FIELD_utilizedSize, allocation->pool->used);
    }
    work_report(&work);
}

/* Addresses are all that there is. */
EXPORT int gpu_allocate(void **pointer, size_t bytes, int kind, void *pool, void *stream)
{
    char *address = mmap(NULL, bytes, kind == MEMORY_DEVICE ? PROT_NONE : PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == MAP_FAILED)
        return 2;
    struct allocation *allocation = malloc(sizeof *allocation);
    *allocation = (struct allocation){ NULL, address, bytes, kind, pool };
    pthread_mutex_lock(&gpu.lock);
    allocation->next = allocations;
    allocations = allocation;
    if (pool)
        allocation->pool->used += bytes;
    pthread_mutex_unlock(&gpu.lock);
    report_memory(allocation, ALLOCATED, pool != NULL, pool ? stream_of(stream, 0) : NULL);
    *pointer = address;
    return 0;
}

EXPORT int gpu_free(void *pointer, int in_order)
{
    struct allocation *allocation = allocation_of(pointer);
    if (!allocation)
        return INVALID_VALUE;
    pthread_mutex_lock(&gpu.lock);
    struct allocation **at = &allocations;
    while (*at != allocation)
        at = &(*at)->next;
    *at = allocation->next;
    if (allocation->pool)
        allocation->pool->used -= allocation->bytes;
    pthread_mutex_unlock(&gpu.lock);
    report_memory(allocation, RELEASED, in_order, in_order ? stream_of(NULL, 0) : NULL);
    munmap(allocation->address, allocation->bytes);
    free(allocation);
    return 0;
}

EXPORT int gpu_pool_change(void *handle, int operation, size_t keep)
{
    const struct gpu_pool *pool = handle;
    const struct gpu_context *context = gpu_current();
    struct fake_work work = { .kind = KIND_POOL };
    work_set(&work, FIELD_memoryPoolOperationType, (uint64_t)operation);
    work_set(&work, FIELD_memoryPoolType, 1);
    work_set(&work, FIELD_correlationId, call_correlation());
    work_set(&work, FIELD_processId, (uint64_t)getpid());
    work_set(&work, FIELD_deviceId, (uint64_t)context->device);
    work_set(&work, FIELD_minBytesToKeep, keep);
    work_set(&work, FIELD_address, (uintptr_t)pool);
    work_set(&work, FIELD_size, pool->size);
    work_set(&work, FIELD_utilizedSize, pool->used);
    work_set(&work, FIELD_timestamp, tool_now());
    work_report(&work);
    return 0;
}

/* The one that cudaMallocAsync() takes from. */
EXPORT void *gpu_default_pool(void)
{
    static struct gpu_pool pool = { .size = 64u << 20 };
    return &pool;
}

EXPORT int gpu_pool_create(void **handle)
{
    struct gpu_pool *pool = malloc(sizeof *pool);
    *pool = (struct gpu_pool){ .size = 32u << 20 };
    *handle = pool;
    return gpu_pool_change(pool, POOL_CREATED, 0);
}

EXPORT void fake_unified(int counter, uint64_t address, uint64_t value)
{
    struct gpu_stream *stream = stream_of(NULL, 0);
    int to_device = counter == 1 || counter == 4;
    struct fake_work work = { .kind = KIND_UNIFIED };
    work_set(&work, FIELD_counterKind, (uint64_t)counter);
    work_set(&work, FIELD_address, address);
    work_set(&work, FIELD_value, value);
    work_set(&work, FIELD_srcId, to_device ? UINT32_MAX : (uint64_t)stream->context->device);
    work_set(&work, FIELD_dstId, to_device ? (uint64_t)stream->context->device : UINT32_MAX);
    work_set(&work, FIELD_processId, (uint64_t)getpid());
    work_set(&work, FIELD_flags, counter <= 2 ? 2 : 1);
    stream_submit(stream, &work, 0);
}

/* ---- Modules --------------------------------------------------------------------------------------------------- */

/* Names live in the module's own page and go with it. */
struct module {
    uint32_t id;
    char *names;
    size_t bytes;
};

EXPORT int gpu_module_load(void **handle, const char *kernels)
{
    uint64_t start = tool_now();
    const struct gpu_context *context = gpu_current();
    struct module *module = malloc(sizeof *module);
    struct {
        uint32_t id;
        size_t bytes;
        const char *image;
    } descriptor = { 0 };
    char *names = gpu_cubin_names(kernels, &descriptor.bytes); /* NULL: it is a list of names itself */
    descriptor.image = names ? kernels : NULL;
    kernels = names ? names : kernels;
    module->bytes = strlen(kernels) + 1;
    module->id = atomic_fetch_add(&gpu.modules, 1) + 1;
    module->names = mmap(NULL, module->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(module->names, kernels, module->bytes);
    for (char *c = module->names; *c; c++)
        if (*c == '\n')
            *c = 0;
    struct fake_work compiled = { .kind = KIND_JIT };
    work_set(&compiled, FIELD_jitEntryType, 1);
    work_set(&compiled, FIELD_jitOperationType, 3);
    work_set(&compiled, FIELD_deviceId, (uint64_t)context->device);
    work_set(&compiled, FIELD_start, start);
    work_set(&compiled, FIELD_end, tool_now());
    work_set(&compiled, FIELD_correlationId, call_correlation());
    work_set(&compiled, FIELD_jitOperationCorrelationId, module->id);
    work_set(&compiled, FIELD_processId, (uint64_t)getpid());
    work_set(&compiled, FIELD_threadId, (uint64_t)gettid());
    work_report(&compiled);
    struct fake_work loaded = { .kind = KIND_MODULE };
    work_set(&loaded, FIELD_contextId, context->id);
    work_set(&loaded, FIELD_id, module->id);
    work_set(&loaded, FIELD_cubinSize, module->bytes);
    work_set(&loaded, FIELD_cubin, (uintptr_t)module->names);
    work_report(&loaded);
    char *image = names ? NULL : gpu_cubin(module->names, module->bytes, &descriptor.bytes);
    descriptor.image = image ? image : descriptor.image;
    descriptor.id = module->id;
    report_resource(RESOURCE_MODULE_LOADED, gpu_current(), NULL, &descriptor);
    free(image); /* CUPTI promises it for the callback only */
    free(names);
    *handle = module;
    return 0;
}

EXPORT int gpu_module_kernel(const void **kernel, void *handle, const char *name)
{
    const struct module *module = handle;
    for (const char *at = module->names; at < module->names + module->bytes; at += strlen(at) + 1)
        if (strcmp(at, name) == 0) {
            *kernel = kernel_create(at);
            return 0;
        }
    return NOT_FOUND;
}

EXPORT int gpu_module_unload(void *handle)
{
    struct module *module = handle;
    struct {
        uint32_t id;
        size_t bytes;
        const char *image;
    } descriptor = { module->id, module->bytes, module->names };
    context_drain();
    report_resource(RESOURCE_MODULE_UNLOADED, gpu_current(), NULL, &descriptor);
    munmap(module->names, module->bytes);
    free(module);
    return 0;
}
