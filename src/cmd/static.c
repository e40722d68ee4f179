/* What bin/tacho, a static program, answers to whoever wants to load a library: no. SQLite can be asked to load
 * extensions and so names dlopen; with glibc's behind that name, tacho would depend on the libraries of the machine that
 * it was built on. The linker puts this function in its place (--wrap=dlopen). */
#include <stddef.h>

void *__wrap_dlopen(const char *path, int mode);

void *__wrap_dlopen(const char *path, int mode)
{
    return NULL;
}
