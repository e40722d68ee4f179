// Kernels whose work is known: tests/gpu/kernel_counters.py.
//
//     counted [ROUNDS] [SHARE OF THE GPU'S MEMORY THAT IT HOLDS, %]
//
// A round is four kernels: one that changes memory in place (replayed without a restore, its result would be another), a
// reduction, atomics on integers, and 64 multiply-adds in float by each of 2^20 threads. Prints a checksum.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

static const int N = 1 << 20;

__global__ void change(uint32_t *data) { int i = blockIdx.x * blockDim.x + threadIdx.x; data[i] = data[i] * 1664525u + 1013904223u; }

__global__ void reduce(const uint32_t *data, uint32_t *sums)
{
    __shared__ uint32_t part[256];
    uint32_t sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += gridDim.x * blockDim.x)
        sum += data[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 128; half; half /= 2) {
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        sums[blockIdx.x] += part[0];
}

__global__ void histogram(const uint32_t *data, uint32_t *bins) { int i = blockIdx.x * blockDim.x + threadIdx.x; atomicAdd(&bins[data[i] >> 24], 1u); }

__global__ void multiply_add(float *data)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = data[i];
#pragma unroll
    for (int k = 0; k < 64; k++)
        asm volatile("fma.rn.f32 %0, %0, %0, %0;" : "+f"(x));
    data[i] = x;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 3, share = argc > 2 ? atoi(argv[2]) : 0;
    uint32_t *data, *sums, *bins;
    float *floats;
    void *held = nullptr;
    size_t free_bytes = 0, all = 0;

    cudaMalloc(&data, N * 4), cudaMalloc(&sums, 128 * 4), cudaMalloc(&bins, 256 * 4), cudaMalloc(&floats, N * 4);
    cudaMemset(data, 7, N * 4), cudaMemset(sums, 0, 128 * 4), cudaMemset(bins, 0, 256 * 4), cudaMemset(floats, 0, N * 4);
    cudaMemGetInfo(&free_bytes, &all);
    if (share && cudaMalloc(&held, all / 100 * share)) {
        fprintf(stderr, "counted: no memory\n");
        return 1;
    }
    for (int i = 0; i < rounds; i++) {
        change<<<N / 256, 256>>>(data);
        reduce<<<128, 256>>>(data, sums);
        histogram<<<N / 256, 256>>>(data, bins);
        multiply_add<<<N / 256, 256>>>(floats);
    }
    cudaError_t error = cudaDeviceSynchronize();
    static uint32_t words[128 + 256];
    cudaMemcpy(words, sums, 128 * 4, cudaMemcpyDeviceToHost), cudaMemcpy(words + 128, bins, 256 * 4, cudaMemcpyDeviceToHost);
    uint64_t check = 14695981039346656037u;
    for (uint32_t word : words)
        check = (check ^ word) * 1099511628211u;
    printf("kernels=%d checksum=%016llx error=%d\n", 4 * rounds, (unsigned long long)check, (int)error);
    return error != cudaSuccess;
}
