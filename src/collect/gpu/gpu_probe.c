#include "gpu_probe.h"

#include <math.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "gpu_link.h"

#define PATIENCE_NS INT64_C(10000000000) /* NVML may take seconds to start on a machine with many GPUs */

static void take_values(struct gpu_probe *probe, const struct gpu_values *values)
{
    for (size_t i = 0; values && i < probe->count; i++)
        for (uint32_t k = 0; probe->devices[i].device == values->device && k < values->count; k++)
            probe->has_values[i] |= !isnan(values->values[k].value);
}

static void take(struct gpu_probe *probe, const struct gpu_frame *frame, const void *payload)
{
    const struct gpu_refusal *refusal;
    const char *text;

    if (frame->type == GPU_FRAME_DEVICE && frame->bytes >= sizeof *probe->devices && probe->count < GPU_PROBE_DEVICES)
        probe->devices[probe->count++] = *(const struct gpu_device *)payload;
    if (frame->type == GPU_FRAME_VALUES)
        take_values(probe, gpu_frame_values(frame, payload));
    if (frame->type == GPU_FRAME_REFUSAL && (text = gpu_frame_refusal(frame, payload, &refusal)))
        text_addf(&probe->refusals, "%s\n", text);
}

/* 0: the program has sent all; else an error. */
static int read_frames(struct gpu_probe *probe, struct gpu_link *link, struct error *err)
{
    int64_t until_ns = clock_monotonic_ns() + PATIENCE_NS;
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
        while ((got = gpu_link_next(link, 0, &frame, &payload, err)) == 1)
            take(probe, &frame, payload);
        if (got < 0)
            return got;
    }
    return 0;
}

void gpu_probe_ask(struct gpu_probe *probe, uint64_t metrics)
{
    char readings[GPU_READINGS_OPTION_BYTES];
    const char *const options[] = { readings, "rounds=2", "interval_us=100000", NULL };
    struct gpu_link link;
    struct error err = { 0 };

    memset(probe, 0, sizeof *probe);
    gpu_metrics_option(metrics, readings);
    int failed = gpu_link_start(&link, "monitor", options, &err);
    if (!failed) {
        failed = read_frames(probe, &link, &err);
        int status = gpu_link_end(&link);
        if (!failed && WIFSIGNALED(status))
            failed = error_set(&err, ERR_NOT_FOUND, "tacho-gpu was ended by signal %d", WTERMSIG(status));
    }
    if (failed)
        text_addf(&probe->refusals, "%s.\n", err.text);
}

void gpu_probe_free(struct gpu_probe *probe)
{
    text_free(&probe->refusals);
}
