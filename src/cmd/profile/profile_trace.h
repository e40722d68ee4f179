/* --trace: the sources to record. */
#ifndef TACHO_CMD_PROFILE_PROFILE_TRACE_H
#define TACHO_CMD_PROFILE_PROFILE_TRACE_H

#include "profile_settings.h"

/* Parses the option's value into a struct profile_settings. */
int profile_trace_take(void *settings, const char *value, struct error *err);

/* Values for completion. */
const char *const *profile_trace_names(void);

/* The option's text in help. */
const char *profile_trace_help(void);

/* The WIRE_BIT()s that agents record for the given names, or for the defaults. Warns about names without effect. */
uint32_t profile_trace_finish(struct profile_settings *settings);

#endif
