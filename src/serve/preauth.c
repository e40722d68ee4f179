/* A callback on the input of each connection sees headers before libevent takes them out of the buffer, line by
 * line: a line is in the buffer as a whole when its end arrives. libevent does not report when it frees a
 * connection. So each door holds a reference, and is removed when a later connection finds that libevent has taken
 * its callbacks off. */
#include "preauth.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/http.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TOKEN_HEADER "X-Tacho-Token:"

struct preauth_door {
    struct preauth_door *next;
    const struct access_guard *guard;
    struct bufferevent *stream; /* a reference */
    int is_open;
};

/* The connection that libevent has made of the stream; NULL once it is freed. */
static struct evhttp_connection *connection_of(const struct preauth_door *door)
{
    void *connection;

    bufferevent_getcb(door->stream, NULL, NULL, NULL, &connection);
    return connection;
}

static int line_has_token(const struct access_guard *guard, const char *line, size_t length)
{
    char token[2 * GUARD_TOKEN_BYTES + 1];
    const char *end = line + length;

    if (length < strlen(TOKEN_HEADER) || strncasecmp(line, TOKEN_HEADER, strlen(TOKEN_HEADER)) != 0)
        return 0;
    for (line += strlen(TOKEN_HEADER); line < end && (*line == ' ' || *line == '\t');)
        line++;
    if ((size_t)(end - line) < sizeof token - 1)
        return 0;
    memcpy(token, line, sizeof token - 1);
    token[sizeof token - 1] = 0;
    return access_token(guard, token);
}

static int has_token(const struct access_guard *guard, struct evbuffer *input)
{
    size_t left = evbuffer_get_length(input);
    const char *line = (const char *)evbuffer_pullup(input, -1);

    for (const char *end; line && (end = memchr(line, '\n', left)); line = end + 1) {
        if (line_has_token(guard, line, (size_t)(end - line)))
            return 1;
        left -= (size_t)(end + 1 - line);
    }
    return 0;
}

static void watch_input(struct evbuffer *input, const struct evbuffer_cb_info *info, void *context)
{
    struct preauth_door *door = context;

    if (door->is_open || info->n_added == 0 || !has_token(door->guard, input))
        return;
    struct evhttp_connection *connection = connection_of(door);
    if (!connection || evhttp_connection_get_bufferevent(connection) != door->stream)
        return;
    evhttp_connection_set_max_body_size(connection, BODY_MOST);
    door->is_open = 1;
}

static void remove_freed(struct preauth_doors *doors)
{
    for (struct preauth_door **at = &doors->first, *door; (door = *at);) {
        if (connection_of(door)) {
            at = &door->next;
            continue;
        }
        *at = door->next;
        bufferevent_decref(door->stream);
        free(door);
    }
}

struct bufferevent *preauth_add(struct event_base *base, void *context)
{
    struct preauth_doors *doors = context;
    struct bufferevent *stream = bufferevent_socket_new(base, -1, 0);
    struct preauth_door *door = stream ? malloc(sizeof *door) : NULL;

    remove_freed(doors);
    if (!door)
        return stream; /* without large bodies */
    *door = (struct preauth_door){ doors->first, doors->guard, stream, 0 };
    if (!evbuffer_add_cb(bufferevent_get_input(stream), watch_input, door)) {
        free(door);
        return stream;
    }
    bufferevent_incref(stream);
    doors->first = door;
    return stream;
}

void preauth_free(struct preauth_doors *doors)
{
    remove_freed(doors);
}
