/* The stand-ins themselves: a plain client of CUPTI subscribes, records, and gets what it should, version by version.
 *
 *     fake_client LIBCUPTI VERSION                                                                                    */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "cuda.h"
#include "fake.h"

static void *cupti;
static const char *version;

/* Calls by name: all take words and answer an int. */
static long call(const char *name, ...)
{
    long (*function)(long, long, long, long) = (long (*)(long, long, long, long))dlsym(cupti, name);
    assert_non_null(function);
    va_list list;
    long a[4];
    va_start(list, name);
    for (int i = 0; i < 4; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    return (int)function(a[0], a[1], a[2], a[3]);
}
#define CALL(name, ...) call(name, __VA_ARGS__, 0L, 0L, 0L, 0L)

/* ---- A client: it counts its records by kind, and keeps the last of each ---- */

static struct { int count; size_t bytes; unsigned char last[256]; } records[64];
static _Atomic int entered, left, resources[32];
static uint32_t last_correlation, last_cbid;

static uint64_t client_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void wanted(uint8_t **buffer, size_t *bytes, size_t *most)
{
    *bytes = 1000; /* no record divides it */
    *buffer = calloc(1, *bytes);
    *most = 0;
}

static void done(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
    assert_null(context);
    assert_int_equal(stream, 0);
    assert_in_range(valid, 1, bytes);
    uint8_t *record = NULL, *before = NULL;
    uint32_t kind = 0, kind_before;
    while (CALL("cuptiActivityGetNextRecord", (long)buffer, (long)valid, (long)&record) == 0) {
        kind_before = kind;
        memcpy(&kind, record, 4);
        assert_in_range(kind, 1, 63);
        if (before)
            records[kind_before].bytes = (size_t)(record - before);
        records[kind].count++;
        memcpy(records[kind].last, record, record + 256 < buffer + valid ? 256 : (size_t)(buffer + valid - record));
        before = record;
    }
    if (before)
        records[kind].bytes = (size_t)(buffer + valid - before);
    free(buffer);
}

static void told(void *user, int domain, uint32_t id, const void *data)
{
    struct { int site; const char *function; const void *params; void *result; const char *symbol; void *context; uint32_t uid; uint64_t *store; uint32_t correlation; } of;
    assert_ptr_equal(user, &cupti);
    if (domain == 3) {
        resources[id]++;
        return;
    }
    memcpy(&of, data, sizeof of);
    last_correlation = of.correlation;
    last_cbid = id;
    if (of.site == 0) {
        entered++;
        *of.store = of.correlation;
    } else {
        left++;
        assert_int_equal(*of.store, of.correlation);
        assert_int_equal(*(int *)of.result, 0);
    }
}

static uint64_t field(uint32_t kind, size_t offset, size_t bytes)
{
    uint64_t value = 0;
    memcpy(&value, records[kind].last + offset, bytes);
    return value;
}

static void *subscriber;

static int start(void **state)
{
    (void)state;
    assert_int_equal(CALL("cuptiSubscribe", (long)&subscriber, (long)told, (long)&cupti), 0);
    CALL("cuptiActivityRegisterTimestampCallback", (long)client_now);
    CALL("cuptiActivityRegisterCallbacks", (long)wanted, (long)done);
    CALL("cuptiSetThreadIdType", 1L);
    CALL("cuptiEnableDomain", 1L, (long)subscriber, 3L);
    return 0;
}

static void flush(void)
{
    assert_int_equal(CALL("cuptiActivityFlushAll", 0L), 0);
}

/* ---- What it should get ---- */

static void second_subscriber_is_refused(void **state)
{
    (void)state;
    void *second;
    assert_int_equal(CALL("cuptiSubscribe", (long)&second, (long)told, (long)&cupti), 39);
}

static void callbacks_come_in_pairs(void **state)
{
    (void)state;
    CALL("cuptiEnableCallback", 1L, (long)subscriber, 2L, 165L);
    assert_int_equal(cudaDeviceSynchronize(), 0);
    assert_int_equal(entered, 1);
    assert_int_equal(left, 1);
    assert_int_equal(last_cbid, 165);
    CALL("cuptiEnableCallback", 0L, (long)subscriber, 2L, 165L);
    cudaDeviceSynchronize();
    assert_int_equal(entered, 1);
    assert_int_equal(resources[1], 1); /* the context */
    assert_int_equal(resources[5], 1); /* the end of cuInit() */
    const char *name;
    assert_int_equal(CALL("cuptiGetCallbackName", 2L, 211L, (long)&name), 0);
    assert_string_equal(name, "cudaLaunchKernel_v7000");
    assert_int_equal(CALL("cuptiGetCallbackName", 1L, 307L, (long)&name), 0);
    assert_string_equal(name, "cuLaunchKernel");
    assert_int_equal(CALL("cuptiGetCallbackName", 2L, 999L, (long)&name), 1);
}

/* Bytes of a kernel, copy and synchronization record. */
static const struct { const char *version; size_t kernel, copy, wait; } sizes[] = {
    { "11.8", 200, 88, 40 }, { "12.0", 208, 88, 40 }, { "12.4", 208, 88, 40 }, { "12.6", 208, 88, 40 }, { "12.8", 208, 96, 56 },
    { "12.9", 208, 96, 56 }, { "13.0", 216, 96, 56 }, { "13.1", 224, 96, 56 }, { "13.4", 248, 112, 56 },
};

static void records_are_those_of_the_version(void **state)
{
    (void)state;
    CALL("cuptiActivityEnable", 10L);
    CALL("cuptiActivityEnable", 1L);
    CALL("cuptiActivityEnable", 38L);
    CALL("cuptiActivityEnable", 5L);
    void *memory;
    fake_set("duration_ns", 50000);
    fake_set("registers", 77);
    const void *kernel = fake_kernel("a kernel");
    cudaMalloc(&memory, 4096);
    cudaLaunchKernel(kernel, (struct dim3){ 5, 6, 7 }, (struct dim3){ 32, 2, 1 }, NULL, 99, NULL);
    struct fake_truth truth = fake_last();
    cudaMemcpyAsync(memory, "abc", 4, cudaMemcpyHostToDevice, NULL);
    cudaDeviceSynchronize();
    flush();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (strcmp(sizes[i].version, version) == 0) {
            assert_int_equal(records[10].bytes, sizes[i].kernel);
            assert_int_equal(records[1].bytes, sizes[i].copy);
            assert_int_equal(records[38].bytes, sizes[i].wait);
        }
    assert_int_equal(records[10].count, 1);
    assert_string_equal((const char *)(uintptr_t)field(10, 104, 8), "a kernel");
    assert_int_equal(field(10, 52, 4), 5);
    assert_int_equal(field(10, 60, 4), 7);
    assert_int_equal(field(10, 68, 4), 2);
    assert_int_equal(field(10, 80, 4), 99);
    assert_int_equal(field(10, 6, 2), 77);
    assert_int_equal(field(10, 92, 4), truth.correlation);
    assert_in_range(field(10, 24, 8) - field(10, 16, 8), 48000, 52000); /* clocks are compared while other threads run */
    assert_in_range(field(10, 16, 8), truth.start_ns - 2000, truth.start_ns + 2000);
    assert_int_equal(records[1].count, 1);
    assert_int_equal(field(1, 4, 1), 1);
    assert_int_equal(field(1, 5, 1), 1);
    assert_int_equal(field(1, 6, 1), 3);
    assert_int_equal(field(1, 8, 8), 4);
    assert_int_equal(records[5].count, 4); /* allocate, launch, copy, synchronise */
    assert_int_equal(field(5, 28, 4), gettid());
}

static void chosen_calls_alone(void **state)
{
    (void)state;
    CALL("cuptiActivityDisable", 5L);
    flush();
    int before = records[5].count;
    if (!dlsym(cupti, "cuptiActivityEnableRuntimeApi")) {
        assert_true(strcmp(version, "12.5") < 0);
        return;
    }
    CALL("cuptiActivityEnableRuntimeApi", 165L, 1L);
    int device;
    cudaGetDevice(&device);
    cudaDeviceSynchronize();
    flush();
    assert_int_equal(records[5].count - before, 1);
    assert_int_equal(field(5, 4, 4), 165);
}

static void graph_or_nodes(void **state)
{
    (void)state;
    void *stream, *graph, *exec;
    cudaStreamCreate(&stream);
    cudaStreamBeginCapture(stream, 0);
    for (int i = 0; i < 3; i++)
        cudaLaunchKernel(fake_kernel("node"), (struct dim3){ 1, 1, 1 }, (struct dim3){ 1, 1, 1 }, NULL, 0, stream);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiateWithFlags(&exec, graph, 0);
    flush();
    int kernels = records[10].count;
    cudaGraphLaunch(exec, stream);
    cudaDeviceSynchronize();
    flush();
    assert_int_equal(records[10].count - kernels, 3);
    assert_int_not_equal(field(10, 144, 8), 0);
    CALL("cuptiActivityEnable", 51L);
    cudaGraphLaunch(exec, stream);
    cudaDeviceSynchronize();
    flush();
    assert_int_equal(records[10].count - kernels, 3);
    assert_int_equal(records[51].count, 1);
}

static void drift_is_followed(void **state)
{
    (void)state;
    const void *kernel = fake_kernel("drifting");
    for (int i = 0; i < 50; i++) {
        cudaLaunchKernel(kernel, (struct dim3){ 1, 1, 1 }, (struct dim3){ 1, 1, 1 }, NULL, 0, NULL);
        struct fake_truth truth = fake_last();
        cudaDeviceSynchronize();
        flush();
        assert_in_range(field(10, 16, 8), truth.start_ns - 2000, truth.start_ns + 2000);
    }
}

static void dropped_records_are_counted(void **state)
{
    (void)state;
    size_t dropped;
    CALL("cuptiActivityGetNumDroppedRecords", 0L, 0L, (long)&dropped);
    fake_set("drop_records", 2);
    for (int i = 0; i < 3; i++)
        cudaLaunchKernel(fake_kernel("dropped"), (struct dim3){ 1, 1, 1 }, (struct dim3){ 1, 1, 1 }, NULL, 0, NULL);
    cudaDeviceSynchronize();
    flush();
    CALL("cuptiActivityGetNumDroppedRecords", 0L, 0L, (long)&dropped);
    assert_int_equal(dropped, 2);
}

static void unfinished_work_needs_force(void **state)
{
    (void)state;
    fake_set("duration_ns", 3000000000);
    flush();
    int kernels = records[10].count;
    cudaLaunchKernel(fake_kernel("long"), (struct dim3){ 1, 1, 1 }, (struct dim3){ 1, 1, 1 }, NULL, 0, NULL);
    flush();
    assert_int_equal(records[10].count - kernels, 0);
    assert_int_equal(CALL("cuptiActivityFlushAll", 1L), 0);
    assert_int_equal(records[10].count - kernels, 1);
    assert_int_equal(field(10, 24, 8), 0);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    cupti = dlopen(argv[1], RTLD_NOW);
    version = argv[2];
    if (!cupti) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    fake_set("gpu_drift_ppb", 50000);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(second_subscriber_is_refused), cmocka_unit_test(callbacks_come_in_pairs), cmocka_unit_test(records_are_those_of_the_version),
        cmocka_unit_test(chosen_calls_alone), cmocka_unit_test(graph_or_nodes), cmocka_unit_test(drift_is_followed),
        cmocka_unit_test(dropped_records_are_counted), cmocka_unit_test(unfinished_work_needs_force),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
