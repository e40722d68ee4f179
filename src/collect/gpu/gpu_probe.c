#include "gpu_probe.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu_ask.h"
#include "gpu_link.h"

#define PATIENCE_NS INT64_C(10000000000) /* NVML may take seconds to start on a machine with many GPUs */

static void gpu_probe_refuse(struct gpu_probe_source *source, enum gpu_refusal_id why, const char *text)
{
    if (!source->refusals++) {
        source->why = why;
        text_add(&source->refusal, text);
    }
}

static void take_trial(struct gpu_probe *probe, const struct gpu_frame *frame, const void *payload)
{
    const struct gpu_trial *trial = payload;
    const char *text;

    if (gpu_frame_texts(frame, payload, sizeof *trial, &text, 1) || trial->source >= GPU_TRIALS)
        return;
    if (trial->why == GPU_REFUSAL_NONE)
        probe->sources[trial->source].works++;
    else
        gpu_probe_refuse(&probe->sources[trial->source], (enum gpu_refusal_id)trial->why, text);
}

static void gpu_probe_take(void *context, const struct gpu_frame *frame, const void *payload)
{
    struct gpu_probe *probe = context;
    const struct gpu_refusal *refusal;
    const char *text;

    if (frame->type == GPU_FRAME_DEVICE && frame->bytes >= sizeof *probe->devices && probe->count < GPU_PROBE_DEVICES)
        probe->devices[probe->count++] = *(const struct gpu_device *)payload;
    if (frame->type == GPU_FRAME_TRIAL)
        take_trial(probe, frame, payload);
    if (frame->type == GPU_FRAME_REFUSAL && (text = gpu_frame_refusal(frame, payload, &refusal)))
        text_addf(&probe->refusals, "%s\n", text);
}

static void gpu_probe_ask_mode(struct gpu_probe *probe, const char *mode, const char *const *options)
{
    struct error err = { 0 };

    memset(probe, 0, sizeof *probe);
    int failed = gpu_ask(&(struct gpu_question){ mode, options, PATIENCE_NS, "tacho-gpu was ended", NULL },
                         gpu_probe_take, probe, &err);
    if (failed)
        text_addf(&probe->refusals, "%s.\n", err.text);
}

int gpu_probe_has_driver(void)
{
    return getenv("TACHO_NVML") || access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0;
}

void gpu_probe_ask(struct gpu_probe *probe)
{
    static const char *const options[] = { "rounds=1", NULL };

    gpu_probe_ask_mode(probe, "monitor", options);
}

/* A source that was not reached is refused by what ended tacho-gpu before. */
void gpu_probe_try(struct gpu_probe *probe)
{
    static const char *const options[] = { NULL };

    gpu_probe_ask_mode(probe, "try", options);
    for (size_t i = 0; i < GPU_TRIALS; i++)
        if (!probe->sources[i].works && !probe->sources[i].refusals) {
            const char *text = text_string(&probe->refusals);
            gpu_probe_refuse(&probe->sources[i], GPU_REFUSAL_NONE, *text ? text : "tacho-gpu did not try it.\n");
            text_cut(&probe->sources[i].refusal, strcspn(text_string(&probe->sources[i].refusal), "\n"));
        }
}

void gpu_probe_free(struct gpu_probe *probe)
{
    text_free(&probe->refusals);
    for (size_t i = 0; i < GPU_TRIALS; i++)
        text_free(&probe->sources[i].refusal);
}
