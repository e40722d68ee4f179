/* CUPTI's records, as CUPTI 11.8, 12.4, 12.9 and 13.0 write them, become the rows that nsys has for them. */
#include "abi/cuda_code.h"
#include "cuda_scene.h"
#include "wire/wire_cuda.h"

#define KERNELS "CUPTI_ACTIVITY_KIND_KERNEL"
#define COPIES "CUPTI_ACTIVITY_KIND_MEMCPY"
#define FILLS "CUPTI_ACTIVITY_KIND_MEMSET"
#define CALLS "CUPTI_ACTIVITY_KIND_RUNTIME"
#define GRAPHS "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"

/* What cuptiGetVersion() says (19 is ours for 12.0), and the sizes of records, from the vendor's headers. */
static const struct version {
    uint32_t number, kernel_bytes, memcpy_bytes, event_bytes;
} versions[] = {
    { 18, 200, 88, 24 },     /* 11.8 */
    { 22, 208, 88, 24 },     /* 12.4 */
    { 28, 208, 96, 56 },     /* 12.9 */
    { 130001, 216, 96, 56 }, /* 13.0 */
};
#define VERSIONS COUNT_OF(versions)

#define NAME 0x7f0000001000
#define MANGLED "_Z5saxpyfPKfPfi"

/* ---- Work of the GPU, in all versions -------------------------------------------------------------------------- */

static size_t put_gpu_work(unsigned char *bytes, const struct version *version)
{
    unsigned char *kernel = bytes, *copy = kernel + version->kernel_bytes, *fill = copy + version->memcpy_bytes;
    put_kernel(kernel, 77, 5000, 5900, NAME);
    kernel[4] = 2 << 4 | 1;                 /* cache: asked for 1, used 2 */
    put16(kernel, 6, 40);                   /* registers */
    put32(kernel, 40, 1);                   /* device */
    put32(kernel, 44, 2);                   /* context */
    put32(kernel, 48, 13);                  /* stream */
    for (uint32_t i = 0; i < 6; i++)
        put32(kernel, 52 + 4 * i, 100 + i); /* grid, block */
    put32(kernel, 76, 2304);                /* static, dynamic shared memory */
    put32(kernel, 80, 1024);
    put32(kernel, 84, 16);                  /* local memory of a thread, of all */
    put64(kernel, 192, UINT64_C(5) << 32);
    put64(kernel, 96, 9);                   /* grid id */
    kernel[136] = 1;                        /* cooperative */
    put32(kernel, 140, 32768);              /* shared memory executed */
    put64(kernel, 144, 8589934592);         /* graph node */
    put32(kernel, 152, 1);                  /* limit: opt in */
    put32(kernel, 156, 6);                  /* graph */
    put32(kernel, 176, 2);                  /* cluster */
    put32(kernel, 180, 3);
    put32(kernel, 184, 4);

    put32(copy, 0, 1);
    copy[4] = 1, copy[5] = 1, copy[6] = 3; /* host to device, pageable to device */
    put64(copy, 8, 4194304);
    put64(copy, 16, 6000);
    put64(copy, 24, 6100);
    put32(copy, 32, 1), put32(copy, 36, 2), put32(copy, 40, 7), put32(copy, 44, 78);
    if (version->memcpy_bytes == 96)
        put64(copy, 88, 3); /* copies in it */

    put32(fill, 0, 2);
    put32(fill, 4, 255);
    put64(fill, 8, 2097152);
    put64(fill, 16, 6200);
    put64(fill, 24, 6300);
    put32(fill, 32, 1), put32(fill, 36, 2), put32(fill, 40, 14), put32(fill, 44, 79);
    put16(fill, 50, 3); /* device memory */
    return version->kernel_bytes + version->memcpy_bytes + 88;
}

