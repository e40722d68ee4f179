#include "gpu_ask.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "gpu_link.h"

/* Waits for the next bytes: 0, or -1 if none came until then. */
static int wait_until(const struct gpu_link *link, int64_t until_ns)
{
    struct pollfd ready = { .fd = link->fd, .events = POLLIN };
    int64_t left_ns = until_ns - clock_monotonic_ns();

    if (until_ns == INT64_MAX)
        return poll(&ready, 1, -1) == 0 ? -1 : 0;
    return left_ns <= 0 || poll(&ready, 1, (int)(left_ns / 1000000) + 1) == 0 ? -1 : 0;
}

static int64_t gpu_ask_end_of(int64_t patience_ns)
{
    return patience_ns ? clock_monotonic_ns() + patience_ns : INT64_MAX;
}

static int gpu_ask_read_frames(struct gpu_link *link, int64_t patience_ns, gpu_answer take, void *context,
                               struct error *err)
{
    int64_t until_ns = gpu_ask_end_of(patience_ns);
    struct gpu_frame frame;
    const void *payload;
    int got;

    while (link->fd >= 0) {
        if (wait_until(link, until_ns) != 0) {
            kill(link->pid, SIGKILL);
            return error_set(err, ERR_NOT_FOUND, "tacho-gpu does not answer");
        }
        while ((got = gpu_link_next(link, 0, &frame, &payload, err)) == 1) {
            take(context, &frame, payload);
            until_ns = gpu_ask_end_of(patience_ns);
        }
        if (got < 0)
            return got;
    }
    return 0;
}

int gpu_ask(const struct gpu_question *question, gpu_answer take, void *context, struct error *err)
{
    struct gpu_link link;
    int failed = gpu_link_start(&link, question->mode, question->options, err);

    if (failed)
        return failed;
    failed = gpu_ask_read_frames(&link, question->patience_ns, take, context, err);
    int status = gpu_link_end(&link);
    if (!failed && WIFSIGNALED(status) && question->ended)
        failed = error_set(err, ERR_UNSUPPORTED, "%s by signal %d%s", question->ended, WTERMSIG(status),
                           question->hint ? question->hint : "");
    return failed;
}
