/* Says itself what is to be recorded: cuda_range runtime|driver|dlsym|busy|early RANGES. Waits for its stdin to end.
 * Busy: other threads launch all the while. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "cuda_truth.h"

static void work(const char *name)
{
    launch(name, NULL);
    truth("kernel", "\"name\": \"%s\"", name);
    MUST(cudaDeviceSynchronize());
}

static _Atomic int over, launched;

static void *launch_all_the_while(void *unused)
{
    const void *kernel = fake_kernel("busy");
    while (!over) {
        MUST(cudaLaunchKernel(kernel, ONE, ONE, NULL, 0, cudaStreamPerThread));
        launched++;
        if (launched % 64 == 0)
            MUST(cudaStreamSynchronize(cudaStreamPerThread));
    }
    return unused;
}

static void busy(int ranges)
{
    pthread_t threads[4];
    fake_set("duration_ns", 100);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, launch_all_the_while, NULL);
    for (int i = 0; i < ranges; i++) {
        MUST(cudaProfilerStart());
        launch("inside", NULL);
        MUST(cudaStreamSynchronize(NULL));
        MUST(cudaProfilerStop());
    }
    over = 1;
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    MUST(cudaDeviceSynchronize());
    printf("{\"what\": \"busy\", \"launched\": %d}\n", launched);
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
    if (strcmp(how, "busy") == 0) {
        busy(ranges);
        ranges = 0;
    }
    if (strcmp(how, "early") == 0) { /* one that begins before CUDA does, and is over before there is a context */
        cuProfilerStart();
        MUST(cuInit(0));
        MUST(cuProfilerStop());
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
