/* The thread that runs tacho-gpu and takes its frames: while the program that is profiled runs, the main thread never
 * waits for tacho-gpu. It is the thread's child, not the main thread's, which reaps the children of the program that is
 * profiled. */
#ifndef TACHO_COLLECT_SOURCES_GPU_GPU_SAMPLER_H
#define TACHO_COLLECT_SOURCES_GPU_GPU_SAMPLER_H

#include <stdint.h>

#include "base/text.h"

struct gpu_sampler;

enum { GPU_SAMPLER_OPTION_BYTES = 4096 };

struct gpu_sampler_setup {
    const char *mode;    /* of tacho-gpu */
    char options[2][GPU_SAMPLER_OPTION_BYTES];
    int64_t interval_ns; /* how often frames come */
    int has_rest;        /* asked to end, it sends what it has not sent yet */
    const char *devices; /* its list; NULL: all */
    int is_asked;        /* a program that ends before the first frame is a failure */
};

/* NULL: there is no memory for a thread. */
struct gpu_sampler *gpu_sampler_start(const struct gpu_sampler_setup *setup);

/* Waits until tacho-gpu has sent its first frames, or has failed, or this time is over. */
void gpu_sampler_await(struct gpu_sampler *sampler, int64_t most_ns);

/* Reads other devices from now on: tacho-gpu is started again. */
void gpu_sampler_set_devices(struct gpu_sampler *sampler, const char *devices);

/* Adds the frames that have come, each with its head. Returns the number of frames that there was no room for. */
uint64_t gpu_sampler_take(struct gpu_sampler *sampler, struct text *frames);

/* Why tacho-gpu has ended or sends nothing, as a sentence; NULL: it works, or has said why itself. */
const char *gpu_sampler_failure(struct gpu_sampler *sampler);

/* gpu_sampler_stop() ends tacho-gpu without a wait, gpu_sampler_join() waits for its end: half a second without a
 * frame, ten seconds while it is at work, then it is killed. The last frames can be taken then. gpu_sampler_free() does
 * both.
 */
void gpu_sampler_stop(struct gpu_sampler *sampler);
void gpu_sampler_join(struct gpu_sampler *sampler);
void gpu_sampler_free(struct gpu_sampler *sampler);

#endif
