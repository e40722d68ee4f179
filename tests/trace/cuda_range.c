/* Says itself what is to be recorded: cuda_range runtime|driver|dlsym|nested RANGES. Waits for its stdin to end. */
#include <dlfcn.h>
#include <unistd.h>

#include "cuda_truth.h"

static void work(const char *name)
{
    launch(name, NULL);
    truth("kernel", "\"name\": \"%s\"", name);
    MUST(cudaDeviceSynchronize());
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "runtime";
    int ranges = argc > 2 ? atoi(argv[2]) : 1;
    int (*start)(void) = cudaProfilerStart, (*stop)(void) = cudaProfilerStop;
    if (strcmp(how, "driver") == 0) {
        start = cuProfilerStart;
        stop = cuProfilerStop;
    }
    if (strcmp(how, "dlsym") == 0) {
        void *library = dlopen("libcudart.so.13", RTLD_NOW | RTLD_NOLOAD);
        start = (int (*)(void))dlsym(library, "cudaProfilerStart");
        stop = (int (*)(void))dlsym(library, "cudaProfilerStop");
    }
    work("before");
    for (int i = 0; i < ranges; i++) {
        char inside[32], between[32];
        snprintf(inside, sizeof inside, "inside_%d", i);
        snprintf(between, sizeof between, "after_%d", i);
        MUST(start());
        work(inside);
        MUST(stop());
        work(between);
    }
    truth_counters();
    printf("done\n");
    fflush(stdout);
    char byte;
    while (read(0, &byte, 1) > 0)
        continue;
    return 0;
}
