/* Devices, contexts and streams of CUDA: rows of the TARGET_INFO_ tables. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "collect/core/collector.h"
#include "cuda_records.h"
#include "cuda_state.h"

#define STREAMS_MAX 4096u /* a search goes through all of them */
#define NAMES_MAX 4096u
#define VM_ID (COLLECTOR_VM_ID >> 48)

/* ---- Devices --------------------------------------------------------------------------------------------------- */

/* Offsets in the body of WIRE_CUDA_DEVICE, in words. */
enum { DEVICE_MEMORY, DEVICE_UUID, DEVICE_CUDA_VERSION = 3, DEVICE_PCI, DEVICE_ATTRIBUTES };

struct cuda_device_rows {
    const uint64_t *body;
    uint32_t attribute_count;
    uint32_t ordinal;
    const char *name;
    size_t name_length;
};

static int64_t cuda_devices_attribute(const struct cuda_device_rows *device, uint32_t number)
{
    int32_t value;
    if (number >= device->attribute_count)
        return -1;
    memcpy(&value, (const char *)(device->body + DEVICE_ATTRIBUTES) + (size_t)number * sizeof value, sizeof value);
    return value;
}

/* Chips that the compute capability identifies; other capabilities stand for several chips. */
static const char *chip_name(const struct cuda_device_rows *device)
{
    static const struct {
        int64_t major, minor;
        const char *name;
    } chips[] = {
        { 6, 0, "GP100" }, { 7, 0, "GV100" }, { 8, 0, "GA100" }, { 9, 0, "GH100" }, { 10, 0, "GB100" },
    };
    for (size_t i = 0; i < COUNT_OF(chips); i++)
        if (cuda_devices_attribute(device, CUDA_DEVICE_COMPUTE_CAPABILITY_MAJOR) == chips[i].major &&
            cuda_devices_attribute(device, CUDA_DEVICE_COMPUTE_CAPABILITY_MINOR) == chips[i].minor)
            return chips[i].name;
    return NULL;
}

static int64_t cuda_devices_string_id(struct cuda_process *cuda, const char *text)
{
    return writer_string(cuda->writer, text, strlen(text));
}

static void cuda_devices_set_texts(struct cuda_process *cuda, struct row_TARGET_INFO_GPU *row,
                                   const struct cuda_device_rows *device)
{
    const unsigned char *uuid = (const unsigned char *)(device->body + DEVICE_UUID);
    uint64_t pci = device->body[DEVICE_PCI];
    char text[64];
    size_t at = 0;
    ROW_SET(row, TARGET_INFO_GPU, name, writer_string(cuda->writer, device->name, device->name_length));
    snprintf(text, sizeof text, "%04x:%02x:%02x.%x", (unsigned)(pci >> 32), (unsigned)(pci >> 16 & 0xffff),
             (unsigned)(pci >> 8 & 0xff), (unsigned)(pci & 0xff));
    ROW_SET(row, TARGET_INFO_GPU, busLocation, cuda_devices_string_id(cuda, text));
    for (int i = 0; i < 16; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                               uuid[i]);
    ROW_SET(row, TARGET_INFO_GPU, uuid, cuda_devices_string_id(cuda, text));
    if (chip_name(device))
        ROW_SET(row, TARGET_INFO_GPU, chipName, cuda_devices_string_id(cuda, chip_name(device)));
}

