/* A kernel in which each load needs the one before: nearly all its time passes at the line marked "here". It prints a sum
 * of the results. Compile with -lineinfo. */
#include <cstdio>
#include <cstdlib>

__global__ void chase(const unsigned *next, unsigned *out, unsigned steps)
{
    unsigned thread = blockIdx.x * blockDim.x + threadIdx.x, at = thread;
    for (unsigned i = 0; i < steps; i++)
        at = next[at]; // here
    out[thread] = at;
}

int main(int argc, char **argv)
{
    const unsigned entries = 1u << 24, threads = 132 * 1024, steps = 2000;
    const int launches = argc > 1 ? atoi(argv[1]) : 20;
    unsigned *host = (unsigned *)malloc(entries * sizeof *host), *next, *out;
    for (unsigned i = 0; i < entries; i++)
        host[i] = (i * 1664525u + 1013904223u) % entries; /* visits every entry */
    cudaMalloc(&next, entries * sizeof *next);
    cudaMalloc(&out, threads * sizeof *out);
    cudaMemcpy(next, host, entries * sizeof *next, cudaMemcpyHostToDevice);
    for (int i = 0; i < launches; i++)
        chase<<<threads / 256, 256>>>(next, out, steps);
    cudaMemcpy(host, out, threads * sizeof *out, cudaMemcpyDeviceToHost);
    unsigned long long sum = 0;
    for (unsigned i = 0; i < threads; i++)
        sum = sum * 31 + host[i];
    if (cudaGetLastError() != cudaSuccess)
        return 1;
    printf("sum %llu\n", sum);
    return 0;
}
