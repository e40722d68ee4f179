/* A program without OpenMP that loads libraries with it, each with a copy of the runtime for itself alone, as packages
 * of Python do. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    for (int round = 0; round < 2; round++)
        for (int i = 1; i < argc; i++) {
            void *library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
            int (*run)(void) = library ? (int (*)(void))dlsym(library, "run_a_region") : NULL;
            if (!run || run() != 2) {
                printf("wrong in %s: %s\n", argv[i], library ? "the threads' numbers" : dlerror());
                return 1;
            }
        }
    return 0;
}
