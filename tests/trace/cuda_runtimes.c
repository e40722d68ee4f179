/* Two CUDA runtimes in one process: the one that it is linked with, and one that it opens. cuda_runtimes [late] */
#include <dlfcn.h>

#include "cuda_truth.h"

typedef int (*launch_function)(const void *, struct dim3, struct dim3, void **, size_t, void *);

/* Beside the runtime that this program is linked with. */
static void *open_runtime(void)
{
    Dl_info info;
    char path[4096];
    if (!dladdr((void *)cudaMalloc, &info))
        exit(94);
    snprintf(path, sizeof path, "%.*s/libcudart.so.12", (int)(strrchr(info.dli_fname, '/') - info.dli_fname),
             info.dli_fname);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        exit(93);
    return library;
}

int main(int argc, char **argv)
{
    int late = argc > 1 && strcmp(argv[1], "late") == 0;
    if (!late)
        launch("first", NULL);
    void *library = open_runtime();
    launch_function other = (launch_function)dlsym(library, "cudaLaunchKernel");
    MUST(other(fake_kernel("opened"), ONE, ONE, NULL, 0, NULL));
    if (!late)
        launch("second", NULL);
    MUST(((int (*)(void))dlsym(library, "cudaDeviceSynchronize"))());
    truth_counters();
    return 0;
}
