/* What belongs together: recordings of events and those who wait for them, launches and kernels, calls and their
 * callers, devices, contexts, streams and their names. */
#include "cuda_scene.h"

#include "abi/cuda_calls.h"
#include "collect/sources/cuda/cuda_launches.h"
#include "wire/wire_cuda.h"

#define EVENTS "CUPTI_ACTIVITY_KIND_CUDA_EVENT"
#define SYNCS "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
#define CALLS "CUPTI_ACTIVITY_KIND_RUNTIME"
#define NONE 4294967295

enum {
    LAUNCH = 211,
    RECORD = 135,
    STREAM_WAIT = 147,
    STREAM_SYNC = 131,
    DEVICE_SYNC = 165,
    EVENT_SYNC = 137,
    BEGIN = 317,
    END = 318,
    GRAPH = 311
};

static struct scene *begin(uint32_t flags)
{
    struct scene *scene = scene_begin(130001, flags);
    static const struct {
        uint64_t id;
        const char *name;
    } names[] = {
        { LAUNCH, "cudaLaunchKernel_v7000" },
        { RECORD, "cudaEventRecord_v3020" },
        { STREAM_WAIT, "cudaStreamWaitEvent_v3020" },
        { STREAM_SYNC, "cudaStreamSynchronize_v3020" },
        { DEVICE_SYNC, "cudaDeviceSynchronize_v3020" },
        { EVENT_SYNC, "cudaEventSynchronize_v3020" },
        { BEGIN, "cudaStreamBeginCapture_v10000" },
        { END, "cudaStreamEndCapture_v10000" },
        { GRAPH, "cudaGraphLaunch_v10000" },
    };
    for (size_t i = 0; i < COUNT_OF(names); i++)
        scene_text(scene, WIRE_CUDA_NAME_RUNTIME, names[i].id, names[i].name);
    scene_text(scene, WIRE_CUDA_NAME_DRIVER, 307, "cuLaunchKernel");
    return scene;
}

/* Context 1 on device 0. */
static void tell_wait(struct scene *scene, unsigned what, uint64_t ticks, uint32_t correlation, uint32_t stream,
                      uint64_t event)
{
    scene_tell(scene, WIRE_CUDA_WAIT, what, 0, ticks, (uint64_t[]){ correlation, UINT64_C(1) << 32 | stream, event }, 3,
               NULL);
}

static void send_call(struct scene *scene, uint32_t id, uint32_t correlation, uint64_t start, uint64_t end)
{
    unsigned char call[40] = { 0 };
    put_call(call, 5, id, correlation, start, end, 1, 0);
    scene_send(scene, call, sizeof call);
}

static void send_kernel(struct scene *scene, uint32_t correlation, uint64_t start)
{
    unsigned char kernel[216] = { 0 };
    put_kernel(kernel, correlation, start, start + 10, 0x1000);
    scene_send(scene, kernel, sizeof kernel);
}

/* ---- Events ---------------------------------------------------------------------------------------------------- */

/* The example wait_stream of nsys's: stream 13 waits for what stream 7 had done. */
static void a_wait_names_the_recording_that_it_is_for(void **state)
{
    struct scene *scene = begin(0);
    tell_wait(scene, CUDA_WAIT_EVENT_RECORD, 3000, 74, 7, 0xe0);
    tell_wait(scene, CUDA_WAIT_STREAM_FOR_EVENT, 3100, 80, 13, 0xe0);
    scene_read(scene);
    send_call(scene, STREAM_WAIT, 80, 3050, 3099);
    scene_finish(scene);
    scene_expect(scene, EVENTS, 0,
                 (struct scene_expected[]){ { "deviceId", 0 },
                                            { "contextId", 1 },
                                            { "greenContextId", 0 },
                                            { "streamId", 7 },
                                            { "correlationId", 74 },
                                            { "globalPid", SCENE_GLOBAL_PID },
                                            { "eventId", 1 },
                                            { "eventSyncId", 1 },
                                            { "timestamp", SCENE_NULL },
                                            { 0 } });
    scene_expect(scene, SYNCS, 0,
                 (struct scene_expected[]){ { "start", 2050 },
                                            { "end", 2099 },
                                            { "deviceId", 0 },
                                            { "contextId", 1 },
                                            { "greenContextId", SCENE_NULL },
                                            { "streamId", 13 },
                                            { "correlationId", 80 },
                                            { "globalPid", SCENE_GLOBAL_PID },
                                            { "deprecatedSyncType", SCENE_NULL },
                                            { "syncType", 2 },
                                            { "eventId", 1 },
                                            { "eventSyncId", 1 },
                                            { 0 } });
    scene_end(scene);
}

