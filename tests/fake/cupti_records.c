/* Activity records as CUPTI lays them out: each kind's fields have kept their places, and newer versions append. */
#include <stdlib.h>
#include <string.h>

#include "cupti.h"

/* From which version on a record has so many bytes. */
struct size {
    uint32_t kind;
    int since;
    uint16_t bytes;
};
/* clang-format off */
static const struct size sizes[] = {
    { KIND_MEMCPY, 1108, 88 }, { KIND_MEMCPY, 1208, 96 }, { KIND_MEMCPY, 1304, 112 },
    { KIND_MEMSET, 1108, 88 }, { KIND_MEMSET, 1304, 104 },
    { 3, 1108, 200 }, { 3, 1200, 208 }, { 3, 1300, 216 }, { 3, 1301, 224 }, { 3, 1303, 232 }, { 3, 1304, 248 },
    { KIND_KERNEL, 1108, 200 }, { KIND_KERNEL, 1200, 208 }, { KIND_KERNEL, 1300, 216 }, { KIND_KERNEL, 1301, 224 },
    { KIND_KERNEL, 1303, 232 }, { KIND_KERNEL, 1304, 248 },
    { KIND_DRIVER, 1108, 40 }, { KIND_RUNTIME, 1108, 40 },
    { KIND_CONTEXT, 1108, 16 }, { KIND_CONTEXT, 1204, 24 }, { KIND_CONTEXT, 1205, 32 }, { KIND_CONTEXT, 1301, 40 },
    { KIND_OVERHEAD, 1108, 40 }, { KIND_OVERHEAD, 1203, 48 }, { KIND_OVERHEAD, 1204, 56 },
    { KIND_PEER_COPY, 1108, 96 },
    { KIND_UNIFIED, 1108, 64 }, { KIND_UNIFIED, 1208, 104 },
    { KIND_MODULE, 1108, 24 }, { KIND_STREAM, 1108, 24 }, { KIND_EXTERNAL, 1108, 24 },
    { KIND_EVENT, 1108, 24 }, { KIND_EVENT, 1208, 56 },
    { KIND_SYNCHRONIZATION, 1108, 40 }, { KIND_SYNCHRONIZATION, 1208, 56 },
    { KIND_MEMORY, 1108, 120 }, { KIND_MEMORY, 1206, 128 },
    { KIND_POOL, 1108, 72 }, { KIND_POOL, 1300, 80 },
    { KIND_GRAPH, 1108, 48 }, { KIND_GRAPH, 1203, 56 },
    { KIND_JIT, 1108, 64 }, { KIND_JIT, 1204, 72 },
    { 60, 1108, 48 }, /* the kind that nobody knows */
};
/* clang-format on */

size_t record_bytes(uint32_t kind)
{
    size_t bytes = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (sizes[i].kind == kind && sizes[i].since <= FAKE_CUPTI)
            bytes = sizes[i].bytes;
    return bytes ? bytes + (size_t)fake_get("larger") : 0;
}

