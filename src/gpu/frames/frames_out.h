/* Frames to the process that started this one: see wire/wire_gpu.h. */
#ifndef TACHO_GPU_FRAMES_FRAMES_OUT_H
#define TACHO_GPU_FRAMES_FRAMES_OUT_H

#include <stddef.h>

#include "abi/gpu_refusals.h"
#include "wire/wire_gpu.h"

/* Writes the first frame. */
void frames_begin(void);

/* Adds a frame; the payload is padded to 8 bytes. Frames are sent by frames_send(), or when there are many. */
void frames_add(enum gpu_frame_type type, const void *payload, size_t bytes);

/* Why something failed. */
struct refusal {
    enum gpu_refusal_id id;
    char texts[2][1024]; /* those that its sentence has room for */
};
/* Fills it in; NULL: no text. Returns -1. */
int refusal_set(struct refusal *refusal, enum gpu_refusal_id id, const char *first, const char *second);

/* Adds a frame that says so; device: GPU_ALL, or NVML's number. */
void frames_refuse(enum gpu_origin origin, uint32_t device, const struct refusal *refusal);
void frames_add_refusal(enum gpu_origin origin, uint32_t device, enum gpu_refusal_id id, const char *first,
                        const char *second);
void frames_add_trial(uint32_t device, enum gpu_trial_source source, const struct refusal *why);

/* Returns -1 once the other side no longer reads: there is nothing left to do. */
int frames_send(void);

/* Sends the last frames and hangs up: the other side knows that nothing follows, however long this program lives on. */
void frames_end(void);

/* Sleeps until this time of CLOCK_MONOTONIC, or until the other side hangs up: -1. */
int frames_wait_until(int64_t time_ns);

#endif
