// Prices of options, from many random ways that a market may go. The payoffs are in managed memory, and the host adds them up, so that their
// pages travel to and fro. Repaired: they stay on the GPU, which adds them up.
#include "steps.cuh"

enum { WAYS = 1 << 20, DAYS = 252, OPTIONS = 3, THREADS = 256, BLOCKS = 264 };

__device__ unsigned next_random(unsigned &state)
{
    state = state * 747796405u + 2891336453u;
    unsigned word = ((state >> ((state >> 28) + 4)) ^ state) * 277803737u;
    return (word >> 22) ^ word;
}

__global__ void simulate(float *payoffs, float strike, float spread, unsigned seed)
{
    unsigned i = blockIdx.x * THREADS + threadIdx.x, state = i * 9781u + seed;
    float price = 1, sum = 0;

    for (int day = 0; day < DAYS; day++) {
        float length = sqrtf(-2 * __logf((next_random(state) + 1.0f) * 2.3283062e-10f)), angle = 2.3283062e-10f * next_random(state);
        price *= __expf(spread * length * cospif(2 * angle) - 0.5f * spread * spread);
        sum += price;
    }
    payoffs[i] = fmaxf(sum / DAYS - strike, 0.0f);
}

__global__ void add_up(const float *payoffs, double *sum)
{
    __shared__ double part[THREADS];
    double mine = 0;

    for (int i = blockIdx.x * THREADS + threadIdx.x; i < WAYS; i += gridDim.x * THREADS)
        mine += payoffs[i];
    part[threadIdx.x] = mine;
    __syncthreads();
    for (int half = THREADS / 2; half; half /= 2) {
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        atomicAdd(sum, part[0]);
}

struct Markets : Program {
    bool fixed;
    float *payoffs;
    double *sum = device_array<double>(1);
    double prices[OPTIONS];

    Markets(bool is_fixed) : fixed(is_fixed)
    {
        if (fixed)
            payoffs = device_array<float>(WAYS);
        else
            check(cudaMallocManaged(&payoffs, WAYS * sizeof *payoffs)); // FAULT
    }

    ~Markets() override
    {
        cudaFree(payoffs);
        cudaFree(sum);
    }

    double mean_of_payoffs()
    {
        double total = 0;

        if (fixed) {
            check(cudaMemsetAsync(sum, 0, sizeof *sum));
            add_up<<<BLOCKS, THREADS>>>(payoffs, sum);
            check(cudaMemcpy(&total, sum, sizeof total, cudaMemcpyDeviceToHost));
        } else {
            check(cudaDeviceSynchronize());
            for (int i = 0; i < WAYS; i++)
                total += payoffs[i]; // FAULT
        }
        return total / WAYS;
    }

    void step(int number) override
    {
        float spread = 0.01f;

        for (int i = 0; i < OPTIONS; i++) {
            simulate<<<WAYS / THREADS, THREADS>>>(payoffs, 1.0f + 0.02f * i, spread, 77u * number + i); // SEEN
            prices[i] = mean_of_payoffs();                                                              // SEEN
            spread = prices[i] > 0.05 ? 0.009f : 0.011f; // what comes next depends on the price
        }
        check(cudaGetLastError());
    }
};

int main(int argc, char **argv)
{
    return run_steps(argc, argv, [](bool fixed) -> Program * { return new Markets(fixed); });
}
