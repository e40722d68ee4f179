/* Routes a request to its answer. Checks access first; the path then selects the page, the notes or the report. */
#include "routes.h"

#include <event2/buffer.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/queue.h>

#include "base/number.h"
#include "notes.h"
#include "workers.h"

#define API "/api/"

struct question {
    struct routes *routes;
    struct evhttp_request *request;
    const char *path;  /* with the slash in front */
    const char *query; /* NULL: none */
    int posts;
};

/* The only header of that name; NULL if there is none, or if several contradict each other. */
static const char *one_header(struct evhttp_request *request, const char *name, int *count)
{
    const char *value = NULL;
    struct evkeyval *at;

    *count = 0;
    TAILQ_FOREACH(at, evhttp_request_get_input_headers(request), next)
    if (strcasecmp(at->key, name) == 0) {
        value = at->value;
        ++*count;
    }
    return *count == 1 ? value : NULL;
}

/* Sends an answer, or its error, and frees it. */
static void send_answer(const struct question *question, int code, const char *type, struct text *answer,
                        const struct error *err)
{
    struct reply reply = reply_make(code, type, answer, err, reply_packs(question->request, question->routes->is_far));

    reply_send(question->request, &reply, &question->routes->unsent);
}

static const char *body_of(const struct question *question, size_t *length)
{
    struct evbuffer *body = evhttp_request_get_input_buffer(question->request);

    *length = evbuffer_get_length(body);
    return question->posts ? (const char *)evbuffer_pullup(body, -1) : NULL;
}

#define NOTES ".notes.json"

/* Some ranks of a job have notes of their own: the rows of their timeline are others. */
static int add_notes_path(const struct question *question, struct text *out, struct error *err)
{
    int is_other = question->routes->other_notes_path && question->query && strstr(question->query, "run=1");
    const char *whole = is_other ? question->routes->other_notes_path : question->routes->notes_path;
    const char *ranks = question->query ? strstr(question->query, "ranks=") : NULL;
    size_t length = strlen(whole), end = strlen(NOTES);

    if (!ranks) {
        text_add(out, whole);
        return 0;
    }
    ranks += strlen("ranks=");
    if (!number_list_is_valid(ranks) || strlen(ranks) > 200)
        return error_set(err, ERR_BAD_ARGUMENT, "notes: no list of ranks");
    if (length >= end && strcmp(whole + length - end, NOTES) == 0)
        length -= end;
    text_addf(out, "%.*s.rank%s" NOTES, (int)length, whole, ranks);
    return 0;
}

/* POST replaces the notes; the answer to both methods is the notes of the file. */
static int take_notes(const struct question *question, struct text *path, struct text *answer, struct error *err)
{
    size_t length;
    const char *body = body_of(question, &length);
    int code;

    if ((code = add_notes_path(question, path, err)) != 0)
        return code;
    if (question->posts && (code = notes_write(text_string(path), body ? body : "", body ? length : 0, err)) != 0)
        return code;
    return notes_read(text_string(path), answer, err);
}

static void answer_notes(const struct question *question)
{
    struct text answer = { 0 }, path = { 0 };
    struct error err = { 0 };
    int code = take_notes(question, &path, &answer, &err);

    send_answer(question, code, JSON_TYPE, &answer, &err);
    text_free(&path);
}

static void answer_now(const struct question *question, const struct text *asked, const struct text *body)
{
    struct text answer = { 0 };
    struct error err = { 0 };
    const char *type = JSON_TYPE;
    int code = text_failed(asked) || text_failed(body) ? error_no_memory(&err)
                                                       : view_answer(question->routes->view, text_string(asked),
                                                                     body->bytes, body->length, &answer, &type, &err);

    send_answer(question, code, type, &answer, &err);
}

/* Another thread answers requests that may take long, so that they do not delay the picture. */
static void answer_report(const struct question *question)
{
    struct workers_asked asked = { .packs = reply_packs(question->request, question->routes->is_far) };
    size_t length;
    const char *body = body_of(question, &length);

    text_add(&asked.request, question->path + strlen(API));
    if (question->query) {
        text_add_char(&asked.request, '?');
        text_add(&asked.request, question->query);
    }
    if (body) {
        text_add_bytes(&asked.body, body, length);
        evbuffer_drain(evhttp_request_get_input_buffer(question->request), length); /* one copy is enough */
    }
    if (view_lane(text_string(&asked.request)) != VIEW_LANE_NOW) {
        workers_add(question->routes->work, question->request, &asked);
        return;
    }
    answer_now(question, &asked.request, &asked.body);
    text_free(&asked.request);
    text_free(&asked.body);
}

static void answer_api(const struct question *question)
{
    int count;
    const char *token = one_header(question->request, "X-Tacho-Token", &count);

    if (!token || !access_token(&question->routes->guard, token))
        reply_error(question->request, 403,
                    "the token is missing or wrong: open the whole address that 'tacho view' printed");
    else if (strcmp(question->path, API "notes") == 0)
        answer_notes(question);
    else
        answer_report(question);
}

static void answer_file(const struct question *question)
{
    const char *name = strcmp(question->path, "/") == 0 ? "index.html" : question->path + 1;
    struct page_file *file = page_files_find(&question->routes->page, name);

    if (file)
        reply_file(question->request, file);
    else if (!page_files_find(&question->routes->page, "index.html"))
        reply_error(question->request, HTTP_NOTFOUND, "this tacho was built without the timeline page");
    else
        reply_error(question->request, HTTP_NOTFOUND, "no such file");
}

/* Why the client may not ask, as a sentence; NULL if it may. */
static const char *refusal(const struct question *question)
{
    const struct access_guard *guard = &question->routes->guard;
    int count;
    const char *host = one_header(question->request, "Host", &count);

    if (!host || !access_host(guard, host))
        return "the host name of the request is not allowed; to allow it: tacho view --allow-host NAME";
    const char *origin = one_header(question->request, "Origin", &count);
    if (count > 1 || (origin && !access_origin(guard, origin)))
        return "requests from pages of another origin are rejected; to allow one: tacho view --allow-host NAME";
    return NULL;
}

void routes_answer(struct evhttp_request *request, void *context)
{
    enum evhttp_cmd_type method = evhttp_request_get_command(request);
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(request);
    const char *path = uri ? evhttp_uri_get_path(uri) : NULL;
    struct question question = { context, request, path, uri ? evhttp_uri_get_query(uri) : NULL,
                                 method == EVHTTP_REQ_POST };

    if (!path || *path != '/' || evhttp_uri_get_host(uri)) { /* "GET http://…" is for proxies */
        reply_error(request, HTTP_BADREQUEST, "bad request");
        return;
    }
    const char *refused = refusal(&question);
    int for_api = strncmp(path, API, strlen(API)) == 0;
    if (refused) {
        reply_error(request, 403, refused);
    } else if (method == EVHTTP_REQ_GET || (for_api ? method == EVHTTP_REQ_POST : method == EVHTTP_REQ_HEAD)) {
        (for_api ? answer_api : answer_file)(&question);
    } else {
        evhttp_add_header(evhttp_request_get_output_headers(request), "Allow", for_api ? "GET, POST" : "GET, HEAD");
        reply_error(request, HTTP_BADMETHOD, "method not allowed");
    }
}