/* Columns that are a driver attribute times a factor. */
#define ATTRIBUTE_COLUMNS(X)                                                          \
    X(l2CacheSize, L2_CACHE_SIZE, 1)                                                  \
    X(clockRate, CLOCK_RATE, 1000)                                                    \
    X(smCount, MULTIPROCESSOR_COUNT, 1)                                               \
    X(constantMemory, TOTAL_CONSTANT_MEMORY, 1)                                       \
    X(maxRegistersPerBlock, MAX_REGISTERS_PER_BLOCK, 1)                               \
    X(maxShmemPerBlock, MAX_SHARED_MEMORY_PER_BLOCK, 1)                               \
    X(maxShmemPerBlockOptin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 1)                    \
    X(maxShmemPerSm, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 1)                         \
    X(maxRegistersPerSm, MAX_REGISTERS_PER_MULTIPROCESSOR, 1)                         \
    X(threadsPerWarp, WARP_SIZE, 1)                                                   \
    X(asyncEngines, ASYNC_ENGINE_COUNT, 1)                                            \
    X(maxBlocksPerSm, MAX_BLOCKS_PER_MULTIPROCESSOR, 1)                               \
    X(maxThreadsPerBlock, MAX_THREADS_PER_BLOCK, 1)                                   \
    X(maxBlockDimX, MAX_BLOCK_DIM_X, 1) X(maxBlockDimY, MAX_BLOCK_DIM_Y, 1) X(maxBlockDimZ, MAX_BLOCK_DIM_Z, 1) \
    X(maxGridDimX, MAX_GRID_DIM_X, 1) X(maxGridDimY, MAX_GRID_DIM_Y, 1) X(maxGridDimZ, MAX_GRID_DIM_Z, 1)       \
    X(computeMajor, COMPUTE_CAPABILITY_MAJOR, 1) X(computeMinor, COMPUTE_CAPABILITY_MINOR, 1)                   \
    X(smMajor, COMPUTE_CAPABILITY_MAJOR, 1) X(smMinor, COMPUTE_CAPABILITY_MINOR, 1)

