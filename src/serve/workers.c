/* Threads for lanes, and the queues to and from them. The lock guards the queues, the list of finished jobs, and
 * quit. A job belongs to the loop, then to its lane's thread, then to the loop again, except for its flag, which the
 * loop may raise at any time. */
#include "workers.h"

#include <errno.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cancel.h"
#include "reply.h"

struct workers_job {
    struct workers_job *next;          /* in a queue, or in the list of finished jobs */
    struct workers_job *newer, *older; /* among all; the loop's */
    struct evhttp_request *request;    /* the loop's; NULL: nobody waits for the answer */
    struct event *watch;               /* owned, the loop's: the client sends bytes or disconnects */
    struct workers_asked asked;
    struct reply reply;
    _Atomic int stop;
};

struct workers_lane {
    struct workers *work;
    pthread_t thread;
    int is_started;
    pthread_cond_t wake;
    struct workers_job *first, **last;
};

struct workers {
    struct event_base *base;
    struct view *view;
    struct reply_unsent *unsent;
    int fd;                   /* an eventfd: a job is finished */
    struct event *wake;
    struct workers_job *jobs; /* all, the newest first; the loop's */
    pthread_mutex_t lock;
    struct workers_job *done;
    int quit;
    struct workers_lane lanes[VIEW_LANES];
};

/* ---- on the lane's thread -------------------------------------------------------------------------------------- */

static void workers_answer(struct workers *work, struct workers_job *job)
{
    struct text out = { 0 };
    struct error err = { 0 };
    const char *type = JSON_TYPE;
    const struct text *body = &job->asked.body;

    cancel_watch(&job->stop);
    int code = cancel_is_raised(&job->stop) ? error_set(&err, ERR_CANCELLED, "the client has disconnected")
                                            : view_answer(work->view, text_string(&job->asked.request), body->bytes,
                                                          body->length, &out, &type, &err);
    cancel_watch(NULL); /* the flag goes with the job */
    job->reply = reply_make(code, type, &out, &err, job->asked.packs);
}

enum { BACKGROUND_NICE = 10 };

static void *lane_main(void *argument)
{
    struct workers_lane *lane = argument;
    struct workers *work = lane->work;

    if (view_lane_is_background((enum view_lane)(lane - work->lanes)))
        setpriority(PRIO_PROCESS, (id_t)gettid(), BACKGROUND_NICE); /* this thread only; may fail */
    pthread_mutex_lock(&work->lock);
    for (;;) {
        while (!lane->first && !work->quit)
            pthread_cond_wait(&lane->wake, &work->lock);
        if (work->quit)
            break;
        struct workers_job *job = lane->first;
        lane->first = job->next;
        lane->last = lane->first ? lane->last : &lane->first;
        pthread_mutex_unlock(&work->lock);
        workers_answer(work, job);
        pthread_mutex_lock(&work->lock);
        job->next = work->done;
        work->done = job;
        eventfd_write(work->fd, 1);
    }
    pthread_mutex_unlock(&work->lock);
    return NULL;
}

/* ---- on the loop ----------------------------------------------------------------------------------------------- */

static void job_free(struct workers *work, struct workers_job *job)
{
    if (job->newer)
        job->newer->older = job->older;
    else
        work->jobs = job->older;
    if (job->older)
        job->older->newer = job->newer;
    if (job->watch)
        event_free(job->watch);
    text_free(&job->asked.request);
    text_free(&job->asked.body);
    free(job->reply.bytes);
    free(job);
}

static void send_done(evutil_socket_t fd, short what, void *context)
{
    struct workers *work = context;
    eventfd_t count;

    eventfd_read(work->fd, &count);
    pthread_mutex_lock(&work->lock);
    struct workers_job *job = work->done;
    work->done = NULL;
    pthread_mutex_unlock(&work->lock);
    while (job) {
        struct workers_job *next = job->next;
        struct evhttp_request *request = job->request;
        struct reply reply = job->reply;
        job->reply.bytes = NULL;
        job_free(work, job); /* its watch first: from here on the connection is libevent's alone */
        if (request)
            reply_send(request, &reply, work->unsent);
        else
            free(reply.bytes);
        job = next;
    }
}

/* Cancels the job of a client that has disconnected. Called once: libevent reads nothing while an answer is due, so the
 * socket becomes readable by the next request or by the end of the connection. */
