/* Four steps on a GPU between a start and an end that do other work: cuda_scopes. A capture may have the whole, or the
 * range of NVTX around the steps, or the time from cudaProfilerStart() to cudaProfilerStop(). Nothing is on its way
 * when they begin or end, so that each event is either inside or outside; and no work of the GPU overlaps other work,
 * so that the sums are known. */
#include <unistd.h>

#include "cuda_truth.h"
#include "nvtx_client.h"

NVTX_CALL(nvtx_name_runtime_stream, NVTX_CUDART, 3, void, NVTX_NOTHING, (void *stream, const char *name),
          (stream, name))

enum { BYTES = 4096, STEPS = 4 };

static char host[BYTES];

/* Long against the steps, so that a share of the whole run differs from one of the steps. */
static void wait_outside(void)
{
    usleep(150000);
}

static void outside(const char *name, cudaStream_t stream, void *memory)
{
    MUST(cudaMemcpyAsync(memory, host, BYTES, 1, stream));
    launch(name, stream);
    MUST(cudaDeviceSynchronize());
}

static void step(cudaStream_t math, cudaStream_t copies, void *memory)
{
    MUST(cudaMemcpyAsync(memory, host, BYTES, 1, copies));
    MUST(cudaStreamSynchronize(copies));
    launch("gemm", math);
    launch("add", math);
    MUST(cudaMemsetAsync(memory, 0, BYTES, math));
    MUST(cudaStreamSynchronize(math));
    launch("reduce", NULL);
    MUST(cudaDeviceSynchronize());
}

int main(void)
{
    cudaStream_t math, copies;
    void *memory;
    char name[16];

    MUST(cudaMalloc(&memory, BYTES));
    MUST(cudaStreamCreateWithPriority(&math, cudaStreamNonBlocking, -3));
    MUST(cudaStreamCreate(&copies));
    nvtx_name_runtime_stream(math, "math");
    nvtx_name_runtime_stream(copies, "copies");
    outside("before", math, memory);
    wait_outside();
    nvtx_push("measured");
    MUST(cudaProfilerStart());
    for (int i = 0; i < STEPS; i++) {
        snprintf(name, sizeof name, "step %d", i);
        nvtx_push(name);
        step(math, copies, memory);
        nvtx_pop();
    }
    MUST(cudaProfilerStop());
    nvtx_pop();
    wait_outside();
    outside("after", math, memory);
    truth_counters();
    return 0;
}
