// k-means. Each iteration allocates its scratch memory and frees it again, in a helper. Repaired: the memory is kept.
#include "steps.cuh"

enum { POINTS = 1 << 19, FEATURES = 16, CLUSTERS = 64, ITERATIONS = 6, THREADS = 256 };

__global__ void assign(const float *points, const float *centers, int *nearest)
{
    __shared__ float shared[CLUSTERS * FEATURES];
    int i = blockIdx.x * THREADS + threadIdx.x, best = 0;
    float least = 1e30f;

    for (int j = threadIdx.x; j < CLUSTERS * FEATURES; j += THREADS)
        shared[j] = centers[j];
    __syncthreads();
    for (int c = 0; c < CLUSTERS; c++) {
        float distance = 0;
        for (int f = 0; f < FEATURES; f++) {
            float d = points[(size_t)f * POINTS + i] - shared[c * FEATURES + f];
            distance += d * d;
        }
        if (distance < least) {
            least = distance;
            best = c;
        }
    }
    nearest[i] = best;
}

__global__ void gather(const float *points, const int *nearest, float *sums, float *counts)
{
    __shared__ float part[CLUSTERS * (FEATURES + 1)];

    for (int j = threadIdx.x; j < CLUSTERS * (FEATURES + 1); j += THREADS)
        part[j] = 0;
    __syncthreads();
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < POINTS; i += gridDim.x * THREADS) {
        for (int f = 0; f < FEATURES; f++)
            atomicAdd(&part[nearest[i] * FEATURES + f], points[(size_t)f * POINTS + i]);
        atomicAdd(&part[CLUSTERS * FEATURES + nearest[i]], 1.0f);
    }
    __syncthreads();
    for (int j = threadIdx.x; j < CLUSTERS * FEATURES; j += THREADS)
        atomicAdd(&sums[j], part[j]);
    if (threadIdx.x < CLUSTERS)
        atomicAdd(&counts[threadIdx.x], part[CLUSTERS * FEATURES + threadIdx.x]);
}

__global__ void update(float *centers, const float *sums, const float *counts)
{
    int j = threadIdx.x + blockIdx.x * blockDim.x;

    centers[j] = sums[j] / (counts[j / FEATURES] + 1e-6f);
}

__global__ void scatter_points(float *points)
{
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;

    points[i] = (float)((i * 2654435761u >> 9) % 8192) / 8192;
}

struct Clusters : Program {
    bool fixed;
    float *points = device_array<float>((size_t)POINTS * FEATURES), *centers = device_array<float>(CLUSTERS * FEATURES);
    int *nearest = nullptr;
    float *sums = nullptr, *counts = nullptr;

    Clusters(bool is_fixed) : fixed(is_fixed)
    {
        scatter_points<<<POINTS / THREADS * FEATURES, THREADS>>>(points);
        check(cudaMemcpy(centers, points, CLUSTERS * FEATURES * sizeof *centers, cudaMemcpyDeviceToDevice));
        if (fixed)
            allocate();
    }

    ~Clusters() override
    {
        if (fixed)
            release();
        cudaFree(points);
        cudaFree(centers);
    }

    void allocate()
    {
        check(cudaMalloc(&nearest, POINTS * sizeof *nearest));                  // FAULT
        check(cudaMalloc(&sums, CLUSTERS * FEATURES * sizeof *sums));           // FAULT
        check(cudaMalloc(&counts, CLUSTERS * sizeof *counts));                  // FAULT
    }

    void release()
    {
        check(cudaFree(nearest)); // FAULT
        check(cudaFree(sums));    // FAULT
        check(cudaFree(counts));  // FAULT
    }

    void iterate()
    {
        if (!fixed)
            allocate(); // SEEN
        check(cudaMemsetAsync(sums, 0, CLUSTERS * FEATURES * sizeof *sums));
        check(cudaMemsetAsync(counts, 0, CLUSTERS * sizeof *counts));
        assign<<<POINTS / THREADS, THREADS>>>(points, centers, nearest);
        gather<<<264, THREADS>>>(points, nearest, sums, counts);
        update<<<CLUSTERS * FEATURES / THREADS, THREADS>>>(centers, sums, counts);
        if (!fixed)
            release(); // SEEN
    }

    void step(int) override
    {
        for (int i = 0; i < ITERATIONS; i++)
            iterate();
        check(cudaGetLastError());
    }
};

int main(int argc, char **argv)
{
    return run_steps(argc, argv, [](bool fixed) -> Program * { return new Clusters(fixed); });
}
