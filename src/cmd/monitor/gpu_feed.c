/* Signals are blocked from the start and read as data, so that there is no moment at which one could be missed. */
#include "gpu_feed.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"

/* One that is ignored stays so: a shell does that to jobs in the background. */
static int open_signals(int is_interactive)
{
    static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
    struct sigaction action;
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < COUNT_OF(ends); i++)
        if (sigaction(ends[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(&set, ends[i]);
    if (is_interactive)
        sigaddset(&set, SIGWINCH);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC);
}

int gpu_feed_start(struct gpu_feed *feed, const struct gpu_feed_wish *wish, struct error *err)
{
    struct text devices = { 0 }, readings = { 0 };
    char interval[48], rounds[48];
    const char *options[8];
    size_t count = 0;

    *feed = (struct gpu_feed){ .link = { .fd = -1 }, .wish = *wish, .signals = open_signals(wish->is_interactive) };
    text_addf(&devices, "devices=%s", wish->devices ? wish->devices : "");
    text_add(&readings, "readings=");
    for (size_t i = 0; i < wish->reading_count; i++)
        text_addf(&readings, "%s%u", i ? "," : "", (unsigned)wish->readings[i]);
    snprintf(interval, sizeof interval, "interval_us=%" PRId64, wish->interval_us);
    snprintf(rounds, sizeof rounds, "rounds=%" PRIu64, wish->rounds);
    if (wish->devices)
        options[count++] = text_string(&devices);
    options[count++] = text_string(&readings);
    options[count++] = interval;
    options[count++] = rounds;
    if (wish->has_processes)
        options[count++] = "processes=1";
    if (wish->has_instances)
        options[count++] = "instances=1";
    options[count] = NULL;
    int code = gpu_link_start(&feed->link, "monitor", options, err);
    text_free(&devices);
    text_free(&readings);
    return code;
}

/* ---- frames ---------------------------------------------------------------------------------------------------- */

static int gpu_feed_take_device(struct gpu_feed *feed, const struct gpu_frame *frame, const void *payload)
{
    if (frame->bytes < sizeof(struct gpu_device))
        return 0;
    if (array_reserve(&feed->gpus, &feed->gpu_capacity, feed->gpu_count + 1, sizeof *feed->gpus))
        return ERR_NO_MEMORY;
    struct gpu_feed_gpu *gpu = &feed->gpus[feed->gpu_count++];
    *gpu = (struct gpu_feed_gpu){ 0 };
    memcpy(&gpu->facts, payload, sizeof gpu->facts);
    gpu->facts.name[sizeof gpu->facts.name - 1] = 0;
    gpu->facts.uuid[sizeof gpu->facts.uuid - 1] = 0;
    gpu->facts.bus_id[sizeof gpu->facts.bus_id - 1] = 0;
    for (size_t i = 0; i < GPU_READINGS; i++)
        gpu->now[i] = NAN;
    return 0;
}

static void gpu_feed_take_values(struct gpu_feed *feed, const struct gpu_frame *frame, const void *payload)
{
    const struct gpu_values *values = gpu_frame_values(frame, payload);

    for (size_t i = 0; values && i < feed->gpu_count; i++) {
        struct gpu_feed_gpu *gpu = &feed->gpus[i];
        if (gpu->facts.device != values->device)
            continue;
        memcpy(gpu->before, gpu->now, sizeof gpu->before);
        gpu->before_ns = gpu->time_ns;
        gpu->time_ns = values->time_ns;
        for (uint32_t k = 0; k < values->count; k++)
            if (values->values[k].reading < GPU_READINGS)
                gpu->now[values->values[k].reading] = values->values[k].value;
    }
}

static int gpu_feed_take_process(struct gpu_feed *feed, const struct gpu_frame *frame, const void *payload)
{
    if (frame->bytes < sizeof *feed->processes)
        return 0;
    if (array_reserve(&feed->processes, &feed->process_capacity, feed->process_count + 1, sizeof *feed->processes))
        return ERR_NO_MEMORY;
    memcpy(&feed->processes[feed->process_count++], payload, sizeof *feed->processes);
    return 0;
}

static int take_instance(struct gpu_feed *feed, const struct gpu_frame *frame, const void *payload)
{
    if (frame->bytes < sizeof *feed->instances)
        return 0;
    if (array_reserve(&feed->instances, &feed->instance_capacity, feed->instance_count + 1, sizeof *feed->instances))
        return ERR_NO_MEMORY;
    struct gpu_instance *instance = &feed->instances[feed->instance_count++];
    memcpy(instance, payload, sizeof *instance);
    instance->name[sizeof instance->name - 1] = 0;
    instance->uuid[sizeof instance->uuid - 1] = 0;
    return 0;
}

static void take_refusal(struct gpu_feed *feed, const struct gpu_frame *frame, const void *payload)
{
    const struct gpu_refusal *refusal;
    const char *sentence = gpu_frame_refusal(frame, payload, &refusal);
    char message[GPU_MESSAGE_BYTES];

    if (sentence)
        text_addf(&feed->notes, "%s\n", gpu_message(message, sentence));
}

static int gpu_feed_take(struct gpu_feed *feed, const struct gpu_frame *frame, const void *payload)
{
    switch (frame->type) {
    case GPU_FRAME_DEVICE: return gpu_feed_take_device(feed, frame, payload);
    case GPU_FRAME_PROCESS: return gpu_feed_take_process(feed, frame, payload);
    case GPU_FRAME_INSTANCE: return take_instance(feed, frame, payload);
    case GPU_FRAME_VALUES: gpu_feed_take_values(feed, frame, payload); return 0;
    case GPU_FRAME_REFUSAL: take_refusal(feed, frame, payload); return 0;
    default: return 0;
    }
}

/* ---- rounds ---------------------------------------------------------------------------------------------------- */

enum gpu_feed_wait { WAIT_OVER, WAIT_FRAMES, WAIT_USER };

/* A new size of the window is no reason to end. */
static enum gpu_feed_wait read_signal(const struct gpu_feed *feed)
{
    struct signalfd_siginfo got;

    if (read(feed->signals, &got, sizeof got) != sizeof got)
        return WAIT_OVER;
    return got.ssi_signo == SIGWINCH ? WAIT_USER : WAIT_OVER;
}

static enum gpu_feed_wait wait_for_frames(const struct gpu_feed *feed)
{
    struct pollfd wait[] = {
        { .fd = feed->link.fd, .events = POLLIN },
        { .fd = feed->signals, .events = POLLIN },
        { .fd = feed->wish.ends_with_stdout ? STDOUT_FILENO : -1 },
        { .fd = feed->wish.is_interactive ? STDIN_FILENO : -1, .events = POLLIN },
    };

    while (poll(wait, COUNT_OF(wait), -1) < 0)
        if (errno != EINTR)
            return WAIT_OVER;
    if (wait[1].revents)
        return read_signal(feed);
    if (wait[2].revents & (POLLERR | POLLHUP))
        return WAIT_OVER;
    return wait[3].revents ? WAIT_USER : WAIT_FRAMES;
}

/* The program has ended: by itself after its last round, or because it cannot go on. Then its last sentence says why.
 */
static int explain_end(struct gpu_feed *feed, struct error *err)
{
    if (feed->rounds && feed->rounds == feed->wish.rounds)
        return 0;
    if (feed->notes.length && !feed->rounds) {
        text_cut(&feed->notes, feed->notes.length - 1);
        const char *line = strrchr(text_string(&feed->notes), '\n');
        error_set(err, ERR_NOT_FOUND, "%s", line ? line + 1 : text_string(&feed->notes));
        text_clear(&feed->notes);
        int ended = gpu_link_end(&feed->link);
        feed->has_no_gpu = WIFEXITED(ended) && WEXITSTATUS(ended) == GPU_STATUS_NO_GPU;
        return ERR_NOT_FOUND;
    }
    int status = gpu_link_end(&feed->link);
    return error_set(err, ERR_IO, "tacho-gpu, which reads the GPUs, ended with %s %d after %" PRIu64 " readings",
                     WIFSIGNALED(status) ? "signal" : "status",
                     WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), feed->rounds);
}

