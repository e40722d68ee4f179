/* The stand-ins themselves: a plain client of CUPTI subscribes, records, and gets what it should, version by version.
 *
 *     fake_client LIBCUPTI VERSION */
#include <dlfcn.h>
#include <pthread.h>
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

/* ---- A client: it counts its records by kind, and keeps the last of each --------------------------------------- */

static struct {
    int count;
    size_t bytes;
    unsigned char last[256];
} records[64];
static int resources[32], unified_when_created = -1;

struct callback {
    int site;
    const char *function;
    const void *params;
    const int *result;
    const char *symbol;
    void *context;
    uint32_t context_id;
    uint64_t *data;
    uint32_t correlation;
};
static struct {
    int domain, result;
    uint32_t id;
    struct callback of;
} heard[64];
static int heard_count, depth;

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
    assert_ptr_equal(user, &cupti);
    if (domain == 3) {
        if (resources[id]++ == 0 && id == 1)
            unified_when_created = (int)CALL("cuptiActivityEnable", 25L);
        return;
    }
    assert_in_range(heard_count, 0, 63);
    heard[heard_count].domain = domain;
    heard[heard_count].id = id;
    struct callback *of = &heard[heard_count].of;
    memcpy(of, data, sizeof *of);
    if (of->site == 0)
        *of->data = (uint64_t)heard_count << 32 | (uint64_t)++depth;
    else
        heard[heard_count].result = *of->result;
    heard_count++;
    if (of->site == 0)
        return;
    size_t enter = *of->data >> 32; /* what was left there is still there, and calls end from the inside */
    assert_int_equal((uint32_t)*of->data, depth--);
    assert_int_equal(heard[enter].id, id);
    assert_int_equal(heard[enter].domain, domain);
    assert_int_equal(heard[enter].of.correlation, of->correlation);
    assert_ptr_equal(heard[enter].of.params, of->params);
    assert_ptr_equal(heard[enter].of.symbol, of->symbol);
    assert_string_equal(heard[enter].of.function, of->function);
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

/* ---- What it should get ---------------------------------------------------------------------------------------- */

static void second_subscriber_is_refused(void **state)
{
    (void)state;
    void *second;
    assert_int_equal(CALL("cuptiSubscribe", (long)&second, (long)told, (long)&cupti), 39);
}

/* One by one; a version that cannot says so. */
static int choose_call(long id, long on)
{
    if (dlsym(cupti, "cuptiActivityEnableRuntimeApi"))
        return CALL("cuptiActivityEnableRuntimeApi", id, on) == 0;
    assert_true(strcmp(version, "12.5") < 0);
    return 0;
}

static void unified_memory_is_counted_once_there_is_a_context(void **state)
{
    (void)state;
    choose_call(165, 1); /* for chosen_calls_alone() */
    struct {
        uint32_t scope, kind, device, enable;
    } move = { 0, 1, 0, 1 };
    assert_int_equal(CALL("cuptiActivityConfigureUnifiedMemoryCounter", (long)&move, 1L), 0);
    assert_int_equal(CALL("cuptiActivityEnable", 25L), 13);
    cudaFree(NULL);
    choose_call(165, 0);
    assert_int_equal(resources[1], 1); /* the context */
    assert_int_equal(unified_when_created, 0);
    fake_unified(1, 4096, 100);
    cudaDeviceSynchronize();
    flush();
    assert_int_equal(records[25].count, 1);
    assert_int_equal(CALL("cuptiActivityDisable", 25L), 0);
}

static void callbacks_come_in_pairs(void **state)
{
    (void)state;
    CALL("cuptiEnableCallback", 1L, (long)subscriber, 2L, 165L);
    assert_int_equal(cudaDeviceSynchronize(), 0);
    assert_int_equal(heard_count, 2);
    assert_int_equal(heard[0].of.site, 0);
    assert_int_equal(heard[1].of.site, 1);
    assert_int_equal(heard[1].id, 165);
    CALL("cuptiEnableCallback", 0L, (long)subscriber, 2L, 165L);
    cudaDeviceSynchronize();
    assert_int_equal(heard_count, 2);
    assert_int_equal(resources[1], 1);
    assert_int_equal(resources[5], 1); /* the end of cuInit() */
    const char *name;
    assert_int_equal(CALL("cuptiGetCallbackName", 2L, 211L, (long)&name), 0);
    assert_string_equal(name, "cudaLaunchKernel_v7000");
    assert_int_equal(CALL("cuptiGetCallbackName", 1L, 307L, (long)&name), 0);
    assert_string_equal(name, "cuLaunchKernel");
    assert_int_equal(CALL("cuptiGetCallbackName", 2L, 999L, (long)&name), 1);
}

/* What is heard at the two ends of a call; -1 if it is not heard of. */
static int end_of(int domain, uint32_t id)
{
    for (int i = 0; i < heard_count; i++)
        if (heard[i].domain == domain && heard[i].id == id && heard[i].of.site == 1)
            return i;
    return -1;
}