static void expect_gpu_work(struct scene *scene, const struct version *version)
{
    scene_expect(scene, KERNELS, 0,
                 (struct scene_expected[]){ { "start", 4000 },
                                            { "end", 4900 },
                                            { "deviceId", 1 },
                                            { "contextId", 2 },
                                            { "greenContextId", 0 },
                                            { "streamId", 13 },
                                            { "correlationId", 77 },
                                            { "globalPid", SCENE_GLOBAL_PID },
                                            { "launchType", 2 },
                                            { "cacheConfig", 2 },
                                            { "registersPerThread", 40 },
                                            { "gridX", 100 },
                                            { "gridY", 101 },
                                            { "gridZ", 102 },
                                            { "blockX", 103 },
                                            { "blockY", 104 },
                                            { "blockZ", 105 },
                                            { "staticSharedMemory", 2304 },
                                            { "dynamicSharedMemory", 1024 },
                                            { "localMemoryPerThread", 16 },
                                            { "localMemoryTotal", INT64_C(5) << 32 },
                                            { "gridId", 9 },
                                            { "sharedMemoryExecuted", 32768 },
                                            { "graphNodeId", 8589934592 },
                                            { "sharedMemoryLimitConfig", 1 },
                                            { "graphId", 6 },
                                            { "clusterX", 2 },
                                            { "clusterY", 3 },
                                            { "clusterZ", 4 },
                                            { 0 } });
    assert_string_equal(scene_cell_text(scene, KERNELS, "mangledName", 0), MANGLED);
    assert_string_equal(scene_cell_text(scene, KERNELS, "demangledName", 0),
                        "saxpy(float, const float *, float *, int)");
    assert_string_equal(scene_cell_text(scene, KERNELS, "shortName", 0), "saxpy");
    assert_string_equal(scene_cell_text(scene, "TACHO_TORCH_KERNEL", "mangledName", 0), MANGLED);
    /* c++filt's */
    assert_string_equal(scene_cell_text(scene, "TACHO_TORCH_KERNEL", "nameId", 0),
                        "saxpy(float, float const*, float*, int)");
    scene_expect(scene, COPIES, 0,
                 (struct scene_expected[]){ { "start", 5000 },
                                            { "end", 5100 },
                                            { "deviceId", 1 },
                                            { "contextId", 2 },
                                            { "greenContextId", 0 },
                                            { "streamId", 7 },
                                            { "correlationId", 78 },
                                            { "globalPid", SCENE_GLOBAL_PID },
                                            { "bytes", 4194304 },
                                            { "copyKind", 1 },
                                            { "deprecatedSrcId", SCENE_NULL },
                                            { "srcKind", 0 },
                                            { "dstKind", 2 },
                                            { "srcDeviceId", SCENE_NULL },
                                            { "dstContextId", SCENE_NULL },
                                            { "migrationCause", SCENE_NULL },
                                            { "graphNodeId", SCENE_NULL },
                                            { "virtualAddress", SCENE_NULL },
                                            { "copyCount", version->memcpy_bytes == 96 ? 3 : SCENE_NULL },
                                            { 0 } });
    scene_expect(scene, FILLS, 0,
                 (struct scene_expected[]){ { "start", 5200 },
                                            { "end", 5300 },
                                            { "deviceId", 1 },
                                            { "contextId", 2 },
                                            { "greenContextId", 0 },
                                            { "streamId", 14 },
                                            { "correlationId", 79 },
                                            { "globalPid", SCENE_GLOBAL_PID },
                                            { "value", 255 },
                                            { "bytes", 2097152 },
                                            { "graphNodeId", SCENE_NULL },
                                            { "memKind", 2 },
                                            { 0 } });
}

static void gpu_work_of_every_version_becomes_rows(void **state)
{
    for (size_t i = 0; i < VERSIONS; i++) {
        struct scene *scene = scene_begin(versions[i].number, 0);
        unsigned char bytes[512] = { 0 };
        scene_text(scene, WIRE_CUDA_NAME_POINTER, NAME, MANGLED);
        scene_send(scene, bytes, put_gpu_work(bytes, &versions[i]));
        scene_finish(scene);
        expect_gpu_work(scene, &versions[i]);
        assert_int_equal(scene->counts.recorded, 3);
        assert_int_equal(scene->counts.damaged + scene->counts.unknown_kind, 0);
        scene_end(scene);
    }
}

