#include "gpu_ask.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "gpu_link.h"

static int read_frames(struct gpu_link *link, int64_t patience_ns, gpu_answer take, void *context, struct error *err)
{
    int64_t until_ns = clock_monotonic_ns() + patience_ns;
    struct gpu_frame frame;
    const void *payload;
    int got;

    while (link->fd >= 0) {
        struct pollfd ready = { .fd = link->fd, .events = POLLIN };
        int64_t left_ns = until_ns - clock_monotonic_ns();
        if (left_ns <= 0 || poll(&ready, 1, (int)(left_ns / 1000000) + 1) == 0) {
            kill(link->pid, SIGKILL);
            return error_set(err, ERR_NOT_FOUND, "tacho-gpu does not answer");
        }
        while ((got = gpu_link_next(link, 0, &frame, &payload, err)) == 1) {
            take(context, &frame, payload);
            until_ns = clock_monotonic_ns() + patience_ns;
        }
        if (got < 0)
            return got;
    }
    return 0;
}

int gpu_ask(const char *mode, const char *const *options, int64_t patience_ns, gpu_answer take, void *context,
            struct error *err)
{
    struct gpu_link link;
    int failed = gpu_link_start(&link, mode, options, err);

    if (failed)
        return failed;
    failed = read_frames(&link, patience_ns, take, context, err);
    int status = gpu_link_end(&link);
    if (!failed && WIFSIGNALED(status))
        failed = error_set(err, ERR_NOT_FOUND, "tacho-gpu was ended by signal %d", WTERMSIG(status));
    return failed;
}