static void set_attributes(struct row_TARGET_INFO_GPU *row, const struct cuda_device_rows *device)
{
#define SET_ATTRIBUTE(column, number, factor)                                                \
    if (cuda_devices_attribute(device, CUDA_DEVICE_##number) >= 0)                           \
        ROW_SET(row, TARGET_INFO_GPU, column, cuda_devices_attribute(device, CUDA_DEVICE_##number) * factor);
    ATTRIBUTE_COLUMNS(SET_ATTRIBUTE)
#undef SET_ATTRIBUTE
    int64_t clock = cuda_devices_attribute(device, CUDA_DEVICE_MEMORY_CLOCK_RATE),
            bus = cuda_devices_attribute(device, CUDA_DEVICE_GLOBAL_MEMORY_BUS_WIDTH);
    if (clock > 0 && bus > 0) /* kHz and bits, two transfers a cycle */
        ROW_SET(row, TARGET_INFO_GPU, memoryBandwidth, clock * 1000 * 2 * (bus / 8));
    int64_t threads = cuda_devices_attribute(device, CUDA_DEVICE_MAX_THREADS_PER_MULTIPROCESSOR),
            warp = cuda_devices_attribute(device, CUDA_DEVICE_WARP_SIZE);
    if (threads > 0 && warp > 0)
        ROW_SET(row, TARGET_INFO_GPU, maxWarpsPerSm, threads / warp);
    if (cuda_devices_attribute(device, CUDA_DEVICE_INTEGRATED) >= 0)
        ROW_SET(row, TARGET_INFO_GPU, isDiscrete, !cuda_devices_attribute(device, CUDA_DEVICE_INTEGRATED));
}

static void cuda_devices_gpu_row(struct cuda_process *cuda, const struct cuda_device_rows *device, uint32_t id)
{
    struct row_TARGET_INFO_GPU row = { 0 };
    ROW_SET(&row, TARGET_INFO_GPU, vmId, COLLECTOR_VM_ID);
    ROW_SET(&row, TARGET_INFO_GPU, id, id);
    cuda_devices_set_texts(cuda, &row, device);
    set_attributes(&row, device);
    ROW_SET(&row, TARGET_INFO_GPU, totalMemory, (int64_t)device->body[DEVICE_MEMORY]);
    ROW_SET(&row, TARGET_INFO_GPU, cuDevice, device->ordinal);
    ROW_SET(&row, TARGET_INFO_GPU, pwGpuId, id);
    ROW_SET(&row, TARGET_INFO_GPU, luid, 0);
    ROW_SET(&row, TARGET_INFO_GPU, nodeMask, 0);
    ROW_SET(&row, TARGET_INFO_GPU, maxIPC, 0);
    writer_append(cuda->writer, TABLE_TARGET_INFO_GPU, &row);
}

uint32_t cuda_gpus_find(struct cuda_gpus *gpus, const void *uuid, uint64_t pci, int is_of_cuda)
{
    for (uint32_t i = 0; i < gpus->count; i++)
        if (memcmp(gpus->list[i].uuid, uuid, sizeof gpus->list[i].uuid) == 0)
            return i;
    for (uint32_t i = 0; i < gpus->count; i++)
        if (pci && gpus->list[i].pci == pci && !(is_of_cuda && gpus->list[i].is_of_cuda))
            return i;
    if (gpus->count == CUDA_GPUS_MAX)
        return CUDA_GPUS_MAX;
    memcpy(gpus->list[gpus->count].uuid, uuid, sizeof gpus->list[0].uuid);
    gpus->list[gpus->count].pci = pci;
    return gpus->count++;
}

/* The number of the GPU in this capture; a new GPU gets its row. */
static uint32_t cuda_devices_gpu_of(struct cuda_process *cuda, const struct cuda_device_rows *device)
{
    struct cuda_gpus *gpus = cuda->setup.gpus;
    uint32_t number = cuda_gpus_find(gpus, device->body + DEVICE_UUID, device->body[DEVICE_PCI], 1);
    if (number == CUDA_GPUS_MAX || gpus->list[number].is_of_cuda)
        return number;
    gpus->list[number].is_of_cuda = 1;
    gpus->of_cuda++;
    cuda_devices_gpu_row(cuda, device, number);
    return number;
}

CUDA_TOLD(cuda_device_told)
{
    struct cuda_device_rows device = { .body = record->body, .attribute_count = record->b, .ordinal = record->a };
    uint32_t fixed = WIRE_HEAD_WORDS + DEVICE_ATTRIBUTES + (device.attribute_count + 1) / 2;
    if (words < fixed)
        return -1;
    device.name = (const char *)record + (size_t)fixed * 8;
    device.name_length = strnlen(device.name, (size_t)(words - fixed) * 8);
    uint32_t gpu = cuda_devices_gpu_of(cuda, &device);
    cuda->setup.gpus->cuda_version = (uint32_t)device.body[DEVICE_CUDA_VERSION];
    struct row_TARGET_INFO_CUDA_DEVICE row = { 0 };
    if (gpu < CUDA_GPUS_MAX)
        ROW_SET(&row, TARGET_INFO_CUDA_DEVICE, gpuId, gpu);
    ROW_SET(&row, TARGET_INFO_CUDA_DEVICE, cudaId, device.ordinal);
    ROW_SET(&row, TARGET_INFO_CUDA_DEVICE, pid, cuda->setup.pid);
    writer_append(cuda->writer, TABLE_TARGET_INFO_CUDA_DEVICE, &row);
    return 0;
}

/* ---- Contexts -------------------------------------------------------------------------------------------------- */

const struct cuda_context *cuda_context_find(const struct cuda_process *cuda, uint32_t id)
{
    for (uint32_t i = 0; i < cuda->target.context_count; i++)
        if (cuda->target.contexts[i].id == id)
            return &cuda->target.contexts[i];
    return NULL;
}

static void cuda_devices_add_context(struct cuda_process *cuda, const struct cuda_context *context, int64_t null_stream)
{
    if (cuda_context_find(cuda, context->id))
        return;
    if (cuda->target.context_count < CUDA_CONTEXTS_MAX)
        cuda->target.contexts[cuda->target.context_count++] = *context;
    cuda->target.any_green |= context->is_green;
    struct row_TARGET_INFO_CUDA_CONTEXT_INFO row = { 0 };
    ROW_SET(&row, TARGET_INFO_CUDA_CONTEXT_INFO, nullStreamId, null_stream);
    ROW_SET(&row, TARGET_INFO_CUDA_CONTEXT_INFO, hwId, 0);
    ROW_SET(&row, TARGET_INFO_CUDA_CONTEXT_INFO, vmId, VM_ID);
    ROW_SET(&row, TARGET_INFO_CUDA_CONTEXT_INFO, processId, cuda->setup.pid);
    ROW_SET(&row, TARGET_INFO_CUDA_CONTEXT_INFO, deviceId, context->device);
    ROW_SET(&row, TARGET_INFO_CUDA_CONTEXT_INFO, contextId, context->id);
    ROW_SET(&row, TARGET_INFO_CUDA_CONTEXT_INFO, parentContextId, context->parent);
    ROW_SET(&row, TARGET_INFO_CUDA_CONTEXT_INFO, isGreenContext, context->is_green);
    writer_append(cuda->writer, TABLE_TARGET_INFO_CUDA_CONTEXT_INFO, &row);
}

CUDA_HANDLER(cuda_context_record)
{
    int64_t parent = cupti_field(layout, record, CUPTI_CONTEXT_parentContextId);
    struct cuda_context context = {
        .id = (uint32_t)cupti_field(layout, record, CUPTI_CONTEXT_contextId),
        .device = (uint32_t)cupti_field(layout, record, CUPTI_CONTEXT_deviceId),
        .parent = parent == CUPTI_NO_FIELD ? 0 : (uint32_t)parent,
        .is_green = cupti_field(layout, record, CUPTI_CONTEXT_isGreenContext) == 1,
    };
    cuda_devices_add_context(cuda, &context, cupti_field(layout, record, CUPTI_CONTEXT_nullStreamId));
}

CUDA_HANDLER(cuda_green_context_record)
{
    struct cuda_context context = {
        .id = (uint32_t)cupti_field(layout, record, CUPTI_GREEN_CONTEXT_contextId),
        .device = (uint32_t)cupti_field(layout, record, CUPTI_GREEN_CONTEXT_deviceId),
        .parent = (uint32_t)cupti_field(layout, record, CUPTI_GREEN_CONTEXT_parentContextId),
        .is_green = 1,
    };
    cuda_devices_add_context(cuda, &context, 0);
}

/* ---- Streams --------------------------------------------------------------------------------------------------- */

static void stream_row(struct cuda_process *cuda, struct cuda_stream *stream, uint32_t priority, uint32_t flag)
{
    struct row_TARGET_INFO_CUDA_STREAM row = { 0 };
    stream->has_row = 1;
    ROW_SET(&row, TARGET_INFO_CUDA_STREAM, streamId, stream->id);
    ROW_SET(&row, TARGET_INFO_CUDA_STREAM, hwId, 0);
    ROW_SET(&row, TARGET_INFO_CUDA_STREAM, vmId, VM_ID);
    ROW_SET(&row, TARGET_INFO_CUDA_STREAM, processId, cuda->setup.pid);
    ROW_SET(&row, TARGET_INFO_CUDA_STREAM, contextId, stream->context);
    ROW_SET(&row, TARGET_INFO_CUDA_STREAM, priority, priority); /* nsys stores -5 as 4294967291 */
    ROW_SET(&row, TARGET_INFO_CUDA_STREAM, flag, flag);
    writer_append(cuda->writer, TABLE_TARGET_INFO_CUDA_STREAM, &row);
}

/* The stream of a context, existing or new; NULL if there are too many. */
static struct cuda_stream *cuda_devices_stream_of(struct cuda_target *target, uint32_t context, uint32_t id)
{
    for (size_t i = target->stream_count; i-- > 0;)
        if (target->streams[i].id == id && target->streams[i].context == context)
            return &target->streams[i];
    if (array_reserve_up_to(&target->streams, &target->stream_capacity, target->stream_count + 1, STREAMS_MAX,
                            sizeof *target->streams) != 0)
        return NULL;
    target->streams[target->stream_count] = (struct cuda_stream){ .context = context, .id = id };
    return &target->streams[target->stream_count++];
}

CUDA_HANDLER(cuda_stream_record)
{
    uint32_t context = (uint32_t)cupti_field(layout, record, CUPTI_STREAM_contextId),
             id = (uint32_t)cupti_field(layout, record, CUPTI_STREAM_streamId);
    struct cuda_stream *stream = cuda_devices_stream_of(&cuda->target, context, id),
                       forgotten = { .context = context, .id = id };
    if (!stream)
        stream = &forgotten;
    if (!stream->has_row)
        stream_row(cuda, stream, (uint32_t)cupti_field(layout, record, CUPTI_STREAM_priority),
                   (uint32_t)cupti_field(layout, record, CUPTI_STREAM_flag));
}

CUDA_TOLD(cuda_stream_told)
{
    if (words < WIRE_HEAD_WORDS + 2)
        return -1;
    struct cuda_stream *stream = cuda_devices_stream_of(&cuda->target, (uint32_t)(record->body[1] >> 32),
                                                        (uint32_t)record->body[1]);
    if (!stream)
        return 0;
    for (uint32_t i = 0; i < cuda->target.stream_count; i++) /* a handle is reused once its stream is gone */
        if (cuda->target.streams[i].handle == record->body[0])
            cuda->target.streams[i].handle = 0;
    stream->handle = record->body[0];
    return 0;
}

void cuda_name_stream(struct cuda_process *cuda, uint64_t handle, int64_t name_id)
{
    struct cuda_target *target = &cuda->target;
    if (array_reserve_up_to(&target->names, &target->name_capacity, target->name_count + 1, NAMES_MAX,
                            sizeof *target->names) != 0)
        return;
    target->names[target->name_count++] = (struct cuda_stream_name){ handle, name_id };
}

static void cuda_devices_name_row(struct cuda_process *cuda, const struct cuda_stream *stream, int64_t name_id)
{
    const struct cuda_context *context = cuda_context_find(cuda, stream->context);
    struct row_TARGET_INFO_NVTX_CUDA_STREAM row = { 0 };
    ROW_SET(&row, TARGET_INFO_NVTX_CUDA_STREAM, name, name_id);
    ROW_SET(&row, TARGET_INFO_NVTX_CUDA_STREAM, hwId, 0);
    ROW_SET(&row, TARGET_INFO_NVTX_CUDA_STREAM, vmId, VM_ID);
    ROW_SET(&row, TARGET_INFO_NVTX_CUDA_STREAM, processId, cuda->setup.pid);
    ROW_SET(&row, TARGET_INFO_NVTX_CUDA_STREAM, deviceId, context ? context->device : 0);
    ROW_SET(&row, TARGET_INFO_NVTX_CUDA_STREAM, contextId, stream->context);
    ROW_SET(&row, TARGET_INFO_NVTX_CUDA_STREAM, streamId, stream->id);
    writer_append(cuda->writer, TABLE_TARGET_INFO_NVTX_CUDA_STREAM, &row);
}

/* A name may come before the stream that it is for, if another thread created the stream. So names wait for the end. */
void cuda_target_finish(struct cuda_process *cuda)
{
    struct cuda_target *target = &cuda->target;
    for (uint32_t i = 0; i < target->stream_count; i++)
        if (!target->streams[i].has_row) /* CUPTI had no record of it */
            stream_row(cuda, &target->streams[i], 0, 0);
    for (uint32_t i = 0; i < target->name_count; i++)
        for (uint32_t j = 0; j < target->stream_count; j++)
            if (target->names[i].handle && target->streams[j].handle == target->names[i].handle)
                cuda_devices_name_row(cuda, &target->streams[j], target->names[i].name_id);
    free(target->streams);
    free(target->names);
    target->streams = NULL;
    target->names = NULL;
    target->stream_count = target->stream_capacity = target->name_count = target->name_capacity = 0;
}