/* One thread records, another waits, and the one that waits is read first. */
static void the_order_is_that_of_time_not_of_reading(void **state)
{
    struct scene *scene = begin(0);
    tell_wait(scene, CUDA_WAIT_STREAM_FOR_EVENT, 3500, 11, 13, 0xe0);
    tell_wait(scene, CUDA_WAIT_STREAM_FOR_EVENT, 4500, 13, 13, 0xe0);
    tell_wait(scene, CUDA_WAIT_EVENT_RECORD, 3000, 10, 7, 0xe0);
    tell_wait(scene, CUDA_WAIT_EVENT_RECORD, 4000, 12, 7, 0xe0);
    send_call(scene, STREAM_WAIT, 11, 3400, 3450);
    send_call(scene, STREAM_WAIT, 13, 4400, 4450);
    scene_finish(scene);
    assert_int_equal(scene_rows(scene, SYNCS), 2);
    scene_expect(scene, SYNCS, 0, (struct scene_expected[]){ { "correlationId", 11 }, { "eventSyncId", 1 }, { 0 } });
    scene_expect(scene, SYNCS, 1, (struct scene_expected[]){ { "correlationId", 13 }, { "eventSyncId", 2 }, { 0 } });
    scene_expect(scene, EVENTS, 1,
                 (struct scene_expected[]){ { "correlationId", 12 }, { "eventId", 1 }, { "eventSyncId", 2 }, { 0 } });
    scene_end(scene);
}

/* Programs that make an event for every step: their handles may all be different. */
static void events_without_number(void **state)
{
    enum { COUNT = 600000, EARLY = 100000 };
    struct scene *scene = begin(0);
    for (uint32_t i = 1; i <= COUNT; i++)
        tell_wait(scene, CUDA_WAIT_EVENT_RECORD, i, 10, 7, UINT64_C(0x7f0000000000) + 64 * i);
    tell_wait(scene, CUDA_WAIT_STREAM_FOR_EVENT, COUNT + 1, 11, 13, UINT64_C(0x7f0000000000) + 64 * COUNT);
    tell_wait(scene, CUDA_WAIT_STREAM_FOR_EVENT, COUNT + 2, 12, 13, UINT64_C(0x7f0000000000) + 64 * EARLY);
    scene_read(scene);
    send_call(scene, STREAM_WAIT, 11, 3400, 3450);
    send_call(scene, STREAM_WAIT, 12, 3500, 3550);
    scene_finish(scene);
    scene_expect(scene, SYNCS, 0,
                 (struct scene_expected[]){
                     { "correlationId", 11 }, { "eventId", COUNT }, { "eventSyncId", COUNT }, { 0 } });
    scene_expect(scene, SYNCS, 1,
                 (struct scene_expected[]){
                     { "correlationId", 12 }, { "eventId", EARLY }, { "eventSyncId", EARLY }, { 0 } });
    scene_end(scene);
}

