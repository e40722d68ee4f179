// Small programs in one, each with counts that are known by construction: cases NAME. What a case made it prints as a line
// "made key=number …", before it ends in the way that it is there to try.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

__global__ void tick(int *never)
{
    if (never && threadIdx.x == 9999)
        *never = 1;
}

__global__ void touch(int *data, size_t count)
{
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
        data[i] += 1;
}

__global__ void __cluster_dims__(2, 1, 1) paired(int *never)
{
    if (never && threadIdx.x == 9999)
        *never = 1;
}

// A call of the runtime that fails ends the case, so that counts are never wrong for a reason that nobody sees.
#define CHECK(call) check(call, #call)
static void check(int result, const char *what)
{
    if (result != 0) {
        fprintf(stderr, "%s: error %d\n", what, result);
        _exit(9);
    }
}

// Driver calls by name, so that nothing but the runtime need be linked.
template <class Function> static Function *driver(const char *name)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    void *found = library ? dlsym(library, name) : nullptr;
    check(found == nullptr, name);
    return (Function *)found;
}

static void launch(int count, cudaStream_t stream = 0)
{
    for (int i = 0; i < count; i++)
        tick<<<1, 32, 0, stream>>>(nullptr);
    CHECK(cudaGetLastError());
}

static void made(const char *text)
{
    printf("made %s\n", text);
    fflush(stdout);
}

// ---- Ways to end ------------------------------------------------------------------------------------------------------

static void synced(int count)
{
    launch(count);
    CHECK(cudaDeviceSynchronize());
    made("kernels=1000");
}
static void end_return()
{
    synced(1000);
}
static void end_exit()
{
    synced(1000);
    exit(3);
}
static void end__exit()
{
    synced(1000);
    _exit(4);
}
static void end_abort()
{
    synced(1000);
    abort();
}
static void end_unsynced() // no wait, no teardown: the last kernels may not have run
{
    launch(1000);
    made("launches=1000");
    exit(0);
}

static std::atomic<bool> going(true);
static void end_daemon() // a thread still launches when main returns
{
    static std::atomic<int> count;
    std::thread([] {
        while (going && cudaPeekAtLastError() == cudaSuccess) {
            tick<<<1, 32>>>(nullptr);
            count++;
        }
        for (;;)
            pause();
    }).detach();
    while (count < 2000)
        std::this_thread::yield();
    made("least=2000");
}

// ---- Processes, contexts, threads, runtimes ---------------------------------------------------------------------------------

static void case_fork() // a child that was forked after CUDA was initialised, and uses none of it
{
    launch(100);
    CHECK(cudaDeviceSynchronize());
    pid_t child = fork();
    if (child == 0) {
        usleep(1000);
        _exit(7);
    }
    launch(100);
    CHECK(cudaDeviceSynchronize());
    int status = 0;
    waitpid(child, &status, 0);
    check(WEXITSTATUS(status) != 7, "the child's status");
    made("kernels=200");
}

static void case_contexts()
{
    CUcontext second;
    launch(100);
    CHECK(cudaDeviceSynchronize());
    CHECK((driver<CUresult(CUcontext *, unsigned, CUdevice)>("cuCtxCreate_v2")(&second, 0, 0)));
    launch(50);
    CHECK(cudaDeviceSynchronize());
    CHECK((driver<CUresult(CUcontext)>("cuCtxDestroy_v2")(second)));
    made("first=100 second=50");
}

static void case_threads()
{
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([] {
            cudaStream_t stream;
            CHECK(cudaStreamCreate(&stream));
            launch(500, stream);
            CHECK(cudaStreamSynchronize(stream));
        });
    for (auto &thread : threads)
        thread.join();
    made("threads=4 each=500");
}