static void what_a_kernel_does_not_have_is_null(void **state)
{
    struct scene *scene = scene_begin(130001, 0);
    unsigned char kernel[216] = { 0 };
    put_kernel(kernel, 1, 0, 0, NAME); /* timestamps that were not collected, too */
    kernel[136] = 3;                   /* a command list: nsys has no word for it */
    scene_send(scene, kernel, sizeof kernel);
    scene_finish(scene);
    scene_expect(scene, KERNELS, 0,
                 (struct scene_expected[]){ { "start", 0 },
                                            { "end", 0 },
                                            { "graphNodeId", SCENE_NULL },
                                            { "graphId", SCENE_NULL },
                                            { "clusterX", SCENE_NULL },
                                            { "clusterY", SCENE_NULL },
                                            { "clusterZ", SCENE_NULL },
                                            { "launchType", 0 },
                                            { 0 } });
    assert_string_equal(scene_cell_text(scene, KERNELS, "demangledName", 0), "0x7f0000001000");
    scene_end(scene);
}

/* ---- Calls ----------------------------------------------------------------------------------------------------- */

static void calls_have_names_threads_and_results(void **state)
{
    struct scene *scene = scene_begin(22, 0);
    unsigned char calls[3 * 40] = { 0 };
    scene_text(scene, WIRE_CUDA_NAME_RUNTIME, 211, "cudaLaunchKernel_v7000");
    scene_text(scene, WIRE_CUDA_NAME_DRIVER, 211, "cuMemAlloc_v2");
    put_call(calls, 5, 211, 5, 2000, 2500, SCENE_PID, 0);
    put_call(calls + 40, 4, 211, 6, 3000, 3001, 99, 2);
    put_call(calls + 80, 5, 999, 7, 3002, 3003, 99, 0);
    scene_send(scene, calls, sizeof calls);
    scene_finish(scene);
    assert_int_equal(scene_rows(scene, CALLS), 3);
    scene_expect(scene, CALLS, 0,
                 (struct scene_expected[]){ { "start", 1000 },
                                            { "end", 1500 },
                                            { "eventClass", 0 },
                                            { "globalTid", SCENE_GLOBAL_PID | SCENE_PID },
                                            { "correlationId", 5 },
                                            { "returnValue", 0 },
                                            { "callchainId", SCENE_NULL },
                                            { 0 } });
    scene_expect(scene, CALLS, 1,
                 (struct scene_expected[]){
                     { "eventClass", 1 }, { "globalTid", SCENE_GLOBAL_PID | 99 }, { "returnValue", 2 }, { 0 } });
    assert_string_equal(scene_cell_text(scene, CALLS, "nameId", 0), "cudaLaunchKernel_v7000");
    assert_string_equal(scene_cell_text(scene, CALLS, "nameId", 1), "cuMemAlloc_v2");
    assert_string_equal(scene_cell_text(scene, CALLS, "nameId", 2), "runtime call 999");
    scene_end(scene);
}

static void calls_of_the_agent_are_left_out(void **state)
{
    struct scene *scene = scene_begin(22, 0);
    unsigned char calls[2 * 40] = { 0 };
    atomic_store(&wire_cuda(scene->arena)->thread, 66);
    put_call(calls, 5, 1, 5, 2000, 2500, 66, 0);
    put_call(calls + 40, 5, 1, 6, 3000, 3001, 67, 0);
    scene_send(scene, calls, sizeof calls);
    scene_finish(scene);
    assert_int_equal(scene_rows(scene, CALLS), 1);
    assert_int_equal(scene_cell(scene, CALLS, "correlationId", 0), 6);
    scene_end(scene);
}

/* ---- Buffers --------------------------------------------------------------------------------------------------- */

static void buffers_are_read_in_the_order_of_their_delivery(void **state)
{
    struct scene *scene = scene_begin(22, 0);
    uint32_t indices[3];
    for (uint32_t i = 0; i < 3; i++) {
        indices[i] = scene_lend(scene);
        put_call(scene_bytes(scene, indices[i]), 5, 1, i, 2000, 2001, 1, 0);
    }
    scene_deliver(scene, indices[2], 40);
    scene_deliver(scene, indices[0], 40);
    scene_deliver(scene, indices[1], 40);
    assert_int_equal(scene_read(scene), 120);
    scene_finish(scene);
    assert_int_equal(scene_cell(scene, CALLS, "correlationId", 0), 2);
    assert_int_equal(scene_cell(scene, CALLS, "correlationId", 1), 0);
    assert_int_equal(scene_cell(scene, CALLS, "correlationId", 2), 1);
    scene_end(scene);
}