static void what_is_later_than_the_round_waits_for_the_next(void **state)
{
    struct scene *scene = begin(0);
    uint64_t never = UINT64_MAX / 2;
    tell_wait(scene, CUDA_WAIT_STREAM_FOR_EVENT, never, 11, 13, 0xe0); /* by another thread, after the round began */
    scene_read(scene);
    tell_wait(scene, CUDA_WAIT_EVENT_RECORD, never - 1, 10, 7, 0xe0);
    scene_read(scene);
    send_call(scene, STREAM_WAIT, 11, 3400, 3450);
    scene_finish(scene);
    scene_expect(scene, SYNCS, 0, (struct scene_expected[]){ { "correlationId", 11 }, { "eventSyncId", 1 }, { 0 } });
    scene_end(scene);
}

static void every_kind_of_wait_has_its_type(void **state)
{
    struct scene *scene = begin(0);
    tell_wait(scene, CUDA_WAIT_FOR_EVENT, 3000, 20, UINT32_MAX, 0xe1); /* of an event that was never recorded */
    tell_wait(scene, CUDA_WAIT_FOR_STREAM, 3100, 21, 14, 0);
    tell_wait(scene, CUDA_WAIT_FOR_CONTEXT, 3200, 22, 0, 0);
    send_call(scene, EVENT_SYNC, 20, 2900, 2990);
    send_call(scene, STREAM_SYNC, 21, 3001, 3090);
    send_call(scene, DEVICE_SYNC, 22, 3101, 3190);
    scene_finish(scene);
    scene_expect(scene, SYNCS, 0,
                 (struct scene_expected[]){
                     { "syncType", 1 }, { "eventId", 1 }, { "eventSyncId", NONE }, { "streamId", NONE }, { 0 } });
    scene_expect(scene, SYNCS, 1,
                 (struct scene_expected[]){
                     { "syncType", 3 }, { "eventId", NONE }, { "eventSyncId", NONE }, { "streamId", 14 }, { 0 } });
    scene_expect(scene, SYNCS, 2,
                 (struct scene_expected[]){ { "syncType", 4 },
                                            { "eventId", NONE },
                                            { "streamId", NONE },
                                            { "start", 2101 },
                                            { "end", 2190 },
                                            { 0 } });
    scene_end(scene);
}

static void a_call_may_come_before_or_never(void **state)
{
    struct scene *scene = begin(0);
    send_call(scene, STREAM_SYNC, 21, 3001, 3090);           /* first */
    tell_wait(scene, CUDA_WAIT_FOR_STREAM, 3100, 21, 14, 0);
    tell_wait(scene, CUDA_WAIT_FOR_STREAM, 4100, 22, 14, 0); /* the process died before its call was delivered */
    scene_finish(scene);
    scene_expect(scene, SYNCS, 0,
                 (struct scene_expected[]){ { "correlationId", 21 }, { "start", 2001 }, { "end", 2090 }, { 0 } });
    scene_expect(scene, SYNCS, 1,
                 (struct scene_expected[]){ { "correlationId", 22 }, { "start", 3100 }, { "end", 3100 }, { 0 } });
    scene_end(scene);
}

static void put_event(unsigned char *record, uint32_t correlation, uint64_t timestamp)
{
    put32(record, 0, 36), put32(record, 4, correlation), put32(record, 8, 1), put32(record, 12, 7),
        put32(record, 16, 99);
    put32(record, 24, 0), put64(record, 40, timestamp), put64(record, 48, 555);
}

