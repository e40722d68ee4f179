// Without a planted fault: neutrons in a slab, generation by generation. The host reads how many were born in each generation, because the next one
// depends on it; a generation is one long kernel that fills the GPU, so that the wait costs next to nothing.
#include "steps.cuh"

enum { NEUTRONS = 1 << 23, CELLS = 512, MOST_FLIGHTS = 200, THREADS = 256 };

__device__ float draw(unsigned &state)
{
    state = state * 747796405u + 2891336453u;
    unsigned word = ((state >> ((state >> 28) + 4)) ^ state) * 277803737u;
    return (((word >> 22) ^ word) + 0.5f) * 2.3283063e-10f;
}

__global__ void fly(float *flux, int *born, float yield, unsigned seed)
{
    __shared__ float part[CELLS];
    unsigned state = (blockIdx.x * THREADS + threadIdx.x) * 9781u + seed;
    float place = draw(state), way = 2 * draw(state) - 1;
    int children = 0;

    for (int cell = threadIdx.x; cell < CELLS; cell += THREADS)
        part[cell] = 0;
    __syncthreads();
    for (int flight = 0; flight < MOST_FLIGHTS; flight++) {
        place -= 0.02f * __logf(draw(state)) * way;
        if (place <= 0 || place >= 1)
            break;
        atomicAdd(&part[min((int)(place * CELLS), CELLS - 1)], 1.0f);
        if (draw(state) < 0.02f) {
            children = (int)(yield + draw(state));
            break;
        }
        way = 2 * draw(state) - 1;
    }
    children = __reduce_add_sync(0xffffffffu, children);
    if (threadIdx.x % 32 == 0)
        atomicAdd(born, children);
    __syncthreads();
    for (int cell = threadIdx.x; cell < CELLS; cell += THREADS)
        atomicAdd(&flux[cell], part[cell]);
}

struct Histories : Program {
    float *flux = device_array<float>(CELLS), yield = 2.4f;
    int *born = device_array<int>(1), *on_host;

    Histories()
    {
        check(cudaMallocHost(&on_host, sizeof *on_host));
    }

    ~Histories() override
    {
        cudaFree(flux);
        cudaFree(born);
        cudaFreeHost(on_host);
    }

    void step(int number) override
    {
        check(cudaMemsetAsync(born, 0, sizeof *born));
        fly<<<NEUTRONS / THREADS, THREADS>>>(flux, born, yield, 101u * number + 1);
        check(cudaMemcpyAsync(on_host, born, sizeof *born, cudaMemcpyDeviceToHost));
        check(cudaStreamSynchronize(nullptr));
        float factor = (float)NEUTRONS / (*on_host + 1);
        yield = std::min(4.0f, std::max(1.5f, yield * (1 + 0.1f * (factor - 1))));
    }
};

int main(int argc, char **argv)
{
    return run_steps(argc, argv, [](bool) -> Program * { return new Histories; });
}