static void look_at_client(evutil_socket_t fd, short what, void *context)
{
    struct workers_job *job = context;
    char byte;
    ssize_t got = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
        atomic_store(&job->stop, 1);
}

/* Threads block all signals: the event loop handles them. */
static int start_lane(struct workers_lane *lane)
{
    sigset_t all, before;

    if (lane->is_started)
        return 1;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    lane->is_started = pthread_create(&lane->thread, NULL, lane_main, lane) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return lane->is_started;
}

static void watch_client(struct workers *work, struct workers_job *job)
{
    struct evhttp_connection *connection = evhttp_request_get_connection(job->request);
    evutil_socket_t fd = connection ? bufferevent_getfd(evhttp_connection_get_bufferevent(connection)) : -1;

    job->watch = fd < 0 ? NULL : event_new(work->base, fd, EV_READ, look_at_client, job);
    if (job->watch)
        event_add(job->watch, NULL);
}

/* Takes over the request. ERR_NO_MEMORY or 0. */
static int queue(struct workers *work, struct evhttp_request *request, struct workers_asked *asked)
{
    struct workers_lane *lane = &work->lanes[view_lane(text_string(&asked->request))];
    struct workers_job *job = start_lane(lane) ? calloc(1, sizeof *job) : NULL;

    if (!job || text_failed(&asked->request) || text_failed(&asked->body)) {
        free(job);
        text_free(&asked->request);
        text_free(&asked->body);
        return ERR_NO_MEMORY;
    }
    *job = (struct workers_job){ .request = request, .asked = *asked, .older = work->jobs };
    if (work->jobs)
        work->jobs->newer = job;
    work->jobs = job;
    if (request)
        watch_client(work, job);
    pthread_mutex_lock(&work->lock);
    *lane->last = job;
    lane->last = &job->next;
    pthread_cond_signal(&lane->wake);
    pthread_mutex_unlock(&work->lock);
    return 0;
}

void workers_add(struct workers *work, struct evhttp_request *request, struct workers_asked *asked)
{
    if (queue(work, request, asked) != 0)
        reply_error(request, HTTP_INTERNAL, "out of memory or threads for this request");
}

void workers_prepare(struct workers *work, const char *request)
{
    struct workers_asked asked = { 0 };

    text_add(&asked.request, request);
    queue(work, NULL, &asked);
}

int workers_open(struct workers **out, struct event_base *base, struct view *view, struct reply_unsent *unsent,
                 struct error *err)
{
    struct workers *work = calloc(1, sizeof *work);

    if (!work)
        return error_no_memory(err);
    *work = (struct workers){
        .base = base, .view = view, .unsent = unsent, .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)
    };
    pthread_mutex_init(&work->lock, NULL);
    for (int i = 0; i < VIEW_LANES; i++) {
        struct workers_lane *lane = &work->lanes[i];
        lane->work = work;
        lane->last = &lane->first;
        pthread_cond_init(&lane->wake, NULL);
    }
    work->wake = work->fd < 0 ? NULL : event_new(base, work->fd, EV_READ | EV_PERSIST, send_done, work);
    if (!work->wake || event_add(work->wake, NULL) != 0) {
        workers_close(work);
        return error_set(err, ERR_NO_MEMORY, "cannot create the wake-up of the event loop");
    }
    *out = work;
    return 0;
}

void workers_close(struct workers *work)
{
    if (!work)
        return;
    for (struct workers_job *job = work->jobs; job; job = job->older)
        atomic_store(&job->stop, 1);
    pthread_mutex_lock(&work->lock);
    work->quit = 1;
    for (int i = 0; i < VIEW_LANES; i++)
        pthread_cond_signal(&work->lanes[i].wake);
    pthread_mutex_unlock(&work->lock);
    for (int i = 0; i < VIEW_LANES; i++) {
        if (work->lanes[i].is_started)
            pthread_join(work->lanes[i].thread, NULL);
        pthread_cond_destroy(&work->lanes[i].wake);
    }
    while (work->jobs)
        job_free(work, work->jobs);
    if (work->wake)
        event_free(work->wake);
    if (work->fd >= 0)
        close(work->fd);
    pthread_mutex_destroy(&work->lock);
    free(work);
}