static void with_event_trace_recordings_say_when_the_gpu_got_there(void **state)
{
    struct scene *scene = begin(WIRE_CUDA_EVENTS);
    unsigned char events[3 * 56] = { 0 };
    put_event(events, 74, 5000);
    put_event(events + 56, 75, 0);
    put_event(events + 112, 76, 6000);
    tell_wait(scene, CUDA_WAIT_EVENT_RECORD, 3000, 74, 7, 0xe0);
    tell_wait(scene, CUDA_WAIT_EVENT_RECORD, 3001, 75, 7, 0xe1);
    tell_wait(scene, CUDA_WAIT_EVENT_RECORD, 3002, 77, 7, 0xe1); /* CUPTI says nothing of it */
    scene_send(scene, events, sizeof events);
    scene_finish(scene);
    assert_int_equal(scene_rows(scene, EVENTS), 4);
    scene_expect(scene, EVENTS, 0,
                 (struct scene_expected[]){
                     { "correlationId", 74 }, { "eventId", 1 }, { "eventSyncId", 1 }, { "timestamp", 4000 }, { 0 } });
    scene_expect(scene, EVENTS, 1,
                 (struct scene_expected[]){ { "correlationId", 75 },
                                            { "eventId", 2 },
                                            { "eventSyncId", 2 },
                                            { "timestamp", SCENE_NULL },
                                            { 0 } });
    for (size_t row = 2; row < 4; row++) /* in no order: one without the GPU's half, one without the agent's */
        if (scene_cell(scene, EVENTS, "correlationId", row) == 76)
            scene_expect(scene, EVENTS, row,
                         (struct scene_expected[]){
                             { "eventId", 99 }, { "eventSyncId", 555 }, { "timestamp", 5000 }, { 0 } });
        else
            scene_expect(scene, EVENTS, row,
                         (struct scene_expected[]){
                             { "correlationId", 77 }, { "eventSyncId", 3 }, { "timestamp", SCENE_NULL }, { 0 } });
    scene_end(scene);
}

/* ---- Launches and kernels -------------------------------------------------------------------------------------- */

static void expect_truth(struct scene *scene, uint64_t launches, uint64_t without_kernel, uint64_t without_launch,
                         uint64_t before)
{
    scene_finish(scene);
    assert_int_equal(scene->counts.launches, launches);
    assert_int_equal(scene->counts.launches_without_kernel, without_kernel);
    assert_int_equal(scene->counts.kernels_without_launch, without_launch);
    assert_int_equal(scene->counts.kernels_before_launch, before);
    scene_end(scene);
}

static void launches_and_kernels_are_counted_against_each_other(void **state)
{
    struct scene *scene = begin(0);
    send_call(scene, LAUNCH, 1, 3000, 3010);
    send_kernel(scene, 1, 3020);
    send_kernel(scene, 2, 3120);             /* before its launch is read: no matter */
    send_call(scene, LAUNCH, 2, 3100, 3110);
    send_call(scene, LAUNCH, 3, 3200, 3210); /* no kernel */
    send_kernel(scene, 4, 3300);             /* no launch */
    send_call(scene, LAUNCH, 5, 3400, 3410);
    send_kernel(scene, 5, 3399);             /* before its launch in time */
    send_call(scene, STREAM_SYNC, 6, 3500, 3510);
    expect_truth(scene, 4, 1, 1, 1);
}

static void a_launch_that_failed_has_no_kernel_to_miss(void **state)
{
    struct scene *scene = begin(0);
    unsigned char call[40] = { 0 };
    put_call(call, 5, LAUNCH, 1, 3000, 3010, 1, 98);
    scene_send(scene, call, sizeof call);
    expect_truth(scene, 0, 0, 0, 0);
}

static void a_launch_into_a_graph_has_none_either(void **state)
{
    struct scene *scene = begin(0);
    send_call(scene, BEGIN, 1, 3000, 3010);
    send_call(scene, LAUNCH, 2, 3020, 3030);
    send_call(scene, LAUNCH, 3, 3040, 3050);
    send_call(scene, END, 4, 3060, 3070);
    send_call(scene, LAUNCH, 5, 3080, 3090); /* after it, and lost */
    send_call(scene, GRAPH, 6, 3100, 3110);
    for (int i = 0; i < 5; i++)
        send_kernel(scene, 6, 3200);         /* the nodes of the graph */
    expect_truth(scene, 4, 1, 0, 0);
}

