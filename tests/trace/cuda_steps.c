/* A program with steps: each is an NVTX range with some kernels, and a wait unless the program is to run ahead of the
 * GPU. It says how often CUPTI called back in a step. */
#include <sys/wait.h>
#include <unistd.h>

#include "cuda_truth.h"
#include "nvtx_client.h"

enum { KERNELS = 5 };

int main(int argc, char **argv)
{
    const char *how = argc > 2 ? argv[2] : "";
    int steps = atoi(argv[1]), ends_inside = strcmp(how, "exit") == 0, waits = strcmp(how, "ahead") != 0;
    void *stream;
    MUST(cudaStreamCreate(&stream));
    for (int step = 0; step < steps; step++) {
        char name[32];
        snprintf(name, sizeof name, "step %d", step);
        nvtx_push(name);
        int64_t callbacks = fake_get("callbacks");
        for (int kernel = 0; kernel < KERNELS; kernel++)
            launch("work", stream);
        usleep(5000);
        if (ends_inside && step == steps - 1)
            exit(7);
        if (waits)
            MUST(cudaStreamSynchronize(stream));
        printf("{\"what\": \"step\", \"number\": %d, \"callbacks\": %lld}\n", step,
               (long long)(fake_get("callbacks") - callbacks));
        nvtx_pop();
    }
    truth_counters();
    return 0;
}
