/* Records a program for `tacho dlprof`: DLProf runs nsys, this runs `tacho profile`. */
#ifndef TACHO_COMPAT_DLPROF_DLPROF_PROGRAM_H
#define TACHO_COMPAT_DLPROF_DLPROF_PROGRAM_H

#include "base/error.h"

struct dlprof_program {
    const char *const *argv;      /* NULL-terminated */
    const char *report;           /* without its extension */
    const char *options;          /* options for nsys; NULL: DLProf's default */
    const char *delay, *duration; /* seconds, or NULL */
    int overwrite, is_simple, by_profiler_api, is_quiet;
};

/* Returns the exit status of `tacho profile`; -1 when memory is short. */
int dlprof_profile(const struct dlprof_program *program);

#endif
