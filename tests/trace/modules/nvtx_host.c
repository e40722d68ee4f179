/* Loads a library with NVTX inside, works in it, unloads it; and again. nvtx_host LIBRARY TIMES */
#include "../nvtx_client.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    nvtx_push("the host");
    for (int i = 0; i < atoi(argv[2]); i++) {
        void *library = dlopen(argv[1], RTLD_NOW);
        if (!library) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        void *symbol = dlsym(library, "plugin_work");
        int (*work)(int);
        memcpy(&work, &symbol, sizeof work);
        if (!work || !work(5))
            return 1;
        dlclose(library);
    }
    nvtx_pop();
    return 0;
}
