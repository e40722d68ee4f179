/* Copies arrays to a GPU, scales them there and copies them back, one after another: the GPU waits for every copy. The
 * page docs/questions/gpu-idle.md finds out why, and mends it.
 *
 *     nvcc -O2 -lineinfo -o pipeline pipeline.cu
 *     tacho profile -o slow ./pipeline && tacho analyze slow.tacho
 *     tacho profile -o fast ./pipeline mended && tacho diff slow.tacho fast.tacho */
#include <cstdio>
#include <cstdlib>
#include <cstring>

enum { ARRAYS = 64, LENGTH = 1 << 22, STREAMS = 4, ROUNDS = 200 };

static void check(cudaError_t code, int line)
{
    if (code != cudaSuccess) {
        fprintf(stderr, "pipeline.cu:%d: %s\n", line, cudaGetErrorString(code));
        exit(1);
    }
}
#define CHECK(call) check(call, __LINE__)

__global__ void scale(float *values, float factor)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = values[i];

    for (int round = 0; round < ROUNDS; round++)
        value = value * factor + 1.0f;
    values[i] = value;
}

/* Memory that malloc() returns is copied in two steps, and cudaMemcpy() waits for the end. */
static void one_by_one(float **host)
{
    float *device;

    CHECK(cudaMalloc(&device, LENGTH * sizeof *device));
    for (int a = 0; a < ARRAYS; a++) {
        CHECK(cudaMemcpy(device, host[a], LENGTH * sizeof *device, cudaMemcpyHostToDevice));
        scale<<<LENGTH / 256, 256>>>(device, 0.999f);
        CHECK(cudaMemcpy(host[a], device, LENGTH * sizeof *device, cudaMemcpyDeviceToHost));
    }
    CHECK(cudaFree(device));
}

/* Pinned memory and several streams: copies in both directions and kernels run at the same time. */
static void overlapped(float **host)
{
    cudaStream_t streams[STREAMS];
    float *device[STREAMS];

    for (int s = 0; s < STREAMS; s++) {
        CHECK(cudaStreamCreate(&streams[s]));
        CHECK(cudaMalloc(&device[s], LENGTH * sizeof **device));
    }
    for (int a = 0; a < ARRAYS; a++) {
        int s = a % STREAMS;
        CHECK(cudaMemcpyAsync(device[s], host[a], LENGTH * sizeof **device, cudaMemcpyHostToDevice, streams[s]));
        scale<<<LENGTH / 256, 256, 0, streams[s]>>>(device[s], 0.999f);
        CHECK(cudaMemcpyAsync(host[a], device[s], LENGTH * sizeof **device, cudaMemcpyDeviceToHost, streams[s]));
    }
    CHECK(cudaDeviceSynchronize());
    for (int s = 0; s < STREAMS; s++) {
        CHECK(cudaFree(device[s]));
        CHECK(cudaStreamDestroy(streams[s]));
    }
}

int main(int argc, char **argv)
{
    int mended = argc > 1 && strcmp(argv[1], "mended") == 0;
    static float *host[ARRAYS];

    for (int a = 0; a < ARRAYS; a++) {
        if (mended)
            CHECK(cudaMallocHost((void **)&host[a], LENGTH * sizeof **host));
        else
            host[a] = (float *)malloc(LENGTH * sizeof **host);
        for (int i = 0; i < LENGTH; i++)
            host[a][i] = (float)(i % 1000);
    }
    if (mended)
        overlapped(host);
    else
        one_by_one(host);
    printf("%d arrays of %d values, the last one is %g\n", ARRAYS, LENGTH, (double)host[ARRAYS - 1][LENGTH - 1]);
    return 0;
}
