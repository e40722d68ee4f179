/* Access control. A browser runs the scripts of every page that its user visits, and all of them can reach loopback.
 * The token keeps them out, because they cannot know it. Host names do, too: a page that has its own name point to
 * 127.0.0.1 (DNS rebinding) sends that name in Host and Origin. Ports are ignored, because forwarding changes them. */
#ifndef TACHO_SERVE_ACCESS_H
#define TACHO_SERVE_ACCESS_H

#include <stddef.h>

#include "base/error.h"

#define GUARD_TOKEN_BYTES 16

struct access_guard {
    char token[2 * GUARD_TOKEN_BYTES + 1];
    const char *const *hosts; /* further names that are good */
    size_t host_count;
    int open;                 /* not on loopback alone: numeric addresses are good as well, since DNS
                               * rebinding needs a name */
};

/* Makes a token from the kernel's random numbers. */
int access_init(struct access_guard *guard, struct error *err);

/* Whether a header Host ("name", "name:port", "[::1]:port") names us. */
int access_host(const struct access_guard *guard, const char *host);
/* Whether a header Origin ("http://name:port") names us. "null", which sandboxed pages send, does not. */
int access_origin(const struct access_guard *guard, const char *origin);
/* Whether the token is ours. Compares in constant time, so that the time reveals nothing about the token. */
int access_token(const struct access_guard *guard, const char *token);

#endif