static void a_buffer_goes_back_as_zeros(void **state)
{
    struct scene *scene = scene_begin(22, 0);
    static const unsigned char zeros[WIRE_CUDA_BUFFER_BYTES];
    uint64_t sent = 0;
    for (int round = 0; round < 20; round++) { /* more than there are */
        uint32_t index = scene_lend(scene);
        assert_int_not_equal(index, WIRE_NONE);
        assert_memory_equal(scene_bytes(scene, index), zeros, sizeof zeros);
        uint32_t bytes = 0;
        for (; bytes + 40 <= WIRE_CUDA_BUFFER_BYTES; bytes += 40, sent++)
            put_call(scene_bytes(scene, index) + bytes, 5, 1, (uint32_t)sent, 2000 + sent, 2001 + sent, 1, 0);
        scene_deliver(scene, index, bytes);
        scene_read(scene);
    }
    assert_int_equal(atomic_load(&wire_cuda(scene->arena)->buffers_taken), 1);
    scene_finish(scene);
    assert_int_equal(scene_rows(scene, CALLS), sent);
    assert_int_equal(scene->counts.recorded, sent);
    scene_end(scene);
}

static void work_in_a_round_is_bounded(void **state)
{
    struct scene *scene = scene_begin(22, 0);
    for (uint32_t i = 0; i < SCENE_BUFFERS; i++) {
        uint32_t index = scene_lend(scene);
        for (uint32_t at = 0; at < 40000; at += 40)
            put_call(scene_bytes(scene, index) + at, 5, 1, at, 2000, 2001, 1, 0);
        scene_deliver(scene, index, 40000);
    }
    cuda_note(scene->cuda);
    assert_int_equal(cuda_read(scene->cuda, 1, 1), 40000); /* one at least */
    cuda_note(scene->cuda);
    assert_int_equal(cuda_read(scene->cuda, 80000, 1), 80000);
    scene_finish(scene);
    assert_int_equal(scene_rows(scene, CALLS), SCENE_BUFFERS * 1000);
    scene_end(scene);
}

static void free_buffers_can_be_trimmed_and_used_again(void **state)
{
    struct scene *scene = scene_begin(22, 0);
    unsigned char call[40] = { 0 };
    put_call(call, 5, 1, 1, 2000, 2001, 1, 0);
    scene_lend(scene);
    scene_send(scene, call, sizeof call);
    cuda_trim(scene->cuda);
    scene_send(scene, call, sizeof call);
    assert_int_equal(atomic_load(&wire_cuda(scene->arena)->buffers_taken), 2);
    scene_finish(scene);
    assert_int_equal(scene_rows(scene, CALLS), 2);
    scene_end(scene);
}

/* ---- Buffers that were never delivered ------------------------------------------------------------------------- */

static void finished_records_of_a_dead_process_are_recovered(void **state)
{
    struct scene *scene = scene_begin(130001, 0);
    unsigned char *bytes = scene_bytes(scene, scene_lend(scene));
    scene_text(scene, WIRE_CUDA_NAME_RUNTIME, 211, "cudaLaunchKernel_v7000");
    put_kernel(bytes, 1, 5000, 5900, NAME);
    put_kernel(bytes + 216, 2, 6000, 0, NAME); /* runs still */
    put_kernel(bytes + 432, 3, 7000, 7900, NAME);
    put32(bytes + 648 + 16, 0, 1);             /* half a record: its kind is not there yet */
    unsigned char *calls = scene_bytes(scene, scene_lend(scene));
    for (uint32_t i = 1; i <= 3; i++)
        put_call(calls + 40 * (i - 1), 5, 211, i, 1000 * i, 1000 * i + 10, 1, 0);
    scene_finish(scene);
    assert_int_equal(scene_rows(scene, KERNELS), 2);
    assert_int_equal(scene_cell(scene, KERNELS, "correlationId", 0), 1);
    assert_int_equal(scene_cell(scene, KERNELS, "correlationId", 1), 3);
    assert_int_equal(scene_rows(scene, CALLS), 3);
    assert_int_equal(scene->counts.recorded, 0);
    assert_int_equal(scene->counts.recovered, 5);
    assert_int_equal(scene->counts.unfinished, 2);
    assert_int_equal(scene->counts.launches, 3);
    assert_int_equal(scene->counts.launches_without_kernel, 1);
    scene_end(scene);
}