int gpu_feed_next(struct gpu_feed *feed, struct error *err)
{
    struct gpu_frame frame;
    const void *payload;

    if (feed->is_told) /* else the user's input interrupted the round */
        feed->process_count = feed->instance_count = 0;
    feed->is_told = 0;
    while (!feed->is_over) {
        int got = gpu_link_next(&feed->link, 0, &frame, &payload, err);
        if (got < 0)
            return got;
        if (!got && feed->link.fd < 0)
            return explain_end(feed, err);
        if (!got) {
            enum gpu_feed_wait came = wait_for_frames(feed);
            if (came == WAIT_USER)
                return GPU_FEED_USER;
            feed->is_over = came == WAIT_OVER;
            continue;
        }
        if (feed->wish.take)
            feed->wish.take(feed->wish.context, &frame, payload);
        if (gpu_feed_take(feed, &frame, payload))
            return error_set(err, ERR_NO_MEMORY, "out of memory for what the GPUs report");
        if (frame.type == GPU_FRAME_ROUND) {
            feed->utc_offset_ns = clock_utc_ns() - clock_monotonic_ns();
            feed->rounds++;
            feed->is_told = 1;
            return 1;
        }
    }
    return 0;
}

void gpu_feed_end(struct gpu_feed *feed)
{
    gpu_link_end(&feed->link);
    if (feed->signals >= 0)
        close(feed->signals);
    free(feed->gpus);
    free(feed->processes);
    free(feed->instances);
    text_free(&feed->notes);
    *feed = (struct gpu_feed){ .link = { .fd = -1 }, .signals = -1 };
}

