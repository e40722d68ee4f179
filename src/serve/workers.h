/* Runs requests that may take long outside of the event loop. Each lane of the view (timeline.h) has a thread of its
 * own, started with its first request, so that nothing delays the picture and no cached state is used by two threads.
 *
 * Only the loop touches libevent. A thread gets copies of the request, leaves a reply, and wakes the loop, which
 * sends it. When a client disconnects, its request is cancelled. */
#ifndef TACHO_SERVE_WORKERS_H
#define TACHO_SERVE_WORKERS_H

#include "base/error.h"
#include "base/text.h"
#include "view/timeline.h"

struct evhttp_request;
struct event_base;
struct workers;
struct reply_unsent;

/* unsent: see reply.h. */
int workers_open(struct workers **out, struct event_base *base, struct view *view, struct reply_unsent *unsent,
                 struct error *err);
/* Cancels unfinished jobs and waits for the threads. evhttp_free() frees the requests. Does nothing for NULL. */
void workers_close(struct workers *work);

struct workers_asked {
    struct text request, body; /* handed over */
    int packs;                 /* reply.h */
};
/* Asks before a client does, so that the caches of the view have what the answer needs. */
void workers_prepare(struct workers *work, const char *request);
/* Queues a request; the loop sends the answer when it is ready. */
void workers_add(struct workers *work, struct evhttp_request *request, struct workers_asked *asked);

#endif
