/* The options of `tacho profile`: the table, the defaults, and the settings that result. */
#ifndef TACHO_CMD_PROFILE_PROFILE_OPTIONS_H
#define TACHO_CMD_PROFILE_PROFILE_OPTIONS_H

#include "profile_settings.h"

enum { PROFILE_OPTIONS_MAX = 254 };

/* The table, also for help and completion; a row without a name ends it. */
const struct option *profile_options(void);

void profile_options_init(struct profile_settings *settings);
/* Completes the settings once all options are parsed, and fills in settings->collect. */
int profile_options_finish(struct profile_settings *settings, struct error *err);

#endif
