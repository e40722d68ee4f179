/* Sockets and the event loop. Addresses are numeric and names are never resolved, so that the static program needs
 * no resolver. */
#include "serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "preauth.h"
#include "routes.h"
#include "workers.h"

#define HEADERS_MOST 65536      /* bytes; a request names rows one by one */
#define PATIENCE_S 120          /* for a client that neither asks nor takes its answer */
#define PAUSE_MS 100            /* when there are no descriptors left */
#define DESCRIPTORS 1024        /* at most: each connection may hold HEADERS_MOST before the token is seen */
#define BACKLOG 128
#define PORT_TRIES 8            /* a free port of IPv4 may be taken in IPv6 */

struct serve {
    const struct serve_settings *settings;
    struct routes routes;
    struct preauth_doors doors;
    struct event_base *base;
    struct evhttp *http;
    struct event *signals[2];
    int port;
};

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static int parse_address(const char *text, int port, union address *out)
{
    *out = (union address){ 0 };
    if (inet_pton(AF_INET, text, &out->v4.sin_addr) == 1) {
        out->v4.sin_family = AF_INET;
        out->v4.sin_port = htons((uint16_t)port);
        return 1;
    }
    if (inet_pton(AF_INET6, text, &out->v6.sin6_addr) != 1)
        return 0;
    out->v6.sin6_family = AF_INET6;
    out->v6.sin6_port = htons((uint16_t)port);
    return 1;
}

