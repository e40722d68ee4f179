/* The timeline over HTTP: the files of the page, and api/REQUEST for its requests to a report.
 *
 * One process. One thread owns the sockets and answers the requests that a picture needs; requests that may take long
 * go to other threads (workers.h). The server listens on loopback by default, and rejects requests without the token
 * (access.h). Nothing here knows what a request means. */
#ifndef TACHO_SERVE_SERVE_H
#define TACHO_SERVE_SERVE_H

#include <stddef.h>

#include "base/error.h"
#include "view/timeline.h"

struct serve;

struct serve_settings {
    struct view *view;
    const char *page_folder;          /* index.html and its files; without index.html, the server
                                       * answers with a sentence that says so */
    const char *notes_path;           /* the file of bookmarks; need not exist */
    const char *other_notes_path;     /* the notes of the run that the view is compared with; NULL: there is none */
    const char *address;              /* NULL: loopback, IPv4 and IPv6 */
    int port;                         /* 0: any free one; SERVE_USUAL: SERVE_PORT, or any
                                       * free one where that is taken */
    const char *const *allowed_hosts; /* names that the server may be called by, apart from those of loopback */
    size_t allowed_host_count;
    const char *token;                /* 32 hexadecimal digits (durable_token.h); NULL: a random one */
    int far;                          /* browsers are on other machines, so that compressing pictures pays, too */
};

#define SERVE_PORT 7878
#define SERVE_USUAL -1

/* Binds the sockets. The settings, and all that they point to, must outlive the server. ERR_EXISTS: the port is taken.
 */
int serve_open(const struct serve_settings *settings, struct serve **out, struct error *err);
int serve_port(const struct serve *server);
/* 32 hexadecimal digits. */
const char *serve_token(const struct serve *server);
/* Whether there is a page to serve. */
int serve_has_page(const struct serve *server);
/* Answers until SIGINT or SIGTERM. */
int serve_run(struct serve *server, struct error *err);
void serve_close(struct serve *server);

#endif
