/* The options of `tacho profile` that determine when it records. */
#ifndef TACHO_CMD_PROFILE_PROFILE_WINDOW_H
#define TACHO_CMD_PROFILE_PROFILE_WINDOW_H

#include "profile_settings.h"

/* Each function parses one option's value into a struct profile_settings. */
int profile_window_take_delay(void *settings, const char *value, struct error *err);
int profile_window_take_duration(void *settings, const char *value, struct error *err);
int profile_window_take_range(void *settings, const char *value, struct error *err);
int profile_window_take_range_end(void *settings, const char *value, struct error *err);
int profile_window_take_stop_on_range_end(void *settings, const char *value, struct error *err);
int profile_window_take_nvtx_capture(void *settings, const char *value, struct error *err);

#endif
