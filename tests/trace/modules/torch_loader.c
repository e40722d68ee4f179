/* A library with a search path of its own that loads others: the agent cannot take its place, and hears of it later. */
#include <dlfcn.h>

void *load(const char *path)
{
    return dlopen(path, RTLD_NOW);
}
