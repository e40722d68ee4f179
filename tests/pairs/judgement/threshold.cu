// Pictures of a microscope are made black and white. The threshold of each comes from its histogram, by Otsu's method, which the host
// computes. Repaired: a kernel of one block computes it.
#include "steps.cuh"

enum { EDGE = 1024, PIXELS = EDGE * EDGE, PICTURES = 96, LEVELS = 256, THREADS = 256, BLOCKS = 264 };

__global__ void make(unsigned char *pictures)
{
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    unsigned x = (unsigned)i * 2654435761u;

    x ^= x >> 15;
    pictures[i] = (x >> 8) % 3 ? 40 + x % 50 : 150 + x % 90;
}

__global__ void count(const uchar4 *picture, int *histogram)
{
    __shared__ int part[LEVELS];

    part[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < PIXELS / 4; i += gridDim.x * THREADS) {
        uchar4 four = picture[i];
        atomicAdd(&part[four.x], 1);
        atomicAdd(&part[four.y], 1);
        atomicAdd(&part[four.z], 1);
        atomicAdd(&part[four.w], 1);
    }
    __syncthreads();
    atomicAdd(&histogram[threadIdx.x], part[threadIdx.x]);
}

// How well a threshold divides the levels, from the number and the sum of those below it.
__host__ __device__ static float contrast(float below, float sum_below, float sum)
{
    float above = PIXELS - below;

    if (below < 1 || above < 1)
        return 0;
    float difference = sum_below / below - (sum - sum_below) / above;
    return below * above * difference * difference;
}

static int threshold_of(const int *histogram)
{
    float sum = 0, below = 0, sum_below = 0, most = -1;
    int best = 0;

    for (int level = 0; level < LEVELS; level++)
        sum += (float)level * histogram[level];
    for (int level = 0; level < LEVELS; level++) {
        below += histogram[level];
        sum_below += (float)level * histogram[level];
        if (contrast(below, sum_below, sum) > most) {
            most = contrast(below, sum_below, sum);
            best = level;
        }
    }
    return best;
}

__global__ void find_threshold(const int *histogram, int *threshold)
{
    __shared__ float below[LEVELS], sums[LEVELS];
    __shared__ unsigned long long best;
    int level = threadIdx.x;

    below[level] = histogram[level];
    sums[level] = (float)level * histogram[level];
    if (level == 0)
        best = 0;
    __syncthreads();
    for (int apart = 1; apart < LEVELS; apart *= 2) {
        float more_below = level >= apart ? below[level - apart] : 0, more = level >= apart ? sums[level - apart] : 0;
        __syncthreads();
        below[level] += more_below;
        sums[level] += more;
        __syncthreads();
    }
    float value = contrast(below[level], sums[level], sums[LEVELS - 1]);
    atomicMax(&best, (unsigned long long)__float_as_uint(value) << 32 | (LEVELS - 1 - level));
    __syncthreads();
    if (level == 0)
        *threshold = LEVELS - 1 - (int)(best & 0xffffffffu);
}

__global__ void divide(const uchar4 *in, uchar4 *out, int threshold, const int *at)
{
    int i = blockIdx.x * THREADS + threadIdx.x, least = at ? *at : threshold;
    uchar4 four = in[i];

    out[i] = make_uchar4(four.x > least ? 255 : 0, four.y > least ? 255 : 0, four.z > least ? 255 : 0, four.w > least ? 255 : 0);
}

struct Threshold : Program {
    bool fixed;
    unsigned char *in = device_array<unsigned char>((size_t)PICTURES * PIXELS), *out = device_array<unsigned char>((size_t)PICTURES * PIXELS);
    int *histogram = device_array<int>(LEVELS), *threshold = device_array<int>(1);

    Threshold(bool is_fixed) : fixed(is_fixed)
    {
        make<<<(size_t)PICTURES * PIXELS / THREADS, THREADS>>>(in);
    }

    ~Threshold() override
    {
        cudaFree(in);
        cudaFree(out);
        cudaFree(histogram);
        cudaFree(threshold);
    }

    int ask()
    {
        int counts[LEVELS];

        check(cudaMemcpy(counts, histogram, sizeof counts, cudaMemcpyDeviceToHost)); // FAULT
        return threshold_of(counts);                                                 // FAULT
    }

    void treat(const uchar4 *from, uchar4 *to)
    {
        check(cudaMemsetAsync(histogram, 0, LEVELS * sizeof *histogram));
        count<<<BLOCKS, THREADS>>>(from, histogram);
        if (fixed) {
            find_threshold<<<1, LEVELS>>>(histogram, threshold);
            divide<<<PIXELS / 4 / THREADS, THREADS>>>(from, to, 0, threshold);
        } else {
            divide<<<PIXELS / 4 / THREADS, THREADS>>>(from, to, ask(), nullptr); // SEEN
        }
    }

    void step(int) override
    {
        for (int i = 0; i < PICTURES; i++)
            treat((const uchar4 *)(in + (size_t)i * PIXELS), (uchar4 *)(out + (size_t)i * PIXELS)); // SEEN
        check(cudaGetLastError());
    }
};

int main(int argc, char **argv)
{
    return run_steps(argc, argv, [](bool fixed) -> Program * { return new Threshold(fixed); });
}
