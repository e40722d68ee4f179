/* Stubs for functions that a static program must not call. SQLite references dlopen() for extensions, libevent the
 * functions of <netdb.h> for DNS; Tacho uses neither. glibc's versions would need the libraries of the build machine,
 * so the linker replaces them (--wrap). All fail, except getnameinfo() for numeric addresses, which libevent's HTTP
 * server needs. */
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>

void *__wrap_dlopen(const char *path, int mode);
int __wrap_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **found);
int __wrap_getnameinfo(const struct sockaddr *address, socklen_t length, char *host, socklen_t host_size, char *service,
                       socklen_t service_size, int flags);
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

int __wrap_getnameinfo(const struct sockaddr *address, socklen_t length, char *host, socklen_t host_size, char *service,
                       socklen_t service_size, int flags)
{
    const struct sockaddr_in *v4 = (const void *)address;
    const struct sockaddr_in6 *v6 = (const void *)address;
    int is_v6 = address->sa_family == AF_INET6;

    if (!is_v6 && address->sa_family != AF_INET)
        return EAI_FAMILY;
    if (host && !inet_ntop(address->sa_family, is_v6 ? (const void *)&v6->sin6_addr : (const void *)&v4->sin_addr, host,
                           host_size))
        return EAI_OVERFLOW;
    if (service &&
        snprintf(service, service_size, "%u", ntohs(is_v6 ? v6->sin6_port : v4->sin_port)) >= (int)service_size)
        return EAI_OVERFLOW;
    return 0;
}

struct protoent *__wrap_getprotobynumber(int protocol)
{
    return NULL;
}

struct servent *__wrap_getservbyname(const char *name, const char *protocol)
{
    return NULL;
}
