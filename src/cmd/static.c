/* The answer of a fully static program to whoever wants to load a library: no. SQLite can be asked to load extensions,
 * and so names these functions; with glibc's own behind them, tacho would depend on the libraries of the machine that
 * it was built on. Part of bin/tacho alone. */
#include <dlfcn.h>
#include <stddef.h>

void *dlopen(const char *path, int mode)
{
    return NULL;
}

void *dlsym(void *restrict handle, const char *restrict name)
{
    return NULL;
}

int dlclose(void *handle)
{
    return -1;
}

char *dlerror(void)
{
    return (char *)"tacho is a static program and loads no libraries";
}
