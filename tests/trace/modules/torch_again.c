/* A program that allocates through one libc10, unloads it, and goes on with another: torch_again LIBC10 LIBC10. */
#include <dlfcn.h>
#include <stdio.h>

#include "torch_standin.h"

static void *load(const char *path)
{
    void *c10 = dlopen(path, RTLD_NOW);
    if (!c10)
        puts(dlerror());
    return c10;
}

static void allocate(void *c10)
{
    ((standin_free_function *)dlsym(c10,
                                    "standin_free"))(((standin_allocate_function *)dlsym(c10, "standin_allocate"))(64),
                                                     64);
}

int main(int argc, char **argv)
{
    void *first = load(argv[1]), *second = load(argv[2]);
    if (!first || !second)
        return 1;
    allocate(first);
    dlclose(first);
    printf("the first is %s\n", dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD) ? "still there" : "gone");
    allocate(second);
    printf("%llu reports\n", (unsigned long long)*(uint64_t *)dlsym(second, "standin_reports"));
    return 0;
}
