/* Starts the program tacho-gpu and reads its frames (wire/wire_gpu.h). For the collector and for commands. */
#ifndef TACHO_COLLECT_GPU_GPU_LINK_H
#define TACHO_COLLECT_GPU_GPU_LINK_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "wire/wire_gpu.h"

struct gpu_link {
    pid_t pid;   /* 0: not running */
    int fd;      /* readable when frames have come; -1: closed */
    int is_greeted;
    char *bytes; /* received, not yet taken */
    size_t from, to, capacity;
};

/* Starts a mode with options of the form "name=value"; NULL-terminated. The program is lib/tacho/tacho-gpu beside bin;
 * TACHO_GPU_HELPER names another file. */
int gpu_link_start(struct gpu_link *link, const char *mode, const char *const *options, struct error *err);

/* The next frame that has come: its payload, aligned to 8 bytes and valid until the next call, and its type and size.
 * Waits for it if `wait`. Returns 1; 0: none has come yet (only without `wait`), or the program has ended: then fd is
 * -1. Frames that are damaged end the link with an error. */
int gpu_link_next(struct gpu_link *link, int wait, struct gpu_frame *frame, const void **payload, struct error *err);

/* Checks a frame of a struct with a list or text after it: its payload as that struct; NULL: too short. */
const struct gpu_values *gpu_frame_values(const struct gpu_frame *frame, const void *payload);
const char *gpu_frame_refusal(const struct gpu_frame *frame, const void *payload, const struct gpu_refusal **refusal);

/* Copies the sentence of a refusal as messages of commands are written, and returns it: "cannot load NVML: …" */
enum { GPU_MESSAGE_BYTES = 1024 };
const char *gpu_message(char out[GPU_MESSAGE_BYTES], const char *sentence);

/* As gpu_frame_values(), for texts after a struct of `head` bytes: 0, or -1 if they are not all there. */
int gpu_frame_texts(const struct gpu_frame *frame, const void *payload, size_t head, const char **texts, size_t count);

/* Asks the program to end: its last frames follow. */
void gpu_link_finish(struct gpu_link *link);

/* Hangs up and waits for the end of the program: its wait status; -1: it did not run, or does not end. A library of the
 * driver may hang in its own exit: after patience_ms, or two seconds, the program is killed, and two seconds later it
 * is left alone. */
int gpu_link_end_within(struct gpu_link *link, int patience_ms);
int gpu_link_end(struct gpu_link *link);

#endif