static void the_driver_inside_the_runtime_is_one_launch(void **state)
{
    struct scene *scene = begin(0);
    unsigned char calls[160] = { 0 };
    put_call(calls, 4, 307, 10, 3005, 3008, 1, 0);          /* inner */
    put_call(calls + 40, 5, LAUNCH, 9, 3000, 3010, 1, 0);   /* outer: its id is the kernel's */
    put_call(calls + 80, 4, 307, 12, 3105, 3108, 1, 0);
    put_call(calls + 120, 5, LAUNCH, 11, 3100, 3110, 1, 0); /* here the inner one's is */
    send_kernel(scene, 12, 3220);
    scene_send(scene, calls, sizeof calls);
    send_kernel(scene, 9, 3120);
    expect_truth(scene, 2, 0, 0, 0);
}

static void one_launch_may_have_several_kernels(void **state)
{
    struct scene *scene = begin(0);
    send_call(scene, LAUNCH, 1, 3000, 3010); /* on all devices */
    send_kernel(scene, 1, 3020);
    send_kernel(scene, 1, 3021);
    expect_truth(scene, 1, 0, 0, 0);
}

static struct cuda_launch launch_of(uint32_t id)
{
    return (struct cuda_launch){ .from_ns = id, .to_ns = id, .id = id, .thread = 1 };
}

/* Ten million launches whose kernels come half a million ids later, of which every thousandth is lost. Ids
 * begin close to their end. */
static void pairs_take_bounded_memory(void **state)
{
    struct cuda_pairs *pairs = calloc(1, sizeof *pairs);
    uint32_t behind = 500000, count = 10000000, first = UINT32_MAX - 2000000;
    for (uint32_t i = 1; i <= count + behind; i++) {
        struct cuda_launch launch = launch_of(first + i);
        if (i <= count)
            cuda_launches_launch(pairs, &launch);
        if (i > behind && (i - behind) % 1000 != 0)
            cuda_launches_kernel(pairs, first + i - behind, UINT64_MAX);
    }
    assert_true(pairs->capacity <= 1u << 20);
    cuda_launches_settle(pairs);
    assert_int_equal(pairs->launches, count);
    assert_int_equal(pairs->launches_without_kernel, count / 1000);
    assert_int_equal(pairs->kernels_without_launch, 0);
    free(pairs);
}

static void halves_that_are_too_far_apart_are_both_counted(void **state)
{
    struct cuda_pairs *pairs = calloc(1, sizeof *pairs);
    struct cuda_launch old = launch_of(5), new = launch_of(5 + (1u << 20));
    cuda_launches_launch(pairs, &old);
    cuda_launches_launch(pairs, &new); /* drives the other out */
    cuda_launches_kernel(pairs, 5, UINT64_MAX);
    cuda_launches_kernel(pairs, 5 + (1u << 20), UINT64_MAX);
    cuda_launches_settle(pairs);
    assert_int_equal(pairs->launches_without_kernel, 1);
    assert_int_equal(pairs->kernels_without_launch, 1);
    free(pairs);
}

/* ---- Callers --------------------------------------------------------------------------------------------------- */

static void a_call_refers_to_its_chain(void **state)
{
    struct scene *scene = begin(0);
    cuda_chain(scene->cuda, 0, 41, (struct call_chains){ .native = 7 });
    cuda_chain(scene->cuda, 0, 42, (struct call_chains){ .native = 8, .interpreted = 3 });
    cuda_chain(scene->cuda, 1, 40,
               (struct call_chains){ .native = 9 }); /* another's: the driver's numbers are its own */
    send_call(scene, LAUNCH, 40, 2000, 2001);
    send_call(scene, LAUNCH, 42, 2002, 2003);
    send_call(scene, LAUNCH, 41, 2004, 2005);
    scene_finish(scene);
    assert_int_equal(scene_cell(scene, CALLS, "callchainId", 0), SCENE_NULL);
    assert_int_equal(scene_cell(scene, CALLS, "callchainId", 1), 8);
    assert_int_equal(scene_cell(scene, CALLS, "callchainId", 2), 7);
    assert_int_equal(scene_cell(scene, CALLS, "pythonCallchainId", 0), SCENE_NULL);
    assert_int_equal(scene_cell(scene, CALLS, "pythonCallchainId", 1), 3);
    assert_int_equal(scene_cell(scene, CALLS, "pythonCallchainId", 2), SCENE_NULL);
    scene_end(scene);
}

