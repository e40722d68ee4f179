// Conjugate gradients on a grid, sixty iterations a step. The two factors of an iteration are divided on the host, so that it waits for
// both dot products. Repaired: a kernel divides them.
#include "steps.cuh"

enum { N = 1536, ITERATIONS = 60, THREADS = 256, BLOCKS = 264 };

__global__ void apply(const float *p, float *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, i = y * N + x;

    if (x >= N || y >= N)
        return;
    out[i] = 4.01f * p[i] - (x ? p[i - 1] : 0) - (x < N - 1 ? p[i + 1] : 0) - (y ? p[i - N] : 0) - (y < N - 1 ? p[i + N] : 0);
}

__global__ void dot(const float *a, const float *b, float *out)
{
    __shared__ float part[THREADS];
    float sum = 0;

    for (int i = blockIdx.x * THREADS + threadIdx.x; i < N * N; i += gridDim.x * THREADS)
        sum += a[i] * b[i];
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

// y = a x + b y, with factors of the host, or of the GPU if `at` is given.
__global__ void combine(float a, const float *x, float b, float *y, const float *at, float sign)
{
    float factor = at ? sign * *at : a;

    for (int i = blockIdx.x * THREADS + threadIdx.x; i < N * N; i += gridDim.x * THREADS)
        y[i] = factor * x[i] + b * y[i];
}

// p = r + beta p
__global__ void turn(const float *r, float *p, float beta, const float *at)
{
    float factor = at ? *at : beta;

    for (int i = blockIdx.x * THREADS + threadIdx.x; i < N * N; i += gridDim.x * THREADS)
        p[i] = r[i] + factor * p[i];
}

__global__ void divide(const float *above, const float *below, float *out)
{
    *out = *above / (*below + 1e-30f);
}

__global__ void begin(float *x, float *r, float *p)
{
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < N * N; i += gridDim.x * THREADS) {
        x[i] = 0;
        r[i] = p[i] = (i * 2654435761u >> 8) / 16777216.0f - 0.5f;
    }
}

struct Gradients : Program {
    bool fixed;
    float *x = device_array<float>(N * N), *r = device_array<float>(N * N), *p = device_array<float>(N * N), *q = device_array<float>(N * N);
    float *sums = device_array<float>(3), *factor = device_array<float>(1);

    Gradients(bool is_fixed) : fixed(is_fixed) {}

    ~Gradients() override
    {
        for (float *array : {x, r, p, q, sums, factor})
            cudaFree(array);
    }

    void sum(const float *a, const float *b, float *out)
    {
        check(cudaMemsetAsync(out, 0, sizeof *out));
        dot<<<BLOCKS, THREADS>>>(a, b, out);
    }

    float read(const float *value)
    {
        float result;

        check(cudaMemcpy(&result, value, sizeof result, cudaMemcpyDeviceToHost)); // FAULT
        return result;
    }

    void iterate_on_host(float &rr)
    {
        apply<<<dim3(N / 32, N / 8), dim3(32, 8)>>>(p, q);
        sum(p, q, sums);
        float alpha = rr / (read(sums) + 1e-30f); // SEEN
        combine<<<BLOCKS, THREADS>>>(alpha, p, 1, x, nullptr, 0);
        combine<<<BLOCKS, THREADS>>>(-alpha, q, 1, r, nullptr, 0);
        sum(r, r, sums + 1);
        float next = read(sums + 1); // SEEN
        turn<<<BLOCKS, THREADS>>>(r, p, next / (rr + 1e-30f), nullptr);
        rr = next;
    }

    void iterate_on_gpu(float *before, float *after)
    {
        apply<<<dim3(N / 32, N / 8), dim3(32, 8)>>>(p, q);
        sum(p, q, sums);
        divide<<<1, 1>>>(before, sums, factor);
        combine<<<BLOCKS, THREADS>>>(0, p, 1, x, factor, 1);
        combine<<<BLOCKS, THREADS>>>(0, q, 1, r, factor, -1);
        sum(r, r, after);
        divide<<<1, 1>>>(after, before, factor);
        turn<<<BLOCKS, THREADS>>>(r, p, 0, factor);
    }

    void step(int) override
    {
        begin<<<BLOCKS, THREADS>>>(x, r, p);
        sum(r, r, sums + 1);
        float rr = fixed ? 0 : read(sums + 1); // SEEN
        for (int i = 0; i < ITERATIONS; i++) {
            if (fixed)
                iterate_on_gpu(sums + 1 + i % 2, sums + 2 - i % 2);
            else
                iterate_on_host(rr); // SEEN
        }
        check(cudaGetLastError());
    }
};

int main(int argc, char **argv)
{
    return run_steps(argc, argv, [](bool fixed) -> Program * { return new Gradients(fixed); });
}
