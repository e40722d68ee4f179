/* Frames to the process that started this one: see wire/wire_gpu.h. */
#ifndef TACHO_GPU_FRAMES_FRAMES_OUT_H
#define TACHO_GPU_FRAMES_FRAMES_OUT_H

#include <stddef.h>

#include "wire/wire_gpu.h"

/* Writes the first frame. */
void frames_begin(void);

/* Adds a frame; the payload is padded to 8 bytes. Frames are sent by frames_send(), or when there are many. */
void frames_add(enum gpu_frame_type type, const void *payload, size_t bytes);
void frames_add_refusal(enum gpu_origin origin, uint32_t device, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns -1 once the other side no longer reads: there is nothing left to do. */
int frames_send(void);

/* Sleeps until this time of CLOCK_MONOTONIC, or until the other side hangs up: -1. */
int frames_wait_until(int64_t time_ns);

#endif
