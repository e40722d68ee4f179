/* Checks of host names and the token. Pure functions of the headers, so that each rule has its unit test. */
#include "access.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "base/array.h"

#define NAME_MOST 255 /* DNS's limit */

static const char *const loopback[] = { "localhost", "127.0.0.1", "[::1]" };

int access_init(struct access_guard *guard, struct error *err)
{
    unsigned char bytes[GUARD_TOKEN_BYTES];

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return error_set_errno(err, "cannot create a token: the kernel returned no random numbers");
    for (size_t i = 0; i < sizeof bytes; i++)
        sprintf(guard->token + 2 * i, "%02x", bytes[i]);
    return 0;
}

/* Copies the name before ":port". Returns 0 if the text is not of that form. */
static int access_take_name(const char *text, char name[NAME_MOST + 1])
{
    const char *end = *text == '[' ? strchr(text, ']') : text + strcspn(text, ":");

    if (!end)
        return 0;
    end += *text == '[';
    size_t length = (size_t)(end - text);
    if (length == 0 || length > NAME_MOST)
        return 0;
    memcpy(name, text, length);
    name[length] = 0;
    return *end == 0 || (*end == ':' && strlen(end + 1) <= 5 && strspn(end + 1, "0123456789") == strlen(end + 1));
}

static int is_numeric(const char *name)
{
    unsigned char address[sizeof(struct in6_addr)];
    char inside[NAME_MOST + 1];
    size_t length = strlen(name);

    if (*name != '[')
        return inet_pton(AF_INET, name, address) == 1;
    snprintf(inside, sizeof inside, "%.*s", (int)(length - 2), name + 1);
    return inet_pton(AF_INET6, inside, address) == 1;
}

int access_host(const struct access_guard *guard, const char *host)
{
    char name[NAME_MOST + 1];

    if (!access_take_name(host, name))
        return 0;
    for (size_t i = 0; i < COUNT_OF(loopback); i++)
        if (strcasecmp(name, loopback[i]) == 0)
            return 1;
    for (size_t i = 0; i < guard->host_count; i++)
        if (strcasecmp(name, guard->hosts[i]) == 0)
            return 1;
    return guard->open && is_numeric(name);
}

int access_origin(const struct access_guard *guard, const char *origin)
{
    static const char *const schemes[] = { "http://", "https://" };

    for (size_t i = 0; i < COUNT_OF(schemes); i++)
        if (strncmp(origin, schemes[i], strlen(schemes[i])) == 0)
            return access_host(guard, origin + strlen(schemes[i]));
    return 0;
}

int access_token(const struct access_guard *guard, const char *token)
{
    unsigned char differs = 0;

    if (strlen(token) != strlen(guard->token))
        return 0;
    for (size_t i = 0; guard->token[i]; i++)
        differs |= (unsigned char)(token[i] ^ guard->token[i]);
    return !differs;
}