static void a_record_that_no_call_is_known_of_yet_is_unfinished(void **state)
{
    struct scene *scene = scene_begin(130001, 0);
    unsigned char *bytes = scene_bytes(scene, scene_lend(scene));
    put_kernel(bytes, 1, 5000, 5900, NAME);
    put_kernel(bytes + 216, 0, 6000, 6900, NAME);
    scene_finish(scene);
    assert_int_equal(scene_rows(scene, KERNELS), 1);
    assert_int_equal(scene->counts.recovered, 1);
    assert_int_equal(scene->counts.unfinished, 1);
    scene_end(scene);
}

static void implausible_records_end_the_recovery(void **state)
{
    struct scene *scene = scene_begin(130001, 0);
    unsigned char *bytes = scene_bytes(scene, scene_lend(scene));
    put_kernel(bytes, 1, 5000, 5900, NAME);
    put_kernel(bytes + 216, 2, 9000, 8000, NAME);     /* ends before it begins */
    put_kernel(bytes + 432, 3, 9000, 9900, NAME);
    bytes = scene_bytes(scene, scene_lend(scene));
    put_kernel(bytes, 4, 5000, UINT64_MAX - 1, NAME); /* ends in the future */
    scene_finish(scene);
    assert_int_equal(scene_rows(scene, KERNELS), 1);
    assert_int_equal(scene->counts.recovered, 1);
    assert_int_equal(scene->counts.unfinished, 2);
    scene_end(scene);
}

/* ---- Other kinds, as 13.0 writes them -------------------------------------------------------------------------- */

static void a_copy_between_gpus_names_both(void **state)
{
    struct scene *scene = scene_begin(130001, 0);
    unsigned char copy[96] = { 0 };
    put32(copy, 0, 22);
    copy[4] = 10, copy[5] = copy[6] = 3; /* peer to peer, device to device */
    put64(copy, 8, 100), put64(copy, 16, 2000), put64(copy, 24, 2100);
    put32(copy, 32, 0), put32(copy, 36, 1), put32(copy, 40, 7);
    put32(copy, 44, 0), put32(copy, 48, 1), put32(copy, 52, 3), put32(copy, 56, 4), put32(copy, 60, 55);
    scene_send(scene, copy, sizeof copy);
    scene_finish(scene);
    scene_expect(scene, COPIES, 0,
                 (struct scene_expected[]){ { "copyKind", 10 },
                                            { "bytes", 100 },
                                            { "srcDeviceId", 0 },
                                            { "srcContextId", 1 },
                                            { "dstDeviceId", 3 },
                                            { "dstContextId", 4 },
                                            { "correlationId", 55 },
                                            { "srcKind", 2 },
                                            { "dstKind", 2 },
                                            { "copyCount", SCENE_NULL },
                                            { 0 } });
    scene_end(scene);
}

static void a_graph_is_one_row(void **state)
{
    struct scene *scene = scene_begin(130001, 0);
    unsigned char graph[56] = { 0 };
    put32(graph, 0, 51), put32(graph, 4, 300);
    put64(graph, 8, 3000), put64(graph, 16, 3500);
    put32(graph, 24, 0), put32(graph, 28, 12), put32(graph, 32, 1), put32(graph, 36, 13);
    scene_send(scene, graph, sizeof graph);
    scene_finish(scene);
    scene_expect(scene, GRAPHS, 0,
                 (struct scene_expected[]){ { "start", 2000 },
                                            { "end", 2500 },
                                            { "deviceId", 0 },
                                            { "contextId", 1 },
                                            { "streamId", 13 },
                                            { "correlationId", 300 },
                                            { "graphId", 12 },
                                            { "graphExecId", 12 },
                                            { "greenContextId", 0 },
                                            { 0 } });
    scene_end(scene);
}