/* ---- Devices, contexts, streams -------------------------------------------------------------------------------- */

/* An H200 as the driver describes it; the row is the one in a capture by nsys. */
static void tell_h200(struct scene *scene, unsigned ordinal)
{
    static const struct {
        unsigned number;
        int value;
    } known[] = {
        { 1, 1024 },     { 2, 1024 },   { 3, 1024 },      { 4, 64 },     { 5, 2147483647 }, { 6, 65535 }, { 7, 65535 },
        { 8, 49152 },    { 9, 65536 },  { 10, 32 },       { 12, 65536 }, { 13, 1980000 },   { 16, 132 },  { 18, 0 },
        { 36, 3201000 }, { 37, 6016 },  { 38, 62914560 }, { 39, 2048 },  { 40, 3 },         { 75, 9 },    { 76, 0 },
        { 81, 233472 },  { 82, 65536 }, { 97, 232448 },   { 106, 32 },
    };
    static const unsigned char uuid[16] = { 0xa3, 0xee, 0xcc, 0xb6, 0x60, 0xb0, 0x06, 0x53,
                                            0x88, 0x05, 0x26, 0xd5, 0xa4, 0xfd, 0xf9, 0x19 };
    uint64_t body[5 + 54] = { [0] = 150109880320, [3] = 13000, [4] = 0x0000000000000600 };
    memcpy(body + 1, uuid, sizeof uuid);
    for (size_t i = 0; i < COUNT_OF(known); i++)
        memcpy((char *)(body + 5) + 4 * known[i].number, &known[i].value, 4);
    scene_tell(scene, WIRE_CUDA_DEVICE, ordinal, 107, 2000, body, 5 + 54, "NVIDIA H200");
}

static void a_gpu_has_the_properties_that_nsys_shows(void **state)
{
    struct scene *scene = begin(0);
    tell_h200(scene, 0);
    tell_h200(scene, 1); /* the same one again, by another number: one row */
    scene_finish(scene);
    assert_int_equal(scene_rows(scene, "TARGET_INFO_GPU"), 1);
    scene_expect(scene, "TARGET_INFO_GPU", 0,
                 (struct scene_expected[]){ { "vmId", 281474976710656 },
                                            { "id", 0 },
                                            { "isDiscrete", 1 },
                                            { "l2CacheSize", 62914560 },
                                            { "totalMemory", 150109880320 },
                                            { "memoryBandwidth", 4814304000000 },
                                            { "clockRate", 1980000000 },
                                            { "smCount", 132 },
                                            { "pwGpuId", 0 },
                                            { "luid", 0 },
                                            { "cuDevice", 0 },
                                            { "nodeMask", 0 },
                                            { "constantMemory", 65536 },
                                            { "maxIPC", 0 },
                                            { "maxRegistersPerBlock", 65536 },
                                            { "maxShmemPerBlock", 49152 },
                                            { "maxShmemPerBlockOptin", 232448 },
                                            { "maxShmemPerSm", 233472 },
                                            { "maxRegistersPerSm", 65536 },
                                            { "threadsPerWarp", 32 },
                                            { "asyncEngines", 3 },
                                            { "maxWarpsPerSm", 64 },
                                            { "maxBlocksPerSm", 32 },
                                            { "maxThreadsPerBlock", 1024 },
                                            { "maxBlockDimX", 1024 },
                                            { "maxBlockDimY", 1024 },
                                            { "maxBlockDimZ", 64 },
                                            { "maxGridDimX", 2147483647 },
                                            { "maxGridDimY", 65535 },
                                            { "maxGridDimZ", 65535 },
                                            { "computeMajor", 9 },
                                            { "computeMinor", 0 },
                                            { "smMajor", 9 },
                                            { "smMinor", 0 },
                                            { 0 } });
    assert_string_equal(scene_cell_text(scene, "TARGET_INFO_GPU", "name", 0), "NVIDIA H200");
    assert_string_equal(scene_cell_text(scene, "TARGET_INFO_GPU", "busLocation", 0), "0000:00:06.0");
    assert_string_equal(scene_cell_text(scene, "TARGET_INFO_GPU", "uuid", 0), "a3eeccb6-60b0-0653-8805-26d5a4fdf919");
    assert_string_equal(scene_cell_text(scene, "TARGET_INFO_GPU", "chipName", 0), "GH100");
    assert_int_equal(scene_rows(scene, "TARGET_INFO_CUDA_DEVICE"), 2);
    scene_expect(scene, "TARGET_INFO_CUDA_DEVICE", 1,
                 (struct scene_expected[]){ { "gpuId", 0 }, { "cudaId", 1 }, { "pid", SCENE_PID }, { 0 } });
    scene_end(scene);
}

