// A program whose kernels and results are known, to measure counters with: bench/counters.py.
//
//     steps [ITERATIONS] [MEGABYTES HELD] [graph]
//
// An iteration is four kernels: one that changes memory in place (replayed without a restore, its result would be another),
// a reduction, atomics on integers, and a multiplication of matrices. "graph" launches them as a CUDA graph. Prints the time of an
// iteration, the number of kernels and a checksum.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

static const int N = 1 << 20, SIDE = 256;

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

__global__ void multiply(const float *a, const float *b, float *c)
{
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < SIDE; k++)
        sum += a[y * SIDE + k] * b[k * SIDE + x];
    c[y * SIDE + x] = sum;
}

struct State {
    uint32_t *data, *sums, *bins;
    float *a, *b, *c;
};

static void iterate(const State &s, cudaStream_t stream)
{
    change<<<N / 256, 256, 0, stream>>>(s.data);
    reduce<<<128, 256, 0, stream>>>(s.data, s.sums);
    histogram<<<N / 256, 256, 0, stream>>>(s.data, s.bins);
    multiply<<<dim3(SIDE / 16, SIDE / 16), dim3(16, 16), 0, stream>>>(s.a, s.b, s.c);
}

static double now() { timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e9 + t.tv_nsec; }

int main(int argc, char **argv)
{
    int iterations = argc > 1 ? atoi(argv[1]) : 1000;
    size_t held = argc > 2 ? (size_t)atol(argv[2]) << 20 : 0;
    bool is_graph = argc > 3 && strcmp(argv[3], "graph") == 0;
    State s;
    void *rest = nullptr;
    cudaStream_t stream;
    cudaGraphExec_t graph = nullptr;

    cudaStreamCreate(&stream);
    cudaMalloc(&s.data, N * 4), cudaMalloc(&s.sums, 128 * 4), cudaMalloc(&s.bins, 256 * 4);
    cudaMalloc(&s.a, SIDE * SIDE * 4), cudaMalloc(&s.b, SIDE * SIDE * 4), cudaMalloc(&s.c, SIDE * SIDE * 4);
    if (held && cudaMalloc(&rest, held)) {
        fprintf(stderr, "steps: no memory\n");
        return 1;
    }
    cudaMemset(s.data, 7, N * 4), cudaMemset(s.sums, 0, 128 * 4), cudaMemset(s.bins, 0, 256 * 4);
    cudaMemset(s.a, 63, SIDE * SIDE * 4), cudaMemset(s.b, 62, SIDE * SIDE * 4);
    if (rest)
        cudaMemset(rest, 1, held);
    if (is_graph) {
        cudaGraph_t captured;
        cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
        iterate(s, stream);
        cudaStreamEndCapture(stream, &captured);
        cudaGraphInstantiate(&graph, captured, 0);
    }
    cudaDeviceSynchronize();
    double from = now();
    for (int i = 0; i < iterations; i++)
        if (graph)
            cudaGraphLaunch(graph, stream);
        else
            iterate(s, stream);
    cudaError_t error = cudaDeviceSynchronize();
    double ns = now() - from;
    static uint32_t sums[128], bins[256];
    static float c[SIDE * SIDE];
    cudaMemcpy(sums, s.sums, sizeof sums, cudaMemcpyDeviceToHost), cudaMemcpy(bins, s.bins, sizeof bins, cudaMemcpyDeviceToHost);
    cudaMemcpy(c, s.c, sizeof c, cudaMemcpyDeviceToHost);
    uint64_t check = 14695981039346656037u;
    for (uint32_t word : sums)
        check = (check ^ word) * 1099511628211u;
    for (uint32_t word : bins)
        check = (check ^ word) * 1099511628211u;
    for (float value : c) {
        uint32_t word;
        memcpy(&word, &value, 4);
        check = (check ^ word) * 1099511628211u;
    }
    printf("ns_per_iteration=%.0f\nkernels=%d\nchecksum=%016llx\nerror=%d\n", ns / iterations, 4 * iterations, (unsigned long long)check, (int)error);
    return error != cudaSuccess;
}
