/* Libraries of the same kind in one process, each for its own plugin: with -DLIBRARY=number a library, with -DPLUGIN a
 * plugin that calls it, else the program that loads plugins and says which library each call has reached. SIGN is a
 * function that all libraries of the kind have, CALLED another one. */
#include <dlfcn.h>
#include <stdio.h>

#if defined(LIBRARY)
int SIGN(void *a, void *b, void *c)
{
    return 0;
}
int CALLED(void *a)
{
    return LIBRARY;
}
#elif defined(PLUGIN)
int CALLED(void *a);
int reach(void)
{
    static char any[64];
    return CALLED(any);
}
#else
typedef int reach_function(void);

static void *load(const char *path, reach_function **reach)
{
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    *reach = plugin ? (reach_function *)dlsym(plugin, "reach") : NULL;
    if (!*reach)
        puts(dlerror());
    return plugin;
}

/* The plugins first and second have libraries of their own; third has the library of first, and may lie where second
 * was. */
int main(int argc, char **argv)
{
    reach_function *first, *second, *third;
    void *loaded;
    load(argv[1], &first);
    printf("%d", first());
    loaded = load(argv[2], &second);
    for (int i = 0; i < 3; i++)
        printf(" %d %d", first(), second());
    dlclose(loaded);
    load(argv[3], &third);
    printf(" %d %d\n", third(), first());
    return 0;
}
#endif
