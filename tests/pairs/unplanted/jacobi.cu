// Solves a Poisson equation by Jacobi's method, and reads the residual after each iteration, as textbooks do.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

enum { N = 2048, STEPS = 1200, WARM_UP = 200, THREADS = 256 };

static void check(cudaError_t error)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "jacobi: %s\n", cudaGetErrorString(error));
        exit(1);
    }
}

__global__ void sweep(const float *from, float *to)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x > 0 && y > 0 && x < N - 1 && y < N - 1)
        to[y * N + x] = 0.25f * (from[y * N + x - 1] + from[y * N + x + 1] + from[(y - 1) * N + x] + from[(y + 1) * N + x] + 1e-4f);
}

__global__ void difference(const float *a, const float *b, float *out)
{
    __shared__ float part[THREADS];
    float sum = 0;

    for (int i = blockIdx.x * THREADS + threadIdx.x; i < N * N; i += gridDim.x * THREADS)
        sum += fabsf(a[i] - b[i]);
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = THREADS / 2; half; half /= 2) {
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        atomicAdd(out, part[0]);
}

static void iterate(float *from, float *to, float *residual)
{
    sweep<<<dim3(N / 32, N / 8), dim3(32, 8)>>>(from, to);
    check(cudaMemsetAsync(residual, 0, sizeof *residual));
    difference<<<264, THREADS>>>(from, to, residual);
    check(cudaGetLastError());
}

// Fifty iterations as one launch: follows the advice to use a CUDA graph.
static cudaGraphExec_t capture(float *from, float *to, float *residual)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;

    check(cudaStreamCreate(&stream));
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < 50; i++) {
        sweep<<<dim3(N / 32, N / 8), dim3(32, 8), 0, stream>>>(from, to);
        check(cudaMemsetAsync(residual, 0, sizeof *residual, stream));
        difference<<<264, THREADS, 0, stream>>>(from, to, residual);
        std::swap(from, to);
    }
    check(cudaStreamEndCapture(stream, &graph));
    check(cudaGraphInstantiate(&exec, graph, 0));
    return exec;
}

// Seconds of an iteration.
static double solve(const char *follow)
{
    int every = strcmp(follow, "as_written") == 0 ? 1 : 50;
    float *from, *to, *residual, left = 0;
    std::chrono::steady_clock::time_point start;

    check(cudaMalloc(&from, N * N * sizeof *from));
    check(cudaMalloc(&to, N * N * sizeof *to));
    check(cudaMalloc(&residual, sizeof *residual));
    check(cudaMemset(from, 0, N * N * sizeof *from));
    check(cudaMemset(to, 0, N * N * sizeof *to));
    cudaGraphExec_t graph = strcmp(follow, "graph") == 0 ? capture(from, to, residual) : nullptr;
    for (int step = 0; step < STEPS; step += graph ? 50 : 1) {
        if (step == WARM_UP) {
            check(cudaDeviceSynchronize());
            start = std::chrono::steady_clock::now();
        }
        if (graph) {
            check(cudaGraphLaunch(graph, 0));
        } else {
            iterate(from, to, residual);
            std::swap(from, to);
        }
        if (graph || step % every == every - 1)
            check(cudaMemcpy(&left, residual, sizeof left, cudaMemcpyDeviceToHost));
        if (left < 0)
            break;
    }
    check(cudaDeviceSynchronize());
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / (STEPS - WARM_UP);
    check(cudaFree(from));
    check(cudaFree(to));
    check(cudaFree(residual));
    return seconds;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc || i == 1; i++) {
        const char *follow = i < argc ? argv[i] : "as_written";

        printf("%s: %.3f us per step\n", follow, solve(follow) * 1e6);
    }
    return 0;
}
