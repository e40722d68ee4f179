// How well the profiler's times of kernels agree with the host's clock: clock SECONDS NOTES
//
// A kernel says that it runs, and ends when the host lets it. So the host has two moments that it is sure of: it saw the kernel
// running, hence the kernel began before; it had not yet let it go, hence the kernel ended after. Both go into NOTES, as pairs of
// 64-bit numbers, ns of CLOCK_MONOTONIC, one pair for each kernel, in their order. About 500 kernels a second.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <cuda_runtime.h>
#include <unistd.h>

__global__ void hold(volatile int *running, volatile int *go, int number)
{
    *running = number;
    __threadfence_system();
    while (*go != number) {
    }
}

static uint64_t now_ns()
{
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000ull + time.tv_nsec;
}

int main(int count, char **arguments)
{
    FILE *out = count == 3 ? fopen(arguments[2], "wb") : nullptr;
    if (!out)
        return 2;
    uint64_t end = now_ns() + (uint64_t)(atof(arguments[1]) * 1e9);
    volatile int *flags;
    if (cudaHostAlloc((void **)&flags, 4096, cudaHostAllocMapped) != cudaSuccess)
        return 3;
    volatile int *running = flags, *go = flags + 512; // on lines of their own
    *running = *go = 0;
    int number = 0;
    while (now_ns() < end) {
        number++;
        hold<<<1, 1>>>((int *)running, (int *)go, number);
        if (cudaPeekAtLastError() != cudaSuccess)
            return 3;
        while (*running != number) {
        }
        uint64_t seen = now_ns(), released = now_ns();
        *go = number;
        if (cudaDeviceSynchronize() != cudaSuccess)
            return 3;
        uint64_t pair[2] = { seen, released };
        fwrite(pair, sizeof(pair), 1, out);
        usleep(1500);
    }
    fclose(out);
    printf("clock kernels=%d\n", number);
}