struct place {
    uint32_t field;
    uint16_t offset, bytes;
};
#define AT(field, offset, bytes) { FIELD_##field, offset, bytes }
/* clang-format off */
static const struct place kernel[] = {
    AT(cacheConfig, 4, 1), AT(sharedMemoryConfig, 5, 1), AT(registersPerThread, 6, 2), AT(start, 16, 8), AT(end, 24, 8),
    AT(completed, 32, 8), AT(deviceId, 40, 4), AT(contextId, 44, 4), AT(streamId, 48, 4), AT(gridX, 52, 4),
    AT(gridY, 56, 4), AT(gridZ, 60, 4), AT(blockX, 64, 4), AT(blockY, 68, 4), AT(blockZ, 72, 4),
    AT(staticSharedMemory, 76, 4), AT(dynamicSharedMemory, 80, 4), AT(localMemoryPerThread, 84, 4),
    AT(localMemoryTotal, 88, 4), AT(correlationId, 92, 4), AT(gridId, 96, 8), AT(name, 104, 8), AT(launchType, 136, 1),
    AT(sharedMemoryExecuted, 140, 4), AT(graphNodeId, 144, 8), AT(graphId, 156, 4), AT(channelID, 168, 4),
    AT(channelType, 172, 4), AT(clusterX, 176, 4), AT(clusterY, 180, 4), AT(clusterZ, 184, 4),
    AT(localMemoryTotal_v2, 192, 8), AT(priority, 216, 4), { FIELD_COUNT, 0, 0 },
};
static const struct place copy[] = {
    AT(copyKind, 4, 1), AT(srcKind, 5, 1), AT(dstKind, 6, 1), AT(flags, 7, 1), AT(bytes, 8, 8), AT(start, 16, 8),
    AT(end, 24, 8), AT(deviceId, 32, 4), AT(contextId, 36, 4), AT(streamId, 40, 4), AT(correlationId, 44, 4),
    AT(graphNodeId, 64, 8), AT(graphId, 72, 4), AT(channelID, 76, 4), AT(channelType, 80, 4), AT(copyCount, 88, 8),
    { FIELD_COUNT, 0, 0 },
};
static const struct place peer_copy[] = {
    AT(copyKind, 4, 1), AT(srcKind, 5, 1), AT(dstKind, 6, 1), AT(flags, 7, 1), AT(bytes, 8, 8), AT(start, 16, 8),
    AT(end, 24, 8), AT(deviceId, 32, 4), AT(contextId, 36, 4), AT(streamId, 40, 4), AT(srcDeviceId, 44, 4),
    AT(srcContextId, 48, 4), AT(dstDeviceId, 52, 4), AT(dstContextId, 56, 4), AT(correlationId, 60, 4),
    AT(graphNodeId, 72, 8), AT(graphId, 80, 4), { FIELD_COUNT, 0, 0 },
};
static const struct place fill[] = {
    AT(value, 4, 4), AT(bytes, 8, 8), AT(start, 16, 8), AT(end, 24, 8), AT(deviceId, 32, 4), AT(contextId, 36, 4),
    AT(streamId, 40, 4), AT(correlationId, 44, 4), AT(flags, 48, 2), AT(memoryKind, 50, 2), AT(graphNodeId, 64, 8),
    AT(graphId, 72, 4), { FIELD_COUNT, 0, 0 },
};
static const struct place call[] = {
    AT(cbid, 4, 4), AT(start, 8, 8), AT(end, 16, 8), AT(processId, 24, 4), AT(threadId, 28, 4),
    AT(correlationId, 32, 4), AT(returnValue, 36, 4), { FIELD_COUNT, 0, 0 },
};
static const struct place context[] = {
    AT(contextId, 4, 4), AT(deviceId, 8, 4), AT(computeApiKind, 12, 2), AT(nullStreamId, 14, 2), { FIELD_COUNT, 0, 0 },
};
static const struct place overhead[] = {
    AT(overheadKind, 4, 4), AT(objectKind, 8, 4), AT(objectProcess, 12, 4), AT(objectThread, 16, 4), AT(start, 24, 8),
    AT(end, 32, 8), AT(correlationId, 40, 4), { FIELD_COUNT, 0, 0 },
};
static const struct place unified[] = {
    AT(counterKind, 4, 4), AT(value, 8, 8), AT(start, 16, 8), AT(end, 24, 8), AT(address, 32, 8), AT(srcId, 40, 4),
    AT(dstId, 44, 4), AT(streamId, 48, 4), AT(processId, 52, 4), AT(flags, 56, 4), { FIELD_COUNT, 0, 0 },
};
static const struct place module[] = {
    AT(contextId, 4, 4), AT(id, 8, 4), AT(cubinSize, 12, 4), AT(cubin, 16, 8), { FIELD_COUNT, 0, 0 },
};
static const struct place stream[] = {
    AT(contextId, 4, 4), AT(streamId, 8, 4), AT(priority, 12, 4), AT(flag, 16, 4), AT(correlationId, 20, 4),
    { FIELD_COUNT, 0, 0 },
};
static const struct place event[] = {
    AT(correlationId, 4, 4), AT(contextId, 8, 4), AT(streamId, 12, 4), AT(eventId, 16, 4), AT(deviceId, 24, 4),
    AT(deviceTimestamp, 40, 8), AT(cudaEventSyncId, 48, 8), { FIELD_COUNT, 0, 0 },
};
static const struct place synchronization[] = {
    AT(type, 4, 4), AT(start, 8, 8), AT(end, 16, 8), AT(correlationId, 24, 4), AT(contextId, 28, 4),
    AT(streamId, 32, 4), AT(cudaEventId, 36, 4), AT(cudaEventSyncId, 40, 8), AT(returnValue, 48, 4),
    { FIELD_COUNT, 0, 0 },
};
static const struct place memory[] = {
    AT(memoryOperationType, 4, 4), AT(memoryKind, 8, 4), AT(correlationId, 12, 4), AT(address, 16, 8), AT(bytes, 24, 8),
    AT(timestamp, 32, 8), AT(processId, 48, 4), AT(deviceId, 52, 4), AT(contextId, 56, 4), AT(streamId, 60, 4),
    AT(name, 64, 8), AT(isAsync, 72, 4), AT(memoryPoolType, 80, 4), AT(poolAddress, 88, 8), AT(releaseThreshold, 96, 8),
    AT(poolSize, 104, 8), AT(utilizedSize, 112, 8), { FIELD_COUNT, 0, 0 },
};
static const struct place pool[] = {
    AT(memoryPoolOperationType, 4, 4), AT(memoryPoolType, 8, 4), AT(correlationId, 12, 4), AT(processId, 16, 4),
    AT(deviceId, 20, 4), AT(minBytesToKeep, 24, 8), AT(address, 32, 8), AT(size, 40, 8), AT(releaseThreshold, 48, 8),
    AT(timestamp, 56, 8), AT(utilizedSize, 64, 8), { FIELD_COUNT, 0, 0 },
};
static const struct place graph[] = {
    AT(correlationId, 4, 4), AT(start, 8, 8), AT(end, 16, 8), AT(deviceId, 24, 4), AT(graphId, 28, 4),
    AT(contextId, 32, 4), AT(streamId, 36, 4), AT(endDeviceId, 48, 4), AT(endContextId, 52, 4), { FIELD_COUNT, 0, 0 },
};
static const struct place jit[] = {
    AT(jitEntryType, 4, 4), AT(jitOperationType, 8, 4), AT(deviceId, 12, 4), AT(start, 16, 8), AT(end, 24, 8),
    AT(correlationId, 32, 4), AT(jitOperationCorrelationId, 40, 8), AT(cacheSize, 48, 8), AT(cachePath, 56, 8),
    AT(processId, 64, 4), AT(threadId, 68, 4), { FIELD_COUNT, 0, 0 },
};
/* clang-format on */
static const struct place none[] = { { FIELD_COUNT, 0, 0 } };

