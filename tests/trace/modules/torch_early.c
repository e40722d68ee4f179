/* Two libraries, one of which depends on the other. The constructor of the first (FIRST) loads a third one, as those of
 * libGLdispatch do; the second one's must run after it. */
#include <dlfcn.h>
#include <stdio.h>

extern int first_is_ready;

#ifdef FIRST
int first_is_ready;

__attribute__((constructor)) static void construct(void)
{
    first_is_ready = dlopen(FIRST, RTLD_NOW) != NULL;
}
#else
__attribute__((constructor)) static void construct(void)
{
    puts(first_is_ready ? "in order" : "too early");
    fflush(stdout);
}
#endif
