// The nearest of two million vectors is looked up for a few questions, each of which is a block that reads all vectors. Repaired: the vectors are
// divided among blocks, and the nearest of their answers is taken.
#include "steps.cuh"

enum { VECTORS = 1 << 21, FEATURES = 32, QUESTIONS = 12, THREADS = 256, PARTS = 64 };

__global__ void make(float *vectors)
{
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    unsigned x = (unsigned)i * 2654435761u;

    x = (x ^ (x >> 15)) * 0x846ca68bu;
    vectors[i] = (x >> 8) / 16777216.0f;
}

// The smaller of two answers: a distance in the high bits, and the number of its vector in the low ones.
__device__ unsigned long long answer_of(float distance, unsigned number)
{
    return (unsigned long long)__float_as_uint(distance) << 32 | number;
}

// Block (p, q) looks through part p of the vectors for question q. Feature f of vector v is at f * VECTORS + v.
__global__ void look(const float *vectors, const float *questions, unsigned long long *answers)
{
    __shared__ float question[FEATURES];
    __shared__ unsigned long long found[THREADS];
    unsigned long long nearest = ~0ull;
    int part = VECTORS / gridDim.x / THREADS * THREADS, first = blockIdx.x * part, end = blockIdx.x == gridDim.x - 1 ? VECTORS : first + part;

    if (threadIdx.x < FEATURES)
        question[threadIdx.x] = questions[blockIdx.y * FEATURES + threadIdx.x];
    __syncthreads();
    for (int v = first + threadIdx.x; v < end; v += THREADS) {
        float distance = 0;
        for (int f = 0; f < FEATURES; f++) {
            float d = vectors[(size_t)f * VECTORS + v] - question[f];
            distance += d * d;
        }
        nearest = min(nearest, answer_of(distance, v));
    }
    found[threadIdx.x] = nearest;
    __syncthreads();
    for (int half = THREADS / 2; half; half /= 2) {
        if (threadIdx.x < half)
            found[threadIdx.x] = min(found[threadIdx.x], found[threadIdx.x + half]);
        __syncthreads();
    }
    if (threadIdx.x == 0)
        atomicMin(&answers[blockIdx.y], found[0]);
}

// The next question goes on from the vector that was found.
__global__ void turn(const float *vectors, float *questions, const unsigned long long *answers)
{
    int q = blockIdx.x, f = threadIdx.x;
    unsigned number = (unsigned)answers[q];

    questions[q * FEATURES + f] = 1.0f - 0.9f * vectors[(size_t)f * VECTORS + number];
}

struct Neighbours : Program {
    bool fixed;
    float *vectors = device_array<float>((size_t)VECTORS * FEATURES), *questions = device_array<float>(QUESTIONS * FEATURES);
    unsigned long long *answers = device_array<unsigned long long>(QUESTIONS);

    Neighbours(bool is_fixed) : fixed(is_fixed)
    {
        make<<<(size_t)VECTORS * FEATURES / THREADS, THREADS>>>(vectors);
        check(cudaMemcpy(questions, vectors, QUESTIONS * FEATURES * sizeof *questions, cudaMemcpyDeviceToDevice));
    }

    ~Neighbours() override
    {
        cudaFree(vectors);
        cudaFree(questions);
        cudaFree(answers);
    }

    void step(int) override
    {
        check(cudaMemsetAsync(answers, 0xff, QUESTIONS * sizeof *answers));
        if (fixed)
            look<<<dim3(PARTS, QUESTIONS), THREADS>>>(vectors, questions, answers);
        else
            look<<<dim3(1, QUESTIONS), THREADS>>>(vectors, questions, answers); // FAULT
        turn<<<QUESTIONS, FEATURES>>>(vectors, questions, answers);
        check(cudaGetLastError());
    }
};

int main(int argc, char **argv)
{
    return run_steps(argc, argv, [](bool fixed) -> Program * { return new Neighbours(fixed); });
}
