/* The options of `tacho profile` that are about Python: how their values are read, and what they come to. */
#ifndef TACHO_CMD_PROFILE_PROFILE_PYTHON_H
#define TACHO_CMD_PROFILE_PROFILE_PYTHON_H

#include "profile_settings.h"

/* Reads --python-sampling-frequency into a struct profile_settings. */
int profile_python_take_frequency(void *settings, const char *value, struct error *err);

/* The same for --python-functions-trace: a file, by its path from the root, since the program may be
 * in another folder by then. */
int profile_python_take_functions(void *settings, const char *value, struct error *err);

/* The same for --python-backtrace. */
int profile_python_take_backtrace(void *settings, const char *value, struct error *err);
const char *const *profile_python_backtraces(void);

/* Fills in what a capture is told; warns of what has no effect in it. */
void profile_python_finish(struct profile_settings *settings, struct collect_options *collect);

#endif