/* The values are those of a capture by nsys of the program `mix`. */
static void memory_that_is_taken_and_given_back(void **state)
{
    struct scene *scene = scene_begin(130001, 0);
    unsigned char memory[2 * 128] = { 0 };
    put32(memory, 0, 49), put32(memory, 4, 1), put32(memory, 8, 5), put32(memory, 12, 118); /* taken, managed */
    put64(memory, 16, 139656599437312), put64(memory, 24, 4194304), put64(memory, 32, 486301927);
    put32(memory, 52, 0), put32(memory, 56, 1), put32(memory, 60, UINT32_MAX);
    unsigned char *async = memory + 128;
    put32(async, 0, 49), put32(async, 4, 2), put32(async, 8, 3);
    put64(async, 32, 9000), put32(async, 60, 14), put32(async, 72, 1); /* in a stream, from a pool */
    put32(async, 80, 1), put64(async, 88, 0x1000), put64(async, 96, 7), put64(async, 104, 65536),
        put64(async, 112, 4096);
    scene_send(scene, memory, sizeof memory);
    scene_finish(scene);
    scene_expect(scene, "CUDA_GPU_MEMORY_USAGE_EVENTS", 0,
                 (struct scene_expected[]){ { "start", 486300927 },
                                            { "globalPid", SCENE_GLOBAL_PID },
                                            { "deviceId", 0 },
                                            { "contextId", 1 },
                                            { "address", 139656599437312 },
                                            { "pc", 0 },
                                            { "bytes", 4194304 },
                                            { "memKind", 4 },
                                            { "memoryOperationType", 0 },
                                            { "name", SCENE_NULL },
                                            { "correlationId", 118 },
                                            { "streamId", SCENE_NULL },
                                            { "localMemoryPoolAddress", SCENE_NULL },
                                            { "importedMemoryPoolAddress", SCENE_NULL },
                                            { 0 } });
    scene_expect(scene, "CUDA_GPU_MEMORY_USAGE_EVENTS", 1,
                 (struct scene_expected[]){ { "memKind", 2 },
                                            { "memoryOperationType", 1 },
                                            { "streamId", 14 },
                                            { "localMemoryPoolAddress", 0x1000 },
                                            { "localMemoryPoolReleaseThreshold", 7 },
                                            { "localMemoryPoolSize", 65536 },
                                            { "localMemoryPoolUtilizedSize", 4096 },
                                            { 0 } });
    scene_end(scene);
}

static void pools_have_their_events(void **state)
{
    struct scene *scene = scene_begin(130001, 0);
    unsigned char pool[80] = { 0 };
    /* trimmed, local */
    put32(pool, 0, 50), put32(pool, 4, 3), put32(pool, 8, 1), put32(pool, 12, 6), put32(pool, 20, 1);
    put64(pool, 24, 11), put64(pool, 32, 0x2000), put64(pool, 40, 22), put64(pool, 48, 33), put64(pool, 56, 4000),
        put64(pool, 64, 44);
    scene_send(scene, pool, sizeof pool);
    scene_finish(scene);
    scene_expect(scene, "CUDA_GPU_MEMORY_POOL_EVENTS", 0,
                 (struct scene_expected[]){ { "start", 3000 },
                                            { "deviceId", 1 },
                                            { "address", 0x2000 },
                                            { "operationType", 3 },
                                            { "poolType", 1 },
                                            { "correlationId", 6 },
                                            { "minBytesToKeep", 11 },
                                            { "localMemoryPoolSize", 22 },
                                            { "localMemoryPoolReleaseThreshold", 33 },
                                            { "localMemoryPoolUtilizedSize", 44 },
                                            { 0 } });
    scene_end(scene);
}

static void put_unified(unsigned char *record, uint32_t kind, uint64_t value, uint32_t from, uint32_t to,
                        uint32_t flags)
{
    put32(record, 0, 25), put32(record, 4, kind), put64(record, 8, value);
    put64(record, 16, 5000), put64(record, 24, 5600), put64(record, 32, 0x7000);
    put32(record, 40, from), put32(record, 44, to), put32(record, 56, flags);
}

