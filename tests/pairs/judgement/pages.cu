// PageRank on a graph of pages with sixteen links each; in each iteration the ranks are divided by their sum. Repaired: all multiprocessors
// add up.
#include "steps.cuh"

enum { PAGES = 1 << 20, LINKS = 16, ITERATIONS = 20, THREADS = 256, ADDERS = 1024, BLOCKS = 264 };

__global__ void build(int *links, float *ranks)
{
    int page = blockIdx.x * THREADS + threadIdx.x;

    for (int k = 0; k < LINKS; k++) {
        unsigned x = (unsigned)page * LINKS + k;
        x = (x ^ (x >> 16)) * 0x7feb352du;
        x = (x ^ (x >> 15)) * 0x846ca68bu;
        links[(size_t)k * PAGES + page] = (x ^ (x >> 16)) % PAGES;
    }
    ranks[page] = 1.0f / PAGES;
}

__global__ void collect(const int *links, const float *shares, float *ranks)
{
    int page = blockIdx.x * THREADS + threadIdx.x;
    float sum = 0;

    for (int k = 0; k < LINKS; k++)
        sum += shares[links[(size_t)k * PAGES + page]];
    ranks[page] = 0.15f / PAGES + 0.85f * sum;
}

__global__ void share(const float *ranks, const float *total, float *shares)
{
    int page = blockIdx.x * THREADS + threadIdx.x;

    shares[page] = ranks[page] / (*total * LINKS);
}

// The sum of a block is that of its first thread.
__device__ float sum_of_block(float sum)
{
    __shared__ float part[ADDERS];

    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = ADDERS / 2; half; half /= 2) {
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    return part[0];
}

__global__ void add_up(const float *ranks, float *total)
{
    float sum = 0;

    for (int page = threadIdx.x; page < PAGES; page += ADDERS)
        sum += ranks[page];
    sum = sum_of_block(sum);
    if (threadIdx.x == 0)
        *total = sum;
}

// With any number of blocks; the total has to be 0 before.
__global__ void add_parts(const float *ranks, float *total)
{
    float sum = 0;

    for (int page = blockIdx.x * ADDERS + threadIdx.x; page < PAGES; page += gridDim.x * ADDERS)
        sum += ranks[page];
    sum = sum_of_block(sum);
    if (threadIdx.x == 0)
        atomicAdd(total, sum);
}

struct Pages : Program {
    bool fixed;
    int *links = device_array<int>((size_t)PAGES * LINKS);
    float *ranks = device_array<float>(PAGES), *shares = device_array<float>(PAGES), *total = device_array<float>(1);

    Pages(bool is_fixed) : fixed(is_fixed)
    {
        build<<<PAGES / THREADS, THREADS>>>(links, ranks);
    }

    ~Pages() override
    {
        cudaFree(links);
        cudaFree(ranks);
        cudaFree(shares);
        cudaFree(total);
    }

    void iterate()
    {
        if (fixed) {
            check(cudaMemsetAsync(total, 0, sizeof *total));
            add_parts<<<BLOCKS, ADDERS>>>(ranks, total);
        } else {
            add_up<<<1, ADDERS>>>(ranks, total); // FAULT
        }
        share<<<PAGES / THREADS, THREADS>>>(ranks, total, shares);
        collect<<<PAGES / THREADS, THREADS>>>(links, shares, ranks);
    }

    void step(int) override
    {
        for (int i = 0; i < ITERATIONS; i++)
            iterate(); // SEEN
        check(cudaGetLastError());
    }
};

int main(int argc, char **argv)
{
    return run_steps(argc, argv, [](bool fixed) -> Program * { return new Pages(fixed); });
}