/* A listening socket, or -1 with errno. */
static int listen_at(const union address *address)
{
    int yes = 1, fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t length = address->any.sa_family == AF_INET ? sizeof address->v4 : sizeof address->v6;

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (address->any.sa_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
    if (bind(fd, &address->any, length) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

static int port_of(int fd)
{
    union address address;
    socklen_t length = sizeof address;

    if (getsockname(fd, &address.any, &length) != 0)
        return 0;
    return ntohs(address.any.sa_family == AF_INET ? address.v4.sin_port : address.v6.sin6_port);
}

/* ---- descriptors ----------------------------------------------------------------------------------------------- */

static void accept_again(evutil_socket_t fd, short what, void *listener)
{
    evconnlistener_enable(listener);
}

/* A listener that cannot accept, because there are no descriptors left, would be woken all the time. So it pauses until
 * clients have disconnected. */
static void pause_accepting(struct evconnlistener *listener, void *context)
{
    struct timeval rest = { .tv_usec = PAUSE_MS * 1000 };

    evconnlistener_disable(listener);
    if (event_base_once(evconnlistener_get_base(listener), -1, EV_TIMEOUT, accept_again, listener, &rest) != 0)
        evconnlistener_enable(listener);
}

/* Bounds the number of connections. Raises a lower limit as far as allowed, and lowers that of containers, which may be
 * a million. The files of a job that are open already come on top: the lowest free descriptor says how many. */
static void limit_descriptors(void)
{
    struct rlimit limit;
    int lowest = eventfd(0, EFD_CLOEXEC);

    if (lowest < 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    close(lowest);
    rlim_t wanted = (rlim_t)lowest + DESCRIPTORS;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* Owns the socket from here on, also after an error. */
static int add_listener(struct serve *server, int fd, struct error *err)
{
    struct evconnlistener *listener = evconnlistener_new(server->base, NULL, NULL,
                                                         LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC |
                                                             LEV_OPT_REUSEABLE,
                                                         0, fd);

    if (!listener) {
        close(fd);
        return error_no_memory(err);
    }
    if (!evhttp_bind_listener(server->http, listener)) {
        evconnlistener_free(listener);
        return error_no_memory(err);
    }
    evconnlistener_set_error_cb(listener, pause_accepting);
    return 0;
}

/* ---- binding --------------------------------------------------------------------------------------------------- */

static int bind_failed(const char *address, int port, struct error *err)
{
    if (errno == EADDRINUSE)
        return error_set(err, ERR_EXISTS,
                         "cannot listen on port %d: it is in use. Choose another with --port, or "
                         "--port=0 for a free one",
                         port);
    return error_set_errno(err, "cannot listen on %s, port %d", address, port);
}

static int bind_address(struct serve *server, const char *text, int port, struct error *err)
{
    union address address;

    if (!parse_address(text, port, &address))
        return error_set(err, ERR_BAD_ARGUMENT, "--host must be a numeric address such as 0.0.0.0 or ::, not '%s'",
                         text);
    int fd = listen_at(&address);
    if (fd < 0)
        return bind_failed(text, port, err);
    server->port = port_of(fd);
    return add_listener(server, fd, err);
}

/* Binds both loopback addresses at one port, or only 127.0.0.1 where there is no IPv6. If another process has the port
 * of ::1, the port counts as taken: a browser that opens "localhost" would send that process the token. */
static int bind_loopback(struct serve *server, int port, struct error *err)
{
    union address v4, v6;
    int code;

    parse_address("127.0.0.1", port, &v4);
    int fd = listen_at(&v4);
    if (fd < 0)
        return bind_failed("127.0.0.1", port, err);
    server->port = port_of(fd);
    parse_address("::1", server->port, &v6);
    int fd6 = listen_at(&v6);
    if (fd6 < 0 && errno == EADDRINUSE) {
        close(fd);
        return bind_failed("::1", server->port, err);
    }
    if ((code = add_listener(server, fd, err)) != 0) {
        if (fd6 >= 0)
            close(fd6);
        return code;
    }
    return fd6 >= 0 ? add_listener(server, fd6, err) : 0;
}

static int bind_somewhere(struct serve *server, struct error *err)
{
    const struct serve_settings *settings = server->settings;
    int port = settings->port == SERVE_USUAL ? SERVE_PORT : settings->port, code = ERR_EXISTS;

    for (int try = 0; try < (settings->port > 0 ? 1 : PORT_TRIES); try++) {
        code = settings->address ? bind_address(server, settings->address, port, err)
                                 : bind_loopback(server, port, err);
        if (code != ERR_EXISTS)
            return code;
        port = 0;
    }
    return code;
}

/* ---- opening and closing --------------------------------------------------------------------------------------- */

static void serve_stop(evutil_socket_t number, short what, void *base)
{
    event_base_loopbreak(base);
}

/* libevent would print errors that clients cause. */
static void keep_quiet(int severity, const char *message)
{
}

/* Done before the address is printed: a program that has read it may end the server at once. */
static int catch_signals(struct serve *server, struct error *err)
{
    static const int ends[] = { SIGINT, SIGTERM };

    for (size_t i = 0; i < 2; i++) {
        server->signals[i] = evsignal_new(server->base, ends[i], serve_stop, server->base);
        if (!server->signals[i] || event_add(server->signals[i], NULL) != 0)
            return error_set(err, ERR_NO_MEMORY, "cannot wait for signals");
    }
    return 0;
}

static int make_loop(struct serve *server, struct error *err)
{
    event_set_log_callback(keep_quiet);
    signal(SIGPIPE, SIG_IGN);
    limit_descriptors();
    server->base = event_base_new();
    server->http = server->base ? evhttp_new(server->base) : NULL;
    if (!server->http)
        return error_set(err, ERR_NO_MEMORY, "cannot create an event loop");
    evhttp_set_allowed_methods(server->http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD | EVHTTP_REQ_POST | EVHTTP_REQ_PUT |
                                                 EVHTTP_REQ_DELETE | EVHTTP_REQ_OPTIONS);
    evhttp_set_max_headers_size(server->http, HEADERS_MOST);
    evhttp_set_max_body_size(server->http, BODY_UNKNOWN);
    evhttp_set_bevcb(server->http, preauth_add, &server->doors);
    evhttp_set_timeout(server->http, PATIENCE_S);
    evhttp_set_gencb(server->http, routes_answer, &server->routes);
    return workers_open(&server->routes.work, server->base, server->settings->view, &server->routes.unsent, err);
}

int serve_open(const struct serve_settings *settings, struct serve **out, struct error *err)
{
    struct serve *server = calloc(1, sizeof *server);
    int code;

    if (!server)
        return error_no_memory(err);
    *server = (struct serve){ .settings = settings,
                               .routes = { .view = settings->view,
                                           .notes_path = settings->notes_path,
                                           .other_notes_path = settings->other_notes_path,
                                           .is_far = settings->far,
                                           .guard = { .hosts = settings->allowed_hosts,
                                                      .host_count = settings->allowed_host_count,
                                                      .open = settings->address != NULL, }, }, };
    server->doors.guard = &server->routes.guard;
    if (settings->token)
        snprintf(server->routes.guard.token, sizeof server->routes.guard.token, "%s", settings->token);
    if ((!settings->token && (code = access_init(&server->routes.guard, err)) != 0) ||
        (code = page_files_read(&server->routes.page, settings->page_folder, err)) != 0 ||
        (code = make_loop(server, err)) != 0 || (code = bind_somewhere(server, err)) != 0 ||
        (code = catch_signals(server, err)) != 0) {
        serve_close(server);
        return code;
    }
    *out = server;
    return 0;
}

int serve_port(const struct serve *server)
{
    return server->port;
}

const char *serve_token(const struct serve *server)
{
    return server->routes.guard.token;
}

int serve_has_page(const struct serve *server)
{
    return page_files_find(&server->routes.page, "index.html") != NULL;
}

int serve_run(struct serve *server, struct error *err)
{
    workers_prepare(server->routes.work, "summary?quick=1"); /* a browser takes a while until its page asks for it */
    return event_base_dispatch(server->base) < 0 ? error_set(err, ERR_IO, "the event loop failed") : 0;
}

void serve_close(struct serve *server)
{
    for (size_t i = 0; i < 2; i++)
        if (server->signals[i])
            event_free(server->signals[i]);
    workers_close(server->routes.work);
    if (server->http)
        evhttp_free(server->http);
    preauth_free(&server->doors);
    if (server->base)
        event_base_free(server->base);
    page_files_free(&server->routes.page);
    free(server);
}
