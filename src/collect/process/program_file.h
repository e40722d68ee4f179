/* The program as a file: found as a shell finds it, and looked at for what would keep the agent out of it. */
#ifndef TACHO_COLLECT_PROCESS_PROGRAM_FILE_H
#define TACHO_COLLECT_PROCESS_PROGRAM_FILE_H

#include <stddef.h>

#include "base/error.h"
#include "wire/wire_marks.h"

#define PROGRAM_PATH_MAX 4096

struct program {
    char path[PROGRAM_PATH_MAX]; /* what execve() gets */
    char warning[512];           /* one sentence about what will not be recorded, or "" */
    enum wire_cause cause;       /* why it takes no agent; UNKNOWN: it does. The warning says so, too */
    char first_library[256];     /* a sanitizer's runtime, which must come before the agent; or "" */
    int no_preload;              /* the agent would keep it from starting */
    int is_script;               /* a shell would read it if the kernel cannot run it */
};

/* Finds `name` along `search_path` (the value of PATH; NULL: the system's default). *exit_status is 127 or 126 when it
 * fails, as a shell's. */
int program_file_find(struct program *program, const char *name, const char *search_path, int *exit_status,
                      struct error *err);

/* Is it an ELF program without a loader, which could load no agent? 0 if it cannot be read. */
int program_file_is_static(const char *path);

/* Fills all but the path; follows the "#!" of scripts. */
void program_file_inspect(struct program *program, const char *search_path);

#endif
