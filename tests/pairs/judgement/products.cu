// Without a planted fault: powers of a matrix with products in tiles of shared memory. The GPU is the limit.
#include "steps.cuh"

enum { N = 3072, TILE = 32, PER_THREAD = 4, PRODUCTS = 3 };

// Each thread makes a column of PER_THREAD results.
__global__ void multiply(const float *a, const float *b, float *c)
{
    __shared__ float left[TILE][TILE + 1], right[TILE][TILE];
    int x = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE;
    float sums[PER_THREAD] = {};

    for (int k = 0; k < N; k += TILE) {
        for (int i = 0; i < PER_THREAD; i++) {
            int y = threadIdx.y + i * (TILE / PER_THREAD);
            left[y][threadIdx.x] = a[(size_t)(row + y) * N + k + threadIdx.x];
            right[y][threadIdx.x] = b[(size_t)(k + y) * N + x];
        }
        __syncthreads();
        for (int j = 0; j < TILE; j++)
            for (int i = 0; i < PER_THREAD; i++)
                sums[i] += left[threadIdx.y + i * (TILE / PER_THREAD)][j] * right[j][threadIdx.x];
        __syncthreads();
    }
    for (int i = 0; i < PER_THREAD; i++)
        c[(size_t)(row + threadIdx.y + i * (TILE / PER_THREAD)) * N + x] = sums[i] / N;
}

__global__ void begin(float *a)
{
    size_t i = (size_t)blockIdx.x * 256 + threadIdx.x;

    a[i] = (float)(i % 13) - 6;
}

struct Products : Program {
    float *a = device_array<float>((size_t)N * N), *b = device_array<float>((size_t)N * N), *c = device_array<float>((size_t)N * N);

    Products()
    {
        begin<<<N * N / 256, 256>>>(a);
        begin<<<N * N / 256, 256>>>(b);
    }

    ~Products() override
    {
        cudaFree(a);
        cudaFree(b);
        cudaFree(c);
    }

    void step(int) override
    {
        for (int i = 0; i < PRODUCTS; i++) {
            multiply<<<dim3(N / TILE, N / TILE), dim3(TILE, TILE / PER_THREAD)>>>(a, b, c);
            std::swap(b, c);
        }
        check(cudaGetLastError());
    }
};

int main(int argc, char **argv)
{
    return run_steps(argc, argv, [](bool) -> Program * { return new Products; });
}
