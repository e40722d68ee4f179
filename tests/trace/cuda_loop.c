/* A loop as programs in C++ have it: no ranges, no marks, the same launches in each round, and a wait. */
#include <unistd.h>

#include "cuda_truth.h"

int main(int argc, char **argv)
{
    static const char *const names[] = { "advance", "exchange", "residual", "norm", "halo", "copy_back" };
    void *stream;

    MUST(cudaStreamCreate(&stream));
    launch("fill", stream);
    for (int step = 0; step < atoi(argv[argc - 1]); step++) {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            launch(names[i], stream);
        usleep(1000);
        MUST(cudaStreamSynchronize(stream));
    }
    truth_counters();
    return 0;
}
