// Waves in a volume. A macro that checks each launch waits for the kernel to end, as it was left from debugging, and the host has to compute
// the source of the next moment between two launches. Repaired: the macro asks for errors of the launch only.
#include <cmath>

#include "steps.cuh"

enum { N = 320, MOMENTS = 16, THREADS = 256, TERMS = 6000 };

static bool is_debugged;

#define CHECK_LAUNCH() \
    do { \
        check(cudaGetLastError()); \
        if (is_debugged) \
            check(cudaDeviceSynchronize()); \
    } while (0)

__global__ void advance(const float *now, float *before)
{
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, z = blockIdx.z;
    size_t i = ((size_t)z * N + y) * N + x;

    if (x == 0 || y == 0 || z == 0 || x == N - 1 || y == N - 1 || z == N - 1)
        return;
    float sum = now[i - 1] + now[i + 1] + now[i - N] + now[i + N] + now[i - N * N] + now[i + N * N] - 6 * now[i];
    before[i] = 2 * now[i] - before[i] + 0.1f * sum;
}

__global__ void absorb(float *now)
{
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;

    now[i] *= 0.9999f;
}

__global__ void excite(float *now, float value)
{
    now[((size_t)(N / 2) * N + N / 2) * N + N / 2 + threadIdx.x] += value;
}

struct Waves : Program {
    bool fixed;
    float *now = device_array<float>((size_t)N * N * N), *before = device_array<float>((size_t)N * N * N);

    Waves(bool is_fixed) : fixed(is_fixed) {}

    ~Waves() override
    {
        cudaFree(now);
        cudaFree(before);
    }

    static float source(int moment)
    {
        double sum = 0;

        for (int i = 1; i < TERMS; i++)
            sum += sin(0.001 * moment * i) / i;
        return (float)sum;
    }

    void step(int number) override
    {
        is_debugged = !fixed;
        for (int i = 0; i < MOMENTS; i++) {
            float value = source(number * MOMENTS + i);
            excite<<<1, 32>>>(now, value);
            CHECK_LAUNCH(); // FAULT
            advance<<<dim3(N / 32, N / 8, N), dim3(32, 8)>>>(now, before);
            CHECK_LAUNCH(); // FAULT
            absorb<<<N * N * N / THREADS, THREADS>>>(before);
            CHECK_LAUNCH(); // FAULT
            std::swap(now, before);
        }
    }
};

int main(int argc, char **argv)
{
    return run_steps(argc, argv, [](bool fixed) -> Program * { return new Waves(fixed); });
}
