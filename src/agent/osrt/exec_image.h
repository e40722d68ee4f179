/* The program that exec is about to start, as a file: whether its loader can load the agent. See exec_image.c. */
#ifndef TACHO_AGENT_OSRT_EXEC_IMAGE_H
#define TACHO_AGENT_OSRT_EXEC_IMAGE_H

#include <stdint.h>

struct image {
    int is_foreign; /* 32-bit, or for another architecture: its loader would print an error about the agent */
    int is_static;  /* it has no loader, so it cannot have the agent; programs that it starts can */
    int is_out_of_descriptors; /* none is free, now and after exec: its loader can open nothing */
    uint32_t models;           /* MODEL_BIT()s of the libraries that it is linked with */
    char runtime[64];          /* the sanitizer runtime that it is linked with, which must precede the agent; or "" */
};

/* `searched`: a name without a slash is looked up along PATH, and a file that the kernel cannot run is a shell script.
 * If path is NULL, `folder` is the file itself. If the file cannot be read, all members are 0. Keeps errno. */
void exec_image_look(struct image *image, int folder, const char *path, int searched);

#endif
