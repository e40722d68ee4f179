// What a kernel launch costs the thread that makes it: storm [LAUNCHES [THREADS [range]]]
//
// With "range" a capture range of 1000 launches goes before the measured ones, so that what a profiler leaves behind after
// its range can be measured. 1000 launches warm up in any case. The line at the end is what bench/gpu.py reads.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <thread>
#include <vector>
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>

__global__ void tick(int *never)
{
    if (never && threadIdx.x == 9999)
        *never = 1;
}

static long long now_ns()
{
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void launch(int count, cudaStream_t stream)
{
    for (int i = 0; i < count; i++)
        tick<<<1, 32, 0, stream>>>(nullptr);
}

int main(int count, char **arguments)
{
    int launches = count > 1 ? atoi(arguments[1]) : 500000;
    int threads = count > 2 ? atoi(arguments[2]) : 1;
    bool range = count > 3 && !strcmp(arguments[3], "range");

    cudaFree(nullptr);
    std::vector<cudaStream_t> streams(threads);
    for (auto &stream : streams)
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    if (range)
        cudaProfilerStart();
    launch(1000, streams[0]);
    cudaDeviceSynchronize();
    if (range)
        cudaProfilerStop();

    long long start = now_ns();
    std::vector<std::thread> workers;
    for (int i = 0; i < threads; i++)
        workers.emplace_back(launch, launches / threads, streams[i]);
    for (auto &worker : workers)
        worker.join();
    long long host = now_ns() - start;
    cudaDeviceSynchronize();
    long long end = now_ns();
    printf("storm n=%d threads=%d host_ns_per_launch=%.1f total_ns_per_launch=%.1f err=%d end_monotonic_ns=%lld\n", launches, threads,
           (double)host / launches, (double)(end - start) / launches, cudaGetLastError(), now_ns());
}
