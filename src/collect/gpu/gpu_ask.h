/* Runs tacho-gpu for one answer: all its frames, then its end. */
#ifndef TACHO_COLLECT_GPU_GPU_ASK_H
#define TACHO_COLLECT_GPU_GPU_ASK_H

#include <stdint.h>

#include "base/error.h"
#include "wire/wire_gpu.h"

typedef void (*gpu_answer)(void *context, const struct gpu_frame *frame, const void *payload);

struct gpu_question {
    const char *mode;
    const char *const *options; /* "name=value", ended by NULL */
    int64_t patience_ns;        /* of silence; 0: without limit */
    const char *ended, *hint;   /* what is said if a signal ended it: "ENDED by signal 11HINT"; NULL: nothing */
};

/* 0, or an error: it could not be started, was silent for too long, wrote damaged frames or was ended by a signal. */
int gpu_ask(const struct gpu_question *question, gpu_answer take, void *context, struct error *err);

#endif