static void put_context(unsigned char *record, uint32_t id, uint32_t device, uint32_t parent, int green)
{
    put32(record, 0, 9), put32(record, 4, id), put32(record, 8, device), put16(record, 12, 1), put16(record, 14, 7),
        put32(record, 16, parent);
    record[20] = (unsigned char)green;
}

static void contexts_and_streams_are_told_once(void **state)
{
    struct scene *scene = begin(0);
    unsigned char records[2 * 32 + 2 * 24] = { 0 }, *streams = records + 64;
    put_context(records, 1, 2, 0, 0);
    put_context(records + 32, 1, 2, 0, 0); /* a second time */
    put32(streams, 0, 37), put32(streams, 4, 1), put32(streams, 8, 12), put32(streams, 12, (uint32_t)-5),
        put32(streams, 16, 1);
    put32(streams + 24, 0, 37), put32(streams + 24, 4, 1), put32(streams + 24, 8, 14), put32(streams + 24, 16, 2);
    scene_send(scene, records, sizeof records);
    scene_tell(scene, WIRE_CUDA_STREAM, 1, 0, 2000, (uint64_t[]){ 0xabc, UINT64_C(1) << 32 | 14 }, 2, NULL);
    /* CUPTI did not tell of it */
    scene_tell(scene, WIRE_CUDA_STREAM, 2, 0, 2000, (uint64_t[]){ 0xdef, UINT64_C(1) << 32 | 15 }, 2, NULL);
    cuda_name_stream(scene->cuda, 0xabc, writer_string(scene->writer, "copies", 6));
    cuda_name_stream(scene->cuda, 0x123, writer_string(scene->writer, "no such stream", 14));
    scene_finish(scene);
    assert_int_equal(scene_rows(scene, "TARGET_INFO_CUDA_CONTEXT_INFO"), 1);
    scene_expect(scene, "TARGET_INFO_CUDA_CONTEXT_INFO", 0,
                 (struct scene_expected[]){ { "nullStreamId", 7 },
                                            { "hwId", 0 },
                                            { "vmId", 1 },
                                            { "processId", SCENE_PID },
                                            { "deviceId", 2 },
                                            { "contextId", 1 },
                                            { "parentContextId", 0 },
                                            { "isGreenContext", 0 },
                                            { 0 } });
    assert_int_equal(scene_rows(scene, "TARGET_INFO_CUDA_STREAM"), 3);
    scene_expect(scene, "TARGET_INFO_CUDA_STREAM", 0,
                 (struct scene_expected[]){ { "streamId", 12 },
                                            { "hwId", 0 },
                                            { "vmId", 1 },
                                            { "processId", SCENE_PID },
                                            { "contextId", 1 },
                                            { "priority", 4294967291 },
                                            { "flag", 1 },
                                            { 0 } });
    scene_expect(scene, "TARGET_INFO_CUDA_STREAM", 2,
                 (struct scene_expected[]){ { "streamId", 15 }, { "flag", 0 }, { 0 } });
    assert_int_equal(scene_rows(scene, "TARGET_INFO_NVTX_CUDA_STREAM"), 1);
    assert_string_equal(scene_cell_text(scene, "TARGET_INFO_NVTX_CUDA_STREAM", "name", 0), "copies");
    scene_expect(scene, "TARGET_INFO_NVTX_CUDA_STREAM", 0,
                 (struct scene_expected[]){ { "hwId", 0 },
                                            { "vmId", 1 },
                                            { "processId", SCENE_PID },
                                            { "deviceId", 2 },
                                            { "contextId", 1 },
                                            { "streamId", 14 },
                                            { 0 } });
    scene_end(scene);
}

