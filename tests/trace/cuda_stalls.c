/* Launches the kernels of a real cubin: cuda_stalls CUBIN COUNT [destroy|busy|forever|unload|range]. destroy: the
 * context is destroyed at the end; busy: while a thread that is not the program's is in CUPTI for it; forever: a last
 * kernel never ends; unload: the module is unloaded before the end; range: only the second half lies between
 * cudaProfilerStart() and cudaProfilerStop(). */
#include <unistd.h>

#include "cuda_truth.h"

static char *read_file(const char *path)
{
    static _Alignas(16) char image[1 << 16];
    FILE *file = fopen(path, "rb");
    if (!file || fread(image, 1, sizeof image, file) == 0)
        exit(98);
    fclose(file);
    return image;
}

static void launch_all(CUfunction kernel, int count)
{
    for (int i = 0; i < count; i++) {
        MUST(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
        truth("kernel", "\"name\": \"chase\"");
    }
    MUST(cuCtxSynchronize());
}

int main(int argc, char **argv)
{
    const char *how = argc > 3 ? argv[3] : "";
    int count = atoi(argv[2]);
    CUcontext context;
    CUmodule module;
    CUfunction kernel;
    MUST(cuInit(0));
    MUST(cuCtxCreate_v2(&context, 0, 0));
    MUST(cuModuleLoadData(&module, read_file(argv[1])));
    MUST(cuModuleGetFunction(&kernel, module, "chase"));
    if (strcmp(how, "range") == 0) {
        launch_all(kernel, count);
        MUST(cudaProfilerStart());
        launch_all(kernel, count);
        MUST(cudaProfilerStop());
    } else {
        launch_all(kernel, count);
    }
    if (strcmp(how, "unload") == 0)
        MUST(cuModuleUnload(module));
    for (fake_set("pc_slow", strcmp(how, "busy") == 0 && fake_get("subscribers")); fake_get("pc_slow");)
        usleep(1000);
    if (strcmp(how, "destroy") == 0 || strcmp(how, "busy") == 0)
        MUST(cuCtxDestroy_v2(context));
    if (strcmp(how, "forever") == 0) {
        fake_set("duration_ns", 3600000000000);
        MUST(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
    }
    truth_counters();
    return 0;
}
