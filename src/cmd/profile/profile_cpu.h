/* The options of `tacho profile` that are about CPU sampling and scheduling: how their values are
 * read, and what they come to. */
#ifndef TACHO_CMD_PROFILE_PROFILE_CPU_H
#define TACHO_CMD_PROFILE_PROFILE_CPU_H

#include "profile_settings.h"

/* Each reads one option's value into a struct profile_settings. */
int profile_cpu_take_sample(void *settings, const char *value, struct error *err);
int profile_cpu_take_backtrace(void *settings, const char *value, struct error *err);
int profile_cpu_take_period(void *settings, const char *value, struct error *err);
int profile_cpu_take_frequency(void *settings, const char *value, struct error *err);
int profile_cpu_take_samples_per_backtrace(void *settings, const char *value, struct error *err);
int profile_cpu_take_stack_size(void *settings, const char *value, struct error *err);
int profile_cpu_take_switches(void *settings, const char *value, struct error *err);

/* A value that names a scope; option: who asks. */
int profile_cpu_read_scope(const char *option, const char *value, enum collect_scope *out, struct error *err);

/* For completion. */
const char *const *profile_cpu_scopes(void);
const char *const *profile_cpu_backtraces(void);

/* Samples and switches of the program's processes, unless the options say otherwise. */
void profile_cpu_finish(struct profile_settings *settings, struct collect_options *collect);

#endif
