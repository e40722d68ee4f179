/* A program with steps: each is an NVTX range with some kernels and a wait. */
#include <sys/wait.h>
#include <unistd.h>

#include "cuda_truth.h"
#include "nvtx_client.h"

enum { KERNELS = 5 };

int main(int argc, char **argv)
{
    int steps = atoi(argv[1]), ends_inside = argc > 2 && strcmp(argv[2], "exit") == 0;
    void *stream;
    MUST(cudaStreamCreate(&stream));
    for (int step = 0; step < steps; step++) {
        char name[32];
        snprintf(name, sizeof name, "step %d", step);
        nvtx_push(name);
        for (int kernel = 0; kernel < KERNELS; kernel++)
            launch("work", stream);
        usleep(5000);
        if (ends_inside && step == steps - 1)
            exit(7);
        MUST(cudaStreamSynchronize(stream));
        nvtx_pop();
    }
    truth_counters();
    return 0;
}