static void callbacks_say_what_was_called(void **state)
{
    (void)state;
    CALL("cuptiEnableDomain", 1L, (long)subscriber, 2L);
    heard_count = 0;
    const void *kernel = fake_kernel("a symbol");
    cudaLaunchKernel(kernel, (struct dim3){ 1, 1, 1 }, (struct dim3){ 1, 1, 1 }, NULL, 0, NULL);
    struct fake_truth truth = fake_last();
    assert_int_equal(heard_count, 2);
    assert_string_equal(heard[0].of.function, "cudaLaunchKernel");
    assert_string_equal(heard[0].of.symbol, "a symbol");
    assert_int_equal(heard[0].of.correlation, truth.correlation);
    assert_int_equal(heard[1].of.context_id, truth.context);
    assert_non_null(heard[1].of.context);
    assert_int_equal(cudaSetDevice(99), 101);
    assert_int_equal(heard[3].result, 101);
    assert_null(heard[3].of.symbol);
    cudaSetDevice(0);
    CALL("cuptiEnableDomain", 0L, (long)subscriber, 2L);
}

/* The driver's calls inside of the runtime's: those that were asked for, with the outer call's correlation id. */
static void nested_callbacks_only_of_the_domains_asked_for(void **state)
{
    (void)state;
    static const struct {
        uint32_t runtime, driver;
    } nested[] = { { 211, 307 }, { 135, 119 }, { 147, 295 }, { 131, 126 }, { 137, 121 }, { 165, 17 } };
    cudaEvent_t event;
    cudaEventCreate(&event);
    fake_set("nested", 1);
    for (long with_driver = 0; with_driver < 2; with_driver++) {
        CALL("cuptiEnableDomain", 1L, (long)subscriber, 2L);
        CALL("cuptiEnableDomain", with_driver, (long)subscriber, 1L);
        heard_count = 0;
        cudaLaunchKernel(fake_kernel("nested"), (struct dim3){ 1, 1, 1 }, (struct dim3){ 1, 1, 1 }, NULL, 0, NULL);
        cudaEventRecord(event, NULL);
        cudaStreamWaitEvent(NULL, event, 0);
        cudaStreamSynchronize(NULL);
        cudaEventSynchronize(event);
        cudaDeviceSynchronize();
        for (size_t i = 0; i < sizeof nested / sizeof nested[0]; i++) {
            int outer = end_of(2, nested[i].runtime), inner = end_of(1, nested[i].driver);
            assert_in_range(outer, 1, 63);
            assert_int_equal(inner, with_driver ? outer - 1 : -1);
            if (with_driver)
                assert_int_equal(heard[inner].of.correlation, heard[outer].of.correlation);
        }
    }
    fake_set("nested", 0);
    CALL("cuptiEnableDomain", 0L, (long)subscriber, 1L);
    CALL("cuptiEnableDomain", 0L, (long)subscriber, 2L);
}

static void *other_thread(void *unused)
{
    (void)unused;
    cudaDeviceSynchronize();
    return NULL;
}

static void first_call_of_a_thread_has_no_context_yet(void **state)
{
    (void)state;
    CALL("cuptiEnableCallback", 1L, (long)subscriber, 2L, 165L);
    heard_count = 0;
    pthread_t thread;
    pthread_create(&thread, NULL, other_thread, NULL);
    pthread_join(thread, NULL);
    CALL("cuptiEnableCallback", 0L, (long)subscriber, 2L, 165L);
    assert_int_equal(heard_count, 2);
    assert_null(heard[0].of.context);
    assert_int_equal(heard[0].of.context_id, 0);
    assert_non_null(heard[1].of.context);
    assert_int_equal(heard[1].of.context_id, 1);
}

/* Bytes of a kernel, copy and synchronization record. */
static const struct {
    const char *version;
    size_t kernel, copy, wait;
} sizes[] = {
    { "11.8", 200, 88, 40 }, { "12.0", 208, 88, 40 }, { "12.4", 208, 88, 40 },
    { "12.6", 208, 88, 40 }, { "12.8", 208, 96, 56 }, { "12.9", 208, 96, 56 },
    { "13.0", 216, 96, 56 }, { "13.1", 224, 96, 56 }, { "13.4", 248, 112, 56 },
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
    /* clocks are compared while other threads run */
    assert_in_range(field(10, 24, 8) - field(10, 16, 8), 48000, 52000);
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
    if (!choose_call(165, 1))
        return;
    choose_call(17, 1); /* it was not chosen when the first context was made: nothing comes of it */
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
        cmocka_unit_test(second_subscriber_is_refused),
        cmocka_unit_test(unified_memory_is_counted_once_there_is_a_context),
        cmocka_unit_test(callbacks_come_in_pairs),
        cmocka_unit_test(callbacks_say_what_was_called),
        cmocka_unit_test(nested_callbacks_only_of_the_domains_asked_for),
        cmocka_unit_test(first_call_of_a_thread_has_no_context_yet),
        cmocka_unit_test(records_are_those_of_the_version),
        cmocka_unit_test(chosen_calls_alone),
        cmocka_unit_test(graph_or_nodes),
        cmocka_unit_test(drift_is_followed),
        cmocka_unit_test(dropped_records_are_counted),
        cmocka_unit_test(unfinished_work_needs_force),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
