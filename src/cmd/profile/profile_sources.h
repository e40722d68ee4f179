/* The options of `tacho profile` that say what is recorded: how their values are read, and what they come to. */
#ifndef TACHO_CMD_PROFILE_PROFILE_SOURCES_H
#define TACHO_CMD_PROFILE_PROFILE_SOURCES_H

#include "profile_settings.h"

/* Each reads one option's value into a struct profile_settings. */
int profile_sources_take(void *settings, const char *value, struct error *err);
int profile_sources_take_include(void *settings, const char *value, struct error *err);
int profile_sources_take_exclude(void *settings, const char *value, struct error *err);
int profile_sources_take_osrt_threshold(void *settings, const char *value, struct error *err);

/* For completion. */
const char *const *profile_source_names(void);

/* Fills in what a capture is told; warns of names without an effect. */
void profile_sources_finish(struct profile_settings *settings, struct collect_options *collect);

#endif
