// Without a planted fault: a lattice of spins, updated in two colours. A step is one CUDA graph, and the magnetisation is read once in 32 steps.
#include "steps.cuh"

enum { N = 4096, SWEEPS = 40, THREADS = 256 };

__device__ unsigned hash(unsigned x)
{
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

__global__ void sweep(signed char *spins, int colour, const unsigned *seed)
{
    int x = 2 * (blockIdx.x * blockDim.x + threadIdx.x), y = blockIdx.y;

    x += (y + colour) % 2;
    signed char *row = spins + (size_t)y * N;
    int sum = row[(x + 1) % N] + row[(x + N - 1) % N] + spins[(size_t)((y + 1) % N) * N + x] + spins[(size_t)((y + N - 1) % N) * N + x];
    float chance = __expf(-0.88f * sum * row[x]);
    if (hash(hash(x * 7919u + y) + *seed + colour) < chance * 4294967040.0f)
        row[x] = -row[x];
}

__global__ void next_seed(unsigned *seed)
{
    *seed = hash(*seed + 1);
}

__global__ void add_up(const signed char *spins, int *sum)
{
    int part = 0;

    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < (size_t)N * N; i += (size_t)gridDim.x * THREADS)
        part += spins[i];
    atomicAdd(sum, part);
}

__global__ void align(signed char *spins)
{
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;

    spins[i] = hash((unsigned)i) % 2 ? 1 : -1;
}

struct Lattice : Program {
    signed char *spins = device_array<signed char>((size_t)N * N);
    unsigned *seed = device_array<unsigned>(1);
    int *sum = device_array<int>(1);
    cudaStream_t stream;
    cudaGraphExec_t exec;

    Lattice()
    {
        cudaGraph_t graph;

        align<<<(size_t)N * N / THREADS, THREADS>>>(spins);
        check(cudaDeviceSynchronize());
        check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        for (int i = 0; i < SWEEPS; i++) {
            for (int colour = 0; colour < 2; colour++)
                sweep<<<dim3(N / 2 / THREADS, N), THREADS, 0, stream>>>(spins, colour, seed);
            next_seed<<<1, 1, 0, stream>>>(seed);
        }
        check(cudaStreamEndCapture(stream, &graph));
        check(cudaGraphInstantiate(&exec, graph, 0));
        check(cudaGraphDestroy(graph));
    }

    void step(int number) override
    {
        check(cudaGraphLaunch(exec, stream));
        if (number % 32 == 31) {
            int result;
            check(cudaMemsetAsync(sum, 0, sizeof *sum, stream));
            add_up<<<264, THREADS, 0, stream>>>(spins, sum);
            check(cudaMemcpyAsync(&result, sum, sizeof result, cudaMemcpyDeviceToHost, stream));
            check(cudaStreamSynchronize(stream));
        }
    }
};

int main(int argc, char **argv)
{
    return run_steps(argc, argv, [](bool) -> Program * { return new Lattice; });
}
