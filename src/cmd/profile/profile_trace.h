/* --trace: which sources are recorded. */
#ifndef TACHO_CMD_PROFILE_PROFILE_TRACE_H
#define TACHO_CMD_PROFILE_PROFILE_TRACE_H

#include "profile_settings.h"

/* Reads the option's value into a struct profile_settings. */
int profile_trace_take(void *settings, const char *value, struct error *err);

/* For completion. */
const char *const *profile_trace_names(void);

/* What help says of the option. */
const char *profile_trace_help(void);

/* The names given, or those recorded by default: what agents record for them. Warns of names without an effect. */
uint32_t profile_trace_finish(struct profile_settings *settings);

#endif
