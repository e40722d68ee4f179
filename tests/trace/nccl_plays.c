/* Uses the stand-in of NCCL (fake/nccl.c), whose path is the first argument, with the versions of the profiler
 * interface that follow. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    void *nccl = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    int (*play)(int) = nccl ? (int (*)(int))dlsym(nccl, "ncclFakePlay") : NULL;
    int faults = 0;
    if (!play) {
        printf("no stand-in: %s\n", dlerror());
        return 2;
    }
    for (int i = 2; i < argc; i++)
        faults += play(atoi(argv[i]));
    puts(faults ? "faults" : "ok");
    return faults != 0;
}
