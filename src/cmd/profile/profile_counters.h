/* The options of `tacho profile` that are about counters of the CPU and the kernel. */
#ifndef TACHO_CMD_PROFILE_PROFILE_COUNTERS_H
#define TACHO_CMD_PROFILE_PROFILE_COUNTERS_H

#include "profile_settings.h"

/* Each reads one option's value into a struct profile_settings. A list is of names or numbers;
 * "help" asks for what there is. */
int profile_counters_take_scope(void *settings, const char *value, struct error *err);
int profile_counters_take_os(void *settings, const char *value, struct error *err);
int profile_counters_take_core(void *settings, const char *value, struct error *err);
int profile_counters_take_metrics(void *settings, const char *value, struct error *err);
int profile_counters_take_interval(void *settings, const char *value, struct error *err);
int profile_counters_take_frequency(void *settings, const char *value, struct error *err);

/* The lists that were asked for, and whether each counter can be had here; 0 if none was. */
int profile_counters_help(const struct profile_settings *settings, struct text *out);

/* Fills in what a capture is told; warns of what has no effect in it. */
void profile_counters_finish(struct profile_settings *settings, struct collect_options *collect);

#endif