static void work_of_a_green_context_is_its_parents(void **state)
{
    struct scene *scene = begin(0);
    unsigned char records[2 * 32 + 216] = { 0 };
    put_context(records, 1, 0, 0, 0);
    put_context(records + 32, 5, 0, 1, 1);
    put_kernel(records + 64, 9, 3000, 3100, 0x1000);
    put32(records + 64, 44, 5);
    scene_send(scene, records, sizeof records);
    scene_finish(scene);
    scene_expect(scene, "CUPTI_ACTIVITY_KIND_KERNEL", 0,
                 (struct scene_expected[]){ { "contextId", 1 }, { "greenContextId", 5 }, { 0 } });
    scene_end(scene);
}

static void a_flush_waits_for_the_buffers_delivered_before_it_alone(void **state)
{
    struct scene *scene = begin(0);
    uint32_t buffers[3];
    for (int i = 0; i < 3; i++) {
        buffers[i] = scene_lend(scene);
        put_kernel(scene_bytes(scene, buffers[i]), 9, 3000, 3100, 0x1000);
    }
    assert_true(cuda_reached_goal(scene->cuda)); /* CUPTI has them: there is nothing to read */
    scene_deliver(scene, buffers[0], 216);
    scene_deliver(scene, buffers[1], 216);
    cuda_set_goal(scene->cuda);
    cuda_note(scene->cuda);
    scene_deliver(scene, buffers[2], 216);
    assert_false(cuda_reached_goal(scene->cuda));
    cuda_read(scene->cuda, 1, 1); /* one buffer, as each is larger */
    assert_false(cuda_reached_goal(scene->cuda));
    cuda_read(scene->cuda, 1, 1);
    assert_true(cuda_reached_goal(scene->cuda));
    assert_int_equal(scene_descriptor(scene, buffers[2])->state, WIRE_CUDA_DELIVERED);
    scene_finish(scene);
    assert_int_equal(scene_rows(scene, "CUPTI_ACTIVITY_KIND_KERNEL"), 3);
    scene_end(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_names_the_recording_that_it_is_for),
        cmocka_unit_test(the_order_is_that_of_time_not_of_reading),
        cmocka_unit_test(events_without_number),
        cmocka_unit_test(what_is_later_than_the_round_waits_for_the_next),
        cmocka_unit_test(every_kind_of_wait_has_its_type),
        cmocka_unit_test(a_call_may_come_before_or_never),
        cmocka_unit_test(with_event_trace_recordings_say_when_the_gpu_got_there),
        cmocka_unit_test(launches_and_kernels_are_counted_against_each_other),
        cmocka_unit_test(a_launch_that_failed_has_no_kernel_to_miss),
        cmocka_unit_test(a_launch_into_a_graph_has_none_either),
        cmocka_unit_test(the_driver_inside_the_runtime_is_one_launch),
        cmocka_unit_test(one_launch_may_have_several_kernels),
        cmocka_unit_test(pairs_take_bounded_memory),
        cmocka_unit_test(halves_that_are_too_far_apart_are_both_counted),
        cmocka_unit_test(a_call_refers_to_its_chain),
        cmocka_unit_test(a_gpu_has_the_properties_that_nsys_shows),
        cmocka_unit_test(contexts_and_streams_are_told_once),
        cmocka_unit_test(work_of_a_green_context_is_its_parents),
        cmocka_unit_test(a_flush_waits_for_the_buffers_delivered_before_it_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
