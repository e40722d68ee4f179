/* State that the files of the server share. */
#ifndef TACHO_SERVE_SERVE_STATE_H
#define TACHO_SERVE_SERVE_STATE_H

#include "access.h"
#include "page_files.h"
#include "preauth.h"
#include "reply.h"
#include "serve.h"

struct evhttp_request;

struct server {
    const struct serve_settings *settings;
    struct access_guard guard;
    struct preauth_doors doors;
    struct page page;
    struct event_base *base;
    struct evhttp *http;
    struct workers *work; /* owned */
    struct reply_unsent unsent;
    struct event *signals[2];
    int port;
};

/* Answers one request; context is the server. */
void answer_request(struct evhttp_request *request, void *context);

#endif
