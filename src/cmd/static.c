/* What bin/tacho, a static program, answers to whoever wants a library loaded or a name looked up: no. SQLite names
 * dlopen for its extensions, libevent the functions of <netdb.h> for its DNS; Tacho uses neither. With glibc's behind
 * those names, tacho would depend on the libraries of the machine that it was built on. The linker puts these functions
 * in their place (--wrap). */
#include <netdb.h>
#include <stddef.h>

void *__wrap_dlopen(const char *path, int mode);
int __wrap_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **found);
struct protoent *__wrap_getprotobynumber(int protocol);
struct servent *__wrap_getservbyname(const char *name, const char *protocol);

void *__wrap_dlopen(const char *path, int mode)
{
    return NULL;
}

int __wrap_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **found)
{
    return EAI_FAIL;
}

struct protoent *__wrap_getprotobynumber(int protocol)
{
    return NULL;
}

struct servent *__wrap_getservbyname(const char *name, const char *protocol)
{
    return NULL;
}