static void unified_memory_moves_and_faults(void **state)
{
    struct scene *scene = scene_begin(130001, 0);
    unsigned char records[5 * 104] = { 0 };
    struct process_module module = {
        .address = 0x400000,
        .bytes = 0x1000,
        .path_id = writer_string(scene->writer, "/tmp/mix", 8),
    };
    scene->process.modules = &module;
    scene->process.module_count = 1;
    put_unified(records, 1, 8192, UINT32_MAX, 2, 3);       /* host to device 2, speculative prefetch */
    put_unified(records + 104, 2, 4096, 2, UINT32_MAX, 2); /* device 2 to host, page fault */
    put_unified(records + 208, 8, 65536, 2, 3, 1);         /* device to device */
    put_unified(records + 312, 3, 0x400123, 0, 0, 0);      /* the CPU faults; the value is the instruction */
    put_unified(records + 416, 4, 25, 2, 0, 1);            /* the GPU faults, reading */
    scene_send(scene, records, sizeof records);
    scene->process.module_count = 0;
    scene_finish(scene);
    scene_expect(scene, COPIES, 0,
                 (struct scene_expected[]){ { "start", 4000 },
                                            { "end", 4600 },
                                            { "deviceId", 2 },
                                            { "contextId", 0 },
                                            { "greenContextId", SCENE_NULL },
                                            { "streamId", 0 },
                                            { "correlationId", 0 },
                                            { "bytes", 8192 },
                                            { "copyKind", 11 },
                                            { "srcKind", 7 },
                                            { "dstKind", 7 },
                                            { "migrationCause", 3 },
                                            { "virtualAddress", 0x7000 },
                                            { "copyCount", SCENE_NULL },
                                            { 0 } });
    scene_expect(scene, COPIES, 1,
                 (struct scene_expected[]){
                     { "copyKind", 12 }, { "deviceId", 2 }, { "migrationCause", 2 }, { "bytes", 4096 }, { 0 } });
    scene_expect(scene, COPIES, 2,
                 (struct scene_expected[]){
                     { "copyKind", 13 }, { "deviceId", 3 }, { "srcDeviceId", 2 }, { "dstDeviceId", 3 }, { 0 } });
    scene_expect(scene, "CUDA_UM_CPU_PAGE_FAULT_EVENTS", 0,
                 (struct scene_expected[]){ { "start", 4000 },
                                            { "address", 0x7000 },
                                            { "originalFaultPc", 0x400123 },
                                            { "unresolvedFaultPc", 1 },
                                            { 0 } });
    assert_string_equal(scene_cell_text(scene, "CUDA_UM_CPU_PAGE_FAULT_EVENTS", "CpuInstruction", 0), "0x400123");
    assert_string_equal(scene_cell_text(scene, "CUDA_UM_CPU_PAGE_FAULT_EVENTS", "module", 0), "/tmp/mix");
    scene_expect(scene, "CUDA_UM_GPU_PAGE_FAULT_EVENTS", 0,
                 (struct scene_expected[]){ { "start", 4000 },
                                            { "end", 4600 },
                                            { "deviceId", 2 },
                                            { "address", 0x7000 },
                                            { "numberOfPageFaults", 25 },
                                            { "faultAccessType", 1 },
                                            { 0 } });
    scene_end(scene);
}

static void overhead_and_compilation(void **state)
{
    struct scene *scene = scene_begin(130001, 0);
    unsigned char records[56 + 72] = { 0 }, *jit = records + 56;
    put32(records, 0, 17), put32(records, 4, 1 << 16), put32(records, 8, 2), put32(records, 12, SCENE_PID),
        put32(records, 16, 66);
    put64(records, 24, 2000), put64(records, 32, 2500);
    put32(jit, 0, 52), put32(jit, 4, 1), put32(jit, 8, 3), put32(jit, 12, 0), put64(jit, 16, 3000),
        put64(jit, 24, 9000), put32(jit, 32, 8);
    put64(jit, 48, 1024), put64(jit, 56, NAME);
    scene_text(scene, WIRE_CUDA_NAME_POINTER, NAME, "/root/.nv/ComputeCache");
    scene_send(scene, records, sizeof records);
    scene_finish(scene);
    scene_expect(scene, "PROFILER_OVERHEAD", 0,
                 (struct scene_expected[]){ { "start", 1000 },
                                            { "end", 1500 },
                                            { "globalTid", SCENE_GLOBAL_PID | 66 },
                                            { "returnValue", 0 },
                                            { 0 } });
    assert_string_equal(scene_cell_text(scene, "PROFILER_OVERHEAD", "nameId", 0), "CUPTI Buffer flush");
    scene_expect(scene, "TACHO_CUDA_JIT", 0,
                 (struct scene_expected[]){ { "start", 2000 },
                                            { "end", 8000 },
                                            { "globalPid", SCENE_GLOBAL_PID },
                                            { "deviceId", 0 },
                                            { "correlationId", 8 },
                                            { "cacheSize", 1024 },
                                            { 0 } });
    assert_string_equal(scene_cell_text(scene, "TACHO_CUDA_JIT", "entry", 0), "ptx-to-cubin");
    assert_string_equal(scene_cell_text(scene, "TACHO_CUDA_JIT", "operation", 0), "compile");
    assert_string_equal(scene_cell_text(scene, "TACHO_CUDA_JIT", "cachePath", 0), "/root/.nv/ComputeCache");
    scene_end(scene);
}