const char *gpu_feed_type(uint32_t types)
{
    static const struct {
        uint32_t types;
        const char *name;
    } names[] = {
        { GPU_PROCESS_COMPUTE, "C" },
        { GPU_PROCESS_GRAPHICS, "G" },
        { GPU_PROCESS_COMPUTE | GPU_PROCESS_GRAPHICS, "C+G" },
        { GPU_PROCESS_MPS, "M" },
        { GPU_PROCESS_MPS | GPU_PROCESS_COMPUTE, "M+C" },
    };

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (names[i].types == types)
            return names[i].name;
    return "-";
}

/* ---- options --------------------------------------------------------------------------------------------------- */

#define DAY_S 86400

int gpu_feed_take_delay(void *settings, const char *value, struct error *err)
{
    struct gpu_feed_settings *feed = settings;
    char *end;
    double seconds = strtod(value, &end);

    if (end == value || *end || !(seconds >= 1e-3 && seconds <= DAY_S))
        return error_set(err, ERR_BAD_ARGUMENT, "--delay must be a number of seconds from 0.001 to %d, not '%s'", DAY_S,
                         value);
    feed->interval_us = (int64_t)(seconds * 1e6 + 0.5);
    return 0;
}

static int take_rounds(void *settings, const char *option, const char *value, struct error *err)
{
    struct gpu_feed_settings *feed = settings;
    uint64_t count;

    if (option_read_number(value, 1, UINT64_MAX, &count) != 0)
        return error_set(err, ERR_BAD_ARGUMENT, "--%s must be a number from 1, not '%s'", option, value);
    feed->rounds = count;
    return 0;
}

int gpu_feed_take_count(void *settings, const char *value, struct error *err)
{
    return take_rounds(settings, "count", value, err);
}

int gpu_feed_take_iterations(void *settings, const char *value, struct error *err)
{
    return take_rounds(settings, "iterations", value, err);
}

int gpu_feed_options(const struct command *self, int argc, char **argv, struct gpu_feed_settings *settings, int *status)
{
    const char *operands[argc];
    size_t count;
    struct error err = { 0 };

    if (!command_options(self, argc, argv, settings, operands, &count, status))
        return 0;
    if (!count)
        return 1;
    error_set(&err, ERR_BAD_ARGUMENT, "takes options only, not '%s'; GPUs are chosen with -i", operands[0]);
    *status = command_fail(self, &err);
    return 0;
}
