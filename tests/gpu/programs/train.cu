// Kernels in a steady train, to look at a sampler with: train SECONDS. Every 10 ms a kernel of 5 ms that keeps all multiprocessors
// busy; between them the GPU is idle.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <cuda_runtime.h>

static const long PERIOD_NS = 10000000;
static const int ELEMENTS = 1 << 24;

__device__ static uint64_t gpu_ns()
{
    uint64_t ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

__global__ void busy(float *data, uint64_t ns)
{
    uint64_t end = gpu_ns() + ns;
    unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    while (gpu_ns() < end)
        for (int i = 0; i < 64; i++) {
            at = (at + gridDim.x * blockDim.x) % ELEMENTS;
            sum = fmaf(sum, 0.5f, data[at]);
        }
    data[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

int main(int count, char **arguments)
{
    int kernels = count == 2 ? (int)(atof(arguments[1]) * 1e9 / PERIOD_NS) : 0, processors = 0;
    float *data;
    timespec next;
    if (!kernels || cudaMalloc(&data, ELEMENTS * sizeof(float)) || cudaMemset(data, 0, ELEMENTS * sizeof(float)) ||
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0))
        return 2;
    cudaDeviceSynchronize();
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (int i = 0; i < kernels; i++) {
        busy<<<2 * processors, 1024>>>(data, PERIOD_NS / 2);
        if (cudaDeviceSynchronize())
            return 3;
        next.tv_nsec += PERIOD_NS;
        next.tv_sec += next.tv_nsec / 1000000000;
        next.tv_nsec %= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, nullptr);
    }
    printf("train kernels=%d\n", kernels);
}
