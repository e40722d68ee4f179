/* Connections before authentication. libevent delivers a request only once its body is complete, so anyone who can
 * connect could fill memory with bodies. A connection may send a large body only after its headers have shown the
 * token. */
#ifndef TACHO_SERVE_PREAUTH_H
#define TACHO_SERVE_PREAUTH_H

#include "access.h"

struct bufferevent;
struct event_base;

#define BODY_MOST (2u << 20)   /* bytes; a statement of SQL, or notes, have half of that */
#define BODY_UNKNOWN 4096u     /* without the token: small requests get the error that it is missing */

struct preauth_doors {
    const struct access_guard *guard;
    struct preauth_door *first;
};

/* For evhttp_set_bevcb(): a connection that is watched until it has shown the token. context is the struct
 * preauth_doors. */
struct bufferevent *preauth_add(struct event_base *base, void *context);
/* After evhttp_free(), before event_base_free(). */
void preauth_free(struct preauth_doors *doors);

#endif
