/* Routes a request to its answer: checks access, and answers with a file of the page, with the notes, or with an
 * answer of the view. */
#ifndef TACHO_SERVE_ROUTES_H
#define TACHO_SERVE_ROUTES_H

#include "access.h"
#include "page_files.h"
#include "reply.h"
#include "view/timeline.h"

struct evhttp_request;

struct routes {
    struct view *view;
    const char *notes_path, *other_notes_path;
    int is_far; /* see serve_settings */
    struct access_guard guard;
    struct page_files page;
    struct workers *work;
    struct reply_unsent unsent;
};

/* For evhttp_set_gencb(): context is the struct routes. */
void routes_answer(struct evhttp_request *request, void *context);

#endif
