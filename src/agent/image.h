/* The program that exec is about to start, as a file: what its loader will make of the agent. See image.c. */
#ifndef TACHO_AGENT_IMAGE_H
#define TACHO_AGENT_IMAGE_H

struct image {
    int is_foreign;   /* 32-bit, or made for another architecture: its loader would complain of the agent */
    char runtime[64]; /* the sanitizer's runtime that it is linked with, which must come before the agent; or "" */
};

/* `searched`: a name without a slash is found along PATH, and what the kernel cannot run is a shell script. Where path is NULL,
 * `folder` is the file itself. Nothing can be said of a file that cannot be read: then all is 0. Keeps errno. */
struct image image_look(int folder, const char *path, int searched);

#endif
