// A filter for frames of a camera. Frames come from memory of malloc() and results go back to it, one frame after the other. Repaired:
// page-locked memory, and copies that run beside the kernels of another frame.
#include "steps.cuh"

enum { WIDTH = 2048, HEIGHT = 1536, FRAMES = 8, THREADS = 256, STREAMS = 4, PASSES = 6 };
static const size_t PIXELS = (size_t)WIDTH * HEIGHT, BYTES = PIXELS * sizeof(float);

__global__ void smooth(const float *in, float *out)
{
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    float sum = 0;

    for (int dy = -3; dy <= 3; dy++)
        for (int dx = -3; dx <= 3; dx++)
            sum += in[min(max(y + dy, 0), HEIGHT - 1) * WIDTH + min(max(x + dx, 0), WIDTH - 1)];
    out[y * WIDTH + x] = sum / 49;
}

struct Frames : Program {
    bool fixed;
    float *from[FRAMES], *to[FRAMES], *in[STREAMS], *out[STREAMS];
    cudaStream_t streams[STREAMS];

    Frames(bool is_fixed) : fixed(is_fixed)
    {
        for (int i = 0; i < FRAMES; i++) {
            if (fixed) {
                check(cudaMallocHost(&from[i], BYTES));
                check(cudaMallocHost(&to[i], BYTES));
            } else {
                from[i] = (float *)malloc(BYTES);
                to[i] = (float *)malloc(BYTES);
            }
            std::fill(from[i], from[i] + PIXELS, (float)i);
            std::fill(to[i], to[i] + PIXELS, 0.0f);
        }
        for (int i = 0; i < STREAMS; i++) {
            in[i] = device_array<float>(PIXELS);
            out[i] = device_array<float>(PIXELS);
            check(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
        }
    }

    void filter(int slot)
    {
        for (int pass = 0; pass < PASSES; pass++) {
            smooth<<<dim3(WIDTH / 32, HEIGHT / 8), dim3(32, 8), 0, streams[slot]>>>(in[slot], out[slot]);
            std::swap(in[slot], out[slot]);
        }
        check(cudaGetLastError());
    }

    void step(int) override
    {
        for (int i = 0; i < FRAMES; i++) {
            int slot = fixed ? i % STREAMS : 0;
            if (fixed) {
                check(cudaMemcpyAsync(in[slot], from[i], BYTES, cudaMemcpyHostToDevice, streams[slot]));
                filter(slot);
                check(cudaMemcpyAsync(to[i], in[slot], BYTES, cudaMemcpyDeviceToHost, streams[slot]));
            } else {
                check(cudaMemcpyAsync(in[slot], from[i], BYTES, cudaMemcpyHostToDevice, streams[slot])); // FAULT
                filter(slot);
                check(cudaMemcpyAsync(to[i], in[slot], BYTES, cudaMemcpyDeviceToHost, streams[slot])); // FAULT
            }
        }
        check(cudaDeviceSynchronize()); // SEEN
    }
};

int main(int argc, char **argv)
{
    return run_steps(argc, argv, [](bool fixed) -> Program * { return new Frames(fixed); });
}