/* ---- Machine code ---------------------------------------------------------------------------------------------- */

#define CODE "TACHO_KERNEL_CODE"

/* The order in which names and code arrive does not matter, and only kernels that ran have rows. */
static void code_of_kernels_that_ran_becomes_rows(void **state)
{
    enum { BYTES = 208 };
    static const char *const names[] = { "with", "without", "mixed", "of an unseen module" };
    struct scene *scene = scene_begin(22, 0);
    unsigned char kernels[4 * BYTES] = { 0 };

    (void)state;
    for (uint64_t i = 0; i < 4; i++) {
        put_kernel(kernels + i * BYTES, (uint32_t)(70 + i), 5000 + 100 * i, 5050 + 100 * i, NAME + i);
        scene_text(scene, WIRE_CUDA_NAME_POINTER, NAME + i, names[i]);
    }
    scene_tell(scene, WIRE_CUDA_CODE, 90, 0, 2000,
               (uint64_t[]){ wire_cuda_code("with", CUDA_CODE_FP16), wire_cuda_code("without", 0),
                             wire_cuda_code("mixed", 0), wire_cuda_code("never launched", CUDA_CODE_FP8) },
               4, NULL);
    scene_send(scene, kernels, sizeof kernels);
    scene_tell(scene, WIRE_CUDA_CODE, 90, 0, 2000,
               (uint64_t[]){ wire_cuda_code("with", CUDA_CODE_BF16), wire_cuda_code("mixed", CUDA_CODE_INT8) }, 2,
               NULL);
    scene_finish(scene);
    assert_int_equal(scene_rows(scene, CODE), 3);
    for (size_t row = 0; row < 3; row++) {
        const char *name = scene_cell_text(scene, CODE, "mangledName", row);
        int is_mixed = strcmp(name, "mixed") == 0;

        if (strcmp(name, "without") != 0)
            assert_string_equal(scene_cell_text(scene, CODE, "tensorTypes", row), is_mixed ? "int8" : "fp16,bf16");
        scene_expect(scene, CODE, row,
                     (struct scene_expected[]){ { "sm", 90 },
                                                { "globalPid", SCENE_GLOBAL_PID },
                                                { "isMixed", is_mixed ? 1 : SCENE_NULL },
                                                { 0 } });
    }
    scene_end(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_of_kernels_that_ran_becomes_rows),
        cmocka_unit_test(gpu_work_of_every_version_becomes_rows),
        cmocka_unit_test(what_a_kernel_does_not_have_is_null),
        cmocka_unit_test(calls_have_names_threads_and_results),
        cmocka_unit_test(calls_of_the_agent_are_left_out),
        cmocka_unit_test(buffers_are_read_in_the_order_of_their_delivery),
        cmocka_unit_test(a_buffer_goes_back_as_zeros),
        cmocka_unit_test(work_in_a_round_is_bounded),
        cmocka_unit_test(free_buffers_can_be_trimmed_and_used_again),
        cmocka_unit_test(finished_records_of_a_dead_process_are_recovered),
        cmocka_unit_test(a_record_that_no_call_is_known_of_yet_is_unfinished),
        cmocka_unit_test(implausible_records_end_the_recovery),
        cmocka_unit_test(a_copy_between_gpus_names_both),
        cmocka_unit_test(a_graph_is_one_row),
        cmocka_unit_test(memory_that_is_taken_and_given_back),
        cmocka_unit_test(pools_have_their_events),
        cmocka_unit_test(unified_memory_moves_and_faults),
        cmocka_unit_test(overhead_and_compilation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
