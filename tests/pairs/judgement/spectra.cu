// Spectra of many short signals. A helper transforms one signal with a kernel of one block, and is called for each. Repaired: one kernel
// with a block for each signal.
#include "steps.cuh"

enum { LENGTH = 512, SIGNALS = 2048 };

// A Hartley transform by its definition; each block does one signal.
__global__ void transform(const float *in, float *out)
{
    __shared__ float signal[LENGTH];
    const float *from = in + (size_t)blockIdx.x * LENGTH;
    float sum = 0;

    signal[threadIdx.x] = from[threadIdx.x];
    __syncthreads();
    for (int i = 0; i < LENGTH; i++) {
        float angle = 2.0f / LENGTH * (i * threadIdx.x % LENGTH);
        sum += signal[i] * (cospif(angle) + sinpif(angle));
    }
    out[(size_t)blockIdx.x * LENGTH + threadIdx.x] = sum;
}

__global__ void shrink(float *all)
{
    size_t i = (size_t)blockIdx.x * LENGTH + threadIdx.x;

    all[i] = all[i] / LENGTH + 1e-3f;
}

static void transform_signal(const float *in, float *out)
{
    transform<<<1, LENGTH>>>(in, out); // FAULT
}

struct Spectra : Program {
    bool fixed;
    float *in = device_array<float>((size_t)SIGNALS * LENGTH), *out = device_array<float>((size_t)SIGNALS * LENGTH);

    Spectra(bool is_fixed) : fixed(is_fixed) {}

    ~Spectra() override
    {
        cudaFree(in);
        cudaFree(out);
    }

    void step(int) override
    {
        if (fixed) {
            transform<<<SIGNALS, LENGTH>>>(in, out);
        } else {
            for (int i = 0; i < SIGNALS; i++)
                transform_signal(in + (size_t)i * LENGTH, out + (size_t)i * LENGTH); // SEEN
        }
        shrink<<<SIGNALS, LENGTH>>>(out);
        std::swap(in, out);
        check(cudaGetLastError());
    }
};

int main(int argc, char **argv)
{
    return run_steps(argc, argv, [](bool fixed) -> Program * { return new Spectra(fixed); });
}