static void case_runtime2() // a second CUDA runtime in the process, as a plugin would bring it
{
    void *library = dlopen("libcudart.so.13", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        library = dlopen("libcudart.so.12", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        made("missing=1");
        return;
    }
    launch(10);
    auto allocate = (cudaError_t(*)(void **, size_t))dlsym(library, "cudaMalloc");
    auto fill = (cudaError_t(*)(void *, int, size_t))dlsym(library, "cudaMemset");
    void *memory;
    CHECK(allocate(&memory, 4096));
    for (int i = 0; i < 7; i++)
        CHECK(fill(memory, 0, 4096));
    CHECK(cudaDeviceSynchronize());
    made("kernels=10 fills=7");
}

// ---- Kinds of work --------------------------------------------------------------------------------------------------------

static void case_copies()
{
    const size_t bytes = 1 << 20;
    char *first, *second, *pinned, *pageable = (char *)malloc(bytes);
    CHECK(cudaMalloc(&first, bytes));
    CHECK(cudaMalloc(&second, bytes));
    CHECK(cudaMallocHost(&pinned, bytes));
    memset(pageable, 1, bytes);
    for (int i = 0; i < 3; i++)
        CHECK(cudaMemcpy(first, pageable, bytes, cudaMemcpyHostToDevice));
    for (int i = 0; i < 5; i++)
        CHECK(cudaMemcpyAsync(pinned, first, bytes / 2, cudaMemcpyDeviceToHost, 0));
    for (int i = 0; i < 7; i++)
        CHECK(cudaMemcpyAsync(second, first, bytes / 4, cudaMemcpyDeviceToDevice, 0));
    for (int i = 0; i < 11; i++)
        CHECK(cudaMemsetAsync(first, 42, bytes / 8, 0));
    CHECK(cudaDeviceSynchronize());
    made("htod=3 dtoh=5 dtod=7 fills=11 bytes=1048576");
}

static void case_graph() // 5 nodes, launched 10 times; 5 launches only tell the stream what to capture
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    CHECK(cudaStreamCreate(&stream));
    launch(3, stream);
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    launch(5, stream);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&ready, graph, 0));
    for (int i = 0; i < 10; i++)
        CHECK(cudaGraphLaunch(ready, stream));
    CHECK(cudaStreamSynchronize(stream));
    made("alone=3 nodes=5 launches=10");
}

static void case_managed()
{
    const size_t count = 4 << 20;
    int *data;
    CHECK(cudaMallocManaged(&data, count * sizeof(int)));
    for (size_t i = 0; i < count; i++)
        data[i] = (int)i;
    touch<<<64, 256>>>(data, count);
    CHECK(cudaDeviceSynchronize());
    long long sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += data[i] - (int)i;
    check(sum != (long long)count, "the sum");
    made("bytes=16777216");
}

static void case_memory()
{
    void *memory[10];
    for (int i = 0; i < 10; i++)
        CHECK(cudaMalloc(&memory[i], (size_t)(i + 1) << 20));
    for (int i = 0; i < 10; i++)
        CHECK(cudaFree(memory[i]));
    void *pooled;
    CHECK(cudaMallocAsync(&pooled, 12345, 0));
    CHECK(cudaFreeAsync(pooled, 0));
    CHECK(cudaDeviceSynchronize());
    made("allocations=10 pooled=12345");
}

static void case_events() // twenty times: the second stream waits for the first
{
    cudaStream_t first, second;
    cudaEvent_t event;
    CHECK(cudaStreamCreate(&first));
    CHECK(cudaStreamCreateWithPriority(&second, cudaStreamNonBlocking, -1));
    CHECK(cudaEventCreate(&event));
    nvtxNameCudaStreamA(first, "producer");
    nvtxNameCudaStreamA(second, "consumer");
    for (int i = 0; i < 20; i++) {
        launch(1, first);
        CHECK(cudaEventRecord(event, first));
        CHECK(cudaStreamWaitEvent(second, event, 0));
        launch(1, second);
    }
    CHECK(cudaEventSynchronize(event));
    CHECK(cudaStreamSynchronize(second));
    CHECK(cudaDeviceSynchronize());
    made("records=20 waits=20 event_syncs=1 stream_syncs=1 context_syncs=1");
}

