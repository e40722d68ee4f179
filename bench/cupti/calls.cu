// What CUPTI costs a thread: the six runtime calls of a PyTorch operator, one launch among them, and a launch alone.
// calls COUNT; prints ns_per_operator and ns_per_launch. 100 launches through the driver at the end show whether those are seen.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

__global__ void nothing(int *out)
{
    if (out)
        *out = 1;
}

static double now_ns()
{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

static void operate(cudaStream_t stream)
{
    int device;
    cudaStreamCaptureStatus status;
    cudaGetDevice(&device);
    cudaGetDevice(&device);
    cudaStreamIsCapturing(stream, &status);
    nothing<<<1, 32, 0, stream>>>(nullptr);
    cudaPeekAtLastError();
    cudaGetLastError();
}

static void launch(cudaStream_t stream)
{
    nothing<<<1, 32, 0, stream>>>(nullptr);
}

static double measure(void (*work)(cudaStream_t), cudaStream_t stream, int count)
{
    double start = now_ns();
    for (int i = 0; i < count; i++)
        work(stream);
    double ns = (now_ns() - start) / count;
    cudaDeviceSynchronize();
    return ns;
}

static void launch_through_driver(cudaStream_t stream)
{
    cudaFunction_t function;
    int *null = nullptr;
    void *arguments[] = {&null};
    cudaGetFuncBySymbol(&function, (const void *)nothing);
    for (int i = 0; i < 100; i++)
        cuLaunchKernel((CUfunction)function, 1, 1, 1, 32, 1, 1, 0, stream, arguments, nullptr);
    cudaDeviceSynchronize();
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 50000;
    const char *client = getenv("CUPTI_COST") ? getenv("CUDA_INJECTION64_PATH") : nullptr;
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    measure(operate, stream, 5000);
    void *library = client ? dlopen(client, RTLD_NOW | RTLD_NOLOAD) : nullptr;
    if (library)
        ((void (*)())dlsym(library, "cost_switch"))();
    measure(operate, stream, 3000);
    double operators = measure(operate, stream, count), launches = measure(launch, stream, count);
    launch_through_driver(stream);
    char seen[200] = "";
    if (library)
        ((void (*)(char *, size_t))dlsym(library, "cost_report"))(seen, sizeof seen);
    printf("calls n=%d ns_per_operator=%.0f ns_per_launch=%.0f %s\n", count, operators, launches, seen);
}
