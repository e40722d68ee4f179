/* NVTX around what the GPU does: a range, a range that captures may wait for, and streams with names. */
#include "cuda_truth.h"
#include "nvtx_client.h"

NVTX_CALL(nvtx_name_driver_stream, NVTX_CUDA, 5, void, NVTX_NOTHING, (void *stream, const char *name), (stream, name))
NVTX_CALL(nvtx_name_runtime_stream, NVTX_CUDART, 3, void, NVTX_NOTHING, (void *stream, const char *name),
          (stream, name))

static void work(const char *name, void *stream)
{
    launch(name, stream);
    truth("kernel", "\"name\": \"%s\"", name);
    MUST(cudaDeviceSynchronize());
}

int main(void)
{
    void *copies, *math;
    MUST(cudaStreamCreate(&copies));
    MUST(cudaStreamCreate(&math));
    nvtx_name_driver_stream(copies, "copies");
    nvtx_name_runtime_stream(math, "math");
    nvtx_push("outer");
    work("in_outer", copies);
    nvtx_pop();
    work("between", math);
    nvtx_push("work");
    work("in_work", math);
    nvtx_pop();
    work("after", math);
    truth_counters();
    return 0;
}