static const struct place *const layouts[KIND_COUNT] = {
    [KIND_MEMCPY] = copy,
    [KIND_MEMSET] = fill,
    [3] = kernel,
    [KIND_KERNEL] = kernel,
    [KIND_DRIVER] = call,
    [KIND_RUNTIME] = call,
    [KIND_CONTEXT] = context,
    [KIND_OVERHEAD] = overhead,
    [KIND_PEER_COPY] = peer_copy,
    [KIND_UNIFIED] = unified,
    [KIND_MODULE] = module,
    [KIND_STREAM] = stream,
    [KIND_EVENT] = event,
    [KIND_SYNCHRONIZATION] = synchronization,
    [KIND_MEMORY] = memory,
    [KIND_POOL] = pool,
    [KIND_GRAPH] = graph,
    [KIND_JIT] = jit,
    [60] = none,
};

static void put(unsigned char *to, size_t room, const struct place *places, uint32_t field, uint64_t value)
{
    for (const struct place *place = places; place->field != FIELD_COUNT; place++)
        if (place->field == field && (size_t)place->offset + place->bytes <= room)
            memcpy(to + place->offset, &value, place->bytes); /* both machines are little-endian */
}

/* What a newer version has appended is not zero. */
void record_write(unsigned char *to, const struct fake_work *work)
{
    size_t bytes = record_bytes(work->kind), more = (size_t)fake_get("larger");
    const struct place *places = layouts[work->kind];
    memset(to, 0, bytes - more);
    memset(to + bytes - more, 0x5a, more);
    memcpy(to, &work->kind, 4);
    for (uint32_t i = 0; i < work->count; i++) {
        uint32_t field = work->set[i].field;
        uint64_t value = work->set[i].value;
        if (work->on_gpu && value && (field == FIELD_start || field == FIELD_end || field == FIELD_deviceTimestamp))
            value = clock_convert(value);
        put(to, bytes - more, places, field, value);
        if (field == FIELD_end)
            put(to, bytes - more, places, FIELD_completed, value);
    }
}
