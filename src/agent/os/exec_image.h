/* The program that exec is about to start, as a file: what its loader will make of the agent. See exec_image.c. */
#ifndef TACHO_AGENT_OS_EXEC_IMAGE_H
#define TACHO_AGENT_OS_EXEC_IMAGE_H

struct image {
    int is_foreign;            /* 32-bit, or made for another architecture: its loader would complain of the agent */
    int is_static;             /* it has no loader, and takes no agent; programs that it starts may */
    int is_out_of_descriptors; /* none is free, now and after exec: its loader can open nothing */
    char runtime[64];          /* the sanitizer's runtime that it is linked with, which must
                                * come before the agent; or "" */
};

/* `searched`: a name without a slash is found along PATH, and what the kernel cannot run is a shell script.
 * Where path is NULL, `folder` is the file itself. Nothing can be said of a file that cannot be read: then
 * the rest is 0. Keeps errno. */
void exec_image_look(struct image *image, int folder, const char *path, int searched);

#endif
