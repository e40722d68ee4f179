/* The program as a file: searches for it as a shell does, and inspects it for reasons that keep the agent out of it. */
#ifndef TACHO_COLLECT_PROCESS_PROGRAM_FILE_H
#define TACHO_COLLECT_PROCESS_PROGRAM_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "wire/wire_marks.h"

#define PROGRAM_PATH_MAX 4096

struct program_file {
    char path[PROGRAM_PATH_MAX]; /* for execve() */
    char warning[512];           /* one sentence about what will not be recorded, or "" */
    enum wire_cause cause;       /* why it takes no agent (the warning says so, too); UNKNOWN: it does */
    char first_library[256];     /* a sanitizer's runtime, which must be loaded before the agent; or "" */
    uint32_t models;             /* MODEL_BIT()s of the libraries that it is linked with */
    int no_preload;              /* the program would not start with the agent */
    int is_script;               /* a shell would read it if the kernel cannot execute it */
};

/* Searches `name` along `search_path` (the value of PATH; NULL: the system's default). On failure *exit_status is 127
 * or 126, as in a shell. */
int program_file_find(struct program_file *program, const char *name, const char *search_path, int *exit_status,
                      struct error *err);

/* Is it an ELF program without a loader, into which no agent can be loaded? 0 if the file cannot be read. */
int program_file_is_static(const char *path);

/* Is it an ELF program that nvcc linked GPU code into? 0 if the file cannot be read. */
int program_file_has_gpu_code(const char *path);

/* Fills everything but the path; follows the "#!" of scripts. */
void program_file_inspect(struct program_file *program, const char *search_path);

#endif
