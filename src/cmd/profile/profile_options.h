/* The options of `tacho profile`: the table, the values that they have at first, and what they come to. */
#ifndef TACHO_CMD_PROFILE_PROFILE_OPTIONS_H
#define TACHO_CMD_PROFILE_PROFILE_OPTIONS_H

#include "profile_settings.h"

enum { PROFILE_OPTIONS_MAX = 254 };

/* The table, for help and completion too; a row without a name ends it. */
const struct option *profile_options(void);

void profile_options_init(struct profile_settings *settings);
/* What can be said only when all options are known; fills in settings->collect. */
int profile_options_finish(struct profile_settings *settings, struct error *err);

#endif
