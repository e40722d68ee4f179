/* The capture of the process that has started us: see self_capture.h. It is handled like any process that is not our
 * child: its pidfd reports its end, and its agent attaches whenever it is loaded. */
#include "self_capture.h"

#include <errno.h>
#include <event2/event.h>
#include <unistd.h>

#include "capture.h"
#include "ending.h"
#include "process_watch.h"

static void self_capture_hear(evutil_socket_t descriptor, short what, void *argument)
{
    struct collector *collector = argument;
    char unused[256];
    if (read(descriptor, unused, sizeof unused) < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    event_del(capture_of(collector)->hang_up);
    ending_ask(collector);
}

int self_capture_start(struct collector *collector, struct error *err)
{
    struct capture *capture = capture_of(collector);
    collector->result->ending = COLLECT_RUNNING;
    capture->launch_ns = collector_now(collector);
    collector->primary = process_add(collector, getppid(), 0, "attach");
    capture->hang_up = event_new(collector->base, STDIN_FILENO, EV_READ | EV_PERSIST, self_capture_hear, collector);
    if (!collector->primary || !capture->hang_up || event_add(capture->hang_up, NULL) != 0)
        return error_set(err, ERR_NO_MEMORY, "out of memory while starting the capture");
    collector->primary->is_primary = 1;
    collector->primary->start_ns = capture->launch_ns;
    process_describe(collector->primary);
    process_watch(collector->primary);
    process_sample_cpu(collector->primary);
    collector->primary->cpu_before_ns = collector->primary->cpu_ns;
    return 0;
}
