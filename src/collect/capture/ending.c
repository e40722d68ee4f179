/* Decides whether the capture is over: see ending.h. */
#include "ending.h"

#include <event2/event.h>
#include <sys/wait.h>

#include "capture.h"

#define SILENCE_SECONDS 1 /* after this time the user is told which processes the capture waits for */

int ending_waits_for_time(const struct collector *collector)
{
    const struct collect_options *options = collector->options;
    return options->run_on_exit && options->duration_ns > 0 && !capture_of(collector)->recording.is_done &&
           !collector->result->interrupted;
}

void ending_say_soon(struct collector *collector)
{
    struct timeval wait = { SILENCE_SECONDS, 0 };
    evtimer_add(capture_of(collector)->notice, &wait);
}

void ending_leave(struct collector *collector)
{
    capture_of(collector)->leaving = 1;
    event_base_loopbreak(collector->base);
}

void ending_of_primary(struct collector *collector, int wait_status)
{
    struct capture *capture = capture_of(collector);
    struct collect_result *result = collector->result;
    result->ending = WIFSIGNALED(wait_status) ? COLLECT_SIGNALLED : COLLECT_EXITED;
    result->signal = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
    result->core_dumped = WIFSIGNALED(wait_status) && WCOREDUMP(wait_status);
    result->exit_status = WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
    capture->ended_ns = collector_now(collector);
    result->wall_ns = capture->ended_ns - capture->launch_ns;
    ending_say_soon(collector); /* no message if the capture is over by then */
}

void ending_check(struct collector *collector)
{
    struct capture *capture = capture_of(collector);
    const struct collect_options *options = collector->options;
    if (capture->leaving || collector->result->ending == COLLECT_RUNNING)
        return;
    int over = options->wait_primary || capture->shutting_down || !capture->children_left;
    if (over && !ending_waits_for_time(collector))
        ending_leave(collector);
}

void ending_ask(struct collector *collector)
{
    struct capture *capture = capture_of(collector);
    struct timeval at_once = { 0, 0 };
    if (!capture->shutting_down)
        evtimer_add(capture->grace, &at_once);
}