// ---- Calls --------------------------------------------------------------------------------------------------------------

static void case_forms() // every way to launch
{
    void *none = nullptr, *arguments[] = { &none };
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CUfunction function;
    CHECK(cudaGetFuncBySymbol(&function, (const void *)tick));
    auto launch_driver = driver<CUresult(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **,
                                         void **)>("cuLaunchKernel");
    auto launch_driver_ex = driver<CUresult(const CUlaunchConfig *, CUfunction, void **, void **)>("cuLaunchKernelEx");
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(2);
    config.blockDim = dim3(32);
    config.stream = stream;
    CUlaunchConfig driver_config = {};
    driver_config.gridDimX = driver_config.gridDimY = driver_config.gridDimZ = 1;
    driver_config.blockDimX = 32;
    driver_config.blockDimY = driver_config.blockDimZ = 1;
    driver_config.hStream = stream;
    for (int i = 0; i < 10; i++) {
        tick<<<1, 32, 0, stream>>>(nullptr);
        CHECK(cudaLaunchKernel((const void *)tick, dim3(1), dim3(32), arguments, 0, stream));
        CHECK(cudaLaunchKernelExC(&config, (const void *)paired, arguments));
        CHECK(cudaLaunchCooperativeKernel((const void *)tick, dim3(1), dim3(32), arguments, 0, stream));
        CHECK(launch_driver(function, 1, 1, 1, 32, 1, 1, 0, stream, arguments, nullptr));
        CHECK(launch_driver_ex(&driver_config, function, arguments, nullptr));
        tick<<<1, 32, 0, cudaStreamPerThread>>>(nullptr);
    }
    CHECK(cudaDeviceSynchronize());
    made("kernels=70 paired=10");
}

static void case_queries() // calls that are not on the list of those to record, before and after the first kernel
{
    int device;
    CHECK(cudaFree(nullptr));
    for (int i = 0; i < 50; i++)
        CHECK(cudaGetDevice(&device));
    launch(1);
    CHECK(cudaDeviceSynchronize());
    launch(1000); // whoever waits for the first kernel has had time to see it
    CHECK(cudaDeviceSynchronize());
    usleep(300000);
    for (int i = 0; i < 1000; i++)
        CHECK(cudaGetDevice(&device));
    launch(10);
    CHECK(cudaDeviceSynchronize());
    made("before=50 after=1000 kernels=1011");
}

static void case_range() // three ranges of ten launches, with ten before, between and after them
{
    launch(10);
    for (int i = 0; i < 3; i++) {
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaProfilerStart());
        launch(10);
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaProfilerStop());
        launch(10);
    }
    CHECK(cudaDeviceSynchronize());
    made("ranges=3 each=10 kernels=70");
}

static void case_error()
{
    launch(1);
    int result = cudaMemcpy(nullptr, nullptr, 4, cudaMemcpyDeviceToHost);
    printf("made result=%d\n", result);
    cudaGetLastError();
}

static const struct {
    const char *name;
    void (*run)();
} cases[] = {
    { "return", end_return },     { "exit", end_exit },         { "_exit", end__exit },       { "abort", end_abort },
    { "unsynced", end_unsynced }, { "daemon", end_daemon },     { "fork", case_fork },        { "contexts", case_contexts },
    { "threads", case_threads },  { "runtime2", case_runtime2 }, { "copies", case_copies },    { "graph", case_graph },
    { "managed", case_managed },  { "memory", case_memory },    { "events", case_events },    { "forms", case_forms },
    { "queries", case_queries },  { "range", case_range },      { "error", case_error },
};

int main(int count, char **arguments)
{
    for (auto &one : cases)
        if (count == 2 && !strcmp(arguments[1], one.name)) {
            one.run();
            return 0;
        }
    fprintf(stderr, "usage: cases NAME\n");
    return 2;
}
