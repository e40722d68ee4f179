// Without a planted fault: tiles of a large map are sharpened. They are in page-locked memory, and three streams take turns, so that copies in both
// directions run beside the kernels of another tile. The kernels are the limit.
#include "steps.cuh"

enum { EDGE = 1024, RADIUS = 12, TILES = 12, SLOTS = 3, SIDE = 32 };
static const size_t PIXELS = (size_t)EDGE * EDGE, BYTES = PIXELS * sizeof(float);

__device__ float at(const float *tile, int x, int y)
{
    return tile[min(max(y, 0), EDGE - 1) * EDGE + min(max(x, 0), EDGE - 1)];
}

__global__ void sharpen(const float *in, float *out)
{
    int x = blockIdx.x * SIDE + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    float sum = 0, weights = 0, middle = at(in, x, y);

    for (int dy = -RADIUS; dy <= RADIUS; dy++) {
        for (int dx = -RADIUS; dx <= RADIUS; dx++) {
            float value = at(in, x + dx, y + dy), weight = __expf(-0.02f * (dx * dx + dy * dy) - 4 * (value - middle) * (value - middle));
            sum += weight * value;
            weights += weight;
        }
    }
    out[y * EDGE + x] = middle + 0.5f * (middle - sum / weights);
}

struct Tiles : Program {
    float *from[TILES], *to[TILES], *in[SLOTS], *out[SLOTS];
    cudaStream_t streams[SLOTS];

    Tiles()
    {
        for (int i = 0; i < TILES; i++) {
            check(cudaMallocHost(&from[i], BYTES));
            check(cudaMallocHost(&to[i], BYTES));
            for (size_t pixel = 0; pixel < PIXELS; pixel++)
                from[i][pixel] = (float)((pixel * 2654435761u >> 9) % 1024) / 1024;
        }
        for (int i = 0; i < SLOTS; i++) {
            in[i] = device_array<float>(PIXELS);
            out[i] = device_array<float>(PIXELS);
            check(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
        }
        check(cudaDeviceSynchronize());
    }

    ~Tiles() override
    {
        for (int i = 0; i < TILES; i++) {
            cudaFreeHost(from[i]);
            cudaFreeHost(to[i]);
        }
        for (int i = 0; i < SLOTS; i++) {
            cudaFree(in[i]);
            cudaFree(out[i]);
            cudaStreamDestroy(streams[i]);
        }
    }

    // A stream does its tiles one after the other, so that nothing is overwritten that is still needed.
    void step(int) override
    {
        for (int i = 0; i < TILES; i++) {
            int slot = i % SLOTS;
            check(cudaMemcpyAsync(in[slot], from[i], BYTES, cudaMemcpyHostToDevice, streams[slot]));
            sharpen<<<dim3(EDGE / SIDE, EDGE / 8), dim3(SIDE, 8), 0, streams[slot]>>>(in[slot], out[slot]);
            check(cudaMemcpyAsync(to[i], out[slot], BYTES, cudaMemcpyDeviceToHost, streams[slot]));
        }
        check(cudaGetLastError());
    }
};

int main(int argc, char **argv)
{
    return run_steps(argc, argv, [](bool) -> Program * { return new Tiles; });
}
