// Particles in managed memory. After each step the host moves the emitters, which lie among them, so that pages travel both ways.
// Repaired: the positions stay on the GPU, and the emitters are copied to it.
#include "steps.cuh"

enum { COUNT = 1 << 22, EMITTERS = 512, THREADS = 256, SUBSTEPS = 24 };

__global__ void move(float4 *positions, const float4 *emitters, float time)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    float4 p = positions[i], e = emitters ? emitters[i % EMITTERS] : positions[(size_t)(i % EMITTERS) * (COUNT / EMITTERS)];

    if (!emitters && i % (COUNT / EMITTERS) == 0)
        return;
    p.x += 0.01f * (e.x - p.x) + 0.001f * p.w;
    p.y += 0.01f * (e.y - p.y);
    p.z += 0.01f * (e.z - p.z) - 0.001f * time;
    p.w = 0.99f * p.w + 0.01f * (p.x + p.y);
    positions[i] = p;
}

struct Particles : Program {
    bool fixed;
    float4 *positions, *emitters = nullptr, *on_host = nullptr;

    Particles(bool is_fixed) : fixed(is_fixed)
    {
        if (fixed) {
            positions = device_array<float4>(COUNT);
            emitters = device_array<float4>(EMITTERS);
            check(cudaMallocHost(&on_host, EMITTERS * sizeof *on_host));
        } else {
            check(cudaMallocManaged(&positions, COUNT * sizeof *positions));
            check(cudaMemset(positions, 0, COUNT * sizeof *positions));
        }
    }

    ~Particles() override
    {
        cudaFree(positions);
        cudaFree(emitters);
        cudaFreeHost(on_host);
    }

    float4 &emitter(int i)
    {
        return fixed ? on_host[i] : positions[(size_t)i * (COUNT / EMITTERS)];
    }

    void steer(int number)
    {
        check(cudaDeviceSynchronize()); // SEEN
        for (int i = 0; i < EMITTERS; i++) {
            float4 &e = emitter(i);
            e.x = 0.9f * e.x + 0.01f * ((number + i) % 17); // FAULT
            e.y = 0.9f * e.y + 0.01f * ((number + i) % 13); // FAULT
        }
    }

    void step(int number) override
    {
        steer(number); // SEEN
        if (fixed)
            check(cudaMemcpyAsync(emitters, on_host, EMITTERS * sizeof *emitters, cudaMemcpyHostToDevice));
        for (int i = 0; i < SUBSTEPS; i++)
            move<<<COUNT / THREADS, THREADS>>>(positions, emitters, 0.1f * i); // SEEN
        check(cudaGetLastError());
    }
};

int main(int argc, char **argv)
{
    return run_steps(argc, argv, [](bool fixed) -> Program * { return new Particles(fixed); });
}
