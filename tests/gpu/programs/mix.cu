// A little of everything: unified memory, streams, events, a graph, pinned and pageable copies, a failing call, NVTX, threads.
// It makes the calls of the capture that tests/golden/nsys/mix.sqlite.gz holds, so that its counts are known.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <semaphore.h>
#include <thread>
#include <unistd.h>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

static const int FLOATS = 1 << 20;
static const size_t BYTES = FLOATS * sizeof(float);

__global__ void saxpy(float a, const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] += a * x[i];
}

template <int N> __global__ void spin(long long clocks)
{
    long long start = clock64();
    while (clock64() - start < clocks * N) {
    }
}

struct buffers {
    float *managed, *device, *pinned, *pageable;
};

static nvtxEventAttributes_t phase(nvtxStringHandle_t name, int round)
{
    nvtxEventAttributes_t event = {};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = name;
    event.colorType = NVTX_COLOR_ARGB;
    event.color = 0xff00ff00;
    event.category = round % 3;
    event.payloadType = NVTX_PAYLOAD_TYPE_INT64;
    event.payload.llValue = round;
    return event;
}

static void rounds(buffers b, cudaStream_t first, cudaStream_t second)
{
    cudaEvent_t done;
    cudaEventCreate(&done);
    nvtxDomainHandle_t domain = nvtxDomainCreateA("mix");
    nvtxStringHandle_t name = nvtxDomainRegisterStringA(domain, "phase");
    for (int round = 0; round < 20; round++) {
        nvtxEventAttributes_t event = phase(name, round);
        nvtxDomainRangePushEx(domain, &event);
        nvtxRangeId_t range = nvtxRangeStartA("async");
        cudaMemcpy(b.device, b.pageable, BYTES, cudaMemcpyHostToDevice);
        cudaMemcpyAsync(b.device, b.pinned, BYTES, cudaMemcpyHostToDevice, first);
        cudaMemsetAsync(b.device, 0, BYTES / 2, second);
        saxpy<<<FLOATS / 256, 256, 0, first>>>(2, b.managed, b.device, FLOATS);
        cudaEventRecord(done, first);
        cudaStreamWaitEvent(second, done, 0);
        spin<3><<<8, 64, 1024, second>>>(20000);
        cudaMemcpyAsync(b.pinned, b.device, BYTES, cudaMemcpyDeviceToHost, second);
        cudaStreamSynchronize(second);
        nvtxRangeEnd(range);
        nvtxMarkA("tick");
        nvtxDomainRangePop(domain);
        b.managed[round] += 1;
    }
}

static void graph(buffers b, cudaStream_t stream)
{
    cudaGraph_t captured;
    cudaGraphExec_t ready;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    for (int i = 0; i < 5; i++)
        saxpy<<<64, 128, 0, stream>>>(1, b.device, b.device, 8192);
    cudaStreamEndCapture(stream, &captured);
    cudaGraphInstantiate(&ready, captured, 0);
    for (int i = 0; i < 10; i++)
        cudaGraphLaunch(ready, stream);
    cudaDeviceSynchronize();
}

static void threads()
{
    sem_t ready;
    sem_init(&ready, 0, 0);
    std::thread worker([&] {
        pthread_setname_np(pthread_self(), "worker");
        usleep(20000);
        sem_post(&ready);
    });
    sem_wait(&ready);
    worker.join();
}

int main()
{
    buffers b;
    cudaMallocManaged(&b.managed, BYTES);
    cudaMalloc(&b.device, BYTES);
    cudaMallocHost(&b.pinned, BYTES);
    b.pageable = (float *)malloc(BYTES);
    for (int i = 0; i < FLOATS; i++)
        b.managed[i] = i;
    memset(b.pageable, 1, BYTES);

    cudaStream_t first, second;
    cudaStreamCreate(&first);
    cudaStreamCreateWithPriority(&second, cudaStreamNonBlocking, -1);
    rounds(b, first, second);
    graph(b, first);
    int bad = cudaMemcpy(nullptr, nullptr, 4, cudaMemcpyDeviceToHost);
    threads();
    printf("mix bad=%d last=%d\n", bad, cudaGetLastError());
}
